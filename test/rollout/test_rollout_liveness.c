/*
 * From every state that a small fleet can be in, however it came there: when the world heals, the goal is reached
 * within a bound, and nothing goes round in circles. The states are enumerated, not reached: half-done rolls, three
 * revisions, Recreate at every stage, sizes changed in the middle, revisions that never come up, fleets that somebody
 * has stopped, a StatefulSet that is gone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test/rollout/world.h"

enum { ROUNDS = 30, SMALL_ROUNDS = 150 };

static struct world_set fine, fine_slowly;
static long starts;
static int most, most_slowly;

/* The size at the goal: what is asked for; under autoscaling what was there, or was remembered, or the smallest. */
static int size_due(const struct model *m)
{
	if (m->want >= 0)
		return m->want;
	if (m->exists && m->remembered > 0)
		return m->remembered;
	return m->exists && m->replicas > 0 ? m->replicas : 2;
}

static int heal(const struct world *from, struct world_set *known, bool (*round)(struct world *),
		int bound)
{
	static uint64_t path[SMALL_ROUNDS];
	struct world w = *from;
	int n = 0, rounds;

	for (;;) {
		uint64_t key = world_pack(&w);

		/* the first round is always done: what follows it is what starts have in common */
		if (n > 0 && world_set_has(known, key))
			break;
		if (n == bound) {
			world_print(from);
			print_message("ends in\n");
			world_print(&w);
			fail_msg("the goal is not reached within %d rounds", bound);
		}
		path[n++] = key;
		if (!round(&w)) {
			assert_int_equal(w.m.replicas, size_due(&from->m));
			break;
		}
	}
	rounds = n;
	while (n > 1)
		(void)world_set_add(known, path[--n]);
	return rounds;
}

/* Each set of broken revisions and of those that stand apart has its own worlds. */
static void next_kind(struct world *w, unsigned loud, unsigned silent, unsigned apart)
{
	world_set_done(&fine);
	world_set_done(&fine_slowly);
	world_set_init(&fine, 1 << 20);
	world_set_init(&fine_slowly, 1 << 22);
	w->m.loud = loud;
	w->m.silent = silent;
	w->m.apart = apart;
}

static void from_here(const struct world *w)
{
	int n = heal(w, &fine, world_heal_round, ROUNDS);

	if (n > most)
		most = n;
	n = heal(w, &fine_slowly, world_heal_slowly, SMALL_ROUNDS);
	if (n > most_slowly)
		most_slowly = n;
	starts++;
}

/* --- the states ------------------------------------------------------------------------------------- */

enum { POD_KINDS = 8 };

/* Missing, terminating, or of one of three revisions, Ready or not. */
static bool set_pod(struct world *w, int i, int kind)
{
	struct model_pod *p = &w->m.pods[i];

	memset(p, 0, sizeof(*p));
	if (!kind)
		return true;
	p->exists = true;
	if (kind == 1) {
		p->terminating = true;
		return true;
	}
	p->revision = (signed char)((kind - 2) % 3);
	p->ready = p->reachable = kind >= 5;
	return !p->ready || !model_broken(&w->m, p->revision);
}

static void with_spec(struct world *w)
{
	static const int wants[] = { -1, 1, 2, 3 };

	for (int i = 0; i < 4 * 3; i++) {
		w->m.want = wants[i % 4];
		w->m.wanted = i / 4;
		from_here(w);
	}
}

/* Every partition, both of the two update revisions that differ in kind, remembered or not. */
static void with_statefulset(struct world *w, int replicas)
{
	w->m.exists = true;
	w->m.replicas = replicas;
	for (int partition = 0; partition <= replicas + 2; partition++) {
		w->m.partition = partition == replicas + 2 ? ROLLOUT_REST : partition;
		for (int i = 0; i < 4; i++) {
			w->m.update = i % 2;
			w->m.remembered = i < 2 ? -1 : 2;
			w->m.observed = partition % 2;
			with_spec(w);
		}
	}
}

