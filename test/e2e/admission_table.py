#!/usr/bin/env python3
"""admission_table.py CERTIFICATES RANDOM POLICIES: the cases of test/admission/ against the API server of KUBECONFIG and a celld-webhook of our own.

Run where the API server can reach 127.0.0.1, with no controller and no webhook configuration of the operator. CERTIFICATES holds
ca.crt, tls.crt and tls.key for localhost. Twice: with definitions that take any spec, so that the webhook answers each case, in the
words of the table; then with the real ones, where the schema may refuse first, in its own words. Every request is a dry run.
RANDOM holds WorkerApps as lines `allowed|refused JSON`, the offline verdict: the schema refuses none of the allowed ones, and
schema and webhook together say the same of each. POLICIES are the chart's ValidatingAdmissionPolicies: with definitions that have no rules of
their own and without a webhook they refuse what the real definitions refuse, and nothing that the table allows.
Prints a line per case that is not as it says, and `N agree, N differ, N cannot be sent` for each round.
"""

import base64
import copy
import glob
import http.client
import json
import os
import ssl
import subprocess
import sys
import time
import urllib.parse

import yaml

ROOT = os.path.dirname(os.path.abspath(__file__)) + "/../.."
TABLE = ROOT + "/test/admission"
PORT, HEALTH = 19443, 19081
GROUP = "/apis/celld-operator.io/v1alpha1"
PLURALS = {"WorkerApp": "workerapps", "CelldObjectStore": "celldobjectstores"}
SETUP = "admission-table-setup"  # whom no webhook is asked about
# What the webhook says only because it has no API server to ask.
ALONE = "the other WorkerApps are not known at the moment"


class Server:
    """Requests to the API server of the kubeconfig."""

    def __init__(self):
        config = yaml.safe_load(open(os.environ["KUBECONFIG"].split(":")[0]))
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        url = urllib.parse.urlparse(cluster["server"])
        context = ssl.create_default_context(cadata=self.pem(cluster, "certificate-authority").decode())
        context.check_hostname = False
        self.token = user.get("token")
        if not self.token:
            for part in ("certificate", "key"):
                with open("%s/client.%s" % (sys.argv[1], part), "wb") as f:
                    f.write(self.pem(user, "client-" + part))
            context.load_cert_chain(sys.argv[1] + "/client.certificate", sys.argv[1] + "/client.key")
        self.connection = http.client.HTTPSConnection(url.hostname, url.port or 443, context=context, timeout=30)

    @staticmethod
    def pem(of, name):
        return base64.b64decode(of[name + "-data"]) if name + "-data" in of else open(of[name], "rb").read()

    def ask(self, method, path, body=None, setup=False, form="application/json"):
        """(status, answer, warnings)"""
        headers = {"Content-Type": form, "Accept": "application/json"}
        if self.token:
            headers["Authorization"] = "Bearer " + self.token
        if setup:
            headers.update({"Impersonate-User": SETUP, "Impersonate-Group": "system:masters"})
        self.connection.request(method, path, None if body is None else json.dumps(body), headers)
        r = self.connection.getresponse()
        text = r.read()
        warnings = [w.split(" ", 2)[2].strip('"').replace('\\"', '"') for w in r.headers.get_all("Warning") or []]
        return r.status, json.loads(text), warnings

    def must(self, *args, **kw):
        status, answer, _ = self.ask(*args, **kw)
        if status >= 300:
            sys.exit("%s %s: %s" % (args[0], args[1], json.dumps(answer)[:600]))
        return answer


server = Server()


def until(what, f, seconds=20):
    end = time.monotonic() + seconds
    while not f():
        if time.monotonic() > end:
            sys.exit("still not so after %d s: %s" % (seconds, what))
        time.sleep(0.05)


# --- the cases -------------------------------------------------------------------------------------

def lay_over(to, change):
    for name, value in (change or {}).items():
        if value is None:
            to.pop(name, None)
        elif isinstance(value, dict) and isinstance(to.get(name), dict):
            lay_over(to[name], value)
        else:
            to[name] = copy.deepcopy(value)


