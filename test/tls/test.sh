#!/bin/bash
# test.sh: the webhook's TLS as others see it: versions, ciphers, renegotiation, and what failed handshakes leave behind (nothing).
# Needs no bed. Prints `N passed, N failed` last.
# Environment: PROFILE (debug): whose programs; HANDSHAKES (10000): that fail.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
bin=$root/build/${PROFILE:-debug}/bin
work=$(mktemp -d)
pid=
trap 'kill $pid 2> /dev/null; rm -rf "$work"' EXIT
. "$root/test/lib/checks.sh"

host=webhook.test.svc
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$work/key" -out "$work/crt" -subj "/CN=$host" \
	-addext "subjectAltName=DNS:$host" -days 1 2> /dev/null
read -r port health metrics <<< "$(python3 -c 'import socket
s = [socket.socket() for _ in range(3)]
[x.bind(("127.0.0.1", 0)) for x in s]
print(*[x.getsockname()[1] for x in s])')"
"$bin/celld-webhook" --bind-address=127.0.0.1:$port --health-probe-bind-address=127.0.0.1:$health \
	--metrics-bind-address=127.0.0.1:$metrics --tls-cert-file="$work/crt" --tls-key-file="$work/key" --lame-duck=0s > "$work/log" 2>&1 &
pid=$!
until curl -sfo /dev/null "http://127.0.0.1:$health/readyz"; do
	kill -0 $pid 2> /dev/null || { cat "$work/log"; echo "0 passed, 1 failed"; exit 1; }
	sleep 0.05
done

shake() { # FLAG...: what openssl says of a handshake; level 0: the client would take anything
	openssl s_client -connect 127.0.0.1:$port -servername $host -CAfile "$work/crt" -verify_return_error "$@" < /dev/null 2>&1
}
agrees() { shake "$@" | grep -E '^ *(New, TLS|Protocol *:|Cipher *:)|Verify return code' | tee /dev/stderr | grep -q 'Cipher is [A-Z]'; }
old=(-cipher 'ALL:@SECLEVEL=0')
check "TLS 1.3" agrees -tls1_3
check "TLS 1.2" agrees -tls1_2
check "not TLS 1.1" refuted agrees -tls1_1 "${old[@]}"
check "not TLS 1.0" refuted agrees -tls1 "${old[@]}"
check "TLS 1.3 is preferred" eval 'shake | grep -q "New, TLSv1.3"'
for cipher in ECDHE-ECDSA-AES128-GCM-SHA256 ECDHE-ECDSA-AES256-GCM-SHA384; do
	check "$cipher" agrees -tls1_2 -cipher $cipher
done
for cipher in NULL eNULL aNULL EXPORT RC4 3DES kRSA PSK CAMELLIA; do
	check "not $cipher" refuted agrees -tls1_2 -cipher "$cipher:@SECLEVEL=0"
done
check "the name and the chain are right" eval 'shake -verify_hostname $host | grep -q "Verify return code: 0"'
check "no compression" eval 'shake -tls1_2 | grep -q "Compression: NONE"'
check "a client that asks for another name is answered all the same" agrees -tls1_3 -servername elsewhere.example

check "no renegotiation, and the server goes on" python3 "$here/abuse.py" renegotiate $port "$work/crt"
mkfifo "$work/in"
exec 9<> "$work/in"
openssl s_server -accept 127.0.0.1:0 -cert "$work/crt" -key "$work/key" -tls1_2 -client_renegotiation > "$work/lax" 2>&1 < "$work/in" &
lax=$!
until [ -n "$(sed -n 's/^ACCEPT .*://p' "$work/lax")" ]; do kill -0 $lax || break; sleep 0.05; done
check "(one that allows it would be found)" refuted python3 "$here/abuse.py" renegotiate "$(sed -n 's/^ACCEPT .*://p' "$work/lax")" "$work/crt"
kill $lax
check "the API server's way in still works" agrees -tls1_3

anonymous() { awk '/^RssAnon/ {print $2}' /proc/$pid/status; }
files() { ls /proc/$pid/fd | wc -l; }
before=$(files)
check "500 handshakes fail, to warm up" python3 "$here/abuse.py" fail $port 500
settled() { for _ in $(seq 200); do [ "$(files)" -le "$before" ] && return; sleep 0.05; done; ls -l /proc/$pid/fd; return 1; }
check "they leave no open file" settled
had=$(anonymous)
n=${HANDSHAKES:-10000}
check "$n more fail" python3 "$here/abuse.py" fail $port "$n"
check "they leave no open file" settled
grown=$(($(anonymous) - had))
echo "        anonymous memory: $had kB, $grown kB more after $n failed handshakes"
check "nor memory" [ $grown -lt 256 ]
check "the API server's way in still works" agrees -tls1_3
kill -TERM $pid
wait $pid
check "the program ends well" [ $? = 0 ]
pid=
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
