# Two controllers: one leads; when it is killed the other takes over, without losing a roll that is going on.
namespace leadership
pointer s3://$ns/web v1
app web v0.6.2 | kubectl apply -f - > /dev/null
check "the fleet is Ready" ready $ns web 60
record all
was=$(leader) leader=$(leader_pod)
check "one of two pods leads" contains "$(kubectl -n $OPERATOR get pods -o name)" "$leader"
pointer s3://$ns/web v2
patch web '{"appVersion":"v2"}' > /dev/null
check "the roll has begun" until_ 30 phase_is $ns web RollingOut
start=$(date +%s%3N)
"$root/test/cluster/bed" crash "$OPERATOR/$leader" controller
check "another one takes over within 20 s" until_ 20 eval '[ "$(leader)" != "$was" ] && [ "$(leader)" ]'
say "        taken over after $(($(date +%s%3N) - start)) ms"
check "the roll goes on to its end" ready $ns web 120
check "every pod serves v2" until_ 20 eval '[ "$(get $ns web "{.status.rolledOutAppVersion}")" = v2 ]'
invariants one-down steps rest

# Asked to end, the leader gives the Lease back.
was=$(leader) leader=$(leader_pod)
start=$(date +%s%3N)
kubectl -n $OPERATOR delete pod "$leader" --wait=false > /dev/null
check "given back on SIGTERM: taken over within 6 s" until_ 6 eval '[ "$(leader)" != "$was" ] && [ "$(leader)" ]'
say "        taken over after $(($(date +%s%3N) - start)) ms"
check "two pods again" kubectl -n $OPERATOR rollout status deployment/celld-operator-controller --timeout=60s
kubectl delete namespace $ns --wait=false > /dev/null
