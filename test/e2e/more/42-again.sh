# An app is deleted and made again at once, with a celld that must not meet the old one; and a Recreate that adds storage.
namespace again
app web v0.3.0 | kubectl apply -f - > /dev/null
check "v0.3.0 is Ready" ready $ns web 60
record all
kubectl delete workerapp web > /dev/null
STRATEGY=Recreate app web v0.4.1 | kubectl apply -f - > /dev/null
check "the new one is Ready" ready $ns web 90
check "three pods" [ "$(get $ns web '{.status.fleet.ready}')" = 3 ]
invariants no-mix rest
check "nobody called the old one's things foreign" refuted grep -q ForeignObject "$RECORD.workerapps.celld-operator.io"

patch web '{"storage":{"sizeGi":1}}' > /dev/null
check "phase Recreating" until_ 20 phase_is $ns web Recreating
check "the status holds the size" until_ 20 eval '[ "$(get $ns web "{.status.rollout.replicas}")" = 3 ]'
check "Ready with storage" ready $ns web 120
check "three claims" [ "$(kubectl get persistentvolumeclaims -o name | wc -l)" = 3 ]
check "the size is back" [ "$(get $ns web '{.status.fleet.ready}')" = 3 ]
check "and held no more" [ -z "$(get $ns web '{.status.rollout.replicas}')" ]

# Somebody else's object in our place, which no watch of ours can see.
kubectl create service clusterip shop-celld --tcp=80 > /dev/null
app shop v0.6.2 | kubectl apply -f - > /dev/null
check "a foreign Service refuses the app" until_ 20 phase_is $ns shop Degraded
kubectl delete service shop-celld > /dev/null
check "once it is gone the fleet comes" ready $ns shop 120
kubectl delete namespace $ns --wait=false > /dev/null
