#!/bin/bash
# install.sh: the operator into the running bed (kubectl on PATH, KUBECONFIG set; BED_DIR is the bed's folder).
# Environment: CONTROLLER_ARGS, a comma-separated YAML list of the controller's flags.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=$BED_DIR/operator
CONTROLLER_ARGS=${CONTROLLER_ARGS-}
mkdir -p "$work"

issue() { # a CA, and a certificate of it for the webhook's Service
	local host=celld-operator-webhook.celld-operator-system.svc
	openssl ecparam -name prime256v1 -genkey -noout -out "$work/ca.key"
	openssl req -x509 -new -key "$work/ca.key" -days 2 -subj /CN=celld-operator-ca -out "$work/ca.crt"
	openssl ecparam -name prime256v1 -genkey -noout -out "$work/tls.key"
	openssl req -new -key "$work/tls.key" -subj "/CN=$host" |
		openssl x509 -req -CA "$work/ca.crt" -CAkey "$work/ca.key" -CAcreateserial -days 2 -out "$work/tls.crt" \
			-extfile <(printf 'subjectAltName=DNS:%s\nextendedKeyUsage=serverAuth\n' "$host") 2> /dev/null
}

fill() { # FILE: with the variables of this script
	local text
	text=$(< "$1")
	text=${text//'${CA_BUNDLE}'/$(base64 -w0 < "$work/ca.crt")}
	echo "${text//'${CONTROLLER_ARGS}'/$CONTROLLER_ARGS}"
}

issue
kubectl apply -f "$root/crd/workerapps.yaml" -f "$root/crd/celldobjectstores.yaml"
kubectl wait --for=condition=Established crd/workerapps.celld-operator.io crd/celldobjectstores.celld-operator.io
kubectl create namespace celld-operator-system --dry-run=client -o yaml | kubectl apply -f -
kubectl -n celld-operator-system create secret tls celld-operator-webhook --cert="$work/tls.crt" --key="$work/tls.key" \
	--dry-run=client -o yaml | kubectl apply -f -
fill "$here/manifests/operator.yaml" | kubectl apply -f -
kubectl -n celld-operator-system rollout status deployment/celld-operator-webhook --timeout=60s
kubectl -n celld-operator-system rollout status deployment/celld-operator-controller --timeout=60s
fill "$here/manifests/webhooks.yaml" | kubectl apply -f -

# Ready pods are not yet reachable through their Service: kube-proxy follows up to a second later. What only the webhook
# refuses, and no schema, tells when it is asked.
asked() {
	local said
	said=$(sed 's/^  replicas: .*/&\n  vars: {secretRef: keys}/; s/namespace: .*/namespace: default/' \
		"$root/crd/samples/accepted/quickstart.yaml" | kubectl create --dry-run=server -f - 2>&1) || true
	[[ $said == *spec.vars.secretRef* ]]
}
for ((i = 0; i < 300; i++)); do
	asked && exit
	sleep 0.2
done
echo "install.sh: after a minute the webhook is still not asked" >&2
exit 1
