#!/bin/bash
# traces.sh [COUNT]: replays COUNT traces (30) of the rollout tests' model on real StatefulSets, inside a bed:
#   test/cluster/bed run test/e2e/traces.sh 200
# Needs no operator in the bed; see traces.py. Under the feature gate MaxUnavailableStatefulSet, which the API server
# tells of, the controller waits for other pods, and so does the model.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
printer=$root/build/${PROFILE:-debug}/test/rollout/print_traces
[ -x "$printer" ] || { echo "traces.sh: make check first" >&2; exit 2; }
metrics=$(kubectl get --raw /metrics) counting=
! grep -q '^kubernetes_feature_enabled{name="MaxUnavailableStatefulSet",.* 1$' <<< "$metrics" || counting=--counting
"$printer" $counting "${1:-30}" | python3 "$root/test/e2e/traces.py"
