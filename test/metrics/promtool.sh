#!/bin/bash
# promtool.sh [NAME]: prints the path of promtool (or prometheus). What PATH does not have is taken out of Debian's package,
# which is unpacked below build/ and not installed: it would start a service.
set -euo pipefail
name=${1:-promtool}
command -v "$name" && exit 0
root=$(cd "$(dirname "$0")/../.." && pwd)
to=$root/build/prometheus
if [ ! -x "$to/usr/bin/$name" ]; then
	mkdir -p "$to"
	(cd "$to" && apt-get -q download prometheus >&2 && dpkg-deb -x prometheus_*.deb . && rm -f prometheus_*.deb)
fi
echo "$to/usr/bin/$name"
