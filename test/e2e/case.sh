#!/bin/bash
# case.sh FILE: one scenario, with what lib.sh gives it; run inside the bed.
set -uo pipefail
scenario=$(basename "$1" .sh)
. "$(dirname "$0")/lib.sh"
. "$1"
[ "$failed" = 0 ]
