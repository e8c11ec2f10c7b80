# The controller is killed (SIGKILL) after every single write of a rollout and of a Recreate, and started again: the same
# end, no gate skipped.
namespace killed
pointer s3://$ns/web v1
app web v0.3.0 | kubectl apply -f - > /dev/null
check "the fleet is Ready" ready $ns web 60
. "$root/test/e2e/killed.sh"

record roll
patch web '{"env":[{"name":"RUST_LOG","value":"debug"}]}' > /dev/null
check "a roll comes to its end" until_killed 240 roll
check "it was killed after $(kills roll) writes" [ "$(kills roll)" -ge 6 ]
invariants one-down steps rest
check "every pod has the change" [ "$(kubectl get pods -o json | jq '[.items[].spec.containers[0].env[] | select(.name == "RUST_LOG")] | length')" = 3 ]

record recreate
STRATEGY=Recreate app web v0.4.1 | kubectl apply -f - > /dev/null
check "a Recreate comes to its end" until_killed 240 recreate
check "it was killed after $(kills recreate) writes" [ "$(kills recreate)" -ge 4 ]
invariants no-mix hold=10 rest
check "the size is back" [ "$(get $ns web '{.status.fleet.ready}')" = 3 ]
check "the controllers are back" back
kubectl delete namespace $ns --wait=false > /dev/null
