#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "test/lib/rules_table.h"

#define V(version) "celld: {image: 'ghcr.io/denoland/celld:v" version "'}"
#define SETTING                                                                                    \
	" is no setting of celld; write a name that begins with CELLD_ or OTEL_, or RUST_LOG, in " \
	"capitals"

static void test_env_names(void **state)
{
	static const struct rules_case rows[] = {
		{ "spec: {env: [{name: RUST_LOG, value: debug}, {name: OTEL_SERVICE_NAME, value: "
		  "x}, "
		  "{name: CELLD_TOKIO_THREADS, value: '2'}]}",
		  "" },
		{ "spec: {env: [{name: PATH, value: /}]}",
		  "env-name spec.env[0].name: \"PATH\"" SETTING },
		{ "spec: {env: [{name: CELLD_, value: x}]}",
		  "env-name spec.env[0].name: \"CELLD_\"" SETTING },
		{ "spec: {env: [{name: OTEL_, value: x}]}",
		  "env-name spec.env[0].name: \"OTEL_\"" SETTING },
		{ "spec: {env: [{name: CELLD_a, value: x}]}",
		  "env-name spec.env[0].name: \"CELLD_a\"" SETTING },
		{ "spec: {env: [{name: 'CELLD_A-B', value: x}]}",
		  "env-name spec.env[0].name: \"CELLD_A-B\"" SETTING },
		{ "spec: {env: [{value: x}]}", "env-name spec.env[0].name: nothing" SETTING },
		{ "spec: {env: [{value: x}, {name: RUST_LOG, value: b}]}",
		  "env-name spec.env[0].name: nothing" SETTING },
		{ "spec: {env: [{name: RUST_LOG, value: a}, {name: RUST_LOG, value: b}]}",
		  "env-twice spec.env[1].name: RUST_LOG is there twice; leave one out" },
		{ "spec: {env: [{name: CELLD_TTL_MS, value: '1'}]}",
		  "env-owned spec.env[0].name: the operator sets CELLD_TTL_MS itself; leave it "
		  "out, and "
		  "write the field of spec that governs it, if there is one" },
		{ "spec: {env: [{name: OTEL_EXPORTER_OTLP_ENDPOINT, value: 'http://x'}]}",
		  "env-owned spec.env[0].name: the operator sets OTEL_EXPORTER_OTLP_ENDPOINT "
		  "itself; "
		  "leave it out, and write the field of spec that governs it, if there is one" },
	};
	char text[400], said[400];
	const struct rules_case longest = { text, "" }, longer = { text, said };

	(void)state;
	rules_check(rows, array_len(rows));
	(void)snprintf(text, sizeof(text), "spec: {env: [{name: CELLD_%0122d, value: x}]}", 0);
	rules_check(&longest, 1); /* 128 */
	(void)snprintf(text, sizeof(text), "spec: {env: [{name: CELLD_%0123d, value: x}]}", 0);
	(void)snprintf(said, sizeof(said), "env-name spec.env[0].name: \"CELLD_%082d...\"%s", 0,
		       SETTING);
	rules_check(&longer, 1);
}

static void test_env_versions(void **state)
{
	static const struct rules_case rows[] = {
		{ "spec: {" V("0.4.1") ", env: [{name: CELLD_EVICTIONS, value: '4'}]}", "" },
		{ "spec: {" V("0.5.0") ", env: [{name: CELLD_EVICTIONS, value: '4'}]}",
		  "env-refused spec.env[0].name: celld v0.5.0 does not start with CELLD_EVICTIONS; "
		  "leave it out" },
		{ "spec: {env: [{name: CELLD_VAR_KEY, value: x}, {name: CELLD_WORKER_LOADER, "
		  "value: "
		  "x}]}",
		  "env-refused spec.env[0].name: celld v0.6.2 does not start with CELLD_VAR_KEY; "
		  "leave "
		  "it out\n"
		  "env-refused spec.env[1].name: celld v0.6.2 does not start with "
		  "CELLD_WORKER_LOADER; "
		  "leave it out" },
		{ "spec: {" V("0.4.1") ", env: [{name: CELLD_VAR_KEY, value: x}]}", "" },
		{ "spec: {" V("0.6.1") ", env: [{name: CELLD_LTX_RETENTION_SECS, value: '60'}]}",
		  "" },
		{ "spec: {" V("0.6.0") ", env: [{name: CELLD_LTX_RETENTION_SECS, value: '60'}]}",
		  "env-too-new spec.env[0].name: celld v0.6.0, which the fleet may run, does not "
		  "know "
		  "CELLD_LTX_RETENTION_SECS; add it once every pod runs v0.6.1 or later" },
		/* A name that the table does not know is celld's own business. */
		{ "spec: {env: [{name: CELLD_SOMETHING_NEW, value: x}]}", "" },
		{ "spec: {celld: {image: 'celld@sha256:"
		  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef', version: "
		  "''}, "
		  "env: [{name: CELLD_EVICTIONS, value: '4'}]}",
		  "image-version spec.celld.image: "
		  "\"celld@sha256:"
		  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\" "
		  "does not tell its celld version; write a tag such as v0.6.2, or celld.version" },
	};

	(void)state;
	rules_check(rows, array_len(rows));
}

