# What lies around a fleet where Gateway API and Istio may be there or not: routes, hostnames, mesh policy.
crds=$root/build/crds
install_crds() { kubectl apply --server-side --force-conflicts -f "$crds/$1.yaml" > /dev/null; }
condition() { get "${3:-$ns}" "$1" "{.status.conditions[?(@.type==\"$2\")].$4}"; }
condition_is() { [ "$(condition "$1" "$2" "${4:-$ns}" reason)" = "$3" ]; }
says() { contains "$(condition "$1" "$2" "$ns" message)" "$3"; }
gone() { ! kubectl -n "$ns" get "$1" "$2"; }
field() { kubectl -n "$ns" get "$1" "$2" -o "jsonpath=$3"; }

namespace routes
pointer s3://$ns/web v1
app web v0.6.2 '  hostnames: [web.example.com]' | kubectl apply -f - > /dev/null

# Without any of them.
check "no Gateway API: the condition says so" until_ 60 condition_is web IngressReady GatewayAPIUnavailable
check "no Istio: the condition says so" condition_is web MeshPolicyReady IstioUnavailable
check "the fleet is Ready all the same" ready $ns web 60
check "url is the Service's" [ "$(get $ns web '{.status.url}')" = "http://web-celld.$ns.svc:8080/" ]

