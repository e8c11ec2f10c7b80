#!/usr/bin/env python3
"""rules.py RENDERED...: what linters of manifests look for, and what an admission webhook must not do, in everything that is rendered."""
import os
import sys

import yaml

CLUSTER = {"ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration",
           "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}
LABELS = {"app.kubernetes.io/" + k for k in ("name", "instance", "component", "part-of", "managed-by", "version")} | {"helm.sh/chart"}
RELEASE = "celld-operator-system"


def matches(selector, labels):
    return all(labels.get(k) == v for k, v in selector.items())


def deployment(o, objects):
    pod = o["spec"]["template"]["spec"]
    labels = o["spec"]["template"]["metadata"]["labels"]
    if not matches(o["spec"]["selector"]["matchLabels"], labels):
        yield "its selector does not match its pods"
    if set(o["spec"]["selector"]["matchLabels"]) != {"app.kubernetes.io/" + k for k in ("name", "instance", "component")}:
        yield "its selector, which can never change, has labels that may"
    for word in ("hostPID", "hostIPC"):
        if pod.get(word):
            yield word
    # only a value of its own can ask for it; then a node's ports are free before another pod takes them
    if pod.get("hostNetwork") and (not o["metadata"]["name"].endswith("webhook") or pod.get("dnsPolicy") != "ClusterFirstWithHostNet"):
        yield "hostNetwork"
    security = pod["securityContext"]
    if not security["runAsNonRoot"] or security["seccompProfile"]["type"] != "RuntimeDefault" or security["runAsUser"] < 10000:
        yield "not a restricted pod"
    if any("hostPath" in v for v in pod.get("volumes") or []):
        yield "a hostPath"
    if not any(a["kind"] == "ServiceAccount" and a["metadata"]["name"] == pod["serviceAccountName"] for a in objects):
        yield "no ServiceAccount of its own"
    if not pod["topologySpreadConstraints"] or any("labelSelector" not in t for t in pod["topologySpreadConstraints"]):
        yield "its pods are not spread"
    mounts = {v["name"] for v in pod.get("volumes") or []}
    for c in pod["containers"]:
        s = c["securityContext"]
        if s["allowPrivilegeEscalation"] or not s["readOnlyRootFilesystem"] or s["capabilities"] != {"drop": ["ALL"]}:
            yield "not a restricted container"
        if not c["resources"].get("requests", {}).get("cpu") or not c["resources"].get("requests", {}).get("memory"):
            yield "no requests"
        if not c["resources"].get("limits", {}).get("memory"):
            yield "no limit of memory"
        if "livenessProbe" not in c or "readinessProbe" not in c or c["livenessProbe"] == c["readinessProbe"]:
            yield "not two probes"
        if c["image"].endswith(":latest") or ":" not in c["image"].rsplit("/", 1)[-1]:
            yield "an image that can change: " + c["image"]
        names = {p["name"] for p in c["ports"]}
        if any(c[k]["httpGet"]["port"] not in names for k in ("livenessProbe", "readinessProbe")):
            yield "a probe of a port that is not there"
        if any(m["name"] not in mounts for m in c.get("volumeMounts") or []):
            yield "a mount without a volume"
        flags = [a.split("=")[0] for a in c["args"] if "container.args" not in a]
        if len(flags) != len(set(flags)):
            yield "a flag that is given twice"
    rolling = o["spec"].get("strategy", {}).get("rollingUpdate", {})
    if pod.get("hostNetwork"):
        if rolling != {"maxUnavailable": 1, "maxSurge": 0}:
            yield "an upgrade waits for ports that its own pods have"
    elif o["spec"]["replicas"] > 1 and o["metadata"]["name"].endswith("webhook") and rolling["maxUnavailable"] != 0:
        yield "an upgrade takes pods away before others are there"


def role(o, _):
    for rule in o["rules"]:
        if "*" in rule["verbs"] + rule.get("resources", []) + rule.get("apiGroups", []):
            yield "a wildcard"
        if {"escalate", "bind", "impersonate"} & set(rule["verbs"]):
            yield "a right over rights"
        if o["kind"] == "ClusterRole" and "secrets" in rule.get("resources", []) and set(rule["verbs"]) != {"get"}:
            yield "more than reading Secrets by name"
        if {"pods/exec", "pods/attach", "pods/portforward", "serviceaccounts/token", "roles", "clusterroles"} & set(rule.get("resources", [])):
            yield "a way to more rights"


def binding(o, objects):
    ref = o["roleRef"]
    if not any(r["kind"] == ref["kind"] and r["metadata"]["name"] == ref["name"] and
               (ref["kind"] == "ClusterRole" or r["metadata"]["namespace"] == o["metadata"]["namespace"]) for r in objects):
        yield "a role that is not there: " + ref["name"]
    for s in o["subjects"]:
        if not any(a["kind"] == "ServiceAccount" and a["metadata"]["name"] == s["name"] and a["metadata"]["namespace"] == s["namespace"] for a in objects):
            yield "a subject that is not there: " + s["name"]


def hooks(o, objects):
    for w in o["webhooks"]:
        out = [e["values"] for e in w["namespaceSelector"]["matchExpressions"] if e["operator"] == "NotIn"]
        if not any({"kube-system", RELEASE} <= set(v) for v in out):
            yield "the release's namespace and kube-system are not left out"
        if w["sideEffects"] != "None" or w["timeoutSeconds"] > 10 or w["admissionReviewVersions"] != ["v1"]:
            yield "side effects, or a long wait"
        if any(r["apiGroups"] != ["celld-operator.io"] or "*" in r["resources"] or "DELETE" in r["operations"] for r in w["rules"]):
            yield "it is asked about what is not ours, or holds up deletions"
        s = w["clientConfig"]["service"]
        if not any(x["kind"] == "Service" and x["metadata"]["name"] == s["name"] and x["metadata"]["namespace"] == s["namespace"] for x in objects):
            yield "a Service that is not there"


def selects_pods(selector, objects):
    return any(d["kind"] == "Deployment" and matches(selector, d["spec"]["template"]["metadata"]["labels"]) for d in objects)


def service(o, objects):
    if not selects_pods(o["spec"]["selector"], objects):
        yield "it selects nothing"


def selecting(o, objects):
    if not selects_pods((o["spec"].get("selector") or o["spec"]["podSelector"])["matchLabels"], objects):
        yield "it selects nothing"


def monitor(o, objects):
    found = [x for x in objects if x["kind"] == "Service" and matches(o["spec"]["selector"]["matchLabels"], x["metadata"]["labels"])]
    if len(found) != 1 or o["spec"]["endpoints"][0]["port"] not in [p["name"] for p in found[0]["spec"]["ports"]]:
        yield "it does not find one Service with its port"
    if not o["spec"]["endpoints"][0]["honorLabels"]:
        yield "the fleets' labels are lost"


RULES = {"Deployment": deployment, "Role": role, "ClusterRole": role, "RoleBinding": binding, "ClusterRoleBinding": binding, "Service": service,
         "MutatingWebhookConfiguration": hooks, "ValidatingWebhookConfiguration": hooks, "PodDisruptionBudget": selecting,
         "NetworkPolicy": selecting, "ServiceMonitor": monitor}


def judge(objects):
    seen = set()
    for o in objects:
        meta = o["metadata"]
        who = o["kind"] + " " + meta["name"]
        key = (o["kind"], meta.get("namespace"), meta["name"])
        if key in seen:
            yield who + ": twice"
        seen.add(key)
        ours = "app.kubernetes.io/part-of" in (meta.get("labels") or {})
        if not ours:
            continue  # extraObjects
        if (o["kind"] in CLUSTER) == ("namespace" in meta):
            yield who + ": namespace"
        if not LABELS <= set(meta["labels"]):
            yield who + ": labels"
        for what in RULES.get(o["kind"], lambda *_: ())(o, objects):
            yield who + ": " + what


def main():
    bad = 0
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as f:
            objects = [o for o in yaml.safe_load_all(f) if o]
        names = {(o["kind"], o["metadata"]["name"]) for o in objects}
        for what in judge(objects) if len(names) > 5 else ["nearly nothing is rendered"]:
            bad += 1
            print(os.path.basename(path) + ": " + what)
    return 1 if bad else 0


sys.exit(main())
