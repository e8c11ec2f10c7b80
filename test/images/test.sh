#!/bin/bash
# test.sh: the images' recipes against the programs. The packages of a Dockerfile's last stage are exactly those of the libraries
# that its program links; two builds, in folders of different names, make the same program to the byte. No image is built.
set -uo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0
check() { # WHAT CMD...
	local what=$1
	shift
	if "$@"; then passed=$((passed + 1)); echo "ok      $what"; else failed=$((failed + 1)); echo "FAILED  $what"; fi
}
same() { [ "$1" = "$2" ] || { printf '%s\n--- but\n%s\n' "$1" "$2"; false; }; }

for copy in one a-longer-name; do
	mkdir "$work/$copy"
	tar -C "$root" -c --exclude=./build --exclude=./.git . | tar -C "$work/$copy" -x
	make -C "$work/$copy" -j"${JOBS:-2}" PROFILE=release VERSION=v0 build/release/bin/celld-{webhook,controller} > "$work/log" 2>&1 ||
		{ tail -n 20 "$work/log"; exit 1; }
done
for part in webhook controller; do
	bin=build/release/bin/celld-$part
	links=$(readelf -d "$work/one/$bin" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | while read -r lib; do
		dpkg -S "$(realpath "$(ldconfig -p | awk -v l="$lib" '$1 == l {print $NF; exit}')")" 2> /dev/null | cut -d: -f1
	done | grep -v '^libc6$' | sort -u)
	names=$(awk '/^FROM/ {n++} n == 2' "$root/Dockerfile.$part" | tr -d '\\' | tr ' ' '\n' | grep -E '^lib[a-z0-9.-]+$' | sort -u)
	check "Dockerfile.$part has the packages that the program links" same "$links" "$names"
	check "celld-$part is the same in every build" cmp "$work/one/$bin" "$work/a-longer-name/$bin"
	check "celld-$part holds no path of its build" eval "! grep -qF '$work' '$work/one/$bin'"
	check "Dockerfile.$part runs as nobody special" grep -q '^USER 65532' "$root/Dockerfile.$part"
	echo "        celld-$part: $(stat -c %s "$work/one/$bin") bytes, sha256 $(sha256sum < "$work/one/$bin" | cut -c1-16)"
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
