#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/json.h"
#include "common/limits.h"
#include "common/log.h"

static int saved = -1;
static FILE *captured;

/* Standard error goes to a file until text_of() asks what came. */
static void capture(void)
{
	captured = tmpfile();
	assert_non_null(captured);
	(void)fflush(stderr);
	saved = dup(STDERR_FILENO);
	assert_true(saved >= 0);
	assert_true(dup2(fileno(captured), STDERR_FILENO) >= 0);
}

static char *release(void)
{
	char *text = xcalloc(1, 65536);

	assert_true(dup2(saved, STDERR_FILENO) >= 0);
	(void)close(saved);
	rewind(captured);
	assert_true(fread(text, 1, 65535, captured) < 65535);
	(void)fclose(captured);
	return text;
}

static int back_to_defaults(void **state)
{
	(void)state;
	log_set_level(LOG_INFO);
	log_set_format(LOG_TEXT);
	return 0;
}

static void test_text(void **state)
{
	cleanup(freep) char *s = NULL;

	(void)state;
	capture();
	log_info("rollout step", "name", "a", "n", log_int(-7).text, "empty", "", "none", NULL,
		 "why", "x=\"y\" \n\\", NULL);
	s = release();
	assert_true(str_starts(s, "time="));
	assert_string_equal(strchr(s, ' '),
			    " level=info msg=\"rollout step\" name=a n=-7 empty=\"\" "
			    "why=\"x=\\\"y\\\" \\n\\\\\"\n");
}

static void test_json(void **state)
{
	cleanup(freep) char *s = NULL;
	cleanup_json struct json *j = NULL;
	struct err e = ERR_INIT;

	(void)state;
	log_set_format(LOG_JSON);
	capture();
	log_error("broken", "why", "a\n\"\xff\"", "none", NULL, "x", "é", NULL);
	s = release();
	assert_int_equal(json_parse(s, strlen(s), &j, &e), 0);
	assert_int_equal(json_len(j), 5);
	assert_string_equal(json_get_str(j, "level"), "error");
	assert_string_equal(json_get_str(j, "msg"), "broken");
	assert_string_equal(json_get_str(j, "why"), "a\n\"\xef\xbf\xbd\"");
	assert_string_equal(json_get_str(j, "x"), "é");
	assert_int_equal(s[strlen(s) - 1], '\n');
}

static void test_levels(void **state)
{
	static const enum log_level all[] = { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR };
	enum log_level level = LOG_ERROR;

	(void)state;
	for (size_t i = 0; i < array_len(all); i++) {
		cleanup(freep) char *s = NULL;
		size_t lines = 0;

		log_set_level(all[i]);
		capture();
		log_debug("d", NULL);
		log_info("i", NULL);
		log_warn("w", NULL);
		log_error("e", NULL);
		s = release();
		for (const char *c = s; *c; c++)
			lines += *c == '\n';
		assert_int_equal(lines, 4 - i);
		assert_int_equal(log_enabled(LOG_DEBUG), i == 0);
	}
	assert_true(log_level_read("debug", &level));
	assert_int_equal(level, LOG_DEBUG);
	assert_true(log_level_read("warn", &level));
	assert_int_equal(level, LOG_WARN);
	assert_false(log_level_read("WARN", &level));
	assert_false(log_level_read("", &level));
	assert_int_equal(level, LOG_WARN);
}

static void test_bounded(void **state)
{
	char *value = xcalloc(1, LIMIT_LOG_VALUE + 10);
	cleanup(freep) char *s = NULL;
	const char *at;

	(void)state;
	memset(value, 'a', LIMIT_LOG_VALUE + 5);
	value[LIMIT_LOG_VALUE - 1] = '\xc3'; /* é */
	value[LIMIT_LOG_VALUE] = '\xa9';
	capture();
	log_info("m", "v", value, NULL);
	s = release();
	at = strstr(s, "v=");
	assert_non_null(at);
	/* The character that would be cut is left out whole. */
	assert_int_equal(strlen(at), 2 + LIMIT_LOG_VALUE - 1 + 1);
	free(value);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_text, back_to_defaults),
		cmocka_unit_test_teardown(test_json, back_to_defaults),
		cmocka_unit_test_teardown(test_levels, back_to_defaults),
		cmocka_unit_test_teardown(test_bounded, back_to_defaults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
