#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/http_hold.h"

static const char a, b, c;

static void test_no_limit(void **state)
{
	struct http_hold h = { .max = 0 };

	(void)state;
	assert_true(http_hold_take(&h, &a, 0, 1 << 30));
	assert_true(http_hold_take(&h, &b, 0, 1 << 30));
	assert_false(http_hold_give(&h, &a, 1 << 30)); /* nobody waits */
	assert_int_equal(h.held, 1 << 30);
}

/* 100 kB for all. Whoever passes it first goes on, others wait until somebody gives back. */
static void test_limit(void **state)
{
	struct http_hold h = { .max = 100000 };

	(void)state;
	assert_true(http_hold_take(&h, &a, 0, 60000));
	assert_true(http_hold_take(&h, &b, 0, 40000));
	assert_true(http_hold_take(&h, &b, 40000, 1)); /* one over it: b goes on */
	assert_false(http_hold_take(&h, &a, 60000, 1));
	assert_true(http_hold_take(&h, &b, 40001, 50000));
	assert_int_equal(h.held, 150001);
	assert_true(http_hold_give(&h, &b, 90001)); /* a waits */
	assert_int_equal(h.held, 60000);
	assert_true(http_hold_take(&h, &a, 60000, 40000));
	assert_true(http_hold_take(&h, &a, 100000, 40000)); /* the next that goes on */
	assert_false(http_hold_give(&h, &a, 140000));
	assert_int_equal(h.held, 0);
}

/* Up to 16 KiB of each are free. */
static void test_short_ones(void **state)
{
	struct http_hold h = { .max = 100000 };

	(void)state;
	assert_true(http_hold_take(&h, &a, 0, 100001));
	assert_true(http_hold_take(&h, &b, 0, 10000));
	assert_true(http_hold_take(&h, &b, 10000, 6384));
	assert_false(http_hold_take(&h, &b, 16384, 1));
	assert_false(http_hold_take(&h, &c, 0, 16385));
	assert_true(http_hold_take(&h, &c, 0, 16384));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_limit),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_short_ones),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
