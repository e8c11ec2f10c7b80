#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "controller/slots.h"

static void put(struct cache *c, enum cache_kind kind, const char *text)
{
	struct json *j = NULL;
	struct err e = ERR_INIT;

	assert_int_equal(json_parse(text, strlen(text), &j, &e), 0);
	assert_true(cache_put(c, kind, j));
	json_free(j);
}

#define APP(name)                                                                                  \
	"{\"metadata\":{\"namespace\":\"a\",\"name\":\"" name                                      \
	"\",\"uid\":\"u\",\"resourceVersion\":\"1\"}}"
#define STS(name, partition)                                                                       \
	"{\"metadata\":{\"namespace\":\"a\",\"name\":\"" name                                      \
	"-celld\",\"uid\":\"s\",\"resourceVersion\":\"2\"},\"spec\":{\"replicas\":3,"              \
	"\"updateStrategy\":{\"rollingUpdate\":{\"partition\":" partition "}}}}"

static void test_limit(void **state)
{
	struct cache *c = cache_new();
	struct slots *s = slots_new(c, 2);

	(void)state;
	assert_true(slots_take(s, "a/one"));
	assert_true(slots_take(s, "a/two"));
	assert_true(slots_take(s, "a/one")); /* it has one */
	assert_false(slots_take(s, "a/three"));
	slots_give(s, "a/one");
	slots_give(s, "a/one");
	assert_true(slots_take(s, "a/three"));
	assert_false(slots_take(s, "a/one"));
	slots_free(s);
	cache_free(c);
}

static void test_no_limit(void **state)
{
	struct slots *s = slots_new(NULL, 0);

	(void)state;
	assert_true(slots_take(s, "a/one"));
	slots_give(s, "a/one");
	slots_free(s);
	slots_free(NULL);
}

/* A process that has just started knows from the cluster who rolls. */
static void test_start(void **state)
{
	struct cache *c = cache_new();
	struct slots *s;

	(void)state;
	put(c, CACHE_APP, APP("rolls"));
	put(c, CACHE_STATEFULSET, STS("rolls", "1"));
	put(c, CACHE_APP, APP("rests"));
	put(c, CACHE_STATEFULSET, STS("rests", "2147483647"));
	put(c, CACHE_APP, APP("new"));
	s = slots_new(c, 2);
	assert_true(slots_take(s, "a/new"));
	assert_false(slots_take(s, "a/rests"));
	assert_true(slots_take(s, "a/rolls"));
	slots_give(s, "a/rolls");
	assert_true(slots_take(s, "a/rests"));
	slots_free(s);
	cache_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_no_limit),
		cmocka_unit_test(test_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
