# What people do by hand to what is ours: deleted children come back, dropped annotations go, pods live on.
namespace hands
pointer s3://$ns/web v1
app web v0.6.2 '  service: {annotations: {a.example/x: "1", b.example/y: "2"}}' | kubectl apply -f - > /dev/null
check "the fleet is Ready" ready $ns web 60
uids() { kubectl get pods -o 'jsonpath={range .items[*]}{.metadata.name}={.metadata.uid} {end}'; }
pods=$(uids)
for child in service/web-celld service/web-celld-internal serviceaccount/web-celld poddisruptionbudget/web-celld networkpolicy/web-celld; do
	was=$(kubectl get "$child" -o 'jsonpath={.metadata.uid}')
	kubectl delete "$child" --wait=false > /dev/null
	check "$child comes back" until_ 10 eval "u=\$(kubectl get $child -o 'jsonpath={.metadata.uid}') && [ \"\$u\" ] && [ \"\$u\" != $was ]"
done
check "no pod noticed" [ "$(uids)" = "$pods" ]

kubectl annotate service web-celld cloud.example/theirs=kept > /dev/null
notes() { kubectl get service web-celld -o json | jq -r '.metadata.annotations | keys | join(" ")'; }
check "a: given" contains "$(notes)" a.example/x
patch web '{"service":{"annotations":{"a.example/x":null}}}' > /dev/null
check "dropped from the app, gone from the Service" until_ 10 eval '[ "$(notes)" = "b.example/y cloud.example/theirs" ]'
patch web '{"service":{"annotations":null}}' > /dev/null
check "all of them, but not the others'" until_ 10 eval '[ "$(notes)" = cloud.example/theirs ]'
ip=$(kubectl get service web-celld -o 'jsonpath={.spec.clusterIP}')
patch web '{"service":{"type":"LoadBalancer"}}' > /dev/null
check "LoadBalancer" until_ 10 eval '[ "$(kubectl get service web-celld -o "jsonpath={.spec.type}")" = LoadBalancer ]'
patch web '{"service":{"type":"ClusterIP"}}' > /dev/null
check "and back, without a node port" until_ 10 eval '[ "$(kubectl get service web-celld -o "jsonpath={.spec.type} {.spec.ports[0].nodePort}")" = "ClusterIP " ]'
check "the address is the same" [ "$(kubectl get service web-celld -o 'jsonpath={.spec.clusterIP}')" = "$ip" ]

# Lists and selectors are ours as a whole: what is left out of a rule is taken back, and what somebody adds to one does not stay.
rule() { kubectl get networkpolicy web-celld -o json | jq -c '.spec | [.ingress[0].from, .podSelector]'; }
open='[null,{"matchLabels":{"celld-operator.io/workerapp":"web"}}]'
check "everybody may come" [ "$(rule)" = "$open" ]
patch web '{"networkPolicy":{"publicFrom":[{"podSelector":{"matchLabels":{"a":"b"}}}]}}' > /dev/null
check "only some may" until_ 10 eval '[ "$(rule | jq length)" = 2 ] && [ "$(rule)" != "$open" ]'
patch web '{"networkPolicy":null}' > /dev/null
check "everybody again" until_ 10 eval '[ "$(rule)" = "$open" ]'
kubectl patch networkpolicy web-celld --type json -p '[{"op":"add","path":"/spec/ingress/0/from","value":[{"podSelector":{}}]}]' > /dev/null
check "a rule that was narrowed by hand is wide again" until_ 10 eval '[ "$(rule)" = "$open" ]'
kubectl patch networkpolicy web-celld --type merge -p '{"spec":{"podSelector":{"matchLabels":{"none":"of-them"}}}}' > /dev/null
check "a policy that was led away from the pods is back" until_ 10 eval '[ "$(rule)" = "$open" ]'
kubectl patch networkpolicy web-celld --type json -p '[{"op":"add","path":"/spec/ingress/1/ports/0/endPort","value":9000}]' > /dev/null
check "more ports are closed again" until_ 10 eval '[ -z "$(kubectl get networkpolicy web-celld -o "jsonpath={.spec.ingress[*].ports[*].endPort}")" ]'
kubectl patch service web-celld --type merge -p '{"spec":{"selector":{"none":"of-them"}}}' > /dev/null
check "so is a Service" until_ 10 eval '[ "$(kubectl get service web-celld -o json | jq -c .spec.selector)" = "{\"celld-operator.io/workerapp\":\"web\"}" ]'
kubectl patch pdb web-celld --type merge -p '{"spec":{"selector":{"matchLabels":{"none":"of-them"}}}}' > /dev/null
check "and a budget" until_ 10 eval '[ "$(kubectl get pdb web-celld -o json | jq -c .spec.selector.matchLabels)" = "{\"celld-operator.io/workerapp\":\"web\"}" ]'
check "nobody was taken for a rival" contains "$(get $ns web '{.status.conditions[?(@.type=="Degraded")].status}')" False

# The StatefulSet: without its pods, then with them.
was=$(kubectl get statefulset web-celld -o 'jsonpath={.metadata.uid}')
kubectl delete statefulset web-celld --cascade=orphan > /dev/null
remade() { local u; u=$(kubectl get statefulset web-celld -o 'jsonpath={.metadata.uid}') && [ "$u" != "$was" ]; }
check "deleted without its pods it comes back" until_ 20 remade
check "the fleet is Ready" ready $ns web 60
check "with the same pods" [ "$(uids)" = "$pods" ]
was=$(kubectl get statefulset web-celld -o 'jsonpath={.metadata.uid}')
kubectl delete statefulset web-celld --wait=false > /dev/null
check "deleted with its pods it comes back too" until_ 20 remade
check "the fleet is Ready" ready $ns web 90
check "three pods" [ "$(kubectl get pods -o name | wc -l)" = 3 ]

# minReadySeconds of somebody else's is respected, and no reason to make anything again.
was=$(kubectl get statefulset web-celld -o 'jsonpath={.metadata.uid}')
kubectl patch statefulset web-celld --type merge -p '{"spec":{"minReadySeconds":5,"revisionHistoryLimit":2}}' > /dev/null
record roll
patch web '{"env":[{"name":"RUST_LOG","value":"debug"}]}' > /dev/null
check "a roll waits for it" until_ 30 waiting_on $ns web 'ready, but not for minReadySeconds yet'
check "and comes to its end" ready $ns web 120
invariants one-down steps rest
check "it is the same StatefulSet; what is ours was put back, what is not stayed" [ "$(kubectl get statefulset web-celld -o 'jsonpath={.metadata.uid} {.spec.minReadySeconds} {.spec.revisionHistoryLimit}')" = "$was 5 5" ]
kubectl delete namespace $ns --wait=false > /dev/null
