#!/usr/bin/env python3
"""rendered.py DIR: WorkerApps for 44-rendered. DIR/routed.yaml holds every two options of routing together, DIR/others.yaml the
other options around a fleet, one by one. Prints how many there are."""
import itertools, json, sys

# sort -> options; the first of each is what an app has that is about another sort
ROUTED = {
    "hostnames": [{"hostnames": ["a.example.com"]}, {"hostnames": ["a.example.com", "*.b.example.com"]},
                  {"hostnames": ["h%d.example.com" % i for i in range(16)]}],
    "path": [{}, {"ingress": {"path": "/api"}}, {"ingress": {"path": "/api/v1/"}}, {"ingress": {"path": "/hook", "pathType": "Exact"}},
             {"ingress": {"path": "/cut", "stripPrefix": True}},
             {"ingress": {"path": "/cut", "pathType": "Exact", "stripPrefix": True}}],
    "way": [{}, {"ingress": {"gatewayRefs": [{"name": "edge", "namespace": "infra", "sectionName": "https"}, {"name": "own"}]}},
            {"ingress": {"ingressClass": "nginx"}}],
    "tls": [{}, {"ingress": {"tlsSecretName": "shop-tls"}}, {"ingress": {"clusterIssuer": "internal"}},
            {"ingress": {"tlsSecretName": "shop-tls", "clusterIssuer": "internal"}}],
    "annotations": [{}, {"ingress": {"annotations": {"example.com/team": "shop"}}}],
    "websockets": [{}, {"websockets": True}],
}
OTHERS = [
    {"service": {"type": "NodePort"}},
    {"service": {"type": "LoadBalancer", "annotations": {"example.com/lb": "internal"}}},
    {"autoscaling": {"enabled": True, "minReplicas": 2, "maxReplicas": 9}},
    {"autoscaling": {"enabled": True, "minReplicas": 1, "maxReplicas": 3, "targets": {"residentCellUtilization": 70, "p95LatencyMs": 250}}},
    {"networkPolicy": {"publicFrom": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.9.0.0/16"]}},
                                      {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "infra"}}}]}},
    {"networkPolicy": {"egress": {"enabled": True, "extra": [{"to": [{"ipBlock": {"cidr": "2001:db8::/32"}}], "ports": [{"port": 5432}]}]}}},
    {"scheduling": {"nodeSelector": {"pool": "cells"}, "priorityClassName": "high", "spreadAcrossZones": True,
                    "tolerations": [{"key": "spot", "operator": "Exists"}]}},
    {},
]


def merged(parts):
    spec = {}
    for part in parts:
        for k, v in part.items():
            spec[k] = {**spec.get(k, {}), **v} if isinstance(v, dict) else v
    return spec


def routed():
    plain = {sort: options[0] for sort, options in ROUTED.items()}
    seen = []
    for one, other in itertools.combinations(ROUTED, 2):
        for a, b in itertools.product(ROUTED[one], ROUTED[other]):
            spec = merged({**plain, one: a, other: b}.values())
            if spec not in seen:
                seen.append(spec)
    return seen


def write(name, specs):
    with open("%s/%s.yaml" % (sys.argv[1], name), "w") as to:
        for i, spec in enumerate(specs):
            app = "%s%d" % (name, i)
            spec = {"appVersion": "v1", "celld": {"image": "ghcr.io/denoland/celld:v0.6.2"}, "bucket": {"name": "s3://cells/" + app}, **spec}
            to.write("---\n" + json.dumps({"apiVersion": "celld-operator.io/v1alpha1", "kind": "WorkerApp", "metadata": {
                "name": app, "namespace": "rendered", "uid": "5d1c6a0e-0000-4000-8000-%012d" % i}, "spec": spec}) + "\n")
    return len(specs)


print(write("routed", routed()), write("others", OTHERS))
