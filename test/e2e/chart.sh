#!/bin/bash
# chart.sh [CASE...]: the chart as Helm installs, upgrades and removes it, on a bed of its own; see test/e2e/chart.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
export BED_NAME=${BED_NAME:-chart} INSTALL=install-chart.sh NODES=2 BED_AUDIT_LEASES=1 BED_AUDIT_READS=1
cases=("$here"/chart/*.sh)
[ $# = 0 ] || cases=("${@/#/$here/chart/}") cases=("${cases[@]/%/.sh}")
exec "$here/run" "${cases[@]}"
