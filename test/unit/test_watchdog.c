#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "controller/watchdog.h"

static void test_workers(void **state)
{
	struct watchdog *w = watchdog_new(2);
	const char *why = NULL;

	(void)state;
	assert_true(watchdog_fine(w, 0, 900000, &why)); /* idle for ever is fine */
	watchdog_begin(w, 1, 1000);
	assert_int_equal(watchdog_longest(w, 1500), 500);
	assert_true(watchdog_fine(w, 0, 301000, &why));
	assert_false(watchdog_fine(w, 0, 301001, &why));
	assert_string_equal(why, "a worker is stuck in one turn");
	watchdog_begin(w, 0, 301001); /* another one that gets on does not hide it */
	assert_false(watchdog_fine(w, 0, 301001, &why));
	watchdog_end(w, 1);
	assert_true(watchdog_fine(w, 0, 301001, &why));
	watchdog_free(w);
}

static void test_watch(void **state)
{
	struct watchdog *w = watchdog_new(1);
	const char *why = NULL;

	(void)state;
	assert_true(watchdog_fine(w, 1000, 301000, &why));
	assert_false(watchdog_fine(w, 1000, 301001, &why));
	assert_string_equal(why, "the watch is stuck");
	watchdog_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_workers),
		cmocka_unit_test(test_watch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
