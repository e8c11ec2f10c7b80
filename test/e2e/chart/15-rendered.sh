# What the chart renders for each file of values of test/chart/cases is taken by the API server, strictly, by server-side dry run as an
# upgrade of the release (as Helm: the ports of another manager would stay beside the new ones), with the definitions of cert-manager
# and the Prometheus operator; and so are the plain manifests.
"$root/test/neighbours/crds" "$root/build/crds" cert-manager prometheus > /dev/null
for name in cert-manager prometheus; do kubectl apply --server-side -f "$root/build/crds/$name.yaml" > /dev/null; done
kubectl wait --for=condition=Established --timeout=20s -f "$root/build/crds/cert-manager.yaml" -f "$root/build/crds/prometheus.yaml" > /dev/null
for name in team-a team-b shop; do kubectl create namespace $name > /dev/null; done
chart=/tmp/bed-$BED_NAME/chart
taken() { # RENDERED
	kubectl apply --server-side --force-conflicts --dry-run=server --validate=strict --field-manager=helm -f "$1" > "$chart/taken" 2>&1 || { tail -n 5 "$chart/taken"; return 1; }
	! grep -i warning "$chart/taken"
}
files=0
for values in "$root"/test/chart/cases/*.yaml; do
	name=$(basename "$values" .yaml)
	"$chart/helm" template celld-operator "$chart/celld-operator.tgz" --namespace $OPERATOR --values "$values" > "$chart/$name.yaml"
	check "$name is taken" taken "$chart/$name.yaml"
	files=$((files + 1))
done
check "there were many files" [ $files -ge 20 ]
sed 's/honorLabels:/honourLabels:/' "$chart/monitoring.yaml" > "$chart/wrong.yaml"
check "a field that does not exist would not be" refuted taken "$chart/wrong.yaml"
HELM=$(realpath "$chart/helm") PATH=$(dirname "$(realpath "$chart/helm")"):$PATH make -s -C "$root" manifests VERSION=v1.2.3 > "$chart/manifests.log" 2>&1
kubectl kustomize "$root/build/dist/manifests" > "$chart/plain.yaml"
check "the plain manifests, by kustomize, are taken" taken "$chart/plain.yaml"
kubectl delete namespace team-a team-b shop --wait=false > /dev/null
