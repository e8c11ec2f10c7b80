/* The arithmetic of patience, in a time of the test's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "controller/endpoints.h"

enum { MINUTE = 60000 };

static struct err failure(int retry_after_ms)
{
	struct err e = ERR_INIT;

	(void)err_set(&e, ERR_THROTTLED, "away");
	e.retry_after_ms = retry_after_ms;
	return e;
}

static void test_users(void **state)
{
	struct endpoints *all = endpoints_new(0, 4 * MINUTE);
	struct endpoint *a = endpoint_take(all, "https://a"), *b = endpoint_take(all, "https://b");

	(void)state;
	assert_ptr_not_equal(a, b);
	assert_ptr_equal(endpoint_take(all, "https://a"), a);
	assert_int_equal(endpoints_count(all), 2);
	endpoint_give(all, a);
	endpoint_give(all, b);
	assert_int_equal(endpoints_count(all), 1);
	endpoint_give(all, a);
	endpoint_give(all, NULL);
	assert_int_equal(endpoints_count(all), 0);
	endpoints_free(all);
	endpoints_free(NULL);
}

static void test_room(void **state)
{
	struct endpoints *all = endpoints_new(0, 4 * MINUTE);
	struct endpoint *e = endpoint_take(all, "https://a");
	const struct err why = failure(0);

	(void)state;
	for (int i = 0; i < 16; i++) {
		assert_true(endpoint_has_room(e));
		endpoint_begin(e);
	}
	assert_false(endpoint_has_room(e));
	endpoint_end(e);
	assert_true(endpoint_has_room(e));
	/* one that is not well gets one at a time */
	endpoint_failed(e, 0, &why, 0);
	assert_false(endpoint_has_room(e));
	for (int i = 0; i < 15; i++)
		endpoint_end(e);
	assert_true(endpoint_has_room(e));
	endpoint_begin(e);
	assert_false(endpoint_has_room(e));
	endpoints_free(all);
}

static void test_pauses(void **state)
{
	struct endpoints *all = endpoints_new(0, 4 * MINUTE);
	struct endpoint *e = endpoint_take(all, "https://a");
	struct err why = failure(0);

	(void)state;
	endpoint_failed(e, 1000, &why, 0);
	assert_int_equal(endpoint_rests_until(e), 16000);
	assert_string_equal(endpoint_why(e), "away");
	/* one that was under way */
	endpoint_failed(e, 2000, &why, 0);
	assert_int_equal(endpoint_rests_until(e), 16000);
	endpoint_failed(e, 16000, &why, 0);
	assert_int_equal(endpoint_rests_until(e), 46000);
	/* not in step with others: up to a quarter more */
	endpoint_failed(e, 46000, &why, 1);
	assert_int_equal(endpoint_rests_until(e), 46000 + 75000);
	/* it says itself for how long */
	why = failure(600000);
	endpoint_failed(e, 121000, &why, 0);
	assert_int_equal(endpoint_rests_until(e), 721000);
	assert_true(endpoint_answered(e));
	assert_false(endpoint_answered(e));
	assert_int_equal(endpoint_rests_until(e), 0);
	why = failure(0);
	endpoint_failed(e, 800000, &why, 0);
	assert_int_equal(endpoint_rests_until(e), 815000);
	endpoints_free(all);
}

/* Any number of apps at an endpoint that refuses at once: how many requests it gets in each minute, at most. */
static void test_requests_a_minute(void **state)
{
	static const int most[] = { 18, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1 };
	int got[array_len(most)] = { 0 };
	struct endpoints *all = endpoints_new(0, 4 * MINUTE);
	struct endpoint *e = endpoint_take(all, "https://a");
	const struct err why = failure(0);

	(void)state;
	for (int64_t now = 0; now < (int64_t)array_len(most) * MINUTE; now += 50) {
		int begun = 0;

		for (; now >= endpoint_rests_until(e) && endpoint_has_room(e); begun++)
			endpoint_begin(e);
		got[now / MINUTE] += begun;
		while (begun--) {
			endpoint_end(e);
			endpoint_failed(e, now, &why, 0);
		}
	}
	printf("        requests in each minute to an endpoint that fails:");
	for (size_t i = 0; i < array_len(most); i++) {
		printf(" %d", got[i]);
		assert_int_equal(got[i], most[i]);
	}
	printf("\n");
	endpoints_free(all);
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
