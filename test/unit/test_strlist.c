#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "common/strlist.h"

static void expect(const struct strlist *l, const char *want)
{
	cleanup(freep) char *got = strlist_join(l, "|");

	assert_string_equal(got, want);
}

static void test_add(void **state)
{
	struct strlist l = STRLIST_INIT;
	char text[] = "a";

	(void)state;
	expect(&l, "");
	strlist_add(&l, text);
	text[0] = 'x'; /* it has a copy */
	strlist_add_take(&l, xstrdup("b"));
	strlist_add_once(&l, "a");
	strlist_add_once(&l, "A");
	expect(&l, "a|b|A");
	assert_true(strlist_has(&l, "A"));
	assert_false(strlist_has(&l, "B"));
	for (int i = 0; i < 100; i++)
		strlist_add_take(&l, xasprintf("%d", i));
	assert_int_equal(l.n, 103);
	assert_string_equal(l.v[102], "99");
	strlist_done(&l);
	assert_int_equal(l.n, 0);
	assert_null(l.v);
}

static void test_sort(void **state)
{
	struct strlist l = STRLIST_INIT;

	(void)state;
	strlist_sort(&l);
	strlist_split(&l, "b,a,Z,é,10,9", ',');
	strlist_sort(&l);
	expect(&l, "10|9|Z|a|b|é");
	strlist_done(&l);
}

static void test_split(void **state)
{
	static const struct {
		const char *text, *want;
	} v[] = {
		{ "", "" },	     { ",", "" },      { " , ,\t", "" },
		{ "a", "a" },	     { "a,b", "a|b" }, { " a , b c ,", "a|b c" },
		{ ",a,,b,", "a|b" },
	};

	(void)state;
	for (size_t i = 0; i < array_len(v); i++) {
		struct strlist l = STRLIST_INIT;

		strlist_split(&l, v[i].text, ',');
		expect(&l, v[i].want);
		strlist_done(&l);
	}
}

static void test_equal_and_copy(void **state)
{
	struct strlist a = STRLIST_INIT, b = STRLIST_INIT;

	(void)state;
	assert_true(strlist_equal(&a, &b));
	strlist_split(&a, "x,y", ',');
	assert_false(strlist_equal(&a, &b));
	strlist_copy(&b, &a);
	assert_true(strlist_equal(&a, &b));
	assert_ptr_not_equal(a.v[0], b.v[0]);
	strlist_add(&b, "z");
	strlist_add(&a, "Z");
	assert_false(strlist_equal(&a, &b));
	strlist_done(&a);
	strlist_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_add),
		cmocka_unit_test(test_sort),
		cmocka_unit_test(test_split),
		cmocka_unit_test(test_equal_and_copy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
