# What may befall the certificates; each heals, and calls go on. How long it took is shown.
namespace certified
BUCKET=s3://cells/$ns app web v0.6.2 | kubectl apply -f - > /dev/null
secret=celld-operator-webhook-cert
hooks="mutatingwebhookconfiguration validatingwebhookconfiguration"
value() { kubectl -n $OPERATOR get secret $secret -o "jsonpath={.data.${1//./\\.}}"; }
fingerprint() { value "$1" | base64 -d | openssl x509 -noout -fingerprint -sha256; }
call() { app probe v0.6.2 | kubectl apply --dry-run=server -f - > /dev/null; }
bundle() { kubectl get "$1" celld-operator -o json | jq -r '.webhooks[].clientConfig.caBundle // ""' | sort -u; }
names() { bundle "$1" | base64 -d | openssl storeutl -noout -text -certs /dev/stdin 2> /dev/null | grep -c 'Subject:'; }
full() { [ -n "$(bundle mutatingwebhookconfiguration)" ] && [ "$(bundle mutatingwebhookconfiguration)" = "$(bundle validatingwebhookconfiguration)" ]; }
served() { # fingerprint of what each webhook pod serves
	for ip in $(kubectl -n $OPERATOR get pods -l app.kubernetes.io/component=webhook -o 'jsonpath={.items[*].status.podIP}'); do
		openssl s_client -connect "$ip:9443" -servername x < /dev/null 2> /dev/null | openssl x509 -noout -fingerprint -sha256
	done | sort -u
}
serves() { [ "$(served)" = "$(fingerprint tls.crt)" ]; }
heals() { # WHAT SECONDS CMD...
	local what=$1 seconds=$2 start
	start=$(date +%s%3N)
	shift 2
	check "$what" until_ "$seconds" "$@"
	say "        after $(($(date +%s%3N) - start)) ms"
}
empty() { kubectl patch "$1" celld-operator --type json -p '[{"op":"replace","path":"/webhooks/0/clientConfig/caBundle","value":""}]' > /dev/null; }

check "every replica serves the certificate of the Secret" serves
out=$(value tls.crt | base64 -d | openssl x509 -noout -text)
check "for the Service's name" contains "$out" DNS:celld-operator-webhook.celld-operator-system.svc
begin=$(date -d "$(value tls.crt | base64 -d | openssl x509 -noout -startdate | cut -d= -f2)" +%s)
check "back-dated by an hour" [ $(($(date +%s) - begin)) -ge 3600 ]

for kind in $hooks; do empty $kind; done
heals "emptied bundles are filled" 10 full
check "a call works" until_ 5 call

was=$(fingerprint ca.crt)
kubectl -n $OPERATOR delete secret $secret > /dev/null
check "calls go on without the Secret" call
heals "the deleted Secret comes back" 20 kubectl -n $OPERATOR get secret $secret
check "with the same authority" [ "$(fingerprint ca.crt)" = "$was" ]
check "and Helm's marks" [ "$(kubectl -n $OPERATOR get secret $secret -o 'jsonpath={.metadata.annotations.meta\.helm\.sh/release-name}')" = celld-operator ]

was=$(fingerprint tls.crt)
key=$(openssl ecparam -name prime256v1 -genkey -noout | openssl pkcs8 -topk8 -nocrypt | base64 -w0)
kubectl -n $OPERATOR patch secret $secret -p "{\"data\":{\"tls.key\":\"$key\"}}" > /dev/null
renewed() { [ "$(fingerprint tls.crt)" != "$was" ]; }
heals "a key of another is replaced with its certificate" 10 renewed
heals "and served" 80 serves
check "calls go on" call

was=$(fingerprint tls.crt)
kubectl -n $OPERATOR annotate secret $secret celld-operator.io/renew=leaf > /dev/null
heals "a renewal that was asked for" 10 renewed
check "the annotation is gone" [ -z "$(kubectl -n $OPERATOR get secret $secret -o 'jsonpath={.metadata.annotations.celld-operator\.io/renew}')" ]

kubectl -n $OPERATOR annotate secret $secret celld-operator.io/renew=ca > /dev/null
two() { [ "$(names mutatingwebhookconfiguration)" = 2 ] && [ "$(names validatingwebhookconfiguration)" = 2 ]; }
was=$(fingerprint ca.crt)
heals "a new authority that was asked for is in both bundles beside the old one" 10 two
check "and not yet used" [ "$(fingerprint ca.crt)" = "$was" ]
check "calls go on" call
