#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "controller/fleet.h"
#include "test/lib/app_fixture.h"

static struct fleet_pod pod(const char *text)
{
	cleanup_json struct json *j = app_fixture_json(text);
	struct fleet_pod p;

	assert_true(fleet_read_pod(j, &p));
	return p;
}

/* A pod kv-celld-0 with this status. */
static struct fleet_pod with_status(const char *status)
{
	cleanup_json struct json *j = app_fixture_json(
		"{'metadata':{'name':'kv-celld-0','labels':{'celld-operator.io/workerapp':'kv'}}}");
	struct fleet_pod p;

	json_set(j, "status", app_fixture_json(status));
	assert_true(fleet_read_pod(j, &p));
	return p;
}

static void a_pod_in_full(void **state)
{
	struct fleet_pod p = pod(
		"{'metadata':{'name':'kv-celld-12','uid':'p1','ownerReferences':[{'uid':'x'},"
		"{'controller':true,'uid':'s1'}],'labels':{'celld-operator.io/"
		"workerapp':'kv','controller-revision-hash':'r7'},"
		"'annotations':{'celld-operator.io/celld-version':'v0.5.1',"
		"'celld-operator.io/app-version':'v9'}},'spec':{'containers':[{'name':'other',"
		"'env':[{'name':'CELLD_MAX_RESIDENT_CELLS','value':'1'}]},{'name':'celld','env':"
		"[{'name':'A'},{'name':'CELLD_MAX_RESIDENT_CELLS','value':'250'}]}]},"
		"'status':{'podIP':'fd00::7','phase':'Running','conditions':[{'type':'Ready',"
		"'status':'True'}],'containerStatuses':[{'name':'celld','restartCount':4,"
		"'lastState':{'terminated':{'exitCode':3}}}]}}");

	(void)state;
	assert_string_equal(p.name, "kv-celld-12");
	assert_string_equal(p.uid, "p1");
	assert_string_equal(p.ip, "fd00::7");
	assert_string_equal(p.owner_uid, "s1");
	assert_string_equal(p.revision, "r7");
	assert_string_equal(p.app_version, "v9");
	assert_int_equal(p.ordinal, 12);
	assert_true(p.has_version && p.version.minor == 5 && p.version.patch == 1);
	assert_true(p.ready && p.running && !p.terminating);
	assert_int_equal(p.max_cells, 250);
	assert_int_equal(p.restarts, 4);
	assert_true(p.self_fenced);
	/* a pod that is Ready has no fault, whatever it did before */
	assert_int_equal(p.fault, ROLLOUT_FAULT_NONE);
}

/*
 * A copy for debugging, or another workload's pod, may carry the label; it must not pass for an ordinal of the fleet.
 */
static void names_and_ordinals(void **state)
{
	static const struct {
		const char *name;
		int ordinal; /* -1: no member */
	} cases[] = {
		{ "kv-celld-0", 0 },
		{ "kv-celld-999999", 999999 },
		{ "kv-celld-1000000", -1 },
		{ "kv-celld-", -1 },
		{ "kv-celld-1x", -1 },
		{ "kv-celld-1-debug", -1 },
		{ "kv-worker-1", -1 },
		{ "a-kv-celld-1", -1 },
		{ "kv-1", -1 },
		{ "kv", -1 },
		{ "a23456789-123456789-123456789-123456789-123456789-123456789-0123", -1 },
	};
	cleanup_json struct json *none = app_fixture_json("{'metadata':{}}");
	struct fleet_pod p;

	(void)state;
	for (size_t i = 0; i < array_len(cases); i++) {
		cleanup(freep) char *text = xasprintf(
			"{'metadata':{'name':'%s','labels':{'celld-operator.io/workerapp':'kv'}}}",
			cases[i].name);
		cleanup_json struct json *j = app_fixture_json(text);

		assert_int_equal(fleet_read_pod(j, &p), cases[i].ordinal >= 0);
		if (cases[i].ordinal >= 0)
			assert_int_equal(p.ordinal, cases[i].ordinal);
	}
	assert_false(fleet_read_pod(none, &p));
}

#define WAITING(reason)                                                                            \
	"{'containerStatuses':[{'name':'x'},{'name':'celld','state':{'waiting':{'reason':"         \
	"'" reason "','message':'why'}}}]}"

static void what_keeps_a_container_from_starting(void **state)
{
	static const struct {
		const char *status;
		enum rollout_fault fault;
		const char *text;
	} cases[] = {
		{ WAITING("ErrImagePull"), ROLLOUT_FAULT_IMAGE, "why" },
		{ WAITING("ImagePullBackOff"), ROLLOUT_FAULT_IMAGE, "why" },
		{ WAITING("InvalidImageName"), ROLLOUT_FAULT_IMAGE, "why" },
		{ WAITING("CreateContainerConfigError"), ROLLOUT_FAULT_CONFIG, "why" },
		{ WAITING("RunContainerError"), ROLLOUT_FAULT_CONFIG, "why" },
		{ WAITING("CrashLoopBackOff"), ROLLOUT_FAULT_CRASH_LOOP, "" },
		{ WAITING("ContainerCreating"), ROLLOUT_FAULT_NONE, "" },
		{ WAITING("PodInitializing"), ROLLOUT_FAULT_NONE, "" },
		{ "{}", ROLLOUT_FAULT_NONE, "" },
	};

	(void)state;
	for (size_t i = 0; i < array_len(cases); i++) {
		struct fleet_pod p = with_status(cases[i].status);

		if (p.fault != cases[i].fault)
			fail_msg("%s: %d", cases[i].status, (int)p.fault);
		assert_string_equal(p.fault_text, cases[i].text);
	}
}

