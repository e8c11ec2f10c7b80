#!/usr/bin/env python3
"""mutate.py: takes each rule of admission out in turn, and weakens the edges of some, and expects a case of test/admission to fail.

mutate.py [TEXT]: only those whose line holds TEXT. Needs the tests' objects (make check builds them). JOBS mutants at a time; prints who
noticed each, `N passed, N failed` last.
"""

import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile

os.chdir(os.path.dirname(os.path.abspath(__file__)) + "/../..")
B = "build/" + os.environ.get("PROFILE", "debug")
RULES = ["common/workerapp_rules.c"] + ["common/workerapp_rules_%s.c" % s for s in (
    "bucket", "change", "env", "names", "network", "placing", "size")]
# What reports a fault, directly or for somebody: each call of one is a rule.
CALLS = {"common/store_rules.c": "fault_add|credential", "common/policy.c": "fault_forbid", "common/exclusive.c": "fault_add",
         "common/workerapp.c": "fault_add", "common/workerapp_fields.c": "fault_add", "webhook/review.c": "fault_add"}
for f in RULES:
    CALLS[f] = "fault_add|judge_range|judge_length|judge_object_name|judge_warn|change|needs|gateway_part|credential|map|peers|selector|labels"
# What the table cannot say: a request without an object; an unknown field, which an API server drops before it asks anybody;
# what of two that have nothing in common nobody compares.
TESTS = ["admission_table", "review", "validate", "exclusive"]
ALSO = {"webhook/review.c": "review", "common/store_rules.c": "validate", "common/workerapp_fields.c": "validate",
        "common/exclusive.c": "exclusive"}

