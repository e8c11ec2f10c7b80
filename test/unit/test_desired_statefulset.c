#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "test/lib/app_fixture.h"

static void statefulset_is_parallel_and_keeps_claims(void **state)
{
	struct app_fixture f =
		app_fixture_with("spec.storage", "{'sizeGi':2048,'storageClassName':'fast'}");
	cleanup_json struct json *set = desired_statefulset(&f.in, 7, 3);
	cleanup_json struct json *template = desired_pod_template(&f.in);
	const struct json *spec = json_get(set, "spec");

	(void)state;
	app_fixture_is(json_get(spec, "replicas"), "7");
	app_fixture_is(json_get(spec, "updateStrategy"),
		       "{'type':'RollingUpdate','rollingUpdate':{'partition':3}}");
	app_fixture_is(json_get(spec, "podManagementPolicy"), "'Parallel'");
	app_fixture_is(json_get(spec, "serviceName"), "'shop-celld-internal'");
	app_fixture_is(json_get(spec, "persistentVolumeClaimRetentionPolicy"),
		       "{'whenDeleted':'Retain','whenScaled':'Retain'}");
	assert_true(json_equal(json_get(spec, "template"), template));
	app_fixture_is(
		json_get(spec, "volumeClaimTemplates"),
		"[{'apiVersion':'v1','kind':'PersistentVolumeClaim','metadata':{'name':'data',"
		"'labels':{'celld-operator.io/workerapp':'shop','app.kubernetes.io/name':'celld',"
		"'app.kubernetes.io/instance':'shop','app.kubernetes.io/"
		"managed-by':'celld-operator',"
		"'app.kubernetes.io/component':'fleet'},"
		"'annotations':{'celld-operator.io/app-uid':'u-1',"
		"'celld-operator.io/bucket':'s3://cells/apps/shop'}},"
		"'spec':{'accessModes':['ReadWriteOnce'],'storageClassName':'fast',"
		"'resources':{'requests':{'storage':'2Ti'}}}}]");
	app_fixture_is(json_path(template, "spec", "volumes", NULL),
		       "[{'name':'tmp','emptyDir':{}}]");
	app_fixture_done(&f);
}

static void statefulset_records_intent_renderer_and_expectation(void **state)
{
	struct app_fixture f = app_fixture_with(NULL, NULL);
	cleanup_json struct json *set = NULL, *plain = NULL;
	char intent[DIGEST_HEX];
	const struct json *a;

	(void)state;
	f.in.expected = "v2";
	set = desired_statefulset(&f.in, 3, DESIRED_PARTITION_REST);
	a = json_path(set, "metadata", "annotations", NULL);
	desired_intent(&f.in, intent);
	assert_int_equal(strlen(intent), 64);
	assert_string_equal(json_get_str(a, "celld-operator.io/intent"), intent);
	assert_string_equal(json_get_str(a, "celld-operator.io/renderer"), DESIRED_RENDERER);
	assert_string_equal(json_get_str(a, "celld-operator.io/expected-app-version"), "v2");
	assert_null(json_path(set, "spec", "volumeClaimTemplates", NULL));
	app_fixture_is(json_path(set, "spec", "updateStrategy", "rollingUpdate", NULL),
		       "{'partition':2147483647}");
	f.in.expected = NULL;
	plain = desired_statefulset(&f.in, 0, 0);
	a = json_path(plain, "metadata", "annotations", NULL);
	assert_string_equal(json_get_str(a, "celld-operator.io/expected-app-version"), "v1");
	app_fixture_is(json_path(plain, "spec", "replicas", NULL), "0");
	app_fixture_done(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(statefulset_is_parallel_and_keeps_claims),
		cmocka_unit_test(statefulset_records_intent_renderer_and_expectation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