class Case:
    def __init__(self, file, row, number):
        self.id, self.row, self.number = "%s: %s" % (file, row["name"]), row, number
        self.kind = row.get("kind", "WorkerApp")
        base = yaml.safe_load(open("%s/base/%s.yaml" % (TABLE, self.kind.lower())))
        self.object, self.old = copy.deepcopy(base), None
        if "old" in row:
            self.old = base
            lay_over(self.old, row["old"])
            lay_over(self.object, row["old"])
        for part in ("metadata", "spec", "status"):
            if part in row:
                lay_over(self.object, {part: row[part]})
        lay_over(self.object, row.get("object"))
        self.context = json.dumps([row.get(k) for k in ("policy", "table", "defaults")])
        self.namespace = self.object["metadata"]["namespace"]
        if self.stored() and not row.get("others") and self.namespace == "acme":
            self.namespace = "case-%d" % number  # where nothing else is stored
            for o in filter(None, (self.object, self.old)):
                o["metadata"]["namespace"] = self.namespace
        self.version = None

    def can_be_sent(self):
        """By an API server: it looks at operation, subresource, kind and number itself, and writes the review."""
        return "review" not in self.row and self.row.get("operation", "CREATE") in ("CREATE", "DELETE") and self.row.get("subResource", "status") == "status" \
            and "kind" not in self.row.get("object", {})

    def path(self, name=True):
        meta = self.object["metadata"]
        p = "%s/namespaces/%s/%s" % (GROUP, self.namespace, PLURALS.get(self.kind, "workerapps"))
        return p + "/" + meta["name"] if name else p

    def stored(self):
        """What must be there before the request; a Scale is of an app, a deletion of what it deletes."""
        if self.kind == "Scale":
            if any(o["metadata"]["name"] == self.object["metadata"]["name"] for o in self.row.get("others", [])):
                return None
            app = yaml.safe_load(open(TABLE + "/base/workerapp.yaml"))
            app["metadata"] = {"name": self.object["metadata"]["name"], "namespace": self.namespace}
            app["spec"]["replicas"] = self.old["spec"]["replicas"]
            return app
        return self.object if self.row.get("operation") == "DELETE" else self.old

    def store(self):
        o = self.stored()
        if not o:
            return
        o = copy.deepcopy(o)
        o["metadata"].pop("deletionTimestamp", None)
        self.version = put(o)
        if self.old and "deletionTimestamp" in self.old["metadata"]:
            self.version = server.must("DELETE", self.path(), setup=True)["metadata"]["resourceVersion"]

    def unstore(self):
        o = self.stored()
        if o:
            remove(o)

    def send(self, setup=False):
        operation, body = self.row.get("operation", "UPDATE" if self.old else "CREATE"), copy.deepcopy(self.object)
        if operation == "DELETE":
            return server.ask("DELETE", self.path() + "?dryRun=All", setup=setup)
        if operation == "CREATE":
            return server.ask("POST", self.path(False) + "?dryRun=All", body, setup=setup)
        if self.kind == "Scale":
            return server.ask("PUT", self.path() + "/scale?dryRun=All", body, setup=setup)
        body["metadata"]["resourceVersion"] = self.version
        sub = "/" + self.row["subResource"] if "subResource" in self.row else ""
        return server.ask("PUT", self.path() + sub + "?dryRun=All", body, setup=setup)

    def judge(self, strict):
        """Why the answer is not what the case says, or None."""
        status, answer, warnings = self.send()
        if status == 409 and self.version:  # the garbage collector has been there
            self.version = server.must("GET", self.path())["metadata"]["resourceVersion"]
            status, answer, warnings = self.send()
        refused = status in (400, 403, 405, 422)
        if status >= 300 and not refused:
            return "answered %d: %s" % (status, answer.get("message", "")[:400])
        if refused != (self.row["verdict"] == "refused" or strict and self.row.get("schema") == "refused"):
            return "not %s: %s" % (self.row["verdict"], answer.get("message", "")[:400])
        if not refused:
            missing = [w for w in self.row.get("warnings", []) if not any(says(w, x) for x in warnings)]
            # A webhook that is asked about an app of today has something to say of every kind of app.
            return "no warning %s in %s" % (missing, warnings) if missing else None
        if "admission webhook" not in answer.get("message", ""):
            return None if strict or self.refused_by_server() else "the API server itself refused: " + answer.get("message", "")[:400]
        if "generateName" in self.object["metadata"]:
            return None  # the API server has made the name already, and the webhook judges that one
        said = ["%s: %s" % (c.get("field"), c.get("message")) for c in answer.get("details", {}).get("causes", [])]
        wanted = [f.split(" ", 1)[1] for f in self.row["faults"]]
        if len(said) != len(wanted) or not all(map(says, wanted, said)):
            return "other faults: " + "\n    ".join(said)
        return None

    def refused_by_server(self):
        """Before any schema: an object without a name; a number of pods that is no number of pods."""
        rules = {f.split(" ", 1)[0] for f in self.row["faults"]}
        spec = self.object.get("spec", {})
        replicas = spec.get("replicas", 1) if isinstance(spec, dict) else None
        return bool({"name-required", "replicas-type"} & rules) or not isinstance(replicas, int) or not 0 <= replicas < 1 << 31


