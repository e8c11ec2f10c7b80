# The manual full stop of docs/compatibility.md, with the commands that stand there: a change that needs Recreate, in steps of
# one's own.
namespace full-stop
app shop v0.4.1 | kubectl apply -f - > /dev/null
check "the fleet is Ready" ready $ns shop 60
record all
documented() { # N: the Nth block of commands in that section
	awk -v n="$1" '/^## / {in_section = $0 == "## A full stop by hand"} /^```/ && in_section {fence++; next}
		in_section && fence == 2 * n - 1' "$root/docs/compatibility.md"
}
check "there are two blocks of commands" eval '[ -n "$(documented 1)" ] && [ -n "$(documented 2)" ] && [ -z "$(documented 3)" ]'
check "pause and stop" bash -e -c "$(documented 1)"
check "no version runs" eval '[ -z "$(get $ns shop "{.status.celldVersions[*]}")" ]'
check "the strategy is still Rolling" [ "$(get $ns shop '{.spec.celld.updateStrategy}')" = Rolling ]
check "the image is let through" bash -e -c "$(documented 2)"
check "v0.5.1 is Ready" ready $ns shop 90
check "at the old size" [ "$(get $ns shop '{.status.fleet.ready}')" = 3 ]
check "and is all that runs" [ "$(get $ns shop '{.status.celldVersions}')" = '["v0.5.1"]' ]
invariants no-mix rest
kubectl delete namespace $ns --wait=false > /dev/null