# WHAT IS BROKEN @ file @ what stands there @ what stands there instead
EDGES = r"""
names of 47@names@NAME_MAX_LEN = 46@NAME_MAX_LEN = 47
names of 45@names@NAME_MAX_LEN = 46@NAME_MAX_LEN = 45
what is added to generateName@names@GENERATED = 5@GENERATED = 4
17 host names@names@HOSTNAMES = 16@HOSTNAMES = 17
15 host names@names@HOSTNAMES = 16@HOSTNAMES = 15
long tokens@names@TOKEN_MAX = 128@TOKEN_MAX = 129
short tokens@names@TOKEN_MAX = 128@TOKEN_MAX = 127
long appVersion@names@syntax_word(s, 1, 128, "._-")@syntax_word(s, 1, 129, "._-")
short appVersion@names@syntax_word(s, 1, 128, "._-")@syntax_word(s, 1, 127, "._-")
auto without the tracking Secret@names@!app->tracking_secret && @
auto without the bucket's Secret@names@ && !app->bucket.credentials.secret_ref@
auto without the store@names@ &&\n\t    !app->store_ref)@)
long images@names@strlen(app->image) > 512@strlen(app->image) > 513
InPlace is Restart@names@!= POLICY_IN_PLACE@!= POLICY_RESTART
a digest may move@names@image->digest || @
a suffixed version@names@!str_eq(s, text)@!*text
any ingress class@names@json_len(app->ingress.gateway_refs) > 0 &&@
containers with capitals@bucket@(*p >= 'A' && *p <= 'Z') || @
dots in containers@bucket@syntax_word(s, 3, 63, ".-")@syntax_word(s, 3, 63, ".-_")
short containers@bucket@syntax_word(s, 3, 63, ".-")@syntax_word(s, 2, 63, ".-")
long containers@bucket@syntax_word(s, 3, 63, ".-")@syntax_word(s, 3, 64, ".-")
dots in prefixes@bucket@(p[0] == '.' && p[1] == '.') || (p[0] == '/'@(p[0] == '/'
empty segments@bucket@ || (p[0] == '/' && (p == s || p[1] == '/'))@
long names@bucket@strlen(s) > 1024 || @
s3 has accounts@bucket@(b->scheme == SCHEME_S3 || b->scheme == SCHEME_GS))@(b->scheme == SCHEME_GS))
gs has accounts@bucket@(b->scheme == SCHEME_S3 || b->scheme == SCHEME_GS))@(b->scheme == SCHEME_S3))
gs has endpoints@bucket@if (b->scheme == SCHEME_GS || b->scheme == SCHEME_AZ)\n\t\tfault_add@if (b->scheme == SCHEME_AZ)\n\t\tfault_add
az has endpoints@bucket@if (b->scheme == SCHEME_GS || b->scheme == SCHEME_AZ)\n\t\tfault_add@if (b->scheme == SCHEME_GS)\n\t\tfault_add
long endpoints@bucket@strlen(b->endpoint) > 2048@false
allowHTTP is ignored@bucket@ && !b->allow_http)@)
accounts beside a store@bucket@b->scheme == SCHEME_AZ && !j->app->store_ref)@b->scheme == SCHEME_AZ)
two credentials@bucket@if (n > 1)@if (n > 2)
one credential@bucket@if (n > 1)@if (n > 0)
a store without its other half@bucket@{ b->allow_http, "allowHTTP" },@
the role auto@bucket@(str_eq(c->iam_role, "auto") || syntax_role_arn(c->iam_role))@syntax_role_arn(c->iam_role)
fleets of two@size@FLEET_PODS = 3@FLEET_PODS = 2
fleets of four@size@FLEET_PODS = 3@FLEET_PODS = 4
65537 gibibytes@size@GIB_MAX = 65536@GIB_MAX = 65537
65535 gibibytes@size@GIB_MAX = 65536@GIB_MAX = 65535
bounds that are not in use@size@if (!on)\n\t\treturn;@
bounds of a fleet that are not in use@size@app->autoscaling.enabled && app->autoscaling.min < FLEET_PODS@app->autoscaling.min < FLEET_PODS
equal bounds@size@if (min > max)@if (min >= max)
a smallest fleet of none@size@on ? 1 : 0@0
31 variables@env@ENV_MAX = 32@ENV_MAX = 31
33 variables@env@ENV_MAX = 32@ENV_MAX = 33
long names of variables@env@ENV_NAME = 128@ENV_NAME = 129
long values@env@ENV_VALUE = 4096@ENV_VALUE = 4097
short values@env@ENV_VALUE = 4096@ENV_VALUE = 4095
what runs besides is ignored@env@version_cmp(j->running->v[i], v) < 0@false
telemetry that nobody asked for@env@!json_get(j->app->spec, "telemetry") || !j->facts@!j->facts
telemetry that is off@env@if (!app->telemetry.enabled)\n\t\treturn;@
retention of no days@env@ || s[0] == '0')@)
retention of letters@env@if (s[i] < '0' || s[i] > '9')@if (false)
64 labels@placing@MAP_MAX = 64@MAP_MAX = 63
65 labels@placing@MAP_MAX = 64@MAP_MAX = 65
keys that only begin like ours@placing@return str_starts(key, own_prefix);\n}\n\nstatic bool is_own_annotation@return false;\n}\n\nstatic bool is_own_annotation
the fleet's own labels@placing@if (str_eq(key, own_labels[i]))@if (false)
labels are annotations@placing@labels ? json_str(c) : NULL@json_str(c)
exceptions anywhere@network@syntax_cidr(s) && !syntax_cidr_holds(s, part)@false
a peer of both kinds@network@if (addresses == pods)@if (!addresses && !pods)
a peer of neither kind@network@if (addresses == pods)@if (addresses && pods)
In without values@network@is_one_of(op, listing) != (json_len(listed) > 0)@!is_one_of(op, listing) && json_len(listed) > 0
Exists with values@network@is_one_of(op, listing) != (json_len(listed) > 0)@is_one_of(op, listing) && json_len(listed) == 0
port 65536@network@first > 65535))@first > 65536))
ranges that end before they begin@network@last < first || @
slashes are another bucket@change@str_eq(prefix_a, prefix_b)@str_eq(a->bucket.name, b->bucket.name)
a store that stays is another@change@!is_same(app->store_ref, old->store_ref)@app->store_ref || old->store_ref
endpoints with Recreate@change@ && !is_recreate(j) &&\n\t    !is_acknowledged@ &&\n\t    !is_acknowledged
endpoints acknowledged@change@ &&\n\t    !is_acknowledged(app, "endpoint"))@)
equal storage@change@>= old->storage.size_gi@> old->storage.size_gi
what Recreate helps against@change@if (!all[i].by_recreate || !is_recreate(j))@if (true)
sealed storage@change@!app->storage.set && was->fleet_durability@!app->storage.set
what Recreate does not help against@change@if (!all[i].by_recreate || !is_recreate(j))@if (!is_recreate(j))
to fleet is as from fleet@change@was->fleet_durability && app->durability == DURABILITY_BUCKET@was->fleet_durability == (app->durability == DURABILITY_BUCKET)
the same image is an upgrade@change@same_image && is_same(app->celld_version, old->celld_version)@false
Recreate is not asked for@change@(v.way == COMPAT_RECREATE && is_recreate(j))@false
Recreate lets everything pass@change@v.way == COMPAT_RECREATE && is_recreate(j)@is_recreate(j)
durability after the change@change@.bucket_both = app->durability == DURABILITY_BUCKET &&\n\t\t\t       @.bucket_both = 
durability before the change@change@ &&\n\t\t\t       old->durability == DURABILITY_BUCKET@
a stop does not count@change@.stopped = j->running->stopped@.stopped = false
acknowledgements do not count@change@.acknowledged = app->acknowledged@.acknowledged = NULL
versions that cannot be read@change@.unread = j->running->unreadable@.unread = false
what the status tells is ignored@rules@i < l->n; i++) {\n\t\tif (version_read@i < 0; i++) {\n\t\tif (version_read
paused is stopped@rules@old->paused && old->status && l->n == 0@old->paused
no pod is stopped@rules@old->paused && old->status && l->n == 0@old->status && l->n == 0
no ratchet@rules@faults_ratchet(faults, &before);@
the spec is always judged@rules@is_same_spec(app, old)@false
an unchanged spec forgives everything@rules@} else if (is_same_spec(app, old)) {\n\t\tfaults_ratchet(faults, &old->type_faults);\n\t} else {@} else if (true) {\n\t} else {
policy is not asked@rules@policy_judge_app(policy, j->app, j->faults);@
a store's policy is not asked@store@policy_judge_store(policy, namespace, &b, faults);@
a store's stored faults@store@faults_ratchet(faults, &before);@
a store's endpoint that nobody uses@store@if (users->n && @if (
a store's acknowledgement@store@ && !acknowledges_endpoint(store))@)
auto is a role of the policy@policy@c->iam_role && str_eq(c->iam_role, "auto") ? NULL : c->iam_role@c->iam_role
a Scale that changes nothing@review@!old || !scale_replicas(old, &had) || had != want@true
a Scale of another app@review@return facts->world->durability(@return true || facts->world->durability(
status is judged@review@r->operation == OP_CONNECT || r->subresource == SUB_STATUS)@r->operation == OP_CONNECT)
DELETE is judged@review@r->operation == OP_DELETE ||@
CONNECT is judged@review@r->operation == OP_CONNECT || @
other apps are not asked@review@if (app && facts->world && facts->world->exclusive)@if (false)
a container is one place everywhere@exclusive@!str_eq(where(mine, my_store), where(other, other_store))@false
prefixes inside@exclusive@else if (is_inside(mine->prefix, other->prefix))@else if (false)
prefixes around@exclusive@else if (is_inside(other->prefix, mine->prefix))@else if (false)
prefixes that begin alike@exclusive@ && inner[n] == '/'@
paths of one namespace@exclusive@return same_path && str_eq(a, b)@return str_eq(a, b)
a wildcard over another's name@exclusive@ || covers(a, b)@
a name under another's wildcard@exclusive@ || covers(b, a)@
wildcards of one namespace@exclusive@if (same_namespace)\n\t\treturn same_path@if (same_namespace && same_path)\n\t\treturn same_path
what is covered needs a dot@exclusive@str_ends(host, wild + 1)@str_ends(host, wild + 2)
what lies under a prefix is not found@exclusive@if (ask)\n\t\tto->f(key_of(UNDER, of@if (false)\n\t\tto->f(key_of(UNDER, of
what lies above a prefix is not found@exclusive@to->f(key_of(ask ? AT : UNDER, of, p, n), to->ctx)@(void)of
names under a wildcard are not found@exclusive@if (ask && str_starts(host, "*."))@if (false)
wildcards over a name are not found@exclusive@to->f(key_of(AT, "*", dot, strlen(dot)), to->ctx)@(void)dot
"""
FILES = {"rules": "common/workerapp_rules.c", "store": "common/store_rules.c", "policy": "common/policy.c",
         "exclusive": "common/exclusive.c", "review": "webhook/review.c"}


