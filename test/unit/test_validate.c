#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/validate.h"
#include "common/base.h"
#include "common/build_version.h"

/* One run: what it is given on standard input, and what it says. */
struct outcome {
	int status;
	char *out, *err;
};

static void outcome_done(struct outcome *o)
{
	free(o->out);
	free(o->err);
}

enum { ARGS = 8 };

static struct outcome run(const char *input, const char *const *args)
{
	struct outcome o = { 0 };
	size_t out_len = 0, err_len = 0;
	FILE *in = fmemopen((void *)(uintptr_t)input, strlen(input), "r");
	FILE *out = open_memstream(&o.out, &out_len), *err = open_memstream(&o.err, &err_len);
	char *argv[ARGS + 2] = { (char *)(uintptr_t) "validate" };
	int argc = 1;

	assert_true(in && out && err);
	for (; *args; args++)
		argv[argc++] = (char *)(uintptr_t)*args;
	o.status = validate_run(argc, argv, in, out, err);
	(void)fclose(in);
	(void)fclose(out);
	(void)fclose(err);
	return o;
}

static void check(const char *input, const char *const *args, int status, const char *out,
		  const char *err)
{
	struct outcome o = run(input, args);
	const char *at = strchr(out, '@');
	cleanup(freep) char *want =
		at ? xasprintf("%.*s%s%s", (int)(at - out), out, build_version, at + 1)
		   : xstrdup(out);

	assert_string_equal(o.out, want);
	assert_string_equal(o.err, err);
	assert_int_equal(o.status, status);
	outcome_done(&o);
}

static char dir[] = "/tmp/validate.XXXXXX";

static int make_dir(void **state)
{
	(void)state;
	return mkdtemp(dir) ? 0 : -1;
}

static const char *const names[] = { "app.yaml", "old.yaml", "table.yaml", "policy.yaml" };

static char *path_of(const char *name)
{
	return xasprintf("%s/%s", dir, name);
}

static int remove_dir(void **state)
{
	(void)state;
	for (size_t i = 0; i < array_len(names); i++) {
		cleanup(freep) char *path = path_of(names[i]);

		(void)unlink(path);
	}
	return rmdir(dir);
}

static char *write_file(const char *name, const char *text)
{
	char *path = path_of(name);
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
	return path;
}

static const char *const from_stdin[] = { "-f", "-", NULL };

#define HEAD(name)                                                                                 \
	"apiVersion: celld-operator.io/v1alpha1\nkind: WorkerApp\nmetadata: {name: " name "}\n"
#define SPEC(version, more)                                                                        \
	"spec:\n  appVersion: v1\n  celld: {image: 'celld:" version "'}\n"                         \
	"  bucket: {name: s3://cells/a, credentialsFrom: {secretRef: k}}\n" more

#define QUICK_START                                                                                \
	"apiVersion: celld-operator.io/v1alpha1\n"                                                 \
	"kind: WorkerApp\n"                                                                        \
	"metadata:\n"                                                                              \
	"  name: chat\n"                                                                           \
	"  namespace: tenant-acme\n"                                                               \
	"spec:\n"                                                                                  \
	"  hostnames: [\"chat.acme.example.com\"]   # routed via the shared Gateway\n"             \
	"  appVersion: sha-abc123                 # which bucket deployment is live\n"             \
	"  celld:\n"                                                                               \
	"    image: ghcr.io/denoland/celld:v0.6.2\n"                                               \
	"    updateStrategy: Rolling\n"                                                            \
	"  replicas: 3\n"                                                                          \
	"  bucket:\n"                                                                              \
	"    name: s3://platform-cells/apps/chat\n"                                                \
	"    endpoint: https://ACCOUNT.r2.cloudflarestorage.com\n"                                 \
	"    region: auto\n"                                                                       \
	"    credentialsFrom:\n"                                                                   \
	"      iamRole: arn:aws:iam::123456789012:role/celld-chat\n"                               \
	"  resources:\n"                                                                           \
	"    memoryGi: 8\n"                                                                        \
	"    maxResidentCells: 1000\n"                                                             \
	"  websockets: true\n"                                                                     \
	"  durability: bucket\n"                                                                   \
	"  autoscaling:\n"                                                                         \
	"    enabled: true\n"                                                                      \
	"    minReplicas: 3\n"                                                                     \
	"    maxReplicas: 10\n"                                                                    \
	"    targets:\n"                                                                           \
	"      residentCellUtilization: 70\n"                                                      \
	"      p95LatencyMs: 250\n"                                                                \
	"  telemetry:\n"                                                                           \
	"    enabled: true\n"                                                                      \
	"    retention: 30d\n"

