#include "controller/reconcile.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/kube/client.h"
#include "common/kube/event.h"
#include "common/log.h"
#include "common/map.h"
#include "controller/turn.h"

/* A sweep that is older than this is made anew before a gate is asked. */
enum { SWEEP_AGAIN_MS = 2000 };

struct reconciler {
	struct reconcile_opts o;
	pthread_mutex_t lock; /* of the map; an entry belongs to the worker that has its key */
	struct map *memories;
};

struct reconciler *reconcile_new(const struct reconcile_opts *o)
{
	struct reconciler *r = xcalloc(1, sizeof(*r));

	r->o = *o;
	r->memories = map_new(free);
	(void)pthread_mutex_init(&r->lock, NULL);
	return r;
}

void reconcile_free(struct reconciler *r)
{
	if (!r)
		return;
	map_free(r->memories);
	(void)pthread_mutex_destroy(&r->lock);
	free(r);
}

static struct fleet_memory *memory_of(struct reconciler *r, const char *key)
{
	struct fleet_memory *m;

	(void)pthread_mutex_lock(&r->lock);
	m = map_get(r->memories, key);
	if (!m) {
		m = xcalloc(1, sizeof(*m));
		map_put(r->memories, key, m);
	}
	(void)pthread_mutex_unlock(&r->lock);
	return m;
}

static void forget(struct reconciler *r, const char *key)
{
	(void)pthread_mutex_lock(&r->lock);
	map_del(r->memories, key);
	(void)pthread_mutex_unlock(&r->lock);
}

/* False: there is no such app (any more). */
static bool begin(struct reconciler *r, const char *key, struct turn *t)
{
	const char *slash = strchr(key, '/');
	cleanup(freep) char *ns = xstrndup(key, slash ? (size_t)(slash - key) : strlen(key));
	struct json *doc = cache_get(r->o.cache, CACHE_APP, ns, slash ? slash + 1 : "");
	struct err e = ERR_INIT;

	if (!doc)
		return false;
	if (workerapp_parse(doc, &t->faults, &t->app, &e)) {
		log_error("unreadable WorkerApp", "app", key, "error", e.message, NULL);
		return false;
	}
	t->o = &r->o;
	t->view = settings_get(r->o.settings);
	t->key = key;
	t->name = desired_name(t->app);
	t->memory = memory_of(r, key);
	t->obs = xcalloc(1, sizeof(*t->obs));
	return true;
}

/* What is due by the cache is decided again on what the API server has now; then it is written. */
static int act(struct turn *t, bool *ret_wrote, struct err *e)
{
	int r;

	*ret_wrote = false;
	if (t->decision.write == ROLLOUT_WRITE_NONE)
		return 0;
	r = turn_read_live(t, e);
	if (r)
		return r;
	turn_decide(t);
	if (t->decision.write == ROLLOUT_WRITE_NONE)
		return 0;
	r = workload_write(t, e);
	*ret_wrote = !r;
	return r;
}

static bool oldest_sweep(const struct turn *t, int64_t *ret)
{
	bool any = false;

	for (size_t i = 0; i < t->n_pods; i++) {
		if (!observe_can_be_asked(t->facts.uid, &t->pods[i]))
			continue;
		if (!any || t->states[i].begun_ms < *ret)
			*ret = t->states[i].begun_ms;
		any = true;
	}
	return any;
}

/* A pod that runs and was never asked, as after a start of this process. */
static bool unasked(const struct turn *t)
{
	for (size_t i = 0; i < t->n_pods; i++) {
		if (observe_can_be_asked(t->facts.uid, &t->pods[i]) && !t->states[i].asked)
			return true;
	}
	return false;
}

/*
 * Whoever waits for the pods' state gets a fresh one; the sweep brings the key back. True: the status waits for it too, so
 * that a process that has just started writes nothing that it will know better in a moment.
 */
static bool ask_for_sweep(struct turn *t)
{
	enum rollout_reason why = t->decision.reason;
	int64_t begun = 0;

	if (why == ROLLOUT_SETTLING && !t->obs->swept)
		sweep_request(t->o->sweeper, t->key); /* while it settles */
	if (why == ROLLOUT_SWEEP || unasked(t)) {
		sweep_request(t->o->sweeper, t->key);
		return true;
	}
	if ((why == ROLLOUT_RESTORING || why == ROLLOUT_UNREACHABLE) && oldest_sweep(t, &begun) &&
	    clock_mono_ms() - begun > SWEEP_AGAIN_MS)
		sweep_request(t->o->sweeper, t->key);
	return false;
}

