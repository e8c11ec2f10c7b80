# Real traffic: Traefik, as the Gateway API's implementation, before celld-sim. Clients outside of the cluster ask it while a fleet
# grows and rolls. It runs beside the cluster's pods and reaches them directly, as an ingress controller does. It
# gathers changes for two seconds by default, longer than the second after which a client asks again: half a second here.
# Environment: REQUESTS (1000; SOAK=1: 5000), how many at least while the fleet rolls.
traefik=$("$root/test/neighbours/build" traefik) || bad "Traefik is built"
client=$root/test/e2e/traffic.py
work=$root/build/e2e/traffic
REQUESTS=${REQUESTS:-${SOAK:+5000}}
REQUESTS=${REQUESTS:-1000}
AT=127.0.0.1:8000 HOST=shop.example.com
rm -rf "$work"
mkdir -p "$work"
condition() { get "$ns" "$1" "{.status.conditions[?(@.type==\"$2\")].$3}"; }
fetch() { curl -s -o "$work/body" -D "$work/head" -w '%{http_code}' -H "Host: $HOST" "http://$AT$1"; } # PATH
answers() { [ "$(fetch "$1")" = "$2" ]; }                                                       # PATH STATUS
seen() { tr -d '\r' < "$work/head" | sed -n "s/^Celld-Sim-$1: //Ip"; } # Path|Node: of the last answer
# nodes COUNT: how many pods answer so many requests
nodes() { for _ in $(seq "$1"); do answers /shop 200 && seen Node; done | sort -u | wc -l; }

kubectl apply --server-side --force-conflicts -f "$root/build/crds/gateway.yaml" > /dev/null
namespace traffic
until_ 20 kubectl apply -f - > /dev/null <<-Y
	apiVersion: gateway.networking.k8s.io/v1
	kind: GatewayClass
	metadata: {name: traefik}
	spec: {controllerName: traefik.io/gateway-controller}
Y
kubectl apply -f - > /dev/null <<-Y
	apiVersion: gateway.networking.k8s.io/v1
	kind: Gateway
	metadata: {name: edge}
	spec:
	  gatewayClassName: traefik
	  listeners: [{name: web, protocol: HTTP, port: 8000, allowedRoutes: {namespaces: {from: Same}}}]
Y
for a in shop docs; do pointer "s3://$ns/$a" v1; done
# A drain takes a node longer than an ingress controller needs to hear of it.
app shop v0.6.2 "  env: [{name: CELLD_SIM_DRAIN_MS, value: \"5000\"}]
  websockets: true
  hostnames: [$HOST]
  ingress: {path: /shop, stripPrefix: true, gatewayRefs: [{name: edge}]}" | kubectl apply -f - > /dev/null
REPLICAS=1 app docs v0.6.2 "  hostnames: [$HOST]
  ingress: {path: /docs, gatewayRefs: [{name: edge}]}" | kubectl apply -f - > /dev/null
"$traefik" --entrypoints.web.address=:8000 --entrypoints.traefik.address=127.0.0.1:8001 --providers.kubernetesgateway=true \
	--providers.providersthrottleduration=500ms --global.checknewversion=false --global.sendanonymoususage=false > "$work/traefik.log" 2>&1 &
traefik_pid=$!
trap 'kill $traefik_pid 2> /dev/null; touch "$work/stop"' EXIT
check "the fleets are Ready" ready $ns shop 90
check "Traefik accepts the route: IngressReady" until_ 60 eval '[ "$(condition shop IngressReady status)" = True ]'
check "its standard channel has no retry" [ "$(condition shop IngressReady reason)" = RouteReconciledRetryDropped ]
check "and that of the other app" until_ 60 eval '[ "$(condition docs IngressReady status)" = True ]'

# Paths: one host, two apps.
check "it answers" until_ 20 answers /shop/cart/7 200
check "the path is stripped" [ "$(seen Path)" = /cart/7 ]
check "of the first app" contains "$(seen Node)" shop-celld-
check "the bare path too" eval 'answers /shop 200 && [ "$(seen Path)" = / ]'
check "the other app on the same host" until_ 20 answers /docs/cart/7 200
check "its path is not stripped" [ "$(seen Path)" = /docs/cart/7 ]
check "and it is the other fleet" contains "$(seen Node)" docs-celld-
check "whole segments only" answers /shopping 404
check "the operator's interface is not to be had" eval 'answers /shop/state 200 && grep -q "simulated worker" "$work/body"'
check "every pod serves" until_ 20 eval '[ "$(nodes 12)" = 3 ]'

# A WebSocket stays up while the fleet grows.
"$client" socket $AT $HOST /shop/ws "$work/enough" > "$work/socket" 2>&1 &
socket=$!
check "a WebSocket opens" until_ 20 grep -q open "$work/socket"
patch shop '{"replicas":5}' > /dev/null
check "the fleet grows to 5" until_ 60 eval '[ "$(get $ns shop {.status.fleet.ready})" = 5 ] && settled $ns shop'
check "the new pods serve" until_ 20 eval '[ "$(nodes 30)" = 5 ]'
touch "$work/enough"
wait $socket
check "it stayed up, every message came back" [ $? = 0 ]
say "        $(tail -n 1 "$work/socket")"

# Requests all through a gated rollout.
record roll shop
trap 'kill "${recorders[@]}" $traefik_pid 2> /dev/null; touch "$work/stop"' EXIT
"$client" load $AT $HOST /shop/cart "$REQUESTS" "$work/stop" > "$work/load" 2>&1 &
load=$!
patch shop '{"env":[{"name":"CELLD_SIM_DRAIN_MS","value":"5000"},{"name":"CELLD_SIM_CELLS","value":"3"}]}' > /dev/null
check "it rolls" until_ 30 phase_is $ns shop RollingOut
check "to its end" ready $ns shop 180
touch "$work/stop"
wait $load
check "the clients come to their end" [ $? = 0 ]
invariants one-down steps rest
say "        $(cat "$work/load")"
check "at least $REQUESTS requests" jq -e ".requests >= $REQUESTS" "$work/load"
check "none failed, with one retry of a 503" jq -e '.failed == 0' "$work/load"
check "and few did at first" jq -e '.failed_without_retry * 20 < .requests' "$work/load"

kill $traefik_pid
wait $traefik_pid
kubectl delete namespace $ns --wait=false > /dev/null
kubectl delete -f "$root/build/crds/gateway.yaml" --wait=false > /dev/null
