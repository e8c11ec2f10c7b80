#!/usr/bin/env python3
"""sequence.py TRANSITIONS WALKS SEED POINTERS - random walks of WorkerApps over the fields of their spec.

After each change the app has to settle, and all that the operator made of it (objects, pods, status) has to be what a fresh
install of the same spec, in a namespace of its own, gets. Only these differ: what the API server hands out (addresses, UIDs (celld-operator.io/app-uid too),
times, revisions, zones), the names of the namespace and of the bucket, celld-operator.io/intent (a digest that the bucket's name goes
into), and celld-operator.io/app-version, which says what a pod started with, under InPlace and after it: neither it nor a switch
of policy restarts a pod, so that the annotation stays behind until the next version under Restart.

WALKS walks go side by side, each by its own random numbers, so that SEED repeats each of them. POINTERS: where celld-sim finds
what buckets hold. Run inside the bed. Prints a line for each change and the count last; exit status 1 when one was not as it
has to be.
"""
import concurrent.futures
import json
import os
import random
import re
import sys
import threading
import time

import api
import changes

SELECTOR = "celld-operator.io/workerapp=web"
SETTLES = float(os.environ.get("SETTLES", 150))  # s, on a machine that has other work to do
KINDS = {
    "ServiceAccount": "/api/v1/namespaces/{}/serviceaccounts",
    "Service": "/api/v1/namespaces/{}/services",
    "StatefulSet": "/apis/apps/v1/namespaces/{}/statefulsets",
    "PodDisruptionBudget": "/apis/policy/v1/namespaces/{}/poddisruptionbudgets",
    "NetworkPolicy": "/apis/networking.k8s.io/v1/namespaces/{}/networkpolicies",
    "Ingress": "/apis/networking.k8s.io/v1/namespaces/{}/ingresses",
    "Pod": "/api/v1/namespaces/{}/pods",
}
HANDED_OUT = {"celld-operator.io/app-uid", "clusterIP", "clusterIPs", "nodePort", "ipFamilies", "nodeName", "volumeName"}
AMONG = [changes.ROLLING, changes.ROLLING, changes.QUIET, changes.SIZES, changes.STOPPING]
server = api.Api()
lock = threading.Lock()
counts = {"changes": 0, "refused": 0, "failed": 0}


def say(text):
    with lock:
        print(text, flush=True)


def strip(value):
    if isinstance(value, dict):
        return {k: strip(v) for k, v in value.items() if k not in HANDED_OUT}
    return [strip(v) for v in value] if isinstance(value, list) else value


def without(of, *names):
    return {k: v for k, v in (of or {}).items() if k not in names}


def essence(kind, obj, in_place):
    """What of an object has to be the same."""
    meta = obj["metadata"]
    dropped = ["celld-operator.io/intent"] + (["celld-operator.io/app-version"] if in_place else [])
    left = without(strip(obj), "metadata", "status", "apiVersion", "kind", "secrets")
    template = left.get("spec", {}).get("template", {}).get("metadata", {})
    if "annotations" in template:
        template["annotations"] = without(template["annotations"], *dropped)
    if kind == "Service" and obj["spec"].get("clusterIP") == "None":
        left["headless"] = True
    return {
        "labels": without(meta.get("labels"), "controller-revision-hash", "topology.kubernetes.io/zone", "topology.kubernetes.io/region"),
        "annotations": without(meta.get("annotations"), *dropped),
        "owners": [[o["kind"], o["name"], o.get("controller")] for o in meta.get("ownerReferences", [])],
        "leaves": "deletionTimestamp" in meta,
        **left,
    }


def made(namespace, in_place):
    """All that there is of the app, by `kind/name`, without the namespace's name."""
    found = {}
    for kind, path in KINDS.items():
        for obj in server.items(path.format(namespace), SELECTOR):
            found[f"{kind}/{obj['metadata']['name']}"] = essence(kind, obj, in_place)
    status = server.call("GET", api.apps(namespace) + "/web").get("status", {})
    found["status"] = {
        **{k: status.get(k) for k in ("phase", "expectedAppVersion", "rolledOutAppVersion", "celldVersions", "url", "rollout")},
        "conditions": sorted([c["type"], c["status"], c["reason"]] for c in status.get("conditions", [])),
    }
    return json.loads(json.dumps(found).replace(namespace, "NAMESPACE"))


def differences(a, b, path=""):
    if isinstance(a, dict) and isinstance(b, dict):
        for k in sorted(set(a) | set(b)):
            yield from differences(a.get(k), b.get(k), f"{path}/{k}")
    elif a != b:
        yield f"{path}: {json.dumps(a)}, a fresh install: {json.dumps(b)}"


