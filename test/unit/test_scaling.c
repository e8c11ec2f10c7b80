#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "controller/scaling.h"
#include "test/lib/app_fixture.h"

static struct scaling read_of(const char *scaled_object, const char *autoscalers)
{
	cleanup_json struct json *so = scaled_object ? app_fixture_json(scaled_object) : NULL;
	cleanup_json struct json *all = app_fixture_json(autoscalers);
	struct scaling_input in = { .name = "shop-celld", .scaled_object = so, .autoscalers = all };
	struct scaling s;

	scaling_read(&in, &s);
	return s;
}

#define TARGET                                                                                     \
	"'spec':{'scaleTargetRef':{'apiVersion':'apps/"                                            \
	"v1','kind':'StatefulSet','name':'shop-celld'}}"
#define OWN                                                                                        \
	"{'metadata':{'name':'keda-hpa-shop-celld','ownerReferences':[{'kind':'ScaledObject',"     \
	"'name':'shop-celld','controller':true}]}," TARGET "}"
#define OTHER "{'metadata':{'name':'by-hand'}," TARGET "}"
#define OTHERS_KEDA                                                                                \
	"{'metadata':{'name':'keda-hpa-x','ownerReferences':[{'kind':'ScaledObject',"              \
	"'name':'x','controller':true}]}," TARGET "}"
#define ELSEWHERE                                                                                  \
	"{'metadata':{'name':'e'},'spec':{'scaleTargetRef':{'kind':'StatefulSet','name':'blog-"    \
	"celld'}}}"
#define DEPLOYMENT                                                                                 \
	"{'metadata':{'name':'d'},'spec':{'scaleTargetRef':{'kind':'Deployment','name':'shop-"     \
	"celld'}}}"
#define PAUSE	 "'metadata':{'annotations':{'autoscaling.keda.sh/paused':'true'}}"
#define NO_PAUSE "'metadata':{'annotations':{'autoscaling.keda.sh/paused':'false'}}"
#define SEEN                                                                                       \
	"'status':{'conditions':[{'type':'Ready','status':'True'},{'type':'Paused','status':'"     \
	"True'}]}"
#define UNSEEN "'status':{'conditions':[{'type':'Paused','status':'False'}]}"

static void without_an_autoscaler_nobody_is_in_the_way(void **state)
{
	(void)state;
	assert_false(read_of(NULL, "[]").active);
	assert_false(read_of(NULL, "[" ELSEWHERE "," DEPLOYMENT "]").active);
}

static void only_a_confirmed_pause_is_one(void **state)
{
	(void)state;
	/* not asked for */
	assert_true(read_of("{}", "[]").active);
	assert_true(read_of("{" NO_PAUSE "," SEEN "}", "[]").active);
	assert_true(read_of("{" SEEN "}", "[]").active);
	/* asked for, and the autoscaler is still there */
	assert_true(read_of("{" PAUSE "}", "[" OWN "]").active);
	assert_true(read_of("{" PAUSE "," UNSEEN "}", "[" OWN "]").active);
	/* KEDA says so, or its autoscaler is gone */
	assert_false(read_of("{" PAUSE "," SEEN "}", "[" OWN "]").active);
	assert_false(read_of("{" PAUSE "}", "[]").active);
	assert_false(read_of("{" PAUSE "," UNSEEN "}", "[" ELSEWHERE "]").active);
	assert_true(read_of("{" PAUSE "}", "[]").paused);
	assert_false(read_of("{" NO_PAUSE "}", "[]").paused);
}

static void one_that_outlives_its_scaled_object_is_waited_for(void **state)
{
	struct scaling s = read_of(NULL, "[" OWN "]");

	(void)state;
	assert_true(s.active);
	assert_string_equal(s.foreign, "");
}

static void a_foreign_one_is_named_whatever_ours_says(void **state)
{
	struct scaling s = read_of("{" PAUSE "," SEEN "}", "[" OTHER "]");

	(void)state;
	assert_true(s.active);
	assert_string_equal(s.foreign, "by-hand");
	s = read_of(NULL, "[" OWN "," OTHERS_KEDA "]");
	assert_true(s.active);
	assert_string_equal(s.foreign, "keda-hpa-x");
}

static void only_a_fleet_that_is_ready_is_scaled(void **state)
{
	static struct rollout_obs o = { .exists = true,
					.replicas = 2,
					.n_pods = 2,
					.remembered = -1,
					.partition = ROLLOUT_REST };
	struct rollout_decision d = { .phase = ROLLOUT_READY };
	static const enum rollout_phase others[] = { ROLLOUT_PAUSED, ROLLOUT_RECREATING,
						     ROLLOUT_ROLLING_OUT, ROLLOUT_PENDING };

	(void)state;
	for (int i = 0; i < 2; i++)
		o.pods[i] = (struct rollout_pod){ .exists = true, .ready = true, .updated = true };
	assert_false(scaling_must_pause(&o, &d));
	for (size_t i = 0; i < array_len(others); i++) {
		d.phase = others[i];
		assert_true(scaling_must_pause(&o, &d));
	}
	/* refused, and what runs is at rest */
	d.phase = ROLLOUT_DEGRADED;
	assert_false(scaling_must_pause(&o, &d));
	o.pods[1].ready = false;
	assert_true(scaling_must_pause(&o, &d));
	o.pods[1].ready = true;
	o.pods[0].updated = false;
	assert_true(scaling_must_pause(&o, &d));
	o.pods[0].updated = true;
	o.pods[0].terminating = true;
	assert_true(scaling_must_pause(&o, &d));
	o.pods[0].terminating = false;
	o.partition = 1;
	assert_true(scaling_must_pause(&o, &d));
	o.partition = ROLLOUT_REST;
	o.remembered = 2;
	assert_true(scaling_must_pause(&o, &d));
	o.remembered = -1;
	o.replicas = 3;
	assert_true(scaling_must_pause(&o, &d));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_an_autoscaler_nobody_is_in_the_way),
		cmocka_unit_test(only_a_confirmed_pause_is_one),
		cmocka_unit_test(one_that_outlives_its_scaled_object_is_waited_for),
		cmocka_unit_test(a_foreign_one_is_named_whatever_ours_says),
		cmocka_unit_test(only_a_fleet_that_is_ready_is_scaled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
