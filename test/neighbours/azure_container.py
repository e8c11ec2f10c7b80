#!/usr/bin/env python3
"""azure_container.py ENDPOINT ACCOUNT KEY NAME: makes a container in azurite, by a signer that shares nothing with ours."""
import base64
import hashlib
import hmac
import sys
import urllib.request
from email.utils import formatdate

endpoint, account, key, name = sys.argv[1:]
date = formatdate(usegmt=True)
path = "/%s/%s" % (account, name)
text = "PUT\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:%s\nx-ms-version:2021-12-02\n/%s%s\nrestype:container" % (date, account, path)
signature = base64.b64encode(hmac.new(base64.b64decode(key), text.encode(), hashlib.sha256).digest()).decode()
request = urllib.request.Request(endpoint + path + "?restype=container", method="PUT", headers={
    "x-ms-date": date, "x-ms-version": "2021-12-02", "Authorization": "SharedKey %s:%s" % (account, signature)})
urllib.request.urlopen(request)
