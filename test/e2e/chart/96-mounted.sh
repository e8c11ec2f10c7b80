# The certificate from a Secret that cert-manager keeps (its definitions are there, this scenario does its work): installed, renewed,
# broken, healed; the webhook needs no right on Secrets or configurations.
namespace mounted
chart=/tmp/bed-$BED_NAME/chart
secret=celld-operator-webhook-tls
host=celld-operator-webhook.$OPERATOR.svc
"$root/test/neighbours/crds" "$root/build/crds" cert-manager > /dev/null
kubectl apply --server-side -f "$root/build/crds/cert-manager.yaml" > /dev/null
kubectl wait --for=condition=Established --timeout=20s -f "$root/build/crds/cert-manager.yaml" > /dev/null
certify() { # NUMBER: what cert-manager's self-signed issuer would make
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$chart/tls.key" -out "$chart/tls.crt" \
		-subj "/CN=$host" -addext "subjectAltName=DNS:$host" -set_serial "$1" -days 2 2> /dev/null
}
store() { # FILES tls.crt tls.key into the Secret
	kubectl -n $OPERATOR create secret generic $secret --type=kubernetes.io/tls --from-file=tls.crt="$1" --from-file=tls.key="$2" \
		--from-file=ca.crt="$chart/tls.crt" --dry-run=client -o yaml | kubectl apply -f - > /dev/null
}
inject() { # as the injector does, into those that ask for it
	local kind
	for kind in mutatingwebhookconfiguration validatingwebhookconfiguration; do
		kubectl get $kind celld-operator -o json | jq --arg ca "$(base64 -w0 < "$chart/ca.crt")" \
			'select(.metadata.annotations["cert-manager.io/inject-ca-from"] == "celld-operator-system/celld-operator-webhook") |
			.webhooks[].clientConfig.caBundle = $ca' | kubectl replace -f - > /dev/null
	done
}
served() { # the serial number that every webhook pod serves
	for ip in $(kubectl -n $OPERATOR get pods -l app.kubernetes.io/component=webhook -o 'jsonpath={.items[*].status.podIP}'); do
		openssl s_client -connect "$ip:9443" -servername $host < /dev/null 2> /dev/null | openssl x509 -noout -serial
	done | sort -u
}
serves() { [ "$(served)" = "serial=$1" ]; }
call() { app probe v0.6.2 | kubectl apply --dry-run=server -f - > /dev/null; }
values() { # REGEX: a series of every webhook pod, the least first
	for ip in $(kubectl -n $OPERATOR get pods -l app.kubernetes.io/component=webhook -o 'jsonpath={.items[*].status.podIP}'); do
		curl -s "http://$ip:8443/metrics" | awk "/^celld_webhook_certificate_$1 / {n = \$NF} END {print n + 0}"
	done | sort -n
}
errors() { values 'reloads_total\{result="refused"\}' | head -n 1; } # how often a pair was refused
refusing() { values files_refused | sort -u | tr -d '\n'; }

check "helm install" "$chart/helm" install celld-operator "$chart/celld-operator.tgz" --namespace $OPERATOR --create-namespace --take-ownership \
	--timeout 90s --set webhook.lameDuck=1s --set certificates.source=certManager --set metrics.secure=true
check "a Certificate is asked for" kubectl -n $OPERATOR get certificates.cert-manager.io celld-operator-webhook
certify 1
cp "$chart/tls.crt" "$chart/ca.crt"
store "$chart/tls.crt" "$chart/tls.key"
kubectl -n $OPERATOR create secret tls celld-operator-controller-metrics-cert --cert="$chart/tls.crt" --key="$chart/tls.key" > /dev/null
inject
check "the webhook is ready with the Secret" kubectl -n $OPERATOR rollout status deployment/celld-operator-webhook --timeout=120s
check "a call works" until_ 10 call
check "its certificate is the Secret's" serves 01

