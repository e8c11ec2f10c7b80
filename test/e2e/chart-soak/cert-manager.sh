# Real cert-manager (controller, webhook, injector) keeps the certificate: issued, mounted, renewed on demand, lost and issued anew, its
# authority renewed, all under calls: none fails.
. "$root/test/e2e/calls.sh"
namespace issued
chart=/tmp/bed-$BED_NAME/chart program=$("$root/test/neighbours/build" cert-manager) || bad "cert-manager is built"
"$root/test/neighbours/crds" "$root/build/crds" cert-manager-whole
kubectl apply --server-side --force-conflicts -f "$root/build/crds/cert-manager-whole.yaml" > /dev/null
kubectl wait --for=condition=Established --timeout=30s -f "$root/build/crds/cert-manager-whole.yaml" > /dev/null
kubectl create namespace cert-manager > /dev/null
kubectl -n cert-manager create serviceaccount cert-manager > /dev/null
kubectl create clusterrolebinding cert-manager --clusterrole=cluster-admin --serviceaccount=cert-manager:cert-manager > /dev/null
for part in controller webhook cainjector; do
	"$root/test/cluster/bed" images add "cert-manager-$part:" "$program" $part
	jq -n --arg part $part '{apiVersion: "apps/v1", kind: "Deployment", metadata: {namespace: "cert-manager", name: $part}, spec: {
		selector: {matchLabels: {app: $part}}, template: {metadata: {labels: {app: $part}}, spec: {serviceAccountName: "cert-manager", containers: [{
			name: "main", image: "cert-manager-\($part):test", env: [{name: "SERVICE", value: "cert-manager-webhook"},
				{name: "POD_NAMESPACE", value: "cert-manager"}]} + if $part == "webhook" then
			{readinessProbe: {httpGet: {path: "/healthz", port: 6080}, periodSeconds: 1}} else {} end]}}}}'
done | kubectl apply -f - > /dev/null
kubectl apply -f - > /dev/null <<-Y
	apiVersion: v1
	kind: Service
	metadata: {namespace: cert-manager, name: cert-manager-webhook}
	spec: {selector: {app: webhook}, ports: [{port: 443, targetPort: 10250}]}
Y
asks() { # KIND PATH OPERATIONS RESOURCES: a webhook of cert-manager's own
	cat <<-Y
	---
	apiVersion: admissionregistration.k8s.io/v1
	kind: $1WebhookConfiguration
	metadata: {name: cert-manager-webhook, annotations: {cert-manager.io/inject-ca-from-secret: cert-manager/cert-manager-webhook-ca}}
	webhooks:
	- name: webhook.cert-manager.io
	  rules: [{apiGroups: [cert-manager.io], apiVersions: [v1], operations: $3, resources: ["$4"]}]
	  admissionReviewVersions: [v1]
	  sideEffects: None
	  clientConfig: {service: {namespace: cert-manager, name: cert-manager-webhook, path: $2}}
	Y
}
{ asks Validating /validate '[CREATE, UPDATE]' '*/*'; asks Mutating /mutate '[CREATE]' certificaterequests; } | kubectl apply -f - > /dev/null
for part in controller webhook cainjector; do check "cert-manager's $part" kubectl -n cert-manager rollout status deployment/$part --timeout=120s; done
asked() { kubectl create --dry-run=server -f - <<< '{apiVersion: cert-manager.io/v1, kind: Issuer, metadata: {name: probe}, spec: {selfSigned: {}}}'; }
check "its own webhook answers" until_ 60 asked

secret=celld-operator-webhook-tls host=celld-operator-webhook.$OPERATOR.svc
"$chart/helm" -n $OPERATOR uninstall celld-operator --wait --timeout 60s > /dev/null
check "helm install" "$chart/helm" install celld-operator "$chart/celld-operator.tgz" --namespace $OPERATOR --create-namespace --wait --timeout 150s \
	--set webhook.lameDuck=2s --set certificates.source=certManager --set metrics.secure=true
for certificate in webhook-ca webhook controller-metrics; do
	check "the certificate $certificate is issued" kubectl -n $OPERATOR wait --for=condition=Ready --timeout=60s \
		certificates.cert-manager.io/celld-operator-$certificate
done
stored() { kubectl -n $OPERATOR get secret "$1" -o "jsonpath={.data.${2/./\\.}}" | base64 -d; } # SECRET FILE
serial() { stored "$1" tls.crt | openssl x509 -noout -serial; }
served() { # the serial number that every webhook pod serves
	for ip in $(kubectl -n $OPERATOR get pods -l app.kubernetes.io/component=webhook -o 'jsonpath={.items[*].status.podIP}'); do
		openssl s_client -connect "$ip:9443" -servername $host < /dev/null 2> /dev/null | openssl x509 -noout -serial
	done | sort -u
}
bundles() { kubectl get mutatingwebhookconfiguration,validatingwebhookconfiguration celld-operator -o json |
	jq -r '.items[].webhooks[].clientConfig.caBundle' | sort -u; }
follows() { [ "$(served)" = "$(serial $secret)" ]; }
# the injector of today adds, and keeps what was there
injected() { contains "$(bundles | base64 -d)" "$(stored $secret ca.crt)"; }
one() { [ "$(bundles | wc -l)" = 1 ] && injected; }
call() { app probe v0.6.2 | kubectl apply --dry-run=server -f -; }
check "all bundles are its authority's" until_ 30 one
check "the pods serve it" follows
check "a call works" until_ 10 call
check "its life is the authority's to tell" eval 'stored $secret tls.crt | openssl x509 -noout -issuer | grep -q celld-operator-webhook-ca'

renew() { # CERTIFICATE: what its command line tool does
	kubectl -n $OPERATOR get certificates.cert-manager.io "$1" -o json | jq '.status.conditions += [{type: "Issuing", status: "True", reason: "ManuallyTriggered",
		message: "renewed by hand", lastTransitionTime: (now | todate), observedGeneration: .metadata.generation}]' | kubectl replace --subresource=status -f -
}
changed() { local now; now=$(serial "$1" 2> /dev/null) && [ "$now" != "$was" ]; }
# after WHAT SECRET: its certificate is another one; every pod serves the webhook's
after() {
	check "$1: another certificate" until_ 60 changed "$2"
	start=$SECONDS
	check "$1: every pod serves what is in its Secret" until_ 150 follows
	say "        $1: after $((SECONDS - start)) s, most of them the kubelet's"
	check "$1: its authority is in all bundles" until_ 30 one
}
calls_begin calls 4
began=$SECONDS
was=$(serial $secret)
check "a renewal is asked for" renew celld-operator-webhook
after "renewed" $secret
was=$(serial $secret)
kubectl -n $OPERATOR delete secret $secret > /dev/null
after "lost" $secret
was=$(serial celld-operator-webhook-ca)
check "so is one of the authority" renew celld-operator-webhook-ca
after "its authority renewed" celld-operator-webhook-ca
was=$(serial $secret)
check "and one by the new authority" renew celld-operator-webhook
after "renewed by it" $secret
calls_end
say "        $CALLS calls in $((SECONDS - began)) s:$CODES"
check "no call failed" [ "$CALLS_BAD" = 0 ]
check "there were many" [ "$CALLS" -gt 500 ]
check "no pod restarted" [ -z "$(kubectl -n $OPERATOR get pods -o 'jsonpath={.items[*].status.containerStatuses[*].restartCount}' | tr -d ' 0')" ]
