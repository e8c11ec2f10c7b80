#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "common/kube/client.h"
#include "common/kube/config.h"
#include "common/kube/event.h"
#include "controller/turn.h"
#include "test/lib/app_fixture.h"
#include "test/lib/script.h"

/* A turn for app store/shop whose StatefulSet is what we would make, with resourceVersion 7. */
struct fixture {
	struct app_fixture app;
	struct script *server;
	struct kube_config *config;
	struct reconcile_opts o;
	struct fleet_memory memory;
	struct turn t;
};

static void set(struct json *j, const char *path, const char *value)
{
	app_fixture_edit(j, path, value);
}

static void start(struct fixture *f, const struct script_step *steps, size_t n)
{
	struct kube_client_opts client = { .user_agent = "test/1" };
	struct event_opts events = { .controller = "c", .instance = "i" };

	*f = (struct fixture){ .app = app_fixture_with(NULL, NULL) };
	f->server = script_start(steps, n, NULL);
	f->config = kube_config_plain(script_url(f->server), "T1");
	client.config = f->config;
	f->o.client = kube_client_new(&client);
	f->o.cache = cache_new();
	events.client = f->o.client;
	f->o.events = event_recorder_new(&events);
	f->t = (struct turn){ .o = &f->o,
			      .key = "store/shop",
			      .app = f->app.app,
			      .input = f->app.in,
			      .version_known = true,
			      .memory = &f->memory };
	f->t.name = desired_name(f->app.app);
	f->t.app_version = xstrdup("v1");
	f->t.sts = desired_statefulset(&f->t.input, 3, DESIRED_PARTITION_REST);
	set(f->t.sts, "metadata.uid", "'s-1'");
	set(f->t.sts, "metadata.resourceVersion", "'7'");
	set(f->t.sts, "status",
	    "{'observedGeneration':1,'currentRevision':'r-1','updateRevision':'r-1'}");
	fleet_read_sts(f->t.sts, &f->t.facts);
}

static void stop(struct fixture *f)
{
	assert_int_equal(script_unexpected(f->server), 0);
	json_free(f->t.sts);
	free(f->t.name);
	free(f->t.app_version);
	event_recorder_free(f->o.events);
	cache_free(f->o.cache);
	kube_client_free(f->o.client);
	kube_config_free(f->config);
	script_stop(f->server);
	app_fixture_done(&f->app);
}

static void freeze(struct fixture *f)
{
	struct err e = ERR_INIT;

	f->t.decision = (struct rollout_decision){
		.write = ROLLOUT_WRITE_FREEZE, .replicas = 3, .partition = 3, .remember = -1
	};
	assert_int_equal(workload_write(&f->t, &e), 0);
}

/* The body of the i-th request; the caller's. */
static struct json *sent(struct fixture *f, size_t i)
{
	const char *body = script_request(f->server, i)->body;
	struct json *j = NULL;
	struct err e = ERR_INIT;

	assert_int_equal(json_parse(body, strlen(body), &j, &e), 0);
	return j;
}

static const char *annotation(const struct json *j, const char *name)
{
	return json_str(json_path(j, "metadata", "annotations", name, NULL));
}

#define STORED(version)                                                                            \
	"{\"apiVersion\":\"apps/v1\",\"kind\":\"StatefulSet\",\"metadata\":{\"namespace\":"        \
	"\"store\",\"name\":\"shop-celld\",\"resourceVersion\":\"" version "\"}}"

static void test_as_it_is_made_nothing_is_due(void **state)
{
	struct fixture f;

	(void)state;
	start(&f, NULL, 0);
	assert_false(workload_due(&f.t));
	set(f.t.sts, "spec.revisionHistoryLimit", "9");
	assert_true(workload_due(&f.t));
	stop(&f);
}

/* A mutating webhook that rewrites what we write: put back once, then let be, until one of the two changes. */
static void test_what_is_rewritten_is_let_be(void **state)
{
	static const struct script_step steps[] = { { .want = "PATCH ", .body = STORED("7") } };
	struct fixture f;

	(void)state;
	start(&f, steps, array_len(steps));
	set(f.t.sts, "spec.revisionHistoryLimit", "9");
	assert_true(workload_due(&f.t));
	freeze(&f);
	assert_false(workload_due(&f.t));
	set(f.t.sts, "spec.revisionHistoryLimit", "8");
	assert_true(workload_due(&f.t));
	set(f.t.sts, "spec.revisionHistoryLimit", "9");
	assert_false(workload_due(&f.t));
	f.t.input.config_hash = "abc"; /* something else is asked for */
	assert_true(workload_due(&f.t));
	stop(&f);
}

