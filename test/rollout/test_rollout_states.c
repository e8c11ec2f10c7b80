/*
 * Every state of a small fleet, one by one: promises.c says what rollout_decide may never do in it, and what it must
 * do.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test/rollout/promises.h"

static struct rollout_obs obs;
static struct promises_tally tally;
/* QUICK=1, for valgrind: one surrounding of so many. */
static unsigned thin = 1;

/*
 * Once more with somebody else who may change the size: where that plays a part, and in a sample of the other states.
 */
static void check(void)
{
	static struct promises_tally with_autoscaler;
	long idle = tally.writes[ROLLOUT_WRITE_NONE];

	promises_check(&obs, &tally);
	if (tally.writes[ROLLOUT_WRITE_NONE] > idle && tally.states % 16)
		return;
	obs.autoscaler = true;
	promises_check(&obs, &with_autoscaler);
	obs.autoscaler = false;
	if (tally.states % 16 == 1) {
		obs.leaving = true;
		promises_check(&obs, &with_autoscaler);
		obs.leaving = false;
	}
}

/* --- pods ------------------------------------------------------------------------------------------- */

static struct rollout_pod kinds[1000];
static int n_kinds;

static void add_kind(struct rollout_pod p)
{
	assert_true(n_kinds < 1000);
	kinds[n_kinds++] = p;
}

static void set_revision(struct rollout_pod *p, int revision)
{
	p->updated = revision == 1;
	p->superseded = revision == 2;
}

/* Every answer to a sweep. */
static void add_answers(struct rollout_pod p)
{
	p.state = ROLLOUT_STATE_REACHED;
	add_kind(p);
	p.restoring = 3;
	add_kind(p);
	p.restoring = 0;
	p.state = ROLLOUT_STATE_UNREACHABLE;
	add_kind(p);
	p.state = ROLLOUT_STATE_UNKNOWN;
	add_kind(p);
}

/* Not Ready; Ready; Ready and available. */
static void set_ready(struct rollout_pod *p, int how)
{
	p->ready = how > 0;
	p->available = how > 1;
}

/* Every pod there can be. */
static void kinds_all(void)
{
	n_kinds = 0;
	for (int fault = 0; fault <= ROLLOUT_FAULT_CLAIM_LOST; fault++)
		add_kind((struct rollout_pod){ .fault = (enum rollout_fault)fault });
	for (int i = 0; i < 3 * 2 * 3 * (ROLLOUT_FAULT_CLAIM_LOST + 1); i++) {
		struct rollout_pod p = { .exists = true, .terminating = i / 3 % 2 };

		set_ready(&p, i % 3);
		set_revision(&p, i / 6 % 3);
		p.fault = (enum rollout_fault)(i / 18);
		add_answers(p);
	}
}

/* One fault that a template cures and one that it does not; a Ready pod has none; an answer each. */
static void kinds_pairs(void)
{
	static const enum rollout_fault faults[] = { ROLLOUT_FAULT_NONE, ROLLOUT_FAULT_CRASH_LOOP,
						     ROLLOUT_FAULT_NODE_LOST };

	n_kinds = 0;
	add_kind((struct rollout_pod){ .fault = ROLLOUT_FAULT_NONE });
	add_kind((struct rollout_pod){ .fault = ROLLOUT_FAULT_REFUSED });
	for (int i = 0; i < 3 * 2 * 5; i++) {
		struct rollout_pod p = { .exists = true, .terminating = i / 3 % 2 };
		int how = i / 6;

		set_revision(&p, i % 3);
		set_ready(&p, how < 3 ? 0 : how - 2);
		p.fault = how < 3 ? faults[how] : ROLLOUT_FAULT_NONE;
		add_answers(p);
	}
}

static void add_plain(int revision, int how, enum rollout_fault fault, enum rollout_state state)
{
	struct rollout_pod p = { .exists = true, .fault = fault, .state = state };

	set_revision(&p, revision);
	set_ready(&p, how);
	add_kind(p);
}

