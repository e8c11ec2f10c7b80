#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "test/lib/app_fixture.h"

static void env_is(const struct desired_input *in, const char *want)
{
	cleanup_json struct json *env = desired_env(in);
	cleanup(freep) char *line = xstrdup("");

	for (const struct json *c = json_first(env); c; c = json_next(c)) {
		const char *value = json_get_str(c, "value");
		const struct json *from = json_get(c, "valueFrom");
		const struct json *ref = json_get(from, "secretKeyRef");
		char *longer;

		if (value)
			longer = xasprintf("%s%s=%s\n", line, json_get_str(c, "name"), value);
		else if (ref)
			longer = xasprintf("%s%s<%s/%s%s\n", line, json_get_str(c, "name"),
					   json_get_str(ref, "name"), json_get_str(ref, "key"),
					   json_get_bool(ref, "optional", false) ? "?" : "");
		else
			longer =
				xasprintf("%s%s<%s\n", line, json_get_str(c, "name"),
					  json_str(json_path(from, "fieldRef", "fieldPath", NULL)));
		free(line);
		line = longer;
	}
	assert_string_equal(line, want);
}

/* What every version has; the ports are those of 0.2 and later. */
#define ENV_NODE                                                                                   \
	"POD_NAME<metadata.name\nCELLD_NODE<metadata.name\nCELLD_BUCKET=s3://cells/apps/shop\n"    \
	"CELLD_ADDR=0.0.0.0:8080\nCELLD_INTERNAL_ADDR=0.0.0.0:8081\n"                              \
	"CELLD_ADVERTISE=$(POD_NAME).shop-celld-internal.store.svc.cluster.local:8081\n" ENV_SIZE
#define ENV_SIZE                                                                                   \
	"CELLD_WATCH=/var/lib/celld\nCELLD_MAX_RSS_MB=6553\nCELLD_MAX_RESIDENT_CELLS=1000\n"

static void environment_is_that_of_the_version(void **state)
{
	static const struct {
		struct version version;
		const char *env;
	} cases[] = {
		{ { 0, 1, 0 },
		  "POD_NAME<metadata.name\nCELLD_NODE<metadata.name\n"
		  "CELLD_BUCKET=s3://cells/apps/shop\nCELLD_ADDR=0.0.0.0:8080\n"
		  "CELLD_ADVERTISE=$(POD_NAME).shop-celld-internal.store.svc.cluster.local:"
		  "8080\n" ENV_SIZE },
		{ { 0, 2, 0 },
		  ENV_NODE "CELLD_OTEL=1\nCELLD_OTEL_SINK=bucket\nCELLD_OTEL_RETENTION=30d\n"
			   "OTEL_SERVICE_NAME=shop\nCELLD_SHUTDOWN_DRAIN_MS=25000\n" },
		{ { 0, 3, 0 },
		  ENV_NODE "CELLD_DURABILITY=bucket\n"
			   "CELLD_OTEL=1\nCELLD_OTEL_SINK=bucket\nCELLD_OTEL_RETENTION=30d\n"
			   "OTEL_SERVICE_NAME=shop\nCELLD_SHUTDOWN_DRAIN_MS=25000\n" },
		{ { 0, 4, 1 },
		  ENV_NODE "CELLD_DURABILITY=bucket\n"
			   "CELLD_OTEL=1\nCELLD_OTEL_SINK=bucket\nCELLD_OTEL_RETENTION=30d\n"
			   "OTEL_SERVICE_NAME=shop\nCELLD_SHUTDOWN_TOTAL_MS=40000\n"
			   "CELLD_SHUTDOWN_DRAIN_MS=25000\nCELLD_DRAIN_TOKEN_WAIT_MS=30000\n" },
		{ { 0, 5, 0 },
		  ENV_NODE "CELLD_DURABILITY=bucket\n"
			   "CELLD_OTEL=1\nCELLD_OTEL_RETENTION=30d\n"
			   "OTEL_SERVICE_NAME=shop\nCELLD_SHUTDOWN_TOTAL_MS=40000\n" },
	};

	(void)state;
	for (size_t i = 0; i < array_len(cases); i++) {
		struct app_fixture f = app_fixture_with(NULL, NULL);

		f.in.version = cases[i].version;
		env_is(&f.in, cases[i].env);
		app_fixture_done(&f);
	}
}

