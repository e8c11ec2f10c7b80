#!/bin/bash
# steps.sh: what the demo shows; run inside the bed by `demo`. Each command is printed as it is run.
set -uo pipefail
scenario=demo
. "$(dirname "$0")/../e2e/lib.sh"
bold='' dim='' off=''
if [ -t 1 ] && [ -z "${NO_COLOR-}" ]; then bold=$'\e[1m' dim=$'\e[2m' off=$'\e[0m'; fi
begun=$(date +%s%3N)

tell() { # TITLE: and a sentence or two from stdin
	printf '\n%s%s%s\n' "$bold" "$1" "$off"
	cat
}
typed() { printf '\n%s$ %s%s\n' "$bold" "$1" "$off"; }
die() { echo "demo: $*" >&2; exit 1; }
# run COMMAND: shows it, runs it; it must succeed.
run() {
	typed "$1"
	eval "$1" || die "the command failed"
}
# refused COMMAND TEXT: it must fail and say TEXT.
refused() {
	local out
	typed "$1"
	out=$(eval "$1" 2>&1) && die "the command was let through: $out"
	fold -s -w 100 <<< "$out" | sed 's/ *$//'
	[[ $out == *"$2"* ]] || die "it does not say '$2'"
}
# follow COMMAND PATTERN...: shows the lines of a command that watches, with the seconds since the first step, until one
# matches each pattern, in their order. A line that repeats the one before is left out.
follow() {
	local command=$1 last='' line now
	shift
	typed "$command"
	while IFS= read -r line; do
		line=${line%"${line##*[! ]}"}
		[ "$line" != "$last" ] || continue
		last=$line now=$(($(date +%s%3N) - begun))
		printf '%s%5d.%d s%s  %s\n' "$dim" $((now / 1000)) $((now % 1000 / 100)) "$off" "$line"
		[[ ! $line =~ $1 ]] || shift
		[ $# != 0 ] || break
	done < <(eval "exec timeout 90 $command" 2>&1)
	kill $! 2> /dev/null
	[ $# = 0 ] || die "nothing matched '$1' within 90 s"
}
watch() { # APP: the command that shows how its fleet moves
	printf '%s \\\n    -o custom-columns=%s,%s' "kubectl get workerapp $1 --watch" \
		PHASE:.status.phase,READY:.status.fleet.ready,UPDATED:.status.fleet.updated \
		WAITING-ON:.status.rollout.waitingOn
}

kubectl create namespace tenant-acme > /dev/null
kubectl config set-context --current --namespace=tenant-acme > /dev/null
pointer s3://platform-cells/apps/chat sha-abc123
pointer s3://platform-cells/apps/shop v1

tell '1. Two WorkerApps become two fleets' <<X
"chat" is the manifest of the quick start, on celld v0.6.2; "shop" is smaller and still on v0.4.1.
The controller makes a StatefulSet, two Services, a disruption budget, a NetworkPolicy and a
ServiceAccount of each.
X
run 'kubectl apply -f crd/samples/accepted/quickstart.yaml -f test/demo/shop.yaml'
run "kubectl wait workerapp --all --for=jsonpath='{.status.phase}'=Ready --timeout=60s"
run 'kubectl get workerapps'
run 'kubectl get pods'

tell '2. A breaking upgrade is refused by kubectl apply' <<X
celld v0.4 and v0.5 nodes must never run in one fleet, and a rolling update would mix them. The
change is refused before it is stored.
X
refused "sed 's/celld:v0.4.1/celld:v0.5.1/' test/demo/shop.yaml | kubectl apply -f -" 'cannot'
run "kubectl get workerapp shop -o jsonpath='{.spec.celld.image}{\"\\n\"}'"

tell '3. A new version of the application goes from pod to pod' <<X
The next pod is released only when every pod before it is Ready again and no pod of the fleet
restores cells. To see that gate shut, one pod is told to say that it restores 3 cells. (The new
version is in the bucket already, as "celld deploy" would leave it.)
X
pointer s3://platform-cells/apps/chat sha-def456
run 'kubectl exec chat-celld-0 -c celld -- celld-sim ctl restoring=3'
run "kubectl patch workerapp chat --type merge -p '{\"spec\":{\"appVersion\":\"sha-def456\"}}'"
follow "$(watch chat)" restoring=3
echo
echo 'No pod was released. The cells are restored now:'
run 'kubectl exec chat-celld-0 -c celld -- celld-sim ctl restoring=off'
follow "$(watch chat)" '^Ready '
run "kubectl wait workerapp chat --for=jsonpath='{.status.rolledOutAppVersion}'=sha-def456 --timeout=30s"
run 'kubectl get workerapp chat'

tell '4. The breaking upgrade, with Recreate' <<X
With updateStrategy Recreate the controller stops every pod of the old version, waits 10 s (one
lease lifetime: then no node can still own a cell), and only then starts the new version.
X
run "sed 's/celld:v0.4.1/celld:v0.5.1/; s/Rolling/Recreate/' test/demo/shop.yaml | kubectl apply -f -"
follow "$(watch shop)" '^Recreating ' '^Ready '
run 'kubectl get pods -l celld-operator.io/workerapp=shop \
    -o custom-columns=NAME:.metadata.name,IMAGE:.spec.containers[0].image,STARTED:.status.startTime'
run "kubectl get events --field-selector involvedObject.name=shop --sort-by=.metadata.creationTimestamp \\
    -o custom-columns=REASON:.reason,MESSAGE:.message"
echo