def mutants():
    """(what, file, text)"""
    for file, calls in CALLS.items():
        text = open(file).read()
        for m in re.finditer(r"\b(?:%s)\(" % calls, text):
            line = text[text.rfind("\n", 0, m.start()) + 1:m.start()]
            if line.startswith(("static", "void", "bool", "/", " *")):
                continue  # its definition
            number = text.count("\n", 0, m.start()) + 1
            rule = re.match(r'[^;]*?"([a-zA-Z0-9.\[\]%-]+)"', text[m.end():m.end() + 300])
            yield ("%s:%d: %s%s" % (file, number, m.group(0)[:-1], " " + rule.group(1) if rule else ""), file,
                   "#define LEFT_OUT(...) ((void)0)\n" + text[:m.start()] + "LEFT_OUT(" + text[m.end():])
    for line in EDGES.strip("\n").splitlines():
        what, file, old, new = parse(line)
        text = open(file).read()
        yield what, file, text.replace(old, new, 1) if text.count(old) else None


def parse(line):
    what, file, old, new = line.split("@")
    return (what, FILES.get(file, "common/workerapp_rules_%s.c" % file), old.replace("\\n", "\n").replace("\\t", "\t"),
            new.replace("\\n", "\n").replace("\\t", "\t"))


def run(*argv):
    return subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=300)


