# `auto` follows the pointer of a Google and of an Azure store, by their own ways to sign: fake-gcs-server, behind a token server that
# has OpenSSL verify the JWT, and azurite.
namespace dialects
condition() { contains "$(get $ns "$1" '{range .status.conditions[*]}{.type}={.status}/{.reason} {.message}{"\n"}{end}')" "$2"; } # APP TEXT
serves() { [ "$(get $ns "$1" '{.status.rolledOutAppVersion}')" = "$2" ]; }
pods() { kubectl get pods -l "celld-operator.io/workerapp=$1" -o 'jsonpath={.items[*].metadata.uid}'; }
body() { printf '{"script_name":"app","version":"%s","prefix":"deploy/app/%s","rollout":{"percent":100}}' "$1" "$1"; }

neighbours=$root/test/neighbours keys=$root/build/e2e/dialects
azure_key=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw== # everybody's
mkdir -p "$keys"
openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out "$keys/key.pem" 2> /dev/null
openssl pkey -in "$keys/key.pem" -pubout -out "$keys/public.pem"
kubectl create namespace clouds > /dev/null
"$root/test/cluster/bed" images add google: "$("$neighbours/build" fake-gcs-server)"
"$root/test/cluster/bed" images add token: "$neighbours/token_server.py"
azurite=$(dirname "$("$neighbours/build" azurite)")
service() { # NAME PORT
	kubectl -n clouds create service clusterip "$1" --tcp="$2:$2" > /dev/null
}
kubectl -n clouds create configmap token --from-file="$keys/public.pem" > /dev/null
kubectl -n clouds apply -f - > /dev/null <<Y
apiVersion: v1
kind: Pod
metadata: {name: google, labels: {app: google}}
spec:
  containers:
  - name: google
    image: google:test
    args: [-scheme, http, -port, "4443", -backend, memory]
    readinessProbe: {tcpSocket: {port: 4443}, periodSeconds: 1}
---
apiVersion: v1
kind: Pod
metadata: {name: token, labels: {app: token}}
spec:
  volumes: [{name: key, configMap: {name: token}}]
  containers:
  - name: token
    image: token:test
    args: ["8080", /key/public.pem]
    volumeMounts: [{name: key, mountPath: /key}]
    readinessProbe: {tcpSocket: {port: 8080}, periodSeconds: 1}
---
apiVersion: v1
kind: Pod
metadata: {name: azurite, labels: {app: azurite}}
spec:
  volumes: [{name: modules, hostPath: {path: "$(realpath "$azurite/..")"}}]
  containers:
  - name: azurite
    image: shell:test
    command: [node, /srv/node_modules/azurite/dist/src/blob/main.js, --silent, --skipApiVersionCheck, --disableProductStyleUrl, --inMemoryPersistence,
              --blobHost, 0.0.0.0, --blobPort, "10900"]
    volumeMounts: [{name: modules, mountPath: /srv/node_modules}]
    readinessProbe: {tcpSocket: {port: 10900}, periodSeconds: 1}
Y
service google 4443
service token 8080
service azurite 10900
check "the stores are there" kubectl -n clouds wait --for=condition=Ready pod --all --timeout=60s
address() { kubectl -n clouds get pod "$1" -o 'jsonpath={.status.podIP}'; }
google=http://$(address google):4443 azure=http://$(address azurite):10900/devstoreaccount1
curl -sS --fail -o /dev/null -H 'Content-Type: application/json' -d '{"name":"cells"}' "$google/storage/v1/b?project=p" || bad "a bucket"
"$neighbours/azure_put.py" "$azure" devstoreaccount1 $azure_key cells || bad "a container"
deploy() { # google|azure VERSION: what celld-sim reads too
	case $1 in
	google)
		pointer gs://cells/apps/google "$2"
		curl -sS --fail -o /dev/null -H 'Content-Type: application/json' -d "$(body "$2")" \
			"$google/upload/storage/v1/b/cells/o?uploadType=media&name=apps/google/deploy/current.json" || bad "deploy $*" ;;
	azure)
		pointer az://cells/apps/azure "$2"
		"$neighbours/azure_put.py" "$azure" devstoreaccount1 $azure_key cells apps/azure/deploy/current.json "$(body "$2")" ||
			bad "deploy $*" ;;
	esac
}
jq -n --arg key "$(cat "$keys/key.pem")" '{type: "service_account", client_email: "celld@test", private_key_id: "1", private_key: $key,
	token_uri: "http://token.clouds.svc:8080/token"}' > "$keys/account.json"
kubectl create secret generic google --from-file=GOOGLE_SERVICE_ACCOUNT_KEY="$keys/account.json" > /dev/null
kubectl create secret generic azure --from-literal=AZURE_STORAGE_ACCOUNT_KEY=$azure_key > /dev/null
apply() { # NAME BUCKET
	APP_VERSION=auto REPLICAS=2 app "$1" v0.6.2 | sed "s|bucket: .*|bucket: {$2, credentialsFrom: {secretRef: $1}}|" |
		kubectl apply -f - > /dev/null || bad "apply $1"
}

apply google 'name: "gs://cells/apps/google"'
apply azure 'name: "az://cells/apps/azure", storageAccount: devstoreaccount1'
for app in google azure; do
	check "$app: no pointer yet" until_ 30 condition $app "DeployTrackingReady=False/NoDeployment"
	deploy $app v1
	check "$app: the first pointer starts the fleet" ready $ns $app 60
	check "$app: which serves it" until_ 20 serves $app v1
	record $app $app
	deploy $app v2
	check "$app: a new pointer rolls it" until_ 90 serves $app v2
	check "$app: to the end" ready $ns $app 30
	invariants one-down steps
	before=$(pods $app)
	patch $app '{"deploymentPolicy":"InPlace"}' > /dev/null
	check "$app: another policy restarts nobody" ready $ns $app 20
	deploy $app v3
	check "$app: a new pointer is adopted" until_ 60 serves $app v3
	check "$app: in place" [ "$(pods $app)" = "$before" ]
done

# Keys that do not fit hold the version.
openssl genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 2> /dev/null > "$keys/other.pem"
kubectl create secret generic google-wrong --from-literal=GOOGLE_SERVICE_ACCOUNT_KEY="$(jq --arg key "$(cat "$keys/other.pem")" \
	'.private_key = $key' "$keys/account.json")" > /dev/null
kubectl create secret generic azure-wrong --from-literal=AZURE_STORAGE_ACCOUNT_KEY=c2VjcmV0 > /dev/null
for app in google azure; do
	patch $app "{\"deployTrackingSecretRef\":\"$app-wrong\"}" > /dev/null
	check "$app: a wrong key is seen" until_ 30 condition $app "DeployTrackingReady=False/BucketUnreachable holding last known version v3"
	patch $app '{"deployTrackingSecretRef":null}' > /dev/null
	check "$app: it recovers" until_ 30 condition $app "DeployTrackingReady=True/Tracking following v3"
done
kubectl delete namespace $ns clouds --wait=false > /dev/null