static void test_quick_start(void **state)
{
	(void)state;
	check(QUICK_START, from_stdin, 0, "",
	      "warning: spec.bucket.region: iamRole needs the real region, because AWS's token "
	      "service has no `auto`\n"
	      "1 WorkerApp, 0 refused\n");
}

static void test_refused(void **state)
{
	static const char *const quiet[] = { "-q", "-f", "-", NULL };

	(void)state;
	check(HEAD("a") SPEC("v0.6.2", "  replicas: 0\n  hostname: x\n  frob: y\n"), from_stdin, 1,
	      "spec.replicas: 0 is out of range; write a number from 1 to 1000\n"
	      "spec.hostname: there is no such field; did you mean hostnames?\n"
	      "spec.frob: there is no such field; leave it out\n",
	      "1 WorkerApp, 1 refused\n");
	check(HEAD("a") SPEC("v0.6.2", "  replicas: 0\n"), quiet, 1,
	      "spec.replicas: 0 is out of range; write a number from 1 to 1000\n", "");
	check(HEAD("a") SPEC("v0.6.2", "  replicas: 1\n"), quiet, 0, "", "");
	check("{\"apiVersion\":\"celld-operator.io/v1\",\"kind\":\"WorkerApp\"}", from_stdin, 1,
	      "apiVersion: is \"celld-operator.io/v1\", not celld-operator.io/v1alpha1\n",
	      "1 WorkerApp, 1 refused\n");
}

/* Several objects: each line says whose it is; other kinds are counted; lists are what they hold. */
static void test_several(void **state)
{
	(void)state;
	check("apiVersion: v1\nkind: Secret\n---\n---\n" HEAD("a") SPEC(
		      "v0.6.2",
		      "") "---\n"
			  "apiVersion: v1\nkind: List\nitems:\n"
			  "- {apiVersion: celld-operator.io/v1alpha1, kind: WorkerApp, metadata: "
			  "{name: b, "
			  "namespace: acme}, spec: {appVersion: v1, replicas: 0, celld: {image: "
			  "'celld:v0.6.2'}, bucket: {name: 's3://cells/b', credentialsFrom: "
			  "{secretRef: "
			  "k}}}}\n"
			  "- {apiVersion: celld-operator.io/v1alpha1, kind: WorkerApp, metadata: "
			  "{namespace: "
			  "\"a\\tb\"}, spec: {appVersion: v1, replicas: 1, celld: {image: "
			  "'celld:v0.6.2'}, "
			  "bucket: {name: 's3://cells/b', credentialsFrom: {secretRef: k}}}}\n"
			  "- {apiVersion: v1, kind: ConfigMap}\n",
	      from_stdin, 1,
	      "standard input[3] acme/b: spec.replicas: 0 is out of range; write a number from 1 "
	      "to "
	      "1000\n"
	      "standard input[3] a?b/(no name): metadata.name: there is no name; write one of at "
	      "most 46 characters\n",
	      "standard input[3] a?b/(no name): warning: spec.replicas: a single pod; each restart "
	      "and each drain of its node is an outage\n"
	      "3 WorkerApps, 2 refused, 2 objects of other kinds skipped\n");
	check("{apiVersion: v1, kind: Secret, items: []}", from_stdin, 0, "",
	      "0 WorkerApps, 0 refused, 1 object of other kinds skipped\n");
	check("# nothing\n", from_stdin, 0, "", "0 WorkerApps, 0 refused\n");
}

