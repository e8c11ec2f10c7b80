# A real Prometheus scrapes the controller over TLS with a token; what it has stored is looked at.
. "$root/test/e2e/local.sh"
prometheus=$("$root/test/metrics/promtool.sh" prometheus)
work=$root/build/e2e/metrics
rm -rf "$work"
mkdir -p "$work/certs"
namespace metrics
pointer s3://$ns/web v1
app web v0.6.2 | kubectl apply -f - > /dev/null
REPLICAS=1 BUCKET=s3://cells app old v0.1.0 | kubectl apply -f - > /dev/null
check "the fleets are Ready" ready $ns web 60
ready $ns old 60 || bad "the old fleet is Ready"
check "no controller of the bed runs" away
identity metrics-a
openssl ecparam -name prime256v1 -genkey -noout -out "$work/certs/tls.key"
openssl req -x509 -new -key "$work/certs/tls.key" -days 2 -subj /CN=metrics -addext subjectAltName=IP:127.0.0.1 -out "$work/certs/tls.crt"
: > "$root/build/e2e/metrics-a.log"
controller metrics-a 18131 --metrics-bind-address=127.0.0.1:18132 --metrics-secure --metrics-cert-dir="$work/certs"
kubectl -n $OPERATOR create serviceaccount reader > /dev/null
kubectl create clusterrole reader --verb=get --non-resource-url=/metrics > /dev/null
kubectl create clusterrolebinding reader --clusterrole=reader --serviceaccount=$OPERATOR:reader > /dev/null
kubectl -n $OPERATOR create serviceaccount stranger > /dev/null
kubectl -n $OPERATOR create token reader --duration=1h > "$work/token"
token=$(kubectl -n $OPERATOR create token stranger --duration=1h)
code() { curl -s -o /dev/null -w '%{http_code}' --cacert "$work/certs/tls.crt" "$@" https://127.0.0.1:18132/metrics; }
check "without a token: 401" until_ 10 eval '[ "$(code)" = 401 ]'
check "with one that nobody issued: 401" [ "$(code -H 'Authorization: Bearer made.up.token')" = 401 ]
check "with one that may not: 403" [ "$(code -H "Authorization: Bearer $token")" = 403 ]
check "with one that may: 200" [ "$(code -H "Authorization: Bearer $(< "$work/token")")" = 200 ]

cat > "$work/prometheus.yml" <<X
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [$root/charts/celld-operator/files/celld-operator.rules.yaml]
scrape_configs:
- job_name: celld-controller
  scheme: https
  tls_config: {ca_file: $work/certs/tls.crt}
  authorization: {credentials_file: $work/token}
  honor_labels: true
  static_configs: [{targets: ['127.0.0.1:18132']}]
X
"$prometheus" --config.file="$work/prometheus.yml" --storage.tsdb.path="$work/tsdb" --web.listen-address=127.0.0.1:18133 \
	> "$work/prometheus.log" 2>&1 &
prometheus_pid=$!
query() { curl -s --data-urlencode "query=$1" http://127.0.0.1:18133/api/v1/query | jq -r '.data.result | length'; }
value() { curl -s --data-urlencode "query=$1" http://127.0.0.1:18133/api/v1/query | jq -r '.data.result[0].value[1]'; }
check "it is scraped" until_ 30 eval '[ "$(value "up{job=\"celld-controller\"}")" = 1 ]'
check "every pod of the new fleet is up" until_ 20 eval '[ "$(value "sum(celld_state_up{namespace=\"metrics\",workerapp=\"web\"})")" = 3 ]'
for series in celld_resident_cells celld_resident_cell_utilization celld_restoring celld_evicting celld_shedding celld_rss_bytes \
	celld_in_use_bytes celld_cgroup_working_set_bytes celld_cgroup_current_bytes celld_container_restarts celld_self_fenced \
	celld_state_up; do
	check "$series of each pod" [ "$(query "$series{namespace=\"metrics\",workerapp=\"web\",pod=~\"web-celld-[012]\"}")" = 3 ]
done
for series in reconcile_total reconcile_duration_seconds_count sweep_duration_seconds_count sweep_pods queue_depth queue_delayed \
	queue_oldest_seconds worker_turn_seconds leader api_requests_total watch_restarts_total watch_lists_total watch_failures_total \
	watch_connected watch_age_seconds apiserver_away_seconds events_total certificate_start_timestamp_seconds certificate_expiry_timestamp_seconds; do
	check "celld_controller_$series" [ "$(query "celld_controller_$series")" -gt 0 ]
done
# labels METRIC-REGEX: those of the app's series, but what Prometheus adds
labels() {
	curl -sG --data-urlencode "match[]={__name__=~\"$1\",workerapp=\"web\"}" http://127.0.0.1:18133/api/v1/series |
		jq -c '[.data[] | del(.__name__, .job, .instance) | keys] | unique'
}
check "a pod's series have its labels and no others" [ "$(labels 'celld_(resident|restoring|evicting|shedding|rss|in_use|cgroup|container|self|state).*')" = \
	'[["namespace","pod","workerapp"]]' ]
check "a fleet's have none of a pod" [ "$(labels 'celld_fleet_(complete|sample).*')" = '[["namespace","workerapp"]]' ]
check "its phase has one more" [ "$(labels celld_fleet_phase)" = '[["namespace","phase","workerapp"]]' ]
check "celld 0.1 tells no restoring: absent, not 0" [ "$(query 'celld_restoring{workerapp="old"}')" = 0 ]
check "and its resident cells all the same" [ "$(query 'celld_resident_cells{workerapp="old"}')" = 1 ]
check "the census is complete" [ "$(value 'celld_fleet_complete{workerapp="web"}')" = 1 ]
check "the sample is young" [ "$(query 'time() - celld_fleet_sample_timestamp_seconds{workerapp="web"} < 20')" = 1 ]
check "the phase" [ "$(query 'celld_fleet_phase{workerapp="web",phase="Ready"}')" = 1 ]
check "at rest there is no partition" [ "$(query 'celld_fleet_rollout_partition{workerapp="web"}')" = 0 ]
patch web '{"env":[{"name":"RUST_LOG","value":"debug"}]}' > /dev/null
check "in a roll there is" until_ 20 eval '[ "$(query "celld_fleet_rollout_partition{workerapp=\"web\"}")" = 1 ]'
check "it comes to its end" ready $ns web 90

# A pod goes and cannot come back: two sweeps that have ended since (the first may have begun before) do not know it any more.
read_page() { curl -s --cacert "$work/certs/tls.crt" -H "Authorization: Bearer $(< "$work/token")" https://127.0.0.1:18132/metrics; }
sweeps() { read_page | sed -n 's/^celld_controller_sweep_duration_seconds_count //p'; }
swept_twice() { [ "$(sweeps)" -ge $((before + 2)) ]; }
"$root/test/cluster/bed" stop kube-controller-manager
kubectl delete pod web-celld-1 --grace-period=0 --force > /dev/null 2>&1
before=$(sweeps)
check "the pod is killed, sweeps go on" until_ 20 swept_twice
page=$(read_page)
check "the killed pod has no series" refuted contains "$page" 'pod="web-celld-1"'
check "the others have" contains "$page" 'celld_state_up{namespace="metrics",workerapp="web",pod="web-celld-0"} 1'
check "the census is not complete" contains "$page" 'celld_fleet_complete{namespace="metrics",workerapp="web"} 0'
check "Prometheus has forgotten it too" until_ 10 eval '[ "$(query "{pod=\"web-celld-1\"}")" = 0 ]'
"$root/test/cluster/bed" start kube-controller-manager
check "it is back" until_ 120 eval '[ "$(value "sum(celld_state_up{workerapp=\"web\"})")" = 3 ]'
kubectl delete workerapp old > /dev/null
check "the series of a deleted app are gone" until_ 10 eval '[ "$(query "{workerapp=\"old\"}")" = 0 ]'
kubectl scale statefulset web-celld --replicas=3 > /dev/null
patch web '{"replicas":2}' > /dev/null
check "scaled in: those of its pod too" until_ 60 eval '[ "$(query "{pod=\"web-celld-2\"}")" = 0 ]'
check "the rules are loaded and none fails" [ "$(curl -s http://127.0.0.1:18133/api/v1/rules | jq '[.data.groups[].rules[] | select(.health == "err")] | length')" = 0 ]
check "the page grows no bigger" [ "$(query 'count({job="celld-controller"}) < 400')" = 1 ]
kill $prometheus_pid $controller
wait $prometheus_pid $controller
check "the controllers of the bed are back" back
# a follower has its own series, none of the fleets
follower=$(kubectl -n $OPERATOR get pods -l app.kubernetes.io/component=controller -o json | jq -r --arg l "$(until_ 20 eval '[ "$(leader)" ]'; leader_pod)" \
	'[.items[] | select(.metadata.name != $l) | select(.status.podIP)][0].status.podIP')
page() { curl -s "http://$1:8443/metrics"; }
check "a follower says so" until_ 20 eval 'page "$follower" | grep -q "^celld_controller_leader 0"'
check "and has no series of fleets" refuted eval 'page "$follower" | grep -q "^celld_fleet\|^celld_state"'
kubectl delete namespace $ns --wait=false > /dev/null
