# The chart's ingress mode for Istio: hostnames become VirtualServices, follow, and vanish.
namespace mesh
chart=/tmp/bed-$BED_NAME/chart
"$root/test/neighbours/crds" "$root/build/crds" istio > /dev/null
kubectl apply --server-side --force-conflicts -f "$root/build/crds/istio.yaml" > /dev/null
mode() { "$chart/helm" -n $OPERATOR upgrade celld-operator "$chart/celld-operator.tgz" --reset-then-reuse-values --wait --timeout 90s "$@"; }
hosts() { kubectl get virtualservices.networking.istio.io -o 'jsonpath={.items[*].spec.hosts}'; }
check "the mode is set" mode --set operator.ingressMode=virtualservice --set 'operator.istioGateways={infra/edge}' --set operator.discoveryInterval=1s
app web v0.6.2 '  hostnames: [one.example.com]' | kubectl apply -f - > /dev/null
check "a VirtualService routes the hostname" until_ 60 eval '[ "$(hosts)" = "[\"one.example.com\"]" ]'
check "the fleet is Ready" ready $ns web 60
patch web '{"hostnames":["two.example.com"]}' > /dev/null
check "and another one" until_ 20 eval '[ "$(hosts)" = "[\"two.example.com\"]" ]'
check "the mesh's policy guards the internal port" [ "$(kubectl get authorizationpolicies.security.istio.io -o name | wc -l)" = 1 ]
patch web '{"hostnames":null}' > /dev/null
check "without hostnames there is none" until_ 20 eval '[ -z "$(hosts)" ]'
# what carries our name and is not ours is looked at, and left alone
theirs() {
	cat <<-Y
	apiVersion: networking.istio.io/v1
	kind: VirtualService
	metadata: {name: other-celld}
	spec: {hosts: [theirs.example.com], http: [{route: [{destination: {host: theirs}}]}]}
	---
	apiVersion: security.istio.io/v1
	kind: AuthorizationPolicy
	metadata: {name: other-celld-internal}
	spec: {action: DENY}
	Y
}
theirs | kubectl apply -f - > /dev/null
REPLICAS=1 BUCKET=s3://cells/other app other v0.6.2 '  hostnames: [other.example.com]' | kubectl apply -f - > /dev/null
says() { contains "$(get $ns other "{.status.conditions[?(@.type==\"$1\")].message}")" "is not of this WorkerApp"; }
check "a foreign VirtualService is named" until_ 60 says IngressReady
check "so is a foreign policy" until_ 30 says MeshPolicyReady
check "both are as they were" eval 'theirs | kubectl diff -f -'
theirs | kubectl delete -f - > /dev/null
check "gone, ours takes its place" until_ 60 eval 'contains "$(hosts)" other.example.com'
check "the mode is set back" mode --set operator.ingressMode= --set operator.istioGateways=null
kubectl delete -f "$root/build/crds/istio.yaml" --wait=false > /dev/null
