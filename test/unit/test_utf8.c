#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "common/utf8.h"

static void test_char(void **state)
{
	static const struct {
		const char *text;
		size_t want;
	} v[] = {
		{ "a", 1 },
		{ "\x7f", 1 },
		{ "\n", 1 },
		{ "", 0 },
		{ "\xc2\x80", 2 },
		{ "\xdf\xbf", 2 },
		{ "\xc1\xbf", 0 },
		{ "\xc0\x80", 0 },
		{ "\xc2", 0 },
		{ "\xc2"
		  "a",
		  0 },
		{ "\x80", 0 },
		{ "\xbf", 0 },
		{ "\xe0\xa0\x80", 3 },
		{ "\xe0\x9f\xbf", 0 },
		{ "\xed\x9f\xbf", 3 },
		{ "\xed\xa0\x80", 0 },
		{ "\xee\x80\x80", 3 },
		{ "\xef\xbf\xbf", 3 },
		{ "\xe2\x82", 0 },
		{ "\xe2\x82"
		  "a",
		  0 },
		{ "\xf0\x90\x80\x80", 4 },
		{ "\xf0\x8f\xbf\xbf", 0 },
		{ "\xf4\x8f\xbf\xbf", 4 },
		{ "\xf4\x90\x80\x80", 0 },
		{ "\xf0\x9f\x98", 0 },
		{ "\xf5\x80\x80\x80", 0 },
		{ "\xff", 0 },
	};

	(void)state;
	for (size_t i = 0; i < array_len(v); i++) {
		if (utf8_char(v[i].text) != v[i].want)
			fail_msg("case %zu: %zu", i, utf8_char(v[i].text));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_char) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
