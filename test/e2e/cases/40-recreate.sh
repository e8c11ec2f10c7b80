# A boundary that does not roll, with Recreate: everything of the old version is gone before anything of the new one exists.
namespace recreate
app web v0.3.0 | kubectl apply -f - > /dev/null
check "v0.3.0 is Ready" ready $ns web 60
record all
STRATEGY=Recreate app web v0.4.1 | kubectl apply -f - > /dev/null
check "phase Recreating" until_ 20 phase_is $ns web Recreating
check "it says what it waits for" until_ 30 waiting_on $ns web "waiting one lease lifetime"
check "v0.4.1 is Ready" ready $ns web 90
check "the status knows one version" [ "$(get $ns web '{.status.celldVersions}')" = '["v0.4.1"]' ]
check "the size is back" [ "$(get $ns web '{.status.fleet.ready}')" = 3 ]
invariants no-mix hold=10 rest
check "nothing is remembered any more" refuted contains "$(kubectl get statefulset web-celld -o yaml)" celld-operator.io/replicas
# The same version under another name rolls, also under Recreate.
record digest
patch web '{"celld":{"version":"v0.4.1","image":"ghcr.io/denoland/celld@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"}}' > /dev/null
check "a digest of the same version starts a roll" until_ 30 phase_is $ns web RollingOut
kubectl delete namespace $ns --wait=false > /dev/null
