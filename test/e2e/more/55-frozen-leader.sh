# A leader that is frozen and wakes up after another has taken over writes nothing more: not one entry of it in the audit
# log is younger than the other's first. ROUNDS (3) times, frozen for FROZEN (8) seconds each.
. "$root/test/e2e/local.sh"
namespace frozen
pointer s3://$ns/web v1
app web v0.6.2 | kubectl apply -f - > /dev/null
check "the fleet is Ready" ready $ns web 60
check "no controller of the bed runs" away
lease=(--lease-duration=4s --renew-deadline=2500ms --retry-period=500ms)
kubectl -n $OPERATOR delete lease celld-operator-controller > /dev/null 2>&1
identity frozen-a
identity frozen-b
: > "$root/build/e2e/frozen-a.log"
: > "$root/build/e2e/frozen-b.log"
holder_is_not() { local h; h=$(leader); [ "$h" ] && [ "$h" != "$1" ]; }
# writes_after NAME MICROSECONDS: audit entries of that ServiceAccount received later
writes_after() {
	jq -r --arg u "system:serviceaccount:$OPERATOR:$1" --arg t "$2" 'select(.user.username == $u) |
		select(.requestReceivedTimestamp > $t) | [.requestReceivedTimestamp, .verb, .objectRef.resource, .objectRef.name] | @tsv' "$AUDIT"
}
old=frozen-a new=frozen-b version=1 wrote=0
controller $old 18101 "${lease[@]}"
old_pid=$controller
check "the first leads" until_ 20 eval '[ "$(leader)" ]'
for round in $(seq "${ROUNDS:-3}"); do
	was=$(leader) version=$((version + 1))
	controller $new $((18101 + round)) "${lease[@]}"
	new_pid=$controller
	until_ 10 curl -sf "http://127.0.0.1:$((18101 + round))/readyz"
	patch web "{\"env\":[{\"name\":\"RUST_LOG\",\"value\":\"v$version\"}]}" > /dev/null
	until_ 20 phase_is $ns web RollingOut || bad "round $round: it rolls"
	kill -STOP $old_pid
	check "round $round: the other one takes over" until_ 15 holder_is_not "$was"
	since=$(kubectl -n $OPERATOR get lease celld-operator-controller -o 'jsonpath={.spec.acquireTime}')
	sleep "${FROZEN:-8}" # this is what is tested: a leader that is gone for so long
	kill -CONT $old_pid
	wait $old_pid
	check "round $round: it ends at once" [ $? = 1 ]
	check "round $round: and the roll goes on to its end" ready $ns web 90
	late=$(writes_after $old "$since")
	check "round $round: it wrote nothing after $since" [ -z "$late" ]
	[ -z "$late" ] || say "$late"
	[ -z "$(writes_after $new "$since")" ] || wrote=$((wrote + 1))
	swap=$old old=$new new=$swap old_pid=$new_pid
done
check "the same count sees the other's writes" [ "$wrote" = "${ROUNDS:-3}" ]
kill $old_pid
wait $old_pid
check "the controllers of the bed are back" back
kubectl delete namespace $ns --wait=false > /dev/null
