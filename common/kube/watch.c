#include "common/kube/watch.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/http.h"
#include "common/kube/client.h"
#include "common/kube/stream.h"
#include "common/strlist.h"

enum { VERSION_MAX = 64 };

/* Of a stream, for other threads. */
struct shared {
	int64_t lists, relists, watches, failures, events, heard_ms;
	bool listed, connected;
	bool alone; /* its last try found no server */
};

struct kind {
	struct kube_watch_kind k;
	char *label_selector, *field_selector;
	size_t streams; /* in all; its streams are neighbours */
	size_t listed;	/* of them */
	bool synced;
	char version[VERSION_MAX];
	char last_error[256];
};

struct kube_watch {
	kube_watch_handler *handler;
	kube_watch_relist *relist;
	kube_watch_presence *presence;
	void *ctx;
	char *user_agent;
	struct http_cancel *cancel;
	struct http_loop *loop;
	struct stream *streams; /* of the thread */
	char **namespaces;	/* of the streams; NULL: all */
	size_t n_streams;
	pthread_t thread;
	_Atomic int64_t beat_ms;
	_Atomic int64_t away_ms; /* since when the API server is away; 0: it is there */

	pthread_mutex_t lock; /* of what follows; not held while the handler runs */
	pthread_cond_t changed;
	struct shared *shared; /* by stream */
	struct kind *kinds;
	size_t n_kinds, n_synced;
};

/* --- hooks: in the thread --------------------------------------------------------------------- */

static struct shared *lock_shared(struct stream *s)
{
	struct kube_watch *w = s->owner;

	(void)pthread_mutex_lock(&w->lock);
	return &w->shared[s - w->streams];
}

static void unlock(struct stream *s)
{
	struct kube_watch *w = s->owner;

	(void)pthread_mutex_unlock(&w->lock);
}

static void on_event(struct stream *s, enum kube_watch_type type, const struct json *object)
{
	struct kube_watch *w = s->owner;

	w->handler(w->ctx, s->index, type, object);
	lock_shared(s)->events++;
	unlock(s);
}

static void on_relist(struct stream *s, enum kube_relist_at at, const char *version,
		      const struct json *object)
{
	struct kube_watch *w = s->owner;
	const struct kube_relist r = { .at = at,
				       .namespace = s->ns,
				       .version = s->went_back ? NULL : version,
				       .object = object };

	if (w->relist)
		w->relist(w->ctx, s->index, &r);
}

static bool all_alone(struct kube_watch *w)
{
	bool all = true;

	(void)pthread_mutex_lock(&w->lock);
	for (size_t i = 0; i < w->n_streams && all; i++)
		all = w->shared[i].alone;
	(void)pthread_mutex_unlock(&w->lock);
	return all;
}

static void is_there(struct stream *s)
{
	struct kube_watch *w = s->owner;
	int64_t since = atomic_exchange(&w->away_ms, 0);

	lock_shared(s)->alone = false;
	unlock(s);
	if (since && w->presence)
		w->presence(w->ctx, true, clock_mono_ms() - since, "");
}

/* A watch that breaks off tells nothing yet: the next try does. */
static void may_be_away(struct stream *s, const struct err *why)
{
	struct kube_watch *w = s->owner;

	if (s->accepted)
		return;
	if (why->code != ERR_UNAVAILABLE && why->code != ERR_TIMEOUT) {
		if (why->http_status)
			is_there(s);
		return;
	}
	lock_shared(s)->alone = true;
	unlock(s);
	if (atomic_load(&w->away_ms) || !all_alone(w))
		return;
	atomic_store(&w->away_ms, clock_mono_ms());
	if (w->presence)
		w->presence(w->ctx, false, 0, why->message);
}

static void on_listed(struct stream *s)
{
	struct kube_watch *w = s->owner;
	struct kind *k = &w->kinds[s->index];
	struct shared *sh = lock_shared(s);
	bool now_synced = false;

	if (!sh->listed) {
		sh->listed = true;
		k->listed++;
		now_synced = k->listed == k->streams;
	}
	if (now_synced) {
		k->synced = true;
		w->n_synced++;
		(void)pthread_cond_broadcast(&w->changed);
	}
	unlock(s);
	is_there(s);
	if (now_synced)
		w->handler(w->ctx, s->index, KUBE_SYNCED, NULL);
}

