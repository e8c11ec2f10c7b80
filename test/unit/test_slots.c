#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "controller/slots.h"

static void put(struct cache *c, enum cache_kind kind, const char *text)
{
	struct json *j = NULL;
	struct err e = ERR_INIT;

	assert_int_equal(json_parse(text, strlen(text), &j, &e), 0);
	assert_true(cache_put(c, kind, j));
	json_free(j);
}

#define APP(name)                                                                                  \
	"{\"metadata\":{\"namespace\":\"a\",\"name\":\"" name                                      \
	"\",\"uid\":\"u\",\"resourceVersion\":\"1\"}}"
#define STS(name, partition)                                                                       \
	"{\"metadata\":{\"namespace\":\"a\",\"name\":\"" name                                      \
	"-celld\",\"uid\":\"s\",\"resourceVersion\":\"2\"},\"spec\":{\"replicas\":3,"              \
	"\"updateStrategy\":{\"rollingUpdate\":{\"partition\":" partition "}}}}"

static void test_limit(void **state)
{
	struct cache *c = cache_new();
	struct slots *s = slots_new(c, 2);

	(void)state;
	assert_true(slots_take(s, "a/one"));
	assert_true(slots_take(s, "a/two"));
	assert_true(slots_take(s, "a/one")); /* it has one */
	assert_false(slots_take(s, "a/three"));
	slots_give(s, "a/one");
	slots_give(s, "a/one");
	assert_true(slots_take(s, "a/three"));
	assert_false(slots_take(s, "a/one"));
	slots_free(s);
	cache_free(c);
}

static void test_no_limit(void **state)
{
	struct slots *s = slots_new(NULL, 0);

	(void)state;
	assert_true(slots_take(s, "a/one"));
	slots_give(s, "a/one");
	slots_free(s);
	slots_free(NULL);
}

/* A process that has just started knows from the cluster who rolls. */
static void test_start(void **state)
{
	struct cache *c = cache_new();
	struct slots *s;

	(void)state;
	put(c, CACHE_APP, APP("rolls"));
	put(c, CACHE_STATEFULSET, STS("rolls", "1"));
	put(c, CACHE_APP, APP("rests"));
	put(c, CACHE_STATEFULSET, STS("rests", "2147483647"));
	put(c, CACHE_APP, APP("new"));
	s = slots_new(c, 2);
	assert_true(slots_take(s, "a/new"));
	assert_false(slots_take(s, "a/rests"));
	assert_true(slots_take(s, "a/rolls"));
	slots_give(s, "a/rolls");
	assert_true(slots_take(s, "a/rests"));
	slots_free(s);
	cache_free(c);
}

static void test_start_without_the_paused(void **state)
{
	struct cache *c = cache_new();
	struct slots *s;

	(void)state;
	put(c, CACHE_APP,
	    "{\"metadata\":{\"namespace\":\"a\",\"name\":\"paused\",\"uid\":\"u\","
	    "\"resourceVersion\":"
	    "\"1\"},\"status\":{\"phase\":\"Paused\"}}");
	put(c, CACHE_STATEFULSET, STS("paused", "1"));
	s = slots_new(c, 1);
	assert_true(slots_take(s, "a/new"));
	slots_free(s);
	cache_free(c);
}

/* Nothing of it rolls any more, however long its end takes. */
static void test_start_without_the_deleted(void **state)
{
	struct cache *c = cache_new();
	struct slots *s;

	(void)state;
	put(c, CACHE_APP,
	    "{\"metadata\":{\"namespace\":\"a\",\"name\":\"ends\",\"uid\":\"u\","
	    "\"resourceVersion\":\"1\",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"},"
	    "\"status\":{\"phase\":\"RollingOut\"}}");
	put(c, CACHE_STATEFULSET, STS("ends", "1"));
	s = slots_new(c, 1);
	assert_true(slots_take(s, "a/new"));
	slots_free(s);
	cache_free(c);
}

/* A fleet that is down comes up again, also where as many roll as may. */
static void test_force(void **state)
{
	struct cache *c = cache_new();
	struct slots *s = slots_new(c, 1);

	(void)state;
	assert_true(slots_take(s, "a/one"));
	slots_force(s, "a/two");
	assert_true(slots_take(s, "a/two"));
	slots_give(s, "a/one");
	assert_false(slots_take(s, "a/three"));
	slots_give(s, "a/two");
	assert_true(slots_take(s, "a/three"));
	slots_free(s);
	cache_free(c);
}

