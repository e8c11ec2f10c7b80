# The controller is killed (SIGKILL) after every single write of a rollout and of a Recreate, and started again: the same
# end, no gate skipped.
namespace killed
pointer s3://$ns/web v1
app web v0.3.0 | kubectl apply -f - > /dev/null
check "the fleet is Ready" ready $ns web 60
user=system:serviceaccount:$OPERATOR:celld-operator-controller-manager
kubectl -n $OPERATOR scale deployment celld-operator-controller --replicas=0 > /dev/null
check "no controller runs" until_ 30 eval '[ -z "$(kubectl -n $OPERATOR get pods -l app.kubernetes.io/component=controller -o name)" ]'
config=$root/build/e2e/killed.kubeconfig
kubectl config view --raw --minify > "$config"
kubectl --kubeconfig "$config" config unset users > /dev/null
kubectl --kubeconfig "$config" config set-credentials bed --token="$(kubectl -n $OPERATOR create token \
	celld-operator-controller-manager --duration=1h)" > /dev/null
kubectl --kubeconfig "$config" config set-context --current --user=bed > /dev/null

until_killed() { # SECONDS: until the app is settled
	python3 "$root/test/e2e/killer.py" "$AUDIT" "$user" "$1" '[ "$(kubectl -n killed get workerapp web \
		-o "jsonpath={.status.phase} {.status.observedGeneration}")" = "Ready $(kubectl -n killed get workerapp web \
		-o "jsonpath={.metadata.generation}")" ]' -- \
		"$root/build/$PROFILE/bin/celld-controller" --kubeconfig "$config" --leader-elect=false --settle=1s --recheck=1s \
		--state-poll-interval=1s --metrics-bind-address=0 --health-probe-bind-address=127.0.0.1:18081 \
		2>> "$root/build/e2e/killed.controller.log" | tee "$root/build/e2e/killed.$2.lives"
	return "${PIPESTATUS[0]}"
}
kills() { grep -c '^killed' "$root/build/e2e/killed.$1.lives"; }
: > "$root/build/e2e/killed.controller.log"

record roll
patch web '{"env":[{"name":"RUST_LOG","value":"debug"}]}' > /dev/null
check "a roll comes to its end" until_killed 240 roll
check "it was killed after $(kills roll) writes" [ "$(kills roll)" -ge 6 ]
invariants one-down steps rest
check "every pod has the change" [ "$(kubectl get pods -o json | jq '[.items[].spec.containers[0].env[] | select(.name == "RUST_LOG")] | length')" = 3 ]

record recreate
STRATEGY=Recreate app web v0.4.1 | kubectl apply -f - > /dev/null
check "a Recreate comes to its end" until_killed 240 recreate
check "it was killed after $(kills recreate) writes" [ "$(kills recreate)" -ge 4 ]
invariants no-mix hold=10 rest
check "the size is back" [ "$(get $ns web '{.status.fleet.ready}')" = 3 ]
kubectl -n $OPERATOR scale deployment celld-operator-controller --replicas=2 > /dev/null
check "the controllers are back" kubectl -n $OPERATOR rollout status deployment/celld-operator-controller --timeout=60s
kubectl delete namespace $ns --wait=false > /dev/null
