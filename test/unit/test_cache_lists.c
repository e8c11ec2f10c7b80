#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include <string.h>

#include "controller/cache.h"
#include "test/lib/app_fixture.h"

static struct json *object(const char *ns, const char *name, const char *version)
{
	cleanup(freep) char *text = xasprintf(
		"{'metadata':{'name':'%s','namespace':'%s','uid':'u','resourceVersion':'%s',"
		"'labels':{'celld-operator.io/workerapp':'kv'}}}",
		name, ns, version);

	return app_fixture_json(text);
}

static bool put(struct cache *c, enum cache_kind kind, const char *name, const char *version)
{
	cleanup_json struct json *j = object("shop", name, version);

	return cache_put(c, kind, j);
}

static bool listed(struct cache *c, enum cache_kind kind, const char *name, const char *version,
		   const char *list)
{
	cleanup_json struct json *j = object("shop", name, version);

	return cache_listed(c, kind, j, list);
}

/* "": it is not there. */
static void is_at(struct cache *c, const char *name, const char *version)
{
	cleanup_json struct json *j = cache_get(c, CACHE_SERVICE, "shop", name);
	const char *has = json_str(json_path(j, "metadata", "resourceVersion", NULL));

	assert_string_equal(has ? has : "", version);
}

static void ends(struct cache *c, enum cache_kind kind, const char *ns, const char *version,
		 const char *want)
{
	struct strlist keys = STRLIST_INIT;
	cleanup(freep) char *all = NULL;

	cache_list_end(c, kind, ns, version, &keys);
	all = strlist_join(&keys, " ");
	assert_string_equal(all, want);
	strlist_done(&keys);
}

static void an_own_write_that_is_newer_than_the_list_stays(void **state)
{
	struct cache *c = cache_new();

	(void)state;
	assert_true(put(c, CACHE_SERVICE, "s", "105"));	  /* answered, no event yet */
	assert_true(put(c, CACHE_SERVICE, "new", "106")); /* made, no event yet */
	cache_list_begin(c, CACHE_SERVICE, NULL);
	assert_false(listed(c, CACHE_SERVICE, "s", "90", "100"));
	is_at(c, "s", "105");
	ends(c, CACHE_SERVICE, NULL, "100", "");
	is_at(c, "s", "105");
	is_at(c, "new", "106");
	cache_free(c);
}

static void an_own_write_while_the_list_comes_in_stays(void **state)
{
	struct cache *c = cache_new();

	(void)state;
	assert_true(put(c, CACHE_SERVICE, "s", "50"));
	cache_list_begin(c, CACHE_SERVICE, NULL);
	assert_true(put(c, CACHE_SERVICE, "s", "101"));
	assert_true(put(c, CACHE_SERVICE, "new", "102"));
	assert_false(listed(c, CACHE_SERVICE, "s", "50", NULL));
	ends(c, CACHE_SERVICE, NULL, NULL, "");
	is_at(c, "s", "101");
	is_at(c, "new", "102");
	cache_free(c);
}

/* The server goes on from a backup, behind what was seen. */
static void a_lost_past_goes_wholesale(void **state)
{
	struct cache *c = cache_new();

	(void)state;
	assert_true(put(c, CACHE_SERVICE, "same", "50"));
	assert_true(put(c, CACHE_SERVICE, "changed", "105"));
	assert_true(put(c, CACHE_SERVICE, "made-since", "106"));
	cache_list_begin(c, CACHE_SERVICE, NULL);
	assert_false(listed(c, CACHE_SERVICE, "same", "50", NULL));
	assert_true(listed(c, CACHE_SERVICE, "changed", "70", NULL));
	assert_true(listed(c, CACHE_SERVICE, "deleted-since", "60", NULL));
	ends(c, CACHE_SERVICE, NULL, NULL, "shop/kv");
	is_at(c, "same", "50");
	is_at(c, "changed", "70");
	is_at(c, "made-since", "");
	is_at(c, "deleted-since", "60");
	/* and from there on versions count again */
	assert_false(put(c, CACHE_SERVICE, "changed", "69"));
	assert_true(put(c, CACHE_SERVICE, "changed", "71"));
	cache_free(c);
}

