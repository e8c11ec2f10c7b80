#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/celld/env.h"
#include "common/celld/table_load.h"

static struct version ver(const char *s)
{
	struct version v = { 0 };

	assert_true(version_read(s, &v));
	return v;
}

static void expect(const char *version, const char *name, enum env_verdict want)
{
	enum env_verdict got = celld_env_check(celld_table_builtin(), ver(version), name, false);

	if (got != want)
		fail_msg("%s on %s: %d, want %d", name, version, (int)got, (int)want);
}

static void test_names(void **state)
{
	static const char *const bad[] = { "",	       "CELLD_",	"OTEL_",     "CELLD_a",
					   "celld_X",  "RUST_LOGS",	"RUST_LOG ", "AWS_REGION",
					   "PATH",     "XCELLD_A",	"CELLD_A-B", "CELLD",
					   "OTEL_A\n", "CELLD_A=1",	"CELLD_É",   "S3_ENDPOINT",
					   "POD_NAME", "RUST_BACKTRACE" };

	(void)state;
	for (size_t i = 0; i < array_len(bad); i++)
		expect("0.6.2", bad[i], ENV_NOT_ALLOWED);
	expect("0.6.2", "RUST_LOG", ENV_OK);
	expect("0.1.0", "RUST_LOG", ENV_OK);
	expect("0.6.2", "OTEL_SERVICE_NAME", ENV_OK);
	expect("0.6.2", "CELLD_V8_HEAP_LIMIT_MB", ENV_OK);
	/* What the table does not name is the user's own risk. */
	expect("0.6.2", "CELLD_SOMETHING_NEW_9", ENV_OK);
	expect("0.1.0", "OTEL_RESOURCE_ATTRIBUTES", ENV_OK);
}

static void test_owned(void **state)
{
	static const char *const owned[] = {
		"CELLD_BUCKET",
		"CELLD_NODE",
		"CELLD_ADDR",
		"CELLD_ADVERTISE",
		"CELLD_WATCH",
		"CELLD_MAX_RSS_MB",
		"CELLD_TTL_MS",
		"CELLD_MAX_RESIDENT_CELLS",
		"CELLD_OTEL",
		"CELLD_INTERNAL_ADDR",
		"CELLD_DURABILITY",
		"CELLD_IDLE_EVICT_S",
		"CELLD_OTEL_SINK",
		"CELLD_TRUST_FORWARDED_HEADERS",
		"CELLD_VARS_FILE",
		"OTEL_EXPORTER_OTLP_ENDPOINT",
		"CELLD_OTEL_RETENTION",
		"CELLD_SHUTDOWN_TOTAL_MS",
		"CELLD_SHUTDOWN_DRAIN_MS",
		"CELLD_DRAIN_TOKEN_WAIT_MS",
	};

	(void)state;
	for (size_t i = 0; i < array_len(owned); i++) {
		expect("0.1.0", owned[i], ENV_OWNED);
		expect("0.4.1", owned[i], ENV_OWNED);
		expect("0.6.2", owned[i], ENV_OWNED);
	}
}

/* The names that v0.5 and later find at start and stop; those that are ours too are above. */
static void test_refused(void **state)
{
	static const char *const refused[] = {
		"CELLD_TEST_OTEL_SWEEP_MS",
		"CELLD_AI_BINDING",
		"CELLD_AI_URL",
		"CELLD_PACED_HANDOFF",
		"CELLD_LOG_GROUP_COMMIT_MS",
		"CELLD_QUEUE_PRODUCER_GROUP_MS",
		"CELLD_LOG_BUNDLE",
		"CELLD_PRESENCE_SHADOW",
		"CELLD_STORAGE_PROBE",
		"CELLD_EVICTIONS",
		"CELLD_LOG_CAPTURE_WORKERS",
		"CELLD_REBALANCE_BATCH_CELLS",
		"CELLD_CLOUD_RESTART_ON_DEPLOY",
		"CELLD_OUTPUT_GATE",
		"CELLD_MAX_LOADED_WORKERS",
		"CELLD_WORKER_LOADER",
		"CELLD_VAR_",
		"CELLD_VAR_A",
	};
	const struct celld_table *t = celld_table_builtin();

	(void)state;
	for (size_t i = 0; i < array_len(refused); i++) {
		expect("0.4.1", refused[i], ENV_OK);
		expect("0.5.0", refused[i], ENV_REFUSED);
		expect("0.6.2", refused[i], ENV_REFUSED);
		expect("0.9.0", refused[i], ENV_REFUSED);
	}
	assert_int_equal(celld_env_check(t, ver("0.5.0"), "CELLD_WORKER_LOADER", true), ENV_OK);
	assert_int_equal(celld_env_check(t, ver("0.5.0"), "CELLD_OUTPUT_GATE", true), ENV_REFUSED);
	expect("0.6.2", "CELLD_VARS", ENV_OK);
}

static void test_newer(void **state)
{
	static const struct {
		const char *name, *last_without, *first;
	} v[] = {
		{ "CELLD_RELEASES", "0.1.0", "0.2.0" },
		{ "OTEL_TRACES_SAMPLER", "0.1.0", "0.2.0" },
		{ "CELLD_STORAGE_PROBE", "0.2.0", "0.2.1" },
		{ "CELLD_LOG_FLUSH_MS", "0.2.1", "0.3.0" },
		{ "CELLD_READY_FLEET_GATE_MS", "0.3.0", "0.4.0" },
		{ "CELLD_PLACEMENT_WEIGHT", "0.4.0", "0.4.1" },
		{ "CELLD_LTX_COMPACTION_MIN_MB", "0.4.1", "0.5.0" },
		{ "CELLD_LTX_RETENTION_SECS", "0.6.0", "0.6.1" },
		{ "CELLD_MAX_ASSET_FILE_BYTES", "0.6.0", "0.6.1" },
	};
	struct version since = { 0 };

	(void)state;
	for (size_t i = 0; i < array_len(v); i++) {
		expect(v[i].last_without, v[i].name, ENV_NEWER);
		expect(v[i].first, v[i].name, ENV_OK);
		assert_true(celld_env_since(celld_table_builtin(), v[i].name, &since));
		assert_int_equal(version_cmp(since, ver(v[i].first)), 0);
	}
	assert_false(celld_env_since(celld_table_builtin(), "CELLD_SOMETHING_NEW_9", &since));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_owned),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_newer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
