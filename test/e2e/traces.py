#!/usr/bin/env python3
"""traces.py [--parallel N] < TRACES: replays the traces of print_traces on real StatefulSets.

Its format is described in test/rollout/print_traces.c. The StatefulSet controller is the real one; the pods belong to
no node, and this script does to them what a kubelet would: makes them Ready (unless their template is broken, or the
trace says otherwise) and lets them end. A finalizer keeps those that are to linger. So a trace decides when a pod
becomes Ready, nothing has to start, and hundreds of them take a minute.

After each action it waits until the StatefulSet and its pods are in the state that the model expects, and stay so for
some looks; a state that does not come within the deadline is a disagreement.
"""

import argparse
import base64
import concurrent.futures
import http.client
import json
import re
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

NAMESPACE = "traces"
HOLD = "test.celld-operator.io/hold"
REST = 2147483647
LOOKS = 3  # unchanged and as expected, one after the other
DEADLINE = 60.0
ORDINALS = 8


class Api:
    """The API server, one connection per thread."""

    def __init__(self):
        config = json.loads(subprocess.check_output(["kubectl", "config", "view", "--raw", "-o", "json"]))
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        self.address = urllib.parse.urlparse(cluster["server"]).netloc
        self.tls = ssl.create_default_context(cadata=self.pem(cluster, "certificate-authority").decode())
        with tempfile.NamedTemporaryFile() as pair:
            pair.write(self.pem(user, "client-certificate") + b"\n" + self.pem(user, "client-key"))
            pair.flush()
            self.tls.load_cert_chain(pair.name)
        self.local = threading.local()

    @staticmethod
    def pem(of, name):
        if name + "-data" in of:
            return base64.b64decode(of[name + "-data"])
        with open(of[name], "rb") as file:
            return file.read()

    def call(self, method, path, body=None, kind="application/json"):
        """The answer; None: not there. Conflicts and validation are errors of the script."""
        for attempt in (1, 2):
            if not hasattr(self.local, "connection"):
                self.local.connection = http.client.HTTPSConnection(self.address, context=self.tls, timeout=30)
            connection = self.local.connection
            try:
                connection.request(method, path, json.dumps(body) if body is not None else None,
                                   {"Content-Type": kind})
                answer = connection.getresponse()
                text = answer.read()
                break
            except (OSError, http.client.HTTPException):
                del self.local.connection
                if attempt == 2:
                    raise
        if answer.status == 404:
            return None
        if answer.status >= 300:
            raise RuntimeError(f"{method} {path}: {answer.status} {text.decode()[:300]}")
        return json.loads(text)


def statefulset(name, template, partition, replicas):
    labels = {"trace": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": {"traces": "1"}},
        "spec": {
            "replicas": replicas,
            "serviceName": name,
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": labels},
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": partition}},
            "template": {
                "metadata": {"labels": labels | {"traces": "1", "template": str(template)}, "finalizers": [HOLD]},
                "spec": {
                    "schedulerName": "none",
                    "terminationGracePeriodSeconds": 0,
                    "containers": [{"name": "main", "image": "shell:1"}],
                },
            },
        },
    }


def ready(pod):
    return any(c["type"] == "Ready" and c["status"] == "True" for c in pod["status"].get("conditions", []))


