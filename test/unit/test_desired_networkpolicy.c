#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "test/lib/app_fixture.h"

#define FLEET "{'podSelector':{'matchLabels':{'celld-operator.io/workerapp':'shop'}}}"
#define INTERNAL                                                                                   \
	"{'ports':[{'protocol':'TCP','port':8081}],'from':[" FLEET                                 \
	",{'namespaceSelector':{'matchLabels':{'kubernetes.io/metadata.name':'ops'}},"             \
	"'podSelector':{'matchLabels':{'app.kubernetes.io/name':'celld-operator',"                 \
	"'app.kubernetes.io/component':'controller'}}}]}"

static void ingress_is(const char *policy, const char *want)
{
	struct app_fixture f = app_fixture_with("spec.networkPolicy", policy);
	cleanup_json struct json *object = NULL;

	f.in.operator_namespace = "ops";
	object = desired_network_policy(&f.in);
	app_fixture_is(json_path(object, "spec", "ingress", NULL), want);
	app_fixture_is(json_path(object, "spec", "policyTypes", NULL), "['Ingress']");
	assert_null(json_path(object, "spec", "egress", NULL));
	app_fixture_done(&f);
}

static void internal_port_is_for_the_fleet_and_the_operator(void **state)
{
	(void)state;
	ingress_is(NULL, "[{'ports':[{'protocol':'TCP','port':8080}]}," INTERNAL "]");
	ingress_is(
		"{'publicFrom':[{'podSelector':{}},{'ipBlock':{'cidr':'10.0.0.0/8','except':[]}}]}",
		"[{'ports':[{'protocol':'TCP','port':8080}],"
		"'from':[{'podSelector':{}},{'ipBlock':{'cidr':'10.0.0.0/8'}}]}," INTERNAL "]");
	/* an empty `from` would admit everyone */
	ingress_is("{'publicFrom':[]}", "[" INTERNAL "]");
}

static void egress_ports_are(const char *bucket, const char *want)
{
	struct app_fixture f = app_fixture_with2("spec.bucket", bucket, "spec.networkPolicy",
						 "{'egress':{'enabled':true}}");
	cleanup_json struct json *object = desired_network_policy(&f.in);
	const struct json *egress = json_path(object, "spec", "egress", NULL);

	app_fixture_is(json_path(object, "spec", "policyTypes", NULL), "['Ingress','Egress']");
	assert_int_equal(json_len(egress), 3);
	app_fixture_is(json_item(egress, 0),
		       "{'ports':[{'protocol':'UDP','port':53},{'protocol':'TCP','port':53}]}");
	app_fixture_is(json_item(egress, 1),
		       "{'ports':[{'protocol':'TCP','port':8081}],'to':[" FLEET "]}");
	app_fixture_is(json_get(json_item(egress, 2), "ports"), want);
	app_fixture_done(&f);
}

#define S3(endpoint) "{'name':'s3://cells/a','endpoint':'" endpoint "'}"
#define PORT(number) "[{'protocol':'TCP','port':" number "}]"

static void egress_reaches_the_bucket(void **state)
{
	struct app_fixture f;
	cleanup_json struct json *object = NULL;

	(void)state;
	egress_ports_are("{'name':'gs://cells/a'}", PORT("443"));
	egress_ports_are(S3("https://a.example"), PORT("443"));
	egress_ports_are(S3("http://a.example/"), PORT("80"));
	egress_ports_are(S3("http://a.example:9000"), PORT("9000"));
	egress_ports_are(S3("https://a.example:8443/x:1"), PORT("8443"));
	egress_ports_are(S3("https://[fd00::12]"), PORT("443"));
	egress_ports_are(S3("https://[fd00::12]:9001"), PORT("9001"));
	egress_ports_are(S3("https://a.example:99999"), PORT("443"));
	egress_ports_are(S3("https://a.example:999999"), PORT("443"));
	egress_ports_are(S3("http://a.example:9-1"), PORT("80"));
	egress_ports_are(S3("a"), PORT("443"));
	egress_ports_are("{'name':'s3://cells/a','endpoint':'https://a.example:9000',"
			 "'credentialsFrom':{'iamRole':'arn:r'}}",
			 "[{'protocol':'TCP','port':9000},{'protocol':'TCP','port':443}]");
	f = app_fixture_with(
		"spec.networkPolicy",
		"{'egress':{'enabled':true,'extra':[{'to':[],'ports':[{'port':5432}]}]}}");
	object = desired_network_policy(&f.in);
	app_fixture_is(json_item(json_path(object, "spec", "egress", NULL), 3),
		       "{'ports':[{'port':5432,'protocol':'TCP'}]}");
	app_fixture_done(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(internal_port_is_for_the_fleet_and_the_operator),
		cmocka_unit_test(egress_reaches_the_bucket),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