#define STORE(spec)                                                                                \
	"apiVersion: celld-operator.io/v1alpha1\nkind: CelldObjectStore\nmetadata: {name: s}\n"    \
	"spec: " spec "\n"

static void test_stores(void **state)
{
	(void)state;
	check(STORE("{endpoint: 'https://minio.example.com', credentialsSecretRef: {name: k}}"),
	      from_stdin, 0, "", "1 CelldObjectStore, 0 refused\n");
	check(STORE("{endpoint: 'http://minio.example.com', bucket: x, Region: y,\n"
		    "  credentialsFrom: {secret: k}}"),
	      from_stdin, 1,
	      "spec.endpoint: \"http://minio.example.com\" is not encrypted; write an https:// "
	      "URL, or allowHTTP: true if the network is trusted\n"
	      "spec.bucket: there is no such field; leave it out\n"
	      "spec.Region: there is no such field; did you mean region?\n"
	      "spec.credentialsFrom.secret: there is no such field; did you mean secretRef?\n",
	      "1 CelldObjectStore, 1 refused\n");
	check(STORE("{}") "---\n" HEAD("a") SPEC("v0.6.2", ""), from_stdin, 0, "",
	      "1 WorkerApp, 1 CelldObjectStore, 0 refused\n");
}

/* For machines: file, line and column of each, also of one in a list. */
static void test_output(void **state)
{
	static const char *const json[] = { "-o", "json", "-q", "-f", "-", NULL };
	static const char *const sarif[] = { "-o", "sarif", "-q", "-f", "-", NULL };
	static const char *const warnings[] = { "-o", "json", "-f", "-", NULL };
	static const char list[] =
		"kind: List\nitems:\n"
		"- apiVersion: celld-operator.io/v1alpha1\n"
		"  kind: WorkerApp\n"
		"  metadata: {name: b, namespace: acme}\n"
		"  spec:\n"
		"    appVersion: v1\n"
		"    celld: {image: 'celld:v0.6.2'}\n"
		"    bucket: {name: 's3://cells/b', credentialsFrom: {secretRef: k}}\n"
		"    replicas: 0\n";

	(void)state;
	check(list, json, 1,
	      "[{\"file\":\"standard input\",\"line\":10,\"column\":5,\"document\":1,"
	      "\"level\":\"error\",\"rule\":\"number-range\",\"namespace\":\"acme\","
	      "\"name\":\"b\",\"path\":\"spec.replicas\",\"message\":\"0 is out of range; "
	      "write a number from 1 to 1000\"}]\n",
	      "");
	check(list, sarif, 1,
	      "{\"$schema\":\"https://json.schemastore.org/sarif-2.1.0.json\",\"version\":"
	      "\"2.1.0\",\"runs\":[{\"tool\":{\"driver\":{\"name\":\"kubectl-celld\","
	      "\"version\":\"@\"}},\"results\":[{\"ruleId\":\"number-range\",\"level\":"
	      "\"error\",\"message\":{\"text\":\"spec.replicas: 0 is out of range; write a number "
	      "from 1 to 1000\"},\"locations\":[{\"physicalLocation\":{\"artifactLocation\":{"
	      "\"uri\":\"standard input\"},\"region\":{\"startLine\":10,\"startColumn\":5}}}]}]}"
	      "]}\n",
	      "");
	check(HEAD("a") SPEC("v0.6.2", ""), json, 0, "[]\n", "");
	check("---\n" HEAD("a") SPEC("v0.6.2", "  replicas: 1\n"), warnings, 0,
	      "[{\"file\":\"standard input\",\"line\":2,\"column\":1,\"document\":1,\"level\":"
	      "\"warning\",\"name\":\"a\",\"path\":\"\",\"message\":\"spec.replicas: a single pod; "
	      "each restart and each drain of its node is an outage\"}]\n",
	      "1 WorkerApp, 0 refused\n");
}

