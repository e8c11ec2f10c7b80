#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "common/err.h"

static void test_set(void **state)
{
	struct err e = { .http_status = 500, .retry_after_ms = 7, .field = "x" };

	(void)state;
	assert_int_equal(err_set(&e, ERR_GONE, "version %d", 7), -ERR_GONE);
	assert_int_equal(e.code, ERR_GONE);
	assert_string_equal(e.message, "version 7");
	assert_string_equal(e.field, "");
	assert_int_equal(e.http_status, 0);
	assert_int_equal(e.retry_after_ms, 0);
}

static void test_field(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(err_field(&e, ERR_INVALID, "spec.a", "'%s' is bad", "b"), -ERR_INVALID);
	assert_string_equal(e.field, "spec.a");
	assert_string_equal(e.message, "'b' is bad");
	/* Both may come from the error itself. */
	assert_int_equal(err_field(&e, ERR_CONFLICT, e.field, "again: %s", e.message),
			 -ERR_CONFLICT);
	assert_string_equal(e.field, "spec.a");
	assert_string_equal(e.message, "again: 'b' is bad");
}

static void test_one_safe_line(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	(void)err_field(&e, ERR_INVALID, "a\nb", "c\r\n\x1b[31m\x7f %s", "d\te");
	assert_string_equal(e.message, "c???[31m? d?e");
	assert_string_equal(e.field, "a?b");
	(void)err_set(&e, ERR_INVALID, "é \xff \xc0\x80 \xed\xa0\x80 😀");
	assert_string_equal(e.message, "é ? ?? ??? 😀");
}

static void test_cut_within_a_character(void **state)
{
	struct err e = ERR_INIT;
	char text[600];

	(void)state;
	memset(text, 'a', sizeof(text));
	memcpy(text + 510, "é", 3);
	(void)err_set(&e, ERR_INVALID, "%s", text);
	assert_int_equal(strlen(e.message), 511);
	assert_int_equal(e.message[510], '?');
}

static void test_wrap(void **state)
{
	struct err e = ERR_INIT;
	char text[600];

	(void)state;
	(void)err_field(&e, ERR_NOT_FOUND, "f", "no such file");
	assert_int_equal(err_wrap(&e, "reading %s", "x\n"), -ERR_NOT_FOUND);
	assert_string_equal(e.message, "reading x?: no such file");
	assert_string_equal(e.field, "f");
	assert_int_equal(err_wrap(&e, "starting"), -ERR_NOT_FOUND);
	assert_string_equal(e.message, "starting: reading x?: no such file");
	memset(text, 'b', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	(void)err_wrap(&e, "%s", text);
	assert_int_equal(strlen(e.message), 255 + strlen(": starting: reading x?: no such file"));
}

static void test_errno(void **state)
{
	static const struct {
		int errnum;
		enum err_code code;
	} v[] = {
		{ ENOENT, ERR_NOT_FOUND },
		{ ENOTDIR, ERR_NOT_FOUND },
		{ EACCES, ERR_FORBIDDEN },
		{ EPERM, ERR_FORBIDDEN },
		{ EEXIST, ERR_EXISTS },
		{ ETIMEDOUT, ERR_TIMEOUT },
		{ ENOMEM, ERR_NOMEM },
		{ EFBIG, ERR_TOO_LARGE },
		{ ECONNREFUSED, ERR_UNAVAILABLE },
	};
	struct err e = ERR_INIT;

	(void)state;
	for (size_t i = 0; i < array_len(v); i++) {
		assert_int_equal(err_errno(&e, v[i].errnum, "x"), -(int)v[i].code);
		assert_int_equal(e.code, v[i].code);
	}
	(void)err_errno(&e, ENOENT, "opening %s", "a");
	assert_string_equal(e.message, "opening a: No such file or directory");
}

static void test_text(void **state)
{
	(void)state;
	assert_string_equal(err_text(ERR_NONE), "no error");
	assert_string_equal(err_text(ERR_NOT_FOUND), "not found");
	assert_string_equal(err_text(ERR_INTERNAL), "internal error");
	assert_string_equal(err_text((enum err_code)1000), "unknown error");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_set),	      cmocka_unit_test(test_field),
		cmocka_unit_test(test_one_safe_line), cmocka_unit_test(test_cut_within_a_character),
		cmocka_unit_test(test_wrap),	      cmocka_unit_test(test_errno),
		cmocka_unit_test(test_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
