#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "common/kube/framer.h"

/* The lines of text, each followed by '|', when it comes in pieces of n bytes. */
static void check(const char *text, size_t piece, const char *want)
{
	struct framer f;
	struct buf got = BUF_INIT(1 << 16);
	const char *line;
	size_t len;

	framer_init(&f, 16);
	for (size_t at = 0, n = strlen(text); at < n; at += piece) {
		framer_add(&f, text + at, n - at < piece ? n - at : piece);
		while (framer_next(&f, &line, &len)) {
			buf_add(&got, line, len);
			buf_putc(&got, '|');
		}
	}
	if (!framer_ok(&f))
		buf_puts(&got, "TOO LONG");
	assert_string_equal(buf_str(&got), want);
	buf_done(&got);
	framer_done(&f);
}

static void test_pieces(void **state)
{
	(void)state;
	for (size_t piece = 1; piece <= 32; piece++) {
		check("{\"a\":1}\n{\"b\":2}\n", piece, "{\"a\":1}|{\"b\":2}|");
		check("one\r\ntwo\n\n\r\n\nthree\n", piece, "one|two|three|");
		check("gr\xc3\xbc\xc3\x9f\xe2\x82\xac\n", piece, "gr\xc3\xbc\xc3\x9f\xe2\x82\xac|");
		check("whole\nhalf of a line", piece, "whole|");
		check("0123456789abcdef\nx\n", piece, "0123456789abcdef|x|");
		check("0123456789abcdef\r\nx\n", piece, "0123456789abcdef|x|");
	}
	check("", 1, "");
	check("\n\n", 1, "");
}

static void test_too_long(void **state)
{
	(void)state;
	for (size_t piece = 1; piece <= 32; piece++)
		check("ok\n0123456789abcdefg\nnever\n", piece, "ok|TOO LONG");
	check("0123456789abcdefghi", 1, "TOO LONG");
	check("0123456789abcdefghi", 19, "TOO LONG");
}

static void test_one_huge_piece(void **state)
{
	struct framer f;
	char huge[64];
	const char *line;
	size_t len;

	(void)state;
	memset(huge, 'x', sizeof(huge));
	framer_init(&f, 16);
	framer_add(&f, huge, sizeof(huge));
	assert_false(framer_ok(&f));
	assert_false(framer_next(&f, &line, &len));
	framer_add(&f, "a\n", 2);
	assert_false(framer_next(&f, &line, &len));
	framer_reset(&f);
	framer_add(&f, "a\n", 2);
	assert_true(framer_next(&f, &line, &len));
	assert_int_equal(len, 1);
	assert_true(framer_ok(&f));
	framer_done(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_too_long),
		cmocka_unit_test(test_one_huge_piece),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
