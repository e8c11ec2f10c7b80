#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "common/clock.h"

static void test_text(void **state)
{
	char text[CLOCK_TEXT];

	(void)state;
	clock_text(0, text);
	assert_string_equal(text, "1970-01-01T00:00:00Z");
	clock_text(951782400999, text);
	assert_string_equal(text, "2000-02-29T00:00:00Z");
	clock_text_micro(1795946400007, text);
	assert_string_equal(text, "2026-11-29T10:00:00.007000Z");
	clock_text_micro(1795946399999, text);
	assert_string_equal(text, "2026-11-29T09:59:59.999000Z");
}

static void test_parse(void **state)
{
	static const struct {
		const char *text;
		int64_t want;
	} v[] = {
		{ "1970-01-01T00:00:00Z", 0 },
		{ "2026-11-29T10:00:00Z", 1795946400000 },
		{ "2026-11-29t10:00:00z", 1795946400000 },
		{ "2026-11-29T10:00:00.007000Z", 1795946400007 },
		{ "2026-11-29T10:00:00.5Z", 1795946400500 },
		{ "2026-11-29T10:00:00.123456789Z", 1795946400123 },
		{ "2026-11-29T12:30:00+02:30", 1795946400000 },
		{ "2026-11-29T08:00:00-02:00", 1795946400000 },
		{ "2000-02-29T00:00:00Z", 951782400000 },
		{ "2016-12-31T23:59:60Z", 1483228800000 },
		{ "", -1 },
		{ "2026-11-29", -1 },
		{ "2026-11-29T10:00:00", -1 },
		{ "2026-11-29 10:00:00Z", -1 },
		{ "2026-11-29T10:00Z", -1 },
		{ "2026-11-29T10:00:00.Z", -1 },
		{ "2026-11-29T10:00:00Zx", -1 },
		{ "2026-11-29T10:00:00+0200", -1 },
		{ "2026-11-29T10:00:00+02:00x", -1 },
		{ "2026-11-29T10:00:00+24:00", -1 },
		{ "2026-11-29T10:00:00+02:60", -1 },
		{ "2026-00-29T10:00:00Z", -1 },
		{ "2026-13-29T10:00:00Z", -1 },
		{ "2026-11-00T10:00:00Z", -1 },
		{ "2026-11-31T10:00:00Z", -1 },
		{ "2026-02-29T10:00:00Z", -1 },
		{ "2100-02-29T10:00:00Z", -1 },
		{ "2026-11-29T24:00:00Z", -1 },
		{ "2026-11-29T10:60:00Z", -1 },
		{ "2026-11-29T10:00:61Z", -1 },
		{ "26-11-29T10:00:00Z", -1 },
		{ "1969-12-31T23:59:59Z", -1 },
		{ "1970-01-01T00:00:00+01:00", -1 },
		{ "x026-11-29T10:00:00Z", -1 },
		{ "2026-1x-29T10:00:00Z", -1 },
		{ "2026-11-29T1:00:00Z", -1 },
	};

	(void)state;
	for (size_t i = 0; i < array_len(v); i++) {
		if (clock_parse(v[i].text) != v[i].want)
			fail_msg("%s: %lld", v[i].text, (long long)clock_parse(v[i].text));
	}
}

static void test_both_ways(void **state)
{
	char text[CLOCK_TEXT];

	(void)state;
	for (int64_t ms = 0; ms < 4102444800000; ms += 86399999989) {
		clock_text_micro(ms, text);
		assert_int_equal(clock_parse(text), ms);
	}
}

static void test_monotonic(void **state)
{
	int64_t before = clock_mono_ms();

	(void)state;
	for (int i = 0; i < 1000; i++) {
		int64_t now = clock_mono_ms();

		assert_true(now >= before);
		before = now;
	}
	/* After this was written. */
	assert_true(clock_wall_ms() > 1790000000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_parse),
		cmocka_unit_test(test_both_ways),
		cmocka_unit_test(test_monotonic),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
