# Three rotations of the authority and ten certificates, time-compressed, while API requests go through the webhook: none fails.
. "$root/test/e2e/calls.sh"
namespace rotated
helm_() { "/tmp/bed-$BED_NAME/chart/helm" -n $OPERATOR "$@"; }
check "short lives" helm_ upgrade celld-operator "/tmp/bed-$BED_NAME/chart/celld-operator.tgz" --reset-then-reuse-values --wait --timeout 90s \
	--set certificates.validity=18s --set certificates.caValidity=54s
secret=celld-operator-webhook-cert
kubectl -n $OPERATOR annotate secret $secret celld-operator.io/renew=ca > /dev/null
calls_begin calls "${CLIENTS:-8}"
ca=() leaves=() end=$((SECONDS + 300))
seen() { # notes each new authority and certificate of the Secret
	local data one
	data=$(kubectl -n $OPERATOR get secret $secret -o json | jq -r '.data | (.["ca.crt"] // "") + " " + (.["tls.crt"] // "")')
	one=$(cut -d' ' -f1 <<< "$data" | sha256sum)
	[[ " ${ca[*]} " == *" $one "* ]] || ca+=("$one")
	one=$(cut -d' ' -f2 <<< "$data" | sha256sum)
	[[ " ${leaves[*]} " == *" $one "* ]] || leaves+=("$one")
	[ ${#ca[@]} -ge 5 ] && [ ${#leaves[@]} -ge 12 ]
}
start=$SECONDS
until seen || [ $SECONDS -ge $end ]; do sleep 0.5; done
check "three rotations after the first: ${#ca[@]} authorities" [ ${#ca[@]} -ge 5 ]
check "ten certificates: ${#leaves[@]}" [ ${#leaves[@]} -ge 11 ]
calls_end
seconds=$((SECONDS - start))
say "        $CALLS calls in $seconds s, $((CALLS / seconds)) a second, each of them two reviews:$CODES"
check "every call was answered well" [ "$CALLS_BAD" = 0 ]
check "there were many" [ "$CALLS" -gt 1000 ]
