# The API server is away when a controller starts: it waits, and recovers by itself. The webhook does not need it at all.
namespace apiserver
"$root/test/cluster/bed" apiserver-stop
"$root/build/$PROFILE/bin/celld-controller" --kubeconfig "$KUBECONFIG" --leader-elect=false --metrics-bind-address=0 \
	--health-probe-bind-address=127.0.0.1:18082 > "$root/build/e2e/apiserver.controller.log" 2>&1 &
pid=$!
health() { curl -s -o /dev/null -w '%{http_code}' "http://127.0.0.1:18082/$1"; }
check "it lives" until_ 10 eval '[ "$(health healthz)" = 200 ]'
check "and is not ready" [ "$(health readyz)" = 503 ]
"$root/test/cluster/bed" apiserver-start
check "ready by itself" until_ 60 eval '[ "$(health readyz)" = 200 ]'
said() { grep -c "$1" "$root/build/e2e/apiserver.controller.log"; }
check "it said once that the API server is away" [ "$(said 'the API server is away')" = 1 ]
check "and once that it is back, after how long" [ "$(said 'the API server is back.*away_seconds=')" = 1 ]
kill $pid
wait $pid
check "it ends with 0 on SIGTERM" [ $? = 0 ]
app web v0.6.2 > "$root/build/e2e/apiserver.yaml"
check "the webhook and the leader are back" until_ 60 kubectl apply -f "$root/build/e2e/apiserver.yaml"
check "and work" ready $ns web 90
kubectl delete namespace $ns --wait=false > /dev/null
