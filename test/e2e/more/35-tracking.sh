# `auto` follows the pointer of a real S3 store; what is wrong with the bucket is said, and moves nothing.
namespace tracking
conditions() { get $ns "$1" '{range .status.conditions[*]}{.type}={.status}/{.reason} {.message}{"\n"}{end}'; }
condition() { contains "$(conditions "$1")" "$2"; } # APP TEXT
serves() { [ "$(get $ns "$1" '{.status.rolledOutAppVersion}')" = "$2" ]; }
restarted() { kubectl get pods -l "celld-operator.io/workerapp=$1" -o 'jsonpath={.items[*].metadata.uid}'; }

# versitygw as a pod, in a namespace that no record looks at
kubectl create namespace objects > /dev/null
"$root/test/cluster/bed" images add versitygw: "$("$root/test/neighbours/build" versitygw)"
kubectl -n objects apply -f - > /dev/null <<'Y'
apiVersion: v1
kind: Pod
metadata: {name: store, labels: {app: store}}
spec:
  containers:
  - name: store
    image: versitygw:test
    args: [--port, ":7070", --access, AKIDTEST, --secret, s3cr3t-0f-the-st0re, --quiet, posix, /tmp]
    readinessProbe: {tcpSocket: {port: 7070}, periodSeconds: 1}
---
apiVersion: v1
kind: Service
metadata: {name: store}
spec: {selector: {app: store}, ports: [{port: 7070}]}
Y
kubectl -n objects wait --for=condition=Ready pod/store --timeout=30s > /dev/null
url=http://$(kubectl -n objects get pod store -o 'jsonpath={.status.podIP}'):7070
put() { # KEY BODY: without a body the bucket itself
	curl -sS --fail --aws-sigv4 aws:amz:us-east-1:s3 --user AKIDTEST:s3cr3t-0f-the-st0re -H 'x-amz-content-sha256: UNSIGNED-PAYLOAD' \
		-X PUT ${2:+--data-binary "$2"} "$url/cells${1:+/$1}" || bad "put $1"
}
deploy() { # APP VERSION
	put "$1/deploy/current.json" "{\"script_name\":\"app\",\"version\":\"$2\",\"prefix\":\"deploy/app/$2\",\"rollout\":{\"percent\":100}}"
}
keys() { # NAME SECRET-KEY
	kubectl create secret generic "$1" --from-literal=AWS_ACCESS_KEY_ID=AKIDTEST --from-literal=AWS_SECRET_ACCESS_KEY="$2" \
		--from-literal=UNUSED="${3-}" --dry-run=client -o yaml | kubectl apply -f - > /dev/null
}
bucket_app() { # NAME [EXTRA-SPEC]
	APP_VERSION=${APP_VERSION:-auto} REPLICAS=2 app "$1" v0.6.2 "  env: [{name: CELLD_SIM_BUCKET, value: \"1\"}]${2:+
$2}" | sed "s|bucket: .*|bucket: {name: \"s3://cells/$1\", endpoint: \"http://store.objects.svc:7070\", allowHTTP: true, region: us-east-1, credentialsFrom: {secretRef: keys}}|"
}

put ""
keys keys s3cr3t-0f-the-st0re
bucket_app web | kubectl apply -f - > /dev/null
check "without a pointer nothing is started" until_ 20 condition web "DeployTrackingReady=False/NoDeployment"
check "it is Pending" phase_is $ns web Pending
deploy web v1
check "the first pointer starts the fleet" ready $ns web 60
check "which serves it" until_ 20 serves web v1
check "it follows" condition web "DeployTrackingReady=True/Tracking following v1"
check "its credentials are there" condition web "BucketCredentialsReady=True/Configured"

record follow
deploy web v2
check "a new pointer rolls the fleet" until_ 90 serves web v2
check "and it is Ready" ready $ns web 30
invariants one-down steps rest

record flap
for i in $(seq 15); do # three reads of the pointer each
	deploy web v3
	sleep 2
	deploy web v4
	sleep 2
done
check "a pointer that flaps for a minute ends on the last one" until_ 120 serves web v4
check "and it is Ready" ready $ns web 30
deploy web v2
check "back to one before" until_ 90 serves web v2
invariants one-down steps rest

# Without its keys the bucket is unreachable: the version is held, the fleet untouched.
before=$(restarted web)
kubectl create secret generic wrong --from-literal=AWS_ACCESS_KEY_ID=AKIDTEST --from-literal=AWS_SECRET_ACCESS_KEY=wrong > /dev/null
patch web '{"deployTrackingSecretRef":"wrong"}' > /dev/null
check "a wrong key is seen" until_ 20 condition web "DeployTrackingReady=False/BucketUnreachable holding last known version v2: the store refuses: status 403 SignatureDoesNotMatch"
patch web '{"deployTrackingSecretRef":"nowhere"}' > /dev/null
check "a Secret that is not there is seen" until_ 20 condition web "holding last known version v2: Secret nowhere does not exist"
patch web '{"deployTrackingSecretRef":null}' > /dev/null
check "it recovers alone" until_ 20 condition web "DeployTrackingReady=True/Tracking following v2"
put web/deploy/current.json '{"version":7}'
check "what is no pointer is seen" until_ 20 condition web "DeployTrackingReady=False/InvalidPointer holding last known version v2: version is no string"
deploy web v2
check "it recovers from that too" until_ 20 condition web "DeployTrackingReady=True/Tracking following v2"
check "the fleet was left alone" [ "$(restarted web)" = "$before" ]

