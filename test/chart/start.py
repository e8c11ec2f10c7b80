#!/usr/bin/env python3
"""start.py BIN RENDERED...: the programs started with the flags and files that the chart renders for them.

Every flag and setting must be taken: a program has to get as far as the API server or the mounted certificate, which is not there.
"""
import os
import re
import subprocess
import sys
import tempfile

import yaml

GOOD = re.compile(r"/nonexistent: No such file|/certs/tls\.crt: No such file")


def run(binary, part, args, settings):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in settings.items():
            with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
                f.write(text)
        args = [a.replace("=/settings/", "=" + folder + "/") for a in args]
        out = subprocess.run([os.path.join(binary, "celld-" + part), *args, "--kubeconfig=/nonexistent"],
                             capture_output=True, text=True, timeout=20, check=False)
    said = out.stdout + out.stderr
    return None if out.returncode == 1 and GOOD.search(said) else f"status {out.returncode}: {said.strip()}"


def main():
    bad = 0
    for path in sys.argv[2:]:
        with open(path, encoding="utf-8") as f:
            objects = [o for o in yaml.safe_load_all(f) if o]
        settings = next((o["data"] for o in objects if o["kind"] == "ConfigMap" and o["metadata"]["name"].endswith("-settings")), {})
        started = 0
        for o in objects:
            if o["kind"] != "Deployment":
                continue
            container = o["spec"]["template"]["spec"]["containers"][0]
            why = run(sys.argv[1], container["name"], container["args"], settings)
            started += 1
            if why:
                bad += 1
                print(f"{os.path.basename(path)}: {container['name']}: {why}")
        if started != 2:
            bad += 1
            print(f"{os.path.basename(path)}: {started} programs instead of 2")
    return 1 if bad else 0


sys.exit(main())
