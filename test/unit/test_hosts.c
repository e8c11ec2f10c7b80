#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/map.h"
#include "controller/hosts.h"
#include "test/lib/app_fixture.h"

static struct hosts *hosts;
static struct map *docs; /* of each app what was put last */
static struct strlist touched = STRLIST_INIT;

static struct json *app(const char *ns, const char *name, int age, const char *names,
			const char *path)
{
	cleanup(freep) char *text =
		xasprintf("{'metadata':{'namespace':'%s','name':'%s','uid':'u-%s',"
			  "'creationTimestamp':'2026-01-01T00:00:%02dZ'},"
			  "'spec':{'hostnames':%s,'ingress':{'path':'%s'}}}",
			  ns, name, name, age, names, path);

	return app_fixture_json(text);
}

static void put(const char *ns, const char *name, int age, const char *names, const char *path)
{
	cleanup_json struct json *j = app(ns, name, age, names, path);

	cleanup(freep) char *key = xasprintf("%s/%s", ns, name);

	strlist_done(&touched);
	hosts_put(hosts, j, &touched);
	map_put(docs, key, take(j));
}

static void remove_app(const char *ns, const char *name)
{
	cleanup_json struct json *j = app(ns, name, 0, "[]", "/");

	strlist_done(&touched);
	hosts_remove(hosts, j, &touched);
}

/* The hostnames an app has, and whom it lost one to ("lost>winner"). */
static void has(const char *key, const char *own, const char *lost)
{
	struct strlist l = STRLIST_INIT;
	cleanup(freep) char *name = NULL;
	cleanup(freep) char *winner = NULL;
	bool all = hosts_of(hosts, map_get(docs, key), &l, &name, &winner);
	cleanup(freep) char *got = xstrdup("");
	cleanup(freep) char *got_lost = all ? xstrdup("") : xasprintf("%s>%s", name, winner);

	for (size_t i = 0; i < l.n; i++) {
		char *more = xasprintf("%s%s%s", got, i ? " " : "", l.v[i]);

		free(got);
		got = more;
	}
	strlist_done(&l);
	assert_string_equal(got, own);
	assert_string_equal(got_lost, lost);
}

static void free_doc(void *p)
{
	json_free(p);
}

static int begin(void **state)
{
	(void)state;
	hosts = hosts_new();
	docs = map_new(free_doc);
	return 0;
}

static int end(void **state)
{
	(void)state;
	hosts_free(hosts);
	map_free(docs);
	strlist_done(&touched);
	return 0;
}

static void the_older_one_keeps_it(void **state)
{
	(void)state;
	put("b", "late", 2, "['x.example','y.example']", "/");
	assert_int_equal(touched.n, 0);
	has("b/late", "x.example y.example", "");
	put("a", "early", 1, "['y.example']", "/");
	assert_int_equal(touched.n, 1);
	assert_string_equal(touched.v[0], "b/late");
	has("a/early", "y.example", "");
	has("b/late", "x.example", "y.example>a/early");
	/* when it goes, the next in line gets it, and is told */
	remove_app("a", "early");
	assert_int_equal(touched.n, 1);
	assert_string_equal(touched.v[0], "b/late");
	has("b/late", "x.example y.example", "");
}

static void of_the_same_age_the_uid_decides(void **state)
{
	(void)state;
	put("a", "two", 1, "['x.example']", "/");
	put("b", "one", 1, "['x.example']", "/");
	has("b/one", "x.example", "");
	has("a/two", "", "x.example>b/one");
}

static void a_namespace_shares_a_host_by_path(void **state)
{
	(void)state;
	put("a", "root", 1, "['x.example']", "/");
	put("a", "api", 2, "['x.example']", "/api");
	put("a", "api2", 3, "['x.example']", "/api/");
	put("b", "api3", 4, "['x.example']", "/other");
	has("a/api", "x.example", "");
	has("a/api2", "", "x.example>a/api");
	has("b/api3", "", "x.example>a/root");
}

static void wildcards_clash_between_namespaces(void **state)
{
	(void)state;
	put("a", "one", 1, "['chat.x.example']", "/");
	put("b", "wild", 2, "['*.x.example']", "/");
	put("a", "own", 3, "['*.x.example']", "/");
	has("b/wild", "", "*.x.example>a/one");
	has("a/own", "", "*.x.example>b/wild"); /* older than its claim */
	remove_app("b", "wild");
	has("a/own", "*.x.example", "");
	put("c", "below", 4, "['a.b.x.example']", "/");
	has("c/below", "", "a.b.x.example>a/own");
	put("c", "beside", 5, "['x.example','yx.example']", "/");
	has("c/beside", "x.example yx.example", "");
}

static void what_does_not_change_touches_nobody(void **state)
{
	(void)state;
	put("a", "one", 1, "['x.example']", "/");
	put("b", "two", 2, "['x.example']", "/");
	put("a", "one", 1, "['x.example']", "/");
	assert_int_equal(touched.n, 0);
	put("a", "one", 1, "['z.example']", "/");
	assert_int_equal(touched.n, 1);
	has("b/two", "x.example", "");
}

static bool has_all(const char *names, const char *own)
{
	cleanup_json struct json *j = app("a", "one", 1, names, "/");
	cleanup(freep) char *lost = NULL, *winner = NULL, *got = NULL;
	struct strlist l = STRLIST_INIT;
	bool all = hosts_of(hosts, j, &l, &lost, &winner);

	got = strlist_join(&l, " ");
	strlist_done(&l);
	assert_string_equal(got, own);
	assert_int_equal(all, !lost);
	assert_int_equal(all, !winner);
	return all;
}

/*
 * What is noticed runs ahead of the turn, or behind it: one that still had names found no name of its own, and nobody
 * who has it.
 */
static void the_names_are_those_that_the_caller_has_read(void **state)
{
	(void)state;
	assert_true(has_all("['x.example']", "x.example"));
	put("a", "one", 1, "[]", "/");
	assert_true(has_all("['x.example']", "x.example"));
	put("a", "one", 1, "['y.example']", "/");
	assert_true(has_all("['x.example']", "x.example"));
	assert_true(has_all("[]", ""));
	put("b", "two", 0, "['x.example']", "/");
	assert_false(has_all("['x.example','z.example']", "z.example"));
	assert_false(has_all("['x.example']", ""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_older_one_keeps_it, begin, end),
		cmocka_unit_test_setup_teardown(of_the_same_age_the_uid_decides, begin, end),
		cmocka_unit_test_setup_teardown(a_namespace_shares_a_host_by_path, begin, end),
		cmocka_unit_test_setup_teardown(wildcards_clash_between_namespaces, begin, end),
		cmocka_unit_test_setup_teardown(what_does_not_change_touches_nobody, begin, end),
		cmocka_unit_test_setup_teardown(the_names_are_those_that_the_caller_has_read, begin,
						end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
