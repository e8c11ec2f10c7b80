/* controller/exclusive: who may start on a bucket prefix. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "controller/exclusive.h"
#include "test/lib/rules_table.h"

struct fixture {
	struct reconcile_opts o;
};

static void begin(struct fixture *f)
{
	f->o = (struct reconcile_opts){ .cache = cache_new(),
					.queue = queue_new(1, 2),
					.holdings = holdings_new(),
					.recheck_ms = 1 };
}

static void end(struct fixture *f)
{
	cache_free(f->o.cache);
	queue_free(f->o.queue);
	holdings_free(f->o.holdings);
}

static struct json *app(const char *name, const char *created)
{
	cleanup(freep) char *change = xasprintf(
		"{metadata: {name: %s, uid: u-%s, resourceVersion: '1', creationTimestamp: '%s'}}",
		name, name, created);

	return rules_overlay(change);
}

static void tell(struct fixture *f, enum kube_watch_type type, const char *name,
		 const char *created)
{
	cleanup_json struct json *j = app(name, created);

	exclusive_event(f->o.holdings, f->o.queue, false, type, j);
}

static void put_sts(struct fixture *f, const char *name, bool there)
{
	cleanup(freep) char *text = xasprintf("{apiVersion: apps/v1, kind: StatefulSet, metadata: "
					      "{name: %s-celld, namespace: acme, uid: "
					      "s-%s, resourceVersion: '1', labels: "
					      "{celld-operator.io/workerapp: %s}}, spec: null}",
					      name, name, name);
	cleanup_json struct json *j = rules_overlay(text);
	char key[512];

	if (there)
		assert_true(cache_put(f->o.cache, CACHE_STATEFULSET, j));
	else
		assert_true(cache_gone(f->o.cache, CACHE_STATEFULSET, j, key, sizeof(key)));
}

static bool may(struct fixture *f, const char *name, const char *created, bool runs,
		const char *status, const char *part)
{
	cleanup_workerapp struct workerapp *a = NULL;
	struct status_condition c;
	struct err e = ERR_INIT;
	bool own;

	assert_int_equal(workerapp_parse(app(name, created), NULL, &a, &e), 0);
	own = exclusive_condition(&f->o, a, runs, &c);
	assert_string_equal(c.type, "BucketExclusive");
	assert_string_equal(c.status, status);
	assert_string_equal(c.reason, own ? "Exclusive" : "BucketPrefixShared");
	if (!strstr(c.message, part))
		fail_msg("no '%s' in: %s", part, c.message);
	return own;
}

#define FIRST  "2026-01-01T00:00:00Z"
#define SECOND "2026-01-01T00:00:01Z"

static void next_is(struct fixture *f, const char *want)
{
	cleanup(freep) char *key = queue_get(f->o.queue);

	assert_string_equal(key, want);
	queue_done(f->o.queue, key, false);
}

static void test_age(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	tell(&f, KUBE_ADDED, "a", FIRST);
	assert_true(may(&f, "a", FIRST, false, "True", ""));
	tell(&f, KUBE_ADDED, "b", SECOND);
	next_is(&f, "acme/a"); /* it is told of its rival */
	assert_false(may(&f, "b", SECOND, false, "False", "the bucket prefix of WorkerApp acme/a"));
	assert_false(may(&f, "b", SECOND, true, "False", "the bucket prefix of WorkerApp acme/a"));
	assert_true(may(&f, "a", FIRST, true, "True", ""));
	end(&f);
}

/* The younger one runs already: the older one is not started beside it. */
static void test_running(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	tell(&f, KUBE_ADDED, "b", SECOND);
	put_sts(&f, "b", true);
	tell(&f, KUBE_ADDED, "a", FIRST);
	assert_false(may(&f, "a", FIRST, false, "False",
			 "WorkerApp acme/b, whose fleet was there first"));
	/* One of the two has it, whoever is asked first. */
	assert_true(may(&f, "b", SECOND, true, "True", ""));
	assert_false(may(&f, "a", FIRST, false, "False",
			 "WorkerApp acme/b, whose fleet was there first"));
	assert_true(may(&f, "b", SECOND, true, "True", ""));
	/* Its app goes; what is left of it is in the way until it has ended. */
	tell(&f, KUBE_DELETED, "b", SECOND);
	assert_false(may(&f, "a", FIRST, false, "False",
			 "WorkerApp acme/b, whose fleet was there first"));
	put_sts(&f, "b", false);
	assert_true(may(&f, "a", FIRST, false, "True", ""));
	end(&f);
}

/* Of an app that is gone altogether nothing is kept, asked for or not: preview apps come and go for years. */
static void test_no_ghost_stays(void **state)
{
	struct strlist ghosts = STRLIST_INIT;
	cleanup_workerapp struct workerapp *a = NULL;
	struct fixture f;
	struct err e = ERR_INIT;

	(void)state;
	begin(&f);
	tell(&f, KUBE_ADDED, "b", SECOND);
	put_sts(&f, "b", true);
	tell(&f, KUBE_DELETED, "b", SECOND);
	assert_int_equal(workerapp_parse(app("a", FIRST), NULL, &a, &e), 0);
	exclusive_let_go(f.o.holdings, f.o.cache, "acme/b"); /* its StatefulSet is there */
	holdings_ghosts(f.o.holdings, a, &ghosts);
	assert_int_equal(ghosts.n, 1);
	strlist_done(&ghosts);
	put_sts(&f, "b", false);
	exclusive_let_go(f.o.holdings, f.o.cache, "acme/b");
	holdings_ghosts(f.o.holdings, a, &ghosts);
	assert_int_equal(ghosts.n, 0);
	end(&f);
}

/* Both run (an operator that knew neither made way for them): the younger one is told. */
static void test_both(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	tell(&f, KUBE_ADDED, "a", FIRST);
	tell(&f, KUBE_ADDED, "b", SECOND);
	put_sts(&f, "a", true);
	put_sts(&f, "b", true);
	assert_false(may(&f, "b", SECOND, true, "False", "the bucket prefix of WorkerApp acme/a"));
	assert_true(may(&f, "a", FIRST, true, "True", ""));
	end(&f);
}

/* Two at one moment: the one that was let through first keeps the other out, until an older one is known. */
static void test_claim(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	tell(&f, KUBE_ADDED, "b", SECOND);
	assert_true(may(&f, "b", SECOND, false, "True", ""));
	tell(&f, KUBE_ADDED, "a", FIRST);
	next_is(&f, "acme/b");
	assert_false(may(&f, "a", FIRST, false, "False", "WorkerApp that is being started"));
	assert_false(may(&f, "b", SECOND, false, "False", "WorkerApp acme/a"));
	next_is(&f, "acme/a"); /* the claim was given back */
	assert_true(may(&f, "a", FIRST, false, "True", ""));
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_age),
		cmocka_unit_test(test_running),
		cmocka_unit_test(test_no_ghost_stays),
		cmocka_unit_test(test_both),
		cmocka_unit_test(test_claim),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
