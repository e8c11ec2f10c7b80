#!/bin/bash
# test.sh [--update]: the chart without a cluster: lint, what it renders for each file of values in cases/ (compared with
# NAME.golden beside it; --update writes them), values that the schema refuses (wrong.txt), the programs started with what is rendered for them.
# Environment: PROFILE (debug): whose programs.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
chart=$root/charts/celld-operator
bin=$root/build/${PROFILE:-debug}/bin
helm=$("$root/test/neighbours/build" helm) || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$root/test/lib/checks.sh"
render() { "$helm" template celld-operator "$chart" --namespace celld-operator-system "$@" 2> "$work/err"; }

check "lint" "$helm" lint --strict "$chart"
check "README.md and values.schema.json are of values.yaml" "$root/charts/generate" --check
check "admission-policies.yaml is of crd/" "$root/charts/policies" --check

for values in "$here"/cases/*.yaml; do
	name=$(basename "$values" .yaml) golden=${values%.yaml}.golden
	if ! render --values "$values" > "$work/$name"; then
		bad "$name: $(tail -n 1 "$work/err")"
		continue
	fi
	# the definitions are crd/'s; here only that they are there counts
	awk '/^---$/ {hold = $0; next} hold {if (/^# Source: .*crds.yaml/) {skip = 1} else {skip = 0; print hold}; hold = ""}
		!skip' "$work/$name" > "$work/$name.short"
	printf '# definitions: %s\n' "$(grep -c '^kind: CustomResourceDefinition' "$work/$name")" >> "$work/$name.short"
	[ "${1-}" != --update ] || cp "$work/$name.short" "$golden"
	check "$name renders as in $name.golden" diff -u "$golden" "$work/$name.short"
done

while IFS='|' read -r set words; do
	if render --set "${set% }" > /dev/null; then
		bad "$set is not refused"
	elif grep -qF -- "${words# }" "$work/err"; then
		ok "$set is refused"
	else
		bad "$set: the message does not say '${words# }': $(tail -n 2 "$work/err")"
	fi
done < "$here/wrong.txt"

render --set-file "compatTable=$root/common/celld/celld.yaml" > "$work/table.short"
check "the programs take the flags and files that they are given" python3 "$here/start.py" "$bin" "$work"/*.short
sed 's/--settle=/--settel=/; s/allowedImagePrefixes:/allowedImages:/' "$work/flags.short" > "$work/broken"
check "and would not take others" refuted python3 "$here/start.py" "$bin" "$work/broken"

check "linters' rules are followed" python3 "$here/rules.py" "$work"/*.short
for wrong in 's/readOnlyRootFilesystem: true/readOnlyRootFilesystem: false/' 's/verbs: \[get\]$/verbs: ["*"]/' 's/"kube-system",//' \
	's/kind: ServiceAccount$/kind: Other/' 's/{drop: \[ALL\]}/{}/' 's/maxUnavailable: 0/maxUnavailable: 1/'; do
	sed "$wrong" "$work/default.short" > "$work/broken"
	check "linters' rules find $wrong" refuted python3 "$here/rules.py" "$work/broken"
done

# the test that changes every value knows every value
paths() { jq -r 'def leaves(p): to_entries[] | (p + [.key]) as $q | if .value.properties and ($q != ["policy"] and $q != ["defaults"]) then
	(.value.properties | leaves($q)) else ($q | join(".")) end; .properties | leaves([])' "$chart/values.schema.json" | grep -v '^global$' | sort; }
changes() { sed '/^#/d; s/[ =].*//' "$here/changes.txt" | sort; }
check "changes.txt has every value" diff <(paths) <(changes)

notes() { # VALUES...
	"$helm" install celld-operator "$chart" --namespace celld-operator-system --dry-run=client "$@" 2> /dev/null | sed -n '/^NOTES:/,$p'
}
notes | sed -n '/<<END/,/END$/{//!s/^  //p}' | sed 's/BUCKET/cells/; s/PREFIX/chat/; s/VERSION/v1/' > "$work/chat.yaml"
check "the notes show a WorkerApp that is right" "$bin/kubectl-celld" validate --filename "$work/chat.yaml"
check "the notes name the namespaces" grep -q 'for team-a' <(notes --values "$here/cases/namespaced.yaml")

check "flags were compared" grep -q -- --self-managed-certs "$work/default.short"

echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 20 ]
