#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "test/lib/app_fixture.h"

static void quantities_are_as_the_server_stores_them(void **state)
{
	static const struct {
		int64_t n;
		const char *cpu, *gi;
	} cases[] = {
		{ 500, "500m", "500Gi" },
		{ 1000, "1", "1000Gi" },
		{ 1500, "1500m", "1500Gi" },
		{ 1024, "1024m", "1Ti" },
		{ 2048, "2048m", "2Ti" },
		{ 65536, "65536m", "64Ti" },
		{ 1048576, "1048576m", "1Pi" },
		{ 64000, "64", "64000Gi" },
		{ 1099511627776, "1099511627776m", "1024Ei" },
	};

	(void)state;
	for (size_t i = 0; i < array_len(cases); i++) {
		cleanup(freep) char *cpu = desired_cpu(cases[i].n);
		cleanup(freep) char *gi = desired_gi(cases[i].n);

		assert_string_equal(cpu, cases[i].cpu);
		assert_string_equal(gi, cases[i].gi);
	}
}

static void canonical_is_what_the_server_keeps(void **state)
{
	cleanup_json struct json *j = app_fixture_json(
		"[{'a':'','b':null,'c':[],'d':0,'e':false,'podSelector':{},'f':{'g':''},"
		"'x':{'matchLabels':{}},'y':{'matchLabels':{'k':''}},'l':['',{}]}]");
	cleanup_json struct json *copy = desired_canonical(j);

	(void)state;
	app_fixture_is(copy, "[{'d':0,'e':false,'podSelector':{},'f':{},'x':{},"
			     "'y':{'matchLabels':{'k':''}},'l':['',{}]}]");
	assert_null(desired_canonical(NULL));
}

static void first_size_is_no_less_than_the_autoscalers(void **state)
{
	static const struct {
		const char *replicas, *autoscaling;
		int want;
	} cases[] = {
		{ NULL, NULL, 3 },
		{ "5", NULL, 5 },
		{ "1", "{'enabled':true,'minReplicas':4}", 4 },
		{ "9", "{'enabled':true,'minReplicas':4}", 9 },
		{ "1", "{'enabled':false,'minReplicas':4}", 1 },
	};

	(void)state;
	for (size_t i = 0; i < array_len(cases); i++) {
		struct app_fixture f = app_fixture_with2("spec.replicas", cases[i].replicas,
							 "spec.autoscaling", cases[i].autoscaling);

		assert_int_equal(desired_first_replicas(f.app), cases[i].want);
		app_fixture_done(&f);
	}
}

static void app_version_moves_only_with_the_expectation_under_restart(void **state)
{
	static const struct {
		enum deployment_policy policy;
		const char *expected, *recorded, *live, *want;
	} cases[] = {
		{ POLICY_RESTART, "b", NULL, NULL, "b" },
		{ POLICY_IN_PLACE, "b", NULL, NULL, "b" },
		{ POLICY_RESTART, "b", "a", "a", "b" },
		{ POLICY_RESTART, "a", "a", "a", "a" },
		{ POLICY_IN_PLACE, "b", "a", "a", "a" },
		/* adopted in place before, now under Restart: pods serve b already */
		{ POLICY_RESTART, "b", "b", "a", "a" },
		{ POLICY_RESTART, "c", "b", "a", "c" },
		/* another operator's StatefulSet records nothing */
		{ POLICY_RESTART, "a", NULL, "a", "a" },
		{ POLICY_RESTART, "b", NULL, "a", "b" },
	};

	(void)state;
	for (size_t i = 0; i < array_len(cases); i++)
		assert_string_equal(desired_app_version(cases[i].policy, cases[i].expected,
							cases[i].recorded, cases[i].live),
				    cases[i].want);
}

#define NAME_46 "a234567890123456789012345678901234567890123456"

