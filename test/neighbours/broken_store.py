#!/usr/bin/env python3
"""A store that speaks S3 and is not to be trusted, for the tests of `qualify`: it keeps objects in memory and checks nobody.

broken_store.py PORT ignore      conditions are accepted and ignored
broken_store.py PORT lose=N      of N objects that writers race for, the last lets a second one win
broken_store.py PORT stale       a replacement is read only after the next one
broken_store.py PORT fine        nothing is wrong with it
"""
import hashlib
import re
import sys
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

objects = {}
older = {}
lock = threading.Lock()
port, mode = int(sys.argv[1]), sys.argv[2]
lose = int(mode[5:]) if mode.startswith("lose=") else 0


def tag(body):
    return '"%s"' % hashlib.md5(body).hexdigest()


class Store(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 65536

    def log_message(self, *args):
        pass

    def answer(self, status, body=b"", headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def key(self):
        return urllib.parse.unquote(self.path.split("?")[0])

    def refused(self, key, old):
        create = self.headers.get("If-None-Match") == "*" and old is not None
        stale = self.headers.get("If-Match") and (old is None or self.headers["If-Match"] != tag(old))
        if not (create or stale) or mode == "ignore":
            return False
        n = re.search(r"race-(\d+)$", key)
        return not (lose and n and int(n[1]) % lose == lose - 1)

    def do_PUT(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        key = self.key()
        with lock:
            old = objects.get(key)
            if self.refused(key, old):
                return self.answer(412, b"<Error><Code>PreconditionFailed</Code></Error>")
            if old is not None:
                older[key] = old
            objects[key] = body
        self.answer(200, headers=[("ETag", tag(body))])

    def do_GET(self):
        key = self.key()
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
        with lock:
            if "list-type" in query:
                prefix = query["prefix"][0]
                names = [k.split("/", 2)[2] for k in objects if k.split("/", 2)[2].startswith(prefix)]
                keys = "".join("<Contents><Key>%s</Key></Contents>" % n for n in names)
                return self.answer(200, ("<ListBucketResult>%s</ListBucketResult>" % keys).encode())
            body = objects.get(key)
            if mode == "stale":
                body = older.get(key, body)
        if body is None:
            return self.answer(404, b"<Error><Code>NoSuchKey</Code></Error>")
        self.answer(200, body, [("ETag", tag(body))])

    def do_DELETE(self):
        with lock:
            objects.pop(self.key(), None)
            older.pop(self.key(), None)
        self.answer(204)


class Server(ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True


Server(("127.0.0.1", port), Store).serve_forever()