# They appear.
install_crds gateway-standard
check "the route is there" until_ 20 kubectl get httproute web-celld
check "nobody has judged it: Unknown" until_ 10 eval '[ "$(condition web IngressReady "" status)" = Unknown ]'
parent() { # STATUS REASON: as a Gateway's implementation reports on the route
	kubectl patch httproute web-celld --subresource=status --type=merge -p '{"status":{"parents":[{"parentRef":{"group":
		"gateway.networking.k8s.io","kind":"Gateway","name":"edge","namespace":"infra"},"controllerName":"example.com/gateway",
		"conditions":[{"type":"Accepted","status":"'"$1"'","reason":"'"$2"'","message":"","lastTransitionTime":"2026-01-01T00:00:00Z",
		"observedGeneration":9},{"type":"ResolvedRefs","status":"True","reason":"ResolvedRefs","message":"",
		"lastTransitionTime":"2026-01-01T00:00:00Z","observedGeneration":9}]}]}}'
}
parent False NotAllowedByListeners > /dev/null
check "refused by the Gateway: RouteError" until_ 10 says web IngressReady "Gateway infra/edge: Accepted is False: NotAllowedByListeners"
check "with what to do" says web IngressReady allowedRoutes
parent True Accepted > /dev/null
check "accepted; the standard channel has no retry" until_ 10 condition_is web IngressReady RouteReconciledRetryDropped
check "url is the hostname" [ "$(get $ns web '{.status.url}')" = https://web.example.com/ ]
install_crds gateway-experimental
check "with the experimental channel it retries" until_ 30 eval '[ "$(field httproute web-celld "{.spec.rules[0].retry.attempts}")" = 2 ]'
check "and the condition is plain" until_ 10 condition_is web IngressReady RouteObserved
install_crds istio
check "Istio appears: the policy is made" until_ 20 kubectl get authorizationpolicy web-celld-internal
check "and said" until_ 10 condition_is web MeshPolicyReady PolicyReconciled

# A hand on it, and a foreign one.
kubectl patch httproute web-celld --type=json -p '[{"op":"replace","path":"/spec/hostnames","value":["mine.example.com"]}]' > /dev/null
check "an edit of ours is put back" until_ 10 eval '[ "$(field httproute web-celld "{.spec.hostnames[0]}")" = web.example.com ]'
kubectl apply -f - > /dev/null <<-X
	apiVersion: gateway.networking.k8s.io/v1
	kind: HTTPRoute
	metadata: {name: foreign-celld}
	spec: {hostnames: [mine.example.com]}
X
pointer s3://$ns/foreign v1
REPLICAS=1 app foreign v0.6.2 '  hostnames: [foreign.example.com]' | kubectl apply -f - > /dev/null
check "a foreign HTTPRoute of our name is left alone" until_ 30 says foreign IngressReady "is not of this WorkerApp"
check "its fleet is Ready all the same" ready $ns foreign 60
check "nothing of it has changed" [ "$(field httproute foreign-celld '{.spec.hostnames[0]}')" = mine.example.com ]
kubectl apply -f - > /dev/null <<-X
	apiVersion: networking.k8s.io/v1
	kind: Ingress
	metadata: {name: foreign-celld}
	spec: {defaultBackend: {service: {name: mine, port: {number: 80}}}}
X
patch foreign '{"ingress":{"ingressClass":"nginx"}}' > /dev/null
check "nor is a foreign Ingress touched" until_ 30 says foreign IngressReady "Ingress foreign-celld exists and is not of this WorkerApp"
check "its backend is as it was" [ "$(field ingress foreign-celld '{.spec.defaultBackend.service.name}')" = mine ]
kubectl delete workerapp foreign > /dev/null

# Another mode: the new object comes, the old one goes.
patch web '{"ingress":{"ingressClass":"nginx","path":"/api","stripPrefix":true,"clusterIssuer":"letsencrypt"},"websockets":true}' > /dev/null
check "ingressClass: an Ingress" until_ 10 kubectl get ingress web-celld
check "and no HTTPRoute" until_ 10 gone httproute web-celld
check "its condition" until_ 10 condition_is web IngressReady IngressReconciled
check "url follows" [ "$(get $ns web '{.status.url}')" = https://web.example.com/api ]
patch web '{"ingress":{"ingressClass":"traefik"}}' > /dev/null
check "a class that cannot strip: RouteError" until_ 10 condition_is web IngressReady RouteError
check "and no Ingress that would do something else" until_ 10 gone ingress web-celld
patch web '{"ingress":{"ingressClass":null,"gatewayRefs":[{"name":"own","sectionName":"https"}]}}' > /dev/null
check "gatewayRefs: an HTTPRoute again" until_ 10 eval '[ "$(field httproute web-celld "{.spec.parentRefs[0].sectionName}")" = https ]'
patch web '{"hostnames":[]}' > /dev/null
check "no hostnames: no route" until_ 10 gone httproute web-celld
check "and no condition" until_ 10 eval '[ -z "$(condition web IngressReady "" reason)" ]'
patch web '{"hostnames":["web.example.com"],"ingress":null}' > /dev/null
check "hostnames again: the route is back" until_ 10 kubectl get httproute web-celld

# Two namespaces want one host. Admission may be away; the older one keeps it, and the other gets it when it goes.
kubectl get validatingwebhookconfiguration celld-operator -o json | jq 'del(.metadata.resourceVersion, .metadata.uid)' > "$root/build/e2e/hooks.json"
kubectl delete validatingwebhookconfiguration celld-operator > /dev/null
first=$ns
namespace routes-later
pointer s3://$ns/late v1
REPLICAS=1 app late v0.6.2 '  hostnames: [late.example.com, "*.example.com"]' | kubectl apply -f - > /dev/null
check "a wildcard over a host of another namespace is lost" until_ 30 condition_is late IngressReady HostnameConflict
check "the other app is not named" says late IngressReady "*.example.com: an older WorkerApp of another namespace has it"
check "its own host is routed" [ "$(field httproute late-celld '{.spec.hostnames}')" = '["late.example.com"]' ]
patch late '{"hostnames":["web.example.com"]}' > /dev/null
check "the same host: no route" until_ 10 gone httproute late-celld
check "the older one keeps its route" kubectl -n "$first" get httproute web-celld
kubectl -n "$first" patch workerapp web --type=merge -p '{"spec":{"hostnames":["other.example.com"]}}' > /dev/null
check "given up by the older one, the other gets it" until_ 10 eval '[ "$(field httproute late-celld "{.spec.hostnames[0]}")" = web.example.com ]'
check "and no conflict is left" until_ 10 refuted condition_is late IngressReady HostnameConflict
# as Helm, whose release it may be: its next upgrade would find a stranger's fields
kubectl apply --server-side --field-manager=helm -f "$root/build/e2e/hooks.json" > /dev/null
kubectl delete namespace $ns --wait=false > /dev/null
ns=$first
kubectl config set-context --current --namespace="$ns" > /dev/null

# Rights that are missing, and given later.
kubectl get clusterrole celld-operator-controller -o json | jq 'del(.metadata.resourceVersion, .metadata.uid)' > "$root/build/e2e/role.json"
jq 'del(.rules[] | select(.resources[0] == "httproutes"))' "$root/build/e2e/role.json" | kubectl replace -f - > /dev/null
kubectl -n $OPERATOR rollout restart deployment/celld-operator-controller > /dev/null
check "a new controller without the right says so" until_ 60 says web IngressReady "httproutes cannot be read"
check "the fleet is Ready all the same" ready $ns web 20
kubectl replace -f "$root/build/e2e/role.json" > /dev/null
check "with the right given it recovers" until_ 90 says web IngressReady "has not judged the route yet"

# What the Service carries.
foreign() { kubectl annotate service web-celld cloud.example/x=1 --field-manager=cloud > /dev/null; }
notes() { field service web-celld '{.metadata.annotations}'; }
patch web '{"service":{"type":"LoadBalancer","annotations":{"a/x":"1","b/x":"2"}}}' > /dev/null
check "annotations and type of the Service" until_ 10 eval '[ "$(notes)" = "{\"a/x\":\"1\",\"b/x\":\"2\"}" ]'
foreign
ip=$(field service web-celld '{.spec.clusterIP}')
patch web '{"service":{"type":"ClusterIP","annotations":{"a/x":null}}}' > /dev/null
check "a dropped one vanishes, a foreign one stays" until_ 10 eval '[ "$(notes)" = "{\"b/x\":\"2\",\"cloud.example/x\":\"1\"}" ]'
check "node ports are given back, the address stays" eval \
	'[ -z "$(field service web-celld "{.spec.ports[0].nodePort}")" ] && [ "$(field service web-celld "{.spec.clusterIP}")" = "$ip" ]'
check "both address families where there are two" [ "$(field service web-celld '{.spec.ipFamilyPolicy}')" = PreferDualStack ]

# Quiet with all of them there.
quiet_for() { local line; line=$(audit_lines); sleep "$1"; [ -z "$(our_writes "$line")" ]; }
check "no write in 10 quiet seconds" until_ 60 quiet_for 10

# They vanish.
kubectl delete crd httproutes.gateway.networking.k8s.io authorizationpolicies.security.istio.io > /dev/null
check "HTTPRoute is gone: the condition says so" until_ 20 condition_is web IngressReady GatewayAPIUnavailable
check "Istio too" until_ 10 condition_is web MeshPolicyReady IstioUnavailable
check "the fleet is Ready all the same" ready $ns web 20
check "no controller has restarted" [ "$(kubectl -n $OPERATOR get pods -l app.kubernetes.io/component=controller \
	-o 'jsonpath={.items[*].status.containerStatuses[0].restartCount}')" = "0 0" ]
install_crds gateway-experimental
check "back again: the route too" until_ 20 kubectl get httproute web-celld

# What render prints is what the real schemas take, in every mode.
install_crds istio
install_crds keda
for n in store tenant-acme; do kubectl create namespace $n > /dev/null; done
for d in "$root"/test/golden/render/{route-*,scaled,quickstart}/; do
	check "accepted by the real schemas: $(basename "$d")" \
		until_ 10 kubectl apply --server-side --dry-run=server --validate=strict -f "$d/out.yaml"
done
kubectl delete namespace $ns store tenant-acme --wait=false > /dev/null
kubectl delete -f "$crds/keda.yaml" -f "$crds/istio.yaml" -f "$crds/gateway-experimental.yaml" --wait=false > /dev/null
