#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/json_scan.h"

/* request.uid, request.object.spec, request.object.metadata.name */
static const js_node paths[] = {
	JS_NODE("", -1, 1, 1),	     JS_NODE("request", -1, 2, 2), JS_NODE("uid", 0, 0, 0),
	JS_NODE("object", -1, 4, 2), JS_NODE("spec", 1, 0, 0),	   JS_NODE("metadata", -1, 6, 1),
	JS_NODE("name", 2, 0, 0),
};

enum { SPANS = 3 };

/* On memory of exactly the size that the interface asks for. */
static js_err scan(const char *text, size_t len, js_span spans[SPANS], size_t *at)
{
	cleanup(freep) char *padded = xcalloc(1, len + JS_PAD);
	js_ctx ctx;
	js_err e;

	memcpy(padded, text, len);
	assert_int_equal(js_ctx_init(&ctx, 1 << 20), 0);
	e = js_scan(&ctx, padded, len, paths, spans, SPANS, at);
	js_ctx_free(&ctx);
	return e;
}

static void expect(const char *text, size_t len, js_err want)
{
	js_span spans[SPANS];
	size_t at = 0;
	js_err got = scan(text, len, spans, &at);

	if (got != want)
		fail_msg("%.60s: %s at %zu, want %s", text, js_strerror(got), at,
			 js_strerror(want));
	assert_true(at <= len);
}

static void test_good(void **state)
{
	static const char *const v[] = {
		"{}",
		"[]",
		"0",
		"-0",
		"1.5e-7",
		"-1.25E+7",
		"\"x\"",
		"true",
		"false",
		"null",
		" [1 , 2 ]\n",
		"\t\r\n{ }\t",
		"[\"é→😀\"]",
		"[\"\\ud83d\\ude00\"]",
		"{\"a\":{\"a\":1},\"b\":{\"a\":2}}",
		"{\"\":1}",
		"\"\x7f\"",
		"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\"",
		"{\"a\":1,\"A\":2}",
		"\"0123456789abcdef0123456789abcdef\"",
		"[[],[[]],{}]",
	};

	(void)state;
	for (size_t i = 0; i < array_len(v); i++)
		expect(v[i], strlen(v[i]), JS_OK);
}