static void test_env_sources(void **state)
{
	static const struct rules_case rows[] = {
		{ "spec: {env: [{name: RUST_LOG, secretKeyRef: {name: logs, key: level.txt}}]}",
		  "" },
		{ "spec: {env: [{name: RUST_LOG, value: '', secretKeyRef: {name: logs, key: "
		  "level}}]}",
		  "" },
		{ "spec: {env: [{name: RUST_LOG}]}", "env-source spec.env[0]: RUST_LOG has no "
						     "value, and celld takes an empty one for a "
						     "mistake; write value or secretKeyRef" },
		{ "spec: {env: [{name: RUST_LOG, value: ''}]}",
		  "env-source spec.env[0]: RUST_LOG has no value, and celld takes an empty one for "
		  "a "
		  "mistake; write value or secretKeyRef" },
		{ "spec: {env: [{name: RUST_LOG, value: x, secretKeyRef: {name: a, key: b}}]}",
		  "env-source spec.env[0]: RUST_LOG has two values; write value or secretKeyRef, "
		  "not "
		  "both" },
		{ "spec: {env: [{name: RUST_LOG, secretKeyRef: {name: a}}]}",
		  "env-secret spec.env[0].secretKeyRef: name or key is missing; write both" },
		{ "spec: {env: [{name: RUST_LOG, secretKeyRef: {key: a}}]}",
		  "env-secret spec.env[0].secretKeyRef: name or key is missing; write both" },
		{ "spec: {env: [{name: RUST_LOG, secretKeyRef: {name: A, key: 'b c'}}]}",
		  "object-name spec.env[0].secretKeyRef: \"A\" cannot be the name of a Secret; "
		  "write "
		  "lower-case letters, digits, dashes and dots, at most 253\n"
		  "env-secret spec.env[0].secretKeyRef: key is no key of a Secret; write letters, "
		  "digits, dots, dashes and underscores" },
		{ "spec: {env: [null, 5, {name: RUST_LOG}]}",
		  "wrong-type spec.env[0]: is empty; write name and value, or leave it out\n"
		  "wrong-type spec.env[1]: must be an object, is a number; write names with "
		  "values, or "
		  "leave it out\n"
		  "env-source spec.env[2]: RUST_LOG has no value, and celld takes an empty one for "
		  "a "
		  "mistake; write value or secretKeyRef" },
	};
	static char text[5000];
	const struct rules_case longer = {
		text,
		"env-value spec.env[0].value: is longer than 4096 characters; write a shorter "
		"value"
	};

	(void)state;
	rules_check(rows, array_len(rows));
	(void)snprintf(text, sizeof(text), "spec: {env: [{name: RUST_LOG, value: '%04097d'}]}", 0);
	rules_check(&longer, 1);
}

static void test_env_count(void **state)
{
	char text[4096];
	size_t n = 0;
	struct rules_case row = { text, "" };

	(void)state;
	n += (size_t)snprintf(text, sizeof(text), "spec: {env: [");
	for (int i = 0; i < 32; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "{name: CELLD_X_%d, value: x}, ",
				      i);
	(void)snprintf(text + n, sizeof(text) - n, "]}");
	rules_check(&row, 1);
	(void)snprintf(text + n, sizeof(text) - n, "{name: CELLD_X_32, value: x}]}");
	row.said = "env-count spec.env: 33 variables are too many; write at most 32";
	rules_check(&row, 1);
}

static void test_vars_and_headers(void **state)
{
	static const struct rules_case rows[] = {
		{ "spec: {" V("0.4.1") ", vars: {secretRef: vars}}", "" },
		{ "spec: {vars: {secretRef: ''}}", "" },
		{ "spec: {" V("0.5.0") ", vars: {secretRef: vars}}",
		  "vars-version spec.vars.secretRef: celld v0.5.0 takes no variables from outside; "
		  "move "
		  "them to the vars of the deployment's Wrangler configuration, and leave vars "
		  "out" },
		{ "spec: {" V("0.4.1") ", vars: {secretRef: V}}",
		  "object-name spec.vars.secretRef: \"V\" cannot be the name of a Secret; write "
		  "lower-case letters, digits, dashes and dots, at most 253" },
		{ "spec: {trustForwardedHeaders: true}", "" },
		{ "spec: {" V("0.2.1") ", trustForwardedHeaders: true}", "" },
		{ "spec: {" V("0.2.0") ", trustForwardedHeaders: true}",
		  "forwarded-version spec.trustForwardedHeaders: celld v0.2.0 does not read "
		  "forwarded "
		  "headers; write celld v0.2.1 or later, or false" },
		{ "spec: {" V("0.2.0") ", trustForwardedHeaders: false}", "" },
	};

	(void)state;
	rules_check(rows, array_len(rows));
}

