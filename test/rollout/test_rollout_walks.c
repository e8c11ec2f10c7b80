/*
 * What can happen to a fleet: from a healthy one, every order of our turns, the StatefulSet controller's actions, what
 * pods and people do, changes of the spec and restarts of our process. In each world that is reached the promises hold
 * (promises.c), never two pods are down because of us (world.c), and the goal is reached from there when all heals.
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

enum { SLOTS = 3, BOUND = 120 };

/* This many times more, as a power of two: SOAK=1, or QUICK=1 (for valgrind). */
static int deeper;

/* What may be done to a world: a kind of event, and for whom. */
enum event {
	EVENT_TURN,
	EVENT_CONTROLLER,
	EVENT_SWEEP,
	EVENT_TIME,
	EVENT_RESTART,
	EVENT_READY, /* those from here on are about a pod */
	EVENT_UNREADY,
	EVENT_GONE,
	EVENT_DELETED,
	EVENT_LOOPS,
	EVENT_WANTED, /* about a revision */
	EVENT_WANT,   /* about a size */
	EVENTS,
};

static bool happen(struct world *w, enum event what, int whom, struct promises_tally *tally)
{
	switch (what) {
	case EVENT_TURN:
		world_turn(w, tally);
		return true;
	case EVENT_CONTROLLER:
		return world_controller(w);
	case EVENT_SWEEP:
		return world_sweep(w);
	case EVENT_TIME:
		return world_time(w);
	case EVENT_RESTART:
		return world_restart(w);
	case EVENT_READY:
		return world_pod_ready(w, whom);
	case EVENT_UNREADY:
		return world_pod_unready(w, whom);
	case EVENT_GONE:
		return world_pod_gone(w, whom);
	case EVENT_DELETED:
		return world_pod_deleted(w, whom);
	case EVENT_LOOPS:
		return world_pod_loops(w, whom);
	case EVENT_WANTED:
		w->m.wanted = whom;
		return true;
	case EVENT_WANT:
		w->m.want = whom;
		return true;
	case EVENTS:
		break;
	}
	return false;
}

/* --- the goal --------------------------------------------------------------------------------------- */

/* Worlds from which the goal is known to be reached. */
static struct world_set fine;
static int longest;

static void must_heal(const struct world *from)
{
	static uint64_t path[BOUND];
	struct world w = *from;
	int n = 0;

	for (;;) {
		uint64_t key = world_pack(&w);

		if (world_set_has(&fine, key))
			break;
		if (n == BOUND) {
			world_print(from);
			fail_msg("the goal is not reached within %d rounds", BOUND);
		}
		path[n++] = key;
		if (!world_heal_slowly(&w))
			break;
	}
	if (n > longest)
		longest = n;
	while (n > 0)
		(void)world_set_add(&fine, path[--n]);
}

/* --- every order of events -------------------------------------------------------------------------- */

struct search {
	struct world_set seen;
	struct found {
		uint64_t world;
		size_t from;
		int event, whom;
	} * todo; /* first in, first out; ends where the set is full */
	size_t at, last;
	struct promises_tally tally;
	unsigned events; /* those that may happen: one bit each */
	int sizes, revisions;
};

/* The search that runs, and what it tries at the moment: to tell how a failure came about. */
static struct search *now;
static struct world now_fixed;
static struct found trying;

static void found(struct search *s, const struct world *w)
{
	uint64_t key = world_pack(w);

	if (!world_set_add(&s->seen, key))
		return;
	trying.world = key;
	s->todo[s->last++] = trying;
}

static void tell_how(void)
{
	static const char *const names[] = { "turn",	"controller", "sweep",	 "time",
					     "restart", "ready",      "unready", "gone",
					     "deleted", "loops",      "wanted",	 "want" };
	size_t path[100], n = 0;

	for (size_t i = trying.from; i && n < 100; i = now->todo[i].from)
		path[n++] = i;
	while (n > 0) {
		const struct found *f = &now->todo[path[--n]];
		struct world w = now_fixed;

		world_unpack(f->world, &w);
		print_message("-- %s %d\n", names[f->event], f->whom);
		world_print(&w);
	}
	print_message("-- %s %d\n", names[trying.event], trying.whom);
}

