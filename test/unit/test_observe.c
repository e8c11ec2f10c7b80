#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "controller/observe.h"

/* Three pods of a StatefulSet at rest, all well, looked at 1 s after the last change. */
struct scene {
	struct fleet_sts sts;
	struct fleet_pod pods[4];
	struct pod_state states[4];
	struct fleet_memory memory;
	struct observe_input in;
	struct rollout_obs obs;
};

static void set(struct scene *s)
{
	memset(s, 0, sizeof(*s));
	s->sts = (struct fleet_sts){ .exists = true,
				     .uid = "s1",
				     .generation = 3,
				     .observed_generation = 3,
				     .replicas = 3,
				     .partition = ROLLOUT_REST,
				     .remembered = -1,
				     .current_revision = "r1",
				     .update_revision = "r1" };
	for (int i = 0; i < 3; i++) {
		struct fleet_pod *p = &s->pods[i];

		*p = (struct fleet_pod){ .ip = "10.0.0.1",
					 .owner_uid = "s1",
					 .revision = "r1",
					 .ordinal = i,
					 .ready = true,
					 .running = true };
		(void)snprintf(p->uid, sizeof(p->uid), "p%d", i);
		s->states[i] = (struct pod_state){ .asked = true, .begun_ms = 5500, .valid = true };
	}
	s->in = (struct observe_input){ .sts = &s->sts,
					.pods = s->pods,
					.states = s->states,
					.n_pods = 3,
					.now_ms = 5000,
					.fresh_ms = 15000 };
	observe_remember(&s->memory, &s->in);
	s->in.now_ms = 6000;
}

static const struct rollout_obs *look(struct scene *s)
{
	memset(&s->obs, 0, sizeof(s->obs));
	observe_remember(&s->memory, &s->in);
	observe_fleet(&s->in, &s->memory, &s->obs);
	return &s->obs;
}

static struct scene s;

static void a_fleet_at_rest(void **state)
{
	const struct rollout_obs *o;

	(void)state;
	set(&s);
	s.states[1].restoring = 4;
	o = look(&s);
	assert_true(o->exists && o->observed && o->settled && o->swept && o->pods_current);
	assert_int_equal(o->replicas, 3);
	assert_int_equal(o->partition, ROLLOUT_REST);
	assert_int_equal(o->remembered, -1);
	assert_int_equal(o->n_pods, 3);
	assert_int_equal(o->quiet, 1000);
	assert_int_equal(o->empty, 0);
	assert_true(o->pods[2].exists && o->pods[2].ready && o->pods[2].available);
	assert_true(o->pods[2].updated && !o->pods[2].superseded);
	assert_int_equal(o->pods[1].state, ROLLOUT_STATE_REACHED);
	assert_int_equal(o->pods[1].restoring, 4);
}

static void every_change_of_the_fleet_starts_the_quiet_anew(void **state)
{
	(void)state;
	for (int i = 0; i < 5; i++) {
		set(&s);
		switch (i) {
		case 0:
			s.pods[0].ready = false;
			break;
		case 1:
			s.pods[0].terminating = true;
			break;
		case 2:
			(void)snprintf(s.pods[2].uid, sizeof(s.pods[2].uid), "p9");
			break;
		case 3:
			s.sts.generation++;
			break;
		default:
			s.in.n_pods = 2;
		}
		if (look(&s)->quiet != 0)
			fail_msg("change %d", i);
	}
	/* the order in which pods are listed is no change */
	set(&s);
	s.pods[3] = s.pods[0];
	s.pods[0] = s.pods[2];
	s.pods[2] = s.pods[3];
	assert_int_equal(look(&s)->quiet, 1000);
}

static void since_when_it_is_empty(void **state)
{
	(void)state;
	set(&s);
	s.in.n_pods = 0;
	s.in.now_ms = 7000;
	assert_int_equal(look(&s)->empty, 0);
	s.in.now_ms = 9500;
	assert_int_equal(look(&s)->empty, 2500);
	assert_true(s.obs.swept); /* there is nobody to ask */
	s.in.n_pods = 1;
	assert_int_equal(look(&s)->empty, 0);
	assert_int_equal(s.memory.empty_ms, 0);
}

static void a_sweep_has_to_be_fresh_and_after_the_last_change(void **state)
{
	(void)state;
	set(&s);
	s.states[2].begun_ms = 4999; /* before the change at 5000 */
	assert_false(look(&s)->swept);
	set(&s);
	s.states[2].asked = false;
	assert_false(look(&s)->swept);
	assert_int_equal(s.obs.pods[2].state, ROLLOUT_STATE_UNKNOWN);
	set(&s);
	s.in.now_ms = 5500 + 15000;
	assert_true(look(&s)->swept);
	s.in.now_ms++;
	assert_false(look(&s)->swept);
	/* a pod that cannot be asked holds nothing up, and is unreachable */
	set(&s);
	s.states[2].asked = false;
	s.pods[2].running = false;
	assert_true(look(&s)->swept);
	assert_int_equal(s.obs.pods[2].state, ROLLOUT_STATE_UNREACHABLE);
	/* an answer that is no state is none */
	set(&s);
	s.states[2].valid = false;
	s.states[2].restoring = 7;
	assert_int_equal(look(&s)->pods[2].state, ROLLOUT_STATE_UNREACHABLE);
	assert_int_equal(s.obs.pods[2].restoring, 0);
	assert_true(s.obs.swept);
}

