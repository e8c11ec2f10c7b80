#!/usr/bin/env python3
"""invariants.py RECORD [CHECK...] - what must hold over a fleet's whole recorded history.

The files RECORD.* hold watch events of pods, StatefulSets and WorkerApps as the API server sent them, a JSON document a line. Nothing
of the product is used here. CHECKs:

  one-down      no two members that ran at the same time were taken down or not Ready because of a release: while the
                partition moves, a pod is released only when every pod released before is Ready on the update revision
  steps         the partition goes down by one at a time, except that a new template sets it to replicas
  no-mix        pods of two celld versions never exist together (terminating ones count)
  hold=SECONDS  between the end of the last pod of one celld version and the creation of the first of the next there are at
                least that many seconds
  releases      the first half of one-down: for a fleet that was broken before
  rest          the record ends with the partition at rest
  untouched=ORDINALS  the pods of these ordinals (comma-separated) were never replaced
"""
import glob
import json
import sys
from datetime import datetime

REST = 2147483647
VERSION = "celld-operator.io/celld-version"


def when(text):
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def ordinal(pod):
    return int(pod["metadata"]["name"].rsplit("-", 1)[1])


def is_ready(pod):
    if "deletionTimestamp" in pod["metadata"]:
        return False
    return any(c["type"] == "Ready" and c["status"] == "True" for c in pod["status"].get("conditions", []))


def read(path):
    """Events in the order of the API server's own counter."""
    events = []
    for name in glob.glob(glob.escape(path) + ".*"):
        for line in open(name, encoding="utf-8"):
            if not line.endswith("\n"):
                break  # the recorder was ended within it
            e = json.loads(line)
            if e["type"] in ("ADDED", "MODIFIED", "DELETED"):
                events.append((int(e["object"]["metadata"]["resourceVersion"]), e["type"], e["object"]))
    events.sort(key=lambda e: e[0])
    return events


