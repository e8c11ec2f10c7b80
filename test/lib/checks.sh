# checks.sh: what scripts that test without a cluster share. Sourced; counts in passed and failed.
passed=0 failed=0
ok() { passed=$((passed + 1)); echo "ok      $*"; }
bad() { failed=$((failed + 1)); echo "FAILED  $*"; }
# check WHAT CMD...: one thing that must hold.
check() {
	local what=$1 said
	shift
	if said=$("$@" 2>&1); then ok "$what"; else bad "$what"; sed 's/^/        | /' <<< "$said" | tail -n 15; fi
}
# refuted CMD...: must fail
refuted() { ! "$@"; }
