# Every object that we render is taken by the API server, strictly, by server-side dry run, with the definitions of Gateway API (both
# channels), Istio and KEDA: the golden files, and in each ingress mode every two options of routing together.
crds=$root/build/crds
work=$root/build/e2e/rendered
rm -rf "$work" && mkdir -p "$work"
cli=$root/build/$PROFILE/bin/kubectl-celld
definitions() { kubectl apply --server-side --force-conflicts -f "$crds/$1.yaml" > /dev/null && kubectl wait --for=condition=Established --timeout=30s -f "$crds/$1.yaml" > /dev/null; }
taken() { # FILE [COUNT]: all of it, and no warning
	kubectl apply --server-side --force-conflicts --dry-run=server --validate=strict --field-manager=dry -f "$1" > "$work/out" 2>&1 || { tail -n 5 "$work/out"; return 1; }
	! grep -i warning "$work/out" || return 1
	[ "$(grep -c 'serverside-applied (server dry run)' "$work/out")" = "${2:-$(grep -c '^kind:' "$1")}" ] || { tail -n 5 "$work/out"; return 1; }
}
only() { # KINDS FILE: the documents of these kinds
	awk -v kinds="^kind: ($1)\$" 'function out() { if (wanted) printf "%s", doc; doc = ""; wanted = 0 }
		/^---/ { out() } { doc = doc $0 "\n" } $0 ~ kinds { wanted = 1 } END { out() }' "$2"
}
spaces="rendered $(sed -n 's/^  namespace: *//p' "$root"/test/golden/render/*/out.yaml | sort -u | tr '\n' ' ')"
kubectl apply -f - > /dev/null < <(printf -- '---\napiVersion: v1\nkind: Namespace\nmetadata: {name: %s}\n' $spaces)
for name in gateway-experimental istio keda; do check "the definitions of $name" definitions $name; done

files=0
for d in "$root"/test/golden/render/*/; do
	check "$(basename "$d") is taken" taken "$d/out.yaml"
	files=$((files + 1))
done
check "there were many files" [ $files -ge 34 ]

read -r routed others < <(python3 "$root/test/e2e/rendered.py" "$work")
check "there are many apps" [ "$routed" -ge 90 ]
mode() { # NAME ARGS...: what is rendered of all apps so
	local name=$1
	shift
	"$cli" render -f "$work/routed.yaml" "$@" 2> "$work/$name.warnings" > "$work/$name.all.yaml" || bad "render $*"
	only 'HTTPRoute|Ingress|VirtualService' "$work/$name.all.yaml" > "$work/$name.routes.yaml"
	"$cli" render -f "$work/others.yaml" --istio "$@" > "$work/$name.others.yaml" 2>> "$work/$name.warnings" || bad "render $*"
	check "$name: $(grep -c ^kind: "$work/$name.routes.yaml") routes of $routed apps are taken" taken "$work/$name.routes.yaml"
	check "$name: all objects of $others apps are taken" taken "$work/$name.others.yaml"
}
mode httproute-retries --ingress-mode httproute --httproute-retries
mode httproute --ingress-mode httproute
mode virtualservice --ingress-mode virtualservice --istio-gateways infra/edge,infra/inner
mode ingress --ingress-mode ingress
mode ingress-nginx --ingress-mode ingress --ingress-class nginx --cluster-issuer letsencrypt
mode none --ingress-mode none
routes() { grep -c "^kind: $2\$" "$work/$1.routes.yaml"; }
# 13 apps name a Gateway and 13 a class, whatever the mode
check "in its mode an app has its kind, in the mode none what it asked for itself" [ \
	"$(routes httproute HTTPRoute) $(routes virtualservice VirtualService) $(routes ingress-nginx Ingress) $(routes none HTTPRoute) $(routes none Ingress)" \
	= "$((routed - 13)) $((routed - 26)) $((routed - 13)) 13 13" ]

# What does not exist would not be taken.
wrong() { # MODE KIND SED
	only "$2" "$work/$1.yaml" | sed "$3" > "$work/wrong.yaml"
	! cmp -s "$work/wrong.yaml" <(only "$2" "$work/$1.yaml") && refuted taken "$work/wrong.yaml" && grep -q "unknown field\|field not declared" "$work/out"
}
check "HTTPRoute: a field that does not exist is refused" wrong httproute.routes HTTPRoute 's/^  parentRefs:/  parentRefz:/'
check "VirtualService: the same" wrong virtualservice.routes VirtualService 's/^    retries:/    retriez:/'
check "Ingress: the same" wrong ingress.routes Ingress 's/pathType:/pathTypo:/'
check "AuthorizationPolicy: the same" wrong none.others AuthorizationPolicy 's/notPrincipals:/notPrincipalz:/'
check "ScaledObject: the same" wrong none.others ScaledObject 's/maxReplicaCount:/maxReplicaCounts:/'

# The standard channel has no field for retries, and takes all else.
check "the definitions of gateway-standard" definitions gateway-standard
for d in "$root"/test/golden/render/*/; do
	grep -q '^kind: HTTPRoute' "$d/out.yaml" || continue
	if grep -q '^    retry:' "$d/out.yaml"; then
		check "standard channel: $(basename "$d"), with retries, is not" refuted taken "$d/out.yaml"
	else
		check "standard channel: $(basename "$d") is taken" taken "$d/out.yaml"
	fi
done
check "standard channel: all routes without retries are taken" taken "$work/httproute.routes.yaml"
check "and those with retries are not" refuted taken "$work/httproute-retries.routes.yaml"

# The scenarios that follow start without them.
for name in gateway-standard istio keda; do kubectl delete -f "$crds/$name.yaml" --wait=false > /dev/null; done
kubectl delete namespace $spaces --wait=false > /dev/null