static void test_policy(void **state)
{
	cleanup(freep) char *policy =
		write_file("policy.yaml", "allowedImagePrefixes: [r.io/celld]\n");
	const char *const args[] = { "--policy", policy, "-q", "-f", "-", NULL };
	static const char *const flag[] = {
		"--allowed-image-prefixes", "celld", "-q", "-f", "-", NULL
	};

	(void)state;
	check(HEAD("a") SPEC("v0.6.2", ""), args, 1,
	      "spec.celld.image: the platform's policy does not allow image \"celld:v0.6.2\" here; "
	      "write an image that begins with r.io/celld, or ask the platform's owners to allow "
	      "it\n",
	      "");
	check(HEAD("a") SPEC("v0.6.2", ""), flag, 0, "", "");
}

static void test_files(void **state)
{
	cleanup(freep) char *app =
		write_file("app.yaml", HEAD("a") SPEC("v0.4.0", "  replicas: 0\n"));
	const char *const once[] = { "-f", app, NULL };
	const char *const twice[] = { "--filename", app, app, NULL };
	cleanup(freep) char *said = xasprintf(
		"%s[1] a: spec.replicas: 0 is out of range; write a number from 1 to 1000\n"
		"%s[1] a: spec.replicas: 0 is out of range; write a number from 1 to 1000\n",
		app, app);

	(void)state;
	check("", once, 1, "spec.replicas: 0 is out of range; write a number from 1 to 1000\n",
	      "1 WorkerApp, 1 refused\n");
	check("", twice, 1, said, "2 WorkerApps, 2 refused\n");
}

#define FROM_3_TO_4                                                                                \
	"spec.celld.image: celld v0.3.0 to v0.4.0 cannot roll (between v0.3.0 and v0.4.0): the "   \
	"peer protocol and its paths change, so v0.3 and v0.4 nodes cannot talk to each other; "   \
	"set spec.celld.updateStrategy to Recreate, which stops all pods before the first new "    \
	"one starts\n"

static void test_old(void **state)
{
	cleanup(freep) char *old = write_file(
		"old.yaml",
		"kind: Secret\napiVersion: v1\nmetadata: {name: a}\n---\n" HEAD("other") SPEC(
			"v0.4.0", "") "---\n"
				      "apiVersion: celld-operator.io/v1alpha1\nkind: WorkerApp\n"
				      "metadata: {name: a, namespace: acme}\n" SPEC(
					      "v0.3.0", "  hostname: x\n  hostnames: [a_b]\n"));
	const char *const args[] = { "-f", "-", "--old", old, NULL };

	(void)state;
	check(HEAD("a") SPEC("v0.4.0", "  hostname: x\n  hostnames: [a_b]\n"), args, 1, FROM_3_TO_4,
	      "1 WorkerApp, 1 refused\n");
	/* A name that is not there is created. */
	check(HEAD("b") SPEC("v0.4.0", ""), args, 0, "", "1 WorkerApp, 0 refused\n");
	/* Another namespace is another object. */
	check("apiVersion: celld-operator.io/v1alpha1\nkind: WorkerApp\nmetadata: {name: a, "
	      "namespace: other}\n" SPEC("v0.4.0", ""),
	      args, 0, "", "1 WorkerApp, 0 refused\n");
	free(write_file("old.yaml", "apiVersion: celld-operator.io/v9\nkind: WorkerApp\nmetadata: "
				    "{name: a}\n"));
	check(HEAD("a") SPEC("v0.4.0", ""), args, 1,
	      "the old object: apiVersion is \"celld-operator.io/v9\", not "
	      "celld-operator.io/v1alpha1\n",
	      "1 WorkerApp, 1 refused\n");
}

static void test_usage(void **state)
{
	static const char *const none[] = { NULL };
	static const char *const unknown[] = { "--frob", NULL };
	static const char *const no_value[] = { "-f", NULL };

	(void)state;
	check("", none, 2, "",
	      "kubectl-celld validate: no file; write -f FILE, or -f - for standard input\n");
	check("", unknown, 2, "", "kubectl-celld validate: unknown flag --frob; see --help\n");
	check("", no_value, 2, "", "kubectl-celld validate: --filename needs a value\n");
}