static void test_need(void **state)
{
	(void)state;
	assert_int_equal(slots_need(ROLLOUT_WRITE_FREEZE), SLOTS_ASK);
	assert_int_equal(slots_need(ROLLOUT_WRITE_STEP), SLOTS_ASK);
	assert_int_equal(slots_need(ROLLOUT_WRITE_STOP), SLOTS_ASK);
	assert_int_equal(slots_need(ROLLOUT_WRITE_RENEW), SLOTS_FORCE);
	assert_int_equal(slots_need(ROLLOUT_WRITE_START), SLOTS_FORCE);
	assert_int_equal(slots_need(ROLLOUT_WRITE_REST), SLOTS_NOT);
	assert_int_equal(slots_need(ROLLOUT_WRITE_CREATE), SLOTS_NOT);
	assert_int_equal(slots_need(ROLLOUT_WRITE_SCALE), SLOTS_NOT);
	assert_int_equal(slots_need(ROLLOUT_WRITE_NONE), SLOTS_NOT);
}

static void test_kept(void **state)
{
	static const struct {
		enum rollout_phase phase;
		enum rollout_reason reason;
		enum rollout_write write;
		int partition;
		int64_t quiet;
		bool kept;
	} rows[] = {
		/* at rest, also when a member is away */
		{ ROLLOUT_READY, ROLLOUT_NOTHING, ROLLOUT_WRITE_NONE, ROLLOUT_REST, 0, false },
		{ ROLLOUT_PENDING, ROLLOUT_NOT_READY, ROLLOUT_WRITE_NONE, ROLLOUT_REST, 0, false },
		/* in roll, patiently */
		{ ROLLOUT_ROLLING_OUT, ROLLOUT_NOT_READY, ROLLOUT_WRITE_NONE, 1, 119999, true },
		{ ROLLOUT_ROLLING_OUT, ROLLOUT_STUCK, ROLLOUT_WRITE_NONE, 1, 119999, true },
		{ ROLLOUT_ROLLING_OUT, ROLLOUT_STUCK, ROLLOUT_WRITE_NONE, 1, 120000, false },
		{ ROLLOUT_ROLLING_OUT, ROLLOUT_UNREACHABLE, ROLLOUT_WRITE_NONE, 1, 120000, false },
		/* cells that are restored take their time, and it comes to an end */
		{ ROLLOUT_ROLLING_OUT, ROLLOUT_RESTORING, ROLLOUT_WRITE_NONE, 1, 900000, true },
		{ ROLLOUT_ROLLING_OUT, ROLLOUT_RELEASED, ROLLOUT_WRITE_STEP, 1, 900000, true },
		{ ROLLOUT_RECREATING, ROLLOUT_LEASE_HOLD, ROLLOUT_WRITE_NONE, ROLLOUT_REST, 900000,
		  true },
		{ ROLLOUT_RECREATING, ROLLOUT_PODS_LEFT, ROLLOUT_WRITE_NONE, ROLLOUT_REST, 120000,
		  false },
		{ ROLLOUT_ROLLING_OUT, ROLLOUT_LEAVING, ROLLOUT_WRITE_NONE, 1, 120000, false },
		{ ROLLOUT_PAUSED, ROLLOUT_NOTHING, ROLLOUT_WRITE_NONE, 1, 0, false },
		{ ROLLOUT_DEGRADED, ROLLOUT_NOTHING, ROLLOUT_WRITE_NONE, 1, 0, false },
	};
	static struct rollout_obs o;

	(void)state;
	for (size_t i = 0; i < array_len(rows); i++) {
		const struct rollout_decision d = { .phase = rows[i].phase,
						    .reason = rows[i].reason,
						    .write = rows[i].write };

		o.partition = rows[i].partition;
		o.quiet = rows[i].quiet;
		o.remembered = -1;
		if (slots_are_kept(&o, &d) != rows[i].kept)
			fail_msg("row %zu", i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_no_limit),
		cmocka_unit_test(test_start),
		cmocka_unit_test(test_start_without_the_paused),
		cmocka_unit_test(test_start_without_the_deleted),
		cmocka_unit_test(test_force),
		cmocka_unit_test(test_need),
		cmocka_unit_test(test_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
