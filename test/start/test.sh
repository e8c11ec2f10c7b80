#!/bin/bash
# test.sh: started wrongly, a program says why in one clear line and ends with the right status: 2 for a flag, 1 for anything
# else. Needs no bed. Prints `N passed, N failed` last. BIN: where the programs are.
set -uo pipefail
cd "$(dirname "$0")/../.."
bin=${BIN:-build/debug/bin}
work=$(mktemp -d)
passed=0 failed=0
holder=
trap 'kill $holder 2> /dev/null; rm -rf "$work"' EXIT
good() { passed=$((passed + 1)); }
bad() { failed=$((failed + 1)) && echo "FAILED  start: $*"; }

ends() { # STATUS TEXT PROGRAM ARG...: within 20 s, with one line on stderr that holds TEXT
	local status=$1 text=$2 rc err
	shift 2
	err=$(timeout 20 "$bin/$1" "${@:2}" 2>&1 > /dev/null)
	rc=$?
	[ $rc = "$status" ] || { bad "$*: status $rc instead of $status: $err"; return; }
	[ "$(wc -l <<< "$err")" = 1 ] || { bad "$*: more than one line: $err"; return; }
	[[ $err == "$1"*"$text"* || $err == *level=error*"$text"* ]] || { bad "$*: no '$text' in: $err"; return; }
	good
}

openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$work/key" -out "$work/crt" -subj /CN=x \
	-days 1 2> /dev/null
openssl ecparam -name prime256v1 -genkey -noout -out "$work/other"
echo garbage > "$work/garbage"
cat > "$work/kubeconfig" <<X
{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: k, user: u}}],
 clusters: [{name: k, cluster: {server: "https://127.0.0.1:1", insecure-skip-tls-verify: true}}], users: [{name: u, user: {token: t}}]}
X
# A port that is taken, by a listener that tells which.
python3 -c 'import socket, time
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen()
print(s.getsockname()[1], flush=True); time.sleep(600)' > "$work/port" &
holder=$!
until [ -s "$work/port" ]; do kill -0 $holder || exit 1; sleep 0.05; done
taken=127.0.0.1:$(< "$work/port")

controller=(celld-controller --metrics-bind-address=0 --health-probe-bind-address=127.0.0.1:0)
ends 1 'No such file' "${controller[@]}" --kubeconfig "$work/none"
ends 1 'not a kubeconfig' "${controller[@]}" --kubeconfig "$work/garbage"
ends 2 '--settel' celld-controller --settel=1s
ends 2 "'1x' is not a duration" celld-controller --settle=1x
ends 1 'No such file' "${controller[@]}" --kubeconfig "$work/kubeconfig" --compat-table "$work/none"
ends 1 "$work/garbage" "${controller[@]}" --kubeconfig "$work/kubeconfig" --compat-table "$work/garbage"
ends 1 "${taken#*:}" celld-controller --kubeconfig "$work/kubeconfig" --metrics-bind-address=0 --health-probe-bind-address=$taken

webhook=(celld-webhook --metrics-bind-address=127.0.0.1:0 --health-probe-bind-address=127.0.0.1:0)
pair=(--tls-cert-file="$work/crt" --tls-key-file="$work/key")
ends 1 'No such file' "${webhook[@]}" --bind-address=127.0.0.1:0 --tls-cert-file="$work/none" --tls-key-file="$work/key"
ends 1 "$work" "${webhook[@]}" --bind-address=127.0.0.1:0 --tls-cert-file="$work/garbage" --tls-key-file="$work/key"
ends 1 certificate "${webhook[@]}" --bind-address=127.0.0.1:0 --tls-cert-file="$work/crt" --tls-key-file="$work/other"
ends 1 "${taken#*:}" "${webhook[@]}" "${pair[@]}" --bind-address=$taken
ends 2 '--bogus' celld-webhook --bogus
ends 2 'no file' kubectl-celld validate
ends 2 'No such file' kubectl-celld validate -f "$work/none"
ends 2 "no WorkerApp" kubectl-celld render -f "$work/garbage"

# The API server is away: the controller waits, alive and not ready, and ends with 0 when asked to. (The recovery is the scenario
# 80-apiserver.)
free=127.0.0.1:$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
"$bin/celld-controller" --kubeconfig "$work/kubeconfig" --metrics-bind-address=0 --health-probe-bind-address=$free \
	> "$work/log" 2>&1 &
pid=$!
answers() { [ "$(curl -s -o /dev/null -w '%{http_code}' "http://$free/$1")" = "$2" ]; }
until answers healthz 200; do kill -0 $pid 2> /dev/null || break; sleep 0.05; done
if answers readyz 503 && kill -TERM $pid && wait $pid; then good; else bad "without an API server: $(tail -n 3 "$work/log")"; fi
echo "$passed passed, $failed failed"
[ $failed = 0 ]
