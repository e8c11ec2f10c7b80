#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/holdings.h"
#include "test/lib/rules_table.h"

static struct json *app(const char *name, const char *created, const char *spec)
{
	cleanup(freep) char *change =
		xasprintf("{metadata: {name: %s, uid: u-%s, creationTimestamp: %s}, spec: {%s}}",
			  name, name, created, spec);

	return rules_overlay(change);
}

static void put(struct holdings *h, const char *name, const char *created, const char *spec)
{
	cleanup_json struct json *j = app(name, created, spec);

	/* As in a list. */
	json_del(j, "kind");
	json_del(j, "apiVersion");
	holdings_put_app(h, j);
}

/* How many faults an app has; -1: its store is not known. */
static int judge(struct holdings *h, const char *name, const char *created, const char *spec,
		 bool older)
{
	cleanup_workerapp struct workerapp *a = NULL;
	struct faults l = FAULTS_INIT;
	struct err e = ERR_INIT;
	bool known;
	int n;

	assert_int_equal(workerapp_parse(app(name, created, spec), NULL, &a, &e), 0);
	known = holdings_judge(h, a, older, &l);
	n = (int)l.n;
	faults_done(&l);
	return known ? n : -1;
}

#define X    "bucket: {name: 's3://cells/x'}"
#define IN_X "bucket: {name: 's3://cells/x/y'}"
#define AT_S "storeRef: {name: s}, bucket: {name: 's3://cells/x'}"

static void rivals_are(struct holdings *h, const char *key, const char *want)
{
	struct strlist l = STRLIST_INIT;
	cleanup(freep) char *got = NULL;

	holdings_rivals(h, key, &l);
	strlist_sort(&l);
	got = l.n ? strlist_join(&l, " ") : xstrdup("");
	assert_string_equal(got, want);
	strlist_done(&l);
}

static void test_apps(void **state)
{
	cleanup_holdings struct holdings *h = holdings_new();
	cleanup_json struct json *first = app("first", "2026-01-01T00:00:00Z", X);

	(void)state;
	assert_int_equal(judge(h, "first", "null", X, false), 0);
	put(h, "first", "2026-01-01T00:00:00Z", X);
	assert_int_equal(judge(h, "first", "2026-01-01T00:00:00Z", X, false), 0);
	assert_int_equal(judge(h, "second", "null", X, false), 1);
	assert_int_equal(judge(h, "second", "null", "bucket: {name: 's3://cells/z'}", false), 0);
	put(h, "second", "2026-01-01T00:00:01Z", IN_X);
	put(h, "third", "2026-01-01T00:00:02Z", "bucket: {name: 's3://cells/z'}");
	/* Once both exist the older one keeps it. */
	assert_int_equal(judge(h, "first", "2026-01-01T00:00:00Z", X, true), 0);
	assert_int_equal(judge(h, "first", "2026-01-01T00:00:00Z", X, false), 1);
	assert_int_equal(judge(h, "second", "2026-01-01T00:00:01Z", IN_X, true), 1);
	rivals_are(h, "acme/first", "acme/second");
	rivals_are(h, "acme/second", "acme/first");
	rivals_are(h, "acme/third", "");
	rivals_are(h, "acme/none", "");
	holdings_remove_app(h, first);
	assert_int_equal(judge(h, "second", "2026-01-01T00:00:01Z", IN_X, true), 0);
	rivals_are(h, "acme/second", "");
}

/* What is found is what the app is now, whether or not what it is found by has changed. */
static void test_changes(void **state)
{
#define Z_ON(host, more) "bucket: {name: 's3://cells/z'}, hostnames: [" host "]" more
	cleanup_holdings struct holdings *h = holdings_new();
	const char *other = "bucket: {name: 's3://cells/o'}, hostnames: [a.example.com]";

	(void)state;
	put(h, "z", "2026-01-01T00:00:00Z", Z_ON("a.example.com", ", ingress: {path: /p}"));
	assert_int_equal(judge(h, "other", "null", other, false), 0); /* another path */
	put(h, "z", "2026-01-01T00:00:00Z", Z_ON("a.example.com", ""));
	assert_int_equal(judge(h, "other", "null", other, false), 1);
	put(h, "z", "2026-01-01T00:00:00Z", Z_ON("b.example.com", ""));
	assert_int_equal(judge(h, "other", "null", other, false), 0);
	put(h, "z", "2026-01-01T00:00:00Z", Z_ON("b.example.com, a.example.com", ""));
	assert_int_equal(judge(h, "other", "null", other, false), 1);
	rivals_are(h, "acme/z", "");
#undef Z_ON
}

