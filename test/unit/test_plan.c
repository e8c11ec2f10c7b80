#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "certs/plan.h"

enum { SETTLE = 1000, TRIM = 2000, STEPS = 24 };

/* A fleet of certificates in order. */
static const struct plan_facts steady = { .secret = true,
					  .ca = PLAN_GOOD,
					  .leaf = PLAN_GOOD,
					  .named = true,
					  .named_ms = SETTLE,
					  .settle_ms = SETTLE,
					  .serving_it = true,
					  .serving = true };

static void test_steady_is_left_alone(void **state)
{
	(void)state;
	assert_int_equal(plan_next(&steady), PLAN_WAIT);
}

static void test_first_start(void **state)
{
	struct plan_facts f = { .settle_ms = SETTLE };

	(void)state;
	assert_int_equal(plan_next(&f), PLAN_CREATE);
	f.secret = true; /* an empty one, as the chart brings it */
	assert_int_equal(plan_next(&f), PLAN_REPLACE);
	f.ca = f.leaf = PLAN_GOOD;
	assert_int_equal(plan_next(&f), PLAN_ADD);
	f.named = true;
	assert_int_equal(plan_next(&f), PLAN_SERVE);
}

static void test_rotation_in_its_order(void **state)
{
	struct plan_facts f = steady;

	(void)state;
	f.ca = PLAN_DUE;
	assert_int_equal(plan_next(&f), PLAN_STAGE);
	f.next = PLAN_GOOD;
	f.named = false;
	f.named_ms = 0;
	assert_int_equal(plan_next(&f), PLAN_ADD);
	f.named = true;
	assert_int_equal(plan_next(&f), PLAN_WAIT); /* API servers follow */
	f.named_ms = SETTLE;
	assert_int_equal(plan_next(&f), PLAN_PROMOTE);
	f.ca = f.leaf = PLAN_GOOD;
	f.next = PLAN_NONE;
	f.old = true;
	f.serving_it = false;
	assert_int_equal(plan_next(&f), PLAN_SERVE);
	f.serving_it = true;
	assert_int_equal(plan_next(&f), PLAN_WAIT); /* for the last old leaf */
	f.old_over = true;
	assert_int_equal(plan_next(&f), PLAN_RETIRE);
	f.old = f.old_over = false;
	f.strangers = true;
	assert_int_equal(plan_next(&f), PLAN_WAIT); /* for replicas that are behind this one */
	f.named_ms = TRIM;
	assert_int_equal(plan_next(&f), PLAN_TRIM);
}

static void test_a_new_leaf_of_the_same_authority(void **state)
{
	struct plan_facts f = steady;

	(void)state;
	f.serving_it = false;
	f.named_ms = 0; /* the bundles were healed a moment ago */
	assert_int_equal(plan_next(&f), PLAN_WAIT);
	f.same_ca = true; /* who trusts what is served trusts this */
	assert_int_equal(plan_next(&f), PLAN_SERVE);
}

/* A leaf must not end while its authority's successor settles. */
static void test_a_leaf_that_is_due_in_a_rotation(void **state)
{
	struct plan_facts f = steady;

	(void)state;
	f.next = PLAN_GOOD;
	f.named_ms = 0;
	assert_int_equal(plan_next(&f), PLAN_WAIT);
	f.leaf = PLAN_DUE;
	assert_int_equal(plan_next(&f),
			 PLAN_WAIT); /* a new one would end with its authority, too */
	f.ca_longer = true;
	assert_int_equal(plan_next(&f), PLAN_RENEW);
	f.ca = PLAN_KEYLESS; /* which cannot */
	assert_int_equal(plan_next(&f), PLAN_WAIT);
	f.serving = false; /* the last moment */
	assert_int_equal(plan_next(&f), PLAN_PROMOTE);
}

/* An authority near its end: its leaf's end is its own. */
static void test_a_leaf_that_ends_with_its_authority(void **state)
{
	struct plan_facts f = steady;

	(void)state;
	f.ca = f.leaf = PLAN_DUE;
	assert_int_equal(plan_next(&f), PLAN_STAGE);
	f.ca_longer = true;
	assert_int_equal(plan_next(&f), PLAN_RENEW);
	f.ca_longer = false;
	f.ask = PLAN_ASK_LEAF; /* who asks gets it */
	assert_int_equal(plan_next(&f), PLAN_RENEW);
}