def says(wanted, said):
    at = 0
    for i, part in enumerate(wanted.split(" ... ")):
        found = said.find(part, at)
        if found < 0 or (i == 0 and found > 0):
            return False
        at = found + len(part)
    return True


def put(o):
    """Stores an object without asking a webhook; its status too. Returns its resourceVersion."""
    path = "%s/namespaces/%s/%s" % (GROUP, o["metadata"]["namespace"], PLURALS[o["kind"]])
    got = server.must("POST", path, o, setup=True)
    if "status" in o:
        got["status"] = o["status"]
        got = server.must("PUT", "%s/%s/status" % (path, o["metadata"]["name"]), got, setup=True)
    return got["metadata"]["resourceVersion"]


def remove(o):
    path = "%s/namespaces/%s/%s/%s" % (GROUP, o["metadata"]["namespace"], PLURALS[o["kind"]], o["metadata"]["name"])
    server.ask("PATCH", path, {"metadata": {"finalizers": None}}, setup=True, form="application/merge-patch+json")
    server.ask("DELETE", path, setup=True)


# --- definitions, webhook --------------------------------------------------------------------------

WRONG = {"spec": {"bucket": 7, "region": 7}}  # what no schema takes
RULED = {"WorkerApp": {"spec": {"hostnames": ["a_b"]}}, "CelldObjectStore": {"spec": {"endpoint": "minio"}}}  # what a rule refuses


def is_taken(kind, change):
    o = yaml.safe_load(open("%s/base/%s.yaml" % (TABLE, kind.lower())))
    o["metadata"]["name"] = "probe"
    lay_over(o, change)
    return server.ask("POST", "%s/namespaces/acme/%s?dryRun=All" % (GROUP, PLURALS[kind]), o, setup=True)[0] < 300


def without_rules(schema):
    """The schema without its rules in CEL."""
    if isinstance(schema, list):
        return [without_rules(s) for s in schema]
    if not isinstance(schema, dict):
        return schema
    return {k: without_rules(v) for k, v in schema.items() if k != "x-kubernetes-validations"}


def define(strict, rules=True):
    for file in PLURALS.values():
        crd = yaml.safe_load(open("%s/crd/%s.yaml" % (ROOT, file)))
        version = crd["spec"]["versions"][0]
        if not strict:
            any_ = {"x-kubernetes-preserve-unknown-fields": True}
            version["schema"]["openAPIV3Schema"] = {"type": "object", "properties": {"spec": any_, "status": any_}}
        if not rules:
            version["schema"] = without_rules(version["schema"])
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/%s.celld-operator.io" % file
        crd["metadata"]["resourceVersion"] = server.must("GET", path)["metadata"]["resourceVersion"]
        server.must("PUT", path, crd)

    until("the definitions are in force", lambda: all(
        is_taken(k, WRONG) != strict and is_taken(k, RULED[k]) != (strict and rules) for k in PLURALS))