/* A restore that raises the revision: the list is newer than all, its objects are not. */
static void a_past_that_the_list_contradicts_goes(void **state)
{
	struct cache *c = cache_new();

	(void)state;
	assert_true(put(c, CACHE_SERVICE, "changed", "105"));
	assert_true(put(c, CACHE_SERVICE, "made-since", "106"));
	cache_list_begin(c, CACHE_SERVICE, NULL);
	assert_true(listed(c, CACHE_SERVICE, "changed", "70", "1000000"));
	ends(c, CACHE_SERVICE, NULL, "1000000", "shop/kv");
	is_at(c, "changed", "70");
	is_at(c, "made-since", "");
	cache_free(c);
}

static void the_list_of_a_namespace_is_about_that_one(void **state)
{
	struct cache *c = cache_new();
	cleanup_json struct json *other = object("shop2", "s", "20"), *got;

	(void)state;
	assert_true(cache_put(c, CACHE_SERVICE, other));
	assert_true(put(c, CACHE_SERVICE, "s", "21"));
	cache_list_begin(c, CACHE_SERVICE, "shop");
	ends(c, CACHE_SERVICE, "shop", "30", "shop/kv");
	is_at(c, "s", "");
	got = cache_get(c, CACHE_SERVICE, "shop2", "s");
	assert_non_null(got);
	cache_free(c);
}

static void pods_too(void **state)
{
	struct cache *c = cache_new();
	struct fleet_pod *pods;
	size_t n;

	(void)state;
	assert_true(put(c, CACHE_POD, "kv-celld-0", "105"));
	assert_true(put(c, CACHE_POD, "kv-celld-1", "106"));
	cache_list_begin(c, CACHE_POD, NULL);
	assert_true(listed(c, CACHE_POD, "kv-celld-0", "70", NULL));
	ends(c, CACHE_POD, NULL, NULL, "shop/kv");
	pods = cache_pods(c, "shop/kv", &n);
	assert_int_equal(n, 1);
	assert_int_equal(pods[0].ordinal, 0);
	free(pods);
	assert_int_equal(cache_count(c, CACHE_POD), 1);
	cache_free(c);
}

static void what_is_not_ours_has_no_key(void **state)
{
	struct cache *c = cache_new();
	cleanup_json struct json *app = app_fixture_json(
		"{'metadata':{'name':'kv','namespace':'shop','resourceVersion':'7'}}");
	cleanup_json struct json *store = app_fixture_json(
		"{'metadata':{'name':'main','namespace':'shop','resourceVersion':'7'}}");
	cleanup_json struct json *hpa = app_fixture_json(
		"{'metadata':{'name':'h','namespace':'shop','resourceVersion':'7'},"
		"'spec':{'scaleTargetRef':{'kind':'Deployment','name':'x'}}}");

	(void)state;
	assert_true(cache_put(c, CACHE_APP, app));
	assert_true(cache_put(c, CACHE_STORE, store));
	assert_true(cache_put(c, CACHE_HPA, hpa));
	cache_list_begin(c, CACHE_APP, NULL);
	ends(c, CACHE_APP, NULL, "9", "shop/kv");
	cache_list_begin(c, CACHE_STORE, NULL);
	ends(c, CACHE_STORE, NULL, "9", "@shop/main");
	cache_list_begin(c, CACHE_HPA, NULL);
	ends(c, CACHE_HPA, NULL, "9", "");
	assert_int_equal(cache_count(c, CACHE_HPA), 0);
	cache_free(c);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_own_write_that_is_newer_than_the_list_stays),
		cmocka_unit_test(an_own_write_while_the_list_comes_in_stays),
		cmocka_unit_test(a_lost_past_goes_wholesale),
		cmocka_unit_test(a_past_that_the_list_contradicts_goes),
		cmocka_unit_test(the_list_of_a_namespace_is_about_that_one),
		cmocka_unit_test(pods_too),
		cmocka_unit_test(what_is_not_ours_has_no_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