static void test_bad(void **state)
{
	static const struct {
		const char *text;
		js_err want;
	} v[] = {
		{ "", JS_ERR_SYNTAX },
		{ " ", JS_ERR_SYNTAX },
		{ "01", JS_ERR_TRAILING },
		{ "1.", JS_ERR_NUMBER },
		{ "-", JS_ERR_NUMBER },
		{ "1e", JS_ERR_NUMBER },
		{ "1e+", JS_ERR_NUMBER },
		{ "+1", JS_ERR_SYNTAX },
		{ ".5", JS_ERR_SYNTAX },
		{ "NaN", JS_ERR_SYNTAX },
		{ "Infinity", JS_ERR_SYNTAX },
		{ "[1,]", JS_ERR_SYNTAX },
		{ "[,1]", JS_ERR_SYNTAX },
		{ "{\"a\":1,}", JS_ERR_SYNTAX },
		{ "{a:1}", JS_ERR_SYNTAX },
		{ "{'a':1}", JS_ERR_SYNTAX },
		{ "{\"a\" 1}", JS_ERR_SYNTAX },
		{ "{\"a\":}", JS_ERR_SYNTAX },
		{ "{1:2}", JS_ERR_SYNTAX },
		{ "[1 2]", JS_ERR_SYNTAX },
		{ "[1}", JS_ERR_SYNTAX },
		{ "{\"a\":1]", JS_ERR_SYNTAX },
		{ "[", JS_ERR_SYNTAX },
		{ "{", JS_ERR_SYNTAX },
		{ "tru", JS_ERR_SYNTAX },
		{ "nulll", JS_ERR_TRAILING },
		{ "/**/1", JS_ERR_SYNTAX },
		{ "\x0c"
		  "1",
		  JS_ERR_SYNTAX },
		{ "\xef\xbb\xbf{}", JS_ERR_SYNTAX },
		{ "{\"a\":1}x", JS_ERR_TRAILING },
		{ "{} {}", JS_ERR_TRAILING },
		{ "]", JS_ERR_SYNTAX },
		{ "\"abc", JS_ERR_STRING },
		{ "\"a\nb\"", JS_ERR_STRING },
		{ "\"a\x01\"", JS_ERR_STRING },
		{ "\"\\x\"", JS_ERR_STRING },
		{ "\"\\u12g4\"", JS_ERR_STRING },
		{ "\"\\u12\"", JS_ERR_STRING },
		{ "\"\\", JS_ERR_STRING },
		{ "\"\\ud800\"", JS_ERR_STRING },
		{ "\"\\udc00\"", JS_ERR_STRING },
		{ "\"\\ud800\\u0041\"", JS_ERR_STRING },
		{ "\"\\ud800\\ud800\"", JS_ERR_STRING },
		{ "\"\\u0000\"", JS_ERR_NUL },
		{ "{\"\\u0000\":1}", JS_ERR_NUL },
		{ "\"\xc0\x80\"", JS_ERR_UTF8 },
		{ "\"\xed\xa0\x80\"", JS_ERR_UTF8 },
		{ "\"\xe0\x80\x80\"", JS_ERR_UTF8 },
		{ "\"\xf0\x80\x80\x80\"", JS_ERR_UTF8 },
		{ "\"\xf4\x90\x80\x80\"", JS_ERR_UTF8 },
		{ "\"\xe2\x82\"", JS_ERR_UTF8 },
		{ "\"\xe2\x82", JS_ERR_UTF8 },
		{ "\"\xff\"", JS_ERR_UTF8 },
		{ "\"\x80\"", JS_ERR_UTF8 },
		{ "{\"a\":1,\"a\":2}", JS_ERR_DUP_KEY },
		{ "{\"a\":1,\"\\u0061\":2}", JS_ERR_DUP_KEY },
		{ "{\"\\u00e9\":1,\"\xc3\xa9\":2}", JS_ERR_DUP_KEY },
		{ "[{\"x\":{\"a\":1,\"b\":2,\"a\":3}}]", JS_ERR_DUP_KEY },
	};

	(void)state;
	for (size_t i = 0; i < array_len(v); i++)
		expect(v[i].text, strlen(v[i].text), v[i].want);
	expect("{}\0", 3, JS_ERR_TRAILING);
	expect("\"a\0b\"", 5, JS_ERR_STRING);
}

/* Every prefix of a document is refused, and read no further than its end. */
static void test_truncated(void **state)
{
	static const char text[] =
		"{\"request\":{\"uid\":\"a\\u00e9\\ud83d\\ude00é😀\",\"object\":{\"spec\":{\"x\":"
		"[1,-2.5e3,null,true,false]},\"metadata\":{\"name\":\"\\n\"}}}}";

	(void)state;
	expect(text, sizeof(text) - 1, JS_OK);
	for (size_t n = 0; n < sizeof(text) - 1; n++) {
		js_span spans[SPANS];
		size_t at = 0;

		assert_int_not_equal(scan(text, n, spans, &at), JS_OK);
		assert_true(at <= n);
	}
}

static void test_depth(void **state)
{
	char text[2 * (JS_MAX_DEPTH + 1)];

	(void)state;
	memset(text, '[', JS_MAX_DEPTH);
	memset(text + JS_MAX_DEPTH, ']', JS_MAX_DEPTH);
	expect(text, (size_t)2 * JS_MAX_DEPTH, JS_OK);
	memset(text, '[', JS_MAX_DEPTH + 1);
	memset(text + JS_MAX_DEPTH + 1, ']', JS_MAX_DEPTH + 1);
	expect(text, sizeof(text), JS_ERR_DEPTH);
}

