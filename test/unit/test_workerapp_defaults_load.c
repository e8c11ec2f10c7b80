#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "common/celld/table_load.h"
#include "common/workerapp_defaults_load.h"

static int load(const char *text, struct workerapp_defaults *d, struct err *e)
{
	return workerapp_defaults_load(text, strlen(text), "d.yaml", celld_table_builtin(), d, e);
}

static void test_good(void **state)
{
	struct workerapp_defaults d = { NULL, 0 };
	struct err e = ERR_INIT;

	(void)state;
	if (load("defaults:\n"
		 "  celld: {image: 'ghcr.io/denoland/celld:v0.6.2'}\n"
		 "  bucket: {endpoint: 'https://minio.example.com', credentialsFrom: {secretRef: "
		 "s}}\n"
		 "  ingress: {gatewayRefs: [{name: edge, namespace: infra}]}\n"
		 "  podLabels: {team: platform}\n"
		 "namespaces:\n"
		 "- {pattern: 'eu-*', defaults: {bucket: {storageAccount: europe1, "
		 "credentialsFrom: "
		 "{azureClientID: 11111111-2222-3333-4444-555555555555}}}}\n"
		 "- {pattern: gs, defaults: {bucket: {credentialsFrom: {gcpServiceAccount: "
		 "x@y.iam.gserviceaccount.com}}}}\n",
		 &d, &e))
		fail_msg("%s", e.message);
	assert_int_equal(d.n, 3);
	assert_null(d.v[0].pattern);
	assert_string_equal(d.v[1].pattern, "eu-*");
	workerapp_defaults_done(&d);
	assert_int_equal(load("{}", &d, &e), 0);
	assert_int_equal(d.n, 0);
}

static void test_bad(void **state)
{
	static const struct {
		const char *text, *message;
	} rows[] = {
		{ "- a\n", "d.yaml:1: defaults: write an object with defaults and namespaces" },
		{ "defaults: {}\ndefault: {}\n",
		  "d.yaml:2: default: there is no such member; write defaults and namespaces" },
		{ "defaults: 7\n",
		  "d.yaml:1: defaults: write names with values, as in the spec of a WorkerApp" },
		{ "defaults:\n  celld:\n    updateStrategy: Recreate\n",
		  "d.yaml:3: defaults.celld.updateStrategy: has no default of the platform; leave "
		  "it "
		  "out" },
		{ "defaults:\n  celld: {image: latest}\n  bucket:\n    region: a b\n",
		  "d.yaml:2: defaults.celld.image: " },
		{ "defaults:\n  bucket:\n    region: a b\n",
		  "d.yaml:3: defaults.bucket.region: \"a b\" is no region; write one such as "
		  "eu-central-1, or auto" },
		{ "defaults:\n  bucket:\n    storageAccount: X\n",
		  "d.yaml:3: defaults.bucket.storageAccount: \"X\" is no storage account; write 3 "
		  "to "
		  "24 lower-case letters and digits" },
		{ "defaults:\n  bucket:\n    endpoint: http://minio\n",
		  "d.yaml:3: defaults.bucket.endpoint: only an app itself may allow an endpoint "
		  "that "
		  "is not encrypted; write https://, or a CelldObjectStore that apps name by "
		  "storeRef" },
		{ "defaults:\n  resources: {memoryGi: 0}\n",
		  "d.yaml:2: defaults.resources.memoryGi: " },
		{ "defaults:\n  resources: {memory: 1}\n",
		  "d.yaml:2: defaults.resources.memory: there is no such field; did you mean "
		  "memoryGi?" },
		{ "defaults:\n  podLabels: {team: 'a b'}\n", "d.yaml:2: defaults.podLabels[team]" },
		{ "namespaces: {}\n", "d.yaml:1: namespaces: write a list" },
		{ "namespaces:\n- {defaults: {}}\n",
		  "d.yaml:2: namespaces[0]: names no namespaces; write pattern, such as team-*" },
		{ "namespaces:\n- {pattern: a}\n",
		  "d.yaml:2: namespaces[0]: holds no defaults; write some" },
		{ "namespaces:\n- {pattern: a, default: {}}\n",
		  "d.yaml:2: namespaces[0].default: there is no such member; write pattern and "
		  "defaults" },
		{ "namespaces:\n- pattern: a\n  defaults:\n    telemetry: {retention: soon}\n",
		  "d.yaml:4: namespaces[0].defaults.telemetry.retention: " },
	};

	(void)state;
	for (size_t i = 0; i < array_len(rows); i++) {
		struct workerapp_defaults d = { NULL, 0 };
		struct err e = ERR_INIT;

		if (load(rows[i].text, &d, &e) != -ERR_INVALID ||
		    !str_starts(e.message, rows[i].message))
			fail_msg("%swant %s\ngot  %s", rows[i].text, rows[i].message, e.message);
		assert_int_equal(d.n, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_good),
					    cmocka_unit_test(test_bad) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
