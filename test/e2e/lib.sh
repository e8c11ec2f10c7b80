# lib.sh: what the scenarios share. Sourced inside the bed (`bed run`): kubectl is on PATH, KUBECONFIG is set.
# Nothing here sleeps for a result: kubectl waits, or until() polls a condition with a deadline.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
OPERATOR=celld-operator-system
PROFILE=${PROFILE:-debug}
POINTERS=$root/build/bed-$BED_NAME/pointers
AUDIT=/tmp/bed-$BED_NAME/audit.log
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
# all of one moment: a phase that was read before the generation was seen is of the spec before
settled() {
	local phase seen generation
	read -r phase seen generation <<< "$(get "$1" "$2" '{.status.phase} {.status.observedGeneration} {.metadata.generation}')" &&
		[ "$phase" = Ready ] && [ "$seen" = "$generation" ]
}
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
	  bucket: {name: "${BUCKET:-s3://$ns/$1}"}
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
	kubectl -n "$ns" exec "$pod" -c celld -- celld-sim ctl "$@" > /dev/null || bad "sim $pod $*"
}

# record NAME [APP]: writes every change of the namespace's pods and StatefulSets (of one app when it is named) and WorkerApps
# to files as JSON lines, until the scenario ends; invariants are judged on them alone.
record() {
	local of=${2:+-l celld-operator.io/workerapp=$2} kind
	RECORD=$root/build/e2e/$scenario.$1.watch
	rm -f "$RECORD".*
	for kind in pods statefulsets.apps workerapps.celld-operator.io; do
		[ "$kind" != workerapps.celld-operator.io ] || of=
		kubectl -n "$ns" get "$kind" $of --watch --output-watch-events -o json 2> /dev/null |
			jq -c --unbuffered . > "$RECORD.${kind%%.*}" &
		recorders+=($!)
	done
	trap 'kill "${recorders[@]}" 2> /dev/null' EXIT
	# the recorders have seen what is there
	until_ 20 [ -s "$RECORD.statefulsets" ] || bad "recorder $1"
}
recorders=()
# invariants [CHECK...]: what must hold over the whole record (test/e2e/invariants.py)
invariants() {
	sleep 1 # the recorders' pipes
	check "invariants: $*" python3 "$root/test/e2e/invariants.py" "$RECORD" "$@"
}
# recorded KIND JQ-FILTER: the filter's output for the objects in the record, in order
recorded() { jq -r ".object | $2" "$RECORD.$1"; }
# patch APP JSON: a merge patch of the spec
patch() { kubectl -n "$ns" patch workerapp "$1" --type merge -p "{\"spec\":$2}"; }
revision() { kubectl -n "$ns" get statefulset "$1-celld" -o 'jsonpath={.status.updateRevision}'; }
leader() { kubectl -n $OPERATOR get lease celld-operator-controller -o 'jsonpath={.spec.holderIdentity}'; }
leader_pod() { leader | sed 's/_.*//'; }
# our_writes SINCE-LINE: write requests of our ServiceAccounts in the audit log after that line, Lease renewals aside
audit_lines() { wc -l < "$AUDIT"; }
our_writes() {
	tail -n "+$(($1 + 1))" "$AUDIT" | jq -r 'select(.user.username | startswith("system:serviceaccount:celld-operator-system:")) |
		select(.objectRef.resource != "leases") | [.user.username, .verb, .objectRef.resource, .objectRef.subresource // "",
		.objectRef.namespace // "", .objectRef.name // "", (.responseStatus.code | tostring)] | @tsv'
}
