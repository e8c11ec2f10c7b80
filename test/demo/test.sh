#!/bin/bash
# test.sh: the demo shows what it promises and leaves nothing behind. Prints `N passed, N failed`.
set -uo pipefail
cd "$(dirname "$0")/../.."
export BED_NAME=${BED_NAME:-demo}
out=build/demo.out
passed=0 failed=0
check() { # WHAT CMD...
	local what=$1
	shift
	if "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)) && echo "FAILED  demo: $what"; fi
}
shows() { grep -qE -- "$1" "$out"; }
before() { # A B: a line that matches A stands before one that matches B
	awk -v a="$1" -v b="$2" '$0 ~ a {seen = 1} seen && $0 ~ b {found = 1} END {exit !found}' "$out"
}

mkdir -p build
start=$SECONDS
test/demo/demo > "$out" 2>&1 < /dev/null
rc=$?
echo "        demo: $((SECONDS - start)) s"
[ $rc = 0 ] || tail -n 20 "$out"
check "it ends well" [ $rc = 0 ]
check "nothing of it is left" [ ! -e "/tmp/bed-$BED_NAME" ]
check "no colour outside of a terminal" eval '! grep -q $'"'\e'"' "$out"'
check "the quick start is applied" shows '^workerapp.celld-operator.io/chat created'
check "three pods of it are Ready" shows '^chat +Ready +sha-abc123 +3 +0 '
check "the upgrade is refused" shows '^The WorkerApp "shop" is invalid: spec.celld.image: celld v0.4.1 to v0.5.1 cannot roll'
check "nothing was stored" before 'is invalid' '^ghcr.io/denoland/celld:v0.4.1$'
check "the gate is shut" shows ' RollingOut +3 +0 +fleet: restoring=3$'
check "then the highest ordinal goes first" before restoring=3 'chat-celld-2: '
check "then the next" before chat-celld-2: 'chat-celld-1: '
check "then the last" before chat-celld-1: 'chat-celld-0: '
check "one at a time" eval '! grep -qE " RollingOut +[01] +[0-9] .*chat-celld" "$out"'
check "every pod serves the new version" shows '^chat +Ready +sha-def456 +3 +0 '
check "Recreate stops all" before ' Recreating ' ' Recreating +0 +0 +fleet: stopped, waiting one lease lifetime'
check "and starts the new version" before 'waiting one lease lifetime' '^shop-celld-0 +ghcr.io/denoland/celld:v0.5.1 '
check "it says how to go on" shows 'make demo KEEP=1'
# The README shows the refusal as it is printed.
refusal() { sed -n '/^The WorkerApp "shop" is invalid/,/^\(```\)\?$/{/^\(```\)\?$/!p}' "$1"; }
check "the README shows this refusal" [ "$(refusal "$out")" = "$(refusal README.md)" ]
echo "$passed passed, $failed failed"
[ $failed = 0 ]
