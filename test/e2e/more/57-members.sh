# Members that cannot come back are named, with the reason in the words of whoever refuses them: quota, nodes, finalizers.
namespace members
pointer s3://$ns/web v1
kubectl create quota few --hard=pods=2 > /dev/null
app web v0.6.2 | kubectl apply -f - > /dev/null
progressing() { get $ns web "{.status.conditions[?(@.type==\"Progressing\")].$1}"; }
check "a pod that the quota refuses: FailedCreate" until_ 60 eval '[ "$(progressing reason)" = FailedCreate ]'
check "in the API server's words" until_ 20 eval 'contains "$(progressing message)" "exceeded quota: few"'
check "and an Event" until_ 10 eval 'contains "$(kubectl get events.events.k8s.io --field-selector reason=FailedCreate -o "jsonpath={.items[*].note}")" "exceeded quota"'
kubectl delete quota few > /dev/null
# its controller tries again with pauses of up to minutes; a look at it makes it try now
kubectl annotate statefulset web-celld try=again > /dev/null
check "without it the fleet comes up" ready $ns web 120

# A drain ends pods in the usual way: nobody calls that a lost node.
record drain
node=$(kubectl get pod web-celld-2 -o 'jsonpath={.spec.nodeName}')
kubectl drain "$node" --ignore-daemonsets --delete-emptydir-data --pod-selector=celld-operator.io/workerapp=web --timeout=60s > /dev/null 2>&1
check "drained, and Ready again" ready $ns web 90
check "it was never called a lost node" refuted eval 'recorded workerapps ".status.rollout.waitingOn // \"\"" | grep -q "node is lost"'
kubectl uncordon "$node" > /dev/null

# A pod that a finalizer holds does not end.
kubectl patch pod web-celld-1 --type merge -p '{"metadata":{"finalizers":["example.com/hold"]}}' > /dev/null
kubectl delete pod web-celld-1 --wait=false > /dev/null
check "a pod that ends is waited for" until_ 30 waiting_on $ns web 'web-celld-1: terminating'
check "one that does not is named, with what to do" until_ 150 waiting_on $ns web 'web-celld-1: not ready (does not end); '
check "MemberStuck" [ "$(progressing reason)" = MemberStuck ]
kubectl patch pod web-celld-1 --type merge -p '{"metadata":{"finalizers":null}}' > /dev/null
check "without it the fleet comes up" ready $ns web 90
kubectl delete namespace $ns --wait=false > /dev/null
