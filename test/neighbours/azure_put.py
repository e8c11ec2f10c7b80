#!/usr/bin/env python3
"""azure_put.py ENDPOINT ACCOUNT KEY CONTAINER [BLOB BODY]: makes a container, or puts a blob into one, in azurite, by a signer
that shares nothing with ours."""
import base64
import hashlib
import hmac
import sys
import urllib.request
from email.utils import formatdate

endpoint, account, key, container = sys.argv[1:5]
blob, body = (sys.argv[5], sys.argv[6].encode()) if len(sys.argv) > 5 else ("", b"")
headers = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": "2021-12-02"}
path = "/%s/%s" % (account, container)
query, resource = "?restype=container", "\nrestype:container"
if blob:
    path, query, resource = path + "/" + blob, "", ""
    headers["x-ms-blob-type"] = "BlockBlob"
signed = "".join("%s:%s\n" % h for h in sorted(headers.items()))
kind = "application/json" if blob else ""
text = "PUT\n\n\n%s\n\n%s\n\n\n\n\n\n\n%s/%s%s%s" % (len(body) or "", kind, signed, account, path, resource)
signature = base64.b64encode(hmac.new(base64.b64decode(key), text.encode(), hashlib.sha256).digest()).decode()
headers["Authorization"] = "SharedKey %s:%s" % (account, signature)
if blob:
    headers["Content-Type"] = kind
url = endpoint + path[len(account) + 1:] + query
urllib.request.urlopen(urllib.request.Request(url, data=body if blob else None, method="PUT", headers=headers))
