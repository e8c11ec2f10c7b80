#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "test/lib/app_fixture.h"

static void services_have_the_ports_of_the_version(void **state)
{
	struct app_fixture f = app_fixture_with("spec.service",
						"{'type':'LoadBalancer','annotations':{'a/b':''}}");
	cleanup_json struct json *public = desired_service(&f.in);
	cleanup_json struct json *internal = desired_service_internal(&f.in), *old = NULL;

	(void)state;
	app_fixture_is(json_get(public, "spec"),
		       "{'type':'LoadBalancer','ipFamilyPolicy':'PreferDualStack','selector':{'"
		       "celld-operator.io/workerapp':'shop'},"
		       "'ports':[{'name':'http','port':8080,'protocol':'TCP'}]}");
	app_fixture_is(json_path(public, "metadata", "annotations", NULL), "{'a/b':''}");
	app_fixture_is(
		json_get(internal, "spec"),
		"{'clusterIP':'None','ipFamilyPolicy':'PreferDualStack','publishNotReadyAddresses':"
		"true,"
		"'selector':{'celld-operator.io/workerapp':'shop'},"
		"'ports':[{'name':'internal','port':8081,'protocol':'TCP','appProtocol':'tcp'}]}");
	f.in.version = (struct version){ 0, 1, 0 };
	old = desired_service_internal(&f.in);
	app_fixture_is(json_path(old, "spec", "ports", NULL),
		       "[{'name':'internal','port':8080,'protocol':'TCP','appProtocol':'tcp'}]");
	app_fixture_done(&f);
	f = app_fixture_with("spec.service", "{'annotations':{}}");
	json_free(take(public));
	public = desired_service(&f.in);
	app_fixture_is(json_path(public, "spec", "type", NULL), "'ClusterIP'");
	assert_null(json_path(public, "metadata", "annotations", NULL));
	app_fixture_done(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(services_have_the_ports_of_the_version),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
