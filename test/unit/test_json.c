#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/json.h"
#include "common/limits.h"

static struct json *read_ok(const char *text)
{
	struct json *j = NULL;
	struct err e = ERR_INIT;

	if (json_parse(text, strlen(text), &j, &e))
		fail_msg("%s: %s", text, e.message);
	return j;
}

static void expect_bad(const char *text, size_t len, const char *message)
{
	struct json *j = NULL;
	struct err e = ERR_INIT;

	if (json_parse(text, len, &j, &e) != -ERR_INVALID)
		fail_msg("accepted: %s", text);
	assert_string_equal(e.message, message);
	assert_null(j);
}

static void test_parse_bad(void **state)
{
	static const struct {
		const char *text, *message;
	} v[] = {
		{ "", "offset 0: not JSON" },
		{ "{\"a\":1,\"a\":2}", "offset 8: duplicate member name" },
		{ "{\"a\":1,\"\\u0061\":2}", "offset 8: duplicate member name" },
		{ "\"\\u0000\"", "offset 1: \\u0000 in a string" },
		{ "\"\xff\"", "offset 1: bad UTF-8" },
		{ "{} {}", "offset 3: bytes after the value" },
		{ "[1e400]", "a number that is too large" },
		{ "{\"a\":[{\"b\":-1e999}]}", "a number that is too large" },
	};

	(void)state;
	for (size_t i = 0; i < array_len(v); i++)
		expect_bad(v[i].text, strlen(v[i].text), v[i].message);
	expect_bad("\"a\0b\"", 5, "offset 2: bad string or escape");
	expect_bad("1\0", 2, "offset 1: bytes after the value");
}

static void test_parse_needs_no_terminator(void **state)
{
	char *text = xmalloc(3); /* so that a sanitizer sees a read beyond */
	struct json *j = NULL;
	struct err e = ERR_INIT;

	(void)state;
	text[0] = '[';
	text[1] = '1';
	text[2] = ']';
	assert_int_equal(json_parse(text, 3, &j, &e), 0);
	assert_int_equal(json_len(j), 1);
	json_free(j);
	free(text);
	assert_int_equal(json_parse(NULL, (size_t)INT32_MAX, &j, &e), -ERR_TOO_LARGE);
}

static void test_depth(void **state)
{
	char text[2 * (LIMIT_JSON_DEPTH + 1)];
	cleanup_json struct json *j = NULL;
	struct err e = ERR_INIT;

	(void)state;
	memset(text, '[', LIMIT_JSON_DEPTH);
	memset(text + LIMIT_JSON_DEPTH, ']', LIMIT_JSON_DEPTH);
	assert_int_equal(json_parse(text, (size_t)2 * LIMIT_JSON_DEPTH, &j, &e), 0);
	memset(text, '[', LIMIT_JSON_DEPTH + 1);
	memset(text + LIMIT_JSON_DEPTH + 1, ']', LIMIT_JSON_DEPTH + 1);
	expect_bad(text, sizeof(text), "offset 128: nested too deeply");
}

