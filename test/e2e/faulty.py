"""faulty.py - a proxy in front of the API server that deals the faults which Kubernetes and networks deal.

For each request: an answer that the server never gave (409 of writes, 410 of lists and watches, 429 with Retry-After, 500, 503),
a reset before the request went on or after it did (the write happened, its answer is lost), half an answer, seconds of delay.
In watches: events that are late, twice, in the wrong order or missing; streams that end, within a line too, or by ERROR 410.

What a real server never does is lose an event without a word, so a stream that has lost one, or told it in the wrong order,
ends by ERROR 410 within five seconds.

Which fault the k-th call of a method and path gets depends on the seed alone, so that a run can be had again.
"""
import http.client
import http.server
import json
import queue
import random
import socket
import socketserver
import ssl
import struct
import threading
import time

CALLS = [("delay", 6), ("500", 2), ("503", 2), ("429", 2), ("reset", 3), ("lost", 3), ("half", 3), ("hang", 1)]
WRITES = CALLS + [("409", 3)]
LISTS = CALLS + [("410", 3)]
WATCHES = [("500", 2), ("503", 2), ("429", 2), ("410", 4), ("reset", 4), ("delay", 4)]
EVENTS = [("delay", 8), ("twice", 8), ("drop", 3), ("swap", 5), ("end", 3), ("half", 3), ("gone", 2)]
CALM = 75  # weight of no fault
REASONS = {"409": "Conflict", "410": "Expired", "429": "TooManyRequests", "500": "InternalError", "503": "ServiceUnavailable"}
HOP = {"connection", "transfer-encoding", "content-length", "accept-encoding", "host"}
GONE = json.dumps({"type": "ERROR", "object": {
    "kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Expired", "code": 410,
    "message": "too old resource version"}}).encode() + b"\n"


class Faults:
    """Decides, counts and notes them."""

    def __init__(self, seed, note):
        self.seed, self.note = seed, open(note, "w", encoding="utf-8")
        self.quiet = threading.Event()
        self.lock = threading.Lock()
        self.calls, self.dealt = {}, {}

    def rng(self, key):
        """The random numbers of the next call of key."""
        with self.lock:
            self.calls[key] = k = self.calls.get(key, 0) + 1
        return random.Random(f"{self.seed}/{key}/{k}"), k

    def pick(self, rng, of, what, key, k):
        names, weights = zip(*([("", CALM)] + of))
        fault = rng.choices(names, weights)[0]
        if self.quiet.is_set():
            return ""
        if fault:
            with self.lock:
                self.dealt[what + fault] = self.dealt.get(what + fault, 0) + 1
                self.note.write(f"{time.time():.3f} {key} #{k} {what}{fault}\n")
                self.note.flush()
        return fault


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format, *args):
        pass

    def reset(self):
        """An RST instead of an orderly end."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        socket.socket.close(self.connection)
        self.close_connection = True

    def forward(self, body):
        upstream = http.client.HTTPSConnection(self.server.address, context=self.server.tls, timeout=400)
        headers = {k: v for k, v in self.headers.items() if k.lower() not in HOP}
        upstream.request(self.command, self.path, body or None, headers)
        return upstream.getresponse()

    def answer(self, status, headers, body, cut=None):
        self.send_response_only(status)
        for k, v in headers:
            self.send_header(k, v)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[:cut])

    def invented(self, code):
        body = json.dumps({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": REASONS[code], "code": int(code),
                           "message": "by the fault proxy"}).encode()
        headers = [("Content-Type", "application/json")] + ([("Retry-After", "1")] if code == "429" else [])
        self.answer(int(code), headers, body)

    def handle_any(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path, _, parameters = self.path.partition("?")
        watch = "watch=true" in parameters or "watch=1" in parameters
        key = f"{'WATCH' if watch else self.command} {path}"
        faults = self.server.faults
        rng, k = faults.rng(key)
        among = WATCHES if watch else LISTS if self.command == "GET" else WRITES
        fault = faults.pick(rng, among, "watch " if watch else "", key, k)
        if fault in REASONS:
            return self.invented(fault)
        if fault == "reset":
            return self.reset()
        if fault in ("delay", "hang"):
            faults.quiet.wait(rng.uniform(0.05, 1) if fault == "delay" else rng.uniform(3, 12))
        upstream = self.forward(body)
        if watch and upstream.status == 200:
            return self.watch(upstream, rng, key, k)
        answer = upstream.read()
        if fault == "lost":
            return self.reset()
        headers = [(k, v) for k, v in upstream.getheaders() if k.lower() not in HOP]
        self.answer(upstream.status, headers, answer, len(answer) // 2 if fault == "half" else None)
        if fault == "half":
            self.reset()

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any

    def chunk(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def gone(self):
        """Whoever watches has to list again."""
        self.chunk(GONE)
        self.end()

    def end(self):
        self.wfile.write(b"0\r\n\r\n")
        self.close_connection = True

    def watch(self, upstream, rng, key, k):
        lines = queue.Queue()

        def read():
            try:
                for line in iter(upstream.readline, b""):
                    lines.put(line)
            except (OSError, http.client.HTTPException, AttributeError, ValueError):
                pass
            lines.put(b"")

        threading.Thread(target=read, daemon=True).start()
        self.send_response_only(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            self.events(lines, rng, key, k)
        finally:
            upstream.close()

    def events(self, lines, rng, key, k):
        """Until the stream ends; held: an event that comes after the next; lost: when the stream has to end."""
        faults, held, lost = self.server.faults, None, None
        while True:
            if lost and (time.monotonic() > lost or faults.quiet.is_set()):
                return self.gone()
            try:
                line = lines.get(timeout=0.5)
            except queue.Empty:
                if held:
                    self.chunk(held)
                    held = None
                continue
            if not line:
                return self.end()
            fault = faults.pick(rng, EVENTS, "event ", key, k)
            if fault == "drop" or fault == "swap":
                lost = lost or time.monotonic() + 5 * rng.random()
            if fault == "drop":
                continue
            if fault == "swap" and not held:
                held = line
                continue
            if fault == "delay":
                faults.quiet.wait(rng.uniform(0.1, 3))
            if fault == "gone" or (lost and fault in ("end", "half")):
                return self.gone()
            if fault == "end":
                return self.end()
            if fault == "half":
                self.chunk(line[:len(line) // 2])
                return self.reset()
            self.chunk(line + line if fault == "twice" else line)
            if held:
                self.chunk(held)
                held = None


class Proxy(socketserver.ThreadingMixIn, http.server.HTTPServer):
    """TLS on 127.0.0.1 by the certificate and key in the file pair; to the API server at address."""
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, pair, address, tls, faults):
        super().__init__(("127.0.0.1", 0), Handler)
        self.address, self.tls, self.faults = address, tls, faults
        self.own = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.own.load_cert_chain(pair)

    def finish_request(self, request, client_address):
        request.settimeout(30)
        request = self.own.wrap_socket(request, server_side=True)
        request.settimeout(None)
        try:
            self.RequestHandlerClass(request, client_address, self)
        finally:
            request.close()

    def handle_error(self, request, client_address):
        """Clients that went away are what this is about."""
