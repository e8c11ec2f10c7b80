# Every command of README.md and docs/ that needs a cluster with the operator and nothing else, as it stands there.
namespace tenant-acme
pointer s3://platform-cells/apps/chat sha-abc123
pointer s3://platform-cells/apps/shop v1
pointer s3://$ns/kept v1
kubectl apply -f "$root/crd/samples/accepted/quickstart.yaml" -f "$root/test/demo/shop.yaml" > /dev/null
app kept v0.6.2 '  storage: {sizeGi: 1}' | kubectl apply -f - > /dev/null
for a in chat shop kept; do check "$a is Ready" ready $ns $a 90; done
# a former container, for `kubectl logs --previous`, and the kinds of others that pages name
"$root/test/cluster/bed" crash $ns/chat-celld-0 celld
kubectl apply --server-side -f "$root/build/crds/keda.yaml" -f "$root/build/crds/cert-manager.yaml" > /dev/null
check "a ScaledObject is made" until_ 60 kubectl get scaledobject chat-celld
kubectl patch scaledobject chat-celld --subresource=status --type=merge -p '{"status":{"conditions":[{"type":"Ready","status":"True"},
	{"type":"Paused","status":"False"}]}}' > /dev/null
check "chat is Ready again" ready $ns chat 90
check "the commands of the pages" env BIN="$root/build/$PROFILE/bin" python3 "$root/test/docs/commands.py"
check "the full stop by hand has brought shop to v0.5.1" contains "$(get $ns shop '{.spec.celld.image}')" v0.5.1
kubectl delete -f "$root/build/crds/keda.yaml" -f "$root/build/crds/cert-manager.yaml" --wait=false > /dev/null
kubectl delete namespace $ns --wait=false > /dev/null