/* Those that gate 1 tells apart, with answers that fit; one of each kind that gate 2 tells apart. */
static void kinds_rich(void)
{
	n_kinds = 0;
	add_kind((struct rollout_pod){ .exists = false });
	add_kind((struct rollout_pod){ .fault = ROLLOUT_FAULT_REFUSED });
	for (int revision = 0; revision < 3; revision++) {
		add_plain(revision, 2, ROLLOUT_FAULT_NONE, ROLLOUT_STATE_REACHED);
		add_plain(revision, 0, ROLLOUT_FAULT_NONE, ROLLOUT_STATE_UNREACHABLE);
		add_plain(revision, 0, ROLLOUT_FAULT_IMAGE, ROLLOUT_STATE_UNREACHABLE);
		add_plain(revision, 0, ROLLOUT_FAULT_CLAIM_LOST, ROLLOUT_STATE_UNREACHABLE);
		add_kind((struct rollout_pod){ .exists = true,
					       .terminating = true,
					       .updated = revision == 1,
					       .superseded = revision == 2,
					       .state = ROLLOUT_STATE_UNREACHABLE });
	}
	add_plain(1, 1, ROLLOUT_FAULT_NONE, ROLLOUT_STATE_REACHED);
	add_plain(0, 2, ROLLOUT_FAULT_NONE, ROLLOUT_STATE_UNREACHABLE);
	add_plain(1, 2, ROLLOUT_FAULT_NONE, ROLLOUT_STATE_UNKNOWN);
	add_plain(1, 2, ROLLOUT_FAULT_NONE, ROLLOUT_STATE_REACHED);
	kinds[n_kinds - 1].restoring = 5;
}

static void kinds_essential(void)
{
	n_kinds = 0;
	add_kind((struct rollout_pod){ .exists = false });
	for (int revision = 0; revision < 3; revision++) {
		add_plain(revision, 2, ROLLOUT_FAULT_NONE, ROLLOUT_STATE_REACHED);
		add_plain(revision, 0, ROLLOUT_FAULT_NONE, ROLLOUT_STATE_UNREACHABLE);
	}
	add_plain(2, 0, ROLLOUT_FAULT_CRASH_LOOP, ROLLOUT_STATE_UNREACHABLE);
	add_kind((struct rollout_pod){
		.exists = true, .terminating = true, .state = ROLLOUT_STATE_UNREACHABLE });
}

/* --- the fleet around them -------------------------------------------------------------------------- */

static void start_plain(int n)
{
	memset(&obs, 0, sizeof(obs));
	obs.exists = obs.observed = obs.pods_current = true;
	obs.n_pods = n;
	obs.start = 2;
	obs.settle = SETTLE;
	obs.hold = HOLD;
	obs.recheck = RECHECK;
}

/* Digits of a mixed-radix number, taken one after the other. */
static int digit(unsigned *from, unsigned radix)
{
	unsigned d = *from % radix;

	*from /= radix;
	return (int)d;
}

enum { SURROUNDINGS = 4 * 2 * 3 * 2 * 4 };

/* Everything but size and partition; one of SURROUNDINGS. */
static void surround(unsigned n)
{
	static const int64_t quiets[] = { SETTLE - 1, PATIENCE - 1, PATIENCE };
	static unsigned spread;
	int template = digit(&n, 4);

	/* nothing; a template that rolls; one that needs a stop; stopped, the template still due or not any more */
	obs.template_due = template > 0 && (template <3 || n % 2);
	obs.stop_all = template == 2 || (template == 3 && n % 4 == 1);
	obs.remembered = template == 3 ? obs.replicas + 1 : -1;
	obs.swept = digit(&n, 2);
	obs.quiet = quiets[digit(&n, 3)];
	obs.settled = digit(&n, 2);
	obs.budget = (int)(spread++ % 4);
	obs.want = obs.replicas;
	switch (digit(&n, 4)) {
	case 0:
		break;
	case 1:
		obs.want = -1;
		break;
	case 2:
		obs.want = obs.replicas + 2;
		break;
	default:
		obs.want = obs.replicas > 1 ? obs.replicas - 1 : 1;
	}
}

/* Held, each partly released, all released, beyond the size, at rest. */
static int n_partitions(void)
{
	return obs.replicas + 3;
}

static int partition_of(int n)
{
	if (n == obs.replicas + 2)
		return ROLLOUT_REST;
	return n == obs.replicas + 1 ? obs.replicas + 5 : n;
}

