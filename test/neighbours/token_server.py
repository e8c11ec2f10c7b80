#!/usr/bin/env python3
"""token_server.py PORT PUBLIC-KEY.pem: gives a token for a JWT that OpenSSL's own program verifies, and that says what Google asks
for (https://developers.google.com/identity/protocols/oauth2/service-account); anything else is refused."""
import base64
import http.server
import json
import subprocess
import sys
import tempfile
import time
import urllib.parse


def part(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def verified(jwt, key):
    signed, _, signature = jwt.rpartition(".")
    with tempfile.NamedTemporaryFile() as f:
        f.write(part(signature))
        f.flush()
        return subprocess.run(["openssl", "dgst", "-sha256", "-verify", key, "-signature", f.name], input=signed.encode(),
                              stdout=subprocess.DEVNULL).returncode == 0


class Token(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        form = urllib.parse.parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        jwt = form["assertion"][0]
        head, claims = (json.loads(part(p)) for p in jwt.split(".")[:2])
        now = time.time()
        good = (form["grant_type"] == ["urn:ietf:params:oauth:grant-type:jwt-bearer"] and head["alg"] == "RS256" and
                claims["iss"] == "celld@test" and claims["aud"].startswith("http://") and "devstorage" in claims["scope"] and
                claims["iat"] <= now + 60 and now < claims["exp"] <= claims["iat"] + 3600 and verified(jwt, sys.argv[2]))
        answer = {"access_token": "t0ken-0f-the-st0re", "expires_in": 3600} if good else {"error": "invalid_grant"}
        body = json.dumps(answer).encode()
        self.send_response(200 if good else 400)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


http.server.ThreadingHTTPServer(("", int(sys.argv[1])), Token).serve_forever()
