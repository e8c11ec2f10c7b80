# helm upgrade, three times, and a rollback, while somebody applies: the authority stays, no call fails, no fleet pod restarts.
namespace upgraded
app web v0.6.2 | kubectl apply -f - > /dev/null
check "the fleet is Ready" ready $ns web 60
record upgraded
helm_() { "/tmp/bed-$BED_NAME/chart/helm" -n $OPERATOR "$@"; }
upgrade() { helm_ upgrade celld-operator "/tmp/bed-$BED_NAME/chart/celld-operator.tgz" --reuse-values --wait --timeout 90s "$@"; }
secret() { kubectl -n $OPERATOR get secret celld-operator-webhook-cert -o "jsonpath={.data.ca\.crt}"; }
bundles() { kubectl get mutatingwebhookconfiguration,validatingwebhookconfiguration celld-operator -o json |
	jq -r '.items[].webhooks[].clientConfig.caBundle' | sort -u; }
before=$(secret) named=$(bundles)
check "one bundle for all webhooks" [ "$(wc -l <<< "$named")" = 1 ]
# a writer: applies until it is told to stop, and counts what fails
calls=$root/build/e2e/upgraded.calls
: > "$calls"
( n=0; while [ -e "$calls" ]; do
	n=$((n + 1))
	app "dry$((n % 7))" v0.6.2 | kubectl apply --dry-run=server -f - >> "$calls.out" 2>&1 && echo ok || echo failed
done >> "$calls" ) &
writer=$!
check "first upgrade" upgrade --set operator.logLevel=debug
check "second upgrade" upgrade --set webhook.podLabels.touched=yes
check "third upgrade" upgrade --set controllerManager.podAnnotations.touched=yes
check "the authority is the same" [ "$(secret)" = "$before" ]
check "and so are the bundles" [ "$(bundles)" = "$named" ]
check "rollback" helm_ rollback celld-operator 1 --wait --timeout 90s
check "the authority is still the same" [ "$(secret)" = "$before" ]
until_ 20 eval '[ "$(wc -l < "$calls")" -ge 20 ]'
cp "$calls" "$calls.done"
rm "$calls"
wait $writer 2> /dev/null
say "        $(grep -c ok "$calls.done") applies went on meanwhile"
check "none of them failed" refuted grep -q failed "$calls.done"
check "the fleet is Ready" ready $ns web 30
invariants untouched=0,1,2