static void test_stores(void **state)
{
	cleanup_holdings struct holdings *h = holdings_new();
	cleanup_json struct json *store =
		rules_overlay("{metadata: {name: s}, spec: {endpoint: 'https://minio'}}");
	struct strlist users = STRLIST_INIT;

	(void)state;
	put(h, "inlined", "2026-01-01T00:00:00Z",
	    "bucket: {name: 's3://cells/x', endpoint: 'https://minio'}");
	assert_int_equal(judge(h, "stored", "null", AT_S, false), -1);
	holdings_put_store(h, store);
	assert_int_equal(judge(h, "stored", "null", AT_S, false), 1);
	put(h, "stored", "2026-01-01T00:00:01Z", AT_S);
	put(h, "whole", "2026-01-01T00:00:01Z",
	    "storeRef: {name: s}, bucket: {name: 's3://w'}, celld: {updateStrategy: Recreate}");
	holdings_users(h, "acme", "s", false, &users);
	assert_int_equal(users.n, 2);
	strlist_done(&users);
	holdings_users(h, "acme", "s", true, &users);
	assert_int_equal(users.n, 1);
	assert_string_equal(users.v[0], "acme/stored");
	strlist_done(&users);
	holdings_users(h, "other", "s", false, &users);
	holdings_users(h, "acme", "t", false, &users);
	assert_int_equal(users.n, 0);
	holdings_remove_store(h, store);
	assert_int_equal(judge(h, "stored", "null", AT_S, false), -1);
}

static bool claim(struct holdings *h, const char *name, const char *spec, bool runs)
{
	cleanup_workerapp struct workerapp *a = NULL;
	struct err e = ERR_INIT;

	assert_int_equal(workerapp_parse(app(name, "null", spec), NULL, &a, &e), 0);
	return holdings_claim(h, a, runs);
}

static bool unclaim(struct holdings *h, const char *name)
{
	cleanup_workerapp struct workerapp *a = NULL;
	struct err e = ERR_INIT;

	assert_int_equal(workerapp_parse(app(name, "null", X), NULL, &a, &e), 0);
	return holdings_unclaim(h, a);
}

/* Whoever comes first may start, whatever its age; a claim ends with its app. */
static void test_claims(void **state)
{
	cleanup_holdings struct holdings *h = holdings_new();
	cleanup_json struct json *first = app("first", "null", X);

	(void)state;
	put(h, "first", "2026-01-01T00:00:01Z", X);
	put(h, "second", "2026-01-01T00:00:00Z", IN_X);
	put(h, "third", "2026-01-01T00:00:00Z", "bucket: {name: 's3://cells/z'}");
	assert_true(claim(h, "first", X, false));
	assert_true(claim(h, "first", X, false));
	assert_false(claim(h, "second", IN_X, false));
	assert_true(claim(h, "third", "bucket: {name: 's3://cells/z'}", false));
	assert_true(claim(h, "second", IN_X, true));
	assert_false(claim(h, "first", X, false));
	holdings_remove_app(h, first);
	assert_true(claim(h, "second", IN_X, false));
	put(h, "first", "2026-01-01T00:00:01Z", X);
	assert_false(claim(h, "first", X, false));
	assert_true(unclaim(h, "second"));
	assert_false(unclaim(h, "second"));
	assert_true(claim(h, "first", X, false));
}

static void ghosts_are(struct holdings *h, const char *spec, const char *want)
{
	cleanup_workerapp struct workerapp *a = NULL;
	struct strlist l = STRLIST_INIT;
	cleanup(freep) char *got = NULL;
	struct err e = ERR_INIT;

	assert_int_equal(workerapp_parse(app("new", "null", spec), NULL, &a, &e), 0);
	holdings_ghosts(h, a, &l);
	got = l.n ? strlist_join(&l, " ") : xstrdup("");
	assert_string_equal(got, want);
	strlist_done(&l);
}

/* An app that is gone stays in the way of its prefix alone, until it is let go. */
static void test_ghosts(void **state)
{
	cleanup_holdings struct holdings *h = holdings_new();
	cleanup_json struct json *first = app("first", "null", X);

	(void)state;
	holdings_bury(h, first); /* never seen: nothing is in the way */
	ghosts_are(h, X, "");
	put(h, "first", "2026-01-01T00:00:01Z", X);
	assert_true(claim(h, "first", X, false));
	ghosts_are(h, X, "");
	holdings_bury(h, first);
	ghosts_are(h, IN_X, "acme/first");
	ghosts_are(h, "bucket: {name: 's3://cells/z'}", "");
	assert_false(holdings_app(h, "acme", "first", NULL));
	assert_int_equal(judge(h, "second", "null", X, false), 0);
	holdings_let_go(h, "acme/first");
	ghosts_are(h, X, "");
}

static void test_app(void **state)
{
	cleanup_holdings struct holdings *h = holdings_new();
	bool fleet = false;

	(void)state;
	put(h, "chat", "null", "durability: fleet");
	assert_true(holdings_app(h, "acme", "chat", &fleet));
	assert_true(fleet);
	put(h, "chat", "null", "durability: bucket");
	assert_true(holdings_app(h, "acme", "chat", &fleet));
	assert_false(fleet);
	assert_true(holdings_app(h, "acme", "chat", NULL));
	assert_false(holdings_app(h, "acme", "shop", &fleet));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_apps),   cmocka_unit_test(test_changes),
		cmocka_unit_test(test_stores), cmocka_unit_test(test_claims),
		cmocka_unit_test(test_ghosts), cmocka_unit_test(test_app),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
