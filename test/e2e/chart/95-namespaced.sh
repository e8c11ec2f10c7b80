# The chart for one namespace: it works there, and sees and writes nothing elsewhere.
namespace inside
kubectl create namespace outside > /dev/null
chart=/tmp/bed-$BED_NAME/chart
sets="--set watch.namespaces={inside} --set rbac.aggregateRoles=false --set controllerManager.container.args={--settle=1s,--discovery-interval=1s}"
since=$(audit_lines)
check "helm install for one namespace" "$chart/helm" install celld-operator "$chart/celld-operator.tgz" --namespace $OPERATOR --create-namespace \
	--wait --timeout 90s --take-ownership --set webhook.lameDuck=1s $sets
# everything that it may do, in the API server's own words
kubectl get clusterroles -l app.kubernetes.io/instance=celld-operator -o json > "$chart/clusterroles"
check "one ClusterRole, for the two configurations by name" [ "$(jq -c '[.items[].rules[] | {resources, resourceNames, verbs}]' "$chart/clusterroles")" = \
	'[{"resources":["mutatingwebhookconfigurations","validatingwebhookconfigurations"],"resourceNames":["celld-operator"],"verbs":["get","list","watch","patch"]}]' ]
may() { kubectl auth can-i "$@" --quiet --as=system:serviceaccount:$OPERATOR:celld-operator-"$who"; }
for who in controller-manager webhook; do
	for what in "list pods" "get secrets" "create statefulsets.apps" "list workerapps.celld-operator.io" "create events.events.k8s.io"; do
		check "$who may not $what outside" refuted may $what -n outside
	done
	check "$who may not get nodes" refuted may get nodes
done
who=controller-manager
check "the controller may make StatefulSets inside" may create statefulsets.apps -n inside
BUCKET=s3://cells/inside app web v0.6.2 | kubectl apply -f - > /dev/null
check "the fleet inside is Ready" ready inside web 60
contains "$(app bad v0.6.2 | sed 's/v0.6.2/latest/' | kubectl apply -f - 2>&1)" 'bad' > /dev/null
check "the webhook refuses what is wrong inside" refuted kubectl -n inside patch workerapp web --type merge -p '{"spec":{"celld":{"image":"ghcr.io/denoland/celld:v0.4.1"}}}'
BUCKET=s3://cells/outside app web v0.6.2 | kubectl -n outside apply -f - > /dev/null
check "and is not asked outside" kubectl -n outside patch workerapp web --type merge -p '{"spec":{"celld":{"image":"ghcr.io/denoland/celld:v0.4.1"}}}'
# the controller has gone on since: another change inside has been seen and done
patch web '{"replicas":2}' > /dev/null
check "a change inside is done" ready inside web 60
check "nothing was made outside" [ -z "$(kubectl -n outside get statefulsets,services,pods,poddisruptionbudgets -o name | grep -v service/kubernetes)" ]
check "nor any status written" [ -z "$(get outside web '{.status}')" ]
tail -n "+$((since + 1))" "$AUDIT" | jq -r --arg me "system:serviceaccount:$OPERATOR:celld-operator" 'select(.user.username | startswith($me)) |
	select(.responseStatus.code < 400) | select(.objectRef) | select(.objectRef.resource | test("^selfsubject") | not) |
	"\(.objectRef.namespace // "-") \(.objectRef.resource) \(.objectRef.name // "-")"' | sort -u > "$chart/reach"
check "every request that was granted was for the two namespaces or the configurations" \
	[ -z "$(grep -vE "^(inside|$OPERATOR) |^- (mutating|validating)webhookconfigurations celld-operator$" "$chart/reach")" ]
grep -vE "^(inside|$OPERATOR) " "$chart/reach" | head -n 5
check "there were such requests" grep -q '^inside statefulsets' "$chart/reach"
check "helm uninstall" "$chart/helm" -n $OPERATOR uninstall celld-operator --wait --timeout 60s
kubectl delete namespace outside inside --wait=false > /dev/null