static void test_what_took_effect_is_put_back_again(void **state)
{
	static const struct script_step steps[] = { { .want = "PATCH ", .body = STORED("8") } };
	struct fixture f;

	(void)state;
	start(&f, steps, array_len(steps));
	set(f.t.sts, "spec.revisionHistoryLimit", "9");
	freeze(&f);
	assert_true(workload_due(&f.t));
	stop(&f);
}

/* An adopted StatefulSet may be ordered; nobody can change that, and a write that tries is refused for ever. */
static void test_immutable_fields_stay(void **state)
{
	static const struct script_step steps[] = { { .want = "PATCH ", .body = STORED("8") } };
	cleanup_json struct json *body = NULL;
	struct fixture f;

	(void)state;
	start(&f, steps, array_len(steps));
	set(f.t.sts, "spec.podManagementPolicy", "'OrderedReady'");
	assert_false(workload_due(&f.t));
	freeze(&f);
	body = sent(&f, 0);
	assert_string_equal(json_str(json_path(body, "spec", "podManagementPolicy", NULL)),
			    "OrderedReady");
	stop(&f);
}

/* The version that lost pods come back on is written down with the first freeze, and kept by those that follow. */
static void test_current_version_is_noted(void **state)
{
	static const struct script_step steps[] = {
		{ .want = "PATCH ", .body = STORED("8"), .again = true }
	};
	cleanup_json struct json *first = NULL, *second = NULL;
	struct fixture f;

	(void)state;
	start(&f, steps, array_len(steps));
	f.t.input.version = (struct version){ 0, 6, 3 };
	freeze(&f);
	first = sent(&f, 0);
	assert_string_equal(annotation(first, ANNOTATION_CURRENT), "v0.6.2");
	set(f.t.sts, "status.updateRevision", "'r-2'");
	json_set_str(json_get_mutable(json_get_mutable(f.t.sts, "metadata"), "annotations"),
		     ANNOTATION_CURRENT, "v0.6.1");
	fleet_read_sts(f.t.sts, &f.t.facts);
	assert_true(f.t.facts.has_current_version);
	freeze(&f);
	second = sent(&f, 1);
	assert_string_equal(annotation(second, ANNOTATION_CURRENT), "v0.6.1");
	stop(&f);
}

#define MAX_UNAVAILABLE "spec.updateStrategy.rollingUpdate.maxUnavailable"

static int64_t room_in(const struct json *j)
{
	int64_t room = 0;

	(void)json_int(json_at_path(j, MAX_UNAVAILABLE), &room);
	return room;
}

/* Where the server has the field a decision's number is written, and what is there is no reason to write. */
static void test_room_for_unavailable_pods(void **state)
{
	static const struct script_step steps[] = {
		{ .want = "PATCH ", .body = STORED("8"), .again = true }
	};
	static const char fields[] =
		"[{'manager':'celld-operator','operation':'Apply','fieldsType':'FieldsV1','"
		"fieldsV1':"
		"{'f:spec':{'f:updateStrategy':{'f:rollingUpdate':{'f:maxUnavailable':{}}}}}}]";
	cleanup_json struct json *without = NULL, *with = NULL;
	struct err e = ERR_INIT;
	struct fixture f;

	(void)state;
	start(&f, steps, array_len(steps));
	freeze(&f);
	without = sent(&f, 0);
	assert_null(json_at_path(without, MAX_UNAVAILABLE));
	set(f.t.sts, MAX_UNAVAILABLE, "3");
	set(f.t.sts, "metadata.managedFields", fields);
	fleet_read_sts(f.t.sts, &f.t.facts);
	assert_int_equal(f.t.facts.max_unavailable, 3);
	assert_false(workload_due(&f.t));
	f.t.decision = (struct rollout_decision){ .write = ROLLOUT_WRITE_STEP,
						  .replicas = 3,
						  .partition = 2,
						  .budget = 2,
						  .remember = -1 };
	assert_int_equal(workload_write(&f.t, &e), 0);
	with = sent(&f, 1);
	assert_int_equal(room_in(with), 2);
	/* somebody's percentage */
	set(f.t.sts, MAX_UNAVAILABLE, "'50%'");
	fleet_read_sts(f.t.sts, &f.t.facts);
	assert_int_equal(f.t.facts.max_unavailable, 1);
	assert_false(workload_due(&f.t));
	stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_it_is_made_nothing_is_due),
		cmocka_unit_test(test_what_is_rewritten_is_let_be),
		cmocka_unit_test(test_what_took_effect_is_put_back_again),
		cmocka_unit_test(test_immutable_fields_stay),
		cmocka_unit_test(test_room_for_unavailable_pods),
		cmocka_unit_test(test_current_version_is_noted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