LIBS = subprocess.check_output(["pkg-config", "--libs", "cmocka", "libmicrohttpd", "gnutls", "libcurl", "openssl", "libcjson",
                                "yaml-0.1"], text=True).split()
CFLAGS = subprocess.check_output(["pkg-config", "--cflags", "libcjson"], text=True).split()


PARTS = ["%s/lib%s.a" % (B, p) for p in ("test", "cli", "controller", "webhook", "certs", "common")] + [B + "/version.o"] + [
    "%s/test/unit/test_%s.o" % (B, t) for t in TESTS]


def link(work, objects, test, to):
    parts = ["%s/%s" % (work, os.path.basename(p)) for p in PARTS]
    r = run("gcc", *objects, "%s/test_%s.o" % (work, test), *parts[:-len(TESTS)], "-Wl,--as-needed", *LIBS, "-lm", "-o", to)
    if r.returncode:
        sys.exit("mutate.py: make check first: " + r.stdout[-400:])


def notice(work, number, what, file, text):
    """One line, the first word of which says how it went."""
    if text is None:
        return "UNCHANGED  " + what
    base = "%s/%d" % (work, number)
    with open(base + ".c", "w") as f:
        f.write(text)
    r = run("gcc", "-std=gnu17", "-O1", "-w", "-D_GNU_SOURCE", "-I.", *CFLAGS, "-c", base + ".c", "-o", base + ".o")
    if r.returncode:
        return "INVALID    %s: %s" % (what, r.stdout[-300:])
    for test in ["admission_table"] + ([ALSO[file]] if file in ALSO else []):
        link(work, [base + ".o"], test, base)
        try:
            r = run(base)
        except subprocess.TimeoutExpired:
            r = None
        os.unlink(base)
        if not r or r.returncode:
            return "ok         %s: noticed by %s" % (what, test)
    return "SURVIVED   " + what


def main():
    with tempfile.TemporaryDirectory() as work:
        for part in PARTS:  # of one moment, whatever is built meanwhile
            shutil.copy(part, work)
        for test in TESTS:
            link(work, [], test, work + "/test")
            r = run(work + "/test")
            if r.returncode:
                sys.exit("mutate.py: %s fails without a mutation\n%s" % (test, r.stdout))
        chosen = [m for m in mutants() if len(sys.argv) < 2 or sys.argv[1] in m[0]]
        with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS", "2"))) as pool:
            said = list(pool.map(lambda m: notice(work, m[0], *m[1]), enumerate(chosen)))
    print("\n".join(said))
    passed = sum(s.startswith("ok ") for s in said)
    print("%d passed, %d failed" % (passed, len(said) - passed))
    return passed != len(said)


if __name__ == "__main__":
    sys.exit(main())
