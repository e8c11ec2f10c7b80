# What platform teams rely on: defaults that fight nobody, policy, and one fleet to a bucket prefix.
namespace admission
APPS=workerapps.celld-operator.io
settings() { # KEY YAML: into the webhook's ConfigMap; until both replicas have it
	kubectl -n $OPERATOR patch configmap celld-operator-settings --type merge \
		-p "$(jq -cn --arg k "$1" --arg v "$2" '{data: {($k): $v}}')" > /dev/null
}
version_of() { kubectl get "$APPS" "$1" -o 'jsonpath={.metadata.resourceVersion}'; }
# bare NAME: an app that leaves the image to the platform
bare() { app "$1" v0.6.2 | sed '/image:/d'; }
dry() { kubectl apply --dry-run=server -o json -f -; }
# asked N CMD...: N times, so that either replica of the webhook has answered
asked() { local n=$1; shift; for _ in $(seq "$n"); do "$@" || return 1; done; }

# --- defaults
out=$(bare one | dry 2>&1) && bad "an app without image was let through" || ok "without defaults an image is required"
settings defaults.yaml 'defaults: {celld: {image: "ghcr.io/denoland/celld:v0.6.1"}, podLabels: {team: platform}}'
filled() { bare probe | dry | jq -e --arg i "ghcr.io/denoland/celld:$1" '.spec.celld.image == $i' > /dev/null; }
check "defaults are read again" until_ 150 asked 8 filled v0.6.1
files=$(mktemp -d)
one=$files/one.yaml two=$files/two.yaml
bare one > "$one"
bare two > "$two"
check "client-side apply" kubectl apply -f "$one"
check "what was filled is listed" [ "$(kubectl get $APPS one -o jsonpath='{.metadata.annotations.celld-operator\.io/defaulted}')" = "spec.celld.image,spec.podLabels[team]" ]
spec_before=$(kubectl get $APPS one -o json | jq -c '[.spec, .metadata.annotations, .metadata.generation]')
check "kubectl diff of the applied file finds nothing" kubectl diff -f "$one"
check "applied again, nothing changes" kubectl apply -f "$one"
check "the same spec, annotations and generation" [ "$(kubectl get $APPS one -o json | jq -c '[.spec, .metadata.annotations, .metadata.generation]')" = "$spec_before" ]
check "server-side apply" kubectl apply --server-side -f "$two"
generation=$(kubectl get $APPS two -o 'jsonpath={.metadata.generation}')
check "server-side apply again" kubectl apply --server-side -f "$two"
check "the same generation" [ "$(kubectl get $APPS two -o 'jsonpath={.metadata.generation}')" = "$generation" ]
check "server-side diff finds nothing" kubectl diff --server-side -f "$two"
check "the API server has applied the patch: the image is there" [ "$(get $ns two '{.spec.celld.image}')" = ghcr.io/denoland/celld:v0.6.1 ]

# --- sticky
settings defaults.yaml 'defaults: {celld: {image: "ghcr.io/denoland/celld:v0.6.2"}, podLabels: {team: platform}}'
check "a new default is for new apps" until_ 150 asked 8 filled v0.6.2
kubectl apply -f "$one" > /dev/null
check "a stored app keeps its own" [ "$(get $ns one '{.spec.celld.image}')" = ghcr.io/denoland/celld:v0.6.1 ]
kubectl replace -f "$one" > /dev/null
check "a replacement that leaves it out keeps it too" [ "$(get $ns one '{.spec.celld.image}')" = ghcr.io/denoland/celld:v0.6.1 ]
kubectl annotate $APPS one celld-operator.io/defaulted- > /dev/null
check "without the annotation it takes the new one" [ "$(get $ns one '{.spec.celld.image}')" = ghcr.io/denoland/celld:v0.6.2 ]
settings defaults.yaml 'defaults: {celld: {image: latest}}'
broken() { kubectl -n $OPERATOR logs -l app.kubernetes.io/component=webhook --tail=-1 | grep -c 'new settings refused' | grep -qx '[2-9]'; }
check "broken defaults are told of by both replicas" until_ 150 broken
check "and the last good ones stay" asked 8 filled v0.6.2

