# --namespaces and --selector: what is not selected is not touched, not asked, not counted.
. "$root/test/e2e/local.sh"
check "no controller of the bed runs" away
identity scope
namespace scope-out
app out v0.6.2 | kubectl apply -f - > /dev/null
namespace scope
app mine v0.6.2 | kubectl apply -f - > /dev/null
kubectl label workerapp mine team=a > /dev/null
app theirs v0.6.2 | kubectl apply -f - > /dev/null
: > "$root/build/e2e/scope.log"
line=$(audit_lines)
controller scope 18121 --leader-elect=false --namespaces=scope --selector=team=a --metrics-bind-address=127.0.0.1:18122
check "the selected one comes up" ready scope mine 60
page=$(curl -s http://127.0.0.1:18122/metrics)
check "its series are there" contains "$page" 'celld_state_up{namespace="scope",workerapp="mine",pod="mine-celld-0"} 1'
check "no others" refuted grep -qE 'workerapp="(theirs|out)"' <<< "$page"
check "the others have nothing" [ -z "$(kubectl get statefulsets,services -A -o name | grep -E 'theirs|/out')" ]
named() { our_writes "$line" | awk -F'\t' '{print $5 "/" $6}' | grep -E "$1"; }
check "and were never written to" refuted named 'theirs|scope-out'
check "(the count sees the selected one)" named '^scope/mine'
# from selected to not selected: its fleet is left alone as it is
kubectl label workerapp mine team=b --overwrite > /dev/null
check "deselected: its series are gone" until_ 10 eval '! curl -s http://127.0.0.1:18122/metrics | grep -q "workerapp=\"mine\""'
kubectl delete service mine-celld > /dev/null
kubectl label workerapp theirs team=a > /dev/null
check "another one is selected and comes up" ready scope theirs 60
check "the deselected one's Service was left deleted" refuted kubectl get service mine-celld
kill $controller
wait $controller
check "the controllers of the bed are back" back
check "who take care of all" ready scope-out out 90
kubectl delete namespace scope scope-out --wait=false > /dev/null
