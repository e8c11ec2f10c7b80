# Both pods of the webhook are restarted, one after the other, under 200 requests a second or more: each is reviewed.
# RESTART_REVIEWS (2000): requests at least; `make soak` asks for 10000.
namespace restarts
: "${RESTART_REVIEWS:=2000}"
work=$root/build/e2e/restarts
mkdir -p "$work"; rm -f "$work"/*
app good v0.6.2 | kubectl create --dry-run=client -o json -f - > "$work/good.json"
# What the schema takes and the webhook refuses: an answer that nobody else gives.
app bad v0.6.2 '  vars: {secretRef: gone}' | kubectl create --dry-run=client -o json -f - > "$work/bad.json"
out=$(kubectl create --dry-run=server -f "$work/bad.json" 2>&1)
check "the webhook refuses it" contains "$out" 'spec.vars.secretRef: celld v0.6.2 takes no variables from outside'
kubectl config view --raw -o json > "$work/config"
for f in client-certificate client-key; do
	jq -r ".users[0].user[\"$f-data\"] // empty" "$work/config" | base64 -d > "$work/$f"
	[ -s "$work/$f" ] || cp "$(jq -r ".users[0].user[\"$f\"]" "$work/config")" "$work/$f"
done
url=$(jq -r '.clusters[0].cluster.server' "$work/config")/apis/celld-operator.io/v1alpha1/namespaces/$ns/workerapps?dryRun=All
for _ in $(seq 250); do
	for x in good=201 bad=422; do
		printf 'url = "%s"\noutput = /dev/null\nwrite-out = "%s %%{http_code}\\n"\ninsecure\n' "$url" "${x#*=}"
		printf 'cert = "%s"\nkey = "%s"\n' "$work/client-certificate" "$work/client-key"
		printf 'header = "Content-Type: application/json"\ndata = "@%s"\nnext\n' "$work/${x%=*}.json"
	done
done | sed '$d' > "$work/curl"
touch "$work/on"
# Ten callers of 40 a second at most, each on a connection of its own: together 200 a second on a busy machine too. Each code
# is written when it is there: on a slow machine curl would keep them for longer than "requests begin" waits.
caller() {
	while [ -e "$work/on" ] || [ "$(wc -l < "$work/codes.$1")" -lt $((RESTART_REVIEWS / 10)) ]; do
		stdbuf -oL curl -s --rate 40/s -K "$work/curl" >> "$work/codes.$1" || echo "curl $?" >> "$work/codes.$1"
	done
}
start=$SECONDS
for i in $(seq 10); do : > "$work/codes.$i"; caller $i & callers+=($!); done
asked() { [ "$(cat "$work"/codes.* | wc -l)" -gt "$1" ]; }
until_ 60 asked 100 || bad "requests begin"

deployment=deployment/celld-operator-webhook
pods() { kubectl -n $OPERATOR get pods -l app.kubernetes.io/component=webhook -o name | sort; }
whole() { [ "$(pods | wc -l)" = 2 ] && kubectl -n $OPERATOR wait --for=condition=Available $deployment --timeout=1s &&
	[ "$(kubectl -n $OPERATOR get $deployment -o 'jsonpath={.status.readyReplicas}')" = 2 ]; }
before=$(pods)
for pod in $before; do
	kubectl -n $OPERATOR delete "$pod" --wait=false > /dev/null
	gone() { ! pods | grep -qx "$pod"; }
	check "a pod ends in its own time" until_ 60 gone
	check "another one takes its place" until_ 90 whole
done
check "both are new" refuted grep -qxF "$before" <<< "$(pods)"
rm "$work/on"
wait "${callers[@]}"
total=$(cat "$work"/codes.* | wc -l)
say "        $total requests in $((SECONDS - start)) s"
check "as many as were wanted" [ "$total" -ge "$RESTART_REVIEWS" ]
check "each was reviewed, and well: $(cat "$work"/codes.* | sort | uniq -c | tr '\n' ' ')" refuted grep -qvxE '201 201|422 422' "$work"/codes.*
kubectl delete namespace $ns --wait=false > /dev/null
