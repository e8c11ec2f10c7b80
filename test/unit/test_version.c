#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "common/version.h"

static void test_read(void **state)
{
	static const struct {
		const char *text, *want; /* want NULL: none */
	} v[] = {
		{ "v0.6.2", "v0.6.2" },
		{ "0.6.2", "v0.6.2" },
		{ "0.0.0", "v0.0.0" },
		{ "v99999.99999.99999", "v99999.99999.99999" },
		{ "0.6.2-alpine", "v0.6.2" },
		{ "0.6.2-fork.3_x", "v0.6.2" },
		{ "0.6.2+build-1", "v0.6.2" },
		{ "0.6.2--", "v0.6.2" },
		{ "", NULL },
		{ "v", NULL },
		{ "V0.6.2", NULL },
		{ "vv0.6.2", NULL },
		{ "0.6", NULL },
		{ "0.6.", NULL },
		{ "0..2", NULL },
		{ ".6.2", NULL },
		{ "0.6.2.1", NULL },
		{ "0.6.2-", NULL },
		{ "0.6.2+", NULL },
		{ "0.6.2alpine", NULL },
		{ "0.6.2-a b", NULL },
		{ "0.6.2-a/b", NULL },
		{ "0.6.2 ", NULL },
		{ " 0.6.2", NULL },
		{ "00.6.2", NULL },
		{ "0.06.2", NULL },
		{ "0.6.02", NULL },
		{ "-1.6.2", NULL },
		{ "0.6.100000", NULL },
		{ "0.6.99999999999999999999", NULL },
		{ "latest", NULL },
	};

	(void)state;
	for (size_t i = 0; i < array_len(v); i++) {
		struct version got = { .major = 7, .minor = 7, .patch = 7 };
		char text[VERSION_TEXT];

		if (version_read(v[i].text, &got) != (v[i].want != NULL))
			fail_msg("'%s'", v[i].text);
		version_text(got, text);
		assert_string_equal(text, v[i].want ? v[i].want : "v7.7.7");
	}
	assert_false(version_read(NULL, &(struct version){ 0 }));
}

static void test_parse_stops_at_its_length(void **state)
{
	struct version v;

	(void)state;
	assert_true(version_parse("0.6.25", 5, &v));
	assert_int_equal(v.patch, 2);
	assert_false(version_parse("0.6.2", 4, &v));
	assert_false(version_parse("0.6.2\0x", 7, &v));
	assert_false(version_parse(NULL, 0, &v));
}

static void test_cmp(void **state)
{
	static const struct version v[] = { { 0, 1, 0 },  { 0, 1, 9 }, { 0, 1, 10 }, { 0, 2, 0 },
					    { 0, 10, 0 }, { 1, 0, 0 }, { 1, 0, 1 },  { 10, 0, 0 } };

	(void)state;
	for (int i = 0; i < (int)array_len(v); i++) {
		for (int k = 0; k < (int)array_len(v); k++) {
			int want = i < k ? -1 : i > k;

			assert_int_equal(version_cmp(v[i], v[k]), want);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_parse_stops_at_its_length),
		cmocka_unit_test(test_cmp),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
