#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "controller/status.h"
#include "test/lib/app_fixture.h"

#define NOW "2026-03-01T10:00:00Z"
#define OLD "2026-01-01T00:00:00Z"

/* Three pods that serve v1 with celld v0.6.2, all well. */
struct scene {
	struct app_fixture f;
	struct rollout_obs obs;
	struct rollout_decision decision;
	struct fleet_sts sts;
	struct fleet_pod pods[3];
	struct pod_state states[3];
	struct refusal refusal;
	struct status_condition more[1];
	struct status_input in;
	struct json *status;
};

static struct scene s;

static void set(const char *old_status)
{
	memset(&s, 0, sizeof(s));
	s.f = app_fixture_with("status", old_status);
	s.decision = (struct rollout_decision){ .phase = ROLLOUT_READY, .ordinal = -1 };
	s.obs.n_pods = s.obs.replicas = 3;
	s.sts = (struct fleet_sts){ .exists = true,
				    .replicas = 3,
				    .partition = ROLLOUT_REST,
				    .has_version = true,
				    .version = { 0, 6, 2 },
				    .current_revision = "r1",
				    .update_revision = "r1" };
	for (int i = 0; i < 3; i++) {
		s.pods[i] = (struct fleet_pod){ .ordinal = i,
						.ready = true,
						.running = true,
						.ip = "10.0.0.1",
						.has_version = true,
						.version = { 0, 6, 2 },
						.exit_code = -1 };
		(void)snprintf(s.pods[i].name, sizeof(s.pods[i].name), "shop-celld-%d", i);
		s.states[i] = (struct pod_state){ .asked = true,
						  .valid = true,
						  .has_deployment = true,
						  .deployment = "v1",
						  .generation = 2 };
		s.obs.pods[i].exists = s.obs.pods[i].updated = true;
	}
	s.in = (struct status_input){ .app = s.f.app,
				      .obs = &s.obs,
				      .decision = &s.decision,
				      .sts = &s.sts,
				      .pods = s.pods,
				      .states = s.states,
				      .n_pods = 3,
				      .refusal = &s.refusal,
				      .spec_valid = true,
				      .spec_message = "",
				      .expected = "v1",
				      .tells_deployment = true,
				      .more = s.more,
				      .now = NOW };
	s.f.app->generation = 7;
}

static void build(void)
{
	json_free(s.status);
	s.status = status_build(&s.in);
}

static void done(void)
{
	json_free(s.status);
	app_fixture_done(&s.f);
}

static const struct json *condition(const char *type)
{
	const struct json *all = json_get(s.status, "conditions");

	for (const struct json *c = json_first(all); c; c = json_next(c)) {
		if (str_eq(json_get_str(c, "type"), type))
			return c;
	}
	fail_msg("no condition %s", type);
	return NULL;
}

static void expect(const char *type, const char *value, const char *reason, const char *message)
{
	const struct json *c = condition(type);

	assert_string_equal(json_get_str(c, "status"), value);
	assert_string_equal(json_get_str(c, "reason"), reason);
	assert_string_equal(json_get_str(c, "message"), message);
}

static void a_fleet_that_is_well(void **state)
{
	int64_t generation = 0;

	(void)state;
	set("{}");
	build();
	assert_string_equal(json_get_str(s.status, "phase"), "Ready");
	assert_string_equal(json_get_str(s.status, "expectedAppVersion"), "v1");
	assert_string_equal(json_get_str(s.status, "rolledOutAppVersion"), "v1");
	assert_string_equal(json_get_str(s.status, "selector"), "celld-operator.io/workerapp=shop");
	assert_true(json_get_int(s.status, "observedGeneration", &generation));
	assert_int_equal(generation, 7);
	app_fixture_is(json_get(s.status, "fleet"),
		       "{'replicas':3,'ready':3,'updated':3,'restoring':0}");
	app_fixture_is(json_get(s.status, "celldVersions"), "['v0.6.2']");
	assert_null(json_get(s.status, "rollout"));
	expect("Ready", "True", "Ready", "");
	expect("SpecValid", "True", "Validated", "");
	expect("Available", "True", "Ready", "");
	expect("Progressing", "False", "Ready", "");
	expect("Degraded", "False", "Ready", "");
	expect("FleetStateReady", "True", "Observed", "every pod's state was read");
	app_fixture_is(json_item(json_get(s.status, "deployments"), 1),
		       "{'name':'shop-celld-1','version':'v1','generation':2,'draining':0,"
		       "'swapping':0}");
	done();
}

/* What was written last gives the same again: a quiet fleet's status is never written. */
static void the_same_fleet_gives_the_same_status(void **state)
{
	cleanup(freep) char *first = NULL, *second = NULL;

	(void)state;
	set("{}");
	build();
	first = json_text(s.status);
	done();
	for (char *c = first; *c; c++)
		*c = (char)(*c == '\'' ? ' ' : *c); /* "pod's": the fixture's texts have no ' */
	set(first);
	s.in.now = "2027-07-07T07:07:07Z";
	build();
	second = json_text(s.status);
	for (char *c = second; *c; c++)
		*c = (char)(*c == '\'' ? ' ' : *c);
	assert_string_equal(first, second);
	done();
}

#define WAS(type, status)                                                                          \
	"{'conditions':[{'type':'" type "','status':'" status "','reason':'Before','message':"     \
	"'m','lastTransitionTime':'" OLD "'}]}"

