# helm upgrade with values changed one at a time (each STEP-th, 10; SOAK=1: every one, and 10,000 calls), while clients call: no call fails, no pod of a
# fleet restarts, and after the last change back nothing is left of any.
. "$root/test/e2e/calls.sh"
namespace changed
chart=/tmp/bed-$BED_NAME/chart
helm_() { "$chart/helm" -n $OPERATOR "$@"; }
BUCKET=s3://cells/$ns app web v0.6.2 | kubectl apply -f - > /dev/null
check "the fleet is Ready" ready $ns web 60
"$root/test/neighbours/crds" "$root/build/crds" prometheus > /dev/null
kubectl apply --server-side -f "$root/build/crds/prometheus.yaml" > /dev/null
record changed
helm_ get values celld-operator -o json > "$chart/base.json"
outcome() { helm_ get manifest celld-operator | sed 's/^# Source.*//' | sort; }
before=$(outcome)
upgrade() { helm_ upgrade celld-operator "$chart/celld-operator.tgz" --reset-values --values "$chart/base.json" --wait --timeout 90s "$@"; }
want=1000 step=${STEP:-10}
[ -z "${SOAK-}" ] || { want=10000 step=${STEP:-1}; }
calls_begin calls
start=$SECONDS n=0 changed=0
while read -r value; do
	n=$((n + 1))
	[ $((n % step)) = 0 ] || continue
	changed=$((changed + 1))
	upgrade --set-json "$value" > "$chart/upgrade.log" 2>&1 || { bad "upgrade with $value"; tail -n 3 "$chart/upgrade.log"; }
	app still v0.6.2 | kubectl apply --dry-run=server -f - > "$chart/apply.log" 2>&1 || { bad "with $value nothing can be stored"; tail -n 3 "$chart/apply.log"; }
done < <(grep -v '^#\| never: ' "$root/test/chart/changes.txt")
check "and back" upgrade
until_ 300 eval '[ "$(calls_made)" -ge $want ]'
calls_end
say "        $changed values were changed in $((SECONDS - start)) s; $CALLS calls:$CODES"
check "no call failed" [ "$CALLS_BAD" = 0 ]
check "there were $want" [ "$CALLS" -ge $want ]
check "the release is as it was" [ "$(outcome)" = "$before" ]
check "the fleet is Ready" ready $ns web 30
invariants untouched=0,1,2