/* The lines that a version adds to ENV_NODE and its bounds, with the telemetry that was asked for. */
static void telemetry_is(struct version version, const char *telemetry, const char *want)
{
	struct app_fixture f = app_fixture_with("spec.telemetry", telemetry);
	cleanup(freep) char *all = xasprintf(
		"%sCELLD_DURABILITY=bucket\n%s%s", ENV_NODE, want,
		version.minor < 5 ? "CELLD_SHUTDOWN_TOTAL_MS=40000\nCELLD_SHUTDOWN_DRAIN_MS=25000\n"
				    "CELLD_DRAIN_TOKEN_WAIT_MS=30000\n"
				  : "CELLD_SHUTDOWN_TOTAL_MS=40000\n");

	f.in.version = version;
	env_is(&f.in, all);
	app_fixture_done(&f);
}

static void telemetry_is_spelled_by_version(void **state)
{
	const struct version v4 = { 0, 4, 1 }, v5 = { 0, 5, 0 };
	const char *to = "{'otlpEndpoint':'https://otel.example/x'}";

	(void)state;
	telemetry_is(
		v4, to,
		"CELLD_OTEL=1\nCELLD_OTEL_SINK=otlp\n"
		"OTEL_EXPORTER_OTLP_ENDPOINT=https://otel.example/x\nOTEL_SERVICE_NAME=shop\n");
	telemetry_is(v5, to, "CELLD_OTEL=https://otel.example/x\nOTEL_SERVICE_NAME=shop\n");
	telemetry_is(v4, "{'sink':'otlp'}",
		     "CELLD_OTEL=1\nCELLD_OTEL_SINK=otlp\n"
		     "OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318\nOTEL_SERVICE_NAME=shop\n");
	telemetry_is(v5, "{'sink':'otlp'}",
		     "CELLD_OTEL=http://localhost:4318\nOTEL_SERVICE_NAME=shop\n");
	telemetry_is(v5, "{'sink':'bucket','retention':'none'}",
		     "CELLD_OTEL=1\nCELLD_OTEL_RETENTION=none\nOTEL_SERVICE_NAME=shop\n");
	telemetry_is(v5, "{'enabled':false,'sink':'otlp'}", "");
}

static bool env_has(const struct desired_input *in, const char *name, const char *value)
{
	cleanup_json struct json *env = desired_env(in);

	for (const struct json *c = json_first(env); c; c = json_next(c))
		if (str_eq(json_get_str(c, "name"), name))
			return !value || str_eq(json_get_str(c, "value"), value);
	return false;
}

