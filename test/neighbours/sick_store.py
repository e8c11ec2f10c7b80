#!/usr/bin/env python3
"""A store that speaks S3 and can be made to fail in every way, while it runs; for the tests of deploy tracking. It checks nobody.

sick_store.py PORT CONTROL-PORT [TLS-PORT DIR]      on 127.0.0.1, or on $BIND; DIR has fine.pem and expired.pem, certificate and key
each

GET http://127.0.0.1:CONTROL-PORT/MODE?VERSION switches its doors; its answer is a line for each: calls since the last switch
(requests, and connections without one) and seconds. MODE: fine (the pointer names VERSION), stopped, hang, storm, garbage, huge,
redirect, region, mirror (refuses, and says back what it was sent), expired (as fine, but for the certificate), count (switches nothing).
"""
import http.server
import os
import re
import socket
import ssl
import sys
import threading
import time
import urllib.parse

bind = os.environ.get("BIND", "127.0.0.1")
ports = {"http": int(sys.argv[1])}
contexts = {}
if len(sys.argv) > 3:
    ports["https"] = int(sys.argv[3])
    for name in ("fine", "expired"):
        contexts[name] = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        contexts[name].load_cert_chain(f"{sys.argv[4]}/{name}.pem")

lock = threading.RLock()
mode, version, since = "fine", "v1", time.monotonic()
calls = {door: 0 for door in ports}
connections = set()
doors = {}


def reply(s, status, body=b"", *headers):
    head = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
    s.sendall("\r\n".join(head).encode() + b"\r\n\r\n" + body)
    return True


def answer(s, head):
    if mode in ("fine", "expired"):
        return reply(s, "200 OK", b'{"version":"%s"}' % version.encode(), f'ETag: "{version}"')
    if mode == "hang":
        while s.recv(1):
            pass
    if mode == "storm":
        return reply(s, "503 Slow Down", b"<Error><Code>SlowDown</Code></Error>")
    if mode == "garbage":
        return reply(s, "200 OK", b"<html>It works!</html>", "Content-Type: text/html")
    if mode == "huge":
        s.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
        for _ in range(1600):
            s.sendall(b" " * 65536)
    if mode == "redirect":
        return reply(s, "307 Temporary Redirect", b"", "Location: http://169.254.169.254/latest/meta-data")
    if mode == "region":
        return reply(s, "301 Moved Permanently", b"<Error><Code>PermanentRedirect</Code></Error>", "x-amz-bucket-region: eu-west-1")
    if mode == "mirror":
        word = (re.findall(rb"(?i)token: ([A-Za-z0-9-]+)|Bearer ([A-Za-z0-9-]+)|Credential=([A-Za-z0-9-]+)", head) or [(b"x",)])[0]
        word = max(word, key=len)
        body = b"<Error><Code>%s</Code><Region>%s</Region><Message>%s</Message></Error>" % (word, word, head)
        return reply(s, "403 " + word.decode(), body, "x-amz-request-id: " + word.decode())
    return False


def serve(s, door):
    first = True
    try:
        if door == "https":
            s = contexts["expired" if mode == "expired" else "fine"].wrap_socket(s, server_side=True)
            with lock:
                connections.add(s)
        while True:
            head = b""
            while b"\r\n\r\n" not in head:
                part = s.recv(4096)
                if not part:
                    return
                head += part
            with lock:
                calls[door] += not first
            first = False
            if not answer(s, head):
                return
    except OSError:
        pass
    finally:
        with lock:
            connections.discard(s)
        s.close()


def accept(listener, door):
    while True:
        try:
            s, _ = listener.accept()
        except OSError:
            return
        with lock:
            connections.add(s)
            calls[door] += 1
        threading.Thread(target=serve, args=(s, door), daemon=True).start()


def open_doors():
    for door, port in ports.items():
        if door not in doors:
            doors[door] = socket.create_server((bind, port), backlog=128)
            threading.Thread(target=accept, args=(doors[door], door), daemon=True).start()


def close(s):
    try:
        s.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    s.close()


class Control(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def do_GET(self):
        global mode, version, since
        url = urllib.parse.urlsplit(self.path)
        with lock:
            seconds = time.monotonic() - since
            text = "".join(f"{door} {n} {seconds:.1f}\n" for door, n in calls.items())
            if url.path != "/count":
                mode, version, since = url.path[1:], url.query or version, time.monotonic()
                if mode == "stopped":
                    for door in list(doors):
                        close(doors.pop(door))
                for s in list(connections):
                    close(s)
                for door in calls:
                    calls[door] = 0
                if mode != "stopped":
                    open_doors()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(text.encode())


open_doors()
http.server.ThreadingHTTPServer((bind, int(sys.argv[2])), Control).serve_forever()