#define ENDED(where, code, restarts)                                                               \
	"{'containerStatuses':[{'name':'celld','restartCount':" restarts ",'" where                \
	"':{'terminated':{'exitCode':" code ",'message':'panic'}}}]}"

static void a_container_that_ends_again_and_again(void **state)
{
	static const struct {
		const char *status;
		enum rollout_fault fault;
		int exit_code;
	} cases[] = {
		/* it has ended now */
		{ ENDED("state", "1", "0"), ROLLOUT_FAULT_CRASH_LOOP, 1 },
		{ ENDED("state", "0", "5"), ROLLOUT_FAULT_NONE, 0 },
		/* it runs again: one end is none, two are a loop */
		{ ENDED("lastState", "1", "1"), ROLLOUT_FAULT_NONE, 1 },
		{ ENDED("lastState", "1", "2"), ROLLOUT_FAULT_CRASH_LOOP, 1 },
		/* 3: it has fenced itself */
		{ ENDED("lastState", "3", "2"), ROLLOUT_FAULT_SELF_FENCE, 3 },
		{ ENDED("lastState", "99999999999", "2"), ROLLOUT_FAULT_NONE, -1 },
	};

	(void)state;
	for (size_t i = 0; i < array_len(cases); i++) {
		struct fleet_pod p = with_status(cases[i].status);

		if (p.fault != cases[i].fault)
			fail_msg("%s: %d", cases[i].status, (int)p.fault);
		assert_int_equal(p.exit_code, cases[i].exit_code);
		assert_string_equal(p.fault_text, "panic");
		assert_int_equal(p.self_fenced, cases[i].exit_code == 3);
	}
}

#define UNSCHEDULABLE(message)                                                                     \
	"{'conditions':[{'type':'PodScheduled','status':'False','reason':'Unschedulable',"         \
	"'message':'" message "'}]}"

static void where_a_pod_stands(void **state)
{
	struct fleet_pod p = with_status(UNSCHEDULABLE("0/3 nodes are available"));

	(void)state;
	assert_int_equal(p.fault, ROLLOUT_FAULT_UNSCHEDULABLE);
	assert_string_equal(p.fault_text, "0/3 nodes are available");
	p = with_status(UNSCHEDULABLE("persistentvolumeclaim \\\"d\\\" not found"));
	assert_int_equal(p.fault, ROLLOUT_FAULT_CLAIM_LOST);
	p = with_status("{'reason':'NodeLost'}");
	assert_int_equal(p.fault, ROLLOUT_FAULT_NODE_LOST);
	/* evicted, and its node does not end it */
	p = pod("{'metadata':{'name':'kv-celld-0','labels':{'celld-operator.io/"
		"workerapp':'kv'},'deletionTimestamp':'t'},'status':{'conditions':"
		"[{'type':'DisruptionTarget','status':'True','reason':'DeletionByTaintManager',"
		"'message':'taint'}]}}");
	assert_true(p.terminating);
	assert_int_equal(p.fault, ROLLOUT_FAULT_NODE_LOST);
	assert_string_equal(p.fault_text, "taint");
	p = with_status("{'conditions':[{'type':'DisruptionTarget','status':'True'}]}");
	assert_int_equal(p.fault, ROLLOUT_FAULT_NONE);
}

static void cells_that_are_no_number(void **state)
{
	static const char *const values[] = { "''", "'x'", "'1x'", "'1234567890123456'", "null" };

	(void)state;
	for (size_t i = 0; i < array_len(values); i++) {
		cleanup(freep) char *text =
			xasprintf("{'metadata':{'name':'kv-celld-0','labels':{'celld-operator.io/"
				  "workerapp':'kv'}},'spec':{'containers':[{'name':'celld',"
				  "'env':[{'name':'CELLD_MAX_RESIDENT_CELLS','value':%s}]}]}}",
				  values[i]);

		assert_int_equal(pod(text).max_cells, 0);
	}
}

static void no_statefulset(void **state)
{
	struct fleet_sts s;

	(void)state;
	fleet_read_sts(NULL, &s);
	assert_false(s.exists);
	assert_int_equal(s.remembered, -1);
	assert_int_equal(s.replicas, 0);
	assert_string_equal(s.uid, "");
	assert_false(s.has_version || s.has_claims);
}

