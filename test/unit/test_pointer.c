#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/celld/pointer.h"
#include "common/limits.h"

static void good(const char *body, const char *want)
{
	char version[CELLD_VERSION_ID] = "";
	struct err e = ERR_INIT;

	assert_int_equal(celld_pointer_parse(body, strlen(body), version, &e), 0);
	assert_string_equal(version, want);
}

static void bad(const char *body, const char *message)
{
	char version[CELLD_VERSION_ID] = "kept";
	struct err e = ERR_INIT;

	assert_int_equal(celld_pointer_parse(body, strlen(body), version, &e), -ERR_INVALID);
	assert_string_equal(e.message, message);
	assert_string_equal(version, "kept");
}

static void test_good(void **state)
{
	(void)state;
	good("{\n  \"script_name\": \"chat\",\n  \"version\": \"0123456789abcdef\",\n"
	     "  \"prefix\": \"deploy/chat/0123456789abcdef\",\n  \"rollout\": {\"percent\": "
	     "100}\n}\n",
	     "0123456789abcdef");
	good("{\"version\":\"sha-abc.1_2\"}", "sha-abc.1_2");
}

static void test_bad(void **state)
{
	(void)state;
	bad("", "no valid JSON");
	bad("<html>", "no valid JSON");
	bad("{\"version\":\"a\"} {}", "no valid JSON");
	bad("{\"version\":\"a\",\"version\":\"b\"}", "no valid JSON");
	bad("[\"a\"]", "no JSON object");
	bad("{}", "version is no string");
	bad("{\"version\":7}", "version is no string");
	bad("{\"Version\":\"a\"}", "version is no string");
	bad("{\"version\":\"\"}", "version is no legal version");
	bad("{\"version\":\"a/b\"}", "version is no legal version");
	bad("{\"version\":\"a b\"}", "version is no legal version");
}

static void test_sizes(void **state)
{
	char version[CELLD_VERSION_ID], id[140];
	struct err e = ERR_INIT;
	char *body = calloc(1, LIMIT_POINTER + 2);

	(void)state;
	memset(id, 'a', sizeof(id));
	id[128] = '\0';
	assert_true(celld_version_id(id));
	id[128] = 'a';
	id[129] = '\0';
	assert_false(celld_version_id(id));
	assert_non_null(body);
	memset(body, ' ', LIMIT_POINTER + 1);
	for (size_t i = 0; i < 15; i++)
		body[i] = "{\"version\":\"a\"}"[i];
	assert_int_equal(celld_pointer_parse(body, LIMIT_POINTER, version, &e), 0);
	assert_int_equal(celld_pointer_parse(body, LIMIT_POINTER + 1, version, &e), -ERR_INVALID);
	free(body);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
