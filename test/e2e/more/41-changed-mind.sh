# A Recreate that takes storage away has stopped the fleet when the strategy is Rolling again: it goes on, and the fleet
# comes up.
namespace mind
STRATEGY=Recreate app web v0.6.2 '  storage: {sizeGi: 1}' | kubectl apply -f - > /dev/null
check "with storage it is Ready" ready $ns web 90
record all
STRATEGY=Recreate app web v0.6.2 | kubectl apply -f - > /dev/null
check "phase Recreating" until_ 20 phase_is $ns web Recreating
check "it says what it waits for" until_ 30 waiting_on $ns web "waiting one lease lifetime"
check "the webhook takes Rolling" patch web '{"celld":{"updateStrategy":"Rolling"}}'
check "the fleet is Ready" ready $ns web 90
check "without claims" [ -z "$(kubectl get statefulset web-celld -o 'jsonpath={.spec.volumeClaimTemplates}')" ]
check "the size is back" [ "$(get $ns web '{.status.fleet.ready}')" = 3 ]
invariants no-mix rest
kubectl delete namespace $ns --wait=false > /dev/null
