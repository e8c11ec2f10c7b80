#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "controller/cache.h"
#include "test/lib/app_fixture.h"

#define LABEL "'labels':{'celld-operator.io/workerapp':'kv'}"

static bool put(struct cache *c, enum cache_kind kind, const char *text)
{
	cleanup_json struct json *j = app_fixture_json(text);

	return cache_put(c, kind, j);
}

static void removed(struct cache *c, enum cache_kind kind, const char *text)
{
	cleanup_json struct json *j = app_fixture_json(text);

	cache_remove(c, kind, j);
}

static void versions_are_compared_as_numbers(void **state)
{
	(void)state;
	assert_true(cache_newer("10", "9"));
	assert_false(cache_newer("9", "10"));
	assert_true(cache_newer("12", "11"));
	assert_false(cache_newer("11", "11"));
	assert_true(cache_newer("1", ""));
}

static void keys(void **state)
{
	cleanup_json struct json *app =
		app_fixture_json("{'metadata':{'name':'kv','namespace':'shop'}}");
	cleanup_json struct json *pod =
		app_fixture_json("{'metadata':{'name':'kv-celld-0','namespace':'shop'," LABEL "}}");
	cleanup_json struct json *other =
		app_fixture_json("{'metadata':{'name':'x','namespace':'shop'}}");
	char key[64], little[7];

	(void)state;
	assert_true(cache_key_of(CACHE_APP, app, key, sizeof(key)));
	assert_string_equal(key, "shop/kv");
	assert_true(cache_key_of(CACHE_POD, pod, key, sizeof(key)));
	assert_string_equal(key, "shop/kv");
	assert_false(cache_key_of(CACHE_SERVICE, other, key, sizeof(key)));
	assert_false(cache_key_of(CACHE_APP, app, little, sizeof(little)));
}

static void a_reader_never_goes_back_in_time(void **state)
{
	struct cache *c = cache_new();
	struct json *j;

	(void)state;
	assert_true(put(c, CACHE_SERVICE,
			"{'metadata':{'name':'s','namespace':'n','resourceVersion':'9'},'a':1}"));
	assert_true(put(c, CACHE_SERVICE,
			"{'metadata':{'name':'s','namespace':'n','resourceVersion':'10'},'a':2}"));
	/* an old event, and the echo of an own write */
	assert_false(put(c, CACHE_SERVICE,
			 "{'metadata':{'name':'s','namespace':'n','resourceVersion':'9'},'a':1}"));
	assert_false(put(c, CACHE_SERVICE,
			 "{'metadata':{'name':'s','namespace':'n','resourceVersion':'10'},'a':3}"));
	assert_false(put(c, CACHE_SERVICE, "{'metadata':{'name':'s'}}"));
	j = cache_get(c, CACHE_SERVICE, "n", "s");
	app_fixture_is(json_get(j, "a"), "2");
	json_free(j);
	assert_int_equal(cache_count(c, CACHE_SERVICE), 1);
	assert_null(cache_get(c, CACHE_SERVICE, "n", "t"));
	assert_null(cache_get(c, CACHE_PDB, "n", "s"));
	assert_null(cache_get(c, CACHE_PDB, NULL, "s"));
	cache_free(c);
	cache_free(NULL);
}

/* The items of a list have neither kind nor apiVersion; what is read from here has. */
static void items_of_lists_get_their_kind(void **state)
{
	struct cache *c = cache_new();
	struct json *j;

	(void)state;
	(void)put(c, CACHE_STATEFULSET,
		  "{'metadata':{'name':'s','namespace':'n','resourceVersion':'1'}}");
	(void)put(c, CACHE_SERVICE,
		  "{'metadata':{'name':'s','namespace':'n','resourceVersion':'1'}}");
	j = cache_get(c, CACHE_STATEFULSET, "n", "s");
	assert_string_equal(json_get_str(j, "kind"), "StatefulSet");
	assert_string_equal(json_get_str(j, "apiVersion"), "apps/v1");
	json_free(j);
	j = cache_get(c, CACHE_SERVICE, "n", "s");
	assert_string_equal(json_get_str(j, "kind"), "Service");
	assert_string_equal(json_get_str(j, "apiVersion"), "v1");
	json_free(j);
	cache_free(c);
}

static void only_our_entries_of_managed_fields_stay(void **state)
{
	struct cache *c = cache_new();
	struct json *j;

	(void)state;
	(void)put(c, CACHE_SERVICE,
		  "{'kind':'Service','metadata':{'name':'s','namespace':'n','resourceVersion':'1',"
		  "'managedFields':[{'manager':'kubectl'},{'manager':'celld-operator','a':1},7]}}");
	j = cache_get(c, CACHE_SERVICE, "n", "s");
	app_fixture_is(json_path(j, "metadata", "managedFields", NULL),
		       "[{'manager':'celld-operator','a':1}]");
	json_free(j);
	(void)put(c, CACHE_APP,
		  "{'kind':'WorkerApp','metadata':{'name':'s','namespace':'n',"
		  "'resourceVersion':'1','managedFields':[{'manager':'celld-operator'}]}}");
	j = cache_get(c, CACHE_APP, "n", "s");
	assert_null(json_path(j, "metadata", "managedFields", NULL));
	json_free(j);
	cache_free(c);
}

