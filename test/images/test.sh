#!/bin/bash
# test.sh: the images without building them. Two builds, in folders of different names, make the same programs to the byte; the root
# file system that images/collect makes of each is complete (its program starts in it, as its user), holds nothing else, and is
# listed, the same each time. What `make images` has built, in build/images, is looked at in the same way when it is there.
# Needs root, for chroot.
set -uo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$root/test/lib/checks.sh"
[ "$(id -u)" = 0 ] || { echo "images: needs root"; echo "0 passed, 1 failed"; exit 1; }

complete() { # ROOT PROGRAM: it finds all that it links, and answers
	chroot --userspec=65532:65532 "$1" "/usr/local/bin/$2" --help && ! chroot --userspec=65532:65532 "$1" "/usr/local/bin/$2" --bogus
}
bare() { # ROOT PROGRAM...: beside programs, libraries, lists and configuration there is nothing, and nothing can be run but the programs
	local dir=$1 extra
	shift
	extra=$(cd "$dir" && find . -type f | grep -vE '^\./(usr/)?lib(64)?/([a-z0-9_]+-linux-gnu/)?[^/]*\.so[.0-9]*$|^\./usr/share/(doc/[^/]*/copyright|sbom/[^/]*)$|^\./etc/(passwd|group|nsswitch\.conf|ssl/certs/ca-certificates\.crt)$' |
		grep -vxF "$(printf './usr/local/bin/%s\n' "$@")")
	[ -z "$extra" ] || { echo "$extra"; return 1; }
}
listed() { # ROOT NAME: every file but the list itself is in the list, and every package has its copyright file
	python3 - "$1" "$2" <<-'P'
	import hashlib, json, os, sys
	root, name = sys.argv[1:]
	d = json.load(open(f"{root}/usr/share/sbom/{name}.spdx.json"))
	want = {f["fileName"]: f["checksums"][0]["checksumValue"] for f in d["files"]}
	have = {}
	for folder, _, names in os.walk(root):
	    for n in names:
	        p = os.path.join(folder, n)
	        if not os.path.islink(p) and not p.endswith(".spdx.json"):
	            have["." + p[len(root):]] = hashlib.sha256(open(p, "rb").read()).hexdigest()
	assert want == have, set(want.items()) ^ set(have.items())
	packages = {p["name"] for p in d["packages"]} - {name}
	assert packages == set(os.listdir(f"{root}/usr/share/doc")), packages
	assert {"libc6", "ca-certificates", "libssl3"} <= packages, packages
	ids = {p["SPDXID"] for p in d["packages"] + d["files"]} | {"SPDXRef-DOCUMENT"}
	assert all(r["spdxElementId"] in ids and r["relatedSpdxElement"] in ids for r in d["relationships"])
	P
}
judge() { # ROOT NAME PROGRAM...
	local dir=$1 name=$2 p
	shift 2
	for p; do check "$name: $p finds all that it links, as nobody special" complete "$dir" "$p"; done
	check "$name: nothing else is in it, no shell" bare "$dir" "$@"
	check "$name: everything is listed" listed "$dir" "$name"
	echo "        $name: $(du -sb "$dir" | cut -f1) bytes in $(find "$dir" -type f | wc -l) files, program sha256 $(sha256sum < "$dir/usr/local/bin/$name" | cut -c1-16)"
}

for copy in one a-longer-name; do
	mkdir "$work/$copy"
	tar -C "$root" -c --exclude=./build --exclude=./.git . | tar -C "$work/$copy" -x
	make -C "$work/$copy" -j"${JOBS:-2}" PROFILE=release VERSION=v0 build/release/bin/{celld-webhook,celld-controller,kubectl-celld} > "$work/log" 2>&1 ||
		{ tail -n 20 "$work/log"; exit 1; }
	SOURCE_DATE_EPOCH=1700000000 "$work/$copy/images/collect" "$work/$copy.webhook" celld-webhook v0 "$work/$copy/build/release/bin/celld-webhook"
	SOURCE_DATE_EPOCH=1700000000 "$work/$copy/images/collect" "$work/$copy.controller" celld-controller v0 "$work/$copy/build/release/bin/"{celld-controller,kubectl-celld}
done
judge "$work/one.webhook" celld-webhook celld-webhook
judge "$work/one.controller" celld-controller celld-controller kubectl-celld
rm "$work/one.webhook"/*/*/libcurl.so.4 "$work/one.webhook"/usr/lib/*/libcurl.so.4 2> /dev/null
check "(a library that is missing would be found)" refuted complete "$work/one.webhook" celld-webhook
for part in webhook controller; do
	bin=build/release/bin/celld-$part
	check "celld-$part is the same in every build" cmp "$work/one/$bin" "$work/a-longer-name/$bin"
	check "celld-$part holds no path of its build" refuted grep -qF "$work" "$work/one/$bin"
	check "Dockerfile.$part runs as nobody special" grep -q '^USER 65532' "$root/Dockerfile.$part"
done
archive() { tar -C "$1" --sort=name -c . | sha256sum; }
check "two collections are the same, times and all" [ "$(archive "$work/one.controller")" = "$(archive "$work/a-longer-name.controller")" ]

for part in webhook controller; do
	built=$root/build/images/celld-$part
	[ -d "$built.root" ] || continue
	programs=(celld-$part)
	[ $part = webhook ] || programs+=(kubectl-celld)
	judge "$built.root" celld-$part "${programs[@]}"
	tar -xOf "$built.oci.tar" index.json > "$work/index"
	blob() { tar -xOf "$built.oci.tar" "blobs/sha256/$(cut -d: -f2 <<< "$1")"; }
	config=$(blob "$(blob "$(jq -r '.manifests[0].digest' "$work/index")" | jq -r .config.digest)" | jq -c .config)
	check "celld-$part: its user, entry point and labels" jq -e --arg name celld-$part '.User == "65532:65532" and .Entrypoint == ["/usr/local/bin/" + $name] and
		.Labels["org.opencontainers.image.title"] == $name and .Labels["org.opencontainers.image.licenses"] == "Apache-2.0" and
		(.Labels["org.opencontainers.image.version"] | length > 0)' <<< "$config"
	check "celld-$part: the list beside it is that in it" cmp "$root/build/images/celld-$part.spdx.json" "$built.root/usr/share/sbom/celld-$part.spdx.json"
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
