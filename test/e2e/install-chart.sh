#!/bin/bash
# install-chart.sh: the packaged chart into the running bed, as a platform engineer does it (kubectl on PATH, KUBECONFIG set;
# BED_DIR is the bed's folder).
# Environment: CONTROLLER_ARGS, a comma-separated list of the controller's flags; HELM_ARGS: more of helm's.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
HELM=$("$root/test/neighbours/build" helm)
export HELM
chart=$("$root/charts/package" "$BED_DIR/chart" v1.2.3)
ln -sf "$HELM" "$BED_DIR/chart/helm"
cp "$chart" "$BED_DIR/chart/celld-operator.tgz"
args=$(jq -Rc 'split(",") | map(gsub("^ +| +$"; "")) | map(select(. != ""))' <<< "${CONTROLLER_ARGS-}")
start=$(date +%s%3N)
"$HELM" install celld-operator "$chart" --namespace celld-operator-system --create-namespace --wait --timeout 90s \
	--set-json "controllerManager.container.args=$args" --set webhook.lameDuck=2s ${HELM_ARGS-}
echo "installed and ready after $(($(date +%s%3N) - start)) ms" | tee "$BED_DIR/chart/took"
