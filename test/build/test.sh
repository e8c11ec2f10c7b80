#!/bin/bash
# The build's own checks, each against a small tree that breaks its rule: a check that cannot fail protects nothing.
# Closes with `N passed, N failed`. PROFILE and the like of an outer make play no part.
set -uo pipefail
unset MAKEFLAGS MFLAGS MAKELEVEL PROFILE CC CFLAGS
here=$(cd "$(dirname "$0")/../.." && pwd)
tree=$(mktemp -d) || exit 1
trap 'rm -rf "$tree"' EXIT
passed=0 failed=0

plant() { # a sound tree: two parts, a pure file in a subfolder, a program
	rm -rf "$tree"/common "$tree"/controller "$tree"/test
	mkdir -p "$tree"/common/deep "$tree"/controller/deep "$tree"/test/lib
	cp "$here"/GNUmakefile "$here"/.clang-format "$tree"
	cat > "$tree/common/deep/pure.h" <<'X'
#ifndef COMMON_DEEP_PURE_H
#define COMMON_DEEP_PURE_H

int pure_twice(int n);

#endif
X
	cat > "$tree/common/deep/pure.c" <<'X'
#include "common/deep/pure.h"

int pure_twice(int n)
{
	return 2 * n;
}
X
	cat > "$tree/controller/deep/high.h" <<'X'
#ifndef CONTROLLER_DEEP_HIGH_H
#define CONTROLLER_DEEP_HIGH_H

int high(int n);

#endif
X
	cat > "$tree/controller/deep/high.c" <<'X'
#include "controller/deep/high.h"

#include "common/deep/pure.h"

int high(int n)
{
	return pure_twice(n);
}
X
	cat > "$tree/controller/main.c" <<'X'
#include <stdio.h>
#include <string.h>

#include "controller/deep/high.h"

int main(int argc, char **argv)
{
	char text[16];

	(void)snprintf(text, sizeof(text), "%.8s", argv[argc - 1]);
	return high((int)strlen(text)) == 0;
}
X
}

run() { # TARGET...: in the tree
	make -s -C "$tree" --no-print-directory VERSION=x parts='controller common' PURE1=common/deep/pure PURE2= "$@" 2>&1
}

sound() { # WHAT TARGET...: has to succeed
	local what=$1 out
	shift
	if out=$(run "$@"); then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		printf 'not ok: %s\n%s\n' "$what" "$out"
	fi
}

broken() { # WHAT SAYS TARGET...: has to fail and to say so
	local what=$1 says=$2 out
	shift 2
	if ! out=$(run "$@") && grep -qF -- "$says" <<< "$out"; then
		passed=$((passed + 1))
	else
		failed=$((failed + 1))
		printf 'not ok: %s\n%s\n' "$what" "$out"
	fi
}

plant
sound 'a sound tree passes' check-fmt check-headers check-layers check-includers check-pure
sound 'a sound program is hardened' check-hardening
broken 'a program that is no PIE' 'build/release/bin/celld-controller: not PIE' check-hardening LDFLAGS=-no-pie

printf '#include "controller/deep/high.h"\n' >> "$tree/common/deep/pure.h"
broken 'a lower part includes a higher one, through a header' \
	'layering: common/deep/pure.c includes controller/deep/high.h' check-layers
plant
printf 'int lib(void);\n' > "$tree/test/lib/lib.h"
printf '#include "test/lib/lib.h"\n' >> "$tree/controller/deep/high.c"
broken 'the product includes a test' 'layering: controller/deep/high.c includes test/lib/lib.h' check-layers

plant
sed -i 's/^#include.*/&\n#include <time.h>/; s/return 2/return (int)time(NULL) + 2/' "$tree/common/deep/pure.c"
broken 'a pure file reads the clock' 'common/deep/pure.o calls time' check-pure
plant
sed -i 's/^int pure_twice.*/static int last;\n\n&/; s/return 2 \* n/return last += n/' "$tree/common/deep/pure.c"
broken 'a pure file remembers' 'common/deep/pure.o has writable .bss' check-pure

plant
sed -i 's/^int high(int n);/int high(size_t n);/' "$tree/controller/deep/high.h"
broken 'a header needs another one before it' 'not self-contained: controller/deep/high.h' check-headers
plant
sed -i 's/^int high(int n);/struct high {\n\tint n;\n};/; /^#ifndef/d; /^#define/d; /^#endif/d' "$tree/controller/deep/high.h"
broken 'a header without a guard' 'not self-contained: controller/deep/high.h' check-headers

plant
printf '#include <curl/curl.h>\n' >> "$tree/controller/deep/high.c"
broken 'a library enters by another way' 'curl/ may only enter at common/http' check-includers
plant
printf '  #  include "cJSON.h"\n' >> "$tree/common/deep/pure.h"
broken 'and in other clothes' 'may only enter at common/json' check-includers

plant
printf 'int  main2(void);\n' >> "$tree/controller/main.c"
broken 'a line that clang-format would change' 'controller/main.c' check-fmt

plant
printf '#!/bin/sh\ncase "$*" in *libcurl*) exit 1 ;; esac\nexec pkg-config "$@"\n' > "$tree/no-curl"
chmod +x "$tree/no-curl"
broken 'a library that is missing or too old' 'missing: libcurl >= 7.85.0 (Debian: libcurl4-openssl-dev)' \
	all PKG_CONFIG=./no-curl
sound 'without libraries there is help' help PKG_CONFIG=false

plant
sed -i 's/return pure_twice(n);/int unused = n;\n\n\treturn pure_twice(n);/' "$tree/controller/deep/high.c"
broken 'a warning is an error' 'unused' all

echo "$passed passed, $failed failed"
[ $failed = 0 ]