static bool serves_own_version(const struct turn *t)
{
	return t->version_known &&
	       celld_facts_of(t->view->table, t->input.version)->state_deployment;
}

static struct json *make_status(struct turn *t)
{
	struct status_condition more[5];
	struct status_input in = {
		.app = t->app,
		.obs = t->obs,
		.decision = &t->decision,
		.sts = &t->facts,
		.pods = t->pods,
		.states = t->states,
		.n_pods = t->n_pods,
		.refusal = &t->verdict.refusal,
		.spec_valid = t->verdict.spec_valid,
		.spec_message = t->verdict.spec_message,
		.expected = t->expected,
		.tells_deployment = serves_own_version(t),
		.more = more,
		.url = t->around.url,
	};
	char now[CLOCK_TEXT];

	if (t->app->paused && !t->around.scaling.active)
		more[in.n_more++] =
			(struct status_condition){ .type = "MaintenancePaused",
						   .status = "True",
						   .reason = "Paused",
						   .message =
							   "nothing is written to the workload" };
	if (!t->app->deleting)
		more[in.n_more++] = t->exclusive;
	in.n_more += around_conditions(t, more + in.n_more);
	clock_text(clock_wall_ms(), now);
	in.now = now;
	return status_build(&in);
}

static int write_status(struct turn *t, struct err *e)
{
	cleanup_json struct json *status = make_status(t);
	cleanup_json struct json *body = NULL;
	cleanup_json struct json *answer = NULL;
	struct kube_apply_opts how = { .field_manager = STATUS_MANAGER,
				       .force = true,
				       .subresource = "status" };
	struct json *meta;
	int r;

	if (json_equal(status, t->app->status))
		return 0;
	body = json_new_object();
	json_set_str(body, "apiVersion", WORKERAPP_API);
	json_set_str(body, "kind", "WorkerApp");
	meta = json_object_at(body, "metadata");
	json_set_str(meta, "name", t->app->name);
	json_set_str(meta, "namespace", t->app->namespace);
	json_set_str(meta, "uid", t->app->uid);
	json_set_str(meta, "resourceVersion", t->app->resource_version);
	json_set(body, "status", take(status));
	r = kube_apply(t->o->client, &cache_kinds[CACHE_APP], t->app->namespace, body, &how,
		       &answer, e);
	if (r)
		return err_wrap(e, "writing the status");
	(void)cache_put(t->o->cache, CACHE_APP, answer);
	return 0;
}

static void tell_refusal(struct turn *t)
{
	struct event_about about = { .api_version = WORKERAPP_API,
				     .kind = "WorkerApp",
				     .namespace = t->app->namespace,
				     .name = t->app->name,
				     .uid = t->app->uid,
				     .resource_version = t->app->resource_version };

	if (t->verdict.refusal.reason)
		event_emit(t->o->events, &about, true, t->verdict.refusal.reason, "Refuse",
			   t->verdict.refusal.message);
}

static int work(struct turn *t, struct err *e)
{
	bool wrote = false;
	int r;

	turn_read_cached(t);
	turn_decide(t);
	if (!t->verdict.refusal.reason && !t->obs->no_workload) {
		r = children_apply(t, e);
		if (r)
			return r;
		if (t->foreign) {
			t->obs->refused = true;
			rollout_decide(t->obs, &t->decision);
		}
	}
	r = around_apply(t, e);
	if (!r)
		r = act(t, &wrote, e);
	if (r)
		return r;
	if (wrote) {
		queue_add(t->o->queue, t->key); /* the status of what has become of it */
		return 0;
	}
	if (t->decision.requeue > 0)
		queue_add_after(t->o->queue, t->key, t->decision.requeue);
	if (ask_for_sweep(t))
		return 0;
	r = write_status(t, e);
	if (!r)
		tell_refusal(t);
	return r;
}

bool reconcile(struct reconciler *r, const char *key)
{
	struct turn t = { .sts = NULL };
	struct err e = ERR_INIT;
	int result = 0;

	if (!begin(r, key, &t)) {
		faults_done(&t.faults);
		forget(r, key);
		return true;
	}
	if (!t.app->deleting)
		result = work(&t, &e);
	if (result == -ERR_CONFLICT || result == -ERR_NOT_FOUND)
		log_debug("will look again", "app", key, "why", e.message, NULL);
	else if (result && result != -ERR_CANCELED)
		log_warn("reconcile failed", "app", key, "error", e.message, NULL);
	turn_done(&t);
	(void)event_flush(r->o.events, 8);
	return result == 0;
}
