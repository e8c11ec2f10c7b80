#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/table.h"

static void test_columns(void **state)
{
	struct table t = { .rows = NULL };
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	(void)state;
	table_row(&t, "NAME", "PHASE", "WHY", NULL);
	for (int i = 0; i < 8; i++) /* more than there is room for at first */
		table_row(&t, "chat-celld-0", "", "é a", NULL);
	table_row(&t, "é", "Ready", NULL);
	table_print(&t, 1, f);
	(void)fclose(f);
	assert_true(str_starts(text, " NAME          PHASE  WHY\n"
				     " chat-celld-0  -      é a\n"));
	assert_true(str_ends(text, "\n é             Ready\n"));
	free(text);
	table_done(&t);
	table_done(&t);
}

/* A message of the cluster cannot paint over the screen. */
static void test_controls(void **state)
{
	cleanup(freep) char *shown = table_text("a\x1b[2J\nb\x7f"
						"\xc2\x9b"
						"1mc é");

	(void)state;
	assert_string_equal(shown, "a?[2J?b???1mc é");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_columns),
		cmocka_unit_test(test_controls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