def configure():
    """Webhook configurations that send everything but our own preparations to 127.0.0.1."""
    ca = base64.b64encode(open(sys.argv[1] + "/ca.crt", "rb").read()).decode()
    for kind in ("Mutating", "Validating"):
        hooks = []
        for name, resource in (("workerapp", "workerapps"), ("workerapp-scale", "workerapps/scale"),
                               ("celldobjectstore", "celldobjectstores")):
            if kind == "Mutating" and name != "workerapp":
                continue
            hooks.append({
                "name": "%s.%s.table.celld-operator.io" % (kind.lower(), name),
                "clientConfig": {"url": "https://localhost:%d/%s-%s" % (PORT, "mutate" if kind == "Mutating" else "validate", name),
                                 "caBundle": ca},
                "rules": [{"apiGroups": ["celld-operator.io"], "apiVersions": ["v1alpha1"],
                           "operations": ["CREATE", "UPDATE"], "resources": [resource]}],
                "matchConditions": [{"name": "not-ours", "expression": "request.userInfo.username != '%s'" % SETUP}],
                "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Fail", "timeoutSeconds": 5})
        path = "/apis/admissionregistration.k8s.io/v1/%swebhookconfigurations" % kind.lower()
        server.ask("DELETE", path + "/admission-table")
        server.must("POST", path, {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind + "WebhookConfiguration",
                                   "metadata": {"name": "admission-table"}, "webhooks": hooks})


class Webhook:
    """A celld-webhook for one context."""

    def __init__(self, context="[null, null, null]", kubeconfig=False):
        argv = [os.environ["WEBHOOK"], "--bind-address", "127.0.0.1:%d" % PORT, "--tls-cert-file", sys.argv[1] + "/tls.crt",
                "--tls-key-file", sys.argv[1] + "/tls.key", "--metrics-bind-address", "127.0.0.1:0",
                "--health-probe-bind-address", "127.0.0.1:%d" % HEALTH, "--lame-duck", "0s", "--log-level", "warn"]
        for flag, value in zip(("policy", "compat-table", "defaults"), json.loads(context)):
            if value is not None:
                file = "%s/%s.json" % (sys.argv[1], flag)
                with open(file, "w") as f:
                    json.dump(value, f)
                argv += ["--" + flag, file]
        env = dict(os.environ)
        if kubeconfig:
            argv += ["--kubeconfig", env["KUBECONFIG"]]
        else:
            env.update(KUBECONFIG="/nonexistent", HOME="/nonexistent")
        self.process = subprocess.Popen(argv, env=env)
        until("the webhook is ready", self.is_ready)

    def is_ready(self):
        if self.process.poll() is not None:
            sys.exit("the webhook has ended")
        try:
            c = http.client.HTTPConnection("127.0.0.1", HEALTH, timeout=5)
            c.request("GET", "/readyz")
            return c.getresponse().status == 200
        except OSError:
            return False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait(30)


# --- the rounds ------------------------------------------------------------------------------------

def tell(round_, cases, wrong, unsent):
    for c, why in wrong:
        print("differs: %s: %s" % (c.id, why))
    print("%s: %d agree, %d differ, %d cannot be sent" % (round_, len(cases) - len(wrong) - len(unsent), len(wrong), len(unsent)))


def run(round_, cases, strict):
    unsent = [c for c in cases if not c.can_be_sent()]
    wrong = []
    for context in sorted({c.context for c in cases}):
        with Webhook(context):
            until("the webhook is asked", is_asked)
            for c in cases:
                if c.context == context and c not in unsent:
                    why = c.judge(strict)
                    if why:
                        wrong.append((c, why))
    tell(round_, cases, wrong, unsent)
    return len(wrong)


def is_asked():
    """The API server has the configuration and a connection: what a webhook of any context refuses, and no schema, is refused."""
    o = yaml.safe_load(open(TABLE + "/base/workerapp.yaml"))
    o["spec"].update(celld={"image": "celld:v0.6.2"}, vars={"secretRef": "keys"})
    status, answer, _ = server.ask("POST", GROUP + "/namespaces/acme/workerapps?dryRun=All", o)
    return status == 422 and "denied the request" in answer["message"] and "spec.vars" in answer["message"]


def run_random():
    """The schema alone, whom only our preparations meet, and both."""
    wrong = refused = 0
    lines = open(sys.argv[2]).read().splitlines()
    path = GROUP + "/namespaces/acme/workerapps?dryRun=All"
    with Webhook():
        until("the webhook is asked", is_asked)
        for line in lines:
            offline, text = line.split(" ", 1)
            schema, both = (server.ask("POST", path, json.loads(text), setup=setup) for setup in (True, False))
            refused += schema[0] >= 300
            if (schema[0] >= 300 and offline == "allowed") or (both[0] < 300) != (offline == "allowed"):
                wrong += 1
                print("differs: offline %s, schema %d, both %d: %s: %s" % (
                    offline, schema[0], both[0], both[1].get("message", "")[:300], text))
    print("random: %d agree, %d differ, %d refused by the schema alone" % (len(lines) - wrong, wrong, refused))
    return wrong


