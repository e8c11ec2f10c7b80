#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "common/celld/table_load.h"
#include "common/http.h"
#include "common/kube/client.h"
#include "common/kube/config.h"
#include "common/kube/event.h"
#include "common/holdings.h"
#include "common/settings.h"
#include "controller/around.h"
#include "controller/reconcile.h"
#include "controller/secrets.h"
#include "controller/slots.h"
#include "controller/stores.h"
#include "controller/tracker.h"
#include "test/lib/app_fixture.h"
#include "test/lib/script.h"

/* One app, store/shop, before an API server of which a table tells what it answers. */
struct fixture {
	struct script *server;
	struct kube_config *config;
	struct http_cancel *cancel;
	struct snapshots *snapshots;
	struct desired_flags flags;
	struct strlist namespaces;
	struct settings *settings;
	struct holdings *holdings;
	struct reconcile_opts o;
	struct reconciler *r;
	int64_t allowed_ms; /* the fence */
};

static int64_t may_write(void *ctx)
{
	const struct fixture *f = ctx;

	return f->allowed_ms;
}

static bool never(void *ctx)
{
	(void)ctx;
	return false;
}

static void nothing(void *ctx)
{
	(void)ctx;
}

static void start(struct fixture *f, const struct script_step *steps, size_t n)
{
	struct kube_client_opts client = { .may_write = may_write, .may_write_ctx = f };
	struct event_opts events = { .controller = "celld-operator.io/controller",
				     .instance = "i" };
	struct sweep_opts sweep = { .interval_ms = 3600000, .active = never };
	struct around_opts around = { .discovery_ms = 3600000, .changed = nothing };
	struct secrets_opts secrets = { .interval_ms = 3600000, .active = never };
	struct tracker_opts tracker = { .interval_ms = 3600000, .active = never };
	struct settings_options settings = { .poll_ms = -1 };
	struct err e = ERR_INIT;
	struct stores_opts stores;
	struct reconcile_opts *o = &f->o;

	*f = (struct fixture){ .server = script_start(steps, n, NULL), .allowed_ms = 60000 };
	desired_flags_init(&f->flags);
	f->config = kube_config_plain(script_url(f->server), NULL);
	f->cancel = http_cancel_new();
	f->snapshots = snapshots_new();
	client.config = around.config = f->config;
	client.cancel = sweep.cancel = tracker.cancel = f->cancel;
	o->client = around.client = events.client = secrets.client = kube_client_new(&client);
	o->cache = sweep.cache = around.cache = cache_new();
	o->queue = sweep.queue = around.queue = secrets.queue = tracker.queue = queue_new(1, 10);
	assert_int_equal(settings_start(&settings, &f->settings, &e), 0);
	f->holdings = holdings_new();
	o->settings = sweep.settings = tracker.settings = f->settings;
	o->holdings = f->holdings;
	sweep.snapshots = f->snapshots;
	around.flags = &f->flags;
	around.namespaces = &f->namespaces;
	o->sweeper = sweep_start(&sweep);
	o->events = event_recorder_new(&events);
	o->around = around_new(&around);
	o->secrets = tracker.secrets = secrets_start(&secrets);
	o->tracker = tracker_start(&tracker);
	stores = (struct stores_opts){ o->client, o->cache, o->queue, o->secrets };
	o->stores = stores_new(&stores);
	o->slots = slots_new(o->cache, 0);
	o->operator_namespace = "ops";
	o->settle_ms = o->hold_ms = o->recheck_ms = 10000;
	f->r = reconcile_new(o);
}

static void stop(struct fixture *f)
{
	assert_int_equal(script_unexpected(f->server), 0);
	http_cancel_trigger(f->cancel);
	reconcile_free(f->r);
	tracker_stop(f->o.tracker);
	secrets_stop(f->o.secrets);
	sweep_stop(f->o.sweeper);
	around_free(f->o.around);
	stores_free(f->o.stores);
	slots_free(f->o.slots);
	event_recorder_free(f->o.events);
	kube_client_free(f->o.client);
	cache_free(f->o.cache);
	queue_free(f->o.queue);
	snapshots_free(f->snapshots);
	holdings_free(f->holdings);
	settings_stop(f->settings);
	http_cancel_free(f->cancel);
	kube_config_free(f->config);
	desired_flags_done(&f->flags);
	script_stop(f->server);
}