static void test_unreadable(void **state)
{
	static const char *const missing[] = { "-f", "-", "-f", "/no/such/file", NULL };
	static const char *const folder[] = { "-f", "/", NULL };
	static const char *const old[] = { "-f", "-", "--old", "/no/such/file", NULL };
	static const char *const table[] = { "-f", "-", "--compat-table", "/no/such/file", NULL };

	(void)state;
	check(HEAD("a") SPEC("v0.4.0", "  replicas: 0\n"), missing, 2, "",
	      "kubectl-celld validate: /no/such/file: No such file or directory\n");
	check("", folder, 2, "", "kubectl-celld validate: /: Is a directory\n");
	check("", old, 2, "",
	      "kubectl-celld validate: --old: /no/such/file: No such file or directory\n");
	check("", table, 2, "",
	      "kubectl-celld validate: --compat-table: /no/such/file: No such file or directory\n");
	check("a: 1\na: 2\n", from_stdin, 2, "",
	      "kubectl-celld validate: standard input: line 2: duplicate name 'a', which "
	      "stands on line 1\n");
}

static void test_table(void **state)
{
	cleanup(freep) char *table = write_file("table.yaml", "releases: 5\n");
	const char *const args[] = { "-f", "-", "--compat-table", table, NULL };
	struct outcome o;

	(void)state;
	o = run(QUICK_START, args);
	assert_int_equal(o.status, 2);
	assert_string_equal(o.out, "");
	assert_true(str_starts(o.err, "kubectl-celld validate: --compat-table: "));
	outcome_done(&o);
}

/* A table of the user's own decides, not the one compiled in. */
static void test_own_table(void **state)
{
	FILE *f = fopen("common/celld/celld.yaml", "re");
	static char text[1 << 16];
	size_t n;
	char *at;
	cleanup(freep) char *table = NULL;

	(void)state;
	assert_non_null(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	(void)fclose(f);
	text[n] = '\0';
	/* v0.3 to v0.4 rolls in this one. */
	at = strstr(text, "above: 0.4.0\n  up:\n    way: recreate\n");
	assert_non_null(at);
	at += strlen("above: 0.4.0\n  up:\n    way: ");
	for (const char *way = "rolling "; *way; way++)
		*at++ = *way;
	table = write_file("table.yaml", text);
	{
		cleanup(freep) char *old = write_file("old.yaml", HEAD("a") SPEC("v0.3.0", ""));
		const char *const args[] = {
			"-f", "-", "--old", old, "--compat-table", table, NULL
		};
		const char *const builtin[] = { "-f", "-", "--old", old, NULL };

		check(HEAD("a") SPEC("v0.4.0", ""), builtin, 1, FROM_3_TO_4,
		      "1 WorkerApp, 1 refused\n");
		check(HEAD("a") SPEC("v0.4.0", ""), args, 0, "", "1 WorkerApp, 0 refused\n");
	}
}

static void test_help(void **state)
{
	static const char *const args[] = { "--help", NULL };
	struct outcome o = run("", args);

	(void)state;
	assert_int_equal(o.status, 0);
	assert_string_equal(o.err, "");
	assert_true(str_starts(
		o.out, "Usage: kubectl celld validate -f FILE... [--old FILE | --server]\n"));
	assert_non_null(strstr(o.out, "--compat-table"));
	outcome_done(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quick_start), cmocka_unit_test(test_refused),
		cmocka_unit_test(test_several),	    cmocka_unit_test(test_output),
		cmocka_unit_test(test_stores),	    cmocka_unit_test(test_policy),
		cmocka_unit_test(test_files),	    cmocka_unit_test(test_old),
		cmocka_unit_test(test_usage),	    cmocka_unit_test(test_unreadable),
		cmocka_unit_test(test_table),	    cmocka_unit_test(test_own_table),
		cmocka_unit_test(test_help),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