static void test_integers(void **state)
{
	static const struct {
		const char *text;
		bool is_int;
		int64_t want;
	} v[] = {
		{ "0", true, 0 },
		{ "-0", true, 0 },
		{ "-7", true, -7 },
		{ "3.0", true, 3 },
		{ "1e3", true, 1000 },
		{ "9007199254740992", true, 9007199254740992 },
		{ "-9007199254740992", true, -9007199254740992 },
		{ "9007199254740994", false, 0 },
		{ "-9007199254740994", false, 0 },
		{ "2.7", false, 0 },
		{ "0.1", false, 0 },
		{ "1e300", false, 0 },
		{ "\"1\"", false, 0 },
		{ "true", false, 0 },
		{ "null", false, 0 },
		{ "[1]", false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < array_len(v); i++) {
		cleanup_json struct json *j = read_ok(v[i].text);
		int64_t got = 99;

		assert_int_equal(json_int(j, &got), v[i].is_int);
		assert_int_equal(got, v[i].is_int ? v[i].want : 99);
	}
}

static void test_absent(void **state)
{
	int64_t i = 5;
	double d = 5;
	bool b = true;

	(void)state;
	assert_int_equal(json_kind(NULL), JSON_ABSENT);
	assert_null(json_get(NULL, "a"));
	assert_null(json_path(NULL, "a", "b", NULL));
	assert_null(json_at_path(NULL, "a.b"));
	assert_null(json_first(NULL));
	assert_null(json_next(NULL));
	assert_null(json_item(NULL, 0));
	assert_null(json_str(NULL));
	assert_null(json_get_str(NULL, "a"));
	assert_null(json_get_mutable(NULL, "a"));
	assert_null(json_take(NULL, "a"));
	assert_null(json_dup(NULL));
	assert_string_equal(json_name(NULL), "");
	assert_int_equal(json_len(NULL), 0);
	assert_false(json_int(NULL, &i));
	assert_false(json_number(NULL, &d));
	assert_false(json_bool(NULL, &b));
	assert_true(json_get_bool(NULL, "a", true));
	assert_true(json_equal(NULL, NULL));
	assert_int_equal(i, 5);
	json_free(NULL);
}

static void test_read(void **state)
{
	cleanup_json struct json *j =
		read_ok("{\"a\":{\"b\":[1,\"x\",null,true]},\"A\":2,\"s\":\"\"}");
	const struct json *list = json_path(j, "a", "b", NULL);
	bool b = false;

	(void)state;
	assert_int_equal(json_kind(j), JSON_OBJECT);
	assert_int_equal(json_kind(list), JSON_ARRAY);
	assert_ptr_equal(json_at_path(j, "a.b"), list);
	assert_null(json_at_path(j, "a.b.c"));
	assert_null(json_at_path(j, "x.b"));
	assert_null(json_path(j, "a", "x", "b", NULL));
	assert_int_equal(json_len(list), 4);
	assert_string_equal(json_str(json_item(list, 1)), "x");
	assert_int_equal(json_kind(json_item(list, 2)), JSON_NULL);
	assert_true(json_bool(json_item(list, 3), &b));
	assert_true(b);
	assert_null(json_item(list, 4));
	assert_int_equal(json_kind(json_get(j, "A")), JSON_NUMBER);
	assert_int_equal(json_kind(json_get(j, "a")), JSON_OBJECT);
	assert_string_equal(json_get_str(j, "s"), "");
	assert_null(json_get_str(j, "A"));
	assert_string_equal(json_name(json_next(json_first(j))), "A");
	assert_true(json_get_bool(j, "A", true));
	assert_string_equal(json_kind_text(json_kind(list)), "a list");
}

static void test_long_path(void **state)
{
	cleanup_json struct json *j = json_new_object();
	char path[200];

	(void)state;
	memset(path, 'a', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	json_set_int(j, path, 1);
	assert_non_null(json_at_path(j, path));
	path[127] = '\0';
	json_set_int(j, path, 1);
	assert_non_null(json_at_path(j, path));
}

static void test_make(void **state)
{
	cleanup_json struct json *j = json_new_object();
	cleanup_json struct json *taken = NULL;
	cleanup(freep) char *s = NULL;

	(void)state;
	json_set(j, "none", NULL);
	json_set_str(j, "empty", "");
	json_set_str(j, "absent", NULL);
	json_set_str_always(j, "kept", "");
	json_set_str(j, "s", "x");
	json_set_int(j, "zero", 0);
	json_set_bool(j, "no", false);
	json_set_int(j, "s", 7); /* in the place of the older one */
	json_set_int(json_object_at(j, "o"), "in", 1);
	json_set_int(json_object_at(j, "o"), "more", 2);
	json_add_str(json_array_at(j, "l"), "a");
	json_add(json_array_at(j, "l"), NULL);
	json_add(json_array_at(j, "l"), json_new_null());
	json_set(json_object_at(j, "zero2"), "n", json_new_number(0.5));
	json_set_int(json_object_at(j, "no"), "was", 1); /* a boolean gives way */
	json_del(j, "kept");
	json_del(j, "kept");
	taken = json_take(j, "zero2");
	assert_non_null(taken);
	s = json_text(j);
	assert_string_equal(s, "{\"s\":7,\"zero\":0,\"no\":{\"was\":1},\"o\":{\"in\":1,\"more\":2},"
			       "\"l\":[\"a\",null]}");
	assert_non_null(json_get_mutable(j, "o"));
	assert_null(json_get_mutable(json_get_mutable(j, "l"), "o"));
}

static void test_equal(void **state)
{
	static const struct {
		const char *a, *b;
		bool equal;
	} v[] = {
		{ "{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1.0}", true },
		{ "{\"a\":1}", "{\"a\":1,\"b\":null}", false },
		{ "{\"a\":1,\"b\":2}", "{\"a\":1,\"c\":2}", false },
		{ "{\"a\":null}", "{\"A\":null}", false },
		{ "[1,2]", "[2,1]", false },
		{ "[1,2]", "[1,2,3]", false },
		{ "[]", "{}", false },
		{ "true", "false", false },
		{ "true", "true", true },
		{ "null", "null", true },
		{ "null", "0", false },
		{ "\"1\"", "1", false },
		{ "\"a\"", "\"a\"", true },
		{ "\"a\"", "\"A\"", false },
		{ "0.5", "0.5", true },
	};

	(void)state;
	for (size_t i = 0; i < array_len(v); i++) {
		cleanup_json struct json *a = read_ok(v[i].a), *b = read_ok(v[i].b);
		cleanup_json struct json *copy = json_dup(a);

		assert_int_equal(json_equal(a, b), v[i].equal);
		assert_int_equal(json_equal(b, a), v[i].equal);
		assert_true(json_equal(a, copy));
		assert_false(json_equal(a, NULL));
	}
}

static void test_print(void **state)
{
	static const struct {
		const char *text, *want;
	} v[] = {
		{ " { \"b\" : [ ] , \"a\" : { } } ", "{\"a\":{},\"b\":[]}" },
		{ "{\"b\":1,\"B\":2,\"a\":{\"z\":1,\"y\":[{\"d\":1,\"c\":2}]},\"é\":3,\"\":4}",
		  "{\"\":4,\"B\":2,\"a\":{\"y\":[{\"c\":2,\"d\":1}],\"z\":1},\"b\":1,\"é\":3}" },
		{ "[1,-7,2.5,1e3,9007199254740991,-9007199254740992,1e20,0.1,1e-7,-0]",
		  "[1,-7,2.5,1000,9007199254740991,-9007199254740992,1e+20,0.1,1e-07,0]" },
		{ "[true,false,null]", "[true,false,null]" },
		{ "\"\\u00e9\\ud83d\\ude00\\/\\b\\f\\n\\r\\t\\\"\\\\\\u001f\\u007f\"",
		  "\"é😀/\\u0008\\u000c\\n\\r\\t\\\"\\\\\\u001f\\u007f\"" },
	};

	(void)state;
	for (size_t i = 0; i < array_len(v); i++) {
		cleanup_json struct json *j = read_ok(v[i].text), *again = NULL;
		cleanup(freep) char *s = json_text_sorted(j);

		assert_string_equal(s, v[i].want);
		again = read_ok(s);
		assert_true(json_equal(j, again));
	}
}

static void test_print_keeps_order(void **state)
{
	cleanup_json struct json *j = read_ok("{\"b\":1,\"a\":{\"d\":1,\"c\":2}}");
	struct buf b = BUF_INIT(100), small = BUF_INIT(5);

	(void)state;
	json_print(j, &b);
	assert_string_equal(buf_str(&b), "{\"b\":1,\"a\":{\"d\":1,\"c\":2}}");
	json_print(j, &small);
	assert_false(buf_ok(&small));
	buf_done(&b);
	buf_done(&small);
}

/* Fractions that need all 17 digits keep them. */
static void test_fractions_read_back(void **state)
{
	static const double v[] = { 0.1,       1.0 / 3, 2.0 / 3, 5e-324, 1.7976931348623157e308,
				    123456.789 };

	(void)state;
	for (size_t i = 0; i < array_len(v); i++) {
		cleanup_json struct json *j = json_new_number(v[i]), *again = NULL;
		cleanup(freep) char *s = json_text(j);

		again = read_ok(s);
		assert_true(json_equal(j, again));
	}
}

static void test_bad_text_from_outside(void **state)
{
	struct buf b = BUF_INIT(100);

	(void)state;
	json_print_str("a\xff\xc3(\xe2\x82", &b);
	assert_string_equal(buf_str(&b), "\"a\xef\xbf\xbd\xef\xbf\xbd(\xef\xbf\xbd\xef\xbf\xbd\"");
	buf_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse_bad),
		cmocka_unit_test(test_parse_needs_no_terminator),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_integers),
		cmocka_unit_test(test_absent),
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_long_path),
		cmocka_unit_test(test_make),
		cmocka_unit_test(test_equal),
		cmocka_unit_test(test_print),
		cmocka_unit_test(test_print_keeps_order),
		cmocka_unit_test(test_fractions_read_back),
		cmocka_unit_test(test_bad_text_from_outside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
