# A cluster of IPv6 alone (BED_IPV6=only), or of both families (BED_IPV6=1): the fleet comes up, is asked, rolls, and is reached.
namespace families
six=$([ "${BED_IPV6-}" = only ] && echo 1)
want=${six:+IPv6} want=${want:-IPv4 IPv6}
families() { # OBJECT JSONPATH: of which family each of these addresses is
	kubectl "${@:3}" get "$1" -o "jsonpath=$2" | tr ' ' '\n' | grep . | sed '/:/s/.*/IPv6/; /\./s/.*/IPv4/' | paste -sd' '
}

# What admission says comes over the Service of the webhook, which has no other family than the cluster's.
check "the webhook's Service is of the cluster's first family" [ "$(families service/celld-operator-webhook '{.spec.clusterIP}' -n $OPERATOR)" = "${want%% *}" ]
pointer s3://$ns/web v1
app web v0.6.2 | kubectl apply -f - > /dev/null
check "the fleet is Ready" ready $ns web 90
check "a second app on its bucket is refused: by the webhook, nobody else knows" contains \
	"$(BUCKET=s3://$ns/web app second v0.6.2 | kubectl apply -f - 2>&1)" "the same as the bucket prefix of WorkerApp $ns/web"
check "its pods have $want" [ "$(families pod/web-celld-0 '{.status.podIPs[*].ip}')" = "$want" ]
check "so has its Service" [ "$(families service/web-celld '{.spec.clusterIPs[*]}')" = "$want" ]
check "and the headless one its families" [ "$(kubectl get service web-celld-internal -o 'jsonpath={.spec.ipFamilies[*]}')" = "$want" ]
env_of() { kubectl get statefulset web-celld -o "jsonpath={.spec.template.spec.containers[?(@.name==\"celld\")].env[?(@.name==\"$1\")].value}"; }
check "celld listens on every address" [ "$(env_of CELLD_ADDR) $(env_of CELLD_INTERNAL_ADDR)" = "[::]:8080 [::]:8081" ]
check "every pod was asked for its state" until_ 20 eval \
	'[ "$(get $ns web "{.status.conditions[?(@.type==\"FleetStateReady\")].status}")" = True ]'
bracketed() { [[ $1 = *:* ]] && echo "[$1]" || echo "$1"; }
for ip in $(kubectl get service web-celld -o 'jsonpath={.spec.clusterIPs[*]}') $(kubectl get pods -l celld-operator.io/workerapp=web -o 'jsonpath={.items[*].status.podIPs[*].ip}'); do
	check "$ip answers" until_ 30 curl -sSf --max-time 5 -o /dev/null "http://$(bracketed "$ip"):8080/"
done
for ip in $(kubectl -n $OPERATOR get pod "$(leader_pod)" -o 'jsonpath={.status.podIPs[*].ip}'); do
	page=$(curl -s --max-time 5 "http://$(bracketed "$ip"):8443/metrics")
	check "the leader's metrics at $ip: three pods are up" [ "$(grep -c '^celld_state_up{namespace="families".*} 1$' <<< "$page")" = 3 ]
done

# A roll, held by what the sweep reads.
record roll
pointer s3://$ns/web v2
sim web-celld-1 restoring=4
patch web '{"appVersion":"v2"}' > /dev/null
check "cells that restore hold it" until_ 30 waiting_on $ns web "fleet: restoring=4"
sim web-celld-1 restoring=off
check "it ends Ready" ready $ns web 120
check "every pod serves v2" until_ 20 eval '[ "$(get $ns web "{.status.rolledOutAppVersion}")" = v2 ]'
invariants one-down steps rest
kubectl delete namespace $ns --wait=false > /dev/null
