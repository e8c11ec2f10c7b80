#include "test/lib/reconcile_fixture.h"

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

static int64_t may_write(void *ctx)
{
	const struct reconcile_fixture *f = ctx;

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

void reconcile_fixture_start(struct reconcile_fixture *f, const struct script_step *steps, size_t n)
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

	*f = (struct reconcile_fixture){ .server = script_start(steps, n, NULL),
					 .allowed_ms = 60000 };
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
	o->slots = slots_new(o->cache, 1);
	o->operator_namespace = "ops";
	o->settle_ms = o->hold_ms = o->recheck_ms = 10000;
	f->r = reconcile_new(o);
}

void reconcile_fixture_stop(struct reconcile_fixture *f)
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

void reconcile_fixture_restart(struct reconcile_fixture *f)
{
	reconcile_free(f->r);
	f->r = reconcile_new(&f->o);
}

/* The app as the watch tells it; status NULL: none yet. */
void reconcile_fixture_app(struct reconcile_fixture *f, const char *version, struct json *status)
{
	cleanup_json struct json *doc = app_fixture_doc();
	struct json *meta = json_get_mutable(doc, "metadata");

	json_set_str(meta, "resourceVersion", version);
	json_set_int(meta, "generation", 1);
	json_set(doc, "status", status);
	assert_true(cache_put(f->o.cache, CACHE_APP, doc));
}

/* Puts what we render into the cache as the API server would have it. */
void reconcile_fixture_made(struct reconcile_fixture *f, enum cache_kind kind, struct json *object)
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
void reconcile_fixture_pods(struct reconcile_fixture *f)
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
void reconcile_fixture_all(struct reconcile_fixture *f)
{
	struct app_fixture a = app_fixture_with(NULL, NULL);
	struct desired_input in = a.in;

	in.table = celld_table_builtin();
	in.operator_namespace = "ops";
	in.expected = "v1";
	reconcile_fixture_made(f, CACHE_SERVICE_ACCOUNT, desired_service_account(&in));
	reconcile_fixture_made(f, CACHE_SERVICE, desired_service(&in));
	reconcile_fixture_made(f, CACHE_SERVICE, desired_service_internal(&in));
	reconcile_fixture_made(f, CACHE_PDB, desired_pdb(&in));
	reconcile_fixture_made(f, CACHE_NETWORK_POLICY, desired_network_policy(&in));
	reconcile_fixture_made(f, CACHE_STATEFULSET,
			       desired_statefulset(&in, 3, DESIRED_PARTITION_REST));
	reconcile_fixture_pods(f);
	app_fixture_done(&a);
}

/* The n-th request whose line begins so, or NULL. */
const struct script_request *reconcile_fixture_request(struct reconcile_fixture *f,
						       const char *begins, size_t n)
{
	for (size_t i = 0; i < script_count(f->server); i++) {
		const struct script_request *r = script_request(f->server, i);

		if (str_starts(r->line, begins) && n-- == 0)
			return r;
	}
	return NULL;
}

struct json *reconcile_fixture_body(const struct script_request *r)
{
	struct json *j = NULL;
	struct err e = ERR_INIT;

	assert_non_null(r);
	assert_int_equal(json_parse(r->body, strlen(r->body), &j, &e), 0);
	return j;
}
