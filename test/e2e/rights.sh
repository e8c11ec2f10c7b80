#!/bin/bash
# rights.sh: the scenarios that need every right of the operator, on the installed chart; then what was granted is compared with what
# was used, without exception (test/e2e/chart/80-rights.sh). Twenty minutes.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
export BED_NAME=${BED_NAME:-chart} INSTALL=install-chart.sh BED_AUDIT_LEASES=1 BED_AUDIT_READS=1 RIGHTS=all
exec "$here/run" "$here"/{cases/{10-quickstart,30-rollout,40-recreate},more/{35-tracking,45-claims,45-routes,46-autoscaling,57-members,56-hands,37-adopted},chart/{30-certificates,70-mesh,80-rights}}.sh
