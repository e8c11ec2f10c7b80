# A proxy between the controller and the API server deals faults at random, while fleets get random changes; then it is quiet:
# everything converges, and no fleet was ever treated worse than it may be (test/e2e/faults.py).
# FAULT_SECONDS (60; `make soak` 1800), FLEETS (8; 20), SEED repeats one.
seed=${SEED:-$RANDOM$RANDOM} out=$root/build/e2e/faults
rm -f "$out".*
. "$root/test/e2e/local.sh"
check "no controller of the bed runs" away
identity faults
ASAN_OPTIONS=exitcode=86 TSAN_OPTIONS=exitcode=86 PYTHONDONTWRITEBYTECODE=1 python3 "$root/test/e2e/faults.py" "${FAULT_SECONDS:-60}" "${FLEETS:-8}" "$seed" "$POINTERS" "$out" -- \
	"$root/build/$PROFILE/bin/celld-controller" --settle=1s --recheck=1s --state-poll-interval=2s --discovery-interval=5s \
	--deploy-poll-interval=2s --secret-poll-interval=2s --metrics-bind-address=0 --health-probe-bind-address=127.0.0.1:18083 \
	> "$out.run" 2>&1
rc=$?
say "$(cat "$out.run")"
check "no sanitizer has complained, where there is one" refuted grep -E "Sanitizer|runtime error" "$out.log"
check "all converge, as fresh installs do: $(tail -n 1 "$out.run")" [ "$rc" = 0 ]
while read -r fleet checks; do
	check "$fleet: $checks" python3 "$root/test/e2e/invariants.py" "$out.$fleet" $checks
done < "$out.fleets"
check "the controllers of the bed are back" back
