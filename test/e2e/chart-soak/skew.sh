# From the version before to this one and back: its chart, its definitions and its programs, built from a git revision, SKEW_FROM
# (the newest tag; where there is none, fifty commits earlier). Webhook and controller of the two work side by side, both ways
# round; no fleet restarts for it, and no call fails.
. "$root/test/e2e/calls.sh"
namespace skewed
chart=/tmp/bed-$BED_NAME/chart
helm_() { "$chart/helm" -n $OPERATOR "$@"; }
from=${SKEW_FROM:-$(git -C "$root" describe --tags --abbrev=0 2> /dev/null || git -C "$root" rev-parse --verify HEAD~50)}
from=$(git -C "$root" rev-parse --verify "$from^{commit}")
old=$root/build/skew/$from
say "        from ${from:0:12}, $(git -C "$root" rev-list --count "$from..HEAD") commits ago"
if [ ! -e "$old/built" ]; then
	rm -rf "$old"
	mkdir -p "$old"
	git -C "$root" archive "$from" | tar -x -C "$old"
	check "it builds" make -C "$old" -j2 VERSION=v1.2.2 PROFILE=debug all
	touch "$old/built"
fi
for program in webhook controller; do
	"$root/test/cluster/bed" images add --uid 65532 "ghcr.io/celld-operator/celld-$program:v1.2.2" "$old/build/debug/bin/celld-$program"
done
before=$(HELM=$chart/helm "$old/charts/package" "$chart" v1.2.2) now=$chart/celld-operator.tgz

helm_ uninstall celld-operator --wait --timeout 60s > /dev/null
kubectl delete crd workerapps.celld-operator.io celldobjectstores.celld-operator.io --wait --timeout=60s > /dev/null
values() { jq -n --arg webhook "${1-}" --arg controller "${2-}" '{webhook: {lameDuck: "2s", container: {image: {tag: $webhook}}},
	controllerManager: {container: {image: {tag: $controller}, args: ["--settle=1s", "--recheck=1s", "--state-poll-interval=2s"]}}}'; }
upgrade() { # CHART [TAG-OF-THE-WEBHOOK [TAG-OF-THE-CONTROLLER]]
	values "${@:2}" > "$chart/skew.json"
	helm_ upgrade --install celld-operator "$1" --create-namespace --reset-values --values "$chart/skew.json" --wait --timeout 120s
}
runs() { # TAG-OF-THE-WEBHOOK TAG-OF-THE-CONTROLLER: so it is, and nothing else
	[ "$(kubectl -n $OPERATOR get pods -l app.kubernetes.io/instance=celld-operator -o json | jq -r '[.items[] | select(.metadata.deletionTimestamp | not) |
		.spec.containers[].image | sub(".*/celld-"; "")] | unique | join(" ")')" = "controller:$2 webhook:$1" ]
}
restarted() { kubectl -n $OPERATOR get pods -o 'jsonpath={.items[*].status.containerStatuses[*].restartCount}' | tr -d ' 0'; }
# works NUMBER: the spec changes, the fleet follows; what is wrong is refused
works() {
	record "roll$1"
	patch web "{\"env\":[{\"name\":\"RUST_LOG\",\"value\":\"info,round$1=debug\"}]}" > /dev/null
	check "a change rolls" ready $ns web 180
	invariants one-down steps rest
	check "a wrong one is refused" contains "$(patch web '{"celld":{"image":"ghcr.io/denoland/celld:v0.4.1"}}' 2>&1)" acknowledgement
	record "rest$1"
}
# stays WHAT WEBHOOK CONTROLLER: after a step
stays() {
	check "$1: that is what runs" until_ 60 runs "$2" "$3"
	check "$1: a pod more" patch web '{"replicas":4}'
	check "$1: Ready" ready $ns web 90
	check "$1: and less" patch web '{"replicas":3}'
	check "$1: Ready" ready $ns web 90
	invariants untouched=0,1,2
	check "$1: no program of ours restarted" [ -z "$(restarted)" ]
}

check "the version before is installed" upgrade "$before"
check "that is what runs" until_ 60 runs v1.2.2 v1.2.2
BUCKET=s3://cells/$ns app web v0.6.2 | kubectl apply -f - > /dev/null
check "the fleet is Ready" ready $ns web 120
calls_begin calls
works 1
check "the webhook of this version, the controller of the one before" upgrade "$before" v1.2.3
stays "new webhook" v1.2.3 v1.2.2
works 2
check "the controller of this version, the webhook of the one before" upgrade "$before" v1.2.2 v1.2.3
stays "new controller" v1.2.2 v1.2.3
works 3
check "helm upgrade to this version" upgrade "$now"
stays "this version" v1.2.3 v1.2.3
works 4
check "helm rollback to the one before" helm_ rollback celld-operator 1 --wait --timeout 120s
stays "the version before" v1.2.2 v1.2.2
works 5
calls_end
say "        $CALLS calls:$CODES"
check "no call failed" [ "$CALLS_BAD" = 0 ]
check "there were many" [ "$CALLS" -gt 500 ]
check "helm upgrade once more" upgrade "$now"
check "the fleet is Ready" ready $ns web 60
invariants untouched=0,1,2
kubectl delete namespace $ns --wait=false > /dev/null
