#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "common/celld/table_load.h"
#include "common/workerapp_rules.h"
#include "test/lib/rules_table.h"

#define BAD "hostnames: [a_b.example.com]"
#define BAD_HOST                                                                                   \
	"\"a_b.example.com\" cannot be routed; write a lower-case DNS name such as "               \
	"chat.example.com or *.example.com, without scheme, port or final dot, no IP address"

static void test_ratchet(void **state)
{
	static const struct rules_update rows[] = {
		/* An old fault forbids no other edit. */
		{ "spec: {" BAD "}", "spec: {" BAD "}\nmetadata: {labels: {a: b}}", "" },
		{ "spec: {" BAD "}", "spec: {" BAD ", replicas: 4}", "" },
		{ "spec: {" BAD "}", "spec: {" BAD "}\nmetadata: {finalizers: [x]}", "" },
		/* An element that moved is the same fault; another value is a new one. */
		{ "spec: {" BAD "}", "spec: {hostnames: [ok.example.com, a_b.example.com]}", "" },
		{ "spec: {" BAD "}", "spec: {hostnames: [a_c.example.com]}",
		  "hostname-syntax spec.hostnames[0]: \"a_c.example.com\" cannot be routed; write "
		  "a "
		  "lower-case DNS name such as chat.example.com or *.example.com, without scheme, "
		  "port "
		  "or final dot, no IP address" },
		{ "spec: {" BAD "}", "spec: {hostnames: [a_c.example.com, a_b.example.com]}",
		  "hostname-syntax spec.hostnames[0]: \"a_c.example.com\" cannot be routed; write "
		  "a "
		  "lower-case DNS name such as chat.example.com or *.example.com, without scheme, "
		  "port "
		  "or final dot, no IP address" },
		{ "", "spec: {" BAD "}", "hostname-syntax spec.hostnames[0]: " BAD_HOST },
		/* A rule that reads two values is asked again when one of them moves. */
		{ "spec: {autoscaling: {enabled: true, minReplicas: 9, maxReplicas: 2}}",
		  "spec: {autoscaling: {enabled: true, minReplicas: 9, maxReplicas: 2}, replicas: "
		  "4}",
		  "" },
		{ "spec: {autoscaling: {enabled: true, minReplicas: 9, maxReplicas: 2}}",
		  "spec: {autoscaling: {enabled: true, minReplicas: 9, maxReplicas: 3}}",
		  "autoscaling-bounds spec.autoscaling.minReplicas: 9 is more than maxReplicas, 3; "
		  "write a smaller minReplicas or a greater maxReplicas" },
		/* Wrong types have the same ratchet. */
		{ "spec: {podLabels: {a: 1}}", "spec: {podLabels: {a: 1}, replicas: 4}", "" },
		{ "spec: {podLabels: {a: 1}}", "spec: {podLabels: {a: 2}}",
		  "wrong-type spec.podLabels[a]: must be a string, is a number; put it in quotes" },
		/* A name that is too long now cannot change any more. */
		{ "metadata: {name: a1234567890123456789012345678901234567890123456}",
		  "metadata: {name: a1234567890123456789012345678901234567890123456}\nspec: "
		  "{replicas: "
		  "4}",
		  "" },
	};

	(void)state;
	rules_check_updates(rows, array_len(rows));
}

#define GONE "deletionTimestamp: '2026-11-29T10:00:00Z', "

static void test_terminating(void **state)
{
	static const struct rules_update rows[] = {
		{ "metadata: {" GONE
		  "finalizers: [example.com/hold]}\nspec: {autoscaling: {enabled: "
		  "true, minReplicas: 9, maxReplicas: 2}}",
		  "metadata: {" GONE "finalizers: null}\nspec: {autoscaling: {enabled: true, "
		  "minReplicas: 9, maxReplicas: 2}}",
		  "" },
		{ "metadata: {" GONE "finalizers: [x]}",
		  "metadata: {" GONE "finalizers: [x]}\nspec: {" BAD "}",
		  "hostname-syntax spec.hostnames[0]: " BAD_HOST },
	};

	(void)state;
	rules_check_updates(rows, array_len(rows));
}