/* The app as the watch tells it; status NULL: none yet. */
static void app_is(struct fixture *f, const char *version, struct json *status)
{
	cleanup_json struct json *doc = app_fixture_doc();
	struct json *meta = json_get_mutable(doc, "metadata");

	json_set_str(meta, "resourceVersion", version);
	json_set_int(meta, "generation", 1);
	json_set(doc, "status", status);
	assert_true(cache_put(f->o.cache, CACHE_APP, doc));
}

/* Puts what we render into the cache as the API server would have it. */
static void made(struct fixture *f, enum cache_kind kind, struct json *object)
{
	cleanup_json struct json *j = object;
	struct json *meta = json_get_mutable(j, "metadata");

	json_set_str(meta, "uid", "made");
	json_set_str(meta, "resourceVersion", "3");
	json_set(meta, "managedFields",
		 app_fixture_json("[{'manager':'celld-operator','operation':'Apply'}]"));
	if (kind == CACHE_STATEFULSET)
		json_set(j, "status",
			 app_fixture_json("{'currentRevision':'r1','updateRevision':'r1'}"));
	assert_true(cache_put(f->o.cache, kind, j));
}

/* Three pods that are Ready. They have no address, so nobody asks them anything. */
static void pods_are_ready(struct fixture *f)
{
	for (int i = 0; i < 3; i++) {
		cleanup(freep) char *text = xasprintf(
			"{'metadata':{'name':'shop-celld-%d','namespace':'store','uid':'p%d',"
			"'resourceVersion':'4','labels':{'celld-operator.io/workerapp':'shop',"
			"'controller-revision-hash':'r1'},'annotations':"
			"{'celld-operator.io/celld-version':'v0.6.2'}},'status':{'phase':'Running',"
			"'conditions':[{'type':'Ready','status':'True'}]}}",
			i, i);
		cleanup_json struct json *j = app_fixture_json(text);

		assert_true(cache_put(f->o.cache, CACHE_POD, j));
	}
}

/* Everything is there, and as it should be. */
static void all_is_made(struct fixture *f)
{
	struct app_fixture a = app_fixture_with(NULL, NULL);
	struct desired_input in = a.in;

	in.table = celld_table_builtin();
	in.operator_namespace = "ops";
	in.expected = "v1";
	made(f, CACHE_SERVICE_ACCOUNT, desired_service_account(&in));
	made(f, CACHE_SERVICE, desired_service(&in));
	made(f, CACHE_SERVICE, desired_service_internal(&in));
	made(f, CACHE_PDB, desired_pdb(&in));
	made(f, CACHE_NETWORK_POLICY, desired_network_policy(&in));
	made(f, CACHE_STATEFULSET, desired_statefulset(&in, 3, DESIRED_PARTITION_REST));
	pods_are_ready(f);
	app_fixture_done(&a);
}

/* The n-th request whose line begins so, or NULL. */
static const struct script_request *request(struct fixture *f, const char *begins, size_t n)
{
	for (size_t i = 0; i < script_count(f->server); i++) {
		const struct script_request *r = script_request(f->server, i);

		if (str_starts(r->line, begins) && n-- == 0)
			return r;
	}
	return NULL;
}

static struct json *body_of(const struct script_request *r)
{
	struct json *j = NULL;
	struct err e = ERR_INIT;

	assert_non_null(r);
	assert_int_equal(json_parse(r->body, strlen(r->body), &j, &e), 0);
	return j;
}

#define NOT_THERE                                                                                  \
	{                                                                                          \
		.want = "GET ", .status = 404, .again = true,                                      \
		.body = "{\"reason\":\"NotFound\",\"message\":\"m\"}"                              \
	}
#define LIST                                                                                       \
	{                                                                                          \
		.want = "GET /api/v1/namespaces/store/pods?", .body = "{\"items\":[]}",            \
		.again = true                                                                      \
	}
#define ANY_WRITE                                                                                  \
	{                                                                                          \
		.want = "PATCH ", .body = "{\"metadata\":{}}", .again = true                       \
	}
#define EVENTS                                                                                     \
	{                                                                                          \
		.want = "POST /apis/events.k8s.io/", .status = 201, .body = "{}", .again = true    \
	}
#define STATEFULSET "/apis/apps/v1/namespaces/store/statefulsets/shop-celld"
#define STATUS	    "PATCH /apis/celld-operator.io/v1alpha1/namespaces/store/workerapps/shop/status"

