# Real KEDA (operator and metrics server), a real Prometheus that it asks, the real controller of HorizontalPodAutoscalers: a
# fleet grows by its utilization, a census that is not complete moves nothing, a rollout waits for KEDA's own word.
operator=$("$root/test/neighbours/build" keda operator) || bad "KEDA is built"
adapter=$("$root/test/neighbours/build" keda adapter) || bad "KEDA is built"
prometheus=$("$root/test/metrics/promtool.sh" prometheus)
bed=$root/test/cluster/bed work=$root/build/e2e/keda
rm -rf "$work"
mkdir -p "$work"
field() { kubectl -n "$ns" get "$1" "$2" -o "jsonpath=$3"; }
replicas() { field statefulset web-celld '{.spec.replicas}'; }
keda_says() { [ "$(field scaledobject web-celld "{.status.conditions[?(@.type==\"$1\")].status}")" = "$2" ]; }
asked() { [ "$(field scaledobject web-celld '{.metadata.annotations.autoscaling\.keda\.sh/paused}')" = "${1-true}" ]; }
hpa() { kubectl -n "$ns" get hpa keda-hpa-web-celld; }
hpa_says() { [ "$(field hpa keda-hpa-web-celld "{.status.conditions[?(@.type==\"$1\")].status}")" = "$2" ]; }

# Certificates of its own, as its documents allow: those it makes itself come to the pods a minute later.
for n in ca tls; do openssl ecparam -name prime256v1 -genkey -noout -out "$work/$n.key"; done
openssl req -x509 -new -key "$work/ca.key" -days 2 -subj /CN=keda-ca -out "$work/ca.crt"
openssl req -x509 -new -key "$work/tls.key" -CA "$work/ca.crt" -CAkey "$work/ca.key" -days 2 -subj /CN=keda \
	-addext "subjectAltName=DNS:keda-operator.keda.svc,DNS:keda-operator.keda.svc.cluster.local,DNS:keda-metrics-apiserver.keda.svc" \
	-addext basicConstraints=CA:FALSE -out "$work/tls.crt" 2> "$work/openssl.log"
"$bed" images add keda-operator: "$operator"
"$bed" images add keda-adapter: "$adapter"
"$bed" images add prometheus: "$prometheus"

kubectl apply --server-side --force-conflicts -f "$root/build/crds/keda.yaml" > /dev/null
kubectl create namespace keda > /dev/null
kubectl create namespace monitoring > /dev/null
kubectl -n keda create secret generic kedaorg-certs --from-file="$work/ca.crt" --from-file="$work/tls.crt" \
	--from-file="$work/tls.key" > /dev/null
kubectl -n keda create serviceaccount keda > /dev/null
kubectl create clusterrolebinding keda --clusterrole=cluster-admin --serviceaccount=keda:keda > /dev/null
# neighbour NAMESPACE NAME ACCOUNT IMAGE PORT-OF-SERVICE:PORT VOLUME-SOURCE ARG...: a Deployment and its Service
neighbour() {
	jq -n --arg ns "$1" --arg name "$2" --arg account "$3" --arg image "$4" --argjson from "${5%:*}" --argjson to "${5#*:}" \
		--argjson volume "$6" '{apiVersion: "v1", kind: "List", items: [
		{apiVersion: "v1", kind: "Service", metadata: {namespace: $ns, name: $name}, spec: {selector: {app: $name},
			ports: [{port: $from, targetPort: $to}]}},
		{apiVersion: "apps/v1", kind: "Deployment", metadata: {namespace: $ns, name: $name}, spec: {
			selector: {matchLabels: {app: $name}}, template: {metadata: {labels: {app: $name}}, spec: {
				serviceAccountName: $account, volumes: [$volume + {name: "given"}], containers: [{name: "main", image: $image,
					args: $ARGS.positional, readinessProbe: {tcpSocket: {port: $to}, periodSeconds: 1},
					volumeMounts: [{name: "given", mountPath: "/given"}],
					env: [{name: "WATCH_NAMESPACE", value: ""}, {name: "POD_NAMESPACE", value: $ns}, {name: "OPERATOR_NAME", value: $name},
						{name: "POD_NAME", valueFrom: {fieldRef: {fieldPath: "metadata.name"}}}]}]}}}}]}' \
		--args -- "${@:7}" | kubectl apply -f - > /dev/null
}
certs='{"secret": {"secretName": "kedaorg-certs"}}'
neighbour keda keda-operator keda keda-operator:test 9666:9666 "$certs" --leader-elect=false --cert-dir=/given \
	--zap-log-level=info --zap-encoder=console
neighbour keda keda-metrics-apiserver keda keda-adapter:test 443:6443 "$certs" --secure-port=6443 --cert-dir=/given \
	--client-ca-file=/given/ca.crt --tls-cert-file=/given/tls.crt --tls-private-key-file=/given/tls.key
kubectl apply -f - > /dev/null <<-Y
	apiVersion: apiregistration.k8s.io/v1
	kind: APIService
	metadata: {name: v1beta1.external.metrics.k8s.io}
	spec:
	  service: {name: keda-metrics-apiserver, namespace: keda}
	  group: external.metrics.k8s.io
	  version: v1beta1
	  groupPriorityMinimum: 100
	  versionPriority: 100
	  caBundle: $(base64 -w0 < "$work/ca.crt")
Y
cat > "$work/prometheus.yml" <<-Y
	global: {scrape_interval: 1s}
	scrape_configs:
	- job_name: celld-controller
	  honor_labels: true
	  dns_sd_configs: [{names: [controllers.$OPERATOR.svc.cluster.local], type: A, port: 8443, refresh_interval: 1s}]
Y
kubectl apply -f - > /dev/null <<-Y
	apiVersion: v1
	kind: Service
	metadata: {name: controllers, namespace: $OPERATOR}
	spec: {clusterIP: None, publishNotReadyAddresses: true, selector: {app.kubernetes.io/component: controller}}
Y
kubectl -n monitoring create configmap prometheus --from-file="$work/prometheus.yml" > /dev/null
neighbour monitoring prometheus-operated default prometheus:test 9090:9090 '{"configMap": {"name": "prometheus"}}' \
	--config.file=/given/prometheus.yml --storage.tsdb.path=/tmp/tsdb --web.listen-address=:9090
for n in keda/keda-operator keda/keda-metrics-apiserver monitoring/prometheus-operated; do
	check "$n runs" kubectl -n "${n%/*}" rollout status "deployment/${n#*/}" --timeout=120s
done
check "the API server has its metrics" kubectl wait --for=condition=Available --timeout=90s apiservice/v1beta1.external.metrics.k8s.io

namespace keda-scales
pointer s3://$ns/web v1
app web v0.6.2 '  autoscaling: {enabled: true, minReplicas: 3, maxReplicas: 6, targets: {residentCellUtilization: 70}}' |
	sed 's/memoryGi: 1,/memoryGi: 1, maxResidentCells: 10,/' | kubectl apply -f - > /dev/null
check "the fleet is Ready" ready $ns web 120
check "KEDA takes the ScaledObject" until_ 60 keda_says Ready True
check "and has an autoscaler for it" until_ 60 hpa
check "it reads the fleet's figure" until_ 120 hpa_says ScalingActive True
check "an idle fleet keeps its size" [ "$(replicas)" = 3 ]

# Not Ready without a rollout: nothing scales a fleet that converges.
sim web-celld-1 unready
check "a pod is not Ready: KEDA confirms a pause" until_ 90 keda_says Paused True
sim web-celld-1 unready=off
check "Ready again: it scales again" until_ 120 eval 'asked "" && hpa && hpa_says ScalingActive True'
check "at the same size" [ "$(replicas)" = 3 ]

# More work than the target: 9 of 10 cells in each pod; 3 x 0.9 / 0.7 is 3.9, and the new pod takes the average down.
for i in 0 1 2; do sim web-celld-$i occupied=9; done
check "utilization up: the fleet grows to 4" until_ 120 eval '[ "$(replicas)" = 4 ]'
check "the fourth is Ready" until_ 90 eval '[ "$(get $ns web {.status.fleet.ready})" = 4 ] && settled $ns web'
check "the autoscaler is back" until_ 60 eval 'hpa && hpa_says ScalingActive True'

# One pod is not heard: its fleet must not look idle, nor busy.
sim web-celld-3 silent=internal
for i in 0 1 2; do sim web-celld-$i occupied=10; done
check "an incomplete census is no figure" until_ 120 hpa_says ScalingActive False
check "the size stays" [ "$(replicas)" = 4 ]
for i in 0 1 2; do sim web-celld-$i occupied=7; done
sim web-celld-3 silent=off occupied=7
check "heard again" until_ 120 hpa_says ScalingActive True
check "it is the size that fits" [ "$(replicas)" = 4 ]

# A rollout. The versions of all objects come from one counter, so they tell which change was first.
record roll web
kubectl -n "$ns" get scaledobject web-celld --watch --output-watch-events -o json 2> /dev/null | jq -c --unbuffered . > "$RECORD.scaledobjects" &
recorders+=($!)
until_ 20 [ -s "$RECORD.scaledobjects" ]
was=$(revision web)
sim web-celld-0 restoring=3
patch web '{"podLabels":{"team":"shop"}}' > /dev/null
check "KEDA confirms the pause" until_ 60 keda_says Paused True
check "its autoscaler is gone" until_ 30 refuted hpa
check "the rollout has begun, and waits for its gate" until_ 60 waiting_on $ns web restoring=3
leads=$(leader)
"$bed" crash "$OPERATOR/$(leader_pod)" controller
check "the controller is killed while paused, another one leads" until_ 40 eval '[ "$(leader)" != "$leads" ] && [ "$(leader)" ]'
check "the pause holds" asked
sim web-celld-0 restoring=off
check "the rollout comes to its end" ready $ns web 180
check "the next controller lifts the pause" until_ 30 asked ""
check "KEDA says so" until_ 60 keda_says Paused False
check "and scales again" until_ 90 eval 'hpa && hpa_says ScalingActive True'
check "4 pods all the way" [ "$(recorded statefulsets .spec.replicas | sort -u)" = 4 ]
invariants one-down steps rest
confirmed=$(recorded scaledobjects 'select(any(.status.conditions[]?; .type == "Paused" and .status == "True")) | .metadata.resourceVersion' | head -n 1)
stepped=$(recorded statefulsets "select(.status.updateRevision != \"$was\" or .spec.template.metadata.labels.team == \"shop\") | .metadata.resourceVersion" | head -n 1)
check "paused in KEDA's status ($confirmed) before the first write of the rollout ($stepped)" [ "${confirmed:-0}" -gt 0 -a "$confirmed" -lt "${stepped:-0}" ]

# In this order: a finalizer of KEDA's is on its objects, and an API that does not answer keeps namespaces from going.
kubectl delete apiservice v1beta1.external.metrics.k8s.io > /dev/null
kubectl delete namespace $ns --timeout=60s > /dev/null
kubectl delete namespace keda monitoring --wait=false > /dev/null
kubectl delete -f "$root/build/crds/keda.yaml" --wait=false > /dev/null
kubectl delete clusterrolebinding keda > /dev/null
kubectl -n $OPERATOR delete service controllers > /dev/null