class Walk:
    def __init__(self, number, seed, pointers, version=None, replicas=1):
        self.rng = random.Random(f"{seed}/{number}")
        self.number, self.pointers = number, pointers
        self.namespace = f"seq{seed}-{number}-walk"
        self.fresh = f"seq{seed}-{number}-fresh"
        self.prepare(self.namespace)
        self.in_place = False  # the annotation app-version may be behind
        self.spec = changes.fleet(f"s3://{self.namespace}/web", version or self.rng.choice(changes.VERSIONS), replicas)
        self.apply(self.namespace, self.spec)

    def prepare(self, namespace):
        server.namespace(namespace)
        for name in changes.SECRETS:
            server.call("POST", f"/api/v1/namespaces/{namespace}/secrets", {"metadata": {"name": name}, "stringData": {
                "token": "x=" + name, "vars.env": f"NAME={name}\n", "AWS_ACCESS_KEY_ID": name, "AWS_SECRET_ACCESS_KEY": name}})

    def apply(self, namespace, spec):
        """Creates or replaces the app; its bucket serves the version at once, as after `celld deploy`."""
        spec = json.loads(json.dumps(spec).replace(self.namespace, namespace))
        found = server.call("GET", api.apps(namespace) + "/web")
        if found:
            found["spec"] = spec
            server.call("PUT", api.apps(namespace) + "/web", found)
        else:
            server.call("POST", api.apps(namespace), {
                "apiVersion": "celld-operator.io/v1alpha1", "kind": "WorkerApp", "metadata": {"name": "web"}, "spec": spec})
        version = spec["appVersion"]
        place = os.path.join(self.pointers, re.sub("[^A-Za-z0-9]", "_", spec["bucket"]["name"]))
        with open(place + ".new", "w", encoding="utf-8") as file:
            json.dump({"script_name": "app", "version": version, "prefix": f"deploy/app/{version}", "rollout": {"percent": 100}}, file)
        os.rename(place + ".new", place + ".json")
        self.in_place |= spec.get("deploymentPolicy") == "InPlace"

    def changed(self, among=AMONG):
        """Applies a random change that admission lets through, of the fields of one of these groups."""
        while True:
            fields = self.rng.choice(among)
            spec = changes.change(self.rng, self.spec, fields, [f"{self.namespace}.example.com", f"b.{self.namespace}.example.com"])
            if spec == self.spec:
                continue
            try:
                self.apply(self.namespace, spec)
            except api.Refused as e:
                if e.status not in (403, 422):
                    raise
                counts["refused"] += 1
                continue
            names = sorted(set(d.split(":")[0][1:] for d in differences(self.spec, spec)))
            self.spec = spec
            return ", ".join(names)

    def step(self, number):
        begin, before, what = time.monotonic(), self.spec, self.changed()
        restarts = all(s.get("deploymentPolicy") != "InPlace" for s in (before, self.spec))
        if restarts and before["appVersion"] != self.spec["appVersion"]:
            self.in_place = False
        fresh = f"{self.fresh}-{number}"
        self.prepare(fresh)
        self.apply(fresh, self.spec)
        in_place = self.in_place
        problems = ["?"]
        while problems and time.monotonic() - begin < SETTLES:
            time.sleep(0.5)
            problems = [f"{n} has not settled: " + json.dumps(api.condition(server.call("GET", api.apps(n) + "/web"), "Ready").get(
                "message")) for n in (self.namespace, fresh) if not api.settled(server.call("GET", api.apps(n) + "/web"))]
            if not problems:
                problems = list(differences(made(self.namespace, in_place), made(fresh, in_place)))
        with lock:
            counts["changes"] += 1
            counts["failed"] += bool(problems)
        say(f"walk {self.number} change {number}: {what}: {'DIFFERS' if problems else 'same'} after {time.monotonic() - begin:.0f} s")
        for p in problems:
            say("    " + p)
        if problems:
            say("    spec: " + json.dumps(self.spec))
        else:
            server.call("DELETE", f"/api/v1/namespaces/{fresh}")
        return not problems


def walk(number, length, seed, pointers):
    w = Walk(number, seed, pointers)
    for i in range(length):
        if not w.step(i) and counts["failed"] > 5:
            return
    server.call("DELETE", f"/api/v1/namespaces/{w.namespace}")


def main():
    total, walks, seed, pointers = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
    print(f"SEED={seed}", flush=True)
    os.makedirs(pointers, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(walks) as pool:
        for f in [pool.submit(walk, n, -(-total // walks), seed, pointers) for n in range(walks)]:
            f.result()
    print(f"{counts['changes']} changes, {counts['failed']} differ, {counts['refused']} refused by admission; SEED={seed}")
    sys.exit(bool(counts["failed"]) or counts["changes"] < total)


if __name__ == "__main__":
    main()