#define COLLECTOR                                                                                  \
	" is no URL of a collector; write http://HOST:PORT or https://HOST:PORT, without user, "   \
	"password, query or fragment"

static void test_telemetry(void **state)
{
	static const struct rules_case rows[] = {
		{ "spec: {telemetry: {enabled: true, retention: 30d}}", "" },
		{ "spec: {telemetry: {retention: none}}", "" },
		{ "spec: {telemetry: {retention: 30}}",
		  "wrong-type spec.telemetry.retention: must be a string, is a number; put it in "
		  "quotes" },
		{ "spec: {telemetry: {retention: 0d}}",
		  "telemetry-retention spec.telemetry.retention: \"0d\" is no retention; write "
		  "days "
		  "such as 30d, or none" },
		{ "spec: {telemetry: {retention: 3w}}",
		  "telemetry-retention spec.telemetry.retention: \"3w\" is no retention; write "
		  "days "
		  "such as 30d, or none" },
		{ "spec: {telemetry: {retention: '1!0d'}}",
		  "telemetry-retention spec.telemetry.retention: \"1!0d\" is no retention; write "
		  "days "
		  "such as 30d, or none" },
		{ "spec: {telemetry: {retention: d}}",
		  "telemetry-retention spec.telemetry.retention: \"d\" is no retention; write days "
		  "such as 30d, or none" },
		{ "spec: {telemetry: {retention: 12345678d}}",
		  "telemetry-retention spec.telemetry.retention: \"12345678d\" is no retention; "
		  "write "
		  "days such as 30d, or none" },
		{ "spec: {telemetry: {retention: 1x0d}}",
		  "telemetry-retention spec.telemetry.retention: \"1x0d\" is no retention; write "
		  "days "
		  "such as 30d, or none" },
		{ "spec: {telemetry: {otlpEndpoint: 'http://otel:4318'}}", "" },
		{ "spec: {telemetry: {sink: otlp}}", "" },
		{ "spec: {telemetry: {otlpEndpoint: otel}}",
		  "telemetry-endpoint spec.telemetry.otlpEndpoint: \"otel\"" COLLECTOR },
		{ "spec: {telemetry: {otlpEndpoint: 'http://otel/?a'}}",
		  "telemetry-endpoint spec.telemetry.otlpEndpoint: \"http://otel/?a\"" COLLECTOR },
		{ "spec: {telemetry: {sink: bucket, otlpEndpoint: 'http://otel:4318'}}",
		  "warning: spec.telemetry.otlpEndpoint: plays no part with sink bucket" },
		{ "spec: {telemetry: {sink: otlp, retention: 7d}}",
		  "warning: spec.telemetry.retention: plays no part with sink otlp" },
		{ "spec: {telemetry: {enabled: false, sink: otlp, retention: 7d}}", "" },
		{ "spec: {telemetry: {sink: buckets}}",
		  "unknown-value spec.telemetry.sink: \"buckets\" is not a value of it; write "
		  "bucket "
		  "(the values are bucket or otlp)" },
		{ "spec: {" V("0.1.0") ", bucket: {name: s3://cells}}", "" },
		{ "spec: {" V("0.1.0") ", bucket: {name: s3://cells}, telemetry: {}}",
		  "telemetry-version spec.telemetry: celld v0.1.0 has no telemetry; write celld "
		  "v0.2.0 "
		  "or later, or enabled: false" },
		{ "spec: {" V("0.1.0") ", bucket: {name: s3://cells}, telemetry: {enabled: false}}",
		  "" },
	};

	static char text[2200];
	char said[400];
	const struct rules_case longer = { text, said };

	(void)state;
	rules_check(rows, array_len(rows));
	(void)snprintf(text, sizeof(text), "spec: {telemetry: {otlpEndpoint: 'https://a/%02039d'}}",
		       0);
	(void)snprintf(said, sizeof(said),
		       "telemetry-endpoint spec.telemetry.otlpEndpoint: \"https://a/%078d...\"%s",
		       0, COLLECTOR);
	rules_check(&longer, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_env_names),	 cmocka_unit_test(test_env_versions),
		cmocka_unit_test(test_env_sources),	 cmocka_unit_test(test_env_count),
		cmocka_unit_test(test_vars_and_headers), cmocka_unit_test(test_telemetry),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