static void check_empty_or_not(void)
{
	for (int i = 0; i < obs.n_pods; i++) {
		if (obs.pods[i].exists) {
			check();
			return;
		}
	}
	obs.empty = HOLD - 1;
	check();
	obs.empty = HOLD;
	check();
	obs.empty = 0;
}

/* Every surrounding of the pods as they are; `step` > 1 leaves some out, others for other pods. */
static void check_around(int replicas, unsigned step)
{
	static unsigned turn;

	step *= thin;
	obs.replicas = replicas;
	for (int p = 0; p < n_partitions(); p++) {
		obs.partition = partition_of(p);
		for (unsigned s = step > 1 ? turn++ % step : 0; s < SURROUNDINGS; s += step) {
			surround(s);
			check_empty_or_not();
		}
	}
}

/* n pods, each of every kind. */
static void check_pods(int n, int at, int replicas, unsigned step)
{
	if (at == n) {
		check_around(replicas, step);
		return;
	}
	for (int k = 0; k < n_kinds; k++) {
		obs.pods[at] = kinds[k];
		check_pods(n, at + 1, replicas, step);
	}
}

static void report(const char *what)
{
	print_message("%s: %ld states; no write %ld, create %ld, freeze %ld, step %ld, rest %ld, "
		      "scale %ld, stop %ld, renew %ld, start %ld\n",
		      what, tally.states, tally.writes[0], tally.writes[1], tally.writes[2],
		      tally.writes[3], tally.writes[4], tally.writes[5], tally.writes[6],
		      tally.writes[7], tally.writes[8]);
	for (int w = ROLLOUT_WRITE_FREEZE; w <= ROLLOUT_WRITE_START; w++)
		assert_true(tally.writes[w] > 0);
}

static int begin(void **state)
{
	(void)state;
	memset(&tally, 0, sizeof(tally));
	return 0;
}

/* --- the tests -------------------------------------------------------------------------------------- */

/* What stands above everything else: each combination with every pod. */
static void flags_with(unsigned flags)
{
	obs.paused = flags & 1;
	obs.refused = flags & 2;
	obs.deleting = flags & 4;
	obs.exists = !(flags & 8);
	obs.no_workload = flags & 16;
	obs.observed = !(flags & 32);
	obs.pods_current = !(flags & 64);
	for (unsigned s = 0; s < SURROUNDINGS; s++) {
		surround(s);
		check_empty_or_not();
	}
}

/* A new fleet begins beside orphans, which it takes over, but not beside pods of an earlier one. */
static void pods_of_an_earlier_fleet(void **state)
{
	struct rollout_decision d;

	(void)state;
	start_plain(2);
	obs.exists = false;
	obs.pods[0] = obs.pods[1] = (struct rollout_pod){ .exists = true, .ready = true };
	rollout_decide(&obs, &d);
	assert_int_equal(d.write, ROLLOUT_WRITE_CREATE);
	obs.pods[1].foreign = true;
	promises_check(&obs, &tally);
	rollout_decide(&obs, &d);
	assert_int_equal(d.write, ROLLOUT_WRITE_NONE);
	assert_int_equal(d.reason, ROLLOUT_PODS_LEFT);
	assert_int_equal(d.count, 1);
	assert_int_equal(d.requeue, obs.recheck);
	obs.exists = obs.leaving = true;
	rollout_decide(&obs, &d);
	assert_int_equal(d.write, ROLLOUT_WRITE_NONE);
	assert_int_equal(d.reason, ROLLOUT_LEAVING);
	memset(&obs, 0, sizeof(obs));
}

static void one_pod_whole_cross_product(void **state)
{
	(void)state;
	start_plain(1);
	kinds_all();
	check_pods(1, 0, 1, 1);
	check_pods(1, 0, 0, 1);
	kinds_rich();
	for (int k = 0; k < n_kinds; k++) {
		obs.pods[0] = kinds[k];
		for (unsigned f = 0; f < 128; f++) {
			obs.replicas = f % 3 ? 1 : 0;
			obs.partition = f & 1 ? ROLLOUT_REST : 0;
			flags_with(f);
			obs.partition = 1;
			flags_with(f);
		}
	}
	assert_true(tally.writes[ROLLOUT_WRITE_CREATE] > 0);
	report("1 pod");
}

