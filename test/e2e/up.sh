#!/bin/bash
# up.sh: a bed with the operator in it, for scenarios and for the demo. Prints nothing but problems on success.
# Environment: BED_NAME, NODES (3), CONTROLLER_ARGS; PROFILE (debug): whose programs are installed.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
bed=$root/test/cluster/bed
export BED_NAME=${BED_NAME:-e2e} PROFILE=${PROFILE:-debug}
stage=$root/build/bed-$BED_NAME

# A container sees the folder of its program, so what celld-sim reads lies beside it.
rm -rf "$stage"
mkdir -p "$stage/bin/pointers"
chmod -R a+rX "$root/build" 2> /dev/null || true
cp "$root/build/$PROFILE/bin/celld-sim" "$stage/bin/"
"$bed" up --nodes "${NODES:-3}"
for separator in : @; do
	"$bed" images add --env "IMAGE=\${TAG}" --env "CELLD_SIM_POINTERS=$stage/bin/pointers" --env "PATH=$stage/bin:/usr/bin:/bin" \
		--env CELLD_SIM_POLL_MS=500 "ghcr.io/denoland/celld$separator" "$stage/bin/celld-sim"
done
BED_DIR=/tmp/bed-$BED_NAME "$bed" run "$here/install.sh"
