# The cases of test/admission/ against the real API server, with the real webhook started as each of them says.
. "$root/test/e2e/local.sh"
away
work=$(mktemp -d)
kinds="mutatingwebhookconfiguration validatingwebhookconfiguration"
for k in $kinds; do
	kubectl get "$k" celld-operator -o json | jq 'del(.metadata.resourceVersion, .metadata.uid, .metadata.managedFields)' > "$work/$k.json"
	kubectl delete "$k" celld-operator > /dev/null
done
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=table-ca \
	-keyout "$work/ca.key" -out "$work/ca.crt" 2> /dev/null
openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=localhost -keyout "$work/tls.key" 2> /dev/null |
	openssl x509 -req -CA "$work/ca.crt" -CAkey "$work/ca.key" -CAcreateserial -days 2 -out "$work/tls.crt" \
		-extfile <(printf 'subjectAltName=DNS:localhost\nextendedKeyUsage=serverAuth\n') 2> /dev/null
(cd "$root" && NETS_OUT=$work/random "build/$PROFILE/test/unit/test_nets" > /dev/null 2>&1)
check "500 random apps" [ "$(wc -l < "$work/random")" = 500 ]
"$("$root/test/neighbours/build" helm)" template celld-operator "$root/charts/celld-operator" -n $OPERATOR \
	--set validatingAdmissionPolicy.enabled=true -s templates/validatingadmissionpolicy.yaml > "$work/policies.yaml"
WEBHOOK=$root/build/$PROFILE/bin/celld-webhook python3 "$root/test/e2e/admission_table.py" "$work" "$work/random" "$work/policies.yaml" > "$work/said" 2>&1
rc=$?
cat "$work/said"
check "the table's program ends well" [ $rc = 0 ]
for round in "beside others" "any schema" "the real schema" random policies; do
	line=$(grep "^$round: " "$work/said")
	check "$round: all cases agree (${line#*: })" contains "$line" ", 0 differ"
done
for k in $kinds; do check "$k is back" kubectl create -f "$work/$k.json"; done
check "the controllers are back" back

# kubectl celld validate --server: what is stored is the other half of an update
namespace validate
app chat v0.4.1 | kubectl apply -f - > /dev/null || bad "chat is not stored"
celld() { "$root/build/$PROFILE/bin/kubectl-celld" validate "$@"; }
app chat v0.5.0 > "$work/chat.yaml"
out=$(celld -f "$work/chat.yaml" --server 2>&1)
check "the stored object is read from the cluster" contains "$out" "spec.celld.image: celld v0.4.1 to v0.5.0 cannot roll"
check "with file, line and column" [ "$(celld -f "$work/chat.yaml" --server -q -o json | jq -c '.[] | [.line, .column, .rule]')" = '[7,5,"celld-recreate"]' ]
check "as SARIF" [ "$(celld -f "$work/chat.yaml" --server -q -o sarif | jq -c '.runs[0].results[].locations[0].physicalLocation.region')" = '{"startLine":7,"startColumn":5}' ]
check "a new one is a creation" celld -f "$work/chat.yaml" --server -n default
check "without the cluster nothing is known" celld -f "$work/chat.yaml"
kubectl delete namespace $ns --wait=false > /dev/null

rm -rf "$work"
