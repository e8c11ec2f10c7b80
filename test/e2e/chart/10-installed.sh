# The real chart, installed by Helm: the quick start works and what is wrong is refused, with the rights that the chart gives.
check "helm install was ready within 30 s: $(< "/tmp/bed-$BED_NAME/chart/took")" \
	[ "$(tr -dc 0-9 < "/tmp/bed-$BED_NAME/chart/took")" -lt 30000 ]
check "the pods are restricted" kubectl label --dry-run=server --overwrite namespace $OPERATOR \
	pod-security.kubernetes.io/enforce=restricted
warned=$(kubectl label --dry-run=server --overwrite namespace $OPERATOR pod-security.kubernetes.io/enforce=restricted 2>&1)
check "and none violates that profile" refuted contains "$warned" Warning
kubectl create namespace tenant-acme > /dev/null
ns=tenant-acme
pointer s3://platform-cells/apps/chat sha-abc123
check "the quick start is accepted" kubectl apply -f "$root/crd/samples/accepted/quickstart.yaml"
check "the fleet is Ready" ready $ns chat 60
check "a refusal is the webhook's" contains \
	"$(kubectl -n $ns patch workerapp chat --type merge -p '{"spec":{"celld":{"image":"ghcr.io/denoland/celld:v0.4.1"}}}' 2>&1)" \
	"needs an acknowledgement"
for role in view edit; do kubectl -n $ns create rolebinding $role --clusterrole=$role --user=$role > /dev/null; done
check "who may edit may scale fleets" until_ 10 kubectl -n $ns auth can-i patch workerapps --subresource=scale --as=edit --quiet
check "and make stores" kubectl -n $ns auth can-i create celldobjectstores --as=edit --quiet
check "who may view may see fleets" until_ 10 kubectl -n $ns auth can-i list workerapps --as=view --quiet
check "and change none" refuted kubectl -n $ns auth can-i patch workerapps --as=view --quiet
check "nobody writes a status" refuted kubectl -n $ns auth can-i patch workerapps --subresource=status --as=edit --quiet
if [ "${ROOTFS-}" ]; then
	for part in webhook controller; do
		check "the image of the $part has no shell" refuted kubectl -n $OPERATOR exec deploy/celld-operator-$part -- /bin/sh -c true
		check "but its program" kubectl -n $OPERATOR exec deploy/celld-operator-$part -- /usr/local/bin/celld-$part --version
	done
fi
