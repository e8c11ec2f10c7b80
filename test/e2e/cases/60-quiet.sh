# At rest we write nothing: no write request of our ServiceAccounts, no-op patches included, Lease renewals aside.
# QUIET: seconds to watch (60; `make soak` 600).
namespace quiet
for n in a b c; do
	pointer s3://$ns/$n v1
	app $n v0.6.2 | kubectl apply -f - > /dev/null
done
app old v0.3.0 | kubectl apply -f - > /dev/null
app big v0.6.2 '  storage: {sizeGi: 1}
  durability: fleet' | kubectl apply -f - > /dev/null
for n in a b c old big; do check "$n is Ready" ready $ns $n 90; done
check "a serves v1" until_ 20 eval '[ "$(get $ns a "{.status.rolledOutAppVersion}")" = v1 ]'
# The last status and Event are on their way: quiet begins when five seconds have brought none.
nothing_for() {
	local line
	line=$(audit_lines)
	sleep "$1"
	[ -z "$(our_writes "$line")" ]
}
check "it comes to rest" until_ 60 nothing_for 5
line=$(audit_lines)
seconds=${QUIET:-60}
sleep "$seconds" # this is what is measured
writes=$(our_writes "$line")
check "no write in $seconds quiet seconds" [ -z "$writes" ]
[ -z "$writes" ] || say "$writes"
# The same count sees a write when there is one.
line=$(audit_lines)
kubectl label service a-celld app.kubernetes.io/name=x --overwrite > /dev/null
check "a write would have been counted" until_ 20 eval '[ -n "$(our_writes "$line")" ]'
kubectl delete namespace $ns --wait=false > /dev/null
