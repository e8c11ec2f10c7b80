# The manifest of the quick start, as it is written: a fleet comes up.
kubectl create namespace tenant-acme > /dev/null
ns=tenant-acme
pointer s3://platform-cells/apps/chat sha-abc123
start=$(date +%s%3N)
check "the quick start is accepted" kubectl apply -f "$root/crd/samples/accepted/quickstart.yaml"
check "the fleet is Ready" ready $ns chat 60
say "        the quick start was Ready after $(($(date +%s%3N) - start)) ms"
check "every pod serves the version asked for" until_ 20 eval '[ "$(get $ns chat "{.status.rolledOutAppVersion}")" = sha-abc123 ]'
columns=$(kubectl -n $ns get workerapp chat)
check "columns of kubectl get" contains "$(head -n 1 <<< "$columns" | tr -s ' ')" "NAME PHASE APP READY RESTORING AGE"
check "values of kubectl get" contains "$(tail -n 1 <<< "$columns" | tr -s ' ')" "chat Ready sha-abc123 3 0 "
check "wide columns" contains "$(kubectl -n $ns get workerapp chat -o wide | head -n 1 | tr -s ' ')" "IMAGE WAITING-ON URL"
check "one public Service answers" contains \
	"$(kubectl -n $ns get --raw "/api/v1/namespaces/$ns/services/chat-celld:8080/proxy/.well-known/celld/health")" '"ok":true'
check "the field reference is there" contains "$(kubectl explain workerapp.spec.celld.updateStrategy)" Recreate
check "kubectl scale works" kubectl -n $ns get --raw "/apis/celld-operator.io/v1alpha1/namespaces/$ns/workerapps/chat/scale"
for kind in serviceaccount/chat-celld service/chat-celld service/chat-celld-internal statefulset/chat-celld \
	poddisruptionbudget/chat-celld networkpolicy/chat-celld; do
	check "$kind is owned by the app" [ "$(kubectl -n $ns get $kind -o 'jsonpath={.metadata.ownerReferences[0].name}')" = chat ]
done
check "deleting the app deletes the fleet" kubectl -n $ns delete workerapp chat --wait
check "no pod is left" until_ 60 eval '[ -z "$(kubectl -n $ns get pods -o name)" ]'
