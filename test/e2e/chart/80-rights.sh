# The rights that the chart gives are those that were used: nothing is refused, and what nobody used is named here with who
# does use it. The audit log is of this bed's whole life.
check "a Lease that somebody deletes" kubectl -n $OPERATOR delete lease celld-operator-controller
check "is made anew, with its marks" until_ 30 eval '[ -n "$(leader)" ] && [ -n "$(kubectl -n $OPERATOR get lease celld-operator-controller -o "jsonpath={.metadata.labels}")" ]'
used=$root/build/e2e/rights.used granted=$root/build/e2e/rights.granted
jq -r 'select(.user.username | startswith("system:serviceaccount:celld-operator-system:celld-operator")) |
	select(.responseStatus.code == 403 and (.responseStatus.reason // "") == "Forbidden" and
		((.responseStatus.message // "") | test("cannot (get|list|watch|create|update|patch|delete)"))) |
	[.user.username, .verb, .requestURI] | @tsv' "$AUDIT" | sort | uniq -c > "$used.refused"
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
# the rights that other scenarios use: a fleet with a route, a mesh or an autoscaler; one whose StatefulSet has to be made
# anew; an event that happens again
elsewhere='(delete apps/statefulsets|controller-manager get /secrets|patch celld-operator.io/celldobjectstores/status|patch events.k8s.io/events|.* (gateway.networking.k8s.io/httproutes|networking.istio.io/virtualservices|security.istio.io/authorizationpolicies|keda.sh/scaledobjects|networking.k8s.io/ingresses|autoscaling/horizontalpodautoscalers))$'
check "every right that was used is the chart's" [ -z "$(comm -23 "$used" "$granted" | grep -v /selfsubject)" ]
comm -23 "$used" "$granted"
[ "${RIGHTS-}" != all ] || elsewhere="^\$"
unused=$(comm -13 "$used" "$granted" | grep -vE "$elsewhere")
check "and every right of the chart's was used" [ -z "$unused" ]
say "$unused"
