#!/usr/bin/env python3
"""commands.py: runs the commands of README.md and docs/ as they stand there, on the cluster of kubectl. Prints a
line for each that did not end well, and `N commands, N failed, N elsewhere` last.

Taken are the blocks without a language; placeholders are filled in (FILLED). Pages go by name, and before each one every
fleet is Ready again; only what asks for a pod's former container goes first, while there is one. What needs more than a
cluster with the operator is run by another test, which ELSEWHERE names.
Run by test/e2e/more/87-commands.sh, which makes the objects that the pages speak of.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FILLED = {"NAMESPACE": "tenant-acme", "NAME": "chat", "POD": "chat-celld-0", "KIND": "services", "OBJECT": "chat-celld",
          "CLAIM": "data-kept-celld-0"}
ELSEWHERE = {  # how a command begins, and the test that runs it
    "make demo": "test/demo/test.sh",
    "make test": ".ci/run",
    "make manifests": "test/e2e/chart/98-docs.sh",
    "kubectl apply --server-side --force-conflicts -k build/dist/manifests": "test/e2e/chart/98-docs.sh",
    "helm ": "test/e2e/chart/98-docs.sh",
    "kubectl -n celld-operator-system annotate --overwrite secret": "test/e2e/chart/98-docs.sh",
    "kubectl delete ": "test/e2e/chart/98-docs.sh",
    "BED_NAME=mine ": "test/demo/demo",
    "export BED_NAME=": "test/demo/demo",
    "test/cluster/bed ": "test/demo/demo",
    "skopeo copy ": "test/images/test.sh",  # which looks into the archives; there is no registry to copy them to
    "AWS_ACCESS_KEY_ID=... ": "test/neighbours/run",
}
FIRST = re.compile(r"(kubectl|make|helm|skopeo|test/cluster/bed|export|[A-Z_]+=\S+) ")


def commands(page):
    """The commands of a page, each with its continued lines."""
    for language, text in re.findall(r"^```([^\n]*)\n(.*?)^```$", page.read_text(), re.M | re.S):
        if language or not FIRST.match(text):
            continue  # what a program printed
        yield from re.findall(r"^(?:.*\\\n)*.*[^\\\n]$", text, re.M)


def filled(command):
    for word, value in FILLED.items():
        command = re.sub(rf"\b{word}\b", value, command)
    return command


def run(command, cwd):
    return subprocess.run(["bash", "-c", command], cwd=cwd, capture_output=True, text=True, timeout=180)


def ends_well(command, result):
    """grep finds nothing in a healthy cluster, and status says so when a fleet is not Ready."""
    if result.returncode == 1 and not result.stderr:
        return re.search(r"\| grep |celld status", command) is not None
    return result.returncode == 0


def settle(cwd):
    """Every fleet is Ready again, and not paused."""
    run("""kubectl get workerapps -o name |
             xargs -I{} kubectl patch {} --type merge -p '{"spec":{"maintenance":{"paused":false}}}'
           for i in $(seq 600); do
             kubectl get workerapps -o json | jq -e '[.items[] | .status.phase == "Ready" and
               .status.observedGeneration == .metadata.generation] | all' > /dev/null && break; sleep 0.2
           done""", cwd)


def main():
    ran = failed = elsewhere = 0
    used = set()
    with tempfile.TemporaryDirectory() as tmp:
        (pathlib.Path(tmp) / "app.yaml").write_text((ROOT / "crd/samples/accepted/quickstart.yaml").read_text())
        (pathlib.Path(tmp) / "policy.yaml").write_text("allowedImagePrefixes: ['ghcr.io/denoland/celld:']\n")
        pages = [(page, list(commands(page))) for page in PAGES]
        former = [(p, [c for c in here if "--previous" in c]) for p, here in pages]
        later = [(p, [c for c in here if "--previous" not in c]) for p, here in pages]
        for page, here in former + later:
            if any(not c.startswith(tuple(ELSEWHERE)) for c in here):
                settle(tmp)
            for command in here:
                other = next((o for o in ELSEWHERE if command.startswith(o)), None)
                if other:
                    used.add(other)
                    elsewhere += 1
                    continue
                result = run(filled(command), tmp)
                ran += 1
                if not ends_well(command, result):
                    failed += 1
                    said = f"{filled(command)}: {result.returncode}: {result.stderr or result.stdout}"
                    print(f"{page.relative_to(ROOT)}: {said}"[:600])
    for o in ELSEWHERE:
        if o not in used or not (ROOT / ELSEWHERE[o]).exists():
            failed += 1
            print(f"ELSEWHERE: {o}: no page has it, or there is no {ELSEWHERE[o]}")
    print(f"{ran} commands, {failed} failed, {elsewhere} elsewhere")
    return failed != 0 or ran < 60


if __name__ == "__main__":
    os.environ["PATH"] = os.pathsep.join([os.environ["BIN"], os.environ["PATH"]])
    sys.exit(main())