static void a_statefulset_in_full(void **state)
{
	cleanup_json struct json *j = app_fixture_json(
		"{'metadata':{'uid':'s1','resourceVersion':'77','generation':5,'ownerReferences':"
		"[{'controller':true,'uid':'a1'}],'annotations':{'celld-operator.io/intent':'abc',"
		"'celld-operator.io/renderer':'1','celld-operator.io/replicas':'12'}},"
		"'spec':{'replicas':0,'minReadySeconds':7,'updateStrategy':{'rollingUpdate':"
		"{'partition':2147483647}},'volumeClaimTemplates':[{}],'template':{'metadata':"
		"{'annotations':{'celld-operator.io/celld-version':'v0.6.2',"
		"'celld-operator.io/app-version':'v3'}},'spec':{'containers':[{'env':"
		"[{'name':'CELLD_DURABILITY','value':'fleet'}]}]}}},"
		"'status':{'observedGeneration':4,'currentRevision':'r1','updateRevision':'r2'}}");
	struct fleet_sts s;

	(void)state;
	fleet_read_sts(j, &s);
	assert_true(s.exists);
	assert_string_equal(s.uid, "s1");
	assert_string_equal(s.resource_version, "77");
	assert_string_equal(s.owner_uid, "a1");
	assert_int_equal(s.generation, 5);
	assert_int_equal(s.observed_generation, 4);
	assert_int_equal(s.replicas, 0);
	assert_int_equal(s.partition, ROLLOUT_REST);
	assert_int_equal(s.remembered, 12);
	assert_int_equal(s.min_ready_seconds, 7);
	assert_string_equal(s.intent, "abc");
	assert_string_equal(s.renderer, "1");
	assert_string_equal(s.current_revision, "r1");
	assert_string_equal(s.update_revision, "r2");
	assert_true(s.has_version && s.version.minor == 6);
	assert_string_equal(s.app_version, "v3");
	assert_true(s.has_claims);
	assert_false(s.bucket_durability);
}

static void defaults_of_a_statefulset(void **state)
{
	static const struct {
		const char *note;
		int remembered;
	} notes[] = { { "'0'", 0 },   { "'99999'", 99999 }, { "'123456'", -1 },
		      { "'-1'", -1 }, { "''", -1 },	    { "'1 '", -1 } };
	struct fleet_sts s;

	(void)state;
	for (size_t i = 0; i < array_len(notes); i++) {
		cleanup_json struct json *j = app_fixture_json("{'metadata':{},'spec':{}}");
		struct json *all = json_object_at(json_get_mutable(j, "metadata"), "annotations");

		json_set(all, "celld-operator.io/replicas", app_fixture_json(notes[i].note));
		fleet_read_sts(j, &s);
		assert_int_equal(s.remembered, notes[i].remembered);
		assert_int_equal(s.replicas, 1); /* the server's default */
		assert_int_equal(s.partition, 0);
		assert_true(s.bucket_durability);
	}
}

/* Another operator's pods and StatefulSet have no note of ours. */
static void a_version_is_in_the_image_too(void **state)
{
	static const struct {
		const char *note, *containers;
		int minor; /* -1: not known */
	} rows[] = {
		{ "",
		  "[{'name':'side','image':'x:v0.9.9'},{'name':'celld','image':'r/celld:v0.6.2'}]",
		  6 },
		{ "",
		  "[{'name':'worker','image':'r/celld:0.5.0'},{'name':'side','image':'x:v0.9.9'}]",
		  5 },
		{ "'celld-operator.io/celld-version':'v0.4.0'",
		  "[{'name':'celld','image':'r/celld:v0.6.2'}]", 4 },
		{ "", "[{'name':'celld','image':'r/celld:latest'}]", -1 },
		{ "", "[]", -1 },
	};

	(void)state;
	for (size_t i = 0; i < array_len(rows); i++) {
		cleanup(freep) char *text = xasprintf(
			"{'metadata':{'name':'kv-celld-0','labels':{'celld-operator.io/workerapp':"
			"'kv'},'annotations':{%s}},'spec':{'containers':%s}}",
			rows[i].note, rows[i].containers);
		cleanup(freep) char *whole = xasprintf("{'spec':{'template':%s}}", text);
		cleanup_json struct json *j = app_fixture_json(whole);
		struct fleet_pod p = pod(text);
		struct fleet_sts s;

		fleet_read_sts(j, &s);
		assert_int_equal(p.has_version, rows[i].minor >= 0);
		assert_int_equal(s.has_version, rows[i].minor >= 0);
		if (rows[i].minor >= 0) {
			assert_int_equal(p.version.minor, rows[i].minor);
			assert_int_equal(s.version.minor, rows[i].minor);
		}
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_version_is_in_the_image_too),
		cmocka_unit_test(a_pod_in_full),
		cmocka_unit_test(names_and_ordinals),
		cmocka_unit_test(what_keeps_a_container_from_starting),
		cmocka_unit_test(a_container_that_ends_again_and_again),
		cmocka_unit_test(where_a_pod_stands),
		cmocka_unit_test(cells_that_are_no_number),
		cmocka_unit_test(no_statefulset),
		cmocka_unit_test(a_statefulset_in_full),
		cmocka_unit_test(defaults_of_a_statefulset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