/* Begun at 0, due at 60 s, ends at 90 s: the last moment is at 85 s. */
static struct plan_facts served_at(int64_t now_ms)
{
	struct plan_facts f = steady;

	plan_served(&f, now_ms, 0, 60000, 90000);
	return f;
}

static void test_how_long_what_is_served_is_good(void **state)
{
	struct plan_facts f = served_at(0);

	(void)state;
	assert_true(f.serving);
	assert_int_equal(f.calm_ms, 60000);
	f = served_at(60000);
	assert_true(f.serving);
	assert_int_equal(f.calm_ms, 25000);
	f = served_at(84999);
	assert_true(f.serving);
	assert_int_equal(f.calm_ms, 1);
	f = served_at(85000);
	assert_false(f.serving);
	assert_int_equal(f.calm_ms, 0);
	f = served_at(-1); /* a clock has jumped */
	assert_false(f.serving);
	assert_int_equal(f.calm_ms, 0);
	plan_served(&f, 8500, 0, 6000, 9000); /* a short life: half of what is left when due */
	assert_false(f.serving);
	plan_served(&f, 7000, 0, 6000, 9000);
	assert_int_equal(f.calm_ms, 500);
	plan_served(&f, 1000, 0, 0, 0); /* none */
	assert_false(f.serving);
}

/* No rest is longer than what is served is good for, whatever it waits for. */
static void test_rests_end_in_time(void **state)
{
	struct plan_facts f = served_at(0);

	(void)state;
	f.settle_ms = 60000;
	f.named_ms = 60000;
	assert_int_equal(plan_rest_ms(&f, 70000), 60000); /* due */
	assert_int_equal(plan_rest_ms(&f, 50000), 50000); /* a look */
	f.strangers = true;
	f.named_ms = 90000;
	assert_int_equal(plan_rest_ms(&f, 70000), 30000); /* trim */
	f.named_ms = 15000;
	assert_int_equal(plan_rest_ms(&f, 70000), 45000); /* settled */
	f = served_at(83000);
	f.settle_ms = 60000;
	f.named_ms = 15000;
	assert_int_equal(plan_rest_ms(&f, 60000), 2000); /* the last moment */
	f.secret = false;
	assert_int_equal(plan_rest_ms(&f, 60000), 2000);
	f = served_at(0);
	f.secret = false;
	f.absent_ms = 1000;
	assert_int_equal(plan_rest_ms(&f, 60000), 4000);
	assert_int_equal(plan_patience_ms(&f, 61000), 60000);
	assert_int_equal(plan_patience_ms(&f, 300), 300);
	f = served_at(88000);
	assert_int_equal(plan_patience_ms(&f, 60000), 1000); /* nothing good is served */
	assert_int_equal(plan_patience_ms(&f, 300), 300);
}

static void test_what_is_asked_for(void **state)
{
	struct plan_facts f = steady;

	(void)state;
	f.ask = PLAN_ASK_LEAF;
	assert_int_equal(plan_next(&f), PLAN_RENEW);
	f.ask = PLAN_ASK_CA;
	assert_int_equal(plan_next(&f), PLAN_STAGE);
}

static void test_a_secret_that_went(void **state)
{
	struct plan_facts f = steady;

	(void)state;
	f.secret = false;
	assert_int_equal(plan_next(&f), PLAN_WAIT);
	f.absent_ms = 5000;
	assert_int_equal(plan_next(&f), PLAN_CREATE);
	f.absent_ms = 0;
	f.serving = false; /* nothing is lost by being quick */
	assert_int_equal(plan_next(&f), PLAN_CREATE);
}

static void test_a_cluster_that_slept(void **state)
{
	struct plan_facts f = steady;

	(void)state;
	f.ca = f.leaf = PLAN_ENDED;
	f.serving = f.serving_it = false;
	assert_int_equal(plan_next(&f), PLAN_REPLACE);
	f.next = PLAN_GOOD; /* it fell asleep in a rotation */
	assert_int_equal(plan_next(&f), PLAN_PROMOTE);
}

