#!/usr/bin/env python3
"""docs.py: README.md and docs/ hold what they say. Prints `N passed, N failed` last. BIN: where the programs are.

  parts that are made from the code are what docs/generate would write
  each YAML block with a WorkerApp is judged fine by `kubectl-celld validate`, or refused with the text of its line
    `# refused: TEXT`; two documents are a change
  each `kubectl patch workerapp NAME --type merge -p '...'` makes of the smallest app one that is judged fine
  each series celld_... is one that a program or a rule names
  each link inside the repository leads somewhere, each page of docs/ is linked
  each flag in running text is one of a program, each make target exists
  each reason of a condition has a runbook, and the other way round
  each test that docs/situations.md and test/admission/README.md name is there
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BIN = pathlib.Path(os.environ.get("BIN", ROOT / "build/debug/bin")).resolve()
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# Flags of other tools that the pages name.
OTHERS = set("--all --all-namespaces --api-group --args --as --create-namespace --for --force-conflicts --namespace --nodes --overwrite --previous --raw --replicas --reset-then-reuse-values --reuse-values --server-side --set --show-managed-fields --tail --take-ownership --timeout --type --wait".split())
# Reasons of conditions at their best: nothing to do.
GOOD = set("Configured InSync Tracking Ready Validated Observed RouteObserved IngressReconciled VirtualServiceReconciled PolicyReconciled "
           "ScaledObjectReconciled".split())
passed, failures = 0, []


def check(ok, what):
    global passed
    if ok:
        passed += 1
    else:
        failures.append(what)


def name(page):
    return str(page.relative_to(ROOT))


def blocks(page, kind):
    return re.findall(rf"^```{kind}\n(.*?)^```$", page.read_text(), re.S | re.M)


def prose(page):
    """Without what is made from the code."""
    return re.sub(r"<!-- generated: .*?<!-- end -->", "", page.read_text(), flags=re.S)


def run(*command):
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "BIN": str(BIN)})


def generated():
    r = run("docs/generate", "--check")
    check(r.returncode == 0, r.stdout + r.stderr)


def judge(page, text, tmp):
    documents = text.split("\n---\n")
    args = []
    if len(documents) == 2:
        (tmp / "old.yaml").write_text(documents[0])
        args = ["--old", tmp / "old.yaml"]
    (tmp / "new.yaml").write_text(documents[-1])
    r = run(BIN / "kubectl-celld", "validate", "-f", tmp / "new.yaml", *args)
    want = re.findall(r"^# refused: (.*)$", text, re.M)
    said = r.stdout + r.stderr
    if want:
        check(r.returncode == 1 and all(w in said for w in want), f"{name(page)}: not refused with {want}: {said}\n{text}")
    else:
        check(r.returncode == 0, f"{name(page)}: an example is refused: {said}\n{text}")


def examples():
    n = 0
    with tempfile.TemporaryDirectory() as tmp:
        for page in PAGES:
            for text in blocks(page, "yaml"):
                if "kind: WorkerApp" in text:
                    judge(page, text, pathlib.Path(tmp))
                    n += 1
    check(n > 10, "hardly any example found")


def merge(to, patch):
    for k, v in patch.items():
        if isinstance(v, dict):
            merge(to.setdefault(k, {}), v)
        else:
            to[k] = v


def patches():
    n = 0
    with tempfile.TemporaryDirectory() as tmp:
        for page in PAGES:
            for name_, patch in re.findall(r"kubectl patch workerapp (\S+) --type merge\s+(?:\\\s+)?-p '([^']*)'", page.read_text()):
                app = {"apiVersion": "celld-operator.io/v1alpha1", "kind": "WorkerApp", "metadata": {"name": name_.lower(), "namespace": "x"},
                       "spec": {"appVersion": "v1", "celld": {"image": "celld:v0.4.1"}, "bucket": {"name": "s3://cells/x"}}}
                merge(app, json.loads(patch))
                judge(page, json.dumps(app), pathlib.Path(tmp))
                n += 1
    check(n > 5, "hardly any patch found")


def series():
    folders = ("common", "controller", "webhook", "certs", "charts/celld-operator/files")
    text = "".join(f.read_text() for d in folders for f in (ROOT / d).rglob("*") if f.suffix in (".c", ".h", ".yaml"))
    for page in PAGES:
        for s in sorted(set(re.findall(r"(?<![\w/])celld_[a-z_]*[a-z](?=[`{ ,.;)]|$)", prose(page), re.M))):
            check(re.search(rf"\b{s}\b", text) or f'"{s.removeprefix("celld_controller_")}"' in text, f"{name(page)}: nothing is called {s}")


def anchors(page):
    heads = re.findall(r"^#+ (.*)$", page.read_text(), re.M)
    return {re.sub(r"[^a-z0-9 _-]", "", h.lower()).replace(" ", "-") for h in heads}


def links():
    linked = set()
    for page in PAGES:
        for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"```.*?```", "", page.read_text(), flags=re.S)):
            if "://" in target:
                continue
            path, _, anchor = target.partition("#")
            to = (page.parent / path).resolve() if path else page
            check(to.exists(), f"{name(page)}: {target} leads nowhere")
            if to.is_file() and anchor:
                check(anchor in anchors(to), f"{name(page)}: no heading for {target}")
            linked.add(to)
    for page in PAGES[1:]:
        check(page in linked, f"{name(page)}: no page links to it")


def flags():
    known = set(OTHERS)
    for command in (["celld-webhook"], ["celld-controller"], ["kubectl-celld"], ["kubectl-celld", "validate"], ["kubectl-celld", "render"], ["kubectl-celld", "status"], ["kubectl-celld", "qualify"]):
        r = run(BIN / command[0], *command[1:], "--help")
        known.update(re.findall(r"--[a-z][a-z0-9-]*", r.stdout))
    for page in PAGES:
        for flag in sorted(set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", prose(page)))):
            bare = "--" + flag.removeprefix("--no-")
            check(flag in known or bare in known, f"{name(page)}: no program has {flag}")


def targets():
    makefile = (ROOT / "GNUmakefile").read_text()
    for page in PAGES:
        for target in set(re.findall(r"`make (?:[A-Z_]+=\S+ )*([a-z][a-z-]*)(?![/a-z-])", page.read_text())):
            check(re.search(rf"^[a-z -]*\b{target}\b[a-z -]*:", makefile, re.M), f"{name(page)}: no target {target}")


def reasons():
    text = "".join(f.read_text() for f in sorted((ROOT / "controller").glob("*.c")))
    used = set(re.findall(r'\breason = "([A-Z][A-Za-z]+)"', text))
    calls = re.findall(r"\b(?:refuse|condition|say)\((?:ret|in|t|c|to|&[^,]*), [^;]*\);|\bstruct names \w+ = {[^}]*};", text)
    for call in calls + re.findall(r"progress_reason.*?\n}", text, re.S):
        used.update(re.findall(r'"([A-Z]+[a-z]+(?:[A-Z]+[a-z]+)*)"', call))
    used.update(re.findall(r'return "([A-Z][A-Za-z]+)"', re.search(r"status_phase\(.*?\n}", text, re.S)[0]))
    used -= {"True", "False", "Unknown"} | GOOD
    types = {t for t in used if re.search(rf'(in, all|say\([^",]*), "{t}"|{{\s*"{t}"|\.type = "{t}"', text)}
    used -= types - {"Degraded"}
    pages = {p.stem for p in (ROOT / "docs/runbooks").glob("*.md")} - {"README", "alerts"}
    pages = {p for p in pages if not p.startswith("Celld")}  # those are alerts; test/metrics checks them
    for r in sorted(used - pages):
        check(False, f"the reason {r} has no page in docs/runbooks/")
    for r in sorted(pages):
        check(f'"{r}"' in text, f"docs/runbooks/{r}.md: no condition has this reason")


def situations():
    files = {f.stem: f.read_text() for folder in ("unit", "rollout") for f in (ROOT / "test" / folder).glob("test_*.c")}
    scenarios = {f.stem for f in (ROOT / "test/e2e").glob("*/*.sh")}
    admission = (ROOT / "test/admission/README.md").read_text().partition("| number |")[2]
    for page, text in (("docs/situations.md", (ROOT / "docs/situations.md").read_text()), ("test/admission/README.md", admission)):
        for row in re.findall(r"^\| .*\|$", text, re.M):
            for test in re.findall(r"`([^`]+)`", row.rsplit("|", 2)[1]):
                file, _, case = test.partition(": ")
                there = re.search(rf"cmocka_unit_test\w*\(\s*{case}\b", files.get(file, "")) if case else test in scenarios
                check(there, f"{page}: no test {test}")


for part in (generated, examples, patches, series, links, flags, targets, reasons, situations):
    part()
for f in failures:
    print("FAILED  docs:", f.rstrip())
print(f"{passed} passed, {len(failures)} failed")
sys.exit(1 if failures or not passed else 0)
