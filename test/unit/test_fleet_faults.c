#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "controller/fleet.h"
#include "test/lib/app_fixture.h"

static struct fleet_pod pod(const char *status, bool terminating)
{
	cleanup(freep) char *text =
		xasprintf("{'metadata':{'name':'shop-celld-4','uid':'u','labels':"
			  "{'celld-operator.io/workerapp':'shop'}%s},'spec':{'nodeName':'n-1'"
			  "},'status':%s}",
			  terminating ? ",'deletionTimestamp':'2026-11-29T10:00:00Z'" : "", status);
	cleanup_json struct json *j = app_fixture_json(text);
	struct fleet_pod p;

	assert_true(fleet_read_pod(j, &p));
	return p;
}

static void test_disruptions(void **state)
{
	static const struct {
		const char *reason;
		bool terminating;
		enum rollout_fault fault;
	} cases[] = {
		{ "EvictionByEvictionAPI", true, ROLLOUT_FAULT_NONE }, /* a drain */
		{ "PreemptionByScheduler", true, ROLLOUT_FAULT_NONE },
		{ "TerminationByKubelet", true, ROLLOUT_FAULT_NONE },
		{ "DeletionByTaintManager", true, ROLLOUT_FAULT_NODE_LOST },
		{ "DeletionByPodGC", true, ROLLOUT_FAULT_NODE_LOST },
		{ "DeletionByTaintManager", false, ROLLOUT_FAULT_NONE },
	};

	(void)state;
	for (size_t i = 0; i < array_len(cases); i++) {
		cleanup(freep) char *status = xasprintf(
			"{'phase':'Running','conditions':[{'type':'Ready','status':'True'},"
			"{'type':'DisruptionTarget','status':'True','reason':'%s','message':'m'}]}",
			cases[i].reason);
		struct fleet_pod p = pod(status, cases[i].terminating);

		assert_int_equal(p.fault, cases[i].fault);
		assert_int_equal(p.ordinal, 4);
		assert_string_equal(p.node, "n-1");
	}
	assert_int_equal(pod("{'reason':'NodeLost'}", false).fault, ROLLOUT_FAULT_NODE_LOST);
}

/* Restarts and the last end are told of a Ready pod too; they are no fault of it. */
static void test_life(void **state)
{
	struct fleet_pod p = pod("{'phase':'Running','conditions':[{'type':'Ready','status':'True'}"
				 "],'containerStatuses':"
				 "[{'name':'other','restartCount':9},{'name':'celld','restartCount'"
				 ":2,'lastState':{'terminated':"
				 "{'exitCode':3,'message':'self-fence'}}}]}",
				 false);

	(void)state;
	assert_int_equal(p.restarts, 2);
	assert_true(p.self_fenced);
	assert_int_equal(p.fault, ROLLOUT_FAULT_NONE);
	p = pod("{'phase':'Running','containerStatuses':[{'name':'celld','restartCount':2,'state':{"
		"'waiting':"
		"{'reason':'CrashLoopBackOff'}},'lastState':{'terminated':{'exitCode':3}}}]}",
		false);
	assert_int_equal(p.fault, ROLLOUT_FAULT_SELF_FENCE);
	p = pod("{'phase':'Pending'}", false);
	assert_int_equal(p.restarts, 0);
	assert_false(p.self_fenced);
	assert_int_equal(p.max_cells, 0);
}

static void test_max_cells(void **state)
{
	static const struct {
		const char *value;
		int64_t want;
	} cases[] = { { "1000", 1000 }, { "0", 0 },  { "", 0 },
		      { "1e3", 0 },	{ "-5", 0 }, { "1234567890123456", 0 } };

	(void)state;
	for (size_t i = 0; i < array_len(cases); i++) {
		cleanup(freep) char *text = xasprintf(
			"{'metadata':{'name':'shop-celld-0','labels':"
			"{'celld-operator.io/workerapp':'shop'}},'spec':{'containers':[{'name':'"
			"sidecar','env':"
			"[{'name':'CELLD_MAX_RESIDENT_CELLS','value':'7'}]},{'name':'celld','env':"
			"[{'name':'CELLD_MAX_RESIDENT_CELLS','value':'%s'}]}]}}",
			cases[i].value);
		cleanup_json struct json *j = app_fixture_json(text);
		struct fleet_pod p;

		assert_true(fleet_read_pod(j, &p));
		assert_int_equal(p.max_cells, cases[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_disruptions),
		cmocka_unit_test(test_life),
		cmocka_unit_test(test_max_cells),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
