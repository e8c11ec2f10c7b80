# A store that FLEETS (6) fleets share: its Secret's key changes. Never more than --max-concurrent-rollouts roll at once, though the
# controller is killed in the midst of it; all are done, none twice. Judged by the watch log. `kubectl celld status` looks
# on.
. "$root/test/e2e/local.sh"
namespace rotation
fleets=${FLEETS:-6} limit=2
celld=$root/build/$PROFILE/bin/kubectl-celld
check "no controller of the bed runs" away
identity rotation
start() {
	controller rotation 18104 --no-leader-elect --namespaces=$ns --secret-poll-interval=2s --max-concurrent-rollouts=$limit
	trap 'kill $controller 2> /dev/null' EXIT
}
start
store_says() { contains "$(kubectl get cstore shared -o "jsonpath={.status$1}")" "$2"; } # PATH TEXT
kubectl create secret generic keys --from-literal=AWS_ACCESS_KEY_ID=A --from-literal=AWS_SECRET_ACCESS_KEY=first > /dev/null
kubectl apply -f - > /dev/null <<Y
apiVersion: celld-operator.io/v1alpha1
kind: CelldObjectStore
metadata: {name: shared}
spec: {endpoint: "http://store.objects.svc:7070", allowHTTP: true, region: us-east-1, credentialsFrom: {secretRef: keys}}
Y
for n in $(seq "$fleets"); do
	echo ---
	BUCKET=s3://cells/app-$n REPLICAS=2 app "app-$n" v0.6.2 '  storeRef: {name: shared}'
done | kubectl apply -f - > /dev/null
all_ready() { [ "$(kubectl get workerapps -o json | jq '[.items[] | select(.status.phase == "Ready")] | length')" = "$fleets" ]; }
# done_ COUNT: at least so many StatefulSets are at rest with another template than at first
hashes() { kubectl get statefulsets -o json | jq -r '.items[] | select(.spec.updateStrategy.rollingUpdate.partition == 2147483647) |
	.metadata.name + " " + .spec.template.metadata.annotations["celld-operator.io/config-hash"] + " " + .status.updateRevision' | sort; }
done_() { [ "$(comm -13 "$root/build/e2e/rotation.before" <(hashes) | wc -l)" -ge "$1" ]; }
check "$fleets fleets are Ready" until_ $((60 + 5 * fleets)) all_ready
check "the store counts them" until_ 30 store_says .apps "$fleets"
hashes > "$root/build/e2e/rotation.before"
check "at rest" [ "$(wc -l < "$root/build/e2e/rotation.before")" = "$fleets" ]
"$celld" status > "$root/build/e2e/rotation.status" 2>&1
check "status: all Ready, says its exit status too" [ $? = 0 ]

record rotation
begin=$SECONDS
kubectl patch secret keys -p '{"stringData":{"AWS_SECRET_ACCESS_KEY":"second"}}' > /dev/null
check "half of them are done" until_ $((60 + 20 * fleets)) done_ $((fleets / 2))
kill -9 "$controller"
wait "$controller" 2> /dev/null
say "        the controller was killed when $(comm -13 "$root/build/e2e/rotation.before" <(hashes) | wc -l) were done"
start
"$celld" status > "$root/build/e2e/rotation.status" 2>&1
check "status: not all are Ready" [ $? = 1 ]
check "all of them are done" until_ $((60 + 20 * fleets)) done_ "$fleets"
check "and Ready" until_ 60 all_ready
say "        $fleets fleets of 2 pods, $limit at once: $((SECONDS - begin)) s"
sleep 5 # two rounds of the Secret's poll: nobody begins again
sleep 1 # the recorders' pipes
check "never more than $limit in roll, none twice" python3 "$root/test/e2e/together.py" "$RECORD" "$limit" "$fleets"
say "        $(python3 "$root/test/e2e/together.py" "$RECORD" "$limit" "$fleets" | tail -n 1)"
check "status: one in detail" contains "$("$celld" status app-1)" "CelldObjectStore shared"
check "status: its pods" [ "$("$celld" status app-1 -o json | jq -r '.[0].pods | map(select(.ready).name) | join(" ")')" = "app-1-celld-0 app-1-celld-1" ]
check "status: all Ready again" "$celld" status
check "status: one that is not there" contains "$("$celld" status nobody 2>&1)" "there is no WorkerApp nobody in namespace $ns"

kill "$controller"
wait "$controller" 2> /dev/null
check "the controllers of the bed are back" back
kubectl delete namespace $ns --wait=false > /dev/null
