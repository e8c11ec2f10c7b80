# calls.sh: API requests that go through the webhook, from several clients at once, as long as a scenario wants. Sourced after lib.sh.
#   calls_begin NAME [CLIENTS]   dry-run creations of an app in $ns
#   calls_made                   how many so far
#   calls_end                    stops them; $CALLS is their number, $CODES how each ended (201 is well), $CALLS_BAD those that did not

calls_begin() {
	local file i
	calls=$root/build/e2e/$scenario.$1
	rm -f "$calls".*
	app probe v0.6.2 | kubectl create --dry-run=client -o json -f - > "$calls.app"
	kubectl config view --raw -o json > "$calls.kubeconfig"
	for file in client-certificate client-key; do
		jq -r ".users[0].user[\"$file-data\"] // empty" "$calls.kubeconfig" | base64 -d > "$calls.$file"
		[ -s "$calls.$file" ] || cp "$(jq -r ".users[0].user[\"$file\"]" "$calls.kubeconfig")" "$calls.$file"
	done
	for _ in $(seq 40); do
		printf 'url = "%s"\noutput = /dev/null\nwrite-out = "%%{http_code}\\n"\ninsecure\ncert = "%s"\nkey = "%s"\nrequest = POST\n' \
			"$(jq -r '.clusters[0].cluster.server' "$calls.kubeconfig")/apis/celld-operator.io/v1alpha1/namespaces/$ns/workerapps?dryRun=All" \
			"$calls.client-certificate" "$calls.client-key"
		printf 'header = "Content-Type: application/json"\ndata = "@%s"\nnext\n' "$calls.app"
	done | sed '$d' > "$calls.config"
	: > "$calls.on"
	callers=()
	for i in $(seq "${2:-2}"); do
		while [ -e "$calls.on" ]; do curl -s -K "$calls.config" >> "$calls.codes.$i" || echo curl >> "$calls.codes.$i"; done &
		callers+=($!)
	done
}
calls_made() { cat "$calls".codes.* 2> /dev/null | wc -l; }
calls_end() {
	rm "$calls.on"
	wait "${callers[@]}" 2> /dev/null
	CALLS=$(calls_made)
	CODES=$(cat "$calls".codes.* | sort | uniq -c | tr -s ' \n' ' ')
	CALLS_BAD=$(cat "$calls".codes.* | grep -cvx 201)
}