static void on_moved(struct stream *s)
{
	struct kube_watch *w = s->owner;

	(void)lock_shared(s);
	(void)snprintf(w->kinds[s->index].version, VERSION_MAX, "%s",
		       strlen(s->version) < VERSION_MAX ? s->version : "");
	unlock(s);
}

static void on_heard(struct stream *s)
{
	struct shared *sh = lock_shared(s);

	sh->heard_ms = s->heard_ms;
	unlock(s);
}

static void on_began(struct stream *s, bool list, bool again)
{
	struct shared *sh = lock_shared(s);

	sh->lists += list;
	sh->relists += list && again;
	sh->watches += !list;
	unlock(s);
}

static void on_connected(struct stream *s, bool yes)
{
	lock_shared(s)->connected = yes;
	unlock(s);
	if (yes)
		is_there(s);
}

static void on_failed(struct stream *s, const struct err *why)
{
	struct kube_watch *w = s->owner;
	struct kind *k = &w->kinds[s->index];

	lock_shared(s)->failures++;
	(void)snprintf(k->last_error, sizeof(k->last_error), "%.250s", why->message);
	unlock(s);
	may_be_away(s, why);
}

static const struct stream_hooks hooks = {
	.event = on_event,
	.relist = on_relist,
	.listed = on_listed,
	.moved = on_moved,
	.heard = on_heard,
	.began = on_began,
	.connected = on_connected,
	.failed = on_failed,
};

static void *run(void *watch)
{
	struct kube_watch *w = watch;
	int64_t now, next, due;

	do {
		now = clock_mono_ms();
		atomic_store(&w->beat_ms, now);
		next = now + 60000;
		for (size_t i = 0; i < w->n_streams; i++) {
			due = stream_tick(&w->streams[i], now);
			if (due < next)
				next = due;
		}
	} while (http_loop_run(w->loop, next - clock_mono_ms()) == 0);
	return NULL;
}

/* --- start and stop --------------------------------------------------------------------------- */

static char *dup_or_null(const char *s)
{
	return str_empty(s) ? NULL : xstrdup(s);
}

static void add_stream(struct kube_watch *w, const struct kube_watch_opts *o, size_t kind,
		       const char *ns)
{
	size_t i = w->n_streams++;
	struct kind *k = &w->kinds[kind];

	w->streams = xrealloc(w->streams, w->n_streams * sizeof(*w->streams));
	w->namespaces = xrealloc(w->namespaces, w->n_streams * sizeof(*w->namespaces));
	w->namespaces[i] = dup_or_null(ns);
	w->streams[i] = (struct stream){
		.hooks = &hooks,
		.loop = w->loop,
		.config = o->config,
		.kind = k->k.kind,
		.ns = w->namespaces[i],
		.label_selector = k->label_selector,
		.field_selector = k->field_selector,
		.user_agent = w->user_agent,
		.timeout_s = o->timeout_s ? o->timeout_s : 300,
		.idle_ms = o->idle_ms ? o->idle_ms : 150000,
		.page = o->page ? o->page : 500,
		.backoff_ms = o->backoff_ms ? o->backoff_ms : 800,
		.owner = w,
		.index = kind,
		.unremembered = k->k.unremembered,
	};
	stream_init(&w->streams[i]);
	k->streams++;
}

static void add_kind(struct kube_watch *w, const struct kube_watch_opts *o, size_t i)
{
	const struct kube_watch_kind *k = &o->kinds[i];

	w->kinds[i] = (struct kind){
		.k = *k,
		.label_selector = dup_or_null(k->label_selector),
		.field_selector = dup_or_null(k->field_selector),
	};
	if (k->namespace || !k->kind->namespaced || !o->namespaces || !o->namespaces->n) {
		add_stream(w, o, i, k->namespace);
		return;
	}
	for (size_t j = 0; j < o->namespaces->n; j++)
		add_stream(w, o, i, o->namespaces->v[j]);
}

static void watch_free(struct kube_watch *w)
{
	for (size_t i = 0; i < w->n_streams; i++) {
		stream_done(&w->streams[i]);
		free(w->namespaces[i]);
	}
	for (size_t i = 0; i < w->n_kinds; i++) {
		free(w->kinds[i].label_selector);
		free(w->kinds[i].field_selector);
	}
	http_loop_free(w->loop);
	http_cancel_free(w->cancel);
	(void)pthread_mutex_destroy(&w->lock);
	(void)pthread_cond_destroy(&w->changed);
	free(w->streams);
	free(w->namespaces);
	free(w->shared);
	free(w->kinds);
	free(w->user_agent);
	free(w);
}

