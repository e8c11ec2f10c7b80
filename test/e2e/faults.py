#!/usr/bin/env python3
"""faults.py SECONDS APPS SEED POINTERS OUT -- CONTROLLER...: random faults and random changes of specs, then quiet.

CONTROLLER runs with --kubeconfig OUT.kubeconfig (completed here: it holds a user's token) through the proxy of faulty.py, and
is started again whenever it ends, as a kubelet would. For SECONDS, APPS fleets get changes: of four, two roll only, one changes
its size too, and one is stopped and started anew where celld needs that. Then there are no more faults and changes, and:

- each app settles, and what there is of it is what a fresh install of its spec gets (sequence.py);
- the record of each fleet, taken from the API server past the proxy, is written to OUT.NAMESPACE.*, for invariants.py, and
  `NAMESPACE CHECK...` to OUT.fleets;
- the controller never ended but with status 0 or 1: a lost Lease is one, no crash is.

What the proxy did is in OUT.faults. Run inside the bed; the same SEED gives each app the same changes and each call its fault.
"""
import collections
import json
import os
import random
import re
import subprocess
import sys
import threading
import time

import api
import changes
import faulty
import sequence

CHECKS = {"roll": "one-down steps rest", "size": "rest", "stop": "no-mix rest"}
ROLLING = {**changes.ROLLING, **changes.QUIET, "celld.image": lambda r: "ghcr.io/denoland/celld:" + r.choice(["v0.6.0", "v0.6.1", "v0.6.2"])}
# Of these two versions no pod may meet one of the other; both ways need Recreate.
STOPPING = {**ROLLING, **changes.STOPPING, "celld.image": lambda r: "ghcr.io/denoland/celld:" + r.choice(["v0.3.0", "v0.4.0"])}
# fields, first size, first version
KINDS = {"roll": (ROLLING, 3, "v0.6.2"), "size": ({**ROLLING, **changes.SIZES}, 2, "v0.6.2"), "stop": (STOPPING, 2, "v0.3.0")}

REMEDY = re.compile("updateStrategy(:| to) Recreate")


def recorders(out):
    """Watches of all fleets past the proxy; each a process that writes one JSON document after the other."""
    for kind in ("pods", "statefulsets.apps", "workerapps.celld-operator.io"):
        select = [] if kind.startswith("workerapps") else ["-l", "celld-operator.io/workerapp"]
        with open(f"{out}.all.{kind.split('.')[0]}", "wb") as file:
            yield subprocess.Popen(["kubectl", "get", kind, "-A", *select, "--watch", "--output-watch-events", "-o", "json"], stdout=file)


def split(out, fleets):
    """The record of each namespace by itself, one document a line."""
    decoder = json.JSONDecoder()
    for kind in ("pods", "statefulsets", "workerapps"):
        text = open(f"{out}.all.{kind}", encoding="utf-8").read()
        files = {f: open(f"{out}.{f}.{kind}", "w", encoding="utf-8") for f in fleets}
        at = 0
        while True:
            while at < len(text) and text[at].isspace():
                at += 1
            try:
                event, at = decoder.raw_decode(text, at)
            except ValueError:
                break  # the end, maybe within a document
            namespace = event["object"]["metadata"].get("namespace")
            if namespace in files:
                files[namespace].write(json.dumps(event) + "\n")
        for file in files.values():
            file.close()


class Controller(threading.Thread):
    """Keeps it running; ends holds the statuses it ended with."""

    def __init__(self, command, log):
        super().__init__(daemon=True)
        self.command, self.log = command, open(log, "wb")
        self.ends, self.over, self.process = [], False, None
        self.start()

    def run(self):
        while not self.over:
            self.process = subprocess.Popen(self.command, stdout=self.log, stderr=self.log)
            self.ends.append(self.process.wait())
            time.sleep(1)

    def usage(self):
        """Anonymous memory in kB, and open descriptors."""
        at = f"/proc/{self.process.pid}"
        lines = dict(line.split(":", 1) for line in open(at + "/status", encoding="utf-8"))
        return int(lines["RssAnon"].split()[0]), len(os.listdir(at + "/fd"))

    def stop(self):
        self.over = True
        self.process.terminate()
        self.join(20)


def through(out, proxy, certificate):
    """Completes the kubeconfig: the way to the proxy."""
    subprocess.check_call(["kubectl", "--kubeconfig", out + ".kubeconfig", "config", "set-cluster", "proxy", "--server",
                           f"https://127.0.0.1:{proxy.server_address[1]}", "--certificate-authority", certificate, "--embed-certs"],
                          stdout=subprocess.DEVNULL)
    subprocess.check_call(["kubectl", "--kubeconfig", out + ".kubeconfig", "config", "set-context", "--current", "--cluster=proxy"],
                          stdout=subprocess.DEVNULL)


