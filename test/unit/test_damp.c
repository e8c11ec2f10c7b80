#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "controller/damp.h"

static const uint32_t a = 1, b = 2;

static struct damp_entry *fought(struct damp *d, int writes, int64_t now)
{
	struct damp_entry *x = damp_entry(d, "Service shop-celld");

	for (int i = 0; i < writes; i++)
		damp_written(x, a, now);
	return x;
}

static void the_first_writes_are_free(void **state)
{
	struct damp d = { 0 };
	const struct damp_entry *x = fought(&d, 3, 1000);

	(void)state;
	assert_int_equal(damp_wait(x, a, 1000), 0);
	assert_int_equal(damp_fight(x, 1000), 0);
	damp_done(&d);
}

static void then_pauses_double_up_to_five_minutes(void **state)
{
	static const struct {
		int writes;
		int64_t pause;
	} rows[] = { { 4, 1000 },    { 5, 2000 },    { 6, 4000 },
		     { 12, 256000 }, { 13, 300000 }, { 40, 300000 } };

	(void)state;
	for (size_t i = 0; i < array_len(rows); i++) {
		struct damp d = { 0 };
		const struct damp_entry *x = fought(&d, rows[i].writes, 1000);

		assert_int_equal(damp_wait(x, a, 1000), rows[i].pause);
		assert_int_equal(damp_wait(x, a, 1000 + rows[i].pause - 1), 1);
		assert_int_equal(damp_wait(x, a, 1000 + rows[i].pause), 0);
		damp_done(&d);
	}
}

static void another_content_begins_anew(void **state)
{
	struct damp d = { 0 };
	struct damp_entry *x = fought(&d, 9, 1000);

	(void)state;
	x->rival = xstrdup("kubectl-edit");
	assert_int_equal(damp_wait(x, b, 1000), 0);
	damp_written(x, b, 1000);
	assert_int_equal(damp_wait(x, b, 1000), 0);
	assert_int_equal(damp_fight(x, 1000), 0);
	assert_null(x->rival);
	damp_done(&d);
}

static void calm_ends_it(void **state)
{
	struct damp d = { 0 };
	struct damp_entry *x = fought(&d, 40, 1000);

	(void)state;
	assert_int_equal(damp_fight(x, 1000), 600000);
	assert_int_equal(damp_fight(x, 600999), 1);
	assert_int_equal(damp_fight(x, 601000), 0);
	assert_int_equal(damp_wait(x, a, 601000), 0);
	damp_written(x, a, 601000);
	assert_int_equal(x->writes, 1);
	damp_done(&d);
}

static void objects_have_nothing_to_do_with_each_other(void **state)
{
	struct damp d = { 0 };

	(void)state;
	(void)fought(&d, 3, 1000);
	assert_false(damp_is_busy(&d));
	(void)fought(&d, 6, 1000);
	assert_true(damp_is_busy(&d));
	assert_int_equal(damp_wait(damp_entry(&d, "Service shop-celld-internal"), a, 1000), 0);
	assert_int_equal(damp_wait(damp_entry(&d, "Ingress shop-celld"), a, 1000), 0);
	assert_int_equal(damp_wait(damp_entry(&d, "Service shop-celld"), a, 1000), 32000);
	damp_done(&d);
}

/* When there is no room left, the one that was written longest ago is forgotten. */
static void the_oldest_makes_room(void **state)
{
	struct damp d = { 0 };
	char name[16];

	(void)state;
	for (int i = 0; i < DAMP_OBJECTS; i++) {
		(void)snprintf(name, sizeof(name), "o%d", i);
		damp_written(damp_entry(&d, name), a, i == 5 ? 10 : 1000 + i);
	}
	assert_int_equal(damp_entry(&d, "new")->writes, 0);
	assert_int_equal(damp_entry(&d, "o4")->writes, 1);
	damp_written(damp_entry(&d, "new"), a, 5000);
	assert_int_equal(damp_entry(&d, "o5")->writes, 0);
	damp_done(&d);
}

static void names_are_told_apart(void **state)
{
	struct damp d = { 0 };

	(void)state;
	assert_true(damp_hash("a") != damp_hash("b") && damp_hash("") != 0);
	assert_true(damp_hash("a") == damp_hash("a"));
	damp_entry(&d, "Service shop-celld")->rival = xstrdup("x");
	damp_done(&d);
	assert_null(damp_entry(&d, "Service shop-celld")->rival);
	damp_done(&d);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_writes_are_free),
		cmocka_unit_test(then_pauses_double_up_to_five_minutes),
		cmocka_unit_test(another_content_begins_anew),
		cmocka_unit_test(calm_ends_it),
		cmocka_unit_test(objects_have_nothing_to_do_with_each_other),
		cmocka_unit_test(the_oldest_makes_room),
		cmocka_unit_test(names_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
