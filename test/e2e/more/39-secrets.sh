# No byte of a credential in what the operator says or leaves behind: its log (at level debug), Events, objects, /metrics, the
# audit log but for the Secrets' own answers, command lines and environments; though stores refuse, and one says back what it was
# sent. And nobody can look into its memory.
namespace secrets
"$root/test/cluster/bed" images add sick: "$root/test/neighbours/sick_store.py"
kubectl wait --for=delete namespace/clouds --timeout=60s > /dev/null 2>&1
kubectl create namespace clouds > /dev/null
kubectl -n clouds apply -f - > /dev/null <<'Y'
apiVersion: v1
kind: Pod
metadata: {name: store, labels: {app: store}}
spec:
  containers:
  - name: store
    image: sick:test
    args: ["7070", "7071"]
    env: [{name: BIND, value: 0.0.0.0}]
    readinessProbe: {tcpSocket: {port: 7070}, periodSeconds: 1}
Y
kubectl -n clouds create service clusterip store --tcp=7070:7070 > /dev/null
for where in google:4443 azurite:10900; do # what the flags of the bed's controller name
	kubectl -n clouds create service clusterip ${where%:*} --tcp=${where#*:}:7070 --dry-run=client -o json | jq '.spec.selector = {app: "store"}' |
		kubectl apply -f - > /dev/null
done
kubectl -n clouds wait --for=condition=Ready pod/store --timeout=30s > /dev/null
switch() { curl -sf -o /dev/null "http://$(kubectl -n clouds get pod store -o 'jsonpath={.status.podIP}'):7071/$1" || bad "switch $1"; }
condition() { contains "$(get $ns "$1" '{range .status.conditions[*]}{.type}={.status}/{.reason} {.message}{"\n"}{end}')" "$2"; } # APP TEXT

level() { # LOG-LEVEL: restarts the operator's programs with it
	local part
	for part in controller webhook; do
		kubectl -n $OPERATOR get deployment celld-operator-$part -o json |
			jq --arg l "--log-level=$1" '.spec.template.spec.containers[0].args |= (map(select(startswith("--log-level") | not)) + [$l])' |
			kubectl apply -f - > /dev/null 2>&1
		kubectl -n $OPERATOR rollout status deployment/celld-operator-$part --timeout=90s > /dev/null
	done
}
level debug
check "somebody leads" until_ 40 eval 'kubectl -n $OPERATOR get pod "$(leader_pod)"'

# Each is a text that nothing else holds.
openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out "$root/build/e2e/secrets.pem" 2> /dev/null
rsa=$(sed -n 5p "$root/build/e2e/secrets.pem")
needles=(SeCrEtS3kEyOfTheStore0123456789 SeSsIoNtOkEnOfTheStore SeCrEtHmAcKeyOfTheStore SiGnAtUrEofTheSas "$rsa" QXp1cmVTZWNyZXRLZXlPZlRoZVN0b3Jl AZUREofTheStore)
jq -n --arg key "$(cat "$root/build/e2e/secrets.pem")" '{type: "service_account", client_email: "celld@test", private_key: $key,
	token_uri: "http://store.clouds.svc:7070/token"}' > "$root/build/e2e/secrets.json"
kubectl create secret generic s3 --from-literal=AWS_ACCESS_KEY_ID=AKIDmirror --from-literal=AWS_SECRET_ACCESS_KEY="${needles[0]}" \
	--from-literal=AWS_SESSION_TOKEN="${needles[1]}" > /dev/null
kubectl create secret generic hmac --from-literal=AWS_ACCESS_KEY_ID=GOOGmirror --from-literal=AWS_SECRET_ACCESS_KEY="${needles[2]}" > /dev/null
kubectl create secret generic sas --from-literal=AZURE_STORAGE_SAS_TOKEN="sv=2024-01-01&sig=${needles[3]}%3D" > /dev/null
kubectl create secret generic google --from-file=GOOGLE_SERVICE_ACCOUNT_KEY="$root/build/e2e/secrets.json" > /dev/null
kubectl create secret generic azure --from-literal=AZURE_STORAGE_ACCOUNT_KEY="${needles[5]}" > /dev/null
kubectl create secret generic none --from-literal=AWS_ACCESS_KEY_ID=x --from-literal=AZURE_STORAGE_ACCOUNT_KEY='no base64: AZUREofTheStore' > /dev/null
bucket() { # APP SECRET BUCKET-FIELDS
	APP_VERSION=auto REPLICAS=1 app "$1" v0.6.2 | sed "s|bucket: .*|bucket: {$3, credentialsFrom: {secretRef: $2}}|" |
		kubectl apply -f - > /dev/null || bad "apply $1"
}
switch mirror
bucket s3 s3 'name: "s3://cells/s3", endpoint: "http://store.clouds.svc:7070", allowHTTP: true'
bucket hmac hmac 'name: "gs://cells/hmac"'
bucket google google 'name: "gs://cells/google"'
bucket sas sas 'name: "az://cells/sas", storageAccount: mirror'
bucket azure azure 'name: "az://cells/azure", storageAccount: mirror'
bucket none none 'name: "az://cells/none", storageAccount: mirror'
for a in s3 hmac google sas azure none; do
	check "$a: its store is not reached" until_ 30 condition $a DeployTrackingReady=False/BucketUnreachable
