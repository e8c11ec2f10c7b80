#include "controller/reconcile.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/digest.h"
#include "common/kube/client.h"
#include "common/kube/event.h"
#include "common/log.h"
#include "common/map.h"
#include "controller/claims.h"
#include "controller/detail.h"
#include "controller/exclusive.h"
#include "controller/slots.h"
#include "controller/status_write.h"
#include "controller/stores.h"
#include "controller/tell.h"
#include "controller/turn.h"

/* A sweep that is older than this is made anew before a gate is asked. */
enum { SWEEP_AGAIN_MS = 2000 };
/* How often somebody else's object in our place is looked at again. */
enum { FOREIGN_MS = 30000 };
/* Claims are not watched: whether a foreign one has gone is looked at again after. */
enum { CLAIMS_AGAIN_MS = 30000 };

/* How many Events one turn sends at most, those of others included. */
enum { EVENTS = 64 };

struct reconciler {
	struct reconcile_opts o;
	pthread_mutex_t lock; /* of the map; an entry belongs to the worker that has its key */
	struct map *memories;
	struct status_writer *statuses;
};

static void free_memory(void *p)
{
	struct fleet_memory *m = p;

	json_free(m->reborn); /* rebirth.c's */
	json_free(m->fields);
	free(m->former);
	damp_done(&m->damp);
	free(m);
}

struct reconciler *reconcile_new(const struct reconcile_opts *o)
{
	struct reconciler *r = xcalloc(1, sizeof(*r));

	r->o = *o;
	r->memories = map_new(free_memory);
	r->statuses = status_writer_new(o->client, o->cache, CACHE_APP);
	(void)pthread_mutex_init(&r->lock, NULL);
	return r;
}

void reconcile_free(struct reconciler *r)
{
	if (!r)
		return;
	map_free(r->memories);
	status_writer_free(r->statuses);
	(void)pthread_mutex_destroy(&r->lock);
	free(r);
}

/* What is remembered of an earlier app of that name is no business of this one. */
static struct fleet_memory *memory_of(struct reconciler *r, const char *key, const char *uid)
{
	uint64_t app = digest_short(uid, strlen(uid));
	struct fleet_memory *m;

