# Three rotations of the authority and ten certificates, time-compressed, while API requests go through the webhook: none fails.
namespace rotated
helm_() { "/tmp/bed-$BED_NAME/chart/helm" -n $OPERATOR "$@"; }
check "short lives" helm_ upgrade celld-operator "/tmp/bed-$BED_NAME/chart/celld-operator.tgz" --reuse-values --wait --timeout 90s \
	--set certificates.validity=18s --set certificates.caValidity=54s
secret=celld-operator-webhook-cert
kubectl -n $OPERATOR annotate secret $secret celld-operator.io/renew=ca > /dev/null
app probe v0.6.2 | kubectl create --dry-run=client -o json -f - > "$root/build/e2e/probe.json"
kubectl config view --raw -o json > "$root/build/e2e/rotated.config"
pki() { jq -r ".users[0].user[\"$1-data\"] // empty" "$root/build/e2e/rotated.config" | base64 -d > "$root/build/e2e/rotated.$1"; }
pki client-certificate; pki client-key
[ -s "$root/build/e2e/rotated.client-key" ] || for f in client-certificate client-key; do
	cp "$(jq -r ".users[0].user[\"$f\"]" "$root/build/e2e/rotated.config")" "$root/build/e2e/rotated.$f"
done
server=$(jq -r '.clusters[0].cluster.server' "$root/build/e2e/rotated.config")
flag=$root/build/e2e/rotated.on codes=$root/build/e2e/rotated.codes
: > "$flag"; rm -f "$codes".*
caller() {
	local url="$server/apis/celld-operator.io/v1alpha1/namespaces/$ns/workerapps?dryRun=All"
	{ for _ in $(seq 40); do
		printf 'url = "%s"\noutput = /dev/null\nwrite-out = "%%{http_code}\\n"\n' "$url"
		printf 'insecure\ncert = "%s"\nkey = "%s"\n' "$root/build/e2e/rotated.client-certificate" "$root/build/e2e/rotated.client-key"
		printf 'request = POST\nheader = "Content-Type: application/json"\ndata = "@%s"\nnext\n' "$root/build/e2e/probe.json"
	done; } | sed '$d' > "$codes.config.$1"
	while [ -e "$flag" ]; do
		curl -s -K "$codes.config.$1" >> "$codes.$1" || echo curl >> "$codes.$1"
	done
}
for i in 1 2 3; do caller $i & callers+=($!); done
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
rm "$flag"
wait "${callers[@]}"
total=$(cat "$codes".[1-3] | wc -l)
say "        $total calls in $((SECONDS - start)) s"
check "every call was answered well: $(cat "$codes".[1-3] | sort | uniq -c | tr '\n' ' ')" refuted grep -qvx 201 "$codes".1 "$codes".2 "$codes".3
check "there were many" [ "$total" -gt 1000 ]