def certificate(out):
    subprocess.check_call(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                           "-subj", "/CN=proxy", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", out + ".key", "-out", out + ".crt"],
                          stderr=subprocess.DEVNULL)
    with open(out + ".pem", "w", encoding="utf-8") as pair:
        pair.write(open(out + ".crt", encoding="utf-8").read() + open(out + ".key", encoding="utf-8").read())


def meddle(walks, seconds, seed):
    """Random changes of random apps."""
    rng, end, made = random.Random(f"{seed}/changes"), time.monotonic() + seconds, 0
    while time.monotonic() < end:
        time.sleep(rng.uniform(0.2, 2) * 8 / len(walks))
        w = rng.choice(walks)
        try:
            w.changed([KINDS[w.sort][0]])
        except api.Refused as e:
            if e.status != 409:  # somebody wrote the status meanwhile; the next one
                raise
        made += 1
    return made


def heed(w, app):
    """Does what the condition says. A change that needs Recreate was stored with it, and it was Rolling again before the
    controller, held up by faults, had acted on the one or the other."""
    ready = api.condition(app, "Ready")
    if not REMEDY.search(ready.get("message", "")) or ready.get("observedGeneration") != app["metadata"]["generation"]:
        return
    changes.put(w.spec, "celld.updateStrategy", "Recreate")
    try:
        w.apply(w.namespace, w.spec)
        print(f"{w.namespace}: Recreate, as its condition says", flush=True)
    except api.Refused as e:
        if e.status != 409:
            raise


def unsettled(walks):
    for w in walks:
        app = sequence.server.call("GET", api.apps(w.namespace) + "/web")
        if not api.settled(app):
            heed(w, app)
            yield f"{w.namespace} has not settled: {json.dumps(app.get('status', {}).get('conditions', []))[:600]}"


def unlike(walks):
    """What differs from fresh installs, once these have settled."""
    for w in walks:
        for d in sequence.differences(sequence.made(w.namespace, w.in_place), sequence.made(w.fresh, w.in_place)):
            yield f"{w.namespace}: {d}"


def wait(what, seconds):
    end = time.monotonic() + seconds
    while True:
        problems = list(what())
        if not problems or time.monotonic() > end:
            return problems
        time.sleep(1)


def main():
    seconds, count, seed, pointers, out = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4], sys.argv[5]
    print(f"SEED={seed}", flush=True)
    os.makedirs(pointers, exist_ok=True)
    certificate(out)
    faults = faulty.Faults(seed, out + ".faults")
    proxy = faulty.Proxy(out + ".pem", sequence.server.address, sequence.server.tls, faults)
    threading.Thread(target=proxy.serve_forever, daemon=True).start()
    through(out, proxy, out + ".crt")
    records = list(recorders(out))
    controller = Controller(sys.argv[7:] + ["--kubeconfig", out + ".kubeconfig"], out + ".log")
    problems = []
    try:
        walks = []
        for n in range(count):
            sort = ["roll", "size", "roll", "stop"][n % 4]
            walks.append(sequence.Walk(n, seed, pointers, KINDS[sort][2], KINDS[sort][1]))
            walks[-1].sort = sort
        made = meddle(walks, seconds, seed)
        before = controller.usage()
        faults.quiet.set()
        print(f"{made} changes, {sum(faults.dealt.values())} faults: {dict(sorted(collections.Counter(faults.dealt).items()))}", flush=True)
        begin = time.monotonic()
        problems = wait(lambda: unsettled(walks), 300)
        print(f"settled {time.monotonic() - begin:.0f} s after the last fault" if not problems else "not settled", flush=True)
        if not problems:
            time.sleep(3)  # the recorders' pipes
        for r in records:
            r.terminate()
        split(out, [w.namespace for w in walks])
        with open(out + ".fleets", "w", encoding="utf-8") as file:
            file.writelines(f"{w.namespace} {CHECKS[w.sort]}\n" for w in walks)
        if not problems:
            for w in walks:
                w.prepare(w.fresh)
                w.apply(w.fresh, w.spec)
            problems = wait(lambda: unlike(walks), 240)
        print(f"RssAnon {before[0]} kB, {before[1]} descriptors at the end of the faults; now {controller.usage()}")
    finally:
        faults.quiet.set()
        for r in records:
            r.terminate()
        controller.stop()
    crashes = [s for s in controller.ends if s not in (0, 1)]
    problems += [f"the controller ended with {s}" for s in crashes]
    for p in problems:
        print(p)
    for w in walks:
        for namespace in (w.namespace, w.fresh):
            sequence.server.call("DELETE", f"/api/v1/namespaces/{namespace}")
    print(f"{len(problems)} problems, the controller was started {len(controller.ends)} times; SEED={seed}")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