	(void)pthread_mutex_lock(&r->lock);
	m = map_get(r->memories, key);
	if (!m || m->app != app) {
		m = xcalloc(1, sizeof(*m));
		m->app = app;
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
	slots_give(r->o.slots, key);
	bucket_forget(&r->o, key);
	exclusive_let_go(r->o.holdings, r->o.cache, key); /* a list did not tell of its pods' end */
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
	t->statuses = r->statuses;
	t->view = settings_get(r->o.settings);
	t->key = key;
	t->name = desired_name(t->app);
	t->memory = memory_of(r, key, t->app->uid ? t->app->uid : "");
	t->obs = xcalloc(1, sizeof(*t->obs));
	return true;
}

/* The size of the fleet that outlives its StatefulSet has to be in the status first. */
static void keep_size(struct turn *t)
{
	if (!workload_is_replaced(t) || t->facts.remembered <= 0 ||
	    status_kept_size(t->app) == t->facts.remembered)
		return;
	t->decision.write = ROLLOUT_WRITE_NONE;
	t->decision.requeue = t->o->recheck_ms;
}

/* A write that makes pods must not give them somebody else's claims; then nothing is written, and asked again later. */
static int check_claims(struct turn *t, struct err *e)
{
	const struct rollout_decision *d = &t->decision;
	bool makes_pods = !t->facts.exists || d->replicas > t->facts.replicas;
	bool foreign = false;
	int r = makes_pods ? claims_check(t, &foreign, e) : 0;

	if (r || !foreign)
		return r;
	t->obs->refused = true;
	rollout_decide(t->obs, &t->decision);
	queue_add_after(t->o->queue, t->key, CLAIMS_AGAIN_MS);
	return 0;
}

static void ask_for_slot(struct turn *t)
{
	struct rollout_decision *d = &t->decision;
	enum slots_need need = slots_need(d->write);

	if (need == SLOTS_FORCE)
		slots_force(t->o->slots, t->key);
	if (need != SLOTS_ASK || slots_take(t->o->slots, t->key))
		return;
	d->write = ROLLOUT_WRITE_NONE;
	d->reason = ROLLOUT_SLOT;
	d->ordinal = -1;
	d->requeue = t->o->recheck_ms;
}

static void give_slot(struct turn *t)
{
	if (!slots_are_kept(t->obs, &t->decision))
		slots_give(t->o->slots, t->key);
}

/* Whoever held the write back has asked for the next try. */
static void begin_nothing(struct turn *t)
{
	struct rollout_decision *d = &t->decision;

	if (d->write == ROLLOUT_WRITE_NONE)
		return;
	d->write = ROLLOUT_WRITE_NONE;
	d->reason = ROLLOUT_CHILD;
	d->ordinal = -1;
	d->requeue = 0;
}

/*
 * Nothing new is begun while an object of the fleet is missing or not as it should be; what has begun goes on, since
 * a roll that waits half way, or a fleet that is stopped, would be the larger harm.
 */
static void wait_for_children(struct turn *t)
{
	struct rollout_decision *d = &t->decision;

	if (t->trouble.code != ERR_NONE &&
	    (d->write == ROLLOUT_WRITE_CREATE || d->write == ROLLOUT_WRITE_FREEZE ||
	     d->write == ROLLOUT_WRITE_STOP))
		begin_nothing(t);
}

/*
 * The first write for an app of which no status was ever written and no object was seen: there is nothing to read
 * anew. The write itself fails when there is (children_only_new()), and a list of pods that has to be up to date
 * takes the API server 50 ms where no pod changes.
 */
static bool is_new(const struct turn *t)
{
	return t->decision.write == ROLLOUT_WRITE_CREATE && !t->app->status && !t->sts &&
	       !t->n_pods && !children_asks_first(t, CACHE_STATEFULSET);
}

/* What is due by the cache is decided again on what the API server has now. */
static int decide_anew(struct turn *t, struct err *e)
{
	int r = turn_read_live(t, e);

	if (r)
		return r;
	turn_decide(t);
	if (workload_adopts(t))
		return 0;
	keep_size(t);
	wait_for_children(t);
	ask_for_slot(t);
	return 0;
}

static int act(struct turn *t, bool *ret_wrote, struct err *e)
{
	int r;

	*ret_wrote = false;
	wait_for_children(t);
	ask_for_slot(t);
	if (t->decision.write == ROLLOUT_WRITE_NONE && !workload_adopts(t))
		return 0;
	r = is_new(t) ? 0 : decide_anew(t, e);
	if (r)
		return r;
	if (workload_adopts(t)) {
		r = workload_take_over(t, e);
		*ret_wrote = !r;
		return r;
	}
	if (t->decision.write == ROLLOUT_WRITE_NONE)
		return 0;
	r = check_claims(t, e);
	if (r || t->decision.write == ROLLOUT_WRITE_NONE)
		return r;
	if (workload_held(t)) {
		begin_nothing(t);
		return 0;
	}
	r = workload_write(t, e);
	if (!t->sts && (r == -ERR_CONFLICT || r == -ERR_EXISTS))
		children_ask_first(t, CACHE_STATEFULSET);
	if (!r)
		workload_wrote(t);
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
 * Whoever waits for the pods' state gets a fresh one; the sweep brings the key back. True: the status waits for it
 * too, so that a process that has just started writes nothing that it will know better in a moment.
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

/* Conditions beside those of status.c, at most. */
enum { MORE = 9 };

static struct json *make_status(struct turn *t)
{
	cleanup(freep) struct status_condition *more = xcalloc(MORE, sizeof(*more));
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
		.tells_deployment = turn_serves_version(t),
		.more = more,
		.url = t->around.url,
		.refused_text = t->refused_text,
		.trouble = &t->trouble,
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
	in.n_more += bucket_conditions(t, more + in.n_more);
	in.n_more += around_conditions(t, more + in.n_more);
	clock_text(clock_wall_ms(), now);
	in.now = now;
	return status_build(&in);
}

/*
 * A status that says that a member needs hands is an Event too, where people look: at the pod, or what cannot make
 * it.
 */
static void tell_stuck(struct turn *t, const struct json *status)
{
	const struct json *c = json_find(json_get(status, "conditions"), "type", "Progressing");
	const struct tell what = { true, json_get_str(c, "reason"), "Wait",
				   json_get_str(c, "message") };

	if (json_is(c, "reason", "MemberStuck"))
		tell_pod(t, t->decision.ordinal, &what);
	else if (json_is(c, "reason", "FailedCreate"))
		tell_workload(t, &what);
}

/* What the status itself cannot say, because it is not stored, or not whole. */
static void tell_unwritten(struct turn *t, const char *lacking, const struct err *e)
{
	cleanup(freep) char *note = NULL;

	if (lacking) {
		note = xasprintf("the definition of WorkerApp in the cluster is not that of this "
				 "operator and has no %s; apply the definitions that come with it",
				 lacking);
		log_warn("status is not stored whole", "app", t->key, "lacking", lacking, NULL);
		tell_app(t,
			 &(const struct tell){ true, "DefinitionOutdated", "WriteStatus", note });
	}
	if (e->http_status != 404 && trouble_is_refusal(e)) {
		free(note);
		note = xasprintf("%s; %s", e->message, trouble_remedy(e));
		tell_app(t, &(const struct tell){ true, "StatusRefused", "WriteStatus", note });
	}
}

static int write_status(struct turn *t, struct err *e)
{
	cleanup_json struct json *status = make_status(t);
	const struct status_target to = {
		t->app->namespace,	  t->app->name,	  t->app->uid,
		t->app->resource_version, t->app->status, clock_mono_ms()
	};
	struct status_outcome done;
	int r = status_write(t->statuses, &to, status, &done, e);

	tell_unwritten(t, done.lacking, e);
	free(done.lacking);
	if (r)
		return err_wrap(e, "writing the status");
	if (done.wrote)
		tell_stuck(t, status);
	return 0;
}

static void tell_refusal(struct turn *t)
{
	const struct tell what = { true, t->verdict.refusal.reason, "Refuse",
				   t->verdict.refusal.message };

	if (what.reason)
		tell_app(t, &what);
}

static int apply_children(struct turn *t, struct err *e)
{
	int r = 0;

	if (turn_acts(t) && !t->obs->no_workload && !t->bucket.store_missing) {
		r = children_apply(t, e);
		if (r)
			return r;
		if (t->foreign) {
			t->obs->refused = true;
			rollout_decide(t->obs, &t->decision);
		}
	}
	return t->leaving ? 0 : around_apply(t, e);
}

/* The workload. What the API server refuses is for the status, which is written all the same. */
static int apply_workload(struct turn *t, bool *ret_busy, bool *ret_wrote, struct err *e)
{
	struct err why = ERR_INIT;
	int r = claims_grow(t, ret_busy, &why);

	if (!r && !*ret_busy)
		r = act(t, ret_wrote, &why);
	if (r && trouble_is_refusal(&why)) {
		*ret_busy = false; /* nothing is on its way that would bring us back */
		trouble_refused(&t->trouble, &why);
		turn_read_cached(t); /* a read that failed has left nothing to tell of */
		turn_decide(t);
		begin_nothing(t);
		return 0;
	}
	if (r)
		*e = why;
	return r;
}

static int tell(struct turn *t, struct err *e)
{
	int r;

	detail_find(t, &t->refused_text);
	r = write_status(t, e);
	if (r)
		return r;
	tell_refusal(t);
	trouble_tell(t);
	return 0;
}

static int work(struct turn *t, struct err *e)
{
	bool wrote = false, busy = false;
	int r;

	turn_read_cached(t);
	turn_decide(t);
	r = apply_children(t, e);
	if (!r)
		r = apply_workload(t, &busy, &wrote, e);
	if (r || busy)
		return r;
	if (wrote) {
		queue_add(t->o->queue, t->key);	    /* the status of what has become of it */
		return trouble_end(&t->trouble, e); /* it is tried again, later and later */
	}
	give_slot(t);
	bucket_tell(t);
	if (t->foreign) /* it need not carry our label, and then no watch tells that it has gone */
		t->decision.requeue = FOREIGN_MS;
	if (t->decision.requeue > 0)
		queue_add_after(t->o->queue, t->key, t->decision.requeue);
	if (!ask_for_sweep(t))
		r = tell(t, e);
	return r ? r : trouble_end(&t->trouble, e);
}

bool reconcile(struct reconciler *r, const char *key)
{
	struct turn t = { .sts = NULL };
	struct err e = ERR_INIT;
	int result = 0;

	if (stores_is_key(key))
		return stores_reconcile(r->o.stores, key);
	if (!begin(r, key, &t)) {
		faults_done(&t.faults);
		forget(r, key);
		return true;
	}
	if (t.app->deleting) /* which may take its time: a finalizer, a node that is dead */
		slots_give(r->o.slots, key);
	else
		result = work(&t, &e);
	if (result == -ERR_CONFLICT || result == -ERR_NOT_FOUND)
		log_debug("will look again", "app", key, "why", e.message, NULL);
	else if (result && result != -ERR_CANCELED)
		log_warn("reconcile failed", "app", key, "error", e.message, NULL);
	if (result && e.retry_after_ms > 0)
		queue_hold(r->o.queue, key, e.retry_after_ms);
	turn_done(&t);
	if (event_flush(r->o.events, EVENTS) > 0) /* another turn may be far away */
		queue_add_after(r->o.queue, key, r->o.recheck_ms);
	return result == 0;
}