static void two_pods_whole_cross_product(void **state)
{
	(void)state;
	start_plain(2);
	kinds_pairs();
	check_pods(2, 0, 2, 1);
	check_pods(2, 0, 1, 1);
	check_pods(2, 0, 0, 5);
	kinds_all(); /* every fault on either, in a part of the surroundings */
	check_pods(2, 0, 2, 67);
	report("2 pods");
}

static void three_pods(void **state)
{
	(void)state;
	start_plain(3);
	kinds_rich();
	check_pods(3, 0, 3, 1);
	check_pods(3, 0, 2, 5);
	check_pods(3, 0, 1, 7);
	check_pods(3, 0, 0, 7);
	report("3 pods");
}

static void four_pods(void **state)
{
	(void)state;
	start_plain(4);
	kinds_essential();
	check_pods(4, 0, 4, 1);
	check_pods(4, 0, 3, 5);
	check_pods(4, 0, 2, 7);
	check_pods(4, 0, 0, 11);
	kinds_rich();
	check_pods(4, 0, 4, 53);
	report("4 pods");
}

/* The xorshift generator: the same states every time. */
static unsigned draw(unsigned below)
{
	static uint64_t x = 88172645463325252;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return (unsigned)(x >> 33) % below;
}

/* Larger fleets, most pods well and some of any kind: states that the small ones do not have. */
static void large_fleets_at_random(void **state)
{
	(void)state;
	kinds_all();
	for (long n = 0; n < 2000000 / (long)thin; n++) {
		unsigned good = draw(3), odd = draw(4);

		if (n % 1000 == 0)
			start_plain(5 + (int)draw(5));
		obs.replicas = obs.n_pods - (int)(draw(4) ? 0 : draw(3));
		obs.partition = partition_of((int)draw((unsigned)n_partitions()));
		for (int i = 0; i < obs.n_pods; i++) {
			obs.pods[i] = (struct rollout_pod){ .exists = i < obs.replicas,
							    .ready = true,
							    .available = true,
							    .state = ROLLOUT_STATE_REACHED };
			set_revision(&obs.pods[i], i >= obs.partition ? 1 : (int)good);
		}
		for (unsigned i = 0; i < odd; i++)
			obs.pods[draw((unsigned)obs.n_pods)] = kinds[draw((unsigned)n_kinds)];
		surround(draw(SURROUNDINGS));
		check_empty_or_not();
	}
	tally.writes[ROLLOUT_WRITE_RENEW]++;
	tally.writes[ROLLOUT_WRITE_START]++; /* such fleets are never empty */
	report("5 to 9 pods");
}

/* A fleet as large as they get: the last ordinals count too. */
static void thousand_pods(void **state)
{
	(void)state;
	start_plain(1000);
	obs.replicas = obs.want = 1000;
	obs.partition = 999;
	obs.remembered = -1;
	obs.swept = obs.settled = true;
	obs.quiet = SETTLE;
	for (int i = 0; i < 1000; i++)
		obs.pods[i] = (struct rollout_pod){ .exists = true,
						    .ready = true,
						    .available = true,
						    .updated = i == 999,
						    .state = ROLLOUT_STATE_REACHED };
	check();
	obs.pods[0].ready = false;
	check();
	obs.pods[0].ready = true;
	obs.pods[999].available = false;
	check();
	assert_int_equal(tally.writes[ROLLOUT_WRITE_STEP], 1);
	assert_int_equal(tally.writes[ROLLOUT_WRITE_NONE], 2);
}

enum { REFUSED = 30000, LONG = 600000, LAST = 30 * RECHECK };

/* Once looked at a fleet of one that has not changed for so long: for what it waits, and until when. */
static void waits(int64_t quiet, enum rollout_reason reason, int64_t requeue)
{
	struct rollout_decision d;

	obs.quiet = quiet;
	rollout_decide(&obs, &d);
	assert_int_equal(d.reason, reason);
	assert_int_equal(d.requeue, requeue);
}

