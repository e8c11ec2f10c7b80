#!/usr/bin/env python3
"""bodies.py DIR: the reviews that the benchmarks send, always the same bytes.

update-SIZE.json is a legal change of image and settings (the rules run over both objects), about SIZE bytes long, with what
real objects hold: managedFields 40 %, status 20 %, annotations (last-applied-configuration above all) 15 %, the rest spec.
denied-*.json break one rule or several each; they are for the comparison of verdicts."""
import json
import os
import sys

SIZES = {'4k': 4 << 10, '64k': 64 << 10, '1m': 1 << 20, '6m': 6 << 20}


def spec(image, room):
    s = {'hostnames': ['chat.example.com', '*.chat.example.org'], 'appVersion': 'v42',
         'celld': {'image': 'ghcr.io/denoland/celld:' + image, 'updateStrategy': 'Rolling'}, 'replicas': 3,
         'bucket': {'name': 's3://cells/apps/chat/', 'region': 'eu-central-1',
                    'credentialsFrom': {'iamRole': 'arn:aws:iam::123456789012:role/chat'}},
         'resources': {'cpuMillis': 500, 'memoryGi': 8, 'ephemeralStorageGi': 10, 'maxResidentCells': 1000},
         'durability': 'bucket', 'websockets': True, 'env': [], 'podAnnotations': {}}
    n = len(json.dumps(s, separators=(',', ':')))
    i = 0
    while n < room and i < 31:
        value = 'postgres://user@db-%d.example.com:5432/app?sslmode=verify-full&pool=%d' % (i, i)
        if room > 20000:
            value = (value + ';') * min(50, room // 7000)
        s['env'].append({'name': 'OTEL_SETTING_%d' % i, 'value': value})
        n += len(value) + 40
        i += 1
    i = 0
    while n < room and i < 63:
        value = 'the quick brown fox jumps over the lazy dog \\ "and" ü comes back; ' * max(1, (room - n) // 63 // 60)
        s['podAnnotations']['example.com/note-%d' % i] = value
        n += len(json.dumps(value)) + 30
        i += 1
    return s


def fields_of(v):
    if isinstance(v, dict):
        return {('k:' if ':' in k else 'f:') + k: fields_of(x) for k, x in v.items()}
    return {}


def managed(s, room):
    out, n, i = [], 0, 0
    while True:
        entry = {'manager': 'kubectl-client-side-apply' if i == 0 else 'celld-controller-%d' % i, 'operation': 'Update',
                 'apiVersion': 'celld-operator.io/v1alpha1', 'time': '2026-01-02T03:04:05Z', 'fieldsType': 'FieldsV1',
                 'fieldsV1': {'f:metadata': {'f:annotations': {'.': {}, 'f:kubectl.kubernetes.io/last-applied-configuration': {}}},
                              'f:spec': fields_of(s), 'f:status': {'.': {}, 'f:conditions': {'.': {}, **{
                                  'k:{"type":"Ready%d"}' % j: {'.': {}, 'f:lastTransitionTime': {}, 'f:message': {}, 'f:reason': {}}
                                  for j in range(6)}}}}}
        size = len(json.dumps(entry, separators=(',', ':')))
        if out and n + size > room:
            return out
        if not out and size > room:
            entry['fieldsV1'] = {'f:spec': {'f:appVersion': {}, 'f:celld': {'f:image': {}}}}
        out.append(entry)
        n += size
        i += 1


def status(room):
    s = {'observedGeneration': 7, 'phase': 'Ready', 'celldVersions': ['v0.6.1'], 'url': 'https://chat.example.com',
         'fleet': {'replicas': 3, 'ready': 3, 'updated': 3}, 'conditions': []}
    n, i = len(json.dumps(s)), 0
    while n < room:
        c = {'type': 'Condition%d' % i, 'status': 'True', 'observedGeneration': 7, 'lastTransitionTime': '2026-01-02T03:04:05Z',
             'reason': 'AsExpected', 'message': 'all 3 nodes answer, the newest in 12 ms; nothing is waited for (%d)' % i}
        s['conditions'].append(c)
        n += len(json.dumps(c, separators=(',', ':'))) + 1
        i += 1
    return s


def app(image, room, app_version='v42'):
    s = spec(image, room * 25 // 100)
    s['appVersion'] = app_version
    applied = json.dumps({'apiVersion': 'celld-operator.io/v1alpha1', 'kind': 'WorkerApp',
                          'metadata': {'name': 'chat', 'namespace': 'shop'}, 'spec': s}, separators=(',', ':'))
    return {'apiVersion': 'celld-operator.io/v1alpha1', 'kind': 'WorkerApp',
            'metadata': {'name': 'chat', 'namespace': 'shop', 'uid': '0c7e2a51-8f0b-4a53-b0a6-6a2f7d7d9f11', 'generation': 7,
                         'resourceVersion': '123456', 'creationTimestamp': '2026-01-02T03:04:05Z',
                         'labels': {'team': 'chat', 'app.kubernetes.io/part-of': 'shop'},
                         'annotations': {'kubectl.kubernetes.io/last-applied-configuration': applied[:max(200, room * 15 // 100)]},
                         'managedFields': managed(s, room * 40 // 100)},
            'spec': s, 'status': status(room * 20 // 100)}


def review(new, old, operation='UPDATE'):
    return {'kind': 'AdmissionReview', 'apiVersion': 'admission.k8s.io/v1', 'request': {
        'uid': '705ab4f5-6393-11e8-b7cc-42010a800002',
        'kind': {'group': 'celld-operator.io', 'version': 'v1alpha1', 'kind': 'WorkerApp'},
        'resource': {'group': 'celld-operator.io', 'version': 'v1alpha1', 'resource': 'workerapps'},
        'requestKind': {'group': 'celld-operator.io', 'version': 'v1alpha1', 'kind': 'WorkerApp'},
        'requestResource': {'group': 'celld-operator.io', 'version': 'v1alpha1', 'resource': 'workerapps'},
        'name': 'chat', 'namespace': 'shop', 'operation': operation,
        'userInfo': {'username': 'alice', 'groups': ['developers', 'system:authenticated']},
        'object': new, 'oldObject': old, 'dryRun': False,
        'options': {'kind': 'UpdateOptions', 'apiVersion': 'meta.k8s.io/v1', 'fieldManager': 'kubectl'}}}


def broken(new, change):
    new = json.loads(json.dumps(new))
    for path, value in change.items():
        at = new
        *parents, last = path.split('.')
        for p in parents:
            at = at.setdefault(p, {})
        at[last] = value
    return new


def main(to):
    os.makedirs(to, exist_ok=True)
    bodies = {}
    for name, size in SIZES.items():
        room = size // 2 - 500
        for _ in range(4): # the parts are not exact: aim again
            r = review(app('v0.6.2', room), app('v0.6.1', room, 'v41'))
            room += (size - len(json.dumps(r, separators=(',', ':'), ensure_ascii=False).encode())) // 2
        bodies['update-' + name] = r
    good, old = app('v0.6.2', 1500), app('v0.6.1', 1500)
    bodies['create'] = review(good, None, 'CREATE')
    for name, change in {
        'replicas': {'spec.replicas': 0},
        'bucket': {'spec.bucket.name': 's3://other/'},
        'env': {'spec.env': [{'name': 'OTEL_A', 'value': '1'}, {'name': 'OTEL_A', 'value': '2'}]},
        'hostname': {'spec.hostnames': ['Not A Host']},
        'image': {'spec.celld.image': 'ghcr.io/denoland/celld:v0.4.0'},
        'many': {'spec.replicas': 0, 'spec.hostnames': ['Not A Host'], 'spec.bucket.name': 's3://other/'},
    }.items():
        bodies['denied-' + name] = review(broken(good, change), old)
    for name, r in bodies.items():
        with open(os.path.join(to, name + '.json'), 'wb') as f:
            f.write(json.dumps(r, separators=(',', ':'), ensure_ascii=False).encode())


if __name__ == '__main__':
    main(sys.argv[1])
