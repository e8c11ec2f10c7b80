#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "test/lib/app_fixture.h"

static void budget_lets_one_pod_go(void **state)
{
	struct app_fixture f = app_fixture_with(NULL, NULL);
	cleanup_json struct json *pdb = desired_pdb(&f.in);

	(void)state;
	app_fixture_is(json_get(pdb, "spec"),
		       "{'maxUnavailable':1,'unhealthyPodEvictionPolicy':'AlwaysAllow',"
		       "'selector':{'matchLabels':{'celld-operator.io/workerapp':'shop'}}}");
	app_fixture_done(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(budget_lets_one_pod_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
