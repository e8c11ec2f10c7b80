#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "controller/adopt.h"

struct fixture {
	struct fleet_pod pods[3];
	struct pod_state states[3];
	struct rollout_decision d;
};

/* Three pods that serve v2; the list is not in order. */
static void begin(struct fixture *f)
{
	static const int ordinals[] = { 2, 0, 1 };

	memset(f, 0, sizeof(*f));
	for (int i = 0; i < 3; i++) {
		f->pods[i].ordinal = ordinals[i];
		f->pods[i].ready = true;
		f->states[i] =
			(struct pod_state){ .asked = true, .valid = true, .has_deployment = true };
		(void)snprintf(f->states[i].deployment, sizeof(f->states[i].deployment), "v2");
	}
	f->d = (struct rollout_decision){ .phase = ROLLOUT_READY, .ordinal = -1 };
}

static void judge(struct fixture *f)
{
	const struct adopt_input in = {
		.pods = f->pods, .states = f->states, .n_pods = 3, .expected = "v2"
	};

	adopt_judge(&in, &f->d);
}

static void expect(const struct fixture *f, enum rollout_phase phase, enum rollout_reason reason,
		   int ordinal)
{
	assert_int_equal(f->d.phase, phase);
	assert_int_equal(f->d.reason, reason);
	assert_int_equal(f->d.ordinal, ordinal);
}

static void test_all_have(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	judge(&f);
	expect(&f, ROLLOUT_READY, ROLLOUT_NOTHING, -1);
}

static void test_the_first_that_has_not(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	f.states[0].deployment[1] = '1'; /* ordinal 2 */
	f.states[2].deployment[1] = '1'; /* ordinal 1 */
	judge(&f);
	expect(&f, ROLLOUT_ROLLING_OUT, ROLLOUT_ADOPTING, 1);
	begin(&f);
	f.states[1].has_deployment = false;
	judge(&f);
	expect(&f, ROLLOUT_ROLLING_OUT, ROLLOUT_ADOPTING, 0);
}

static void test_swapping_and_draining(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	f.states[1].swapping = 2;
	judge(&f);
	expect(&f, ROLLOUT_ROLLING_OUT, ROLLOUT_SWAPPING, 0);
	begin(&f);
	f.states[0].draining = 1;
	judge(&f);
	expect(&f, ROLLOUT_ROLLING_OUT, ROLLOUT_SWAPPING, 2);
	/* who has not adopted is named before who is about to end it */
	begin(&f);
	f.states[1].swapping = 2;
	f.states[0].deployment[1] = '1';
	judge(&f);
	expect(&f, ROLLOUT_ROLLING_OUT, ROLLOUT_ADOPTING, 2);
}

/* Pods that do not answer or that go are for others to tell of; and so is a fleet that is not at rest. */
static void test_left_alone(void **state)
{
	struct fixture f;

	(void)state;
	begin(&f);
	f.states[0].deployment[1] = '1';
	f.states[0].valid = false;
	f.states[1].deployment[1] = '1';
	f.pods[1].terminating = true;
	judge(&f);
	expect(&f, ROLLOUT_READY, ROLLOUT_NOTHING, -1);
	begin(&f);
	f.states[0].deployment[1] = '1';
	f.d.phase = ROLLOUT_PAUSED;
	judge(&f);
	expect(&f, ROLLOUT_PAUSED, ROLLOUT_NOTHING, -1);
	begin(&f);
	f.states[0].deployment[1] = '1';
	f.d.write = ROLLOUT_WRITE_SCALE;
	judge(&f);
	expect(&f, ROLLOUT_READY, ROLLOUT_NOTHING, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_have),
		cmocka_unit_test(test_the_first_that_has_not),
		cmocka_unit_test(test_swapping_and_draining),
		cmocka_unit_test(test_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
