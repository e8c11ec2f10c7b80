#!/usr/bin/env python3
"""Clients of a fleet, as they are outside of it.

load ADDRESS HOST PATH COUNT STOP   asks until COUNT requests are done and the file STOP is there; a 503 is asked again once,
                                    after the second that Retry-After names. Prints one JSON document.
socket ADDRESS HOST PATH STOP       holds one WebSocket, says a number each 50 ms and wants it back; ends when STOP is there.
"""
import base64
import collections
import http.client
import json
import os
import socket
import struct
import sys
import threading
import time

WORKERS = 8


def ask(address, host, path):
    """The status of one request on a connection of its own, or what went wrong."""
    connection = http.client.HTTPConnection(address, timeout=20)
    try:
        connection.request("GET", path, headers={"Host": host})
        answer = connection.getresponse()
        answer.read()
        return str(answer.status), float(answer.getheader("Retry-After") or 1)
    except (OSError, http.client.HTTPException) as e:
        return type(e).__name__, 1.0
    finally:
        connection.close()


def load(address, host, path, count, stop):
    lock, first, second = threading.Lock(), collections.Counter(), collections.Counter()

    def work():
        while sum(first.values()) < int(count) or not os.path.exists(stop):
            status, wait = ask(address, host, path)
            with lock:
                first[status] += 1
            if status == "503":
                time.sleep(wait)
                status, _ = ask(address, host, path)
                with lock:
                    second[status] += 1
            time.sleep(0.02)

    threads = [threading.Thread(target=work) for _ in range(WORKERS)]
    start = time.monotonic()
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    total = sum(first.values())
    other = total - first["200"] - first["503"]
    print(json.dumps({"requests": total, "seconds": round(time.monotonic() - start, 1), "first": first, "again": second,
                      "failed_without_retry": total - first["200"], "failed": other + sum(second.values()) - second["200"]}))


def frame(text):
    mask = os.urandom(4)
    return bytes([0x81, 0x80 | len(text)]) + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(text))


def read(stream, size):
    data = b""
    while len(data) < size:
        more = stream.recv(size - len(data))
        if not more:
            raise ConnectionError("it was closed")
        data += more
    return data


def hold(address, host, path, stop):
    name, port = address.rsplit(":", 1)
    stream = socket.create_connection((name, int(port)), timeout=20)
    key = base64.b64encode(os.urandom(16)).decode()
    stream.sendall((f"GET {path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                    f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n").encode())
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += read(stream, 1)
    status = head.split(b"\r\n", 1)[0].decode()
    if " 101 " not in status + " ":
        sys.exit(f"no WebSocket: {status}")
    print("open", flush=True)
    said, start = 0, time.monotonic()
    while not os.path.exists(stop):
        text = str(said).encode()
        stream.sendall(frame(text))
        code, size = struct.unpack("BB", read(stream, 2))
        back = read(stream, size)
        if code != 0x81 or back != text:
            sys.exit(f"after {said} messages: frame {code:#x} {back!r}")
        said += 1
        time.sleep(0.05)
    print(f"{said} messages in {time.monotonic() - start:.1f} s", flush=True)


if __name__ == "__main__":
    {"load": load, "socket": hold}[sys.argv[1]](*sys.argv[2:])
