#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "controller/snapshot.h"

static struct snapshot *made(int64_t begun_ms, const char *uid)
{
	struct snapshot *s = snapshot_new(1);

	s->begun_ms = begun_ms;
	(void)snprintf(s->pods[0].uid, sizeof(s->pods[0].uid), "%s", uid);
	return s;
}

/* Whoever has one reads on in it, whatever comes after. */
static void test_reader_keeps_its_own(void **state)
{
	struct snapshots *all = snapshots_new();
	const struct snapshot *first, *second;

	(void)state;
	assert_true(snapshots_put(all, "a/b", made(10, "u1")));
	first = snapshots_get(all, "a/b");
	assert_true(snapshots_put(all, "a/b", made(20, "u2")));
	second = snapshots_get(all, "a/b");
	assert_ptr_not_equal(first, second);
	assert_string_equal(first->pods[0].uid, "u1");
	assert_non_null(snapshot_find(second, "u2"));
	assert_null(snapshot_find(second, "u1"));
	snapshots_forget(all, "a/b");
	assert_string_equal(second->pods[0].uid, "u2");
	assert_null(snapshots_get(all, "a/b"));
	snapshot_drop(all, first);
	snapshot_drop(all, second);
	snapshot_drop(all, NULL);
	snapshots_free(all);
}

/* A sweep of everything that began before a sweep of one fleet must not bring its older answers back. */
static void test_later_sweep_wins(void **state)
{
	struct snapshots *all = snapshots_new();
	const struct snapshot *s;

	(void)state;
	assert_true(snapshots_put(all, "a/b", made(20, "new")));
	assert_false(snapshots_put(all, "a/b", made(19, "old")));
	s = snapshots_get(all, "a/b");
	assert_string_equal(s->pods[0].uid, "new");
	snapshot_drop(all, s);
	snapshots_free(all);
}

static void test_keep(void **state)
{
	struct snapshots *all = snapshots_new();
	struct strlist keys = STRLIST_INIT;

	(void)state;
	(void)snapshots_put(all, "a/b", made(1, "u"));
	(void)snapshots_put(all, "a/c", made(1, "u"));
	(void)snapshots_put(all, "a/d", made(1, "u"));
	strlist_add(&keys, "a/c");
	strlist_add(&keys, "a/never");
	snapshots_keep(all, &keys);
	assert_int_equal(snapshots_count(all), 1);
	assert_null(snapshot_find(NULL, "u"));
	strlist_done(&keys);
	snapshots_free(all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reader_keeps_its_own),
		cmocka_unit_test(test_later_sweep_wins),
		cmocka_unit_test(test_keep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
