# killed.sh: for scenarios in which the controller is killed (SIGKILL) after each of its writes; sourced by them, after
# namespace(). The controllers of the bed make room for one that runs here; back() returns them.
user=system:serviceaccount:$OPERATOR:celld-operator-controller-manager
kubectl -n $OPERATOR scale deployment celld-operator-controller --replicas=0 > /dev/null
check "no controller runs" until_ 30 eval '[ -z "$(kubectl -n $OPERATOR get pods -l app.kubernetes.io/component=controller -o name)" ]'
config=$root/build/e2e/killed.kubeconfig
kubectl config view --raw --minify > "$config"
kubectl --kubeconfig "$config" config unset users > /dev/null
kubectl --kubeconfig "$config" config set-credentials bed --token="$(kubectl -n $OPERATOR create token \
	celld-operator-controller-manager --duration=1h)" > /dev/null
kubectl --kubeconfig "$config" config set-context --current --user=bed > /dev/null

# What ends a scenario: app web is settled, and that of its newest spec.
settled_web="[ \"\$(kubectl -n $ns get workerapp web -o 'jsonpath={.status.phase} {.status.observedGeneration}')\" = \"Ready \$(
	kubectl -n $ns get workerapp web -o 'jsonpath={.metadata.generation}')\" ]"
until_killed() { # SECONDS NAME [CONDITION]: until that holds and nothing is written any more
	python3 "$root/test/e2e/killer.py" "$AUDIT" "$user" "$1" "${3-$settled_web}" -- \
		"$root/build/$PROFILE/bin/celld-controller" --kubeconfig "$config" --leader-elect=false --settle=1s --recheck=1s \
		--state-poll-interval=1s --metrics-bind-address=0 --health-probe-bind-address=127.0.0.1:18081 \
		2>> "$root/build/e2e/killed.controller.log" | tee "$root/build/e2e/killed.$2.lives"
	return "${PIPESTATUS[0]}"
}
kills() { grep -c '^killed' "$root/build/e2e/killed.$1.lives"; }
: > "$root/build/e2e/killed.controller.log"
back() {
	kubectl -n $OPERATOR scale deployment celld-operator-controller --replicas=2 > /dev/null
	kubectl -n $OPERATOR rollout status deployment/celld-operator-controller --timeout=60s
}
