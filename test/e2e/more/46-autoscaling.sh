# KEDA's part of the contract, played by this script on the real schemas: the ScaledObject, the pause before a rollout, hands
# that are not ours. What KEDA does on a pause (condition Paused, its autoscaler deleted) was seen with the real one.
crds=$root/build/crds
condition() { get "$ns" "$1" "{.status.conditions[?(@.type==\"$2\")].$3}"; }
reason_is() { [ "$(condition "$1" AutoscalingReady reason)" = "$2" ]; }
gone() { ! kubectl -n "$ns" get "$1" "$2"; }
field() { kubectl -n "$ns" get "$1" "$2" -o "jsonpath=$3"; }
paused() { [ "$(field scaledobject "$1-celld" '{.metadata.annotations.autoscaling\.keda\.sh/paused}')" = "${2-true}" ]; }
unpaused() { paused "$1" ""; }
keda_scales() { # APP: as KEDA does for a ScaledObject that is not paused
	kubectl apply -f - > /dev/null <<-X
	apiVersion: autoscaling/v2
	kind: HorizontalPodAutoscaler
	metadata:
	  name: keda-hpa-$1-celld
	  ownerReferences:
	  - {apiVersion: keda.sh/v1alpha1, kind: ScaledObject, name: $1-celld, controller: true, blockOwnerDeletion: true,
	     uid: $(field scaledobject "$1-celld" '{.metadata.uid}')}
	spec:
	  scaleTargetRef: {apiVersion: apps/v1, kind: StatefulSet, name: $1-celld}
	  minReplicas: 2
	  maxReplicas: 9
	  metrics: [{type: External, external: {metric: {name: s0}, target: {type: Value, value: "1"}}}]
	X
	kubectl patch scaledobject "$1-celld" --subresource=status --type=merge -p '{"status":{"conditions":[{"type":"Ready","status":
		"True"},{"type":"Paused","status":"False"}]}}' > /dev/null
}
keda_confirms() { # APP: a pause
	kubectl patch scaledobject "$1-celld" --subresource=status --type=merge -p '{"status":{"conditions":[{"type":"Ready","status":
		"True"},{"type":"Paused","status":"True"}]}}' > /dev/null
	kubectl delete hpa "keda-hpa-$1-celld" > /dev/null
}
generation() { field statefulset "$1-celld" '{.metadata.generation}'; }
replicas() { field statefulset "$1-celld" '{.spec.replicas}'; }

namespace scaling
pointer s3://$ns/web v1
app web v0.6.2 '  autoscaling: {enabled: true, minReplicas: 2, maxReplicas: 9}' | kubectl apply -f - > /dev/null
check "no KEDA: the condition says so" until_ 60 reason_is web KEDAUnavailable
check "the fleet is Ready all the same" ready $ns web 60
kubectl apply --server-side --force-conflicts -f "$crds/keda.yaml" > /dev/null
check "KEDA appears: a ScaledObject" until_ 20 kubectl get scaledobject web-celld
check "not paused at rest" until_ 20 unpaused web
check "and said" until_ 10 reason_is web ScaledObjectReconciled
keda_scales web

# The autoscaler's size is the fleet's.
kubectl scale statefulset web-celld --replicas=5 > /dev/null
check "scaled by the autoscaler's hand" until_ 30 eval '[ "$(get $ns web "{.status.fleet.ready}")" = 5 ] && settled $ns web'
record all
patch web '{"podLabels":{"team":"shop"}}' > /dev/null

# A rollout waits for the pause.
check "the pause is asked for" until_ 20 paused web
check "the rollout waits and says so" until_ 20 waiting_on $ns web "autoscaler: pause not confirmed yet"
before=$(generation web)
was=$(leader)
"$root/test/cluster/bed" crash "$OPERATOR/$(leader_pod)" controller
check "its leader is killed, another one leads" until_ 30 eval '[ "$(leader)" != "$was" ] && [ "$(leader)" ]'
check "it waits too" until_ 20 waiting_on $ns web "autoscaler: pause not confirmed yet"
check "nothing was written to the workload" [ "$(generation web)" = "$before" ]
keda_confirms web
check "confirmed: it rolls" until_ 20 eval '[ "$(generation web)" -gt "$before" ]'
was=$(leader)
"$root/test/cluster/bed" crash "$OPERATOR/$(leader_pod)" controller
check "killed again while paused" until_ 30 eval '[ "$(leader)" != "$was" ] && [ "$(leader)" ]'
check "it ends Ready" ready $ns web 120
check "and the next controller lifts the pause" until_ 20 unpaused web
check "5 pods all the way" [ "$(recorded statefulsets .spec.replicas | sort -u)" = 5 ]
invariants one-down steps rest

