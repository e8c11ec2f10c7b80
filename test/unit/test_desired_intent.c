#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "test/lib/app_fixture.h"

static void intent_of(const char *path, const char *value, char hex[DIGEST_HEX])
{
	struct app_fixture f = app_fixture_with(path, value);

	desired_intent(&f.in, hex);
	app_fixture_done(&f);
}

static void intent_does_not_see_what_touches_no_pod(void **state)
{
	static const struct {
		const char *path, *value;
	} cases[] = {
		{ "spec.replicas", "9" },
		{ "spec.hostnames", "['a.example']" },
		{ "spec.autoscaling", "{'enabled':true}" },
		{ "spec.service", "{'type':'NodePort'}" },
		{ "spec.networkPolicy", "{'egress':{'enabled':true}}" },
		{ "spec.ingress", "{'path':'/x'}" },
		{ "spec.websockets", "true" },
		{ "spec.celld.updateStrategy", "'Recreate'" },
		{ "spec.deploymentPolicy", "'InPlace'" },
		{ "spec.deployTrackingSecretRef", "'s'" },
		{ "spec.bucket.allowHTTP", "true" },
		{ "spec.bucket.name", "'s3://cells/apps/shop/'" },
		{ "spec.maintenance", "{'paused':true,'restartToken':''}" },
		{ "spec.appVersion", "'v9'" }, /* the caller's app_version counts */
		{ "metadata.labels", "{'a':'b'}" },
		{ "status", "{'phase':'Ready'}" },
		/* defaults, written out or empty */
		{ "spec.resources", "{'cpuMillis':500,'memoryGi':8,'ephemeralStorageGi':10,"
				    "'maxResidentCells':1000}" },
		{ "spec.durability", "'bucket'" },
		{ "spec.bucket.region", "''" },
		{ "spec.telemetry", "{'enabled':true,'retention':'30d','otlpEndpoint':''}" },
		{ "spec.telemetry", "{'sink':'bucket'}" },
		{ "spec.clusterDomain", "'cluster.local'" },
		{ "spec.scheduling", "{'nodeSelector':{},'tolerations':[]}" },
		{ "spec.podLabels", "{}" },
	};
	char plain[DIGEST_HEX], hex[DIGEST_HEX];

	(void)state;
	intent_of(NULL, NULL, plain);
	for (size_t i = 0; i < array_len(cases); i++) {
		intent_of(cases[i].path, cases[i].value, hex);
		if (!str_eq(plain, hex))
			fail_msg("%s", cases[i].path);
	}
}

static void intent_sees_what_pods_are_made_of(void **state)
{
	static const struct {
		const char *path, *value;
	} cases[] = {
		{ "spec.celld.image", "'ghcr.io/denoland/celld:0.6.2'" },
		{ "spec.celld.imagePullPolicy", "'Always'" },
		{ "spec.celld.imagePullSecrets", "[{'name':'a'}]" },
		{ "spec.bucket.name", "'s3://cells/apps/other'" },
		{ "spec.bucket.endpoint", "'https://a.example'" },
		{ "spec.bucket.region", "'auto'" },
		{ "spec.bucket.storageAccount", "'acme'" },
		{ "spec.bucket.credentialsFrom", "{'secretRef':'a'}" },
		{ "spec.bucket.credentialsFrom", "{'iamRole':'a'}" },
		{ "spec.bucket.credentialsFrom", "{'azureClientID':'a'}" },
		{ "spec.bucket.credentialsFrom", "{'gcpServiceAccount':'a'}" },
		{ "spec.resources", "{'cpuMillis':501}" },
		{ "spec.resources", "{'memoryGi':9}" },
		{ "spec.resources", "{'ephemeralStorageGi':11}" },
		{ "spec.resources", "{'maxResidentCells':1001}" },
		{ "spec.resources", "{'idleEvictSeconds':1}" },
		{ "spec.storage", "{'sizeGi':1}" },
		{ "spec.durability", "'fleet'" },
		{ "spec.scheduling", "{'nodeSelector':{'a':''}}" },
		{ "spec.scheduling", "{'tolerations':[{'operator':'Exists'}]}" },
		{ "spec.scheduling", "{'spreadAcrossZones':true}" },
		{ "spec.scheduling", "{'priorityClassName':'a'}" },
		{ "spec.vars", "{'secretRef':'a'}" },
		{ "spec.env", "[{'name':'RUST_LOG','value':'a'}]" },
		{ "spec.env", "[{'name':'RUST_LOG','secretKeyRef':{'name':'a','key':'a'}}]" },
		{ "spec.env", "[{'name':'RUST_LOG','secretKeyRef':{'name':'a','key':'b'}}]" },
		{ "spec.podLabels", "{'a':''}" },
		{ "spec.podAnnotations", "{'a':''}" },
		{ "spec.trustForwardedHeaders", "true" },
		{ "spec.telemetry", "{'enabled':false}" },
		{ "spec.telemetry", "{'sink':'otlp'}" },
		{ "spec.telemetry", "{'otlpEndpoint':'http://a'}" },
		{ "spec.telemetry", "{'retention':'none'}" },
		{ "spec.clusterDomain", "'a'" },
		{ "spec.maintenance", "{'restartToken':'a'}" },
	};
	char all[array_len(cases) + 1][DIGEST_HEX];

	(void)state;
	intent_of(NULL, NULL, all[array_len(cases)]);
	for (size_t i = 0; i < array_len(cases); i++)
		intent_of(cases[i].path, cases[i].value, all[i]);
	for (size_t i = 0; i < array_len(cases); i++)
		for (size_t k = i + 1; k <= array_len(cases); k++)
			if (str_eq(all[i], all[k]))
				fail_msg("%s: the same as %zu", cases[i].path, k);
}