/* What a watch ends is looked at later and later, but when time makes a fault of it. A gate: at every recheck. */
static void looks_at_what_waits(void **state)
{
	(void)state;
	start_plain(1);
	obs.replicas = obs.want = 1;
	obs.partition = ROLLOUT_REST;
	obs.remembered = -1;
	obs.swept = obs.settled = true;
	obs.pods[0] = (struct rollout_pod){ .exists = true, .updated = true };
	waits(0, ROLLOUT_NOT_READY, RECHECK);
	waits(REFUSED - 1, ROLLOUT_NOT_READY, 1);
	waits(REFUSED, ROLLOUT_NOT_READY, REFUSED / 2);
	waits(40000, ROLLOUT_NOT_READY, 20000);
	waits(90000, ROLLOUT_NOT_READY, 30000);
	waits(PATIENCE - 1, ROLLOUT_NOT_READY, 1);
	waits(PATIENCE, ROLLOUT_NOT_READY, 60000);
	waits(2 * LAST - 2, ROLLOUT_NOT_READY, LAST - 1);
	waits(INT64_MAX, ROLLOUT_NOT_READY, LAST);
	obs.pods[0].fault = ROLLOUT_FAULT_NODE_LOST;
	waits(LONG, ROLLOUT_STUCK, LONG / 2);
	obs.pods[0] = (struct rollout_pod){ .exists = true, .ready = true, .updated = true };
	waits(LONG, ROLLOUT_NOT_AVAILABLE, RECHECK);
	obs.pods[0].terminating = true;
	waits(LONG, ROLLOUT_TERMINATING, LONG / 2);
	obs.pods[0].exists = false;
	waits(LONG, ROLLOUT_MISSING, LONG / 2);
	obs.replicas = 0;
	obs.pods[0].exists = true;
	waits(LONG, ROLLOUT_PODS_LEFT, LONG / 2);
	obs.observed = false;
	waits(LONG, ROLLOUT_CONTROLLER, LONG / 2);
	obs.leaving = true;
	waits(LONG, ROLLOUT_LEAVING, RECHECK);
}

/* /state is no part of what has to be unchanged: a pod that was silent once is asked again soon. */
static void looks_at_silence_soon(void **state)
{
	(void)state;
	start_plain(2);
	obs.replicas = 2;
	obs.want = 1;
	obs.partition = ROLLOUT_REST;
	obs.remembered = -1;
	obs.swept = obs.settled = true;
	for (int i = 0; i < 2; i++)
		obs.pods[i] = (struct rollout_pod){ .exists = true,
						    .ready = true,
						    .available = true,
						    .updated = true,
						    .state = ROLLOUT_STATE_REACHED };
	obs.pods[1].state = ROLLOUT_STATE_UNREACHABLE;
	waits(LONG, ROLLOUT_UNREACHABLE, RECHECK);
}

/* Somebody has scaled the StatefulSet by hand beyond every slot: what is not seen is not read (UBSan's bounds). */
static void more_pods_than_slots(void **state)
{
	struct rollout_decision d;

	(void)state;
	start_plain(ROLLOUT_PODS);
	obs.replicas = obs.want = 5000;
	obs.partition = 0;
	obs.remembered = -1;
	obs.budget = 1;
	obs.swept = obs.settled = true;
	obs.quiet = SETTLE;
	for (int i = 0; i < ROLLOUT_PODS; i++)
		obs.pods[i] = (struct rollout_pod){ .exists = true, .updated = true };
	rollout_decide(&obs, &d);
	assert_int_equal(d.write, ROLLOUT_WRITE_NONE);
	assert_int_equal(d.ordinal, ROLLOUT_PODS - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(pods_of_an_earlier_fleet, begin),
		cmocka_unit_test_setup(one_pod_whole_cross_product, begin),
		cmocka_unit_test_setup(two_pods_whole_cross_product, begin),
		cmocka_unit_test_setup(three_pods, begin),
		cmocka_unit_test_setup(four_pods, begin),
		cmocka_unit_test_setup(large_fleets_at_random, begin),
		cmocka_unit_test_setup(thousand_pods, begin),
		cmocka_unit_test_setup(looks_at_what_waits, begin),
		cmocka_unit_test_setup(looks_at_silence_soon, begin),
		cmocka_unit_test_setup(more_pods_than_slots, begin),
	};

	thin = getenv("QUICK") ? 7 : 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
