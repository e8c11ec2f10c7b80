#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "controller/cache.h"
#include "test/lib/app_fixture.h"
#include "test/lib/fleet_fixture.h"

static bool put(struct cache *c, enum cache_kind kind, struct json *object)
{
	bool newer = cache_put(c, kind, object);

	json_free(object);
	return newer;
}

static size_t pods(struct cache *c, const char *key)
{
	size_t n;

	free(cache_pods(c, key, &n));
	return n;
}

/* The echo of an own write, and an event that was overtaken, tell nothing new. */
static void test_never_back(void **state)
{
	struct cache *c = cache_new();

	(void)state;
	assert_true(put(c, CACHE_APP,
			fleet_fixture_version(fleet_fixture_app("a", "x", "Ready"), 100)));
	assert_false(put(c, CACHE_APP,
			 fleet_fixture_version(fleet_fixture_app("a", "x", "Ready"), 100)));
	assert_false(
		put(c, CACHE_APP, fleet_fixture_version(fleet_fixture_app("a", "x", "Ready"), 99)));
	assert_true(put(c, CACHE_APP,
			fleet_fixture_version(fleet_fixture_app("a", "x", "Ready"), 101)));
	assert_int_equal(cache_count(c, CACHE_APP), 1);
	cache_free(c);
}

static bool answer(struct cache *c, int version)
{
	cleanup_json struct json *j =
		fleet_fixture_version(fleet_fixture_app("a", "x", "Ready"), version);

	return cache_put_answer(c, CACHE_APP, j);
}

static bool event(struct cache *c, int version)
{
	return put(c, CACHE_APP,
		   fleet_fixture_version(fleet_fixture_app("a", "x", "Ready"), version));
}

static void gone(struct cache *c, int version)
{
	cleanup_json struct json *j =
		fleet_fixture_version(fleet_fixture_app("a", "x", "Ready"), version);
	char key[64];

	(void)cache_gone(c, CACHE_APP, j, key, sizeof(key));
}

/* A write is answered after the watch has told of the deletion that came behind it: it stays deleted. */
static void test_late_answer(void **state)
{
	struct cache *c = cache_new();

	(void)state;
	assert_true(answer(c, 100));
	gone(c, 102);
	assert_false(answer(c, 101));
	assert_int_equal(cache_count(c, CACHE_APP), 0);
	/* a label was away for a moment, which a watch calls a deletion: our answer to that is newer */
	assert_true(answer(c, 103));
	gone(c, 104);
	assert_true(event(c, 105));
	gone(c, 106);
	for (int i = 0; i < 1000; i++) {
		cleanup_json struct json *j =
			fleet_fixture_sts("a", "other", "s-other", i, ROLLOUT_REST);

		cache_remove(c, CACHE_POD, j);
	}
	assert_false(answer(c, 101)); /* remembered longer than any answer takes */
	cache_free(c);
}

/* A deletion that was missed while the watch was away comes without labels: it must not leave a ghost. */
static void test_missed_deletion(void **state)
{
	struct cache *c = cache_new();
	cleanup_json struct json *pod =
		app_fixture_json("{'kind':'Pod','metadata':{'namespace':'store','name':'shop-celld-"
				 "1','uid':'uid-store-shop-celld-1'}}");
	cleanup_json struct json *other = app_fixture_json(
		"{'kind':'Pod','metadata':{'namespace':'shop','name':'shop-celld-1','uid':'u'}}");
	cleanup_json struct json *sts =
		app_fixture_json("{'kind':'StatefulSet','metadata':{'namespace':'store','name':'"
				 "shop-celld','uid':'s-1'}}");
	char key[64];

	(void)state;
	(void)put(c, CACHE_APP, fleet_fixture_app("store", "shop", "Ready"));
	(void)put(c, CACHE_STATEFULSET, fleet_fixture_sts("store", "shop", "s-1", 2, ROLLOUT_REST));
	(void)put(c, CACHE_POD, fleet_fixture_pod("shop-celld-0", "10.0.0.1"));
	(void)put(c, CACHE_POD, fleet_fixture_pod("shop-celld-1", "10.0.0.2"));
	assert_int_equal(pods(c, "store/shop"), 2);
	assert_false(cache_gone(c, CACHE_POD, other, key, sizeof(key)));
	assert_int_equal(pods(c, "store/shop"), 2);
	assert_true(cache_gone(c, CACHE_POD, pod, key, sizeof(key)));
	assert_string_equal(key, "store/shop");
	assert_int_equal(pods(c, "store/shop"), 1);
	assert_false(cache_gone(c, CACHE_POD, pod, key, sizeof(key))); /* once */
	assert_true(cache_gone(c, CACHE_STATEFULSET, sts, key, sizeof(key)));
	assert_string_equal(key, "store/shop");
	assert_int_equal(cache_count(c, CACHE_STATEFULSET), 0);
	cache_free(c);
}

static void test_deletion_of_a_former_one(void **state)
{
	struct cache *c = cache_new();
	cleanup_json struct json *old = fleet_fixture_sts("store", "shop", "s-0", 2, ROLLOUT_REST);
	char key[64];

	(void)state;
	(void)put(c, CACHE_STATEFULSET, fleet_fixture_sts("store", "shop", "s-1", 2, ROLLOUT_REST));
	assert_true(cache_gone(c, CACHE_STATEFULSET, old, key, sizeof(key)));
	assert_int_equal(cache_count(c, CACHE_STATEFULSET), 1);
	cache_free(c);
}

static void test_brief(void **state)
{
	struct cache *c = cache_new();
	struct cache_brief b;

	(void)state;
	(void)put(c, CACHE_STATEFULSET, fleet_fixture_sts("store", "shop", "s-1", 5, 3));
	assert_false(cache_brief(c, "store/shop", &b));
	(void)put(c, CACHE_APP, fleet_fixture_app("store", "shop", "RollingOut"));
	assert_true(cache_brief(c, "store/shop", &b));
	assert_string_equal(b.sts_uid, "s-1");
	assert_int_equal(b.replicas, 5);
	assert_int_equal(b.partition, 3);
	assert_string_equal(b.phase, "RollingOut");
	(void)put(c, CACHE_APP, fleet_fixture_app("store", "bare", ""));
	assert_true(cache_brief(c, "store/bare", &b));
	assert_string_equal(b.sts_uid, "");
	assert_string_equal(b.phase, "");
	cache_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_never_back),
		cmocka_unit_test(test_late_answer),
		cmocka_unit_test(test_missed_deletion),
		cmocka_unit_test(test_deletion_of_a_former_one),
		cmocka_unit_test(test_brief),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
