/* The arithmetic of patience, in a time of the test's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "controller/callees.h"

static const int64_t minute = 60000;

static struct err failure(int retry_after_ms)
{
	struct err e = ERR_INIT;

	(void)err_set(&e, ERR_THROTTLED, "away");
	e.retry_after_ms = retry_after_ms;
	return e;
}

static void test_users(void **state)
{
	struct callees *all = callees_new(0, 4 * minute);
	struct callee *a = callee_take(all, "https://a"), *b = callee_take(all, "https://b");

	(void)state;
	assert_ptr_not_equal(a, b);
	assert_ptr_equal(callee_take(all, "https://a"), a);
	assert_int_equal(callees_count(all), 2);
	callee_give(all, a);
	callee_give(all, b);
	assert_int_equal(callees_count(all), 1);
	callee_give(all, a);
	callee_give(all, NULL);
	assert_int_equal(callees_count(all), 0);
	callees_free(all);
	callees_free(NULL);
}

static void test_room(void **state)
{
	struct callees *all = callees_new(0, 4 * minute);
	struct callee *e = callee_take(all, "https://a");
	const struct err why = failure(0);

	(void)state;
	for (int i = 0; i < 16; i++) {
		assert_true(callee_has_room(e));
		callee_begin(e);
	}
	assert_false(callee_has_room(e));
	callee_end(e);
	assert_true(callee_has_room(e));
	/* one that is not well gets one at a time */
	callee_failed(e, 0, &why, 0);
	assert_false(callee_has_room(e));
	for (int i = 0; i < 15; i++)
		callee_end(e);
	assert_true(callee_has_room(e));
	callee_begin(e);
	assert_false(callee_has_room(e));
	callees_free(all);
}

static void test_pauses(void **state)
{
	struct callees *all = callees_new(0, 4 * minute);
	struct callee *e = callee_take(all, "https://a");
	struct err why = failure(0);

	(void)state;
	callee_failed(e, 1000, &why, 0);
	assert_int_equal(callee_rests_until(e), 16000);
	assert_string_equal(callee_why(e), "away");
	/* one that was under way */
	callee_failed(e, 2000, &why, 0);
	assert_int_equal(callee_rests_until(e), 16000);
	callee_failed(e, 16000, &why, 0);
	assert_int_equal(callee_rests_until(e), 46000);
	/* not in step with others: up to a quarter more */
	callee_failed(e, 46000, &why, 1);
	assert_int_equal(callee_rests_until(e), 46000 + 75000);
	/* it says itself for how long */
	why = failure(600000);
	callee_failed(e, 121000, &why, 0);
	assert_int_equal(callee_rests_until(e), 721000);
	assert_true(callee_answered(e));
	assert_false(callee_answered(e));
	assert_int_equal(callee_rests_until(e), 0);
	why = failure(0);
	callee_failed(e, 800000, &why, 0);
	assert_int_equal(callee_rests_until(e), 815000);
	callees_free(all);
}

/* Any number of apps at an endpoint that refuses at once: how many requests it gets in each minute, at most. */
static void test_requests_a_minute(void **state)
{
	static const int most[] = { 18, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1 };
	int got[array_len(most)] = { 0 };
	struct callees *all = callees_new(0, 4 * minute);
	struct callee *e = callee_take(all, "https://a");
	const struct err why = failure(0);

	(void)state;
	for (int64_t now = 0; now < (int64_t)array_len(most) * minute; now += 50) {
		int begun = 0;

		for (; now >= callee_rests_until(e) && callee_has_room(e); begun++)
			callee_begin(e);
		got[now / minute] += begun;
		while (begun--) {
			callee_end(e);
			callee_failed(e, now, &why, 0);
		}
	}
	printf("        requests in each minute to an endpoint that fails:");
	for (size_t i = 0; i < array_len(most); i++) {
		printf(" %d", got[i]);
		assert_int_equal(got[i], most[i]);
	}
	printf("\n");
	callees_free(all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_users),
		cmocka_unit_test(test_room),
		cmocka_unit_test(test_pauses),
		cmocka_unit_test(test_requests_a_minute),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