static void the_time_of_a_condition_moves_with_its_status_alone(void **state)
{
	static const struct {
		const char *old, *time;
	} cases[] = {
		{ WAS("Ready", "True"), OLD },
		{ WAS("Ready", "False"), NOW },
		{ WAS("Available", "True"), NOW },
		{ "{'conditions':[{'type':'Ready','status':'True'}]}", NOW },
		{ "{'conditions':[{}]}", NOW },
	};

	(void)state;
	for (size_t i = 0; i < array_len(cases); i++) {
		set(cases[i].old);
		build();
		assert_string_equal(json_get_str(condition("Ready"), "lastTransitionTime"),
				    cases[i].time);
		done();
	}
}

static void a_refused_spec(void **state)
{
	(void)state;
	set("{}");
	s.decision.phase = ROLLOUT_DEGRADED;
	s.refusal.reason = "BreakingUpgrade";
	(void)snprintf(s.refusal.message, sizeof(s.refusal.message), "no way");
	build();
	assert_string_equal(json_get_str(s.status, "phase"), "Degraded");
	expect("Ready", "False", "Degraded", "no way");
	expect("Degraded", "True", "BreakingUpgrade", "no way");
	expect("Available", "True", "Degraded", "");
	s.in.spec_valid = false;
	s.in.spec_message = "spec.replicas: bad";
	build();
	expect("SpecValid", "False", "InvalidConfiguration", "spec.replicas: bad");
	done();
}

static void a_roll_says_what_it_waits_for(void **state)
{
	(void)state;
	set("{'rollout':{'waitingOn':'fleet: restoring=5','since':'" OLD "'}}");
	s.decision = (struct rollout_decision){
		.phase = ROLLOUT_ROLLING_OUT, .reason = ROLLOUT_RESTORING, .ordinal = -1, .count = 5
	};
	s.sts.partition = 2;
	s.states[0].restoring = 5;
	s.pods[2].ready = false;
	build();
	app_fixture_is(json_get(s.status, "rollout"),
		       "{'partition':2,'waitingOn':'fleet: restoring=5','since':'" OLD
		       "','targetRevision':'r1'}");
	app_fixture_is(json_get(s.status, "fleet"),
		       "{'replicas':3,'ready':2,'updated':3,'restoring':5}");
	expect("Progressing", "True", "RollingOut", "fleet: restoring=5");
	/* it waits for something else */
	s.decision.count = 4;
	build();
	assert_string_equal(json_str(json_path(s.status, "rollout", "since", NULL)), NOW);
	done();
}

static void a_version_is_rolled_out_when_every_pod_serves_it(void **state)
{
	(void)state;
	set("{'rolledOutAppVersion':'v0'}");
	(void)snprintf(s.states[1].deployment, sizeof(s.states[1].deployment), "v0");
	build();
	assert_string_equal(json_get_str(s.status, "rolledOutAppVersion"), "v0");
	(void)snprintf(s.states[1].deployment, sizeof(s.states[1].deployment), "v1");
	s.decision.phase = ROLLOUT_ROLLING_OUT;
	build();
	assert_string_equal(json_get_str(s.status, "rolledOutAppVersion"), "v0");
	s.decision.phase = ROLLOUT_READY;
	build();
	assert_string_equal(json_get_str(s.status, "rolledOutAppVersion"), "v1");
	s.in.expected = NULL;
	build();
	assert_string_equal(json_get_str(s.status, "rolledOutAppVersion"), "v0");
	done();
}

static void versions_that_run(void **state)
{
	(void)state;
	set("{}");
	s.pods[1].version.patch = 1;
	s.pods[2].has_version = false;
	build();
	app_fixture_is(json_get(s.status, "celldVersions"), "['v0.6.1','v0.6.2']");
	/* nothing runs, and nothing comes back by itself */
	s.in.n_pods = 0;
	s.sts.replicas = 0;
	build();
	app_fixture_is(json_get(s.status, "celldVersions"), "[]");
	expect("Available", "False", "Ready", "no pod is Ready");
	expect("FleetStateReady", "Unknown", "Unavailable", "no pod was asked yet");
	done();
}

static void a_pod_whose_state_cannot_be_read(void **state)
{
	(void)state;
	set("{}");
	s.states[2].valid = false;
	(void)snprintf(s.states[2].why, sizeof(s.states[2].why), "timeout");
	s.decision = (struct rollout_decision){ .phase = ROLLOUT_ROLLING_OUT,
						.reason = ROLLOUT_UNREACHABLE,
						.ordinal = 2 };
	build();
	expect("FleetStateReady", "False", "Unavailable", "pod shop-celld-2: timeout");
	expect("Progressing", "True", "RollingOut", "state unreachable: pod shop-celld-2: timeout");
	assert_int_equal(json_len(json_get(s.status, "deployments")), 2);
	done();
}

static void conditions_of_the_caller(void **state)
{
	(void)state;
	set("{}");
	s.more[0] = (struct status_condition){ .type = "MaintenancePaused",
					       .status = "True",
					       .reason = "Paused",
					       .message = "by hand" };
	s.in.n_more = 1;
	build();
	expect("MaintenancePaused", "True", "Paused", "by hand");
	done();
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fleet_that_is_well),
		cmocka_unit_test(the_same_fleet_gives_the_same_status),
		cmocka_unit_test(the_time_of_a_condition_moves_with_its_status_alone),
		cmocka_unit_test(a_refused_spec),
		cmocka_unit_test(a_roll_says_what_it_waits_for),
		cmocka_unit_test(a_version_is_rolled_out_when_every_pod_serves_it),
		cmocka_unit_test(versions_that_run),
		cmocka_unit_test(a_pod_whose_state_cannot_be_read),
		cmocka_unit_test(conditions_of_the_caller),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