static void options_reach_the_environment(void **state)
{
	struct app_fixture f;

	(void)state;
	f = app_fixture_with("spec.resources",
			     "{'idleEvictSeconds':600,'memoryGi':1,'maxResidentCells':7}");
	assert_true(env_has(&f.in, "CELLD_IDLE_EVICT_S", "600"));
	assert_true(env_has(&f.in, "CELLD_MAX_RSS_MB", "819"));
	assert_true(env_has(&f.in, "CELLD_MAX_RESIDENT_CELLS", "7"));
	app_fixture_done(&f);
	f = app_fixture_with("spec.trustForwardedHeaders", "true");
	assert_true(env_has(&f.in, "CELLD_TRUST_FORWARDED_HEADERS", "1"));
	f.in.version = (struct version){ 0, 2, 0 };
	assert_false(env_has(&f.in, "CELLD_TRUST_FORWARDED_HEADERS", NULL));
	app_fixture_done(&f);
	f = app_fixture_with("spec.vars", "{'secretRef':'v'}");
	assert_false(env_has(&f.in, "CELLD_VARS_FILE", NULL));
	f.in.version = (struct version){ 0, 4, 0 };
	assert_true(env_has(&f.in, "CELLD_VARS_FILE", "/etc/celld/vars.env"));
	app_fixture_done(&f);
	f = app_fixture_with2("spec.durability", "'fleet'", "spec.storage", "{'sizeGi':10}");
	assert_true(env_has(&f.in, "CELLD_DURABILITY", "fleet"));
	app_fixture_done(&f);
	f = app_fixture_with("spec.clusterDomain", "'cells.example'");
	f.in.ipv6 = true;
	assert_true(env_has(&f.in, "CELLD_ADDR", "[::]:8080"));
	assert_true(env_has(&f.in, "CELLD_INTERNAL_ADDR", "[::]:8081"));
	assert_true(env_has(&f.in, "CELLD_ADVERTISE",
			    "$(POD_NAME).shop-celld-internal.store.svc.cells.example:8081"));
	app_fixture_done(&f);
	f = app_fixture_with("spec.bucket.name", "'s3://cells/apps/shop/'");
	assert_true(env_has(&f.in, "CELLD_BUCKET", "s3://cells/apps/shop"));
	app_fixture_done(&f);
}

static void storage_is(const char *bucket, const char *want)
{
	struct app_fixture f = app_fixture_with("spec.bucket", bucket);
	cleanup_json struct json *env = desired_env(&f.in);
	cleanup_json struct json *got = json_new_object();

	for (const struct json *c = json_first(env); c; c = json_next(c)) {
		const char *name = json_get_str(c, "name");

		if (!str_starts(name, "CELLD_") && !str_starts(name, "OTEL_") &&
		    !str_eq(name, "POD_NAME"))
			json_set(got, name,
				 json_dup(json_get(c, "value") ? json_get(c, "value")
							       : json_path(c, "valueFrom",
									   "secretKeyRef", NULL)));
	}
	app_fixture_is(got, want);
	app_fixture_done(&f);
}

static void storage_is_that_of_the_dialect(void **state)
{
	(void)state;
	storage_is("{'name':'s3://cells/a'}", "{}");
	storage_is("{'name':'s3://cells/"
		   "a','endpoint':'','region':'','credentialsFrom':{'secretRef':''}}",
		   "{}");
	storage_is(
		"{'name':'s3://cells/a','endpoint':'https://r2.example','region':'auto',"
		"'credentialsFrom':{'secretRef':'keys'}}",
		"{'S3_ENDPOINT':'https://r2.example','AWS_REGION':'auto',"
		"'AWS_ACCESS_KEY_ID':{'name':'keys','key':'AWS_ACCESS_KEY_ID'},"
		"'AWS_SECRET_ACCESS_KEY':{'name':'keys','key':'AWS_SECRET_ACCESS_KEY'},"
		"'AWS_SESSION_TOKEN':{'name':'keys','key':'AWS_SESSION_TOKEN','optional':true}}");
	storage_is("{'name':'gs://cells/a','endpoint':'https://no','region':'no',"
		   "'credentialsFrom':{'secretRef':'keys'}}",
		   "{'GOOGLE_SERVICE_ACCOUNT_KEY':{'name':'keys','key':'GOOGLE_SERVICE_ACCOUNT_KEY'"
		   "}}");
	storage_is("{'name':'az://cells/a','endpoint':'https://no','region':'no',"
		   "'storageAccount':'acme','credentialsFrom':{'secretRef':'keys'}}",
		   "{'AZURE_STORAGE_ACCOUNT_NAME':'acme','AZURE_STORAGE_ACCOUNT_KEY':"
		   "{'name':'keys','key':'AZURE_STORAGE_ACCOUNT_KEY','optional':true},"
		   "'AZURE_STORAGE_SAS_TOKEN':"
		   "{'name':'keys','key':'AZURE_STORAGE_SAS_TOKEN','optional':true}}");
	storage_is("{'name':'az://cells/a','storageAccount':'acme',"
		   "'credentialsFrom':{'azureClientID':'1'}}",
		   "{'AZURE_STORAGE_ACCOUNT_NAME':'acme'}");
}