static void with_pods(struct world *w, int replicas, int slots)
{
	long all = 1;

	for (int i = 0; i < slots; i++)
		all *= POD_KINDS;
	for (long n = 0; n < all; n++) {
		bool possible = true;

		for (long i = 0, rest = n; i < slots; i++, rest /= POD_KINDS)
			possible &= set_pod(w, (int)i, (int)(rest % POD_KINDS));
		if (possible)
			with_statefulset(w, replicas);
	}
	for (int i = 0; i < slots; i++)
		(void)set_pod(w, i, 0);
}

static const struct {
	unsigned loud, silent, apart;
} kinds[] = {
	{ 0, 0, 0 }, { 2, 0, 0 }, { 0, 2, 0 }, { 1, 0, 0 }, { 0, 1, 0 }, { 0, 3, 0 },
	{ 1, 2, 0 }, { 0, 0, 2 }, { 0, 0, 4 }, { 0, 2, 6 }, { 2, 0, 4 }, { 0, 1, 2 },
};

static void enumerate(int replicas, int slots)
{
	size_t step = getenv("QUICK") ? 5 : 1; /* for valgrind */

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i += step) {
		struct world w;

		world_begin(&w, 0);
		w.pure = false; /* the states may begin with any mix */
		next_kind(&w, kinds[i].loud, kinds[i].silent, kinds[i].apart);
		with_pods(&w, replicas, slots);
	}
}

static int begin(void **state)
{
	(void)state;
	starts = 0;
	most = most_slowly = 0;
	return 0;
}

static int report(void **state)
{
	(void)state;
	print_message("%ld states reach the goal; at most %d rounds, %d of the smallest, to what "
		      "another one does\n",
		      starts, most, most_slowly);
	world_set_done(&fine);
	world_set_done(&fine_slowly);
	return 0;
}

/* --- the tests -------------------------------------------------------------------------------------- */

static void stopped_fleets(void **state)
{
	(void)state;
	enumerate(0, 2); /* pods of it may be left */
}

static void one_pod_and_a_surplus_one(void **state)
{
	(void)state;
	enumerate(1, 2);
}

static void two_pods(void **state)
{
	(void)state;
	enumerate(2, 2);
}

static void two_pods_and_a_surplus_one(void **state)
{
	(void)state;
	enumerate(2, 3);
}

static void three_pods(void **state)
{
	(void)state;
	enumerate(3, 3);
}

static void no_statefulset(void **state)
{
	struct world w;

	(void)state;
	world_begin(&w, 0);
	next_kind(&w, 2, 0, 4);
	w.pure = false;
	w.m.exists = false;
	for (int n = 0; n < POD_KINDS * POD_KINDS; n++) {
		if (set_pod(&w, 0, n % POD_KINDS) && set_pod(&w, 1, n / POD_KINDS))
			with_spec(&w);
	}
}

/* A revision that never comes up takes one pod down, and then all rests until the spec changes. */
static void broken_revision_takes_one_pod(void **state)
{
	(void)state;
	for (int n = 1; n <= 3; n++) {
		for (int silent = 0; silent < 2; silent++) {
			struct world w;
			struct rollout_decision d;
			int up = 0;

			world_begin(&w, n);
			w.m.wanted = 1;
			w.m.loud = silent ? 0 : 2;
			w.m.silent = silent ? 2 : 0;
			for (int i = 0; i < 20; i++) {
				world_turn(&w, NULL);
				model_controller_settle(&w.m);
				model_heal(&w.m);
			}
			world_decide(&w, &d);
			assert_int_equal(d.write, ROLLOUT_WRITE_NONE);
			assert_int_equal(d.reason, silent ? ROLLOUT_NOT_READY : ROLLOUT_STUCK);
			assert_int_equal(d.ordinal, n - 1);
			assert_int_equal(d.phase, ROLLOUT_ROLLING_OUT);
			for (int i = 0; i < n; i++)
				up += w.m.pods[i].ready && w.m.pods[i].revision == 0;
			assert_int_equal(up, n - 1);
			w.m.wanted = 2;
			for (int i = 0; i < 20; i++)
				(void)world_heal_round(&w);
			assert_true(model_at_goal(&w.m));
		}
	}
}