def kubectl(*argv):
    subprocess.run(("kubectl",) + argv, check=True, stdout=subprocess.DEVNULL)


def run_policies(cases):
    cases = [c for c in cases if c.can_be_sent() and c.kind in PLURALS and "defaults" not in c.row]
    schema = [c.send(setup=True)[0] >= 300 for c in cases]
    define(strict=True, rules=False)
    plain = [c.send(setup=True)[0] >= 300 for c in cases]
    kubectl("apply", "-f", sys.argv[3])
    until("the policies are in force", lambda: not any(is_taken(k, RULED[k]) for k in PLURALS))
    wrong = ruled = more = 0
    for c, refused, type_ in zip(cases, schema, plain):
        status, answer, _ = c.send(setup=True)
        allowed = c.row["verdict"] == "allowed" and "schema" not in c.row
        if (status >= 300 and allowed) or (status < 300 and refused and not c.old):
            wrong += 1
            print("differs: %s: %s, the schema %s, the policies %d: %s" % (
                c.id, c.row["verdict"], "refuses" if refused else "allows", status, answer.get("message", "")[:400]))
        ruled += status >= 300 and not type_
        more += status >= 300 and not refused
    kubectl("delete", "-f", sys.argv[3])
    define(strict=True)
    print("policies: %d agree, %d differ, %d refused by a policy, %d of them by no definition" % (len(cases) - wrong, wrong, ruled, more))
    return wrong + (not more)


def run_with_others(cases):
    wrong = []
    with Webhook(kubeconfig=True):
        until("the webhook is asked", is_asked)
        for c in cases:
            others = c.row["others"]
            for o in others:
                o = copy.deepcopy(o)
                if c.kind == "Scale" and o["metadata"]["name"] == c.object["metadata"]["name"]:
                    o["spec"]["replicas"] = c.old["spec"]["replicas"]
                put(o)
            itself = any(o["kind"] == c.kind and o["metadata"]["name"] == c.object["metadata"]["name"] for o in others)
            if itself:
                c.version = server.must("GET", c.path())["metadata"]["resourceVersion"]
            else:
                c.store()
            probe = copy.deepcopy([o for o in others if o["kind"] == "WorkerApp"][0])
            probe["metadata"]["name"] = "probe"
            where = "%s/namespaces/%s/workerapps?dryRun=All" % (GROUP, probe["metadata"]["namespace"])
            until("the webhook has seen the others", lambda: "the same as the bucket prefix" in
                  server.ask("POST", where, probe)[1].get("message", ""))
            why, end = "", time.monotonic() + 10
            while why is not None and time.monotonic() < end:
                why = c.judge(False)  # until it has forgotten the case before
            if why:
                wrong.append((c, why))
            for o in others:
                remove(o)
            if not itself:
                c.unstore()
    tell("beside others", cases, wrong, [])
    return len(wrong)


def ensure(namespace):
    server.ask("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})


def main():
    cases = []
    for path in sorted(glob.glob(TABLE + "/*.yaml")):
        for row in yaml.safe_load(open(path)):
            cases.append(Case(os.path.basename(path), row, len(cases)))
    for namespace in sorted({c.namespace for c in cases} | {"acme", "shop"}):
        ensure(namespace)
    define(strict=False)
    configure()
    differ = run_with_others([c for c in cases if c.row.get("others")])
    cases = [c for c in cases if not c.row.get("others")]
    for c in cases:
        if c.can_be_sent():
            c.store()
    differ += run("any schema", cases, strict=False)
    define(strict=True)
    differ += run("the real schema", cases, strict=True) + run_random() + run_policies(cases)
    for kind in ("mutating", "validating"):
        server.must("DELETE", "/apis/admissionregistration.k8s.io/v1/%swebhookconfigurations/admission-table" % kind)
    for c in cases:
        if c.can_be_sent():
            c.unstore()
    for namespace in sorted({c.namespace for c in cases} | {"acme", "shop"}):
        server.ask("DELETE", "/api/v1/namespaces/" + namespace)
    return differ != 0


if __name__ == "__main__":
    sys.exit(main())
