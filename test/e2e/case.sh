#!/bin/bash
# case.sh FILE: one scenario, with what lib.sh gives it; run inside the bed.
set -uo pipefail
scenario=$(basename "$1" .sh)
. "$(dirname "$0")/lib.sh"
. "$1"
# Scenarios kill with SIGKILL; nothing of ours ends by SIGSEGV or SIGABRT.
crashed=$(kubectl -n $OPERATOR get pods -o json 2> /dev/null | jq -r '.items[] | .metadata.name as $pod | .status.containerStatuses[]? |
	(.state, .lastState).terminated // empty | select(.exitCode == 134 or .exitCode == 139) | "\($pod) \(.exitCode) \(.finishedAt)"')
[ -z "$crashed" ] || bad "no program of ours has crashed: $crashed"
[ "$failed" = 0 ]
