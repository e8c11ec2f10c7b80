#!/usr/bin/env python3
"""signatures.py PROGRAM: 200 generated S3 requests, signed by botocore and by our signer (test/neighbours/sign.c): the headers
must be the same. The seed is fixed, so that a failure can be looked at again."""
import random
import subprocess
import sys
import urllib.parse

from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

rng = random.Random(20130524)
letters = "abcXYZ019-._~ /+&=$%!*'(),:;@é漢"


def text(low, high, of=letters):
    return "".join(rng.choice(of) for _ in range(rng.randint(low, high)))


def quote(s, safe):
    return urllib.parse.quote(s, safe=safe + "-._~")


bad = 0
for i in range(200):
    method = rng.choice(["GET", "PUT", "DELETE", "HEAD"])
    key = "/bucket/" + text(1, 30).strip("/").replace("//", "/a/")
    parameters = {text(1, 8, letters.replace("/", "")): text(0, 12) for _ in range(rng.randint(0, 4))}
    query = "&".join("%s=%s" % (quote(k, ""), quote(v, "")) for k, v in parameters.items())
    region = rng.choice(["us-east-1", "eu-central-1", "auto"])
    token = text(10, 40, "abc123/+=") if rng.random() < 0.5 else None
    access, secret = text(16, 20, "ABCDEFGH234567"), text(40, 40, "abcXYZ/+019")
    headers = {"If-None-Match": "*"} if method == "PUT" else {}
    if rng.random() < 0.3:
        headers["x-amz-meta-note"] = text(1, 10, "ab  c\t")
        headers["x-amz-meta-note"] = headers["x-amz-meta-note"].replace("\t", " ").strip() or "x"
    body = text(0, 40).encode() if method == "PUT" else b""
    url = "https://store.example:9000" + quote(key, "/") + ("?" + query if query else "")
    request = AWSRequest(method=method, url=url, headers=headers, data=body)
    S3SigV4Auth(Credentials(access, secret, token), "s3", region).add_auth(request)
    want = request.headers["Authorization"]
    signed = want.split("SignedHeaders=")[1].split(",")[0].split(";")
    pairs = []
    for name in signed:
        pairs += [name, "store.example:9000" if name == "host" else request.headers[name]]
    command = [sys.argv[1], method, key, request.headers["X-Amz-Content-SHA256"], request.headers.get("X-Amz-Date") or
               request.context["timestamp"], region, "s3", access, secret, *pairs, "--"]
    for k, v in parameters.items():
        command += [k, v]
    got = subprocess.run(command, capture_output=True, check=True).stdout.decode().split("\n")
    if got[0] != want:
        bad += 1
        print("request %d: %s %s\n  botocore %s\n  ours     %s %s?%s" % (i, method, url, want, got[0], got[1], got[2]))
print("%d requests, %d signatures differ" % (200, bad))
sys.exit(bad != 0)