static int whoms(const struct search *s, int event)
{
	if (event < EVENT_READY)
		return 1;
	if (event == EVENT_WANTED)
		return s->revisions;
	return event == EVENT_WANT ? s->sizes : SLOTS;
}

static void expand(struct search *s, const struct world *from)
{
	for (int event = 0; event < EVENTS; event++) {
		if (!(s->events >> event & 1))
			continue;
		for (int i = 0; i < whoms(s, event); i++) {
			struct world w = *from;

			trying.event = event;
			trying.whom = i;
			if (happen(&w, (enum event)event, event == EVENT_WANT ? i + 1 : i,
				   &s->tally))
				found(s, &w);
		}
	}
}

/* All worlds that can be reached, the nearest first, up to `limit`. */
static void search(struct world *from, unsigned events, int sizes, size_t limit, const char *name)
{
	struct search s = { .events = events, .sizes = sizes, .revisions = 3 };
	struct world w = *from;

	world_set_init(&s.seen, 2 * limit);
	world_set_init(&fine, 8 * limit);
	longest = 0;
	s.todo = calloc(limit, sizeof(*s.todo));
	assert_non_null(s.todo);
	now = &s;
	now_fixed = *from;
	world_how = tell_how;
	found(&s, from);
	for (s.at = 0; s.at < s.last; s.at++) {
		world_unpack(s.todo[s.at].world, &w);
		trying.from = s.at;
		must_heal(&w);
		if (!world_set_full(&s.seen))
			expand(&s, &w);
	}
	print_message(
		"%s: %zu worlds%s, %ld decisions, at most %d rounds to the goal or a known way\n",
		name, s.seen.n, world_set_full(&s.seen) ? " (the nearest)" : ": all there are",
		s.tally.states, longest);
	world_how = NULL;
	free(s.todo);
	world_set_done(&s.seen);
	world_set_done(&fine);
}

static const struct {
	const char *name;
	unsigned loud, silent, apart;
} revisions[] = {
	{ "good revisions", 0, 0, 0 },
	{ "revision 1 loops", 2, 0, 0 },
	{ "revision 1 fails silently", 0, 2, 0 },
	{ "revision 1 needs Recreate", 0, 0, 2 },
	{ "revision 2 needs Recreate, 1 fails", 2, 0, 4 },
	{ "revisions 1 and 2 need Recreate, 1 fails silently", 0, 2, 6 },
};

enum {
	ALL = (1 << EVENTS) - 1,
	NO_SIZE = ALL & ~(1 << EVENT_WANT),
	ORDERLY = ALL & ~(1 << EVENT_UNREADY | 1 << EVENT_LOOPS | 1 << EVENT_DELETED),
};

static void search_all(int size, unsigned events, int sizes, size_t limit, const char *what)
{
	char name[120];

	for (size_t i = 0; i < sizeof(revisions) / sizeof(*revisions); i++) {
		struct world w;

		world_begin(&w, size);
		w.m.loud = revisions[i].loud;
		w.m.silent = revisions[i].silent;
		w.m.apart = revisions[i].apart;
		(void)snprintf(name, sizeof(name), "%s, %s", what, revisions[i].name);
		search(&w, events, sizes, limit, name);
	}
}

static void two_pods(void **state)
{
	(void)state;
	search_all(2, NO_SIZE, 0, (size_t)1 << (deeper < 0 ? 14 : 20), "2 pods");
}

static void one_to_two_pods(void **state)
{
	(void)state;
	search_all(1, ALL, 2, (size_t)1 << (14 + deeper), "1 to 2 pods");
}

static void three_pods(void **state)
{
	(void)state;
	search_all(3, ORDERLY, 3, (size_t)1 << (15 + deeper),
		   "1 to 3 pods, nothing fails by itself");
}

