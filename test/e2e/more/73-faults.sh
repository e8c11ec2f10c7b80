# A proxy between the controller and the API server deals faults at random, while fleets get random changes; then it is quiet:
# everything converges, and no fleet was ever treated worse than it may be (test/e2e/faults.py).
# FAULT_SECONDS (60; `make soak` 1800), FLEETS (8; 20), SEED repeats one.
seed=${SEED:-$RANDOM$RANDOM} out=$root/build/e2e/73-faults
rm -f "$out".*
kubectl -n $OPERATOR scale deployment celld-operator-controller --replicas=0 > /dev/null
check "no controller of the bed runs" until_ 30 eval '[ -z "$(kubectl -n $OPERATOR get pods -l app.kubernetes.io/component=controller -o name)" ]'
kubectl --kubeconfig "$out.kubeconfig" config set-credentials bed --token="$(kubectl -n $OPERATOR create token \
	celld-operator-controller-manager --duration=4h)" > /dev/null
kubectl --kubeconfig "$out.kubeconfig" config set-context bed --user=bed > /dev/null
kubectl --kubeconfig "$out.kubeconfig" config use-context bed > /dev/null
PYTHONDONTWRITEBYTECODE=1 python3 "$root/test/e2e/faults.py" "${FAULT_SECONDS:-60}" "${FLEETS:-8}" "$seed" "$POINTERS" "$out" -- \
	"$root/build/$PROFILE/bin/celld-controller" --settle=1s --recheck=1s --state-poll-interval=2s --discovery-interval=5s \
	--deploy-poll-interval=2s --secret-poll-interval=2s --metrics-bind-address=0 --health-probe-bind-address=127.0.0.1:18083 \
	> "$out.run" 2>&1
rc=$?
say "$(cat "$out.run")"
check "all converge, as fresh installs do: $(tail -n 1 "$out.run")" [ "$rc" = 0 ]
while read -r fleet checks; do
	check "$fleet: $checks" python3 "$root/test/e2e/invariants.py" "$out.$fleet" $checks
done < "$out.fleets"
kubectl -n $OPERATOR scale deployment celld-operator-controller --replicas=2 > /dev/null
check "the controllers of the bed are back" kubectl -n $OPERATOR rollout status deployment/celld-operator-controller --timeout=60s