class History:
    def __init__(self, events):
        self.problems = []
        self.events = events

    def fail(self, rv, text):
        self.problems.append(f"at resourceVersion {rv}: {text}")

    def walk(self):
        """Yields (rv, kind, type, object, pods by name, StatefulSet) after each event."""
        pods, sts = {}, None
        for rv, kind, obj in self.events:
            what = obj["kind"]
            name = obj["metadata"]["name"]
            before = sts
            if what == "Pod":
                if kind == "DELETED":
                    pods.pop(name, None)
                else:
                    pods[name] = obj
            elif what == "StatefulSet":
                sts = None if kind == "DELETED" else obj
            yield rv, what, kind, obj, pods, before, sts

    @staticmethod
    def partition(sts):
        return sts["spec"]["updateStrategy"].get("rollingUpdate", {}).get("partition", 0)

    def check_steps(self):
        for rv, what, _, _, _, before, sts in self.walk():
            if what != "StatefulSet" or not before or not sts:
                continue
            a, b = self.partition(before), self.partition(sts)
            if a == b or b == REST:
                continue
            replicas = sts["spec"]["replicas"]
            if b < min(a, replicas) - 1 and not (b == 0 and before["spec"]["replicas"] == 0):
                self.fail(rv, f"partition went from {a} to {b}")

    def check_one_down(self):
        """At every release, all pods released before are Ready on the update revision, and at most one is out after it."""
        for rv, what, _, _, pods, before, sts in self.walk():
            if what != "StatefulSet" or not before or not sts:
                continue
            a, b = self.partition(before), self.partition(sts)
            replicas = before["spec"]["replicas"]
            if not b < min(a, replicas) or sts["spec"]["replicas"] != replicas:
                continue
            update = sts["status"].get("updateRevision")
            for pod in pods.values():
                n = ordinal(pod)
                if n < min(a, replicas) or n >= replicas:
                    continue
                if not is_ready(pod) or pod["metadata"]["labels"].get("controller-revision-hash") != update:
                    self.fail(rv, f"released {b} while {pod['metadata']['name']} was not Ready on {update}")
            for n in range(min(a, replicas), replicas):
                if not any(ordinal(p) == n for p in pods.values()):
                    self.fail(rv, f"released {b} while ordinal {n} was missing")

    def check_two_not_ready(self):
        """Among pods that have been Ready, never two not Ready at the same time."""
        was_ready = set()
        for rv, what, _, _, pods, _, sts in self.walk():
            if what != "Pod" or not sts:
                continue
            for pod in pods.values():
                if is_ready(pod):
                    was_ready.add(ordinal(pod))
            replicas = sts["spec"]["replicas"]
            up = {ordinal(p) for p in pods.values() if is_ready(p)}
            down = [n for n in was_ready if n < replicas and n not in up]
            if len(down) > 1:
                self.fail(rv, f"ordinals {down} are not Ready together")

    def versions(self, pods):
        return {p["metadata"].get("annotations", {}).get(VERSION) for p in pods.values()}

    def check_no_mix(self):
        for rv, what, _, _, pods, _, _ in self.walk():
            if what == "Pod" and len(self.versions(pods)) > 1:
                self.fail(rv, f"versions {sorted(map(str, self.versions(pods)))} exist together")
                return

    def check_hold(self, seconds):
        """The API server's own times: a pod's end is when the last container finished or, at the latest, its deletion."""
        last_end, last_version, gaps = None, None, 0
        for rv, what, kind, obj, _, _, _ in self.walk():
            if what != "Pod":
                continue
            version = obj["metadata"].get("annotations", {}).get(VERSION)
            if kind == "DELETED":
                ends = [
                    when(s["state"]["terminated"]["finishedAt"])
                    for s in obj["status"].get("containerStatuses", [])
                    if s.get("state", {}).get("terminated", {}).get("finishedAt")
                ]
                last_end, last_version = max(ends, default=last_end or 0), version
            elif kind == "ADDED" and last_version and version != last_version:
                gap = when(obj["metadata"]["creationTimestamp"]) - last_end
                gaps += 1
                if gap < seconds:
                    self.fail(rv, f"{obj['metadata']['name']} ({version}) came {gap:.0f} s after the last {last_version}")
                last_version = None
        if not gaps:
            self.problems.append("no change of version in the record")

    def check_rest(self):
        sts = None
        for *_, sts in self.walk():
            pass
        if not sts or self.partition(sts) != REST:
            self.problems.append("the record does not end at rest")

    def check_untouched(self, ordinals):
        uids = {}
        for rv, what, _, obj, _, _, _ in self.walk():
            if what == "Pod" and ordinal(obj) in ordinals:
                uids.setdefault(ordinal(obj), set()).add(obj["metadata"]["uid"])
                if "deletionTimestamp" in obj["metadata"]:
                    self.fail(rv, f"{obj['metadata']['name']} was deleted")
        for n in ordinals:
            if len(uids.get(n, ())) != 1:
                self.problems.append(f"ordinal {n}: {len(uids.get(n, ()))} pods")


def main():
    events = read(sys.argv[1])
    if not any(e[2]["kind"] == "Pod" for e in events):
        sys.exit("no pod in the record")
    h = History(events)
    checks = sys.argv[2:]
    if not checks:
        sys.exit("no check asked for")
    for c in checks:
        name, _, value = c.partition("=")
        if name == "one-down":
            h.check_one_down()
            h.check_two_not_ready()
        elif name == "releases":
            h.check_one_down()
        elif name == "steps":
            h.check_steps()
        elif name == "no-mix":
            h.check_no_mix()
        elif name == "hold":
            h.check_hold(float(value))
        elif name == "rest":
            h.check_rest()
        elif name == "untouched":
            h.check_untouched([int(n) for n in value.split(",")])
        else:
            sys.exit(f"unknown check {c}")
    for p in h.problems:
        print(p)
    print(f"{len(events)} events, {len(checks)} checks, {len(h.problems)} problems")
    sys.exit(bool(h.problems))


if __name__ == "__main__":
    main()
