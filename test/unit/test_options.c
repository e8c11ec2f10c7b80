#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "controller/options.h"

/* Arguments are never written to. */
#define ARG(s) ((char *)(uintptr_t)(s))

static void defaults(void **state)
{
	char *argv[] = { ARG("celld-controller"), NULL };
	struct options o = { .version = false };
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(options_read(1, argv, &o, &e), 0);
	assert_null(o.kubeconfig);
	assert_null(o.settings.file[SETTINGS_TABLE]);
	assert_null(o.selector);
	assert_int_equal(o.namespaces.n, 0);
	assert_int_equal(o.workers, 4);
	assert_int_equal(o.qps, 50);
	assert_true(o.leader_elect);
	/* who renews no more stops writing before others may begin */
	assert_int_equal(o.lease_ms, 15000);
	assert_int_equal(o.renew_ms, 10000);
	assert_int_equal(o.retry_ms, 2000);
	assert_int_equal(o.state_poll_ms, 15000);
	assert_int_equal(o.settle_ms, 10000);
	assert_int_equal(o.hold_ms, 10000);
	assert_int_equal(o.recheck_ms, 10000);
	assert_string_equal(o.operator_namespace, "celld-operator-system");
	assert_string_equal(o.metrics_address, ":8443");
	assert_string_equal(o.health_address, ":8081");
	assert_string_equal(o.log_level, "info");
	assert_string_equal(o.log_format, "text");
	assert_false(o.version || o.help);
	options_done(&o);
}

static void values(void **state)
{
	char *argv[] = { ARG("celld-controller"),
			 ARG("--namespaces=a,b"),
			 ARG("--watch-namespace"),
			 ARG("c"),
			 ARG("--workers=64"),
			 ARG("--leader-elect=false"),
			 ARG("--settle=500ms"),
			 ARG("--recreate-hold=1m"),
			 ARG("--log-level=debug"),
			 ARG("-h"),
			 NULL };
	struct options o = { .version = false };
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(options_read(array_len(argv) - 1, argv, &o, &e), 0);
	assert_int_equal(o.namespaces.n, 3);
	assert_string_equal(o.namespaces.v[2], "c");
	assert_int_equal(o.workers, 64);
	assert_false(o.leader_elect);
	assert_int_equal(o.settle_ms, 500);
	assert_int_equal(o.hold_ms, 60000);
	assert_string_equal(o.log_level, "debug");
	assert_true(o.help);
	options_done(&o);
}

static void what_is_refused_is_named(void **state)
{
	static const char *const bad[][2] = {
		{ "--nonsense", "--nonsense" },	     { "--workers=0", "--workers" },
		{ "--workers=65", "--workers" },     { "--settle=10", "--settle" },
		{ "--settle=-1s", "--settle" },	     { "--recheck=99ms", "--recheck" },
		{ "--log-level=loud", "loud" },	     { "--kube-api-qps=x", "--kube-api-qps" },
		{ "argument", "'argument'" },	     { "--kubeconfig", "--kubeconfig" },
		{ "--leader-elect=maybe", "maybe" },
	};

	(void)state;
	for (size_t i = 0; i < array_len(bad); i++) {
		char *argv[] = { ARG("celld-controller"), (char *)(uintptr_t)bad[i][0], NULL };
		struct options o = { .version = false };
		struct err e = ERR_INIT;

		assert_int_equal(options_read(2, argv, &o, &e), -ERR_INVALID);
		if (!strstr(e.message, bad[i][1]))
			fail_msg("%s: %s", bad[i][0], e.message);
		options_done(&o);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults),
		cmocka_unit_test(values),
		cmocka_unit_test(what_is_refused_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
