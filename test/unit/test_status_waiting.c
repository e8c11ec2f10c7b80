#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "controller/status.h"
#include "test/lib/app_fixture.h"

/* An app, and two pods whose state was asked and is not known. */
struct fixture {
	struct app_fixture app;
	struct rollout_obs obs;
	struct rollout_decision decision;
	struct fleet_sts sts;
	struct fleet_pod pods[2];
	struct pod_state states[2];
	struct refusal refusal;
	struct status_input in;
	struct json *stored;
};

static struct fixture f;

static int set_up(void **state)
{
	(void)state;
	memset(&f, 0, sizeof(f));
	f.app = app_fixture_with(NULL, NULL);
	f.decision = (struct rollout_decision){ .phase = ROLLOUT_PENDING, .ordinal = -1 };
	for (int i = 0; i < 2; i++) {
		f.pods[i].ordinal = i;
		f.pods[i].running = true;
		(void)snprintf(f.pods[i].name, sizeof(f.pods[i].name), "shop-celld-%d", i);
		f.states[i].asked = true;
		(void)snprintf(f.states[i].why, sizeof(f.states[i].why), "no answer %d", i);
	}
	f.in = (struct status_input){ .app = f.app.app,
				      .obs = &f.obs,
				      .decision = &f.decision,
				      .sts = &f.sts,
				      .pods = f.pods,
				      .states = f.states,
				      .refusal = &f.refusal,
				      .spec_valid = true,
				      .now = "2026-01-01T00:00:00Z" };
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	f.app.app->status = NULL;
	json_free(f.stored);
	app_fixture_done(&f.app);
	return 0;
}

/* Builds the status, and takes it for what the app has. */
static void store(const char *now)
{
	struct json *before = f.stored;

	f.in.now = now;
	f.stored = status_build(&f.in);
	f.app.app->status = f.stored;
	json_free(before);
}

static const char *rollout(const char *member)
{
	return json_str(json_path(f.app.app->status, "rollout", member, NULL));
}

static const char *condition(const char *type, const char *member)
{
	const struct json *all = json_get(f.app.app->status, "conditions");

	for (const struct json *c = json_first(all); c; c = json_next(c)) {
		if (str_eq(json_get_str(c, "type"), type))
			return json_get_str(c, member);
	}
	return NULL;
}

/* A fleet that waits must not be written about each time it is looked at: also before there is a StatefulSet. */
static void test_waiting_is_quiet(void **state)
{
	cleanup_json struct json *later = NULL;

	(void)state;
	f.decision.reason = ROLLOUT_NO_WORKLOAD;
	store("2026-01-01T00:00:00Z");
	f.in.now = "2026-01-01T00:00:10Z";
	later = status_build(&f.in);
	assert_true(json_equal(later, f.app.app->status));
}

static void test_since_goes_with_the_words(void **state)
{
	(void)state;
	f.decision.reason = ROLLOUT_SETTLING;
	store("2026-01-01T00:00:00Z");
	f.decision.reason = ROLLOUT_SCALING;
	store("2026-01-01T00:00:10Z");
	assert_string_equal(rollout("waitingOn"), "fleet: scaling");
	assert_string_equal(rollout("since"), "2026-01-01T00:00:10Z");
}

/* Pods come in the order of a hash map, or of a list: what is said must not depend on it. */
static void test_lowest_unreachable_pod_is_named(void **state)
{
	struct fleet_pod pod = f.pods[0];
	struct pod_state s = f.states[0];

	(void)state;
	f.in.n_pods = 2;
	store("2026-01-01T00:00:00Z");
	assert_string_equal(condition("FleetStateReady", "message"),
			    "pod shop-celld-0: no answer 0");
	f.pods[0] = f.pods[1];
	f.states[0] = f.states[1];
	f.pods[1] = pod;
	f.states[1] = s;
	store("2026-01-01T00:00:00Z");
	assert_string_equal(condition("FleetStateReady", "message"),
			    "pod shop-celld-0: no answer 0");
	f.states[1].valid = true;
	store("2026-01-01T00:00:00Z");
	assert_string_equal(condition("FleetStateReady", "message"),
			    "pod shop-celld-1: no answer 1");
	f.states[0].valid = true;
	store("2026-01-01T00:00:00Z");
	assert_string_equal(condition("FleetStateReady", "status"), "True");
}

/*
 * A Recreate that replaces the StatefulSet has nowhere else to keep the size; it is gone once a StatefulSet is there
 * again.
 */
static void test_kept_size(void **state)
{
	(void)state;
	f.decision.reason = ROLLOUT_LEASE_HOLD;
	f.sts.exists = true;
	f.sts.remembered = 7;
	assert_int_equal(status_kept_size(f.app.app), -1);
	store("2026-01-01T00:00:00Z");
	assert_int_equal(status_kept_size(f.app.app), 7);
	f.sts = (struct fleet_sts){ .remembered = -1 };
	f.decision.reason = ROLLOUT_CREATING;
	store("2026-01-01T00:00:00Z");
	assert_int_equal(status_kept_size(f.app.app), 7);
	f.sts.exists = true;
	store("2026-01-01T00:00:00Z");
	assert_int_equal(status_kept_size(f.app.app), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_waiting_is_quiet, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_kept_size, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_since_goes_with_the_words, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_lowest_unreachable_pod_is_named, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
