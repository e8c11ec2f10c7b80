"""api.py - the API server for the test programs of this folder, as the admin of the bed; run inside it."""
import base64
import http.client
import json
import ssl
import subprocess
import tempfile
import threading
import urllib.parse

GROUP = "/apis/celld-operator.io/v1alpha1"


class Refused(Exception):
    """An answer of 300 or more, but 404."""

    def __init__(self, status, text):
        super().__init__(f"{status} {text[:400]}")
        self.status = status


def pem(of, name):
    if name + "-data" in of:
        return base64.b64decode(of[name + "-data"])
    with open(of[name], "rb") as file:
        return file.read()


class Api:
    """One connection for each thread."""

    def __init__(self):
        config = json.loads(subprocess.check_output(["kubectl", "config", "view", "--raw", "-o", "json"]))
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self.address = urllib.parse.urlparse(cluster["server"]).netloc
        self.tls = ssl.create_default_context(cadata=pem(cluster, "certificate-authority").decode())
        with tempfile.NamedTemporaryFile() as pair:
            pair.write(pem(user, "client-certificate") + b"\n" + pem(user, "client-key"))
            pair.flush()
            self.tls.load_cert_chain(pair.name)
        self.local = threading.local()

    def call(self, method, path, body=None, kind="application/json"):
        """The answer; None: not there."""
        for last in (False, True):
            if not hasattr(self.local, "connection"):
                self.local.connection = http.client.HTTPSConnection(self.address, context=self.tls, timeout=60)
            connection = self.local.connection
            try:
                connection.request(method, path, json.dumps(body) if body is not None else None, {"Content-Type": kind})
                answer = connection.getresponse()
                text = answer.read()
                break
            except (OSError, http.client.HTTPException):
                del self.local.connection
                if last:
                    raise
        if answer.status == 404:
            return None
        if answer.status >= 300:
            raise Refused(answer.status, text.decode())
        return json.loads(text)

    def items(self, path, selector):
        return self.call("GET", f"{path}?labelSelector={urllib.parse.quote(selector)}")["items"]

    def namespace(self, name):
        self.call("POST", "/api/v1/namespaces", {"metadata": {"name": name}})


def apps(namespace):
    return f"{GROUP}/namespaces/{namespace}/workerapps"


def condition(obj, name):
    return next((c for c in obj.get("status", {}).get("conditions", []) if c["type"] == name), {})


def settled(app):
    """Ready, and that of the newest spec."""
    status = (app or {}).get("status", {})
    return status.get("phase") == "Ready" and status.get("observedGeneration") == app["metadata"]["generation"]
