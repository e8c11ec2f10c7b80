# Claims: they grow without a restart, and another bucket's are not taken.
namespace claims
kubectl patch storageclass "$(kubectl get storageclass -o 'jsonpath={.items[0].metadata.name}')" -p '{"allowVolumeExpansion":true}' > /dev/null
pointer s3://$ns/web v1
app web v0.6.2 '  storage: {sizeGi: 1}' | kubectl apply -f - > /dev/null
check "the fleet is Ready" ready $ns web 60
kubectl annotate statefulset web-celld example.com/mine=kept > /dev/null
uids() { kubectl get pods -o 'jsonpath={range .items[*]}{.metadata.name}={.metadata.uid} {end}'; }
template() { kubectl get statefulset web-celld -o json | jq -cS '.spec.template'; }
requests() { kubectl get pvc -o 'jsonpath={.items[*].spec.resources.requests.storage}'; }
pods=$(uids) before=$(template) was=$(kubectl get statefulset web-celld -o 'jsonpath={.metadata.uid}')
patch web '{"storage":{"sizeGi":2}}' > /dev/null
check "every claim asks for 2Gi" until_ 20 eval '[ "$(requests)" = "2Gi 2Gi 2Gi" ]'
grown() { [ "$(kubectl get statefulset web-celld -o 'jsonpath={.spec.volumeClaimTemplates[0].spec.resources.requests.storage}')" = 2Gi ]; }
check "and so does the StatefulSet for later ones" until_ 20 grown
check "it is another StatefulSet" [ "$(kubectl get statefulset web-celld -o 'jsonpath={.metadata.uid}')" != "$was" ]
check "the fleet is Ready" ready $ns web 30
check "with the same pods" [ "$(uids)" = "$pods" ]
check "and the same template, byte for byte" [ "$(template)" = "$before" ]
check "at rest" [ "$(kubectl get statefulset web-celld -o 'jsonpath={.spec.updateStrategy.rollingUpdate.partition}')" = 2147483647 ]
check "what others had put there is there" [ "$(kubectl get statefulset web-celld -o 'jsonpath={.metadata.annotations.example\.com/mine}')" = kept ]
check "and everybody owns what he owned" [ "$(kubectl get statefulset web-celld --show-managed-fields -o json |
	jq -r '[.metadata.managedFields[] | select(.operation == "Apply") | .manager] | join(" ")')" = celld-operator ]
check "the pods are owned again" until_ 10 eval '[ "$(kubectl get pods -o json | jq "[.items[] | select(.metadata.ownerReferences)] | length")" = 3 ]'
check "people are told" until_ 10 eval 'contains "$(kubectl get events.events.k8s.io -o "jsonpath={.items[*].reason}")" ClaimsGrown'
patch web '{"env":[{"name":"RUST_LOG","value":"debug"}]}' > /dev/null
until_ 20 phase_is $ns web RollingOut
check "it still rolls" ready $ns web 90

# An app of the same name, on another bucket, finds claims of the first: their data is not its own.
kubectl delete workerapp web --wait=false > /dev/null
check "the first app has gone" until_ 60 eval '[ -z "$(kubectl get pods,statefulsets -o name)" ]'
BUCKET=s3://$ns/other app web v0.6.2 '  storage: {sizeGi: 2}' | kubectl apply -f - > /dev/null
check "no pod gets them" until_ 20 eval '[ "$(get $ns web "{.status.conditions[?(@.type==\"Degraded\")].reason}")" = ForeignClaim ]'
check "the claim and its bucket are named" contains "$(get $ns web '{.status.conditions[?(@.type=="Degraded")].message}')" "data-web-celld-0 holds data of bucket s3://$ns/web"
check "nothing runs" [ -z "$(kubectl get pods,statefulsets -o name)" ]
kubectl delete pvc --all > /dev/null
check "without them it comes up" ready $ns web 90
kubectl delete namespace $ns --wait=false > /dev/null
