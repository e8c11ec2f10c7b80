#!/bin/bash
# The CustomResourceDefinitions of crd/ against a real API server: run with kubectl and KUBECONFIG set, as in
# `test/cluster/bed run test/crd/test.sh`. Needs jq. Last line: `N passed, N failed`.
#
# A sample is a file of crd/samples/. One document is created; two are a change: the first is created, the second replaces it.
#   accepted/  is taken, and nothing in it is pruned
#   refused/   is refused. Each of the lines `# refused: TEXT` at its top must be in a line `PATH: FAULT` of the answer, and no
#              fault may be unannounced. (The value at fault is cut out of the answer: API servers differ in how they show it.)
# Besides, every constraint of the schemas must be the fault of some refused sample, and be met by an accepted one.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
crd=$(cd "$here/../../crd" && pwd)
tmp=$(mktemp -d)
ns=crd-test-$$
passed=0 failed=0

pass() { passed=$((passed + 1)); }
fail() { # WHAT [DETAIL]
	failed=$((failed + 1))
	echo "FAIL $1"
	[ -z "${2-}" ] || sed 's/^/     /' <<< "$2"
}
check() { # WHAT TEST...: passes when TEST succeeds
	local what=$1 out
	shift
	if out=$("$@" 2>&1); then pass; else fail "$what" "$out"; fi
}
equal() { [ "$1" = "$2" ] || { printf 'got  %s\nwant %s\n' "$1" "$2"; return 1; }; } # GOT WANT

clean_up() {
	kubectl delete namespace "$ns" --wait=false > /dev/null 2>&1
	[ ! -e "$tmp/own-namespace" ] || kubectl delete namespace tenant-acme --wait=false > /dev/null 2>&1
	[ ! -e "$tmp/ratchet.json" ] || kubectl delete -f "$tmp/ratchet.json" --wait=false > /dev/null 2>&1
	for name in workerapps celldobjectstores; do
		[ ! -e "$tmp/own-$name" ] || kubectl delete -f "$crd/$name.yaml" --wait=false > /dev/null 2>&1
	done
	rm -rf "$tmp"
}
trap clean_up EXIT
trap 'exit 1' INT TERM

documents() { # FILE...: their documents as JSON, one a line, in the test's namespace where they name none
	kubectl create --dry-run=client --validate=ignore -o json "${@/#/--filename=}" |
		jq -c --arg ns "$ns" 'if .kind == "List" then .items[] else . end
			| if .metadata.namespace == "default" or .metadata.namespace == null then .metadata.namespace = $ns else . end'
}

read_samples() { # FILE...: the documents of each into $tmp/samples/FOLDER/NAME, with one start of kubectl for all
	local file n line=1 to
	documents "$@" > "$tmp/all"
	for file; do
		n=$(($(grep -c '^---$' "$file") + 1)) to=$tmp/samples/$(basename "$(dirname "$file")")
		mkdir -p "$to"
		sed -n "$line,$((line + n - 1))p" "$tmp/all" > "$to/$(basename "$file" .yaml)"
		line=$((line + n))
	done
	check "$(basename "$to"): $((line - 1)) documents" equal "$(wc -l < "$tmp/all")" "$((line - 1))"
}

faults() { # the answer of kubectl on stdin: one line PATH: FAULT each
	sed -E -e '/^Warning: /d' -e '/is invalid: *$/d' -e 's/^(The|Error from server).* is invalid: //' -e 's/^\* //' \
		-e '/some validation rules were not checked/d' \
		-e 's/^([^ ]+): Invalid value: ("([^"\\]|\\.)*": |[-+.0-9a-z{}]+: )?/\1: /' -e '/^ *$/d'
}