/* One fault does not hide another, and none is told twice when the reader's list is the same one. */
static void test_all_at_once(void **state)
{
	struct json *doc = rules_overlay("spec: {replicas: '3', " BAD ", appVersion: ''}");
	struct rules_facts facts = { .table = celld_table_builtin() };
	struct faults faults = FAULTS_INIT;
	struct workerapp *app = NULL;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(workerapp_parse(doc, &faults, &app, &e), 0);
	assert_int_equal(faults.n, 1);
	workerapp_rules(app, NULL, &facts, &faults, NULL);
	assert_int_equal(faults.n, 3);
	assert_string_equal(faults.v[0].path, "spec.replicas");
	assert_string_equal(faults.v[1].path, "spec.hostnames[0]");
	assert_string_equal(faults.v[2].path, "spec.appVersion");
	assert_false(faults.v[0].forbidden);
	/* Also when the same faults come back with the stored object. */
	workerapp_rules(app, app, &facts, &faults, NULL);
	assert_int_equal(faults.n, 2);
	faults_done(&faults);
	workerapp_free(app);
}

/* A feature that no version of a table has. */
static void test_table_without_the_feature(void **state)
{
	static struct celld_table table;
	struct rules_facts facts = { .table = &table };
	struct faults faults = FAULTS_INIT;
	struct workerapp *app = rules_app("spec: {deploymentPolicy: InPlace}");

	(void)state;
	table = *celld_table_builtin();
	for (size_t i = 0; i < table.n_facts; i++)
		table.facts[i].state_deployment = false;
	workerapp_rules(app, NULL, &facts, &faults, NULL);
	assert_int_equal(faults.n, 1);
	assert_string_equal(
		faults.v[0].message,
		"celld v0.6.2 takes a deployment up only when it starts; write Restart, or "
		"celld a version that has it");
	faults_done(&faults);
	workerapp_free(app);
}

/* A name that came, went and came again is known from its first row on, in whichever order the rows stand. */
static void test_name_with_two_rows(void **state)
{
	static struct celld_table table;
	struct rules_facts facts = { .table = &table };
	struct faults faults = FAULTS_INIT;
	struct workerapp *app = rules_app(
		"spec: {celld: {image: 'celld:v0.4.0'}, env: [{name: CELLD_A, value: x}, {name: "
		"CELLD_B, value: x}, {name: CELLD_C, value: x}]}");
	static const struct celld_name rows[] = {
		{ "CELLD_A", { { 0, 3, 0 }, { 0, 3, 1 } }, false },
		{ "CELLD_A", { { 0, 6, 0 }, { 0, 0, 0 } }, false },
		{ "CELLD_B", { { 0, 6, 0 }, { 0, 0, 0 } }, false },
		{ "CELLD_B", { { 0, 4, 0 }, { 0, 4, 1 } }, false },
		{ "CELLD_C", { { 0, 6, 0 }, { 0, 0, 0 } }, false },
		{ "CELLD_C", { { 0, 5, 0 }, { 0, 5, 1 } }, false },
	};

	(void)state;
	table = *celld_table_builtin();
	memcpy(table.known, rows, sizeof(rows));
	table.n_known = array_len(rows);
	workerapp_rules(app, NULL, &facts, &faults, NULL);
	assert_int_equal(faults.n, 1);
	assert_string_equal(
		faults.v[0].message,
		"celld v0.4.0, which the fleet may run, does not know CELLD_C; add it once "
		"every pod runs v0.5.0 or later");
	faults_done(&faults);
	workerapp_free(app);
}

/* A warning of the table's way up, too long for Kubernetes: cut where a character ends. */
static void test_long_warning(void **state)
{
	static struct celld_table table;
	struct rules_facts facts = { .table = &table };
	struct faults faults = FAULTS_INIT;
	struct strlist warnings = STRLIST_INIT;
	struct workerapp *old = rules_app("spec: {celld: {image: 'celld:v0.6.1'}}");
	struct workerapp *app = rules_app("");

	(void)state;
	table = *celld_table_builtin();
	for (size_t i = 0; i < table.n_boundaries; i++) {
		char *to = table.boundaries[i].up.warning;

		/* "spec.celld.image: " and 101 letters are 119 bytes, the next character has two. */
		memset(to, 'x', 101);
		memcpy(to + 101, "\xc3\xa4 and more", 12);
	}
	workerapp_rules(app, old, &facts, &faults, &warnings);
	assert_int_equal(faults.n, 0);
	assert_int_equal(warnings.n, 1);
	assert_int_equal(strlen(warnings.v[0]), 119);
	faults_done(&faults);
	strlist_done(&warnings);
	workerapp_free(app);
	workerapp_free(old);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ratchet),
		cmocka_unit_test(test_terminating),
		cmocka_unit_test(test_all_at_once),
		cmocka_unit_test(test_table_without_the_feature),
		cmocka_unit_test(test_name_with_two_rows),
		cmocka_unit_test(test_long_warning),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