class Trace:
    """One trace and its StatefulSet."""

    def __init__(self, number):
        self.name = f"t{number}"
        self.steps = []  # [action words, expected words]
        self.at = -1  # the step whose state is awaited
        self.unready = set()  # uids
        self.lingers = set()  # ordinals
        self.hashes = {}  # revision label -> template
        self.last, self.looks, self.since = None, 0, 0.0
        self.failure = None

    def done(self):
        return self.failure is not None or self.at == len(self.steps)

    def act(self, api, pods):
        """The next action."""
        self.at += 1
        self.last, self.looks, self.since = None, 0, time.monotonic()
        if self.at == len(self.steps):
            return
        what, *args = self.steps[self.at][0]
        if what == "apply":
            partition = REST if args[1] == "rest" else int(args[1])
            body = statefulset(self.name, int(args[0]), partition, int(args[2]))
            where = f"/apis/apps/v1/namespaces/{NAMESPACE}/statefulsets"
            if self.at == 0:
                api.call("POST", where, body)
            else:
                api.call("PATCH", f"{where}/{self.name}", body, "application/strategic-merge-patch+json")
            return
        ordinal = int(args[0])
        if what in ("delete", "linger"):
            if what == "linger":
                self.lingers.add(ordinal)
            pod = pods[ordinal]
            api.call("DELETE", f"/api/v1/namespaces/{NAMESPACE}/pods/{self.name}-{ordinal}",
                     {"preconditions": {"uid": pod["metadata"]["uid"]}})
        elif what == "end":
            self.lingers.discard(ordinal)
        elif what == "unready":
            self.unready.add(pods[ordinal]["metadata"]["uid"])
        else:
            self.unready.discard(pods[ordinal]["metadata"]["uid"])

    def chores(self, pods):
        """What a kubelet would do now: pod, patch, subresource."""
        for ordinal, pod in pods.items():
            if "deletionTimestamp" in pod["metadata"]:
                if ordinal not in self.lingers:
                    yield pod, {"metadata": {"finalizers": None}}, ""
                continue
            broken = int(pod["metadata"]["labels"]["template"]) % 2 == 1
            up = not broken and pod["metadata"]["uid"] not in self.unready
            if up != ready(pod):
                status = "True" if up else "False"
                yield pod, {"status": {"phase": "Running", "conditions": [
                    {"type": "Ready", "status": status, "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}, "/status"

    def state(self, sts, pods):
        """In the words of the model."""
        words = []
        for ordinal in range(ORDINALS):
            pod = pods.get(ordinal)
            if pod is None:
                words.append("-")
                continue
            terminating = "deletionTimestamp" in pod["metadata"]
            words.append(pod["metadata"]["labels"]["template"] +
                         ("T" if terminating else "R" if ready(pod) else "N"))
        status = sts["status"]
        words.append("settled" if status.get("currentRevision") == status.get("updateRevision") else "rolling")
        return words

    def check_hashes(self, pods):
        """The revision label and the template tell the same."""
        for pod in pods.values():
            labels = pod["metadata"]["labels"]
            if self.hashes.setdefault(labels["controller-revision-hash"], labels["template"]) != labels["template"]:
                self.failure = "one revision label for two templates"
        if len(set(self.hashes.values())) != len(self.hashes):
            self.failure = "two revision labels for one template"

    def look(self, sts, pods, busy):
        """True: as expected, and for long enough."""
        self.check_hashes(pods)
        seen = self.state(sts, pods)
        known = [sts["metadata"]["resourceVersion"]] + [p["metadata"]["resourceVersion"] for p in pods.values()]
        expected = self.steps[self.at][1]
        current = sts["status"].get("observedGeneration") == sts["metadata"]["generation"]
        if busy or not current or seen != expected:
            self.looks = 0
        elif known != self.last:
            self.looks = 1
        else:
            self.looks += 1
        self.last = known
        if self.looks >= LOOKS:
            return True
        if time.monotonic() - self.since > DEADLINE:
            so_far = "".join(f"\n    {' '.join(a)}\n    = {' '.join(e)}" for a, e in self.steps[:self.at + 1])
            self.failure = f"after {so_far}\n    is {' '.join(seen)}"
        return False


def read_traces(lines):
    traces = []
    for line in lines:
        words = line.split()
        if words[0] == "trace":
            traces.append(Trace(int(words[1])))
        elif words[0] == "=":
            traces[-1].steps[-1].append(words[1:])
        else:
            traces[-1].steps.append([words])
    return traces


def by_trace(api):
    """StatefulSets and pods of all traces. The StatefulSets are read first, so the pods are the newer ones."""
    query = "?labelSelector=traces%3D1"
    sets = {s["metadata"]["name"]: s for s in
            api.call("GET", f"/apis/apps/v1/namespaces/{NAMESPACE}/statefulsets{query}")["items"]}
    pods = {}
    for pod in api.call("GET", f"/api/v1/namespaces/{NAMESPACE}/pods{query}")["items"]:
        name, ordinal = re.fullmatch(r"(.*)-(\d+)", pod["metadata"]["name"]).groups()
        pods.setdefault(name, {})[int(ordinal)] = pod
    return sets, pods


class Replay:
    def __init__(self, api, traces, parallel):
        self.api, self.parallel = api, parallel
        self.waiting, self.running, self.finished = list(reversed(traces)), [], []
        self.workers = concurrent.futures.ThreadPoolExecutor(8)
        self.doing = {}  # (pod's uid, its resourceVersion) -> future

    def patch_pod(self, pod, patch, subresource):
        name = pod["metadata"]["name"]
        self.api.call("PATCH", f"/api/v1/namespaces/{NAMESPACE}/pods/{name}{subresource}",
                      patch | {"metadata": patch.get("metadata", {}) | {"uid": pod["metadata"]["uid"]}},
                      "application/merge-patch+json")

    def do_chores(self, trace, pods):
        """Starts what is to be done; True: something is."""
        busy = False
        for pod, patch, subresource in trace.chores(pods):
            busy = True
            key = (pod["metadata"]["uid"], pod["metadata"]["resourceVersion"])
            if key not in self.doing:
                self.doing[key] = self.workers.submit(self.patch_pod, pod, patch, subresource)
        return busy

    def forget_done(self):
        for key, future in list(self.doing.items()):
            if future.done():
                error = future.exception()
                # a pod that has become another one in between is looked at again
                if error and " 409 " not in str(error) and " 422 " not in str(error):
                    raise error
                del self.doing[key]

    def finish(self, trace):
        self.running.remove(trace)
        self.finished.append(trace)
        trace.lingers.clear()
        self.api.call("DELETE", f"/apis/apps/v1/namespaces/{NAMESPACE}/statefulsets/{trace.name}",
                      {"propagationPolicy": "Background"})

    def turn(self):
        while self.waiting and len(self.running) < self.parallel:
            trace = self.waiting.pop()
            self.running.append(trace)
            trace.act(self.api, {})
        sets, pods = by_trace(self.api)
        self.forget_done()
        for trace in self.finished:  # what is left of it may go
            for pod in pods.get(trace.name, {}).values():
                if "deletionTimestamp" in pod["metadata"]:
                    self.do_chores(trace, {-1: pod})
        for trace in list(self.running):
            mine = pods.get(trace.name, {})
            busy = self.do_chores(trace, mine)
            if trace.name in sets and trace.look(sets[trace.name], mine, busy):
                trace.act(self.api, mine)
            if trace.done():
                self.finish(trace)
        return bool(self.running or self.waiting or pods)

    def run(self):
        while self.turn():
            time.sleep(0.05)  # between two looks


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--parallel", type=int, default=40)
    options = parser.parse_args()
    api = Api()
    traces = read_traces(sys.stdin)
    steps = sum(len(t.steps) for t in traces)
    if not traces:
        sys.exit("traces.py: no trace on stdin")
    if api.call("GET", f"/api/v1/namespaces/{NAMESPACE}") is None:
        api.call("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    begun = time.monotonic()
    replay = Replay(api, traces, options.parallel)
    replay.run()
    failed = [t for t in traces if t.failure]
    for trace in failed:
        print(f"FAILED  {trace.name}: {trace.failure}")
    print(f"{len(traces)} traces, {steps} steps on the real StatefulSet controller in {time.monotonic() - begun:.0f} s")
    print(f"{len(traces) - len(failed)} passed, {len(failed)} failed")
    sys.exit(1 if failed else 0)


main()
