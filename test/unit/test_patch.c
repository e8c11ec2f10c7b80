#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "common/patch.h"

static struct json *parse(const char *text)
{
	struct json *j = NULL;
	struct err e = ERR_INIT;

	assert_int_equal(json_parse(text, strlen(text), &j, &e), 0);
	return j;
}

static void begin(struct patch *p, const char *doc)
{
	cleanup_json struct json *j = parse(doc);

	patch_init(p, j);
}

static void expect(const struct patch *p, const char *ops, const char *doc)
{
	cleanup(freep) char *o = json_text_sorted(p->ops), *d = json_text_sorted(p->doc);

	assert_string_equal(o, ops);
	assert_string_equal(d, doc);
}

static void set_str(struct patch *p, const char *const *path, const char *value)
{
	struct err e = ERR_INIT;

	assert_int_equal(patch_set(p, path, json_new_str(value), &e), 0);
}

static void test_pointer_escapes(void **state)
{
	static const struct {
		const char *name, *want;
	} cases[] = {
		{ "celld-operator.io/a", "/metadata/celld-operator.io~1a" },
		{ "x.y/c~d", "/metadata/x.y~1c~0d" },
		{ "~1", "/metadata/~01" },
		{ "/~", "/metadata/~1~0" },
		{ "", "/metadata/" },
	};

	(void)state;
	for (size_t i = 0; i < array_len(cases); i++) {
		struct buf b;

		buf_init(&b, 256);
		patch_pointer(patch_path("metadata", cases[i].name), &b);
		assert_string_equal(buf_str(&b), cases[i].want);
		buf_done(&b);
	}
}

static void test_parents_before_children(void **state)
{
	struct patch p;

	(void)state;
	begin(&p, "{\"spec\":{}}");
	set_str(&p, patch_path("metadata", "annotations", "celld-operator.io/a"), "1");
	set_str(&p, patch_path("metadata", "annotations", "~1"), "2");
	expect(&p,
	       "[{\"op\":\"add\",\"path\":\"/metadata\",\"value\":{}},"
	       "{\"op\":\"add\",\"path\":\"/metadata/annotations\",\"value\":{}},"
	       "{\"op\":\"add\",\"path\":\"/metadata/annotations/celld-operator.io~1a\","
	       "\"value\":\"1\"},"
	       "{\"op\":\"add\",\"path\":\"/metadata/annotations/~01\",\"value\":\"2\"}]",
	       "{\"metadata\":{\"annotations\":{\"celld-operator.io/a\":\"1\",\"~1\":\"2\"}},"
	       "\"spec\":{}}");
	patch_done(&p);
}

static void test_a_second_pass_gives_nothing(void **state)
{
	struct patch p, again;

	(void)state;
	begin(&p, "{\"a\":{\"x.y/c~d\":\"kept\",\"b\":\"old\"}}");
	set_str(&p, patch_path("a", "b"), "new");
	set_str(&p, patch_path("a", "c"), "added");
	expect(&p,
	       "[{\"op\":\"replace\",\"path\":\"/a/b\",\"value\":\"new\"},"
	       "{\"op\":\"add\",\"path\":\"/a/c\",\"value\":\"added\"}]",
	       "{\"a\":{\"b\":\"new\",\"c\":\"added\",\"x.y/c~d\":\"kept\"}}");
	assert_false(patch_empty(&p));
	patch_init(&again, p.doc);
	set_str(&again, patch_path("a", "b"), "new");
	set_str(&again, patch_path("a", "c"), "added");
	assert_true(patch_empty(&again));
	patch_done(&again);
	patch_done(&p);
}

static void test_remove(void **state)
{
	struct patch p;

	(void)state;
	begin(&p, "{\"a\":{\"b\":1},\"n\":null,\"l\":[1]}");
	patch_remove(&p, patch_path("a", "b"));
	patch_remove(&p, patch_path("a", "b"));
	patch_remove(&p, patch_path("n"));
	patch_remove(&p, patch_path("l", "0"));
	patch_remove(&p, patch_path("nowhere", "x"));
	expect(&p, "[{\"op\":\"remove\",\"path\":\"/a/b\"},{\"op\":\"remove\",\"path\":\"/n\"}]",
	       "{\"a\":{},\"l\":[1]}");
	patch_done(&p);
}

static void test_nothing_is_written_through_what_is_no_object(void **state)
{
	struct patch p;
	struct err e = ERR_INIT;

	(void)state;
	begin(&p, "{\"a\":null,\"l\":[{}]}");
	assert_int_equal(patch_set(&p, patch_path("a", "b"), json_new_int(1), &e), -ERR_INVALID);
	assert_int_equal(patch_set(&p, patch_path("l", "0", "b"), json_new_int(1), &e),
			 -ERR_INVALID);
	assert_true(patch_empty(&p));
	/* but it can be replaced itself, and an explicit zero is a value */
	assert_int_equal(patch_set(&p, patch_path("a"), json_new_int(0), &e), 0);
	expect(&p, "[{\"op\":\"replace\",\"path\":\"/a\",\"value\":0}]", "{\"a\":0,\"l\":[{}]}");
	patch_done(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pointer_escapes),
		cmocka_unit_test(test_parents_before_children),
		cmocka_unit_test(test_a_second_pass_gives_nothing),
		cmocka_unit_test(test_remove),
		cmocka_unit_test(test_nothing_is_written_through_what_is_no_object),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
