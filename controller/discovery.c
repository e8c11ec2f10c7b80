#include "controller/discovery.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/kube/client.h"
#include "common/log.h"
#include "common/workerapp.h"

enum { KINDS = CACHE_KINDS - CACHE_OPTIONAL, AGAIN_MS = 2000, LOOK_MS = 100, ASK_MS = 10000 };

struct watched {
	struct discovery *d;
	enum cache_kind kind;
	struct kube_watch *watch; /* NULL: the kind is not there */
};

struct discovery {
	struct discovery_opts o;
	pthread_t thread;
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t wake;
	struct watched kinds[KINDS];
	bool ending, settled, retry;
	bool running; /* the owner's */
	char *schema; /* the thread's: where the schema was read that `retry` comes from */
};

static const struct kube_kind *kind_of(int i)
{
	return &cache_kinds[CACHE_OPTIONAL + i];
}

static void on_event(void *ctx, size_t kind, enum kube_watch_type type, const struct json *object)
{
	const struct watched *w = ctx;

	(void)kind;
	if (type != KUBE_SYNCED) {
		w->d->o.event(w->d->o.ctx, w->kind, type, object);
		return;
	}
	log_info("watch in sync", "kind", cache_kinds[w->kind].kind, NULL);
	w->d->o.changed(w->d->o.ctx);
}

static void on_relist(void *ctx, size_t kind, const struct kube_relist *r)
{
	const struct watched *w = ctx;

	(void)kind;
	if (w->d->o.relist)
		w->d->o.relist(w->d->o.ctx, w->kind, r);
}

static bool is_ending(struct discovery *d)
{
	bool ending;

	(void)pthread_mutex_lock(&d->lock);
	ending = d->ending;
	(void)pthread_mutex_unlock(&d->lock);
	return ending;
}

/* 1: the API server has the kind; 0: it does not; -1: it did not say. */
static int ask(struct discovery *d, int i)
{
	const struct kube_kind *k = kind_of(i);
	cleanup(freep) char *path = xasprintf("/apis/%s/%s", k->group, k->version);
	cleanup_json struct json *answer = NULL;
	struct err e = ERR_INIT;
	int r = kube_raw_get(d->o.client, path, ASK_MS, &answer, &e);
	const struct json *all = json_get(answer, "resources");

	if (r == -ERR_NOT_FOUND)
		return 0;
	if (r) {
		log_debug("discovery failed", "path", path, "error", e.message, NULL);
		return r == -ERR_FORBIDDEN ? 0 : -1;
	}
	return json_find(all, "name", k->plural) != NULL;
}

static void begin_watch(struct discovery *d, int i)
{
	struct watched *w = &d->kinds[i];
	const struct kube_watch_kind kind = {
		.kind = kind_of(i),
		.label_selector = w->kind == CACHE_HPA ? NULL : WORKERAPP_LABEL,
	};
	const struct kube_watch_opts o = { .config = d->o.config,
					   .kinds = &kind,
					   .n = 1,
					   .namespaces = d->o.namespaces,
					   .handler = on_event,
					   .relist = on_relist,
					   .ctx = w };
	struct kube_watch *watch = NULL;
	struct err e = ERR_INIT;

	if (kube_watch_start(&o, &watch, &e)) {
		log_warn("cannot watch", "kind", kind_of(i)->kind, "error", e.message, NULL);
		return;
	}
	log_info("kind is served", "kind", kind_of(i)->kind, NULL);
	(void)pthread_mutex_lock(&d->lock);
	w->watch = watch;
	(void)pthread_mutex_unlock(&d->lock);
}

/* Not under the lock: the watch's thread, which is waited for, may want it. */
static bool end_watch(struct discovery *d, int i)
{
	struct kube_watch *watch;

	(void)pthread_mutex_lock(&d->lock);
	watch = take(d->kinds[i].watch);
	(void)pthread_mutex_unlock(&d->lock);
	if (!watch)
		return false;
	kube_watch_stop(watch);
	cache_clear(d->o.cache, d->kinds[i].kind);
	return true;
}

/* Whether a watch has come to a first result, good or bad. Lent to the thread alone, which alone ends watches. */
static void wait_for_result(struct discovery *d, int i)
{
	struct kube_watch *watch = d->kinds[i].watch;
	struct kube_watch_stats s = { .failures = 0 };

	while (watch && !s.failures && !is_ending(d)) {
		if (kube_watch_wait_synced(watch, LOOK_MS))
			return;
		kube_watch_stats(watch, 0, &s);
	}
}

/* --- does HTTPRoute have `retry`? ----------------------------------------------------------------- */

static bool has_retry(const struct json *document)
{
	const struct json *all = json_path(document, "components", "schemas", NULL);

	for (const struct json *s = json_first(all); s; s = json_next(s)) {
		if (str_ends(json_name(s), ".HTTPRoute") &&
		    json_path(s, "properties", "spec", "properties", "rules", "items", "properties",
			      "retry", NULL))
			return true;
	}
	return false;
}