/* Restarted before every turn, a process knows no time and no sweep: it waits, and does nothing that it would not do
 * otherwise. Restarted after each of its writes, it comes to the same end. */
static void forgetting_only_delays(void **state)
{
	int delayed = 0;

	(void)state;
	for (unsigned apart = 0; apart < 4; apart += 2) {
		struct world w;
		int n = 0;

		world_begin(&w, 3);
		w.m.wanted = 1;
		w.m.apart = apart;
		while (!model_at_goal(&w.m)) {
			struct rollout_decision knows, forgot;
			struct world then = w;

			assert_true(n++ < 100);
			world_decide(&w, &knows);
			(void)world_restart(&then);
			world_decide(&then, &forgot);
			delayed += forgot.write != knows.write;
			if (forgot.write != ROLLOUT_WRITE_NONE)
				assert_int_equal(forgot.write, knows.write);
			else
				assert_true(forgot.requeue > 0);
			world_write(&w, &knows, &w.m);
			if (knows.write != ROLLOUT_WRITE_NONE)
				(void)world_restart(&w);
			(void)world_controller(&w);
			if (!world_controller(&w))
				model_heal(&w.m);
		}
	}
	print_message("%d decisions delayed\n", delayed);
	assert_true(delayed > 0);
}

static bool same_words(const struct rollout_decision *a, const struct rollout_decision *b)
{
	return a->phase == b->phase && a->reason == b->reason && a->ordinal == b->ordinal &&
	       a->count == b->count;
}

/* What the world does while our process lives and has nothing to write; the sweep is done in no time, or takes long. */
static void world_goes_on(struct world *w, bool slow_sweep)
{
	for (int i = 0; i < MODEL_PODS; i++) {
		if (world_pod_gone(w, i) || world_pod_ready(w, i))
			return;
	}
	if (world_controller(w))
		return;
	if (slow_sweep)
		(void)(world_time(w) || world_sweep(w));
	else
		(void)(world_sweep(w) || world_time(w));
}

/* Killed after every single write, those of the status too: it must not find something else to say each time. */
static void killed_after_every_write(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < 4; kind++) {
		struct rollout_decision said, d;
		struct world w;
		int kills = 0;

		memset(&said, 0, sizeof(said));
		world_begin(&w, 3);
		w.m.wanted = 1;
		w.m.want = 2;
		w.m.apart = kind & 2;
		for (int n = 0; !model_at_goal(&w.m); n++) {
			assert_true(n < 300);
			world_decide(&w, &d);
			if (d.write == ROLLOUT_WRITE_NONE && same_words(&d, &said)) {
				world_goes_on(&w, kind & 1);
				continue;
			}
			world_write(&w, &d, &w.m);
			said = d;
			kills++;
			(void)world_restart(&w);
		}
		print_message("killed %d times\n", kills);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(stopped_fleets, begin, report),
		cmocka_unit_test_setup_teardown(one_pod_and_a_surplus_one, begin, report),
		cmocka_unit_test_setup_teardown(two_pods, begin, report),
		cmocka_unit_test_setup_teardown(two_pods_and_a_surplus_one, begin, report),
		cmocka_unit_test_setup_teardown(three_pods, begin, report),
		cmocka_unit_test_setup_teardown(no_statefulset, begin, report),
		cmocka_unit_test(broken_revision_takes_one_pod),
		cmocka_unit_test(forgetting_only_delays),
		cmocka_unit_test(killed_after_every_write),
	};
	int bad = 0;

	/* by a StatefulSet controller that counts unavailable pods, and by one that does not */
	for (world_budget = 0; world_budget <= 1; world_budget++)
		bad += cmocka_run_group_tests_name(world_budget ? "counting" : "not counting",
						   tests, NULL, NULL);
	return bad;
}
