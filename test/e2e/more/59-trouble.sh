# What keeps an object from being written, or undoes it, is said and left at that; what another operator left is taken over.
namespace trouble
pointer s3://$ns/web v1
degraded() { get $ns web '{.status.conditions[?(@.type=="Degraded")].reason}'; }
message() { get $ns web '{.status.conditions[?(@.type=="Degraded")].message}'; }
uids() { kubectl get pods -o 'jsonpath={range .items[*]}{.metadata.name}={.metadata.uid} {end}'; }
events_of() { kubectl get events.events.k8s.io -o json | jq -r --arg k "$1" '[.items[] | select(.regarding.kind == $k) | .reason] | unique | join(" ")'; }

kubectl create quota few --hard=count/services=1 > /dev/null
app web v0.6.2 | kubectl apply -f - > /dev/null
check "a quota refuses the second Service" until_ 30 eval '[ "$(degraded)" = ChildRefused ]'
check "the object, the quota and a remedy are named" contains "$(message)" 'exceeded quota: few'
check "and what to do" contains "$(message)" 'raise the ResourceQuota'
check "the other objects are there" until_ 10 kubectl get poddisruptionbudget,networkpolicy,serviceaccount web-celld
check "no pods without it" [ -z "$(kubectl get statefulsets -o name)" ]
check "people are told" until_ 10 eval 'contains "$(events_of WorkerApp)" ChildRefused'
kubectl delete quota few > /dev/null
check "without it the fleet comes up by itself" ready $ns web 120

# Somebody writes the Service back each time.
from=$(audit_lines)
for i in $(seq 40); do
	kubectl patch service web-celld --field-manager=stubborn --type merge -p '{"spec":{"sessionAffinity":"ClientIP","type":"NodePort"}}'
	sleep 0.2
done > /dev/null 2>&1
check "who undoes it is named" until_ 20 eval 'contains "$(message)" "stubborn undoes what the operator writes"'
check "with its reason" [ "$(degraded)" = FieldConflict ]
wrote=$(our_writes "$from" | awk '$3 == "services" && $2 == "patch"' | wc -l)
check "and not chased: $wrote writes" [ "$wrote" -ge 4 -a "$wrote" -le 12 ]
check "in the end the Service is as it should be" until_ 60 eval '[ "$(kubectl get service web-celld -o "jsonpath={.spec.type}")" = ClusterIP ]'

# A StatefulSet in which nobody has noted the spec, with another template: as it stands when another operator has gone.
pods=$(uids)
kubectl annotate statefulset web-celld celld-operator.io/intent- celld-operator.io/renderer- > /dev/null
check "it is taken over" until_ 20 eval '[ "$(kubectl get statefulset web-celld -o "jsonpath={.metadata.annotations.celld-operator\.io/renderer}")" = adopted ]'
check "that is told at the StatefulSet too" until_ 10 eval 'contains "$(events_of StatefulSet)" FleetAdopted'
check "the fleet is Ready" ready $ns web 60
check "with the same pods" [ "$(uids)" = "$pods" ]
record next
patch web '{"maintenance":{"restartToken":"again"}}' > /dev/null
check "the next change rolls" until_ 30 phase_is $ns web RollingOut
check "to its end" ready $ns web 120
invariants one-down steps rest
check "each step is told at its pod" until_ 10 eval 'contains "$(events_of Pod)" PodReleased'

# The definition is older than the operator: it has no status.url.
crd="del(.metadata.resourceVersion, .metadata.managedFields, .status)"
kubectl get crd workerapps.celld-operator.io -o json | jq "$crd" > "$root/build/e2e/trouble.crd.json"
jq 'del(.spec.versions[0].schema.openAPIV3Schema.properties.status.properties | .url, .fleet.properties.updated)' \
	"$root/build/e2e/trouble.crd.json" | kubectl replace -f - > /dev/null
kubectl get crd workerapps.celld-operator.io -o 'jsonpath={.spec.versions[0].schema.openAPIV3Schema.properties.status.properties.url}' |
	grep -q . && bad "the definition has still the url"
sleep 2 # the API server serves the definition of before for a moment
pointer s3://$ns/late v1
app late v0.6.2 | kubectl apply -f - > /dev/null
check "an app of an older definition is Ready" ready $ns late 60
check "its status lacks what that definition does not have" [ -z "$(get $ns late '{.status.url}{.status.fleet.updated}')" ]
check "and has the rest" [ "$(get $ns late '{.status.fleet.ready} {.status.rolledOutAppVersion}')" = "3 v1" ]
notes() { kubectl get events.events.k8s.io -o json | jq -r '.items[] | select(.reason == "DefinitionOutdated") | .note'; }
check "an Event names a field" until_ 20 eval 'contains "$(notes)" status.url'
check "and the other" contains "$(notes)" status.fleet.updated
from=$(audit_lines)
sleep 12
check "at rest nothing is written" [ -z "$(our_writes "$from" | grep "$ns")" ]
kubectl replace -f "$root/build/e2e/trouble.crd.json" > /dev/null
kubectl delete namespace $ns --wait=false > /dev/null
