# A store that is not well, in every way: the condition says so, the version is held, nothing of the fleet is touched, few calls
# are made, and it recovers alone. The controller is our own, so that it may call a store at 127.0.0.1 and trusts its authority;
# the first pause is the default's, cut to 4 intervals of 2 s.
. "$root/test/e2e/local.sh"
namespace outages
work=$root/build/e2e/outages control=http://127.0.0.1:18112
rm -rf "$work"
mkdir -p "$work"

# certificates for 127.0.0.1: one that is fine and one that ended long ago
(
	cd "$work"
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout ca.key -out ca.crt -days 2 -subj "/CN=stores"
	printf 'subjectAltName=IP:127.0.0.1\n' > names
	printf '[ca]\ndefault_ca=d\n[d]\ndatabase=index\nnew_certs_dir=.\nrand_serial=yes\ndefault_md=sha256\npolicy=p\n[p]\ncommonName=supplied\n' > ca.conf
	: > index
	for name in fine expired; do
		dates="-days 2"
		[ $name = fine ] || dates="-startdate 20200101000000Z -enddate 20200102000000Z"
		openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout $name.key -out $name.csr -subj "/CN=$name"
		openssl ca -batch -notext -config ca.conf -cert ca.crt -keyfile ca.key $dates -extfile names -in $name.csr -out $name.crt
		cat $name.crt $name.key > $name.pem
	done
) > "$work/openssl.log" 2>&1 || bad "certificates"
python3 "$root/test/neighbours/sick_store.py" 18110 18112 18111 "$work" > "$work/store.log" 2>&1 &
store=$!
check "the store is there" until_ 20 curl -sf -o /dev/null "$control/fine?v1"

check "no controller of the bed runs" away
identity outages
controller outages 18104 --no-leader-elect --namespaces=$ns --deploy-poll-interval=2s --secret-poll-interval=2s \
	--store-ca-file="$work/ca.crt" --allowed-bucket-endpoints=http://127.0.0.1:18110,https://127.0.0.1:18111
trap 'kill $store $controller 2> /dev/null' EXIT
condition() { get $ns "$1" '{range .status.conditions[?(@.type=="DeployTrackingReady")]}{.status}/{.reason} {.message}{end}'; }
says() { contains "$(condition "$1")" "$2"; } # APP TEXT
both() { says http "$1" && says https "$1"; }
pods() { kubectl get pods -o 'jsonpath={range .items[*]}{.metadata.uid} {.status.containerStatuses[0].restartCount} {end}'; }
workloads() { kubectl get statefulsets -o 'jsonpath={.items[*].metadata.resourceVersion}'; }
kubectl create secret generic keys --from-literal=AWS_ACCESS_KEY_ID=A --from-literal=AWS_SECRET_ACCESS_KEY=S > /dev/null
for app in http https; do
	port=18110
	[ $app = http ] || port=18111
	pointer s3://cells/$app v1
	bucket="{name: \"s3://cells/$app\", endpoint: \"$app://127.0.0.1:$port\", allowHTTP: true, credentialsFrom: {secretRef: keys}}"
	APP_VERSION=auto REPLICAS=2 app $app v0.6.2 | sed "s|bucket: .*|bucket: $bucket|" | kubectl apply -f - > /dev/null || bad "apply $app"
done
for app in http https; do check "$app: the fleet is Ready" ready $ns $app 60; done
check "both follow" until_ 20 both "True/Tracking following v1"
before=$(pods) versions=$(workloads)

# calls DOOR PAUSE: one, and then no more than one for each pause (s)
calls() {
	local n seconds
	read -r n seconds < <(curl -s "$control/count" | awk -v d="$1" '$1 == d {print $2, $3}')
	say "        $mode: $n calls to the $1 door in $seconds s"
	check "$mode: few calls" awk -v n="$n" -v s="$seconds" -v p="$2" 'BEGIN {exit !(n <= 2 + s / p)}'
}
# outage MODE REASON-AND-TEXT PAUSE [APP...]
outage() {
	local app text=$2 pause=$3
	mode=$1
	shift 3
	curl -sf -o /dev/null "$control/$mode"
	for app in "${@:-http}"; do
		check "$mode: $app says so and holds" until_ 40 says "$app" "$text"
	done
	sleep 10 # it lasts
	for app in "${@:-http}"; do
		check "$mode: $app still does" says "$app" "$text"
		calls "$app" "$pause"
		check "$mode: it is Ready" phase_is $ns "$app" Ready
	done
	curl -sf -o /dev/null "$control/fine"
	check "$mode: it recovers alone" until_ 40 both "True/Tracking following v1"
}
away=False/BucketUnreachable
held="holding last known version v1:"
outage stopped "$away $held http://127.0.0.1:18110 cannot be reached" 8
outage hang "$away $held http://127.0.0.1:18110 does not answer in time" 8
outage storm "$away $held the store asks for a pause: status 503" 8 http https
outage garbage "False/InvalidPointer $held no valid JSON" 1.8
outage huge "False/InvalidPointer $held more than 65536 bytes" 1.8
outage redirect "$away $held the store redirects, which is not followed: status 307" 1.8 http https
outage region "$away $held the store redirects, which is not followed: status 301 PermanentRedirect, the bucket is in region eu-west-1" 1.8
outage expired "$away $held https://127.0.0.1:18111: SSL certificate problem: certificate has expired" 8 https
check "no pod was touched" [ "$(pods)" = "$before" ]
check "nor any StatefulSet" [ "$(workloads)" = "$versions" ]

# and the way on is open
for app in http https; do pointer s3://cells/$app v2; done
curl -sf -o /dev/null "$control/fine?v2"
check "then a new version is followed" until_ 20 both "True/Tracking following v2"
for app in http https; do check "$app: and rolled out" until_ 90 eval "[ \"\$(get $ns $app '{.status.rolledOutAppVersion}')\" = v2 ]"; done
kill $store "$controller"
wait "$controller" 2> /dev/null
check "the controllers of the bed are back" back
kubectl delete namespace $ns --wait=false > /dev/null
