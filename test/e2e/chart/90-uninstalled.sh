# helm uninstall: the CustomResourceDefinitions and the fleets stay, and nothing else of ours.
namespace remains
BUCKET=s3://cells/$ns app web v0.6.2 | kubectl apply -f - > /dev/null
check "the fleet is Ready" ready $ns web 60
record remains
check "helm uninstall" "/tmp/bed-$BED_NAME/chart/helm" -n $OPERATOR uninstall celld-operator --wait --timeout 60s
left() { # every object that carries our label or name, outside the fleets' namespaces
	for kind in $(kubectl api-resources --verbs=list -o name | grep -vE '^(events|workerapps|componentstatuses|pods.metrics|nodes.metrics)'); do
		kubectl get "$kind" --all-namespaces -o json 2> /dev/null | jq -r --arg kind "$kind" '.items[] |
			select((.metadata.labels["app.kubernetes.io/instance"] == "celld-operator" or (.metadata.name | startswith("celld-operator"))) and
				.metadata.labels["app.kubernetes.io/managed-by"] != "celld-operator") |
			"\($kind) \(.metadata.name)"'
	done | sort
}
expected="customresourcedefinitions.apiextensions.k8s.io celldobjectstores.celld-operator.io
customresourcedefinitions.apiextensions.k8s.io workerapps.celld-operator.io
namespaces celld-operator-system"
only() { local l; l=$(left); [ "$l" = "$expected" ] || { echo "left: $l"; return 1; }; }
check "only the definitions are left, and the namespace, which is not the release's" until_ 30 only
for crd in workerapps celldobjectstores; do
	check "the definition $crd is kept" kubectl get crd $crd.celld-operator.io
done
check "the cluster is not locked: an app can be stored" eval 'app later v0.6.2 | kubectl apply -f -'
check "and its own namespace deleted" kubectl delete namespace $OPERATOR --wait --timeout=60s
check "the fleet still runs" [ "$(kubectl -n $ns get statefulset web-celld -o 'jsonpath={.status.readyReplicas}')" = 3 ]
invariants untouched=0,1,2
check "nothing of a fleet waits for us to be deleted" [ -z "$(kubectl -n $ns get workerapps,statefulsets,services,pods \
	-o 'jsonpath={.items[*].metadata.finalizers}')" ]
