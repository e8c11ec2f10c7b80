#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "test/lib/app_fixture.h"

static void service_account_names_the_cloud_identity(void **state)
{
	static const struct {
		const char *bucket, *annotations, *azure_label;
	} cases[] = {
		{ "{'name':'s3://cells/a'}", NULL, NULL },
		{ "{'name':'s3://cells/a','credentialsFrom':{'iamRole':'auto'}}", NULL, NULL },
		{ "{'name':'s3://cells/a','credentialsFrom':{'iamRole':'arn:r'}}",
		  "{'eks.amazonaws.com/role-arn':'arn:r'}", NULL },
		{ "{'name':'gs://cells/a','credentialsFrom':{'gcpServiceAccount':'a@b'}}",
		  "{'iam.gke.io/gcp-service-account':'a@b'}", NULL },
		{ "{'name':'az://cells/"
		  "a','storageAccount':'acme','credentialsFrom':{'azureClientID':'1'}}",
		  "{'azure.workload.identity/client-id':'1'}", "true" },
	};

	(void)state;
	for (size_t i = 0; i < array_len(cases); i++) {
		struct app_fixture f = app_fixture_with("spec.bucket", cases[i].bucket);
		cleanup_json struct json *account = desired_service_account(&f.in);
		cleanup_json struct json *template = desired_pod_template(&f.in);
		const struct json *label = json_get(json_path(template, "metadata", "labels", NULL),
						    "azure.workload.identity/use");

		if (cases[i].annotations)
			app_fixture_is(json_path(account, "metadata", "annotations", NULL),
				       cases[i].annotations);
		else
			assert_null(json_path(account, "metadata", "annotations", NULL));
		if (cases[i].azure_label)
			assert_string_equal(json_str(label), cases[i].azure_label);
		else
			assert_null(label);
		app_fixture_done(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(service_account_names_the_cloud_identity),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