static void test_a_lost_key(void **state)
{
	struct plan_facts f = steady;

	(void)state;
	f.ca = PLAN_KEYLESS;
	assert_int_equal(plan_next(&f), PLAN_STAGE);
	f.leaf = PLAN_BROKEN; /* nothing can sign: the next authority has to */
	assert_int_equal(plan_next(&f), PLAN_STAGE);
	f.ca = PLAN_GOOD;
	assert_int_equal(plan_next(&f), PLAN_RENEW);
}

/* ---- every combination ----------------------------------------------------------------------- */

static bool alive(enum plan_pair p)
{
	return p == PLAN_GOOD || p == PLAN_DUE;
}

static void complain(const struct plan_facts *f, enum plan_action a, const char *rule)
{
	fail_msg("%s: %s with secret %d absent %d ca %d next %d leaf %d old %d/%d ask %d named "
		 "%d/%d "
		 "strangers %d serving %d/%d",
		 plan_action_text(a), rule, f->secret, (int)f->absent_ms, f->ca, f->next, f->leaf,
		 f->old, f->old_over, f->ask, f->named, (int)f->named_ms, f->strangers,
		 f->serving_it, f->serving);
}

static bool settled(const struct plan_facts *f)
{
	return !f->serving || f->named_ms >= f->settle_ms;
}

/* What may never happen. */
static void check_safe(const struct plan_facts *f, enum plan_action a)
{
	bool ok = true;

	switch (a) {
	case PLAN_CREATE:
		ok = !f->secret;
		break;
	case PLAN_REPLACE: /* an authority that verifies, or could, is not thrown away */
		ok = f->secret && !alive(f->next) &&
		     (f->ca == PLAN_NONE || f->ca == PLAN_BROKEN || f->ca == PLAN_ENDED);
		break;
	case PLAN_ADD:
		ok = f->secret && !f->named;
		break;
	case PLAN_SERVE: /* no API server trusts it otherwise */
		ok = f->named && alive(f->leaf) && (settled(f) || f->same_ca);
		break;
	case PLAN_PROMOTE:
		ok = f->named && alive(f->next) && settled(f);
		break;
	case PLAN_RENEW: /* what ends with its authority is not renewed for nothing */
		ok = f->secret && alive(f->ca) &&
		     (f->leaf != PLAN_DUE || f->ca_longer || f->ask == PLAN_ASK_LEAF);
		break;
	case PLAN_STAGE:
		ok = f->secret && !alive(f->next);
		break;
	case PLAN_RETIRE:
		ok = f->old && f->old_over;
		break;
	case PLAN_TRIM: /* others may still serve what only a stranger verifies */
		ok = f->named && f->named_ms >= 2 * f->settle_ms && f->strangers;
		break;
	case PLAN_WAIT:
		break;
	}
	if (!ok)
		complain(f, a, "not allowed");
}

static void begin_anew(struct plan_facts *f)
{
	f->secret = true;
	f->ca = f->leaf = PLAN_GOOD;
	f->next = PLAN_NONE;
	f->old = f->old_over = f->named = f->serving_it = f->same_ca = false;
	f->ask = PLAN_ASK_NOTHING;
	f->named_ms = 0;
}

static void promote(struct plan_facts *f)
{
	f->ca = f->next;
	f->next = PLAN_NONE;
	f->leaf = PLAN_GOOD;
	f->old = true;
	f->old_over = f->serving_it = f->same_ca = false;
	f->ask = PLAN_ASK_NOTHING;
}

static void stage(struct plan_facts *f)
{
	f->next = PLAN_GOOD;
	f->ask = PLAN_ASK_NOTHING;
	f->named = false;
	f->named_ms = 0;
}

/* What the step makes of the facts, as another witness says it. */
static void apply(struct plan_facts *f, enum plan_action a)
{
	switch (a) {
	case PLAN_CREATE:
	case PLAN_REPLACE:
		begin_anew(f);
		break;
	case PLAN_ADD:
		f->named = true;
		f->named_ms = 0;
		break;
	case PLAN_SERVE:
		f->serving_it = f->serving = f->same_ca = true;
		break;
	case PLAN_RENEW:
		f->leaf = PLAN_GOOD;
		f->serving_it = false;
		f->ask = f->ask == PLAN_ASK_LEAF ? PLAN_ASK_NOTHING : f->ask;
		break;
	case PLAN_STAGE:
		stage(f);
		break;
	case PLAN_PROMOTE:
		promote(f);
		break;
	case PLAN_RETIRE:
		f->old = f->old_over = false;
		f->strangers = true;
		break;
	case PLAN_TRIM:
		f->strangers = false;
		break;
	case PLAN_WAIT: /* time passes */
		f->absent_ms = PLAN_RECREATE_MS;
		f->named_ms = f->named ? TRIM : 0;
		break;
	}
}

