#!/usr/bin/env python3
"""abuse.py fail PORT N: N handshakes that fail, of seven kinds by turns.
abuse.py renegotiate PORT CAFILE: asks for a renegotiation in TLS 1.2; succeeds when it is not granted.
"""
import os
import socket
import ssl
import subprocess
import sys
import warnings

warnings.simplefilter("ignore")
WAIT = 20


def context(change):
    c = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    c.check_hostname = False
    c.verify_mode = ssl.CERT_NONE
    change(c)
    return c


def old(c):
    c.set_ciphers("ALL:@SECLEVEL=0")
    c.minimum_version = ssl.TLSVersion.TLSv1
    c.maximum_version = ssl.TLSVersion.TLSv1_1


def weak(c):
    c.set_ciphers("PSK:aNULL:@SECLEVEL=0")
    c.maximum_version = ssl.TLSVersion.TLSv1_2


def distrust(c):
    c.verify_mode = ssl.CERT_REQUIRED


def hello():
    """the first bytes of a client that is all right"""
    to, out = ssl.MemoryBIO(), ssl.MemoryBIO()
    try:
        context(lambda c: None).wrap_bio(to, out).do_handshake()
    except ssl.SSLWantReadError:
        pass
    return out.read()


HELLO = hello()
BYTES = [b"GET / HTTP/1.1\r\n\r\n", os.urandom(200), b"", HELLO[:40], HELLO + b"\x17\x03\x03\x00\x05abcde"]
CONTEXTS = [context(old), context(weak), context(distrust)]


def fail(port, i):
    with socket.create_connection(("127.0.0.1", port), timeout=WAIT) as s:
        kind = i % (len(BYTES) + len(CONTEXTS))
        if kind < len(BYTES):
            try:
                s.sendall(BYTES[kind])
                s.shutdown(socket.SHUT_WR)
                while s.recv(4096):
                    pass
            except OSError: # closed by the server already
                pass
            return True
        try:
            CONTEXTS[kind - len(BYTES)].wrap_socket(s)
        except (ssl.SSLError, ConnectionError):
            return True
        return False


def renegotiate(port, ca):
    p = subprocess.Popen(["openssl", "s_client", "-connect", f"127.0.0.1:{port}", "-tls1_2", "-CAfile", ca], stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    seen = b""
    while b"Verify return code" not in seen:
        seen += p.stdout.read1(4096)
    try:
        out, _ = p.communicate(b"R\n", timeout=WAIT)
    except subprocess.TimeoutExpired:
        p.kill()
        out, _ = p.communicate()
    said = out.decode(errors="replace")
    print(said)
    begun = said.split("RENEGOTIATING", 1)
    # a second handshake would show the chain again
    return len(begun) == 2 and "verify return" not in begun[1] and "depth=" not in begun[1]


if sys.argv[1] == "fail":
    agreed = [i for i in range(int(sys.argv[3])) if not fail(int(sys.argv[2]), i)]
    print("handshakes that did not fail:", agreed[:10])
    sys.exit(1 if agreed else 0)
sys.exit(0 if renegotiate(int(sys.argv[2]), sys.argv[3]) else 1)
