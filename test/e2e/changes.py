"""changes.py - a small fleet and random changes of it, each of which a user might apply; all by the random.Random given."""
import copy

WORDS = ["amber", "birch", "cedar", "delta"]
SECRETS = ["alpha", "beta"]  # Secrets that the caller makes: keys token and vars.env, and an S3 key pair
VERSIONS = ["v0.2.1", "v0.3.0", "v0.4.0", "v0.4.1", "v0.5.0", "v0.5.1", "v0.6.0", "v0.6.1", "v0.6.2"]


def fleet(bucket, version, replicas):
    return {
        "appVersion": "v1",
        "celld": {"image": f"ghcr.io/denoland/celld:{version}"},
        "replicas": replicas,
        "bucket": {"name": bucket},
        "resources": {"memoryGi": 1, "cpuMillis": 10},
    }


def put(spec, path, value):
    """None takes it away, and the objects that are empty then."""
    head, _, rest = path.partition(".")
    if rest:
        put(spec.setdefault(head, {}), rest, value)
        if not spec[head]:
            del spec[head]
    elif value is None:
        spec.pop(head, None)
    else:
        spec[head] = value


def some(rng, of):
    """A random part of a map or list, often nothing."""
    if isinstance(of, dict):
        return {k: v for k, v in of.items() if rng.random() < 0.4} or None
    return [v for v in of if rng.random() < 0.4] or None


def words(rng):
    return some(rng, {f"example.com/{w}": rng.choice(WORDS) for w in WORDS})


def environment(rng):
    return some(rng, [
        {"name": "RUST_LOG", "value": rng.choice(["info", "debug", "warn"])},
        {"name": "OTEL_RESOURCE_ATTRIBUTES", "value": "team=" + rng.choice(WORDS)},
        {"name": "OTEL_EXPORTER_OTLP_HEADERS", "secretKeyRef": {"name": rng.choice(SECRETS), "key": "token"}},
    ])


def peers(rng):
    return some(rng, [
        {"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}},
        {"podSelector": {"matchLabels": {"team": rng.choice(WORDS)}}},
        {"namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "In", "values": WORDS[:2]}]}},
    ])


def egress(rng):
    if rng.random() < 0.5:
        return None
    extra = [{"to": [{"ipBlock": {"cidr": "192.0.2.0/24"}}], "ports": [{"port": rng.choice([443, 5432])}]}]
    return {"enabled": True, "extra": extra} if rng.random() < 0.5 else {"enabled": True}


def tolerations(rng):
    return some(rng, [
        {"key": "dedicated", "operator": "Equal", "value": rng.choice(WORDS), "effect": "NoSchedule"},
        {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60},
    ])


def route(rng, spec, hosts):
    """Both together, since a route without hosts is none."""
    put(spec, "hostnames", some(rng, hosts))
    put(spec, "ingress", rng.choice([None, {"ingressClass": "web"}, {
        "ingressClass": "web", "path": rng.choice(["/", "/api"]), "annotations": words(rng) or {}}]))


# field -> a value; None: absent
QUIET = {
    "service.type": lambda r: r.choice([None, "ClusterIP", "NodePort", "LoadBalancer"]),
    "service.annotations": words,
    "networkPolicy.publicFrom": peers,
    "networkPolicy.egress": egress,
}
ROLLING = {
    "appVersion": lambda r: r.choice(["v1", "v2", "v3"]),
    "deploymentPolicy": lambda r: r.choice([None, "Restart", "InPlace"]),
    "celld.imagePullPolicy": lambda r: r.choice([None, "IfNotPresent", "Always"]),
    "resources.cpuMillis": lambda r: r.choice([10, 20]),
    "resources.maxResidentCells": lambda r: r.choice([None, 500, 2000]),
    "resources.idleEvictSeconds": lambda r: r.choice([None, 60, 600]),
    "resources.ephemeralStorageGi": lambda r: r.choice([None, 1, 2]),
    "env": environment,
    "podAnnotations": words,
    "podLabels": words,
    "websockets": lambda r: r.choice([None, True, False]),
    "trustForwardedHeaders": lambda r: r.choice([None, True]),
    "telemetry": lambda r: r.choice([None, {"enabled": False}, {"retention": "7d"}, {
        "sink": "otlp", "otlpEndpoint": "http://otel.monitoring.svc:4318"}]),
    "scheduling.tolerations": tolerations,
    "scheduling.nodeSelector": lambda r: r.choice([None, {"kubernetes.io/os": "linux"}]),
    "scheduling.priorityClassName": lambda r: r.choice([None, "system-cluster-critical"]),
    "bucket.region": lambda r: r.choice([None, "eu-west-1", "us-east-2"]),
    "bucket.credentialsFrom": lambda r: r.choice([None, {"secretRef": r.choice(SECRETS)}, {
        "iamRole": "arn:aws:iam::123456789012:role/" + r.choice(WORDS)}]),
    "maintenance.restartToken": lambda r: r.choice([None, "one", "two"]),
}
SIZES = {"replicas": lambda r: r.choice([1, 2])}
# With celld.updateStrategy Recreate these stop the fleet.
STOPPING = {
    "celld.image": lambda r: "ghcr.io/denoland/celld:" + r.choice(VERSIONS),
    "storage": lambda r: r.choice([None, {"sizeGi": 1}, {"sizeGi": 2}]),
    "bucket.endpoint": lambda r: r.choice([None, "https://store.example.com"]),
    "vars": lambda r: r.choice([None, {"secretRef": r.choice(SECRETS)}]),
    "celld.updateStrategy": lambda r: r.choice([None, "Rolling", "Recreate"]),
}


def change(rng, spec, fields, hosts):
    """Another spec, with one to three fields drawn anew. It may be one that admission refuses."""
    new = copy.deepcopy(spec)
    for _ in range(rng.choice([1, 1, 2, 3])):
        name = rng.choice(sorted(fields) + ["route"])
        if name == "route":
            route(rng, new, hosts)
        else:
            put(new, name, fields[name](rng))
            if name in STOPPING and rng.random() < 0.8:
                put(new, "celld.updateStrategy", "Recreate")
    return new
