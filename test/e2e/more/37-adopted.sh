# A fleet as the operator in Go leaves it (test/e2e/manifests/adopted.yaml): taken over without a pod that restarts or an address that
# goes; the next change of the spec brings our template, and nothing of the other's stays in it, through the gate.
namespace adopted
operator() { kubectl -n $OPERATOR "$@"; }
size=$(operator get deployment celld-operator-controller -o 'jsonpath={.spec.replicas}')
operator scale deployment celld-operator-controller --replicas=0 > /dev/null
check "no controller of ours is there" until_ 60 eval '[ -z "$(operator get pods -l app.kubernetes.io/component=controller -o name)" ]'
theirs() { # NAME of an app: telemetry by a collector, keys by an AWS role
	app "$1" v0.3.0 '  telemetry: {otlpEndpoint: "http://collector.monitoring.svc:4318"}' |
		sed 's|^  bucket: {|&credentialsFrom: {iamRole: "arn:aws:iam::123456789012:role/web"}, |'
}
BUCKET=s3://$ns/web theirs web | kubectl apply -f - > /dev/null
uid=$(kubectl get workerapp web -o 'jsonpath={.metadata.uid}')
pointer s3://$ns/web v1
# as its client writes: an update, no apply
sed "s/\${UID}/$uid/; s/\${NS}/$ns/" "$root/test/e2e/manifests/adopted.yaml" | kubectl create --field-manager=manager -f - > /dev/null
check "its pods are ready" kubectl rollout status statefulset/web-celld --timeout=120s
pods() { kubectl get pods -l celld-operator.io/workerapp=web -o json |
	jq -rc '[.items[] | .metadata.name, .metadata.uid, .status.containerStatuses[0].restartCount]'; }
children() { kubectl get serviceaccount,service,pdb,networkpolicy,statefulset -l celld-operator.io/workerapp=web \
	-o 'jsonpath={range .items[*]}{.kind}/{.metadata.name}={.metadata.uid} {end}'; }
field() { kubectl get statefulset "$1" -o "jsonpath=$2"; }
was=$(pods) were=$(children) ip=$(kubectl get service web-celld -o 'jsonpath={.spec.clusterIP}')
record adopted web
operator scale deployment celld-operator-controller --replicas="$size" > /dev/null
check "taken over, it is Ready" ready $ns web 90
check "an Event says so" until_ 10 eval 'contains "$(kubectl get events.events.k8s.io -o "jsonpath={.items[*].reason}")" FleetAdopted'
check "the partition is at rest" [ "$(field web-celld '{.spec.updateStrategy.rollingUpdate.partition}')" = 2147483647 ]
check "the template is theirs" [ "$(field web-celld '{.spec.template.spec.terminationGracePeriodSeconds} {.spec.podManagementPolicy} {.spec.template.spec.containers[0].ports[0].name}')" = "40 OrderedReady public" ]
check "no pod restarted" [ "$(pods)" = "$was" ]
check "the children are the same objects" [ "$(children)" = "$were" ]
check "at the same address, and all pods behind it" [ "$(kubectl get service web-celld -o 'jsonpath={.spec.clusterIP}') $(kubectl get endpointslices \
	-l kubernetes.io/service-name=web-celld,endpointslice.kubernetes.io/managed-by=endpointslice-controller.k8s.io -o json |
	jq '[.items[].endpoints[]? | select(.conditions.ready) | .targetRef.name] | unique | length')" = "$ip 3" ]
operator rollout restart deployment celld-operator-controller > /dev/null
operator rollout status deployment celld-operator-controller --timeout=60s > /dev/null
patch web '{"replicas":4}' > /dev/null
check "one pod more, and Ready" ready $ns web 90
check "of their template" [ "$(kubectl get pod web-celld-3 -o 'jsonpath={.spec.containers[0].ports[0].name}')" = public ]
patch web '{"replicas":3}' > /dev/null
check "and one less" ready $ns web 90
check "still no pod restarted" [ "$(pods)" = "$was" ]
invariants untouched=0,1,2

# ours, through the gate
record ours web
patch web '{"env":[{"name":"RUST_LOG","value":"debug"}]}' > /dev/null
check "the next change rolls" ready $ns web 180
invariants one-down steps rest
check "every pod is new" [ -z "$(kubectl get pods -o 'jsonpath={range .items[*]}{.metadata.uid}{"\n"}{end}' | grep -F "$(jq -r '.[] | select(type == "string" and (startswith("web") | not))' <<< "$was")")" ]
BUCKET=s3://$ns/fresh theirs fresh | kubectl apply -f - > /dev/null
pointer s3://$ns/fresh v1
patch fresh '{"env":[{"name":"RUST_LOG","value":"debug"}]}' > /dev/null
check "a fleet of our own beside it" ready $ns fresh 90
template() { field "$1-celld" '{.spec.template}' | sed "s/fresh/web/g" | jq -S 'walk(if type == "array" and (.[0] | type == "object" and has("name"))
	then sort_by(.name) else . end)'; }
check "their templates are alike" diff <(template fresh) <(template web)
child() { kubectl get "$1" "$2-celld" -o json | jq -S '{labels: .metadata.labels, annotations: .metadata.annotations, spec: .spec |
	(. // {} | del(.clusterIP, .clusterIPs))}' | sed "s/fresh/web/g"; }
for kind in service serviceaccount pdb networkpolicy; do check "so is the $kind" diff <(child $kind fresh) <(child $kind web); done
patch web '{"telemetry":null,"bucket":{"credentialsFrom":null}}' > /dev/null
check "without the collector and the role, Ready" ready $ns web 180
left() { [ -z "$({ template web; kubectl get serviceaccount web-celld -o json; } | grep -E "$1" | tee /dev/stderr)" ]; }
check "nothing of them is left" left 'otlp|OTLP|role-arn'
patch web '{"celld":{"image":"ghcr.io/denoland/celld:v0.6.2","updateStrategy":"Recreate"}}' > /dev/null
check "to a version that refuses the old variables" ready $ns web 240
kubectl delete namespace $ns --wait=false > /dev/null
