# What stands for which image: $D/images.json, which the nodes read again when it changes. Sourced by bed.
# An entry is what images.go says; the first prefix that fits counts.

first_images() { # makes the file of the template: its paths are those of this checkout
	local root
	root=$(cd "$here/../.." && pwd)
	jq --arg ROOT "$root" --arg BIN "$root/build/${PROFILE:-debug}/bin" --arg PROGRAM "$B" \
		--arg CELLD_SIM "${CELLD_SIM:-$root/build/debug/bin/celld-sim}" \
		'walk(if type == "string" then reduce ($ARGS.named | to_entries[]) as $e
			(.; split("${" + $e.key + "}") | join($e.value)) else . end)' \
		"${BED_IMAGES:-$here/images.json}" > "$D/images.json" 2> "$D/images.log" ||
		die "BED_IMAGES: $(last "$D/images.log")"
}

edit_images() { # JQ-ARG...: puts a changed file in the old one's place
	(
		exec 6> "$D/images.lock"
		flock 6
		jq "$@" "$D/images.json" > "$D/images.new"
		mv "$D/images.new" "$D/images.json"
	)
}

images() {
	local as='' env='[]' uid=null command='[]' verb=${1:-list}
	[ -e "$D/images.json" ] || die "is not up"
	[ $# = 0 ] || shift
	while [ "$verb" = add ]; do
		case ${1-}:$# in
		--env:[2-9] | --env:[1-9][0-9]) env=$(jq -c --arg e "$2" '. + [$e]' <<< "$env") ;;
		--uid:[2-9] | --uid:[1-9][0-9]) uid=$2 ;;
		--as:[2-9] | --as:[1-9][0-9]) as=$2 ;;
		*) break ;;
		esac
		shift 2
	done
	case $verb:$# in
	list:0) jq -r '.[] | if .refuse then "\(.prefix)\trefused" else "\(.prefix)\t\(.command + .args | join(" "))" end' \
		"$D/images.json" ;;
	add:[1-9]*)
		[ $# = 1 ] || command=$(jq -cn '$ARGS.positional' --args -- "${@:2}")
		edit_images --arg p "$1" --arg of "${as:-$1}" --argjson c "$command" --argjson e "$env" --argjson u "$uid" '
			(if $c == [] then first(.[] | select(.prefix as $q | $of | startswith($q)) | select(.refuse | not)) //
				error("nothing stands for " + $of) else {command: $c} end) as $old |
			map(select(.refuse)) + [$old + {prefix: $p, env: (($old.env // []) + $e)} +
				if $u then {uid: $u} else {} end] + map(select(.prefix != $p and (.refuse | not)))'
		;;
	remove:1) edit_images --arg p "$1" 'map(select(.prefix != $p or .refuse))' ;;
	refuse:1) edit_images --arg p "$1" '[{prefix: $p, refuse: true}] + .' ;;
	allow:1) edit_images --arg p "$1" 'map(select(.prefix != $p or (.refuse | not)))' ;;
	*) usage ;;
	esac
}