# metrics for those alone who may read them
check "so is the controller" kubectl -n $OPERATOR rollout status deployment/celld-operator-controller --timeout=120s
check "and asks for a certificate of its own" kubectl -n $OPERATOR get certificates.cert-manager.io celld-operator-controller-metrics
page=https://$(kubectl -n $OPERATOR get pods -l app.kubernetes.io/component=controller -o 'jsonpath={.items[0].status.podIP}'):8443/metrics
for name in reader stranger; do kubectl create serviceaccount $name > /dev/null; done
kubectl create clusterrole metrics-reader --verb=get --non-resource-url=/metrics > /dev/null
kubectl create clusterrolebinding metrics-reader --clusterrole=metrics-reader --serviceaccount=$ns:reader > /dev/null
asked() { curl -sk -o /dev/null -w '%{http_code}' ${1:+-H "Authorization: Bearer $(kubectl create token "$1")"} "$page"; }
check "no metrics without a token" [ "$(asked)" = 401 ]
check "nor for a stranger" [ "$(asked stranger)" = 403 ]
check "but for a reader" [ "$(asked reader)" = 200 ]
kubectl delete clusterrole,clusterrolebinding metrics-reader > /dev/null

cp "$chart/tls.crt" "$chart/first.crt"
certify 2
cat "$chart/first.crt" "$chart/tls.crt" > "$chart/ca.crt"
inject
store "$chart/tls.crt" "$chart/tls.key"
start=$SECONDS
check "a renewed certificate is served without a restart" until_ 150 serves 02
say "        after $((SECONDS - start)) s, most of them the kubelet's"
check "calls go on" call

had=$(errors)
head -c 200 "$chart/tls.crt" > "$chart/cut.crt"
kubectl -n $OPERATOR patch secret $secret -p "{\"data\":{\"tls.crt\":\"$(base64 -w0 < "$chart/cut.crt")\"}}" > /dev/null
check "a truncated certificate is noticed by every pod" until_ 150 eval '[ "$(errors)" -gt "$had" ]'
check "and the last good one served" serves 02
check "and each says that it refuses it" [ "$(refusing)" = 1 ]
check "calls go on" call
openssl ecparam -name prime256v1 -genkey -noout -out "$chart/other.key"
store "$chart/tls.crt" "$chart/other.key"
had=$(errors)
check "so is a key of another" until_ 150 eval '[ "$(errors)" -gt "$had" ]'
check "and the last good one served" serves 02
check "calls go on" call
certify 3
cat "$chart/tls.crt" >> "$chart/ca.crt"
inject
store "$chart/tls.crt" "$chart/tls.key"
check "a good pair heals it" until_ 150 serves 03
check "and nothing is refused any more" [ "$(refusing)" = 0 ]
check "calls go on" call
who=system:serviceaccount:$OPERATOR:celld-operator-webhook
check "the webhook may not read Secrets" refuted kubectl auth can-i get secrets -n $OPERATOR --as=$who --quiet
check "nor write configurations" refuted kubectl auth can-i patch mutatingwebhookconfigurations/celld-operator --as=$who --quiet
check "the chart can go back to its own authority" "$chart/helm" upgrade celld-operator "$chart/celld-operator.tgz" --namespace $OPERATOR \
	--wait --timeout 90s --set webhook.lameDuck=1s
check "calls work" until_ 20 call
check "and nobody asks for the certificate any more" refuted kubectl -n $OPERATOR get certificates.cert-manager.io celld-operator-webhook
check "no pod restarted" [ "$(kubectl -n $OPERATOR get pods -o 'jsonpath={.items[*].status.containerStatuses[*].restartCount}' | tr -d ' 0')" = "" ]
check "helm uninstall" "$chart/helm" -n $OPERATOR uninstall celld-operator --wait --timeout 60s
kubectl -n $OPERATOR delete secret $secret celld-operator-controller-metrics-cert > /dev/null # cert-manager leaves it too