# --- policy
settings policy.yaml 'allowedImagePrefixes: [ghcr.io/denoland/celld]'
other() { app other v0.6.2 | sed 's,ghcr.io/denoland,docker.io/evil,' | kubectl apply --dry-run=server -f - 2>&1; }
refused() { contains "$(other)" "the platform's policy does not allow image"; }
check "policy is read again" until_ 150 asked 8 refused
out=$(other)
check "the refusal says what is allowed" contains "$out" 'write an image that begins with ghcr.io/denoland/celld'
check "it is Forbidden" contains "$out" Forbidden
settings policy.yaml '{allowedImages: 7}'
told() { contains "$(kubectl -n $OPERATOR get events.events.k8s.io -o json | jq -r '.items[] |
	select(.reason == "SettingsRefused") | .regarding.kind + " " + .regarding.name + " " + .note')" \
	"Lease celld-operator-controller policy"; }
check "a broken policy is told of by an Event about the controllers' Lease" until_ 150 told
check "and by its uid, so that describe shows it" contains \
	"$(kubectl -n $OPERATOR describe lease celld-operator-controller)" "the last good one stays in use"
check "the last good policy stays" asked 8 refused
settings policy.yaml '{}'

# --- between apps
BUCKET=s3://$ns/shared app first v0.6.2 | kubectl apply -f - > /dev/null || bad "first"
seen() { contains "$(BUCKET=s3://$ns/shared/inner app inner v0.6.2 | kubectl apply --dry-run=server -f - 2>&1)" "inside the bucket prefix of WorkerApp $ns/first"; }
check "a prefix inside another app's is refused" until_ 20 asked 8 seen
out=$(BUCKET=s3://$ns/ app around v0.6.2 | kubectl apply --dry-run=server -f - 2>&1)
check "so is one around it" contains "$out" "around the bucket prefix of WorkerApp $ns/"
check "a neighbour is not" kubectl apply --dry-run=server -f - <<< "$(BUCKET=s3://$ns/shared2 app neighbour v0.6.2)"
# --- without the cluster's apps in view
settings defaults.yaml '{}' # broken ones would be fatal at the start
good() { [ "$(kubectl -n $OPERATOR logs -l app.kubernetes.io/component=webhook --tail=-1 | grep -c 'new settings in use.*defaults')" -ge 6 ]; }
check "mended defaults come into use" until_ 150 good
kubectl delete clusterrolebinding celld-operator-webhook > /dev/null
kubectl -n $OPERATOR rollout restart deployment/celld-operator-webhook > /dev/null
kubectl -n $OPERATOR rollout status deployment/celld-operator-webhook --timeout=90s > /dev/null
gone() { [ "$(kubectl -n $OPERATOR get pods -l app.kubernetes.io/component=webhook -o name | wc -l)" = 2 ]; }
until_ 60 gone
out=$(BUCKET=s3://$ns/shared app blind v0.6.2 | kubectl apply --dry-run=server -f - 2>&1)
check "a webhook that sees no other app allows" contains "$out" created
check "and says so" contains "$out" "the other WorkerApps are not known at the moment"
# Both pass admission now; the controller decides: age, then uid, but never two fleets.
for i in 1 2 3 4 5; do
	for x in a b; do BUCKET=s3://race-$i/x REPLICAS=1 app "race-$i-$x" v0.6.2 | kubectl apply -f - > /dev/null 2>&1 & done
done
wait
fleets() { kubectl get statefulsets -o name | grep -c "/race-$1-"; }
lost() { # RACE: those that exist and were told
	kubectl get $APPS -o json | jq -r --arg p "race-$1-" '.items[] | select(.metadata.name | startswith($p)) |
		.status.conditions[]? | select(.type == "BucketExclusive") | .status' | sort | uniq -c | tr -s ' \n' ' '
}
decided() { [ "$(fleets "$1")" = 1 ] && [ "$(lost "$1")" = " 1 False 1 True " ]; }
for i in 1 2 3 4 5; do
	check "race $i: one keeps the prefix, the other is told" until_ 30 decided $i
	winner=$(kubectl get statefulsets -o name | sed -n "s,.*/\(race-$i-.\)-celld,\1,p")
	kubectl delete $APPS "$winner" > /dev/null
	moved() { kubectl get statefulsets -o name | grep "/race-$i-" | grep -qv "$winner-celld"; }
	check "race $i: the other starts when the first has gone" until_ 60 moved
done

kubectl create clusterrolebinding celld-operator-webhook --clusterrole=celld-operator-webhook \
	--serviceaccount=$OPERATOR:celld-operator-webhook > /dev/null
check "the view comes back" until_ 90 asked 4 seen
kubectl delete namespace $ns --wait=false > /dev/null