static bool legal_label(const char *s)
{
	static const char inside[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

	return strlen(s) <= 63 && strspn(s, inside) == strlen(s);
}

static void assert_legal(const struct json *object, const char *kind, const char *name)
{
	const struct json *metadata = json_get(object, "metadata");

	assert_string_equal(json_get_str(object, "kind"), kind);
	assert_string_equal(json_get_str(metadata, "name"), name);
	assert_string_equal(json_get_str(metadata, "namespace"), "store");
	assert_true(strlen(name) <= 63);
	for (const struct json *c = json_first(json_get(metadata, "labels")); c; c = json_next(c))
		assert_true(legal_label(json_str(c)));
	app_fixture_is(
		json_get(metadata, "ownerReferences"),
		"[{'apiVersion':'celld-operator.io/v1alpha1','kind':'WorkerApp','name':'" NAME_46
		"','uid':'u-1','controller':true}]");
}

static void the_longest_name_fits_everywhere(void **state)
{
	static const struct {
		const char *kind, *name;
	} want[] = {
		{ "NetworkPolicy", NAME_46 "-celld" },	{ "PodDisruptionBudget", NAME_46 "-celld" },
		{ "Service", NAME_46 "-celld" },	{ "Service", NAME_46 "-celld-internal" },
		{ "ServiceAccount", NAME_46 "-celld" }, { "StatefulSet", NAME_46 "-celld" },
	};
	struct app_fixture f = app_fixture_with("metadata.name", "'" NAME_46 "'");
	cleanup_json struct json *all = desired_all(&f.in, true);
	cleanup(freep) char *selector = desired_selector(f.app);

	(void)state;
	assert_int_equal(strlen(NAME_46), 46);
	assert_int_equal(json_len(all), array_len(want));
	for (size_t i = 0; i < array_len(want); i++)
		assert_legal(json_item(all, i), want[i].kind, want[i].name);
	/* a pod's revision label: the StatefulSet's name, '-', 10 characters */
	assert_true(strlen(NAME_46 "-celld") + 11 <= 63);
	assert_string_equal(selector, "celld-operator.io/workerapp=" NAME_46);
	app_fixture_done(&f);
}

static void a_file_that_was_never_applied_has_no_owner(void **state)
{
	struct app_fixture f = app_fixture_with2("metadata.uid", NULL, "metadata.namespace", NULL);
	cleanup_json struct json *set = desired_statefulset(&f.in, 1, 0);

	(void)state;
	assert_null(json_path(set, "metadata", "ownerReferences", NULL));
	assert_string_equal(json_str(json_path(set, "metadata", "namespace", NULL)), "default");
	app_fixture_done(&f);
}

static void assert_subset(const struct json *selector, const struct json *labels)
{
	assert_true(json_len(selector) > 0);
	for (const struct json *c = json_first(selector); c; c = json_next(c))
		assert_true(json_equal(c, json_get(labels, json_name(c))));
}

static void every_selector_finds_the_pods(void **state)
{
	struct app_fixture f =
		app_fixture_with("spec.podLabels", "{'celld-operator.io/workerapp':'other'}");
	cleanup_json struct json *all = desired_all(&f.in, true);
	const struct json *set = json_item(all, 5);
	const struct json *labels = json_path(set, "spec", "template", "metadata", "labels", NULL);

	(void)state;
	assert_subset(json_path(set, "spec", "selector", "matchLabels", NULL), labels);
	assert_subset(json_path(json_item(all, 0), "spec", "podSelector", "matchLabels", NULL),
		      labels);
	assert_subset(json_path(json_item(all, 1), "spec", "selector", "matchLabels", NULL),
		      labels);
	assert_subset(json_path(json_item(all, 2), "spec", "selector", NULL), labels);
	assert_subset(json_path(json_item(all, 3), "spec", "selector", NULL), labels);
	app_fixture_done(&f);
}

/* Nothing is rendered empty or null, in any kind, whatever the document says; no environment name
 * comes twice. */
static void assert_nothing_empty(const struct json *j, const char *path)
{
	for (const struct json *c = json_first(j); c; c = json_next(c)) {
		cleanup(freep) char *here =
			xasprintf("%s.%s", path, json_name(c) ? json_name(c) : "[]");

		if (json_kind(c) == JSON_NULL || (json_str(c) && !*json_str(c)))
			fail_msg("empty: %s", here);
		assert_nothing_empty(c, here);
	}
}

static void assert_env_once(const struct desired_input *in)
{
	cleanup_json struct json *env = desired_env(in), *seen = json_new_object();

	for (const struct json *c = json_first(env); c; c = json_next(c)) {
		const char *name = json_get_str(c, "name");

		assert_null(json_get(seen, name));
		assert_true(json_get(c, "value") || json_get(c, "valueFrom"));
		json_set_bool(seen, name, true);
	}
}

static void nothing_is_rendered_empty(void **state)
{
	static const char *const documents[] = {
		"{}",
		"{'bucket':{'name':'s3://c','endpoint':'','region':'','credentialsFrom':"
		"{'iamRole':'','secretRef':'','azureClientID':'','gcpServiceAccount':''}},"
		"'celld':{'image':'i:v0.6.2','imagePullPolicy':'','version':''},'clusterDomain':'',"
		"'telemetry':{'sink':'','otlpEndpoint':'','retention':''},'vars':{'secretRef':''},"
		"'maintenance':{'restartToken':''},'scheduling':{'priorityClassName':'',"
		"'tolerations':[{'key':'a','operator':'','value':'','effect':''}]},"
		"'storage':{'sizeGi':1,'storageClassName':''},"
		"'env':[{'name':'RUST_LOG','value':''},{'name':'RUST_LOG','value':'x'}]}",
		("{'bucket':{'name':'az://cells/a','storageAccount':'',"
		 "'credentialsFrom':{'secretRef':'k'}}}"),
		"{'bucket':{'name':'gs://cells/a','credentialsFrom':{'secretRef':'k'}}}",
	};

	(void)state;
	for (size_t i = 0; i < array_len(documents); i++) {
		for (int minor = 1; minor <= 7; minor++) {
			struct json *doc = app_fixture_doc();
			cleanup_json struct json *spec = app_fixture_json(documents[i]),
						 *all = NULL;
			struct app_fixture f;

			for (const struct json *c = json_first(spec); c; c = json_next(c))
				json_set(json_object_at(doc, "spec"), json_name(c), json_dup(c));
			f = app_fixture_of(doc);
			f.in.version.minor = minor;
			all = desired_all(&f.in, true);
			assert_nothing_empty(all, "");
			assert_env_once(&f.in);
			app_fixture_done(&f);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quantities_are_as_the_server_stores_them),
		cmocka_unit_test(canonical_is_what_the_server_keeps),
		cmocka_unit_test(first_size_is_no_less_than_the_autoscalers),
		cmocka_unit_test(app_version_moves_only_with_the_expectation_under_restart),
		cmocka_unit_test(the_longest_name_fits_everywhere),
		cmocka_unit_test(a_file_that_was_never_applied_has_no_owner),
		cmocka_unit_test(every_selector_finds_the_pods),
		cmocka_unit_test(nothing_is_rendered_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