static void only_the_object_itself_is_forgotten(void **state)
{
	struct cache *c = cache_new();
	struct strlist apps = STRLIST_INIT;

	(void)state;
	(void)put(c, CACHE_APP,
		  "{'metadata':{'name':'a','namespace':'n','uid':'u2','resourceVersion':'5'}}");
	removed(c, CACHE_APP, "{'metadata':{'name':'a','namespace':'n','uid':'u1'}}");
	cache_apps(c, &apps);
	assert_int_equal(apps.n, 1);
	assert_string_equal(apps.v[0], "n/a");
	removed(c, CACHE_APP, "{'metadata':{'name':'a','namespace':'n','uid':'u2'}}");
	assert_int_equal(cache_count(c, CACHE_APP), 0);
	removed(c, CACHE_APP, "{'metadata':{'name':'a','namespace':'n','uid':'u2'}}");
	strlist_done(&apps);
	cache_free(c);
}

static void pods_are_kept_by_app(void **state)
{
	struct cache *c = cache_new();
	struct fleet_pod *pods;
	size_t n;

	(void)state;
	assert_true(
		put(c, CACHE_POD,
		    "{'metadata':{'name':'kv-celld-0','namespace':'n','uid':'p0'," LABEL
		    ",'resourceVersion':'1'},'status':{'podIP':'10.0.0.1','phase':'Running'}}"));
	assert_true(put(c, CACHE_POD,
			"{'metadata':{'name':'kv-celld-1','namespace':'n','uid':'p1'," LABEL
			",'resourceVersion':'2'}}"));
	assert_true(put(c, CACHE_POD,
			"{'metadata':{'name':'kv-celld-1','namespace':'n','uid':'p1'," LABEL
			",'resourceVersion':'3'},'status':{'podIP':'10.0.0.2'}}"));
	assert_false(put(c, CACHE_POD,
			 "{'metadata':{'name':'stray','namespace':'n',"
			 "'resourceVersion':'4'}}"));
	assert_int_equal(cache_count(c, CACHE_POD), 2);
	pods = cache_pods(c, "n/kv", &n);
	assert_int_equal(n, 2);
	free(pods);
	pods = cache_pods(c, "other/kv", &n);
	assert_int_equal(n, 0);
	free(pods);
	removed(c, CACHE_POD,
		"{'metadata':{'name':'kv-celld-1','namespace':'n','uid':'px'," LABEL "}}");
	assert_int_equal(cache_count(c, CACHE_POD), 2);
	removed(c, CACHE_POD,
		"{'metadata':{'name':'kv-celld-1','namespace':'n','uid':'p1'," LABEL "}}");
	pods = cache_pods(c, "n/kv", &n);
	assert_int_equal(n, 1);
	assert_string_equal(pods[0].ip, "10.0.0.1");
	free(pods);
	removed(c, CACHE_POD,
		"{'metadata':{'name':'kv-celld-0','namespace':'n','uid':'p0'," LABEL "}}");
	assert_int_equal(cache_count(c, CACHE_POD), 0);
	cache_free(c);
}

static bool gone(struct cache *c, enum cache_kind kind, const char *text, char key[64])
{
	cleanup_json struct json *j = app_fixture_json(text);

	return cache_gone(c, kind, j, key, 64);
}

/* A deletion that was missed is told by name and namespace alone. */
static void a_missed_deletion_finds_its_app(void **state)
{
	struct cache *c = cache_new();
	char key[64];

	(void)state;
	(void)put(c, CACHE_SERVICE,
		  "{'metadata':{'name':'s','namespace':'n','resourceVersion':'1'," LABEL "}}");
	(void)put(c, CACHE_POD,
		  "{'metadata':{'name':'kv-celld-0','namespace':'n','resourceVersion':'1'," LABEL
		  "}}");
	assert_true(gone(c, CACHE_SERVICE, "{'metadata':{'name':'s','namespace':'n'}}", key));
	assert_string_equal(key, "n/kv");
	assert_int_equal(cache_count(c, CACHE_SERVICE), 0);
	assert_false(gone(c, CACHE_POD, "{'metadata':{'name':'kv-celld-0','namespace':'m'}}", key));
	assert_true(gone(c, CACHE_POD, "{'metadata':{'name':'kv-celld-0','namespace':'n'}}", key));
	assert_string_equal(key, "n/kv");
	assert_int_equal(cache_count(c, CACHE_POD), 0);
	assert_false(gone(c, CACHE_SERVICE, "{'metadata':{'name':'s','namespace':'n'}}", key));
	assert_false(gone(c, CACHE_SERVICE, "{'metadata':{'name':'s'}}", key));
	cache_free(c);
}

static void the_brief_needs_the_app(void **state)
{
	struct cache *c = cache_new();
	struct cache_brief b;

	(void)state;
	(void)put(
		c, CACHE_STATEFULSET,
		"{'metadata':{'name':'kv-celld','namespace':'n','uid':'s1','resourceVersion':'1'},"
		"'spec':{'replicas':4,'updateStrategy':{'rollingUpdate':{'partition':2}}}}");
	assert_false(cache_brief(c, "n/kv", &b));
	(void)put(c, CACHE_APP,
		  "{'metadata':{'name':'kv','namespace':'n','uid':'a1','resourceVersion':'2'},"
		  "'status':{'phase':'RollingOut'}}");
	assert_true(cache_brief(c, "n/kv", &b));
	assert_string_equal(b.sts_uid, "s1");
	assert_string_equal(b.phase, "RollingOut");
	assert_int_equal(b.replicas, 4);
	assert_int_equal(b.partition, 2);
	cache_free(c);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(versions_are_compared_as_numbers),
		cmocka_unit_test(keys),
		cmocka_unit_test(a_reader_never_goes_back_in_time),
		cmocka_unit_test(items_of_lists_get_their_kind),
		cmocka_unit_test(only_our_entries_of_managed_fields_stay),
		cmocka_unit_test(only_the_object_itself_is_forgotten),
		cmocka_unit_test(pods_are_kept_by_app),
		cmocka_unit_test(a_missed_deletion_finds_its_app),
		cmocka_unit_test(the_brief_needs_the_app),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
