# An image change over each boundary that does not roll is refused by kubectl apply; nothing of it is stored.
namespace refusals
refuse() { # FROM TO STRATEGY TEXT...: TEXT must all be in the refusal
	local from=$1 to=$2 strategy=$3 name out before after
	shift 3
	name=from-${from//./-}
	before=$(kubectl get workerapp "$name" -o 'jsonpath={.metadata.resourceVersion} {.spec.celld.image}')
	out=$(STRATEGY=$strategy REPLICAS=1 app "$name" "$to" | kubectl apply -f - 2>&1) && { bad "$from to $to ($strategy) was let through"; return; }
	for text in "$from" "$to" "$@"; do
		contains "$out" "$text" || { bad "$from to $to ($strategy): no '$text' in: $out"; return; }
	done
	after=$(kubectl get workerapp "$name" -o 'jsonpath={.metadata.resourceVersion} {.spec.celld.image}')
	[ "${after#* }" = "${before#* }" ] || { bad "$from to $to: something was stored"; return; }
	ok "$from to $to ($strategy) is refused: ${out#*spec.celld.image: }"
}
# A fleet of each version; the webhook judges by what the spec and the status say, so one pod each is enough.
BUCKET=s3://cells-of-0-1 REPLICAS=1 app from-v0-1-0 v0.1.0 | kubectl apply -f - > /dev/null || bad "create v0.1.0"
for v in v0.2.1 v0.3.0 v0.4.1 v0.5.1; do
	REPLICAS=1 app "from-${v//./-}" "$v" | kubectl apply -f - > /dev/null || bad "create $v"
done
BUCKET=s3://cells-of-0-1 refuse v0.1.0 v0.2.0 Rolling Recreate
refuse v0.2.1 v0.1.0 Rolling Recreate
refuse v0.3.0 v0.4.0 Rolling Recreate
refuse v0.4.1 v0.5.0 Rolling Recreate
refuse v0.4.1 v0.3.0 Rolling
refuse v0.3.0 v0.2.1 Rolling v0.2
refuse v0.3.0 v0.2.1 Recreate v0.2
refuse v0.5.1 v0.4.1 Recreate acknowledge
refuse v0.2.1 v0.4.1 Rolling v0.3
check "a rolling change is let through" kubectl patch workerapp from-v0-2-1 --type merge \
	-p '{"spec":{"celld":{"image":"ghcr.io/denoland/celld:v0.3.0"}}}'
out=$(app bad v0.6.2 '  durability: fleet' | kubectl apply -f - 2>&1)
check "fleet durability without storage is refused" contains "$out" storage
out=$(app "$(printf 'a%.0s' {1..47})" v0.6.2 | kubectl apply -f - 2>&1)
check "a name of 47 characters is refused" contains "$out" 46
out=$(kubectl patch workerapp from-v0-5-1 --type merge -p '{"spec":{"bucket":{"name":"s3://other/x"}}}' 2>&1)
check "the bucket cannot be changed" contains "$out" spec.bucket.name
out=$(kubectl apply --dry-run=server -f - 2>&1 <<< "$(app odd latest)")
check "an image without a version is refused" contains "$out" spec.celld
kubectl delete namespace $ns --wait=false > /dev/null