# --- the definitions ------------------------------------------------------------------------------
for name in workerapps celldobjectstores; do
	kubectl get crd "$name.celld-operator.io" > /dev/null 2>&1 || touch "$tmp/own-$name"
	check "$name: is applied" kubectl apply --server-side --force-conflicts --validate=strict -f "$crd/$name.yaml"
	check "$name: is established" kubectl wait --for=condition=Established --timeout=30s "crd/$name.celld-operator.io"
	kubectl get crd "$name.celld-operator.io" -o json > "$tmp/$name.json"
	check "$name: is structural" equal \
		"$(jq '[.status.conditions[] | select(.type == "NonStructuralSchema" and .status == "True")] | length' "$tmp/$name.json")" 0
	check "$name: every field is described" equal "$(jq -r '
		def undescribed($path): (if (.description // "") == "" and $path != ".metadata" and ($path | endswith(".*") | not)
				then $path else empty end),
			((.properties // {}) | to_entries[] | .key as $key | .value | undescribed("\($path).\($key)")),
			(.items | objects | undescribed($path + "[]")), (.additionalProperties | objects | undescribed($path + ".*"));
		.spec.versions[].schema.openAPIV3Schema | undescribed("")' "$tmp/$name.json")" ""
	check "$name: every message says what to write" equal "$(jq -r '.. | objects | .["x-kubernetes-validations"]? // [] | .[]
		| .message | select(test("; .*write|^write ") | not)' "$tmp/$name.json")" ""
done

# The API server refuses more than 100 million for a definition and 10 million for a rule. With ten objects in the place of one
# it must still accept ours: they cost a tenth at most.
tenfold='.metadata = {name: ("tenfold" + .metadata.name)} | del(.status) | .spec.names = {plural: ("tenfold" + .spec.names.plural),
		singular: ("tenfold" + .spec.names.singular), kind: ("Tenfold" + .spec.names.kind)}
	| .spec.versions[0] |= (del(.subresources, .additionalPrinterColumns) | .schema.openAPIV3Schema |= (
		(.["x-kubernetes-validations"] // []) as $root
		| (if $root == [] then . else
			.["x-kubernetes-validations"] = [range($n) as $i | $root[] | .rule += " && \($i) == \($i)"] end)
		| .properties |= {spec: {type: "object", maxProperties: $n, additionalProperties: .spec}}))'
for name in workerapps celldobjectstores; do
	jq --argjson n 10 "$tenfold" "$tmp/$name.json" > "$tmp/tenfold.json"
	check "$name: rules cost a tenth of the budget at most" kubectl create --dry-run=server -f "$tmp/tenfold.json"
	jq --argjson n 1000 "$tenfold" "$tmp/$name.json" > "$tmp/tenfold.json"
	factor=$(kubectl create --dry-run=server -f "$tmp/tenfold.json" 2>&1 |
		grep -oE 'entire OpenAPIv3 schema exceeds budget by factor of [0-9.]+' | grep -oE '[0-9.]+$')
	echo "$name: rules cost $(jq -n --arg f "${factor:-0}" '($f | tonumber) / 10 | if . == 0 then "less than 0.1" else . end' -r) % of the budget"
done

# --- samples --------------------------------------------------------------------------------------
kubectl create namespace "$ns" > /dev/null
kubectl create namespace tenant-acme > /dev/null 2>&1 && touch "$tmp/own-namespace"

leaves='[paths(type != "object" and type != "array" or . == {} or . == []) as $p | {path: $p, value: getpath($p)}]'
try() { # JSON-LINES: what the API server makes of it, in $tmp/out or $tmp/err
	if [ "$(wc -l < "$1")" = 1 ]; then
		kubectl create --dry-run=server --validate=strict -o json -f "$1" > "$tmp/out" 2> "$tmp/err"
		return
	fi
	head -n 1 "$1" > "$tmp/old.json"
	tail -n 1 "$1" > "$tmp/new.json"
	if ! kubectl create --validate=strict -f "$tmp/old.json" > "$tmp/out" 2> "$tmp/err"; then
		sed -i 's/^/before the change: /' "$tmp/err"
		return 1
	fi
	local rc=0
	kubectl replace --dry-run=server --validate=strict -o json -f "$tmp/new.json" > "$tmp/out" 2> "$tmp/err" || rc=1
	kubectl delete --wait -f "$tmp/old.json" > /dev/null 2>&1
	return $rc
}

read_samples "$crd"/samples/accepted/*.yaml
for file in "$crd"/samples/accepted/*.yaml; do
	name=accepted/$(basename "$file" .yaml)
	cp "$tmp/samples/$name" "$tmp/in"
	tail -n 1 "$tmp/in" | jq -c . >> "$tmp/accepted"
	if ! try "$tmp/in"; then
		fail "$name: was refused" "$(cat "$tmp/err")"
		continue
	fi
	lost=$(jq -rn --slurpfile in "$tmp/in" --slurpfile out "$tmp/out" \
		"(\$in[-1] | del(.metadata)) as \$want | \$out[0] as \$got | (\$want | $leaves)[] | select(.path as \$p | .value != (\$got | getpath(\$p)))
		| .path | map(tostring) | join(\".\")")
	check "$name: keeps all its fields" equal "$lost" ""
done

read_samples "$crd"/samples/refused/*.yaml
for file in "$crd"/samples/refused/*.yaml; do
	name=refused/$(basename "$file" .yaml)
	cp "$tmp/samples/$name" "$tmp/in"
	if try "$tmp/in"; then
		fail "$name: was accepted"
		continue
	fi
	faults < "$tmp/err" > "$tmp/faults"
	sed -nE 's/^# refused: //p' "$file" > "$tmp/wanted"
	kind=$(tail -n 1 "$tmp/in" | jq -r .kind)
	sed -E 's/\[[^]]*\]/[]/g' "$tmp/faults" >> "$tmp/seen-$kind"
	missing=$(while IFS= read -r text; do grep -qF -- "$text" "$tmp/faults" || echo "$text"; done < "$tmp/wanted")
	surprise=$(grep -vFf "$tmp/wanted" "$tmp/faults")
	if [ ! -s "$tmp/wanted" ]; then
		fail "$name: does not say why" "$(cat "$tmp/faults")"
	elif [ -n "$missing$surprise" ]; then
		fail "$name: is refused otherwise" "$(printf 'missing: %s\nunannounced: %s' "$missing" "$surprise")"
	else
		pass
	fi
done

# --- every constraint has its samples -------------------------------------------------------------
for name in workerapps:WorkerApp celldobjectstores:CelldObjectStore; do
	kind=${name#*:} name=${name%:*}
	touch "$tmp/seen-$kind"
	jq -rf "$here/coverage.jq" "$tmp/$name.json" | sort -u > "$tmp/constraints"
	while IFS= read -r pattern; do
		if grep -qE -- "$pattern" "$tmp/seen-$kind"; then pass; else fail "$name: no refused sample for" "$pattern"; fi
	done < "$tmp/constraints"
	echo "$name: $(wc -l < "$tmp/constraints") constraints refused"
	jq -r --arg kind "$kind" 'select(.kind == $kind) | if .spec.podLabels then .spec.podLabels |= {"*": to_entries[0].value}
		else . end | paths(scalars) as $p | "\($p | map(if type == "number" then "[]" else
		".\(.)" end) | join("") | ltrimstr("."))\t\(getpath($p))"' "$tmp/accepted" | sort -u > "$tmp/held"
	jq -rf "$here/allowed.jq" "$tmp/$name.json" | sort -u > "$tmp/allowed"
	while IFS= read -r line; do
		path=${line%%$'\t'*} value=${line#*$'\t'}
		if awk -F '\t' -v path="$path" -v value="$value" \
			'$1 == path && (value == "*" ? $2 != "" : $2 "" == value "") { found = 1 } END { exit !found }' "$tmp/held"; then
			pass
		else
			fail "$name: no accepted sample holds" "$line"
		fi
	done < "$tmp/allowed"
	echo "$name: $(wc -l < "$tmp/allowed") values accepted"
done

# --- defaults -------------------------------------------------------------------------------------
documents "$crd/samples/accepted/least.yaml" > "$tmp/least.json"
check 'defaults: constants only, and no object' equal \
	"$(kubectl create --dry-run=server -o json -f "$tmp/least.json" | jq -cS '.spec | del(.appVersion, .celld.image, .bucket.name)')" \
	"$(jq -ncS '{deploymentPolicy: "Restart", celld: {updateStrategy: "Rolling"}, replicas: 3, bucket: {allowHTTP: false},
		durability: "bucket", websockets: false, trustForwardedHeaders: false, clusterDomain: "cluster.local"}')"
check 'defaults: of the fields inside' equal \
	"$(jq '.spec += {resources: {}, service: {}, ingress: {}, autoscaling: {}, telemetry: {}, maintenance: {},
		networkPolicy: {egress: {}}}' "$tmp/least.json" | kubectl create --dry-run=server -o json -f - |
		jq -cS '.spec | {resources, service, ingress, autoscaling, telemetry, maintenance, networkPolicy}')" \
	"$(jq -ncS '{resources: {cpuMillis: 500, memoryGi: 8, ephemeralStorageGi: 10, maxResidentCells: 1000},
		service: {type: "ClusterIP"}, ingress: {path: "/", pathType: "Prefix", stripPrefix: false},
		autoscaling: {enabled: false, minReplicas: 2, maxReplicas: 10, targets: {residentCellUtilization: 70}},
		telemetry: {enabled: true, retention: "30d"}, maintenance: {paused: false, restartToken: ""},
		networkPolicy: {egress: {enabled: false}}}')"

# --- subresources and columns ---------------------------------------------------------------------
k() { kubectl -n "$ns" "$@"; }
k create -f "$tmp/least.json" > /dev/null
for kind in wapp/chat cstore/minio; do
	file=$crd/samples/status/${kind%/*}.json
	[ "$kind" = wapp/chat ] || documents "$crd/samples/accepted/store-minio.yaml" | k create -f - > /dev/null
	k get "$kind" -o json | jq --slurpfile s "$file" '.status = $s[0] | .spec.region = "ignored"' > "$tmp/status.json"
	check "status: $kind is written" k replace --subresource=status --validate=strict -f <(jq 'del(.spec.region)' "$tmp/status.json")
	check "status: $kind keeps all of it" equal "$(k get "$kind" -o json | jq -cS .status)" "$(jq -cS . "$file")"
	k get "$kind" -o json | jq '.status = {}' > "$tmp/status.json"
	check "status: $kind, a write to the object" k replace -f "$tmp/status.json"
	check "status: $kind is not touched by it" equal "$(k get "$kind" -o json | jq -cS .status)" "$(jq -cS . "$file")"
done
check 'columns of wapp' equal "$(k get wapp | tr -s ' ' | sed 's/ [^ ]*$//; s/ $//')" \
	$'NAME PHASE APP READY RESTORING\nchat RollingOut 7b21e0c4a9d3f508 2 3'
check 'wide columns of wapp' equal "$(k get wapp -o wide | tr -s ' ' | cut -d ' ' -f 6- | sed -E '2s/^[^ ]+/(age)/')" \
	$'AGE IMAGE WAITING-ON URL\n(age) ghcr.io/denoland/celld:v0.6.2 fleet: restoring=3 https://chat.example.com/'
check 'columns of cstore' equal "$(k get cstore | tr -s ' ' | cut -d ' ' -f 1-4)" \
	$'NAME ENDPOINT APPS READY\nminio http://minio.celld-poc.svc:9000 2 True'
check 'category celld' equal "$(k get celld -o name | sort | xargs)" \
	'celldobjectstore.celld-operator.io/minio workerapp.celld-operator.io/chat'
check 'scale: what is read' equal "$(k get wapp chat --subresource=scale -o json | jq -c '[.spec.replicas, .status]')" \
	'[3,{"replicas":3,"selector":"celld-operator.io/workerapp=chat"}]'
check 'scale: up' k scale wapp chat --replicas=5
check 'scale: is kept' equal "$(k get wapp chat -o json | jq .spec.replicas)" 5
for n in 0 1001; do
	check "scale: not to $n" equal "$(k scale wapp chat --replicas=$n 2>&1 | grep -c 'spec.replicas in body should be')" 1
done
k patch wapp chat --type merge -p '{"spec":{"celld":{"updateStrategy":"Recreate"},"durability":"fleet","storage":{"sizeGi":20}}}' > /dev/null
check 'scale: a fleet not below three' equal \
	"$(k scale wapp chat --replicas=2 2>&1 | grep -c 'durability fleet needs three pods to hold a write')" 1
check 'metadata: labels may change' k label wapp chat a=b
check 'lists: env is patched by name' k patch wapp chat --type merge -p '{"spec":{"env":[{"name":"RUST_LOG","value":"info"}]}}'
printf '{"apiVersion":"celld-operator.io/v1alpha1","kind":"WorkerApp","metadata":{"name":"chat"},"spec":%s}' \
	'{"env":[{"name":"CELLD_ACTIVATIONS","value":"9"}],"hostnames":["a.example.com"]}' > "$tmp/ssa.json"
check 'lists: two managers share env' k apply --server-side --field-manager=two -f "$tmp/ssa.json"
check 'lists: both entries are there' equal "$(k get wapp chat -o json | jq -c '[.spec.env[].name] | sort')" \
	'["CELLD_ACTIVATIONS","RUST_LOG"]'
check 'the quick start is really stored' kubectl apply -f "$crd/samples/accepted/quickstart.yaml"
kubectl delete -f "$crd/samples/accepted/quickstart.yaml" > /dev/null 2>&1

# --- objects that are older than a rule: the same definition in a group of its own, first without rules -----------------
jq '.metadata = {name: "workerapps.ratchet.celld-operator.io"} | del(.status) | .spec.group = "ratchet.celld-operator.io"
	| .spec.names |= {plural, singular, kind, listKind}' "$tmp/workerapps.json" > "$tmp/ratchet.json"
r() { k "$1" workerapps.ratchet.celld-operator.io "${@:2}"; }
jq 'walk(if type == "object" then del(.["x-kubernetes-validations"]) else . end)' "$tmp/ratchet.json" > "$tmp/lax.json"
kubectl create -f "$tmp/lax.json" > /dev/null
kubectl wait --for=condition=Established --timeout=30s crd/workerapps.ratchet.celld-operator.io > /dev/null
long=1$(printf 'a%.0s' {1..59})
jq --arg long "$long" '.apiVersion = "ratchet.celld-operator.io/v1alpha1" | .metadata.name = $long
	| .metadata.finalizers = ["example.com/hold"] | .spec.hostnames = ["a_b.example.com", "chat.example.com"]
	| .spec.bucket.endpoint = "http://store.example.com" | .spec.env = [{name: "CELLD_NODE", value: "x"}]' "$tmp/least.json" > "$tmp/bad.json"
for _ in {1..100}; do kubectl create -f "$tmp/bad.json" > /dev/null 2> "$tmp/err" && break; done
check 'ratchet: an object from before the rules' r get "$long"
kubectl replace -f "$tmp/ratchet.json" > /dev/null
for _ in {1..100}; do # until the API server has taken the rules up
	jq '.metadata.name = "probe"' "$tmp/bad.json" | kubectl create --dry-run=server -f - > /dev/null 2>&1 || break
done
merge() { r patch "$long" --type merge -p "$1"; }
check 'ratchet: a label may be added' r label "$long" a=b
check 'ratchet: another field may change' merge '{"spec":{"replicas":4}}'
check 'ratchet: status may be written' r patch "$long" --subresource=status --type merge -p '{"status":{"phase":"Ready"}}'
check 'ratchet: another bad host name may not' equal "$(merge '{"spec":{"hostnames":["c_d.example.com"]}}' 2>&1 | faults | cut -d ' ' -f 1-3)" \
	'spec.hostnames[0]: not a'
check 'ratchet: a good object may not go bad' equal "$(merge '{"spec":{"telemetry":{"otlpEndpoint":"otel"}}}' 2>&1 | faults | cut -d ' ' -f 1-3)" \
	'spec.telemetry.otlpEndpoint: not the'
check 'ratchet: the finalizer may go' merge '{"metadata":{"finalizers":null}}'
check 'ratchet: the object may go' r delete "$long"

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