# Pinned, with a Secret to compare by.
patch web '{"appVersion":"v9","deployTrackingSecretRef":"keys","deploymentPolicy":"InPlace"}' > /dev/null
check "drift is said" until_ 20 condition web "DeployTrackingReady=False/VersionMismatch spec.appVersion is v9, the bucket's deployment is v2"
check "the phase stays Ready" ready $ns web 20
check "what was rolled out stays" serves web v2

# InPlace: nobody restarts, there is nothing to roll; a pod that does not adopt is named.
released() {
	kubectl -n $ns get events.events.k8s.io -o json | jq '[.items[] | select(.reason == "PodReleased" and
		(.regarding.name | startswith("web-celld-"))) | .series.count // 1] | add // 0'
}
had=$(released)
patch web '{"appVersion":"auto"}' > /dev/null
check "following again" until_ 20 condition web "DeployTrackingReady=True/Tracking following v2"
sim web-celld-1 adopt_fail
deploy web v3
check "a pod that does not adopt is named" until_ 30 waiting_on $ns web "web-celld-1: does not serve the expected version yet: v2, not v3"
check "the phase is RollingOut" phase_is $ns web RollingOut
sim web-celld-1 reset
deploy web v4
check "adopted, it is Ready" ready $ns web 60
check "and rolled out" until_ 20 serves web v4
check "nobody was restarted" [ "$(restarted web)" = "$before" ]
check "nor released for it" [ "$(released)" = "$had" ]

# Rotation: a used key rolls the fleet through its gate; anything else does nothing.
keys keys s3cr3t-0f-the-st0re other
kubectl label secret keys a=b > /dev/null
sleep 5 # two rounds of the Secret's poll
check "an unused key restarts nobody" [ "$(restarted web)" = "$before" ]
kubectl delete secret keys > /dev/null
check "a Secret that is gone is said" until_ 20 condition web "BucketCredentialsReady=False/SecretMissing Secret keys does not exist"
check "and the fleet left running" [ "$(restarted web)" = "$before" ]
record rotate
kubectl create secret generic keys --from-literal=AWS_ACCESS_KEY_ID=AKIDTEST --from-literal=AWS_SECRET_ACCESS_KEY=s3cr3t-0f-the-st0re \
	--from-literal=AWS_SESSION_TOKEN= > /dev/null
check "a changed key rolls" until_ 30 phase_is $ns web RollingOut
check "to the end" ready $ns web 90
check "with every pod replaced" eval '[ -z "$(comm -12 <(tr " " "\n" <<< "$before" | sort) <(restarted web | tr " " "\n" | sort))" ]'
invariants one-down steps rest

# A store that many share.
kubectl apply -f - > /dev/null <<Y
apiVersion: celld-operator.io/v1alpha1
kind: CelldObjectStore
metadata: {name: shared}
spec: {endpoint: "http://store.objects.svc:7070", allowHTTP: true, region: us-east-1, credentialsFrom: {secretRef: keys}}
Y
deploy two v1
BUCKET=s3://cells/two REPLICAS=1 APP_VERSION=auto app two v0.6.2 '  storeRef: {name: shared}
  env: [{name: CELLD_SIM_BUCKET, value: "1"}]' | kubectl apply -f - > /dev/null
check "an app by its store" ready $ns two 60
check "the store counts it" until_ 20 eval '[ "$(kubectl get cstore shared -o jsonpath={.status.apps})" = 1 ]'
check "and is reachable" until_ 20 contains "$(kubectl get cstore shared -o yaml)" Reached
before=$(restarted two)
kubectl delete cstore shared > /dev/null
check "a store that is deleted is said" until_ 20 condition two "BucketCredentialsReady=False/StoreMissing"
check "and its fleet left running" [ "$(restarted two)" = "$before" ]
check "Ready as before" phase_is $ns two Ready

# No credential in any log, Event or status.
everything() {
	kubectl -n $OPERATOR logs -l app.kubernetes.io/name=celld-operator --tail=-1
	kubectl get events.events.k8s.io,workerapps,celldobjectstores,statefulsets -A -o yaml
	ps axww -o args
	cat "$AUDIT"
}
check "the secret is nowhere to be read" refuted eval 'everything | grep -v "curl\|versitygw\|grep" | grep -F -e s3cr3t-0f-the-st0re -e "$(printf s3cr3t-0f-the-st0re | base64)" | grep -v "\"resource\":\"secrets\""'
kubectl delete namespace $ns objects --wait=false > /dev/null