/* --- long random walks ------------------------------------------------------------------------------ */

static uint64_t random_state;

static unsigned draw(unsigned below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (unsigned)(random_state >> 33) % below;
}

/* A decision that was taken a while ago, on what the StatefulSet was then. */
struct late {
	bool pending;
	struct rollout_decision d;
	struct model seen;
};

static bool same_statefulset(const struct model *a, const struct model *b)
{
	return a->exists == b->exists && a->replicas == b->replicas &&
	       a->partition == b->partition && a->current == b->current && a->update == b->update &&
	       a->remembered == b->remembered && a->observed == b->observed;
}

/* The write carries the resourceVersion that was read, and the template of the spec that was read. */
static void late_write(struct world *w, struct late *late)
{
	int wanted = w->m.wanted;

	if (!late->pending) {
		late->seen = w->m;
		world_decide(w, &late->d);
		late->pending = late->d.write != ROLLOUT_WRITE_NONE;
		return;
	}
	late->pending = false;
	if (!same_statefulset(&late->seen, &w->m))
		return;
	w->m.wanted = late->seen.wanted;
	world_write(w, &late->d, &late->seen);
	w->m.wanted = wanted;
}

/* Mostly what makes progress, now and then what disturbs. */
static void random_event(struct world *w, struct late *late, struct promises_tally *tally)
{
	static const enum event usual[] = { EVENT_CONTROLLER, EVENT_CONTROLLER, EVENT_READY,
					    EVENT_READY,      EVENT_GONE,	EVENT_SWEEP,
					    EVENT_TIME };
	unsigned n = draw(100);

	if (n < 30)
		late_write(w, late);
	else if (n < 88)
		(void)happen(w, usual[draw(7)], (int)draw(4), tally);
	else if (n < 96)
		(void)happen(w, (enum event)(EVENT_RESTART + draw(EVENT_LOOPS - EVENT_RESTART + 1)),
			     (int)draw(4), tally);
	else if (n < 98)
		(void)happen(w, EVENT_WANTED, (int)draw(4), tally);
	else
		(void)happen(w, EVENT_WANT, 1 + (int)draw(3), tally);
}

static void random_walks(void **state)
{
	struct promises_tally tally = { 0 };
	long events = 0;
	int rounds = 0, goals = 0;

	(void)state;
	world_how = NULL;
	for (unsigned seed = 1; seed <= (64U << (deeper + 4)); seed++) {
		struct world w;
		struct late late = { .pending = false };
		int n = 0;

		random_state = seed * UINT64_C(0x9e3779b97f4a7c15);
		world_begin(&w, 3);
		w.m.loud = draw(3) ? 0 : 1U << draw(3);
		w.m.silent = draw(3) ? 0 : 1U << draw(3);
		w.m.apart = draw(2) ? 0 : 1U << draw(4);
		if (model_broken(&w.m, 0)) /* a fleet that never came up */
			model_heal(&w.m);
		for (int i = 0; i < 400; i++, events++)
			random_event(&w, &late, &tally);
		goals += model_at_goal(&w.m);
		while (world_heal_slowly(&w)) {
			if (++n > BOUND)
				fail_msg("seed %u: the goal is not reached", seed);
		}
		if (n > rounds)
			rounds = n;
	}
	print_message("%d walks, %ld events, %d at the goal in between; goal within %d rounds\n",
		      64 << (deeper + 4), events, goals, rounds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_to_two_pods),
		cmocka_unit_test(two_pods),
		cmocka_unit_test(three_pods),
		cmocka_unit_test(random_walks),
	};
	int bad = 0;

	deeper = getenv("SOAK") ? 5 : getenv("QUICK") ? -4 : 0;
	/* by a StatefulSet controller that counts unavailable pods, and by one that does not */
	for (world_budget = 0; world_budget <= 1; world_budget++)
		bad += cmocka_run_group_tests_name(world_budget ? "counting" : "not counting",
						   tests, NULL, NULL);
	return bad;
}