static void a_new_app_gets_its_objects_and_then_its_fleet(void **state)
{
	static const struct script_step steps[] = { LIST, NOT_THERE, ANY_WRITE, EVENTS };
	static const char *const order[] = {
		"PATCH /api/v1/namespaces/store/serviceaccounts/shop-celld?",
		"PATCH /api/v1/namespaces/store/services/shop-celld?",
		"PATCH /api/v1/namespaces/store/services/shop-celld-internal?",
		"PATCH /apis/policy/v1/namespaces/store/poddisruptionbudgets/shop-celld?",
		"PATCH /apis/networking.k8s.io/v1/namespaces/store/networkpolicies/shop-celld?",
		("PATCH " STATEFULSET "?"),
	};
	struct fixture f;
	struct queue_stats q;
	struct json *j;
	size_t next = 0;
	int64_t n = 0;

	(void)state;
	start(&f, steps, array_len(steps));
	app_is(&f, "5", NULL);
	assert_true(reconcile(f.r, "store/shop"));
	for (size_t i = 0; i < script_count(f.server); i++)
		next += next < array_len(order) &&
			str_starts(script_request(f.server, i)->line, order[next]);
	assert_int_equal(next, array_len(order));
	j = body_of(request(&f, "PATCH " STATEFULSET, 0));
	assert_true(json_int(json_at_path(j, "spec.replicas"), &n));
	assert_int_equal(n, 3);
	json_free(j);
	/* the status tells what became of it, in a turn of its own */
	assert_null(request(&f, STATUS, 0));
	queue_stats(f.o.queue, &q);
	assert_int_equal(q.ready, 1);
	assert_non_null(request(&f, "POST /apis/events.k8s.io/v1/namespaces/store/events", 0));
	stop(&f);
}

static void a_quiet_fleet_is_written_once_and_never_again(void **state)
{
	static const struct script_step steps[] = { { .want = STATUS,
						      .body = "{\"metadata\":{}}" } };
	struct fixture f;
	struct json *j;

	(void)state;
	start(&f, steps, array_len(steps));
	app_is(&f, "5", NULL);
	all_is_made(&f);
	assert_true(reconcile(f.r, "store/shop"));
	assert_int_equal(script_count(f.server), 1);
	j = body_of(request(&f, STATUS, 0));
	assert_string_equal(json_str(json_at_path(j, "status.phase")), "Ready");
	assert_string_equal(json_str(json_at_path(j, "metadata.resourceVersion")), "5");
	assert_string_equal(json_str(json_at_path(j, "metadata.uid")), "u-1");
	/* once the watch has told of it there is nothing left to say */
	app_is(&f, "6", json_take(j, "status"));
	json_free(j);
	for (int i = 0; i < 3; i++)
		assert_true(reconcile(f.r, "store/shop"));
	assert_int_equal(script_count(f.server), 1);
	stop(&f);
}

/* Another process has written in between: the turn fails, and the key comes back. */
static void a_conflict_is_looked_at_again(void **state)
{
	static const struct script_step steps[] = {
		LIST,
		NOT_THERE,
		{ .want = "PATCH " STATEFULSET,
		  .status = 409,
		  .body = "{\"reason\":\"Conflict\",\"message\":\"m\"}" },
		ANY_WRITE,
		EVENTS,
	};
	struct fixture f;

	(void)state;
	start(&f, steps, array_len(steps));
	app_is(&f, "5", NULL);
	assert_false(reconcile(f.r, "store/shop"));
	assert_null(request(&f, STATUS, 0));
	assert_true(reconcile(f.r, "store/shop"));
	assert_non_null(request(&f, "PATCH " STATEFULSET, 1));
	stop(&f);
}

static void a_status_that_somebody_else_has_written_is_looked_at_again(void **state)
{
	static const struct script_step steps[] = {
		{ .want = STATUS,
		  .status = 409,
		  .body = "{\"reason\":\"Conflict\",\"message\":\"m\"}" },
		{ .want = STATUS, .body = "{\"metadata\":{}}" },
	};
	struct fixture f;

	(void)state;
	start(&f, steps, array_len(steps));
	app_is(&f, "5", NULL);
	all_is_made(&f);
	assert_false(reconcile(f.r, "store/shop"));
	assert_true(reconcile(f.r, "store/shop"));
	stop(&f);
}

