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
WEBHOOK=$root/build/$PROFILE/bin/celld-webhook python3 "$root/test/e2e/admission_table.py" "$work" > "$work/said" 2>&1
rc=$?
cat "$work/said"
check "the table's program ends well" [ $rc = 0 ]
for round in "beside others" "any schema" "the real schema"; do
	line=$(grep "^$round: " "$work/said")
	check "$round: all cases agree (${line#*: })" contains "$line" ", 0 differ"
done
for k in $kinds; do check "$k is back" kubectl create -f "$work/$k.json"; done
check "the controllers are back" back
rm -rf "$work"
