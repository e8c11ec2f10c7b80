#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/map.h"

static int ended;

static void end(void *value)
{
	ended++;
	free(value);
}

static void collect(const char *key, void *value, void *ctx)
{
	buf_printf(ctx, "%s=%s ", key, (const char *)value);
}

static void test_put_get(void **state)
{
	cleanup_map struct map *m = map_new(end);
	char key[] = "a";
	struct buf b = BUF_INIT(100);

	(void)state;
	ended = 0;
	assert_null(map_get(m, "a"));
	map_put(m, key, xstrdup("1"));
	key[0] = 'x'; /* it has a copy */
	map_put(m, "b", xstrdup("2"));
	map_put(m, "", xstrdup("3"));
	assert_string_equal(map_get(m, "a"), "1");
	assert_null(map_get(m, "x"));
	assert_string_equal(map_get(m, ""), "3");
	assert_int_equal(map_len(m), 3);
	map_put(m, "a", xstrdup("4"));
	assert_int_equal(ended, 1);
	assert_int_equal(map_len(m), 3);
	map_each(m, collect, &b);
	assert_string_equal(buf_str(&b), "a=4 b=2 =3 ");
	buf_done(&b);
}

static void test_same_value_again(void **state)
{
	struct map *m = map_new(end);
	char *value = xstrdup("1");

	(void)state;
	ended = 0;
	map_put(m, "a", value);
	map_put(m, "a", value);
	assert_int_equal(ended, 0);
	map_free(m);
	assert_int_equal(ended, 1);
}

static void test_del_take(void **state)
{
	struct map *m = map_new(end);
	cleanup(freep) char *taken = NULL;

	(void)state;
	ended = 0;
	map_put(m, "a", xstrdup("1"));
	map_put(m, "b", xstrdup("2"));
	map_put(m, "c", xstrdup("3"));
	map_del(m, "a");
	map_del(m, "a");
	assert_int_equal(ended, 1);
	taken = map_take(m, "b");
	assert_string_equal(taken, "2");
	assert_null(map_take(m, "b"));
	assert_int_equal(ended, 1);
	assert_int_equal(map_len(m), 1);
	map_free(m);
	assert_int_equal(ended, 2);
}

static void test_lent_values(void **state)
{
	struct map *m = map_new(NULL);
	int one = 1, two = 2;

	(void)state;
	map_put(m, "a", &one);
	map_put(m, "a", &two);
	assert_ptr_equal(map_get(m, "a"), &two);
	map_del(m, "a");
	map_put(m, "b", &one);
	map_free(m);
}

static void test_none(void **state)
{
	struct buf b = BUF_INIT(10);

	(void)state;
	map_free(NULL);
	assert_null(map_get(NULL, "a"));
	assert_int_equal(map_len(NULL), 0);
	map_each(NULL, collect, &b);
	assert_string_equal(buf_str(&b), "");
}

static void test_many(void **state)
{
	cleanup_map struct map *m = map_new(free);

	(void)state;
	for (int i = 0; i < 20000; i++) {
		cleanup(freep) char *key = xasprintf("key-%d", i);

		map_put(m, key, xasprintf("%d", i));
	}
	for (int i = 0; i < 20000; i += 2) {
		cleanup(freep) char *key = xasprintf("key-%d", i);

		map_del(m, key);
	}
	assert_int_equal(map_len(m), 10000);
	for (int i = 0; i < 20000; i++) {
		cleanup(freep) char *key = xasprintf("key-%d", i);
		const char *value = map_get(m, key);

		if (i % 2 == 0)
			assert_null(value);
		else
			assert_string_equal(value, key + 4);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_put_get),	 cmocka_unit_test(test_same_value_again),
		cmocka_unit_test(test_del_take), cmocka_unit_test(test_lent_values),
		cmocka_unit_test(test_none),	 cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
