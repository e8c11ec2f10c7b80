# Many fleets of one pod: they come up; a controller that starts when they are there lists each kind once and writes nothing.
# COUNT (200) of them; QUIET (20): for how many seconds it then has to be quiet. What is measured is printed; nothing is asserted on time or memory.
. "$root/test/e2e/local.sh"
namespace many
count=${COUNT:-200}
check "no controller of the bed runs" away
identity many
: > "$root/build/e2e/many.log"
port=18104
start() {
	began=$(date +%s%N)
	controller many $port --no-leader-elect --state-poll-interval=15s --metrics-bind-address=127.0.0.1:18105
	until_ 60 curl -sf "http://127.0.0.1:$port/readyz"
	say "        ready $((($(date +%s%N) - began) / 1000000)) ms after the start"
}
metric() { curl -s http://127.0.0.1:18105/metrics | grep -E "^celld_controller_$1"; }
idle() { [ "$(metric 'queue_depth' | awk '{n += $2} END {print n + 0}')" = 0 ]; }
memory() { awk '/^RssAnon/ {print $2 " kB"}' "/proc/$controller/status"; }
cpu() { awk '{print $14 + $15}' "/proc/$controller/stat"; } # in hundredths of a second
our() { # SINCE-LINE: writes of this controller
	tail -n "+$(($1 + 1))" "$AUDIT" | jq -r 'select(.user.username == "system:serviceaccount:celld-operator-system:many") |
		[.verb, .objectRef.resource, .objectRef.name] | @tsv'
}
nothing_for() {
	local line
	line=$(audit_lines)
	sleep "$1"
	[ -z "$(our "$line")" ]
}
all_ready() { [ "$(kubectl -n $ns get workerapps -o json | jq '[.items[] | select(.status.phase == "Ready")] | length')" = "$count" ]; }

start
line=$(audit_lines) begin=$SECONDS
for n in $(seq "$count"); do
	echo ---
	REPLICAS=1 app "app-$n" v0.6.2
done > "$root/build/e2e/many.yaml"
kubectl create -f "$root/build/e2e/many.yaml" > /dev/null
say "        $count apps made in $((SECONDS - begin)) s"
check "all $count are Ready" until_ $((120 + count)) all_ready
check "they come to rest" until_ 120 nothing_for 5
say "        $((SECONDS - begin)) s in all; $(our "$line" | wc -l) writes; controller: $(cpu) hundredths of a second of processor, $(memory)"
check "twenty writes for each app at most, its status and Events among them" [ "$(our "$line" | wc -l)" -le $((20 * count)) ]

kill "$controller"
wait "$controller" 2> /dev/null
line=$(audit_lines)
start
check "it has looked at all" until_ 60 idle
quiet=${QUIET:-20} used=$(cpu)
check "nothing is due, for $quiet s" nothing_for "$quiet" # a sweep of all pods falls in it
say "        $(($(cpu) - used)) hundredths of a second of processor in these $quiet s"
writes=$(our "$line")
check "started anew with $count apps it writes nothing" [ -z "$writes" ]
[ -z "$writes" ] || say "$(sort <<< "$writes" | uniq -c | sort -rn | head -20)"
lists=$(metric watch_lists_total)
check "each kind was listed" [ "$(wc -l <<< "$lists")" -ge 8 ]
check "and once" refuted grep -qv ' 1$' <<< "$lists"
say "        $(cpu) hundredths of a second of processor, $(memory)"
kill "$controller"
wait "$controller" 2> /dev/null
check "the controllers of the bed are back" back
kubectl delete namespace $ns --wait=false > /dev/null
