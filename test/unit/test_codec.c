#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "common/codec.h"

/* RFC 4648, section 10, and bytes that use both signs of the alphabet. */
static const struct {
	const char *plain;
	size_t n;
	const char *text;
} pairs[] = {
	{ "", 0, "" },
	{ "f", 1, "Zg==" },
	{ "fo", 2, "Zm8=" },
	{ "foo", 3, "Zm9v" },
	{ "foob", 4, "Zm9vYg==" },
	{ "fooba", 5, "Zm9vYmE=" },
	{ "foobar", 6, "Zm9vYmFy" },
	{ "\xfb\xff\xbf", 3, "+/+/" },
	{ "\0\0\0\0", 4, "AAAAAA==" },
};

static void test_pairs(void **state)
{
	(void)state;
	for (size_t i = 0; i < array_len(pairs); i++) {
		cleanup(freep) char *text = codec_base64_encode(pairs[i].plain, pairs[i].n);
		size_t n = 99;
		cleanup(freep) unsigned char *plain =
			codec_base64_decode(pairs[i].text, strlen(pairs[i].text), &n);

		assert_string_equal(text, pairs[i].text);
		assert_non_null(plain);
		assert_int_equal(n, pairs[i].n);
		assert_memory_equal(plain, pairs[i].plain, n);
		assert_int_equal(plain[n], 0);
	}
}

static void test_what_is_no_base64(void **state)
{
	static const char *const bad[] = {
		"Z",	"Zg",	    "Zg=",	"Zg===",      "=",	"====",
		"Z===", "Zh==",	    "Zm9=",	"Zg==Zg==",   "Zm9v\n", "Zm 9v===",
		"Zm-_", "Zm9vZg=a", "Zm9v Zg=", "\xc3\xa9Zw", "Z=g=",
	};

	(void)state;
	for (size_t i = 0; i < array_len(bad); i++) {
		size_t n = 99;

		assert_null(codec_base64_decode(bad[i], strlen(bad[i]), &n));
		assert_int_equal(n, 99);
	}
}

static void test_the_length_rules_not_a_terminator(void **state)
{
	size_t n = 0;
	cleanup(freep) unsigned char *plain = codec_base64_decode("Zm9vIGJhcg==", 4, &n);

	(void)state;
	assert_non_null(plain);
	assert_int_equal(n, 3);
	assert_string_equal((char *)plain, "foo");
	assert_null(codec_base64_decode("Zm9v\0\0\0\0", 8, &n));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pairs),
		cmocka_unit_test(test_what_is_no_base64),
		cmocka_unit_test(test_the_length_rules_not_a_terminator),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
