# Two replicas that start at once agree on one authority; a cluster whose webhook slept until its authority had ended wakes up.
namespace asleep
chart=/tmp/bed-$BED_NAME/chart
secret=celld-operator-webhook-cert
value() { kubectl -n $OPERATOR get secret $secret -o "jsonpath={.data.${1//./\\.}}" | base64 -d; }
call() { app probe v0.6.2 | kubectl apply --dry-run=server -f - > /dev/null; }
since=$(audit_lines)
check "helm install" "$chart/helm" install celld-operator "$chart/celld-operator.tgz" --namespace $OPERATOR --create-namespace --take-ownership \
	--wait --timeout 90s --set webhook.lameDuck=1s
writes=$(tail -n "+$((since + 1))" "$AUDIT" | jq -r --arg me "system:serviceaccount:$OPERATOR:celld-operator-webhook" 'select(.user.username == $me) |
	select(.objectRef.resource == "secrets" and .verb != "get" and .verb != "list" and .verb != "watch") | .responseStatus.code' | sort | uniq -c | tr -s ' \n' ' ')
say "        writes of the Secret by code:$writes"
check "two replicas raced, one write made the authority" [ "$(grep -oE '[0-9]+ 200' <<< "$writes")" = "1 200" ]
check "a call works" until_ 5 call

REPLICAS=1 app standing v0.6.2 | kubectl apply -f - > /dev/null || bad "standing is not stored"
check "a fleet stands" ready $ns standing 60
kubectl -n $OPERATOR scale deployment celld-operator-webhook --replicas=0 > /dev/null
check "the webhook sleeps" kubectl -n $OPERATOR wait --for=delete pod -l app.kubernetes.io/component=webhook --timeout=40s
check "and nothing is stored meanwhile" refuted call
# field-09: what stands still when it is away is writes of apps, and nothing else.
begun=$(date +%s)
out=$(app probe v0.6.2 | kubectl apply --dry-run=server -f - 2>&1)
check "whoever tries is told who did not answer" contains "$out" workerapp.celld-operator.io
check "within its ten seconds" [ $(($(date +%s) - begun)) -le 11 ]
for n in kube-system $OPERATOR; do
	check "a Pod in $n" kubectl -n $n run beside --image=web:1
	check "a Lease in $n" kubectl -n $n create -f - <<< '{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: beside}}'
	check "a Deployment in $n" kubectl -n $n create deployment beside --image=web:1
	check "and its end" kubectl -n $n delete pod/beside lease/beside deployment/beside --wait=false
done
check "a fleet's pod goes" kubectl -n $ns delete pod standing-celld-0 --wait=false
fewer() { [ "$(get $ns standing '{.status.fleet.ready}')" = 0 ]; }
check "and the controller writes the app's status" until_ 20 fewer
check "and its return" ready $ns standing 60
# what the same Secret would hold after a year: an authority and a certificate that ended yesterday
dir=$chart/asleep
mkdir -p "$dir"
value ca.key > "$dir/ca.key"
value tls.key > "$dir/tls.key"
printf '[ca]\ndefault_ca=d\n[d]\ndatabase=%s/index\nserial=%s/serial\nnew_certs_dir=%s\ndefault_md=sha256\npolicy=p\nunique_subject=no\n[p]\ncommonName=supplied\n[authority]\nbasicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign\n[leaf]\nsubjectAltName=DNS:celld-operator-webhook.%s.svc\nextendedKeyUsage=serverAuth\n' \
	"$dir" "$dir" "$dir" $OPERATOR > "$dir/conf"
: > "$dir/index"
echo 01 > "$dir/serial"
ended() { # NAME SIGNER EXTENSIONS...
	openssl req -new -key "$dir/$1.key" -subj "/CN=$1" -out "$dir/$1.csr" &&
		openssl ca -batch -notext -config "$dir/conf" -startdate "$(date -u -d '1 year ago' +%Y%m%d%H%M%SZ)" -enddate "$(date -u -d yesterday +%Y%m%d%H%M%SZ)" \
			-in "$dir/$1.csr" -out "$dir/$1.crt" -keyfile "$dir/ca.key" -extensions "$2" "${@:3}"
}
check "a year passes" eval 'ended ca authority -selfsign && ended tls leaf -cert "$dir/ca.crt"'
kubectl -n $OPERATOR patch secret $secret -p "{\"data\":{\"ca.crt\":\"$(base64 -w0 < "$dir/ca.crt")\",\"tls.crt\":\"$(base64 -w0 < "$dir/tls.crt")\"}}" > /dev/null
for kind in mutatingwebhookconfiguration validatingwebhookconfiguration; do
	kubectl get $kind celld-operator -o json | jq --arg ca "$(base64 -w0 < "$dir/ca.crt")" '.webhooks[].clientConfig.caBundle = $ca' |
		kubectl replace -f - > /dev/null
done
start=$(date +%s%3N)
kubectl -n $OPERATOR scale deployment celld-operator-webhook --replicas=2 > /dev/null
check "it wakes up: calls work" until_ 60 call
say "        after $(($(date +%s%3N) - start)) ms"
check "both pods are ready" kubectl -n $OPERATOR rollout status deployment/celld-operator-webhook --timeout=60s
check "with a new authority" eval 'value ca.crt | openssl x509 -noout -checkend 86400'
bundle=$(kubectl get mutatingwebhookconfiguration,validatingwebhookconfiguration celld-operator -o json | jq -r '.items[].webhooks[].clientConfig.caBundle' | sort -u)
check "all bundles name it" contains "$(base64 -d <<< "$bundle")" "$(value ca.crt)"
check "calls go on" call
check "helm uninstall" "$chart/helm" -n $OPERATOR uninstall celld-operator --wait --timeout 60s