int kube_watch_start(const struct kube_watch_opts *o, struct kube_watch **ret, struct err *e)
{
	struct kube_watch *w = xcalloc(1, sizeof(*w));
	pthread_condattr_t attr;
	sigset_t all, before;
	int r;

	(void)pthread_mutex_init(&w->lock, NULL);
	(void)pthread_condattr_init(&attr);
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&w->changed, &attr);
	(void)pthread_condattr_destroy(&attr);
	w->handler = o->handler;
	w->relist = o->relist;
	w->presence = o->presence;
	w->ctx = o->ctx;
	w->user_agent =
		xasprintf("User-Agent: %s", o->user_agent ? o->user_agent : "celld-operator");
	w->cancel = http_cancel_new();
	w->loop = http_loop_new(w->cancel);
	w->n_kinds = o->n;
	w->kinds = xcalloc(o->n, sizeof(*w->kinds));
	for (size_t i = 0; i < o->n; i++)
		add_kind(w, o, i);
	w->shared = xcalloc(w->n_streams, sizeof(*w->shared));
	atomic_store(&w->beat_ms, clock_mono_ms());
	/* Signals are for the main thread. */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&w->thread, NULL, run, w);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r) {
		watch_free(w);
		return err_errno(e, r, "thread of the watches");
	}
	*ret = w;
	return 0;
}

void kube_watch_stop(struct kube_watch *w)
{
	if (!w)
		return;
	http_cancel_trigger(w->cancel);
	(void)pthread_join(w->thread, NULL);
	watch_free(w);
}

/* --- for other threads ------------------------------------------------------------------------ */

bool kube_watch_synced(struct kube_watch *w, size_t kind)
{
	bool synced;

	(void)pthread_mutex_lock(&w->lock);
	synced = w->kinds[kind].synced;
	(void)pthread_mutex_unlock(&w->lock);
	return synced;
}

bool kube_watch_all_synced(struct kube_watch *w)
{
	return kube_watch_wait_synced(w, 0);
}

bool kube_watch_wait_synced(struct kube_watch *w, int64_t ms)
{
	struct timespec until;
	bool synced;
	int r = 0;

	(void)clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += ms / 1000;
	until.tv_nsec += ms % 1000 * 1000000;
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	(void)pthread_mutex_lock(&w->lock);
	while (w->n_synced < w->n_kinds && ms > 0 && r == 0)
		r = pthread_cond_timedwait(&w->changed, &w->lock, &until);
	synced = w->n_synced == w->n_kinds;
	(void)pthread_mutex_unlock(&w->lock);
	return synced;
}

bool kube_watch_version(struct kube_watch *w, size_t kind, char *to, size_t size)
{
	bool ok;

	(void)pthread_mutex_lock(&w->lock);
	ok = w->kinds[kind].version[0] && strlen(w->kinds[kind].version) < size;
	if (ok)
		(void)snprintf(to, size, "%s", w->kinds[kind].version);
	(void)pthread_mutex_unlock(&w->lock);
	return ok;
}

int64_t kube_watch_beat_ms(const struct kube_watch *w)
{
	return atomic_load(&w->beat_ms);
}

size_t kube_watch_kinds(const struct kube_watch *w)
{
	return w->n_kinds;
}

int64_t kube_watch_away_ms(const struct kube_watch *w)
{
	return atomic_load(&w->away_ms);
}

void kube_watch_stats(struct kube_watch *w, size_t kind, struct kube_watch_stats *ret)
{
	*ret = (struct kube_watch_stats){ .connected = true };
	(void)pthread_mutex_lock(&w->lock);
	for (size_t i = 0; i < w->n_streams; i++) {
		const struct shared *sh = &w->shared[i];

		if (w->streams[i].index != kind)
			continue;
		ret->lists += sh->lists;
		ret->relists += sh->relists;
		ret->watches += sh->watches;
		ret->failures += sh->failures;
		ret->events += sh->events;
		ret->connected = ret->connected && sh->connected;
		if (!ret->last_heard_ms || sh->heard_ms < ret->last_heard_ms)
			ret->last_heard_ms = sh->heard_ms;
	}
	(void)snprintf(ret->last_error, sizeof(ret->last_error), "%s", w->kinds[kind].last_error);
	(void)pthread_mutex_unlock(&w->lock);
}