static bool in_order(const struct plan_facts *f)
{
	return f->secret && f->ca == PLAN_GOOD && f->leaf == PLAN_GOOD && f->next == PLAN_NONE &&
	       f->named && !f->strangers && f->serving && f->serving_it &&
	       !(f->old && f->old_over) && f->ask == PLAN_ASK_NOTHING;
}

/* From anywhere, every step is safe and the way ends in order. */
static void walk(struct plan_facts f)
{
	const struct plan_facts begin = f;

	for (int i = 0; i < STEPS; i++) {
		enum plan_action a = plan_next(&f);

		check_safe(&f, a);
		if (a == PLAN_WAIT && f.named_ms >= TRIM && f.absent_ms >= PLAN_RECREATE_MS) {
			if (!in_order(&f))
				complain(&begin, a, "the way from here ends in disorder");
			return;
		}
		apply(&f, a);
	}
	complain(&begin, plan_next(&f), "the way from here does not end");
}

static bool bit(unsigned *bits)
{
	bool b = *bits & 1;

	*bits >>= 1;
	return b;
}

static struct plan_facts facts_of(unsigned pairs, unsigned bits, enum plan_ask ask)
{
	struct plan_facts f = { .settle_ms = SETTLE, .ask = ask };

	f.ca = (enum plan_pair)(pairs % 7);
	f.next = (enum plan_pair)(pairs / 7 % 7);
	f.leaf = (enum plan_pair)(pairs / 49);
	f.secret = bit(&bits);
	f.old = bit(&bits);
	f.old_over = bit(&bits);
	f.named = bit(&bits);
	f.strangers = bit(&bits);
	f.serving_it = bit(&bits);
	f.serving = bit(&bits);
	f.same_ca = bit(&bits);
	f.ca_longer = bit(&bits);
	f.named_ms = bit(&bits) && f.named ? SETTLE : 0;
	f.absent_ms = bit(&bits) ? PLAN_RECREATE_MS : 0;
	return f;
}

static void test_every_combination(void **state)
{
	unsigned n = 0;

	(void)state;
	for (unsigned pairs = 0; pairs < 343; pairs++) {
		for (unsigned bits = 0; bits < 2048; bits++) {
			for (enum plan_ask ask = PLAN_ASK_NOTHING; ask <= PLAN_ASK_CA; ask++, n++) {
				struct plan_facts f = facts_of(pairs, bits, ask);

				/* that leaf is valid for long, so whoever serves it serves */
				f.serving |= f.serving_it && f.leaf == PLAN_GOOD;
				walk(f);
			}
		}
	}
	assert_int_equal(n, 2107392);
}

static void test_names_of_steps(void **state)
{
	(void)state;
	assert_string_equal(plan_action_text(PLAN_PROMOTE), "promote");
	for (int a = 0; a < PLAN_ACTIONS; a++)
		assert_non_null(plan_action_text((enum plan_action)a));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steady_is_left_alone),
		cmocka_unit_test(test_first_start),
		cmocka_unit_test(test_rotation_in_its_order),
		cmocka_unit_test(test_a_new_leaf_of_the_same_authority),
		cmocka_unit_test(test_a_leaf_that_is_due_in_a_rotation),
		cmocka_unit_test(test_a_leaf_that_ends_with_its_authority),
		cmocka_unit_test(test_how_long_what_is_served_is_good),
		cmocka_unit_test(test_rests_end_in_time),
		cmocka_unit_test(test_what_is_asked_for),
		cmocka_unit_test(test_a_secret_that_went),
		cmocka_unit_test(test_a_cluster_that_slept),
		cmocka_unit_test(test_a_lost_key),
		cmocka_unit_test(test_every_combination),
		cmocka_unit_test(test_names_of_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
