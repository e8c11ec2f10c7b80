#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "common/digest.h"

/* FIPS 180-4's examples. */
static void test_sha256(void **state)
{
	static const struct {
		const char *text, *want;
	} v[] = {
		{ "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
		{ "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
		{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
		  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
	};

	(void)state;
	for (size_t i = 0; i < array_len(v); i++) {
		char hex[DIGEST_HEX];

		digest_hex(v[i].text, strlen(v[i].text), hex);
		assert_string_equal(hex, v[i].want);
	}
}

static void test_raw(void **state)
{
	unsigned char out[DIGEST_BYTES];

	(void)state;
	digest_sha256("abc", 3, out);
	assert_memory_equal(out,
			    "\xba\x78\x16\xbf\x8f\x01\xcf\xea\x41\x41\x40\xde\x5d\xae\x22\x23"
			    "\xb0\x03\x61\xa3\x96\x17\x7a\x9c\xb4\x10\xff\x61\xf2\x00\x15\xad",
			    DIGEST_BYTES);
}

/* RFC 4231, cases 2 and 6 (a key longer than a block). */
static void test_hmac(void **state)
{
	static const char text[] = "Test Using Larger Than Block-Size Key - Hash Key First";
	unsigned char key[131], out[DIGEST_BYTES];

	(void)state;
	digest_hmac("Jefe", 4, "what do ya want for nothing?", 28, out);
	assert_memory_equal(out,
			    "\x5b\xdc\xc1\x46\xbf\x60\x75\x4e\x6a\x04\x24\x26\x08\x95\x75\xc7"
			    "\x5a\x00\x3f\x08\x9d\x27\x39\x83\x9d\xec\x58\xb9\x64\xec\x38\x43",
			    DIGEST_BYTES);
	memset(key, 0xaa, sizeof(key));
	digest_hmac(key, sizeof(key), text, sizeof(text) - 1, out);
	assert_memory_equal(out,
			    "\x60\xe4\x31\x59\x1e\xe0\xb6\x7f\x0d\x8a\x26\xaa\xcb\xf5\xb7\x7f"
			    "\x8e\x0b\xc6\x21\x37\x28\xc5\x14\x05\x46\x04\x0f\x0e\xe3\x7f\x54",
			    DIGEST_BYTES);
}

static void test_same(void **state)
{
	(void)state;
	assert_true(digest_same("abc", "abc", 3));
	assert_false(digest_same("abc", "abd", 3));
	assert_false(digest_same("xbc", "abc", 3));
	assert_true(digest_same("abx", "aby", 2));
	assert_true(digest_same("a", "b", 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sha256),
		cmocka_unit_test(test_raw),
		cmocka_unit_test(test_hmac),
		cmocka_unit_test(test_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
