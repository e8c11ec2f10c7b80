#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base.h"

static void test_allocate(void **state)
{
	cleanup(freep) char *none = xmalloc(0), *zero = xcalloc(0, 0), *dup = xstrdup("abc");
	cleanup(freep) char *part = xstrndup("abcdef", 3), *whole = xstrndup("ab", 10);
	cleanup(freep) int *numbers = xcalloc(3, sizeof(int));

	(void)state;
	assert_non_null(none);
	assert_non_null(zero);
	assert_string_equal(dup, "abc");
	assert_string_equal(part, "abc");
	assert_string_equal(whole, "ab");
	assert_int_equal(numbers[2], 0);
	numbers = xrealloc(numbers, 100 * sizeof(int));
	numbers[99] = 1;
	assert_int_equal(numbers[0], 0);
}

static void test_format(void **state)
{
	cleanup(freep) char *s = xasprintf("%s-%d", "a", 7);

	(void)state;
	assert_string_equal(s, "a-7");
}

static char *leave(void)
{
	cleanup(freep) char *s = xstrdup("x");

	return take(s);
}

static void test_take(void **state)
{
	cleanup(freep) char *s = leave();
	int fd = dup(STDOUT_FILENO);

	(void)state;
	assert_string_equal(s, "x");
	assert_true(fd >= 0);
	{
		cleanup(closep) int scoped = fd, none = -1;

		assert_int_equal(none, -1);
		assert_int_equal(scoped, fd);
	}
	assert_int_equal(close(fd), -1); /* the scope has closed it */
}

static void test_strings(void **state)
{
	(void)state;
	assert_true(str_eq("a", "a"));
	assert_false(str_eq("a", "ab"));
	assert_true(str_empty(NULL));
	assert_true(str_empty(""));
	assert_false(str_empty(" "));
	assert_true(str_starts("abc", "ab"));
	assert_true(str_starts("abc", ""));
	assert_false(str_starts("ab", "abc"));
	assert_true(str_ends("abc", "bc"));
	assert_true(str_ends("abc", ""));
	assert_false(str_ends("bc", "abc"));
	assert_false(str_ends("abc", "ab"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_allocate),
		cmocka_unit_test(test_format),
		cmocka_unit_test(test_take),
		cmocka_unit_test(test_strings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
