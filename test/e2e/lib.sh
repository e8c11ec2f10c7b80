# lib.sh: what the scenarios share. Sourced inside the bed (`bed run`): kubectl is on PATH, KUBECONFIG is set.
# Nothing here sleeps for a result: kubectl waits, or until() polls a condition with a deadline.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
OPERATOR=celld-operator-system
passed=0 failed=0

say() { printf '%s\n' "$*"; }
ok() { passed=$((passed + 1)); say "ok      $scenario: $*"; }
bad() { failed=$((failed + 1)); say "FAILED  $scenario: $*"; }
# check WHAT CMD...: one thing that must hold.
check() {
	local what=$1 out
	shift
	if out=$("$@" 2>&1); then ok "$what"; else bad "$what"; sed 's/^/        | /' <<< "$out" | tail -n 15; fi
}
# refuted CMD...: must fail
refuted() { ! "$@"; }
# contains TEXT SUBSTRING
contains() { [[ $1 == *"$2"* ]] || { printf 'no "%s" in:\n%s\n' "$2" "$1"; return 1; }; }

# until SECONDS CMD...: polls; fails when it never held.
until_() {
	local end=$((SECONDS + $1))
	shift
	until "$@" > /dev/null 2>&1; do
		((SECONDS < end)) || { "$@"; return 1; }
		sleep 0.2
	done
}

get() { kubectl -n "$1" get workerapp "$2" -o "jsonpath=$3"; } # NAMESPACE APP JSONPATH
phase_is() { [ "$(get "$1" "$2" '{.status.phase}')" = "$3" ]; }
waiting_on() { contains "$(get "$1" "$2" '{.status.rollout.waitingOn}')" "$3"; }
generation_seen() { [ "$(get "$1" "$2" '{.status.observedGeneration}')" = "$(get "$1" "$2" '{.metadata.generation}')" ]; }
settled() { phase_is "$1" "$2" Ready && generation_seen "$1" "$2"; }
# ready NAMESPACE APP SECONDS: Ready, and that of the newest spec
ready() { until_ "$3" settled "$1" "$2"; }

# pointer BUCKET VERSION: what celld-sim finds in that bucket as deploy/current.json
pointer() {
	mkdir -p "$POINTERS"
	printf '{"script_name":"app","version":"%s","prefix":"deploy/app/%s","rollout":{"percent":100}}\n' "$2" "$2" \
		> "$POINTERS/.new.$$"
	mv "$POINTERS/.new.$$" "$POINTERS/$(tr -c 'A-Za-z0-9\n' _ <<< "${1%/}").json"
}

# app NAME VERSION [EXTRA-SPEC]: a small WorkerApp manifest; EXTRA-SPEC is YAML indented by two blanks.
app() {
	cat <<-X
	apiVersion: celld-operator.io/v1alpha1
	kind: WorkerApp
	metadata: {name: $1}
	spec:
	  appVersion: ${APP_VERSION:-v1}
	  celld:
	    image: ghcr.io/denoland/celld:$2
	    updateStrategy: ${STRATEGY:-Rolling}
	  replicas: ${REPLICAS:-3}
	  bucket: {name: "s3://cells/$1"}
	  resources: {memoryGi: 1, cpuMillis: 10}
	${3-}
	X
}

# namespace: a fresh one, for the scenario that calls; also where `kubectl apply` without -n goes.
namespace() {
	kubectl create namespace "$1" > /dev/null
	kubectl config set-context --current --namespace="$1" > /dev/null
	ns=$1
}
sim() { # POD FAULT...: scripts a fault of celld-sim
	local pod=$1
	shift
	kubectl -n "$ns" exec "$pod" -c celld -- "$SIM" ctl "$@"
}
