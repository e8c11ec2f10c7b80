# A new appVersion goes from pod to pod behind both gates.
namespace rollout
pointer s3://$ns/web v1
app web v0.6.2 | kubectl apply -f - > /dev/null
check "the fleet is Ready" ready $ns web 60
record all
pointer s3://$ns/web v2

# Gate 2: cells that restore, wherever they are, hold every step.
sim web-celld-0 restoring=3
patch web '{"appVersion":"v2"}' > /dev/null
check "it waits and says so" until_ 30 waiting_on $ns web "fleet: restoring=3"
check "no pod was released" [ "$(kubectl get statefulset web-celld -o 'jsonpath={.spec.updateStrategy.rollingUpdate.partition}')" = 3 ]
sim web-celld-0 restoring=off

# A pod that is Ready and does not answer holds it as well.
check "the first pod is released" until_ 30 eval \
	'[ "$(kubectl get statefulset web-celld -o "jsonpath={.spec.updateStrategy.rollingUpdate.partition}")" -lt 3 ]'
sim web-celld-0 silent=internal
check "a silent pod holds it and is named" until_ 40 waiting_on $ns web "state unreachable: pod web-celld-0"
sim web-celld-0 reset
check "it ends Ready" ready $ns web 90
check "every pod serves v2" until_ 20 eval '[ "$(get $ns web "{.status.rolledOutAppVersion}")" = v2 ]'
invariants one-down steps rest

# A broken image: stuck on one pod, the others are not touched, and a fixed template goes through.
record broken
patch web '{"celld":{"image":"ghcr.io/denoland/celld:v0.6.1"}}' > /dev/null
"$root/test/cluster/bed" images refuse ghcr.io/denoland/celld:v0.6.1
check "the stuck pod is named, with the cause" until_ 60 waiting_on $ns web "web-celld-2: not ready (image cannot be pulled"
check "the condition says MemberStuck" [ "$(get $ns web '{.status.conditions[?(@.type=="Progressing")].reason}')" = MemberStuck ]
invariants untouched=0,1
patch web '{"celld":{"image":"ghcr.io/denoland/celld:v0.6.2"},"appVersion":"v3"}' > /dev/null
pointer s3://$ns/web v3
check "fixed forward, it goes through" ready $ns web 120
invariants releases steps rest
"$root/test/cluster/bed" images allow ghcr.io/denoland/celld:v0.6.1

# Somebody else's hands: an edit of ours is put back, a restart goes through the gate.
record hands
kubectl label service web-celld app.kubernetes.io/managed-by=me --overwrite > /dev/null
check "a changed label of ours comes back" until_ 20 eval \
	'[ "$(kubectl get service web-celld -o "jsonpath={.metadata.labels.app\.kubernetes\.io/managed-by}")" = celld-operator ]'
kubectl rollout restart statefulset/web-celld > /dev/null
check "kubectl rollout restart is seen" until_ 20 phase_is $ns web RollingOut
check "and goes through the gate" ready $ns web 90
invariants one-down steps rest
check "it was restarted" contains "$(kubectl get pod web-celld-0 -o yaml)" kubectl.kubernetes.io/restartedAt

# Scaling: out at once, in one by one.
record scale
kubectl scale workerapp web --replicas=5 > /dev/null
check "out to 5" until_ 60 eval 'ready $ns web 1 && [ "$(get $ns web "{.status.fleet.ready}")" = 5 ]'
kubectl scale workerapp web --replicas=3 > /dev/null
check "in to 3" until_ 60 eval 'ready $ns web 1 && [ "$(get $ns web "{.status.fleet.replicas}")" = 3 ]'
check "one after the other" contains "$(recorded statefulsets .spec.replicas | uniq | tr '\n' ' ')" "5 4 3 "

# Pause: nothing is written to the workload.
patch web '{"maintenance":{"paused":true},"appVersion":"v4"}' > /dev/null
check "paused" until_ 20 phase_is $ns web Paused
check "says so" [ "$(get $ns web '{.status.conditions[?(@.type=="MaintenancePaused")].status}')" = True ]
before=$(kubectl get statefulset web-celld -o 'jsonpath={.metadata.generation}')
kubectl delete pod web-celld-1 > /dev/null
check "Kubernetes goes on" until_ 30 eval 'kubectl get pod web-celld-1 -o jsonpath={.status.phase} | grep -q Running'
check "we write nothing" [ "$(kubectl get statefulset web-celld -o 'jsonpath={.metadata.generation}')" = "$before" ]
pointer s3://$ns/web v4
patch web '{"maintenance":{"paused":false}}' > /dev/null
check "resumed, it rolls" ready $ns web 90
kubectl delete namespace $ns --wait=false > /dev/null
