#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "controller/status.h"
#include "test/lib/app_fixture.h"

struct world {
	struct app_fixture f;
	struct rollout_obs obs;
	struct rollout_decision decision;
	struct fleet_sts sts;
	struct fleet_pod pods[3];
	struct pod_state states[3];
	struct refusal refusal;
	struct status_input in;
};

static void world_start(struct world *w)
{
	memset(w, 0, sizeof(*w));
	w->f = app_fixture_with(NULL, NULL);
	w->obs.n_pods = w->obs.replicas = 3;
	for (int i = 0; i < 3; i++) {
		w->pods[i].ordinal = i;
		w->pods[i].exit_code = -1;
		w->obs.pods[i].exists = true;
	}
	w->decision = (struct rollout_decision){ .phase = ROLLOUT_ROLLING_OUT, .ordinal = 2 };
	w->in = (struct status_input){ .app = w->f.app,
				       .obs = &w->obs,
				       .decision = &w->decision,
				       .sts = &w->sts,
				       .pods = w->pods,
				       .states = w->states,
				       .n_pods = 3,
				       .refusal = &w->refusal };
}

static void says(struct world *w, const char *want)
{
	cleanup(freep) char *got = status_waiting_on(&w->in);

	assert_string_equal(got, want);
}

static void fault(struct world *w, int i, enum rollout_fault fault, const char *words)
{
	w->obs.pods[i].fault = fault;
	(void)snprintf(w->pods[i].fault_text, sizeof(w->pods[i].fault_text), "%s", words);
	if (i != w->decision.ordinal)
		return;
	w->decision.reason = ROLLOUT_STUCK;
	w->decision.fault = fault;
}

#define NODE_REMEDY "bring the node back, or delete it when it is gone for good"

/* Two nodes lost: both are named, the remedy once. */
static void test_two_nodes(void **state)
{
	static struct world w;

	(void)state;
	world_start(&w);
	fault(&w, 2, ROLLOUT_FAULT_NODE_LOST, "node n-2 is not Ready");
	fault(&w, 0, ROLLOUT_FAULT_NODE_LOST, "node n-1 is not Ready");
	assert_true(status_is_stuck(&w.in));
	says(&w, "shop-celld-2: not ready (its node is lost: node n-2 is not Ready); " NODE_REMEDY
		 "; also shop-celld-0 (its node is lost: node n-1 is not Ready)");
	app_fixture_done(&w.f);
}

/* While a fleet stops for a Recreate the pods that are left are counted; one that does not end is named. */
static void test_pod_left(void **state)
{
	static struct world w;

	(void)state;
	world_start(&w);
	w.decision.ordinal = -1;
	w.decision.reason = ROLLOUT_PODS_LEFT;
	w.decision.count = 1;
	says(&w, "fleet: pods left to stop: 1");
	assert_false(status_is_stuck(&w.in));
	fault(&w, 1, ROLLOUT_FAULT_ENDLESS, "an old message of the container");
	assert_true(status_is_stuck(&w.in));
	says(&w, "fleet: pods left to stop: 1; also shop-celld-1 (does not end); its node is down, "
		 "or a finalizer "
		 "holds it: bring the node back; once the pod runs nowhere for sure, delete it "
		 "with --force");
	app_fixture_done(&w.f);
}

static void test_refused(void **state)
{
	static struct world w;

	(void)state;
	world_start(&w);
	w.in.n_pods = 2;
	w.obs.pods[2].exists = false;
	fault(&w, 2, ROLLOUT_FAULT_REFUSED, "");
	says(&w, "shop-celld-2: not ready (pod refused at creation); see the StatefulSet's events: "
		 "quota, Pod "
		 "Security or another webhook");
	w.in.refused_text = "exceeded quota:\nfew";
	says(&w, "shop-celld-2: not ready (pod refused at creation: exceeded quota: few); see the "
		 "StatefulSet's "
		 "events: quota, Pod Security or another webhook");
	app_fixture_done(&w.f);
}

/* Of whom a newer template may mend nothing is said beside another's name; nor while nobody waits for members. */
static void test_quiet(void **state)
{
	static struct world w;

	(void)state;
	world_start(&w);
	w.decision.reason = ROLLOUT_NOT_READY;
	fault(&w, 1, ROLLOUT_FAULT_IMAGE, "x");
	says(&w, "shop-celld-2: not ready");
	assert_false(status_is_stuck(&w.in));
	w.decision.reason = ROLLOUT_SETTLING;
	fault(&w, 1, ROLLOUT_FAULT_NODE_LOST, "x");
	says(&w, "fleet: settling");
	assert_false(status_is_stuck(&w.in));
	app_fixture_done(&w.f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_nodes),
		cmocka_unit_test(test_pod_left),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_quiet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