# A user's own pause stays.
kubectl annotate scaledobject web-celld autoscaling.keda.sh/paused=true > /dev/null
check "a user's pause is told of" until_ 10 contains "$(condition web AutoscalingReady message)" "its own annotation"
pointer s3://$ns/web v2
patch web '{"appVersion":"v2"}' > /dev/null
check "paused already, it rolls" until_ 60 eval '[ "$(get $ns web "{.status.rolledOutAppVersion}")" = v2 ]'
check "Ready" ready $ns web 60
check "it is still paused" paused web
kubectl annotate scaledobject web-celld autoscaling.keda.sh/paused- > /dev/null
check "until its user lifts it" until_ 10 unpaused web

# Nor is his fixed size ours to take away, before a rollout or after it.
kubectl annotate scaledobject web-celld autoscaling.keda.sh/paused-replicas=5 > /dev/null
keda_scales web
pointer s3://$ns/web v3
patch web '{"appVersion":"v3"}' > /dev/null
check "with a fixed size the rollout asks for its own pause" until_ 20 paused web
keda_confirms web
check "it rolls" until_ 60 eval '[ "$(get $ns web "{.status.rolledOutAppVersion}")" = v3 ] && settled $ns web'
check "our pause is lifted" until_ 20 unpaused web
check "the fixed size is as it was" [ "$(field scaledobject web-celld '{.metadata.annotations.autoscaling\.keda\.sh/paused-replicas}')" = 5 ]
kubectl annotate scaledobject web-celld autoscaling.keda.sh/paused-replicas- > /dev/null

# Somebody else's autoscaler.
kubectl apply -f - > /dev/null <<-X
	apiVersion: autoscaling/v2
	kind: HorizontalPodAutoscaler
	metadata: {name: by-hand}
	spec:
	  scaleTargetRef: {apiVersion: apps/v1, kind: StatefulSet, name: web-celld}
	  maxReplicas: 9
X
check "a foreign one is named" until_ 10 contains "$(until_ 10 reason_is web ForeignAutoscaler; condition web AutoscalingReady message)" by-hand
before=$(generation web)
patch web '{"podLabels":{"team":"other"}}' > /dev/null
check "no rollout starts" until_ 20 waiting_on $ns web autoscaler
check "nothing was written" [ "$(generation web)" = "$before" ]
kubectl delete hpa by-hand > /dev/null
check "gone, it rolls" until_ 20 eval '[ "$(generation web)" -gt "$before" ]'
check "Ready" ready $ns web 90
check "no longer foreign" until_ 10 reason_is web ScaledObjectReconciled

# Recreate: nothing is stopped before the pause, which KEDA would undo at once.
pointer s3://$ns/old v1
REPLICAS=2 STRATEGY=Recreate app old v0.3.0 '  autoscaling: {enabled: true, minReplicas: 2, maxReplicas: 9}' | kubectl apply -f - > /dev/null
check "an old fleet is Ready" ready $ns old 60
check "and scaled" until_ 10 unpaused old
keda_scales old
record recreate
before=$(generation old)
patch old '{"celld":{"image":"ghcr.io/denoland/celld:v0.4.0"}}' > /dev/null
check "Recreate waits for the pause" until_ 20 waiting_on $ns old "autoscaler: pause not confirmed yet"
check "nothing was stopped" [ "$(generation old)" = "$before" ]
keda_confirms old
check "confirmed, it is recreated" until_ 90 eval 'get $ns old "{.status.celldVersions}" | grep -q v0.4.0'
check "Ready at its size" eval 'ready $ns old 60 && [ "$(replicas old)" = 2 ]'
check "the pause is lifted" until_ 20 unpaused old

# A foreign ScaledObject of our name.
kubectl apply -f - > /dev/null <<-X
	apiVersion: keda.sh/v1alpha1
	kind: ScaledObject
	metadata: {name: foreign-celld}
	spec: {scaleTargetRef: {name: mine}, triggers: [{type: cpu, metadata: {value: "60"}}]}
X
pointer s3://$ns/foreign v1
app foreign v0.6.2 '  autoscaling: {enabled: true, minReplicas: 2, maxReplicas: 9}' | kubectl apply -f - > /dev/null
check "a foreign ScaledObject of our name is told of" until_ 30 reason_is foreign ScaledObjectError
check "by its name" contains "$(condition foreign AutoscalingReady message)" "foreign-celld exists and is not of this WorkerApp"
check "and left alone" [ "$(field scaledobject foreign-celld '{.spec.scaleTargetRef.name}')" = mine ]

# Off.
patch web '{"autoscaling":{"enabled":false}}' > /dev/null
check "off: no ScaledObject" until_ 20 gone scaledobject web-celld
check "the size is the spec's again" until_ 90 eval 'settled $ns web && [ "$(get $ns web "{.status.fleet.replicas}")" = 3 ]'
check "no condition" [ -z "$(condition web AutoscalingReady reason)" ]
quiet_for() { local line; line=$(audit_lines); sleep "$1"; [ -z "$(our_writes "$line")" ]; }
check "no write in 10 quiet seconds" until_ 60 quiet_for 10
kubectl delete namespace $ns --wait=false > /dev/null
kubectl delete -f "$crds/keda.yaml" --wait=false > /dev/null