/* The Lease is about to run out: whatever is due is not sent. */
static void who_may_not_write_sends_nothing(void **state)
{
	static const struct script_step steps[] = { LIST, NOT_THERE };
	struct fixture f;

	(void)state;
	start(&f, steps, array_len(steps));
	f.allowed_ms = 0;
	app_is(&f, "5", NULL);
	assert_false(reconcile(f.r, "store/shop"));
	assert_null(request(&f, "PATCH ", 0));
	all_is_made(&f);
	assert_false(reconcile(f.r, "store/shop")); /* its status */
	assert_null(request(&f, "PATCH ", 0));
	stop(&f);
}

static void a_foreign_statefulset_stays_as_it_is(void **state)
{
	static const struct script_step steps[] = { { .want = STATUS, .body = "{\"metadata\":{}}" },
						    EVENTS };
	struct fixture f;
	struct json *j;

	(void)state;
	start(&f, steps, array_len(steps));
	app_is(&f, "5", NULL);
	j = app_fixture_json(
		"{'kind':'StatefulSet','metadata':{'name':'shop-celld','namespace':'store',"
		"'uid':'x','resourceVersion':'1','ownerReferences':[{'controller':true,"
		"'uid':'u-9'}]},'spec':{'replicas':1}}");
	assert_true(cache_put(f.o.cache, CACHE_STATEFULSET, j));
	json_free(j);
	assert_true(reconcile(f.r, "store/shop"));
	j = body_of(request(&f, STATUS, 0));
	assert_string_equal(json_str(json_at_path(j, "status.phase")), "Degraded");
	json_free(j);
	j = body_of(request(&f, "POST ", 0));
	assert_string_equal(json_get_str(j, "reason"), "ForeignObject");
	assert_string_equal(json_get_str(j, "type"), "Warning");
	json_free(j);
	assert_int_equal(script_count(f.server), 2);
	stop(&f);
}

static void nobody_is_asked_about_an_app_that_goes(void **state)
{
	struct fixture f;
	struct json *doc;

	(void)state;
	start(&f, NULL, 0);
	assert_true(reconcile(f.r, "store/none"));
	doc = app_fixture_doc();
	app_fixture_edit(doc, "metadata.deletionTimestamp", "'2026-01-01T00:00:00Z'");
	app_fixture_edit(doc, "metadata.resourceVersion", "'5'");
	assert_true(cache_put(f.o.cache, CACHE_APP, doc));
	json_free(doc);
	assert_true(reconcile(f.r, "store/shop"));
	assert_int_equal(script_count(f.server), 0);
	stop(&f);
}

/* What slipped past admission: the fleet stays, the status says why. */
static void a_spec_that_is_refused_changes_nothing(void **state)
{
	static const struct script_step steps[] = { { .want = STATUS, .body = "{\"metadata\":{}}" },
						    EVENTS };
	struct fixture f;
	struct json *doc, *j;

	(void)state;
	start(&f, steps, array_len(steps));
	all_is_made(&f);
	doc = app_fixture_doc();
	app_fixture_edit(doc, "metadata.resourceVersion", "'5'");
	app_fixture_edit(doc, "spec.celld.image", "'ghcr.io/denoland/celld:v0.2.1'");
	assert_true(cache_put(f.o.cache, CACHE_APP, doc));
	json_free(doc);
	assert_true(reconcile(f.r, "store/shop"));
	assert_int_equal(script_count(f.server), 2);
	j = body_of(request(&f, STATUS, 0));
	assert_string_equal(json_str(json_at_path(j, "status.phase")), "Degraded");
	json_free(j);
	j = body_of(request(&f, "POST ", 0));
	assert_string_equal(json_get_str(j, "reason"), "BlockedDowngrade");
	json_free(j);
	stop(&f);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_app_gets_its_objects_and_then_its_fleet),
		cmocka_unit_test(a_quiet_fleet_is_written_once_and_never_again),
		cmocka_unit_test(a_conflict_is_looked_at_again),
		cmocka_unit_test(a_status_that_somebody_else_has_written_is_looked_at_again),
		cmocka_unit_test(who_may_not_write_sends_nothing),
		cmocka_unit_test(a_foreign_statefulset_stays_as_it_is),
		cmocka_unit_test(nobody_is_asked_about_an_app_that_goes),
		cmocka_unit_test(a_spec_that_is_refused_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