static void who_can_be_asked(void **state)
{
	struct fleet_pod p;

	(void)state;
	set(&s);
	p = s.pods[0];
	assert_true(observe_can_be_asked("s1", &p));
	assert_true(observe_can_be_asked("", &p));
	assert_false(observe_can_be_asked("s2", &p));
	p.owner_uid[0] = '\0';
	assert_true(observe_can_be_asked("s2", &p));
	p.terminating = true;
	assert_false(observe_can_be_asked("", &p));
	p.terminating = false;
	p.ip[0] = '\0';
	assert_false(observe_can_be_asked("", &p));
}

static void revisions(void **state)
{
	(void)state;
	set(&s);
	(void)snprintf(s.sts.update_revision, sizeof(s.sts.update_revision), "r3");
	(void)snprintf(s.pods[1].revision, sizeof(s.pods[1].revision), "r2");
	(void)snprintf(s.pods[2].revision, sizeof(s.pods[2].revision), "r3");
	s.sts.observed_generation = 2;
	look(&s);
	assert_false(s.obs.settled || s.obs.observed);
	assert_false(s.obs.pods[0].updated || s.obs.pods[0].superseded);
	assert_true(!s.obs.pods[1].updated && s.obs.pods[1].superseded);
	assert_true(s.obs.pods[2].updated && !s.obs.pods[2].superseded);
	/* no update revision yet: nobody is on it */
	s.sts.update_revision[0] = s.pods[0].revision[0] = '\0';
	assert_false(look(&s)->pods[0].updated);
}

static void available_is_ready_for_long_enough(void **state)
{
	(void)state;
	set(&s);
	s.sts.min_ready_seconds = 2;
	assert_false(look(&s)->pods[0].available);
	s.in.now_ms = 7000;
	assert_true(look(&s)->pods[0].available);
	s.pods[0].ready = false;
	assert_false(look(&s)->pods[0].available);
}

static void a_pod_that_is_not_made_was_refused(void **state)
{
	(void)state;
	set(&s);
	s.in.n_pods = 2;
	s.in.now_ms = 10000;
	assert_int_equal(look(&s)->pods[2].fault, ROLLOUT_FAULT_NONE);
	s.in.now_ms = 39999;
	assert_int_equal(look(&s)->pods[2].fault, ROLLOUT_FAULT_NONE);
	s.in.now_ms = 40000;
	assert_int_equal(look(&s)->pods[2].fault, ROLLOUT_FAULT_REFUSED);
	assert_false(s.obs.pods[2].exists);
	assert_int_equal(s.obs.pods[1].fault, ROLLOUT_FAULT_NONE);
}

static void ordinals_beyond_the_replicas(void **state)
{
	(void)state;
	set(&s);
	s.sts.replicas = 1;
	assert_int_equal(look(&s)->n_pods, 3);
	s.pods[2].ordinal = -1;
	s.pods[1].ordinal = ROLLOUT_PODS;
	assert_int_equal(look(&s)->n_pods, 1);
	s.sts.replicas = 5000;
	assert_int_equal(look(&s)->n_pods, ROLLOUT_PODS);
}

/* What an earlier StatefulSet controls is no orphan that a new one takes over. */
static void pods_of_another_statefulset(void **state)
{
	(void)state;
	set(&s);
	(void)snprintf(s.pods[1].owner_uid, sizeof(s.pods[1].owner_uid), "another");
	s.pods[2].owner_uid[0] = '\0';
	look(&s);
	assert_true(s.obs.pods[1].foreign);
	assert_false(s.obs.pods[2].foreign);
}

static void no_statefulset(void **state)
{
	(void)state;
	set(&s);
	s.sts = (struct fleet_sts){ .remembered = 3 };
	s.in.n_pods = 0;
	look(&s);
	assert_false(s.obs.exists);
	assert_int_equal(s.obs.remembered, -1);
	assert_int_equal(s.obs.n_pods, 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fleet_at_rest),
		cmocka_unit_test(every_change_of_the_fleet_starts_the_quiet_anew),
		cmocka_unit_test(since_when_it_is_empty),
		cmocka_unit_test(a_sweep_has_to_be_fresh_and_after_the_last_change),
		cmocka_unit_test(who_can_be_asked),
		cmocka_unit_test(revisions),
		cmocka_unit_test(available_is_ready_for_long_enough),
		cmocka_unit_test(a_pod_that_is_not_made_was_refused),
		cmocka_unit_test(ordinals_beyond_the_replicas),
		cmocka_unit_test(pods_of_another_statefulset),
		cmocka_unit_test(no_statefulset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
