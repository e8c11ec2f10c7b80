# The controller is killed (SIGKILL) after every single write while a fleet grows, gets larger claims, shrinks, and goes: the
# same end, and no pod restarts that need not.
namespace killed-sizes
kubectl patch storageclass "$(kubectl get storageclass -o 'jsonpath={.items[0].metadata.name}')" -p '{"allowVolumeExpansion":true}' > /dev/null
pointer s3://$ns/web v1
REPLICAS=1 app web v0.6.2 '  storage: {sizeGi: 1}' | kubectl apply -f - > /dev/null
check "the fleet is Ready" ready $ns web 60
. "$root/test/e2e/killed.sh"
uids() { kubectl get pods -l celld-operator.io/workerapp=web -o 'jsonpath={range .items[*]}{.metadata.name}={.metadata.uid} {end}'; }
template() { kubectl get statefulset web-celld -o json | jq -cS '.spec.template'; }
size_is() { [ "$(kubectl get statefulset web-celld -o 'jsonpath={.spec.replicas} {.status.readyReplicas}')" = "$1 $1" ]; }
first=$(uids) before=$(template)

record up
patch web '{"replicas":3}' > /dev/null
check "more pods come" until_killed 120 up
check "it was killed after $(kills up) writes" [ "$(kills up)" -ge 2 ]
check "three are there" size_is 3
three=$(uids)
check "the first one never restarted" contains "$three" "$first"
invariants rest untouched=0

record grow
was=$(kubectl get statefulset web-celld -o 'jsonpath={.metadata.uid}')
patch web '{"storage":{"sizeGi":2}}' > /dev/null
grown="$settled_web && [ \"\$(kubectl -n $ns get statefulset web-celld -o \
	'jsonpath={.spec.volumeClaimTemplates[0].spec.resources.requests.storage}')\" = 2Gi ]"
check "claims grow" until_killed 120 grow "$grown"
check "it was killed after $(kills grow) writes" [ "$(kills grow)" -ge 5 ]
check "every claim asks for 2Gi" [ "$(kubectl get pvc -o 'jsonpath={.items[*].spec.resources.requests.storage}')" = "2Gi 2Gi 2Gi" ]
check "it is another StatefulSet" [ "$(kubectl get statefulset web-celld -o 'jsonpath={.metadata.uid}')" != "$was" ]
check "with the same pods" [ "$(uids)" = "$three" ]
check "and the same template, byte for byte" [ "$(template)" = "$before" ]
check "and everybody owns what he owned" [ "$(kubectl get statefulset web-celld --show-managed-fields -o json |
	jq -r '[.metadata.managedFields[] | select(.operation == "Apply") | .manager] | join(" ")')" = celld-operator ]
check "the pods are owned" until_ 10 eval '[ "$(kubectl get pods -o json | jq "[.items[] | select(.metadata.ownerReferences)] | length")" = 3 ]'
invariants rest untouched=0,1,2

record down
patch web '{"replicas":1}' > /dev/null
check "fewer are left" until_killed 120 down
check "it was killed after $(kills down) writes" [ "$(kills down)" -ge 3 ]
check "one is there" size_is 1
check "it never restarted" [ "$(uids)" = "$first" ]
invariants rest untouched=0

kubectl delete workerapp web --wait=false > /dev/null
check "it goes" until_killed 60 gone "[ -z \"\$(kubectl -n $ns get workerapps,statefulsets,pods,pdb,networkpolicies -o name)\" ]"
check "its claims stay" [ "$(kubectl get pvc -o name | wc -l)" = 3 ]
check "the controllers are back" back
kubectl delete namespace $ns --wait=false > /dev/null