/* The address of a schema changes with its contents, so that it is read once. */
static bool look_for_retry(struct discovery *d)
{
	cleanup_json struct json *index = NULL;
	cleanup_json struct json *document = NULL;
	struct err e = ERR_INIT;
	const char *where;
	bool found, changed;

	if (kube_raw_get(d->o.client, "/openapi/v3", ASK_MS, &index, &e))
		return false;
	where = json_str(json_path(index, "paths", "apis/gateway.networking.k8s.io/v1",
				   "serverRelativeURL", NULL));
	if (!where || (d->schema && str_eq(where, d->schema)))
		return false;
	if (kube_raw_get(d->o.client, where, ASK_MS, &document, &e))
		return false;
	free(d->schema);
	d->schema = xstrdup(where);
	found = has_retry(document);
	(void)pthread_mutex_lock(&d->lock);
	changed = found != d->retry;
	d->retry = found;
	(void)pthread_mutex_unlock(&d->lock);
	return changed;
}

/* --- the thread ----------------------------------------------------------------------------------- */

/* False: some kind is not known about yet. */
static bool look(struct discovery *d, bool *changed)
{
	bool all = true;

	for (int i = 0; i < KINDS && !is_ending(d); i++) {
		int there = ask(d, i);

		if (there < 0) {
			all = false;
		} else if (there && !d->kinds[i].watch) {
			begin_watch(d, i);
			*changed = true;
		} else if (!there && end_watch(d, i)) {
			log_info("kind is not served any more", "kind", kind_of(i)->kind, NULL);
			*changed = true;
		}
	}
	if (d->o.look_for_retry && d->kinds[CACHE_HTTPROUTE - CACHE_OPTIONAL].watch)
		*changed |= look_for_retry(d);
	return all;
}

static void pause_for(struct discovery *d, int64_t ms)
{
	struct timespec until;

	(void)clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += ms % 1000 * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	(void)pthread_mutex_lock(&d->lock);
	while (!d->ending && pthread_cond_timedwait(&d->wake, &d->lock, &until) == 0)
		;
	(void)pthread_mutex_unlock(&d->lock);
}

static void settle(struct discovery *d)
{
	(void)pthread_mutex_lock(&d->lock);
	d->settled = true;
	(void)pthread_mutex_unlock(&d->lock);
}

static void *run(void *ctx)
{
	struct discovery *d = ctx;
	bool settled = false;

	while (!is_ending(d)) {
		bool changed = false, all = look(d, &changed);

		for (int i = 0; i < KINDS && changed; i++)
			wait_for_result(d, i);
		if (all && !settled) {
			settle(d);
			settled = changed = true;
		}
		if (changed)
			d->o.changed(d->o.ctx);
		pause_for(d, all || d->o.interval_ms < AGAIN_MS ? d->o.interval_ms : AGAIN_MS);
	}
	return NULL;
}

struct discovery *discovery_new(const struct discovery_opts *o)
{
	struct discovery *d = xcalloc(1, sizeof(*d));
	pthread_condattr_t monotonic;

	d->o = *o;
	for (int i = 0; i < KINDS; i++)
		d->kinds[i] =
			(struct watched){ .d = d, .kind = (enum cache_kind)(CACHE_OPTIONAL + i) };
	(void)pthread_mutex_init(&d->lock, NULL);
	(void)pthread_condattr_init(&monotonic);
	(void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&d->wake, &monotonic);
	(void)pthread_condattr_destroy(&monotonic);
	return d;
}

void discovery_run(struct discovery *d)
{
	if (pthread_create(&d->thread, NULL, run, d))
		abort();
	d->running = true;
}

static void end_thread(struct discovery *d)
{
	if (!d->running)
		return;
	(void)pthread_mutex_lock(&d->lock);
	d->ending = true;
	(void)pthread_cond_broadcast(&d->wake);
	(void)pthread_mutex_unlock(&d->lock);
	(void)pthread_join(d->thread, NULL);
}

void discovery_free(struct discovery *d)
{
	if (!d)
		return;
	end_thread(d);
	for (int i = 0; i < KINDS; i++)
		(void)end_watch(d, i);
	(void)pthread_mutex_destroy(&d->lock);
	(void)pthread_cond_destroy(&d->wake);
	free(d->schema);
	free(d);
}

bool discovery_settled(struct discovery *d)
{
	bool settled;

	(void)pthread_mutex_lock(&d->lock);
	settled = d->settled;
	(void)pthread_mutex_unlock(&d->lock);
	return settled;
}

enum discovery_state discovery_state(struct discovery *d, enum cache_kind kind, char *why,
				     size_t room)
{
	enum discovery_state state = DISCOVERY_ABSENT;
	struct kube_watch_stats s = { .failures = 0 };

	if (room)
		why[0] = '\0';
	(void)pthread_mutex_lock(&d->lock);
	{
		struct kube_watch *w = d->kinds[kind - CACHE_OPTIONAL].watch;

		if (w && kube_watch_synced(w, 0)) {
			state = DISCOVERY_READY;
		} else if (w) {
			state = DISCOVERY_UNREADABLE;
			kube_watch_stats(w, 0, &s);
			if (room)
				(void)snprintf(why, room, "%s", s.last_error);
		}
	}
	(void)pthread_mutex_unlock(&d->lock);
	return state;
}

bool discovery_retry_served(struct discovery *d)
{
	bool retry;

	(void)pthread_mutex_lock(&d->lock);
	retry = d->retry;
	(void)pthread_mutex_unlock(&d->lock);
	return retry;
}
