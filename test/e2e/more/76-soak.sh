# Changes without end: what the controller and the webhook's pods hold, in memory and in descriptors, stays what it was once they
# have seen all of it. SOAK_SECONDS (120; `make soak` 1800). The samples are in build/e2e/soak.samples (test/e2e/slope.py).
. "$root/test/e2e/local.sh"
namespace soak
samples=$root/build/e2e/soak.samples
: > "$samples"
check "no controller of the bed runs" away
identity soak
: > "$root/build/e2e/soak.log"
controller soak 18107 --no-leader-elect
check "ours is ready" until_ 60 curl -sf http://127.0.0.1:18107/readyz
for n in $(seq 8); do
	pointer s3://$ns/web-$n v1
	REPLICAS=$((n % 3 + 1)) app web-$n v0.6.2 | kubectl apply -f - > /dev/null
done
for n in $(seq 8); do check "web-$n is Ready" ready $ns web-$n 90; done

sample() { # NAME PID
	[ ! -e "/proc/$2/status" ] || printf '%d %s-%d %d %d\n' "$SECONDS" "$1" "$2" \
		"$(awk '/^RssAnon/ {print $2}' "/proc/$2/status")" "$(ls "/proc/$2/fd" | wc -l)"
}
while sleep 5; do
	sample controller "$controller"
	for p in $(pgrep -x celld-webhook); do sample webhook "$p"; done
done >> "$samples" &
sampler=$!
trap 'kill $sampler $controller 2> /dev/null' EXIT
change() { # N: the N-th of them
	local app=web-$(($1 % 8 + 1))
	case $(($1 % 6)) in
	0) patch $app "{\"maintenance\":{\"restartToken\":\"$1\"}}" ;;
	1) patch $app "{\"replicas\":$(($1 % 3 + 1))}" ;;
	2) kubectl annotate workerapp $app note=$1 --overwrite ;;
	3) app bad v0.6.2 '  vars: {secretRef: gone}' | kubectl apply -f - ;;
	4) REPLICAS=1 app late v0.6.2 | kubectl apply -f - ;;
	5) kubectl delete workerapp late --wait=false ;;
	esac > /dev/null 2>&1
}
end=$((SECONDS + ${SOAK_SECONDS:-120})) changes=0
while ((SECONDS < end)); do
	change $changes
	changes=$((changes + 1))
	sleep 0.5
done
kill $sampler
check "the controller is the same process" kill -0 $controller
out=$(python3 "$root/test/e2e/slope.py" "$samples" 2>&1)
rc=$?
say "$(sed 's/^/        /' <<< "$out")"
check "$changes changes, and neither memory nor descriptors grow" [ $rc = 0 ]
for n in $(seq 8); do check "web-$n is Ready again" ready $ns web-$n 120; done
kill $controller
wait $controller 2> /dev/null
check "the controllers of the bed are back" back
kubectl delete namespace $ns --wait=false > /dev/null
