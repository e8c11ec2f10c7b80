#!/bin/bash
# up.sh: a bed with the operator in it, for scenarios and for the demo.
# Environment: BED_NAME (e2e), NODES (3), CONTROLLER_ARGS; INSTALL (install.sh): how it gets there, install-chart.sh: by Helm; PROFILE (debug): whose programs are installed.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
bed=$root/test/cluster/bed
export BED_NAME=${BED_NAME:-e2e} PROFILE=${PROFILE:-debug}
stage=$root/build/bed-$BED_NAME

# A container sees the folder of its program as /.image, so what celld-sim reads lies there.
rm -rf "$stage"
mkdir -p "$stage/pointers"
cp "$root/build/$PROFILE/bin/celld-sim" "$stage/"
"$bed" up --nodes "${NODES:-3}"
for separator in : @; do
	"$bed" images add --env 'IMAGE=${TAG}' --env CELLD_SIM_POINTERS=/.image/pointers --env PATH=/.image:/usr/bin:/bin \
		--env CELLD_SIM_POLL_MS=500 --env CELLD_SIM_BUCKET=0 "ghcr.io/denoland/celld$separator" "$stage/celld-sim"
done
BED_DIR=/tmp/bed-$BED_NAME "$bed" run env CONTROLLER_ARGS="${CONTROLLER_ARGS-}" "$here/${INSTALL:-install.sh}"
