#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "common/limits.h"
#include "webhook/warnings.h"

static void check(const struct strlist *l, const char *want)
{
	struct buf b = BUF_INIT(1 << 16);

	warnings_print(l, &b);
	assert_string_equal(buf_str(&b), want);
	buf_done(&b);
}

static void test_print(void **state)
{
	struct strlist l = STRLIST_INIT;

	(void)state;
	check(&l, "");
	strlist_add(&l, "a\tb\n\x7f\"c");
	strlist_add(&l, "\n");
	strlist_add(&l, "ab\"c");
	strlist_add(&l, "d");
	check(&l, ",\"warnings\":[\"ab\\\"c\",\"d\"]");
	strlist_done(&l);
}

/* Characters, not bytes, are counted; a whole warning is left out rather than cut. */
static void test_bounds(void **state)
{
	struct strlist l = STRLIST_INIT;
	struct buf b = BUF_INIT(1 << 16);
	char faces[4 * 130 + 1];
	size_t n = 0;

	(void)state;
	for (size_t i = 0; i < 130; i++)
		memcpy(faces + 4 * i, "\xf0\x9f\x98\x80", 4);
	faces[520] = '\0';
	strlist_add(&l, faces);
	for (int i = 0; i < 40; i++)
		strlist_add_take(&l, xasprintf("%0120d", i));
	warnings_print(&l, &b);
	/* 120 faces of 4 bytes, and as many of 120 bytes as fit into 4096 with them: 30. */
	for (const char *c = buf_str(&b); *c; c++)
		n += *c == ',';
	assert_int_equal(n, 31);
	assert_true(str_ends(buf_str(&b), "29\"]"));
	assert_int_equal(LIMIT_WARNING, 120);
	assert_int_equal(b.len, strlen(",\"warnings\":[") + 480 + 2 + (size_t)30 * 123 + 1);
	buf_done(&b);
	strlist_done(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_print),
					    cmocka_unit_test(test_bounds) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
