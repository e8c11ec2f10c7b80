#!/bin/bash
# chart.sh [CASE...]: the chart as Helm installs, upgrades and removes it, on a bed of its own; see test/e2e/chart.
# Environment: ROOTFS=1: with the root file systems of the images that `make images` has built, instead of this machine's /usr and
# the programs of PROFILE.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
export BED_NAME=${BED_NAME:-chart} INSTALL=install-chart.sh NODES=2 BED_AUDIT_LEASES=1 BED_AUDIT_READS=1
cases=("$here"/chart/*.sh)
[ $# = 0 ] || cases=("${@/#/$here/chart/}") cases=("${cases[@]/%/.sh}")
if [ "${ROOTFS-}" ]; then
	images=$(cd "$here/../.." && pwd)/build/images
	jq --arg images "$images" 'map((.prefix | sub(".*/"; "")) as $name | if $name | test("^celld-(webhook|controller)$") then
		.rootfs = "\($images)/\($name).root" | .command = ["/usr/local/bin/\($name)"] else . end)' "$here/../cluster/images.json" > "$images/images.json"
	export BED_IMAGES=$images/images.json
fi
exec "$here/run" "${cases[@]}"