/* Objects with more members than are compared pair by pair. */
static void test_many_names(void **state)
{
	struct buf b = BUF_INIT(1 << 20);

	(void)state;
	buf_putc(&b, '{');
	for (int i = 0; i < 5000; i++)
		buf_printf(&b, "\"k%d\":%d,", i, i);
	buf_puts(&b, "\"x\":0}");
	expect(b.data, b.len, JS_OK);
	b.len -= strlen("\"x\":0}");
	buf_puts(&b, "\"k77\":0}");
	expect(b.data, b.len, JS_ERR_DUP_KEY);
	b.len -= strlen("\"k77\":0}");
	buf_puts(&b, "\"\\u006b77\":0}");
	expect(b.data, b.len, JS_ERR_DUP_KEY);
	buf_done(&b);
}

static void test_name_limit(void **state)
{
	static const js_node whole[] = { JS_NODE("", -1, 0, 0) };
	struct buf b = BUF_INIT(1 << 20);
	js_ctx ctx;
	size_t at;

	(void)state;
	buf_putc(&b, '{');
	for (int i = 0; i < 4000; i++)
		buf_printf(&b, "%s\"k%d\":0", i ? "," : "", i);
	buf_putc(&b, '}');
	buf_add(&b, "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", JS_PAD);
	assert_int_equal(js_ctx_init(&ctx, 1000), 0);
	assert_int_equal(js_scan(&ctx, b.data, b.len - JS_PAD, whole, NULL, 0, &at), JS_ERR_LIMIT);
	js_ctx_free(&ctx);
	buf_done(&b);
}

static void expect_span(const char *text, js_span s, const char *want)
{
	if (!want) {
		assert_int_equal(s.len, 0);
		return;
	}
	assert_int_equal(s.len, strlen(want));
	assert_memory_equal(text + s.off, want, s.len);
}

static void test_spans(void **state)
{
	static const char text[] =
		" {\"x\":{\"uid\":1},\"request\" : {\"other\":[{\"uid\":2}], \"\\u0075id\": \"u\" ,"
		"\"object\":{\"metadata\":{\"name\":\"n\",\"spec\":3},\"spec\": { \"a\" : 1 } "
		"}},\"uid\":4}";
	js_span spans[SPANS];
	size_t at;

	(void)state;
	assert_int_equal(scan(text, sizeof(text) - 1, spans, &at), JS_OK);
	expect_span(text, spans[0], "\"u\"");
	expect_span(text, spans[1], "{ \"a\" : 1 }");
	expect_span(text, spans[2], "\"n\"");
	assert_int_equal(scan("{\"request\":{\"object\":[]}}", 25, spans, &at), JS_OK);
	expect_span(text, spans[0], NULL);
	expect_span(text, spans[1], NULL);
	/* Nothing of a document that is refused. */
	assert_int_equal(scan("{\"request\":{\"uid\":1}}x", 22, spans, &at), JS_ERR_TRAILING);
	assert_int_equal(at, 21);
	expect_span(text, spans[0], NULL);
}

static void test_unescape(void **state)
{
	static const char text[] =
		"\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e9\\u20ac\\ud83d\\ude00é\"";
	static const char want[] = "a\"\\/\b\f\n\r\tAé€😀é";
	char to[sizeof(text)];
	size_t n = js_unescape(text, (js_span){ 0, sizeof(text) - 1 }, to);

	(void)state;
	assert_int_equal(n, sizeof(want) - 1);
	assert_memory_equal(to, want, n);
}

static void test_padding(void **state)
{
	char text[2 + JS_PAD] = "{}";
	js_ctx ctx;
	size_t at;

	(void)state;
	text[2 + JS_PAD - 1] = 'x';
	assert_int_equal(js_ctx_init(&ctx, 10), 0);
	assert_int_equal(js_scan(&ctx, text, 2, paths, (js_span[SPANS]){ { 0 } }, SPANS, &at),
			 JS_ERR_PAD);
	js_ctx_free(&ctx);
	assert_string_equal(js_strerror((js_err)99), "?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),	   cmocka_unit_test(test_bad),
		cmocka_unit_test(test_truncated),  cmocka_unit_test(test_depth),
		cmocka_unit_test(test_many_names), cmocka_unit_test(test_name_limit),
		cmocka_unit_test(test_spans),	   cmocka_unit_test(test_unescape),
		cmocka_unit_test(test_padding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