static void a_store_takes_the_place_of_the_inline_connection(void **state)
{
	struct app_fixture f = app_fixture_with("spec.storeRef", "{'name':'central'}");
	const struct wa_bucket store = { .endpoint = "https://central.example",
					 .credentials = { .secret_ref = "central-keys" } };

	(void)state;
	f.in.store = &store;
	assert_true(env_has(&f.in, "S3_ENDPOINT", "https://central.example"));
	assert_true(env_has(&f.in, "AWS_ACCESS_KEY_ID", NULL));
	assert_true(env_has(&f.in, "CELLD_BUCKET", "s3://cells/apps/shop"));
	app_fixture_done(&f);
}

static void users_environment_comes_last_and_sets_nothing_twice(void **state)
{
	struct app_fixture f = app_fixture_with(
		"spec.env",
		"[{'name':'RUST_LOG','value':'debug'},{'name':'OTEL_SERVICE_NAME','value':'web'},"
		"{'name':'CELLD_LOG_FLUSH_MS','value':''},{'value':'nameless'},"
		"{'name':'CELLD_TOKIO_THREADS','secretKeyRef':{'name':'otel','key':''}},{'name':'"
		"CELLD_BUCKET','value':'s3://"
		"other'},"
		"{'name':'OTEL_EXPORTER_OTLP_HEADERS','secretKeyRef':{'name':'otel','key':'h'}}]");

	(void)state;
	env_is(&f.in,
	       ENV_NODE "CELLD_DURABILITY=bucket\nCELLD_OTEL=1\nCELLD_OTEL_RETENTION=30d\n"
			"CELLD_SHUTDOWN_TOTAL_MS=40000\nRUST_LOG=debug\nOTEL_SERVICE_NAME=web\n"
			"OTEL_EXPORTER_OTLP_HEADERS<otel/h\n");
	app_fixture_done(&f);
}

static void secrets_are_those_that_pods_use(void **state)
{
	struct json *doc = app_fixture_doc();
	struct app_fixture f;
	cleanup_json struct json *none = NULL, *all = NULL;

	(void)state;
	f = app_fixture_with("spec.deployTrackingSecretRef", "'read'");
	none = desired_secrets(&f.in);
	app_fixture_is(none, "{}");
	app_fixture_done(&f);
	f = app_fixture_with("spec.vars", "{'secretRef':'vars'}"); /* no file since 0.5 */
	json_free(take(none));
	none = desired_secrets(&f.in);
	app_fixture_is(none, "{}");
	app_fixture_done(&f);
	app_fixture_edit(doc, "spec.bucket.credentialsFrom.secretRef", "'keys'");
	app_fixture_edit(doc, "spec.vars.secretRef", "'vars'");
	app_fixture_edit(doc, "spec.celld.imagePullSecrets", "[{'name':'pull'}]");
	app_fixture_edit(doc, "spec.env",
			 "[{'name':'RUST_LOG','secretKeyRef':{'name':'keys','key':'log'}}]");
	f = app_fixture_of(doc);
	f.in.version = (struct version){ 0, 4, 0 };
	all = desired_secrets(&f.in);
	app_fixture_is(all, "{'keys':{'AWS_ACCESS_KEY_ID':false,'AWS_SECRET_ACCESS_KEY':false,"
			    "'AWS_SESSION_TOKEN':true,'log':false},'vars':{'vars.env':false}}");
	app_fixture_done(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(environment_is_that_of_the_version),
		cmocka_unit_test(telemetry_is_spelled_by_version),
		cmocka_unit_test(options_reach_the_environment),
		cmocka_unit_test(storage_is_that_of_the_dialect),
		cmocka_unit_test(a_store_takes_the_place_of_the_inline_connection),
		cmocka_unit_test(users_environment_comes_last_and_sets_nothing_twice),
		cmocka_unit_test(secrets_are_those_that_pods_use),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