done
check "s3: refused, without our own words" until_ 20 eval "[ \"\$(get $ns s3 '{.status.conditions[?(@.type==\"DeployTrackingReady\")].message}')\" = 'no version is known yet: the store refuses: status 403' ]"
for m in region storm garbage hang fine; do
	switch $m
	sleep 3 # a round of the poll
done
check "s3: then it is" until_ 60 condition s3 "DeployTrackingReady=True/Tracking"
check "s3: its fleet starts" ready $ns s3 60
kubectl patch secret s3 -p '{"stringData":{"AWS_SECRET_ACCESS_KEY":"'"${needles[0]}"'Two"}}' > /dev/null
check "s3: rolls to another key" until_ 30 phase_is $ns s3 RollingOut
check "s3: to the end" ready $ns s3 60

operator_pids() { pgrep -f '^[^ ]*celld-(controller|webhook) '; }
everything() {
	local p
	for p in $(kubectl -n $OPERATOR get pods -o name); do kubectl -n $OPERATOR logs "$p" --tail=-1; done
	kubectl get events,events.events.k8s.io,workerapps,celldobjectstores,statefulsets,pods,services,configmaps,leases,controllerrevisions -A -o yaml
	kubectl -n $OPERATOR get pods -l app.kubernetes.io/component=controller -o 'jsonpath={range .items[*]}{.status.podIP}{"\n"}{end}' |
		while read -r p; do curl -s "http://$p:8443/metrics"; done
	ps axww -o args | grep -v 'openssl\|kubectl\|grep'
	for p in $(operator_pids); do cat "/proc/$p/environ" "/proc/$p/cmdline"; done | tr '\0' '\n'
	grep -v '"resource":"secrets"' "$AUDIT"
}
everything > "$root/build/e2e/secrets.everything" 2> /dev/null
check "there is something to look through" [ "$(wc -c < "$root/build/e2e/secrets.everything")" -gt 200000 ]
for what in 'level=debug' 'kind: WorkerApp' celld_controller_ 'kind: Event' '/celld-controller'; do
	check "there is: $what" grep -qF -e "$what" "$root/build/e2e/secrets.everything"
done
kubectl get secrets -o yaml > "$root/build/e2e/secrets.own"
for n in "${needles[@]}"; do
	patterns=(-e "$n")
	# base64 of it at the three places that it may begin at
	for pad in "" x xx; do
		b=$(printf %s "$pad$n" | base64 -w0 | sed 's/=*$//')
		patterns+=(-e "${b:$((${#pad} * 2)):$((${#b} - ${#pad} * 2 - 4))}")
	done
	check "would be found: ${n:0:6}..." grep -qF "${patterns[@]}" "$root/build/e2e/secrets.own"
	check "is nowhere: ${n:0:6}..." refuted grep -F "${patterns[@]}" "$root/build/e2e/secrets.everything"
done

as_its_user() { setpriv --reuid 65532 --regid 65532 --clear-groups "$@"; }
check "the programs run" [ "$(operator_pids | wc -l)" -ge 4 ]
for p in $(operator_pids); do
	name=$(tr '\0' ' ' < "/proc/$p/cmdline" | sed 's|.*/\(celld-[a-z]*\) .*|\1|')
	check "$name: is no superuser's" [ "$(awk '/^Uid/ {print $2}' "/proc/$p/status")" = 65532 ]
	check "$name: not dumpable" [ "$(stat -c %u "/proc/$p/environ")" = 0 ]
	check "$name: no core" grep -qE '^Max core file size +0 +0 ' "/proc/$p/limits"
	check "$name: its memory is closed to its own user" refuted as_its_user head -c 1 "/proc/$p/environ"
done
setpriv --reuid 65532 --regid 65532 --clear-groups sleep 60 &
unprotected=$!
check "one that is not protected would be open" until_ 10 eval '[ "$(stat -c %u /proc/$unprotected/environ)" = 65532 ] && as_its_user head -c 1 /proc/$unprotected/environ'
kill $unprotected
level info
kubectl delete namespace $ns clouds --wait=false > /dev/null
