# Lives that get short and then long again, under calls: what is served then ends sooner than a new authority would settle (a minute).
. "$root/test/e2e/calls.sh"
namespace shortened
secret=celld-operator-webhook-cert
helm_() { "/tmp/bed-$BED_NAME/chart/helm" -n $OPERATOR "$@"; }
lives() { # WHAT HELM-ARGS...
	check "$1" helm_ upgrade celld-operator "/tmp/bed-$BED_NAME/chart/celld-operator.tgz" --reset-then-reuse-values --wait --timeout 120s "${@:2}"
}
value() { kubectl -n $OPERATOR get secret $secret -o "jsonpath={.data.${1//./\\.}}" | base64 -d; }
lasts() { value "$1" | openssl x509 -noout -checkend "$2" > /dev/null; } # KEY SECONDS
ends_soon() { ! lasts ca.crt 60; }
long_again() { lasts ca.crt 86400 && lasts tls.crt 86400; }
pods() { kubectl -n $OPERATOR get pods -l app.kubernetes.io/component=webhook -o 'jsonpath={.items[*].status.podIP}'; }
served_by() { openssl s_client -connect "$1:9443" -servername x < /dev/null 2> /dev/null | openssl x509 -noout -fingerprint -sha256; }
all_serve() { # the certificate of the Secret
	local ip want
	want=$(value tls.crt | openssl x509 -noout -fingerprint -sha256)
	for ip in $(pods); do [ "$(served_by "$ip")" = "$want" ] || return 1; done
}

lives "short lives" --set certificates.validity=18s --set certificates.caValidity=54s
kubectl -n $OPERATOR annotate secret $secret celld-operator.io/renew=ca > /dev/null
calls_begin calls 2
check "an authority that ends within a minute" until_ 90 ends_soon
lives "long lives again" --set certificates.validity= --set certificates.caValidity=
start=$SECONDS
check "the next authority is in use before that one has ended" until_ 90 long_again
check "and served by every replica" until_ 30 all_serve
say "        $((SECONDS - start)) s after the upgrade"
made=$(calls_made)
more() { [ "$(calls_made)" -ge $((made + 100)) ]; }
check "calls go on" until_ 60 more
calls_end
say "        $CALLS calls:$CODES"
check "every call was answered well" [ "$CALLS_BAD" = 0 ]
check "there were many" [ "$CALLS" -gt 300 ]
