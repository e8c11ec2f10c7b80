# The rights that the chart gives are those that were used: nothing is refused, and what nobody used is named here with who
# does use it. The audit log is of this bed's whole life.
check "a Lease that somebody deletes" kubectl -n $OPERATOR delete lease celld-operator-controller
check "is made anew, with its marks" until_ 30 eval '[ -n "$(leader)" ] && [ -n "$(kubectl -n $OPERATOR get lease celld-operator-controller -o "jsonpath={.metadata.labels}")" ]'
used=$root/build/e2e/rights.used granted=$root/build/e2e/rights.granted
jq -r 'select(.user.username | startswith("system:serviceaccount:celld-operator-system:celld-operator")) |
	select(.responseStatus.code == 403 and (.responseStatus.reason // "") == "Forbidden" and
		((.responseStatus.message // "") | test("cannot (get|list|watch|create|update|patch|delete)"))) |
	[.user.username, .verb, .requestURI] | @tsv' "$AUDIT" | sort | uniq -c > "$used.refused"
# one of the scenarios takes this right away for a while
[ "${RIGHTS-}" != all ] || sed -i '/httproutes/d' "$used.refused"
check "nothing was refused" [ ! -s "$used.refused" ]
cat "$used.refused" | head -n 20
# account verb group/resource[/subresource]; a patch that made the object needs create as well
jq -r 'select(.user.username | startswith("system:serviceaccount:celld-operator-system:celld-operator")) | select(.objectRef) |
	((.user.username | split(":")[3]) + " ") as $who |
	((.objectRef.apiGroup // "") + "/" + .objectRef.resource + (if .objectRef.subresource then "/" + .objectRef.subresource else "" end)) as $what |
	($who + .verb + " " + $what), (if .verb == "patch" and .responseStatus.code == 201 then $who + "create " + $what else empty end)' \
	"$AUDIT" | sort -u > "$used"
kubectl get clusterroles,roles --all-namespaces -l app.kubernetes.io/instance=celld-operator -o json |
	jq -r '.items[] | select(.metadata.name | test("-(view|edit|admin)$") | not) |
		(if .metadata.name | startswith("celld-operator-webhook") then "celld-operator-webhook" else "celld-operator-controller-manager" end) as $who |
		.rules[] | .verbs[] as $v | .resources[] as $r | "\($who) \($v) \(.apiGroups[0])/\($r)"' | sort -u > "$granted"
# used by scenarios that are not of this suite (RIGHTS=all: they have run before, see test/e2e/rights.sh)
elsewhere='(delete apps/statefulsets|get /secrets|.* /persistentvolumeclaims|get /nodes|list /events|patch celld-operator.io/celldobjectstores/status|patch events.k8s.io/events|.* (gateway.networking.k8s.io/httproutes|keda.sh/scaledobjects|networking.k8s.io/ingresses))$'
[ "${RIGHTS-}" != all ] || elsewhere='^$'
# a fleet that goes back to one listener for all, which no released version of celld can
elsewhere="$elsewhere|delete security.istio.io/authorizationpolicies$"
check "every right that was used is the chart's" [ -z "$(comm -23 "$used" "$granted" | grep -v /selfsubject)" ]
comm -23 "$used" "$granted"
unused=$(comm -13 "$used" "$granted" | grep -vE "$elsewhere")
check "and every right of the chart's was used" [ -z "$unused" ]
say "$unused"
