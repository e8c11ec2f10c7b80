#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "controller/observe.h"

enum { PODS = 3, FRESH = 15000 };

struct world {
	struct fleet_sts sts;
	struct fleet_pod pods[PODS];
	struct pod_state states[PODS];
	struct fleet_memory memory;
	size_t n;
};

/* Three Ready pods of one revision, swept at 5000. */
static void world_start(struct world *w)
{
	*w = (struct world){ .sts = { .exists = true, .replicas = PODS, .partition = ROLLOUT_REST },
			     .n = PODS };
	(void)snprintf(w->sts.uid, sizeof(w->sts.uid), "s-1");
	(void)snprintf(w->sts.current_revision, FLEET_NAME, "r-1");
	(void)snprintf(w->sts.update_revision, FLEET_NAME, "r-1");
	for (int i = 0; i < PODS; i++) {
		struct fleet_pod *p = &w->pods[i];

		(void)snprintf(p->uid, sizeof(p->uid), "u%d", i);
		(void)snprintf(p->ip, sizeof(p->ip), "10.0.0.%d", i);
		(void)snprintf(p->owner_uid, sizeof(p->owner_uid), "s-1");
		(void)snprintf(p->revision, sizeof(p->revision), "r-1");
		p->ordinal = i;
		p->running = p->ready = true;
		w->states[i] = (struct pod_state){ .asked = true, .valid = true, .begun_ms = 5000 };
	}
}

static struct rollout_obs *see(struct world *w, int64_t now_ms)
{
	static struct rollout_obs o;
	const struct observe_input in = { .sts = &w->sts,
					  .pods = w->pods,
					  .states = w->states,
					  .n_pods = w->n,
					  .now_ms = now_ms,
					  .fresh_ms = FRESH };

	o = (struct rollout_obs){ .want = 0 };
	observe_remember(&w->memory, &in);
	observe_fleet(&in, &w->memory, &o);
	return &o;
}

static void test_sweep_after_the_change(void **state)
{
	struct world w;

	(void)state;
	world_start(&w);
	assert_true(see(&w, 4000)->swept); /* asked at 5000, changed at 4000 */
	assert_true(see(&w, 20000)->swept);
	assert_false(see(&w, 20001)->swept); /* too old */
	w.pods[1].ready = false;	     /* a change: older answers are of another fleet */
	assert_false(see(&w, 6000)->swept);
	w.states[0].begun_ms = w.states[1].begun_ms = w.states[2].begun_ms = 6000;
	assert_true(see(&w, 6000)->swept);
	w.states[2].asked = false;
	assert_false(see(&w, 6000)->swept);
	assert_int_equal(see(&w, 6000)->pods[2].state, ROLLOUT_STATE_UNKNOWN);
}

/* Of whom nobody may be asked, nobody waits for the answer; a valid one of before does not count. */
static void test_not_asked(void **state)
{
	struct world w;

	(void)state;
	world_start(&w);
	w.pods[0].terminating = true;
	(void)snprintf(w.pods[1].owner_uid, sizeof(w.pods[1].owner_uid), "another");
	w.pods[2].running = false;
	for (int i = 0; i < PODS; i++) {
		assert_false(observe_can_be_asked("s-1", &w.pods[i]));
		w.states[i].asked = false;
	}
	assert_true(see(&w, 7000)->swept);
	for (int i = 0; i < PODS; i++)
		assert_int_equal(see(&w, 7000)->pods[i].state, ROLLOUT_STATE_UNREACHABLE);
	w.pods[1].owner_uid[0] = '\0'; /* an orphan that will be adopted */
	assert_true(observe_can_be_asked("s-1", &w.pods[1]));
	(void)snprintf(w.pods[1].owner_uid, sizeof(w.pods[1].owner_uid), "gone");
	assert_true(observe_can_be_asked("", &w.pods[1]));
}

static void test_min_ready_seconds(void **state)
{
	struct world w;

	(void)state;
	world_start(&w);
	w.sts.min_ready_seconds = 5;
	assert_false(see(&w, 1000)->pods[0].available);
	assert_false(see(&w, 5999)->pods[0].available);
	assert_true(see(&w, 6000)->pods[0].available);
	w.pods[0].ready = false;
	assert_false(see(&w, 60000)->pods[0].available);
	w.sts.min_ready_seconds = 0;
	assert_true(see(&w, 60000)->pods[1].available);
}

/* A wall clock plays no part, nor does what others' clocks have written: only how long this process has seen it. */
static void test_does_not_end(void **state)
{
	struct world w;

	(void)state;
	world_start(&w);
	w.pods[1].terminating = true;
	w.pods[1].fault = ROLLOUT_FAULT_CRASH_LOOP; /* its container has ended, as it should */
	assert_int_equal(see(&w, 1000)->pods[1].fault, ROLLOUT_FAULT_NONE);
	assert_int_equal(see(&w, 120999)->pods[1].fault, ROLLOUT_FAULT_NONE);
	assert_int_equal(see(&w, 121000)->pods[1].fault, ROLLOUT_FAULT_ENDLESS);
	w.pods[1].fault = ROLLOUT_FAULT_NODE_LOST;
	assert_int_equal(see(&w, 121000)->pods[1].fault, ROLLOUT_FAULT_NODE_LOST);
}

static void test_refused(void **state)
{
	struct world w;

	(void)state;
	world_start(&w);
	w.n = 2;
	assert_int_equal(see(&w, 1000)->pods[2].fault, ROLLOUT_FAULT_NONE);
	assert_int_equal(see(&w, 30999)->pods[2].fault, ROLLOUT_FAULT_NONE);
	assert_int_equal(see(&w, 31000)->pods[2].fault, ROLLOUT_FAULT_REFUSED);
	w.n = 3; /* it was made after all */
	assert_int_equal(see(&w, 31000)->pods[2].fault, ROLLOUT_FAULT_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sweep_after_the_change),
		cmocka_unit_test(test_not_asked),
		cmocka_unit_test(test_min_ready_seconds),
		cmocka_unit_test(test_does_not_end),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
