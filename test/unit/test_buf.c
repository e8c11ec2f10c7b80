#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"

static void test_empty(void **state)
{
	struct buf b = BUF_INIT(8);
	cleanup(freep) char *s = NULL;

	(void)state;
	assert_string_equal(buf_str(&b), "");
	assert_true(buf_ok(&b));
	s = buf_take(&b);
	assert_string_equal(s, "");
	buf_done(&b);
}

static void test_append(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 1000);
	buf_puts(&b, "one");
	buf_putc(&b, ' ');
	buf_printf(&b, "%d%s", 2, "!");
	buf_add(&b, "\0x", 2);
	assert_int_equal(b.len, 8);
	assert_memory_equal(b.data, "one 2!\0x", 9);
	buf_add(&b, NULL, 0);
	assert_int_equal(b.len, 8);
	buf_done(&b);
	assert_null(b.data);
}

static void test_maximum(void **state)
{
	struct buf b = BUF_INIT(4);

	(void)state;
	buf_puts(&b, "abcd");
	assert_true(buf_ok(&b));
	assert_string_equal(buf_str(&b), "abcd");
	buf_putc(&b, 'e');
	assert_false(buf_ok(&b));
	assert_string_equal(buf_str(&b), "");
	buf_puts(&b, "x");
	buf_printf(&b, "%s", "y");
	assert_int_equal(b.len, 0);
	assert_null(buf_take(&b));
	/* Usable again after it was taken, and after a clear. */
	buf_puts(&b, "ab");
	assert_string_equal(buf_str(&b), "ab");
	buf_puts(&b, "abcde");
	assert_false(buf_ok(&b));
	buf_clear(&b);
	assert_true(buf_ok(&b));
	buf_puts(&b, "ok");
	assert_string_equal(buf_str(&b), "ok");
	buf_done(&b);
}

static void test_done_forgets_the_overflow(void **state)
{
	struct buf b = BUF_INIT(1);

	(void)state;
	buf_puts(&b, "ab");
	buf_done(&b);
	assert_true(buf_ok(&b));
	buf_puts(&b, "c");
	assert_string_equal(buf_str(&b), "c");
	buf_done(&b);
}

static void test_no_maximum(void **state)
{
	struct buf b = BUF_INIT(SIZE_MAX);

	(void)state;
	buf_puts(&b, "a");
	assert_string_equal(buf_str(&b), "a");
	assert_null(buf_room(&b, SIZE_MAX));
	assert_false(buf_ok(&b));
	buf_done(&b);
}

static void test_growth(void **state)
{
	struct buf b = BUF_INIT(100000);

	(void)state;
	for (int i = 0; i < 100000; i++)
		buf_putc(&b, (char)('a' + i % 26));
	assert_true(buf_ok(&b));
	assert_int_equal(b.len, 100000);
	for (int i = 0; i < 100000; i++)
		assert_int_equal(b.data[i], 'a' + i % 26);
	assert_int_equal(b.data[100000], 0);
	assert_true(b.room <= 100001);
	buf_done(&b);
}

static void test_room(void **state)
{
	struct buf b = BUF_INIT(10);
	char *to = buf_room(&b, 10);

	(void)state;
	assert_non_null(to);
	memset(to, 'h', 5);
	buf_grew(&b, 5);
	assert_string_equal(buf_str(&b), "hhhhh");
	assert_null(buf_room(&b, 6));
	assert_false(buf_ok(&b));
	buf_done(&b);
}

static void test_consume(void **state)
{
	struct buf b = BUF_INIT(100);

	(void)state;
	buf_puts(&b, "abcdef");
	buf_consume(&b, 2);
	assert_string_equal(buf_str(&b), "cdef");
	buf_consume(&b, 0);
	assert_string_equal(buf_str(&b), "cdef");
	buf_consume(&b, 4);
	assert_string_equal(buf_str(&b), "");
	buf_consume(&b, 4);
	assert_int_equal(b.len, 0);
	buf_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),	   cmocka_unit_test(test_append),
		cmocka_unit_test(test_maximum),	   cmocka_unit_test(test_done_forgets_the_overflow),
		cmocka_unit_test(test_no_maximum), cmocka_unit_test(test_growth),
		cmocka_unit_test(test_room),	   cmocka_unit_test(test_consume),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
