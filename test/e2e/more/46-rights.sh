# Optional kinds that are there and that nobody has given rights on: each has its condition, in the server's words, and stops
# nothing else. Rights that are given are used without a restart.
crds=$root/build/crds
for name in gateway-standard istio keda; do kubectl apply --server-side --force-conflicts -f "$crds/$name.yaml" > /dev/null; done
said() { # APP CONDITION TEXT: not True, and the message holds it
	local all
	all=$(get $ns "$1" "{.status.conditions[?(@.type==\"$2\")]['status','reason','message']}")
	[[ $all != True* ]] && contains "$all" "$3"
}
reason() { get $ns "$1" "{.status.conditions[?(@.type==\"$2\")].reason}"; }
rule() { jq "del(.rules[] | select(.resources[0] as \$r | $1 | index(\$r)))" "$root/build/e2e/rights.json" | kubectl replace -f - > /dev/null; }
restarts() { kubectl -n $OPERATOR get pods -l app.kubernetes.io/component=controller -o 'jsonpath={.items[*].status.containerStatuses[0].restartCount}'; }

kubectl get clusterrole celld-operator-controller -o json | jq 'del(.metadata.resourceVersion, .metadata.uid)' > "$root/build/e2e/rights.json"
rule '["httproutes", "ingresses", "virtualservices", "authorizationpolicies", "scaledobjects", "horizontalpodautoscalers"]'
kubectl -n $OPERATOR rollout restart deployment/celld-operator-controller > /dev/null
kubectl -n $OPERATOR rollout status deployment/celld-operator-controller --timeout=60s > /dev/null

namespace rights
pointer s3://$ns/web v1
pointer s3://$ns/inner v1
app web v0.6.2 '  hostnames: [web.example.com]
  autoscaling: {enabled: true, minReplicas: 2, maxReplicas: 9}' | kubectl apply -f - > /dev/null
REPLICAS=1 app inner v0.6.2 '  hostnames: [inner.example.com]
  ingress: {ingressClass: nginx}' | kubectl apply -f - > /dev/null
check "the fleets are Ready without any of them" eval 'ready $ns web 90 && ready $ns inner 90'
check "HTTPRoutes: the condition says so" until_ 30 said web IngressReady 'httproutes cannot be read: '
check "in the server's words" said web IngressReady forbidden
check "Ingresses: the same" until_ 30 said inner IngressReady 'ingresses cannot be read: '
check "AuthorizationPolicies: the same" until_ 30 said web MeshPolicyReady 'authorizationpolicies cannot be read: '
check "ScaledObjects: the same" until_ 30 said web AutoscalingReady 'scaledobjects cannot be read: '
patch web '{"podLabels":{"team":"shop"}}' > /dev/null
check "it rolls" eval 'until_ 30 phase_is $ns web RollingOut; ready $ns web 120'
check "it is told to no fleet that has nothing to do with it" [ -z "$(reason inner AutoscalingReady)" ]

# All but one.
rule '["horizontalpodautoscalers"]'
check "rights given: the route is made" until_ 120 kubectl get httproute web-celld
check "the Ingress too" until_ 30 kubectl get ingress inner-celld
check "and the mesh's policy" until_ 60 eval '[ "$(reason web MeshPolicyReady)" = PolicyReconciled ]'
check "and the ScaledObject" until_ 60 kubectl get scaledobject web-celld
check "autoscalers that cannot be read are told: a foreign one would not be seen" until_ 30 said web AutoscalingReady \
	'horizontalpodautoscalers cannot be read: '
kubectl replace -f "$root/build/e2e/rights.json" > /dev/null
check "with all rights it is well" until_ 120 eval '[ "$(reason web AutoscalingReady)" = ScaledObjectReconciled ]'
check "no controller has restarted" [ "$(restarts)" = "0 0" ]

# And all of them go.
for name in gateway-standard istio keda; do kubectl delete -f "$crds/$name.yaml" --wait=false > /dev/null; done
check "KEDA goes: the condition says so" until_ 30 eval '[ "$(reason web AutoscalingReady)" = KEDAUnavailable ]'
check "Istio too" until_ 30 eval '[ "$(reason web MeshPolicyReady)" = IstioUnavailable ]'
check "and Gateway API" until_ 30 eval '[ "$(reason web IngressReady)" = GatewayAPIUnavailable ]'
check "the fleets are Ready all the same" eval 'ready $ns web 30 && ready $ns inner 30'
check "no controller has restarted" [ "$(restarts)" = "0 0" ]
kubectl delete namespace $ns --wait=false > /dev/null