static void intent_does_not_depend_on_the_order_of_the_document(void **state)
{
	static const char turned[] =
		"{'spec':{'bucket':{'name':'s3://cells/apps/shop'},"
		"'celld':{'image':'ghcr.io/denoland/celld:v0.6.2'},'podLabels':{'b':'2','a':'1'},"
		"'appVersion':'v1'},'metadata':{'uid':'u-2','namespace':'store','name':'shop'},"
		"'kind':'WorkerApp','apiVersion':'celld-operator.io/v1alpha1'}";
	struct app_fixture f = app_fixture_with("spec.podLabels", "{'a':'1','b':'2'}"),
			   g = app_fixture_of(app_fixture_json(turned));
	char one[DIGEST_HEX], other[DIGEST_HEX];

	(void)state;
	desired_intent(&f.in, one);
	desired_intent(&g.in, other);
	assert_string_equal(one, other);
	app_fixture_done(&f);
	app_fixture_done(&g);
}

/* The row of 0.6.2 in the fixture. */
static struct celld_facts *row(struct app_fixture *f)
{
	return &f->table->facts[f->table->n_facts - 1];
}

static void intent_sees_facts_and_callers_values(void **state)
{
	struct app_fixture f = app_fixture_with(NULL, NULL);
	struct desired_input plain;
	struct celld_facts facts;
	char before[DIGEST_HEX], after[DIGEST_HEX];

	(void)state;
	plain = f.in;
	facts = *row(&f);
	desired_intent(&f.in, before);
#define CHANGES(what)                                                                              \
	what;                                                                                      \
	desired_intent(&f.in, after);                                                              \
	assert_string_not_equal(before, after);                                                    \
	f.in = plain;                                                                              \
	*row(&f) = facts
#define KEEPS(what)                                                                                \
	what;                                                                                      \
	desired_intent(&f.in, after);                                                              \
	assert_string_equal(before, after);                                                        \
	f.in = plain;                                                                              \
	*row(&f) = facts
	CHANGES(f.in.app_version = "v2");
	CHANGES(f.in.config_hash = "h");
	CHANGES(f.in.version.patch = 3);
	CHANGES(row(&f)->health_path[1] = 'x');
	CHANGES(row(&f)->public_port = 1);
	CHANGES(row(&f)->internal_port = 1);
	CHANGES(row(&f)->internal_listener = false);
	CHANGES(row(&f)->durability = false);
	CHANGES(row(&f)->vars_file = true);
	CHANGES(row(&f)->forwarded_headers = false);
	CHANGES(row(&f)->telemetry = false);
	CHANGES(row(&f)->telemetry_sink = true);
	CHANGES(row(&f)->shutdown_total = false);
	CHANGES(row(&f)->shutdown_drain = true);
	CHANGES(row(&f)->drain_token_wait = true);
	CHANGES(row(&f)->shutdown_ms = 1);
	CHANGES(row(&f)->grace_seconds = 1);
	/* where a row begins, what a webhook asks of it, and facts of the cluster are no reason to
	 * restart a fleet */
	KEEPS(row(&f)->range.since.patch = 2);
	KEEPS(row(&f)->state_restoring = true);
	KEEPS(row(&f)->pod_identity = true);
	KEEPS(f.in.expected = "v7");
	KEEPS(f.in.operator_namespace = "ops");
	KEEPS(f.in.ipv6 = true);
	app_fixture_done(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(intent_does_not_see_what_touches_no_pod),
		cmocka_unit_test(intent_sees_what_pods_are_made_of),
		cmocka_unit_test(intent_does_not_depend_on_the_order_of_the_document),
		cmocka_unit_test(intent_sees_facts_and_callers_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
