# Admission is away: what slips past it is refused by the controller, by the same rules; the fleet that runs is not touched.
namespace away
kubectl get mutatingwebhookconfiguration,validatingwebhookconfiguration celld-operator -o yaml > "$root/build/e2e/away.yaml"
app good v0.6.2 | kubectl apply -f - > /dev/null
app web v0.4.1 | kubectl apply -f - > /dev/null
check "the fleet is Ready" ready $ns web 60
record all web
kubectl delete mutatingwebhookconfiguration,validatingwebhookconfiguration celld-operator > /dev/null
check "a breaking upgrade is stored" patch web '{"celld":{"image":"ghcr.io/denoland/celld:v0.5.0"},"websockets":true}'
check "phase Degraded" until_ 20 phase_is $ns web Degraded
check "the reason" [ "$(get $ns web '{.status.conditions[?(@.type=="Degraded")].reason}')" = BreakingUpgrade ]
check "the remedy" contains "$(get $ns web '{.status.conditions[?(@.type=="Degraded")].message}')" Recreate
check "a downgrade that nothing makes safe" eval 'app low v0.3.0 | kubectl apply -f - && ready $ns low 60'
patch low '{"celld":{"image":"ghcr.io/denoland/celld:v0.2.1","updateStrategy":"Recreate"}}' > /dev/null
check "is refused as well" until_ 20 eval '[ "$(get $ns low "{.status.conditions[?(@.type==\"Degraded\")].reason}")" = BlockedDowngrade ]'
app vars v0.6.2 '  vars: {secretRef: none}' | kubectl apply -f - > /dev/null
check "a rule of fields" until_ 20 eval '[ "$(get $ns vars "{.status.conditions[?(@.type==\"SpecValid\")].reason}")" = InvalidConfiguration ]'
check "makes nothing" [ -z "$(kubectl get statefulset vars-celld -o name --ignore-not-found)" ]
check "the good one is Ready" ready $ns good 60
check "taken back, it is Ready again" eval 'patch web "{\"celld\":{\"image\":\"ghcr.io/denoland/celld:v0.4.1\"}}" && ready $ns web 30'
invariants untouched=0,1,2
kubectl create -f <(kubectl create --dry-run=client -o json -f "$root/build/e2e/away.yaml" |
	jq 'del(.. | .resourceVersion?, .uid?, .creationTimestamp?, .generation?, .managedFields?)') > /dev/null
asked() { contains "$(kubectl -n $ns patch workerapp good --dry-run=server --type merge -p '{"spec":{"celld":{"image":"ghcr.io/denoland/celld:v0.4.1"}}}' 2>&1)" acknowledgement; }
check "the webhook is back" until_ 10 asked
# An object of ours by name that is somebody else's is never touched.
kubectl create service clusterip taken-celld --tcp=80:80 > /dev/null
app taken v0.6.2 | kubectl apply -f - > /dev/null
check "a foreign Service is named" until_ 20 eval '[ "$(get $ns taken "{.status.conditions[?(@.type==\"Degraded\")].reason}")" = ForeignObject ]'
check "and left as it is" [ "$(kubectl get service taken-celld -o 'jsonpath={.spec.ports[0].port}')" = 80 ]
kubectl delete namespace $ns --wait=false > /dev/null
