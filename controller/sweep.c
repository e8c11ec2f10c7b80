#include "controller/sweep.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/celld/state.h"
#include "common/clock.h"
#include "common/http.h"
#include "common/limits.h"

enum { REQUEST_MS = 3000, BATCH_MS = 10000 };

struct fleet;

struct target {
	struct fleet *fleet;
	char ip[FLEET_IP];
	const struct celld_facts *facts;
	const struct snapshot_pod *before; /* of one that was silent last time; NULL: it was not */
};

/* One fleet in a sweep; targets[i] is about snapshot->pods[i]. */
struct fleet {
	char *key;
	struct snapshot *snapshot;
	const struct snapshot *was; /* when the sweep began; NULL: there was none */
	struct target *targets;
	size_t pending;
};

struct sweep {
	struct sweeper *s;
	struct fleet *v;
	size_t n, pods;
	const struct settings_view *view;
};

struct sweeper {
	struct sweep_opts o;
	pthread_t full, urgent;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct strlist requests;
	bool ended;
};

/* --- one answer ----------------------------------------------------------------------------------- */

static void read_deployment(const struct celld_state *c, struct pod_state *s)
{
	s->has_deployment = c->deployment.set;
	if (!c->deployment.set)
		return;
	(void)snprintf(s->deployment, sizeof(s->deployment), "%s", c->deployment.version);
	s->generation = c->deployment.generation;
	s->swapping = c->deployment.swapping;
	s->draining = c->deployment.n_draining;
}

static void read_answer(const struct target *t, struct snapshot_pod *p,
			const struct http_response *r, const struct err *e)
{
	struct pod_state *s = &p->state;
	struct err bad = ERR_INIT;

	if (e && e->code == ERR_THROTTLED) {
		/* its turn did not come: as silent as it was */
		s->silent = true;
		p->asked_ms = t->before ? t->before->asked_ms : 0;
		(void)snprintf(s->why, sizeof(s->why), "%s",
			       t->before ? t->before->state.why : err_text(ERR_TIMEOUT));
	} else if (e) {
		s->silent = true;
		(void)snprintf(s->why, sizeof(s->why), "%s", err_text(e->code));
	} else if (r->status != 200) {
		(void)snprintf(s->why, sizeof(s->why), "HTTP status %d", r->status);
	} else if (celld_state_parse(r->body.data, r->body.len, t->facts, &p->celld, &bad)) {
		(void)snprintf(s->why, sizeof(s->why), "no valid state: %.72s", bad.message);
	} else {
		s->valid = true;
		s->restoring = p->celld.restoring.set ? (int)p->celld.restoring.v : 0;
		read_deployment(&p->celld, s);
	}
}

/* --- a fleet's end -------------------------------------------------------------------------------- */

static bool tells_news(const struct pod_state *was, const struct pod_state *is)
{
	if (was->valid != is->valid || was->restoring != is->restoring ||
	    !str_eq(was->why, is->why))
		return true;
	return !str_eq(was->deployment, is->deployment) || was->swapping != is->swapping ||
	       was->draining != is->draining || was->generation != is->generation;
}

static bool snapshot_differs(const struct snapshot *was, const struct snapshot *is)
{
	if (!was || was->n != is->n || was->complete != is->complete)
		return true;
	for (size_t i = 0; i < is->n; i++) {
		const struct snapshot_pod *p = snapshot_find(was, is->pods[i].uid);

		if (!p || tells_news(&p->state, &is->pods[i].state))
			return true;
	}
	return false;
}

static const struct fleet_pod *pod_of(const struct fleet_pod *pods, size_t n, const char *uid)
{
	for (size_t i = 0; i < n; i++) {
		if (str_eq(pods[i].uid, uid))
			return &pods[i];
	}
	return NULL;
}

/* Drops the answers of pods that are no longer those that were asked. */
static void drop_changed(struct fleet *f, const struct fleet_pod *pods, size_t n,
			 const struct cache_brief *b)
{
	struct snapshot *s = f->snapshot;
	size_t kept = 0;

	for (size_t i = 0; i < s->n; i++) {
		const struct fleet_pod *p = pod_of(pods, n, s->pods[i].uid);

		if (p && observe_can_be_asked(b->sts_uid, p) && str_eq(p->ip, f->targets[i].ip))
			s->pods[kept++] = s->pods[i];
	}
	s->n = kept;
}

/* Every pod that there should be is there, and has answered. */
static bool is_complete(const struct snapshot *s, const struct fleet_pod *pods, size_t n,
			const struct cache_brief *b)
{
	int members = 0;

	for (size_t i = 0; i < n; i++) {
		const struct snapshot_pod *p;

		if (pods[i].terminating)
			continue;
		p = snapshot_find(s, pods[i].uid);
		if (!p || !p->state.valid)
			return false;
		members++;
	}
	return b->sts_uid[0] && members >= b->replicas;
}

static void publish(struct sweeper *s, struct fleet *f)
{
	struct cache_brief brief;
	size_t n;
	cleanup(freep) struct fleet_pod *pods = cache_pods(s->o.cache, f->key, &n);
	const struct snapshot *was;
	bool news;

	if (!cache_brief(s->o.cache, f->key, &brief)) {
		snapshots_forget(s->o.snapshots, f->key);
		return;
	}
	drop_changed(f, pods, n, &brief);
	f->snapshot->complete = is_complete(f->snapshot, pods, n, &brief);
	f->snapshot->sampled_ms = clock_wall_ms();
	was = snapshots_get(s->o.snapshots, f->key);
	news = snapshot_differs(was, f->snapshot);
	snapshot_drop(s->o.snapshots, was);
	if (snapshots_put(s->o.snapshots, f->key, take(f->snapshot)) && news)
		queue_add(s->o.queue, f->key);
}

static void on_answer(void *ctx, void *tag, const struct http_response *r, const struct err *e)
{
	struct sweeper *s = ctx;
	struct target *t = tag;
	struct fleet *f = t->fleet;

	read_answer(t, &f->snapshot->pods[t - f->targets], r, e);
	/* cancelled: the process ends, and nothing was learned */
	if (--f->pending == 0 && !http_cancel_triggered(s->o.cancel))
		publish(s, f);
}

/* --- a sweep -------------------------------------------------------------------------------------- */

static void add_target(const struct celld_table *table, struct fleet *f, const struct fleet_pod *p)
{
	struct snapshot_pod *to = &f->snapshot->pods[f->snapshot->n];
	struct target *t = &f->targets[f->snapshot->n++];
	const struct snapshot_pod *before = snapshot_find(f->was, p->uid);

	memcpy(to->name, p->name, sizeof(to->name));
	memcpy(to->uid, p->uid, sizeof(to->uid));
	to->max_cells = p->max_cells;
	to->state.asked = true;
	to->state.begun_ms = f->snapshot->begun_ms;
	t->fleet = f;
	memcpy(t->ip, p->ip, sizeof(t->ip));
	to->asked_ms = f->snapshot->begun_ms;
	t->before = before && before->state.silent ? before : NULL;
	t->facts = celld_facts_of(table, p->has_version ? p->version
							: table->releases[table->n_releases - 1]);
}

static void add_fleet(struct sweep *w, const char *key)
{
	struct sweeper *s = w->s;
	struct cache_brief brief;
	size_t n;
	cleanup(freep) struct fleet_pod *pods = cache_pods(s->o.cache, key, &n);
	struct fleet *f = &w->v[w->n];

	if (!cache_brief(s->o.cache, key, &brief))
		return;
	w->n++;
	*f = (struct fleet){ .key = xstrdup(key), .snapshot = snapshot_new(n) };
	f->targets = xcalloc(n + 1, sizeof(*f->targets));
	f->snapshot->n = 0;
	f->snapshot->begun_ms = clock_mono_ms();
	f->was = snapshots_get(s->o.snapshots, key);
	for (size_t i = 0; i < n; i++) {
		if (observe_can_be_asked(brief.sts_uid, &pods[i]))
			add_target(w->view->table, f, &pods[i]);
	}
	f->pending = f->snapshot->n;
	w->pods += f->pending;
}

static void ask(struct http_batch *batch, struct target *t)
{
	struct buf url = BUF_INIT(256);

	buf_puts(&url, "http://");
	http_authority(t->ip, t->facts->internal_port, &url);
	buf_puts(&url, "/state");
	if (t->before)
		http_batch_add_slow(batch, buf_str(&url), t);
	else
		http_batch_add(batch, buf_str(&url), t);
	buf_done(&url);
}

static int by_age(const void *a, const void *b)
{
	const struct target *const *x = a, *const *y = b;
	int64_t first = (*x)->before->asked_ms, second = (*y)->before->asked_ms;

	return (first > second) - (first < second);
}

/*
 * Those that were silent are asked one after the other, and not all of them in one sweep: who has waited longest is
 * first.
 */
static void ask_silent(struct http_batch *batch, const struct sweep *w)
{
	cleanup(freep) struct target **silent = xcalloc(w->pods + 1, sizeof(struct target *));
	size_t n = 0;

	for (size_t i = 0; i < w->n; i++) {
		const struct fleet *f = &w->v[i];

		for (size_t j = 0; f->snapshot && j < f->snapshot->n; j++) {
			if (f->targets[j].before)
				silent[n++] = &f->targets[j];
		}
	}
	qsort(silent, n, sizeof(struct target *), by_age);
	for (size_t i = 0; i < n; i++)
		ask(batch, silent[i]);
}

static void run(struct sweep *w)
{
	struct sweeper *s = w->s;
	const struct http_batch_limits limits = {
		.in_flight = SWEEP_IN_FLIGHT,
		.slow_in_flight = SWEEP_SLOW_IN_FLIGHT,
		.request_ms = s->o.request_ms ? s->o.request_ms : REQUEST_MS,
		.batch_ms = s->o.batch_ms ? s->o.batch_ms : BATCH_MS,
		.max_response = LIMIT_STATE,
		.max_held = LIMIT_STATES,
	};
	cleanup(http_batch_free_cleanup) struct http_batch *batch = http_batch_new(s->o.cancel);

	for (size_t i = 0; i < w->n; i++) {
		struct fleet *f = &w->v[i];

		if (!f->pending)
			publish(s, f);
		for (size_t j = 0; f->snapshot && j < f->snapshot->n; j++) {
			if (!f->targets[j].before)
				ask(batch, &f->targets[j]);
		}
	}
	ask_silent(batch, w);
	if (w->pods)
		(void)http_batch_run(batch, &limits, on_answer, s);
}

static void sweep_keys(struct sweeper *s, const struct strlist *keys, size_t *ret_pods)
{
	struct sweep w = { .s = s,
			   .v = xcalloc(keys->n + 1, sizeof(*w.v)),
			   .view = settings_get(s->o.settings) };

	for (size_t i = 0; i < keys->n; i++)
		add_fleet(&w, keys->v[i]);
	run(&w);
	*ret_pods = w.pods;
	for (size_t i = 0; i < w.n; i++) {
		free(w.v[i].key);
		snapshot_drop(s->o.snapshots, w.v[i].was);
		free(w.v[i].targets);
		free(w.v[i].snapshot); /* NULL once it is published */
	}
	free(w.v);
	settings_release(s->o.settings, w.view);
}

void sweep_now(struct sweeper *s)
{
	struct strlist keys = STRLIST_INIT;
	int64_t begun = clock_mono_ms();
	size_t pods;

	cache_apps(s->o.cache, &keys);
	sweep_keys(s, &keys, &pods);
	snapshots_keep(s->o.snapshots, &keys);
	strlist_done(&keys);
	if (s->o.swept)
		s->o.swept(s->o.ctx, clock_mono_ms() - begun, pods);
}

/* --- the threads ---------------------------------------------------------------------------------- */

static void wait_ms(struct sweeper *s, int64_t ms)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	ts.tv_sec += (time_t)(ms / 1000);
	ts.tv_nsec += (long)(ms % 1000) * 1000000L;
	if (ts.tv_nsec >= 1000000000L) {
		ts.tv_nsec -= 1000000000L;
		ts.tv_sec++;
	}
	(void)pthread_cond_timedwait(&s->wake, &s->lock, &ts);
}

/* Waits until due; false: the end. */
static bool wait_until(struct sweeper *s, int64_t due)
{
	bool more;
	int64_t now;

	(void)pthread_mutex_lock(&s->lock);
	while (!s->ended && (now = clock_mono_ms()) < due)
		wait_ms(s, due - now);
	more = !s->ended;
	(void)pthread_mutex_unlock(&s->lock);
	return more;
}

static void *sweep_everything(void *p)
{
	struct sweeper *s = p;
	int64_t due = clock_mono_ms();

	while (wait_until(s, due)) {
		due = clock_mono_ms() + s->o.interval_ms;
		if (s->o.active(s->o.ctx))
			sweep_now(s);
	}
	return NULL;
}

/* Waits for requests and takes them; false: the end. */
static bool next_requests(struct sweeper *s, struct strlist *ret)
{
	bool more;

	(void)pthread_mutex_lock(&s->lock);
	while (!s->ended && !s->requests.n)
		(void)pthread_cond_wait(&s->wake, &s->lock);
	more = !s->ended;
	*ret = s->requests;
	s->requests = (struct strlist)STRLIST_INIT;
	(void)pthread_mutex_unlock(&s->lock);
	return more;
}

static void *sweep_requested(void *p)
{
	struct sweeper *s = p;
	struct strlist keys;
	size_t pods;

	while (next_requests(s, &keys)) {
		if (s->o.active(s->o.ctx)) {
			sweep_keys(s, &keys, &pods);
			for (size_t i = 0; i < keys.n; i++)
				queue_add(s->o.queue, keys.v[i]);
		}
		strlist_done(&keys);
	}
	strlist_done(&keys);
	return NULL;
}

struct sweeper *sweep_start(const struct sweep_opts *o)
{
	struct sweeper *s = xcalloc(1, sizeof(*s));
	pthread_condattr_t attr;

	s->o = *o;
	(void)pthread_condattr_init(&attr);
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&s->wake, &attr);
	(void)pthread_condattr_destroy(&attr);
	(void)pthread_mutex_init(&s->lock, NULL);
	if (pthread_create(&s->full, NULL, sweep_everything, s) ||
	    pthread_create(&s->urgent, NULL, sweep_requested, s))
		abort();
	return s;
}

void sweep_stop(struct sweeper *s)
{
	if (!s)
		return;
	(void)pthread_mutex_lock(&s->lock);
	s->ended = true;
	(void)pthread_cond_broadcast(&s->wake);
	(void)pthread_mutex_unlock(&s->lock);
	(void)pthread_join(s->full, NULL);
	(void)pthread_join(s->urgent, NULL);
	strlist_done(&s->requests);
	(void)pthread_cond_destroy(&s->wake);
	(void)pthread_mutex_destroy(&s->lock);
	free(s);
}

void sweep_request(struct sweeper *s, const char *key)
{
	(void)pthread_mutex_lock(&s->lock);
	strlist_add_once(&s->requests, key);
	(void)pthread_cond_broadcast(&s->wake);
	(void)pthread_mutex_unlock(&s->lock);
}

void sweep_states(struct sweeper *s, const char *key, const struct fleet_pod *pods, size_t n,
		  struct pod_state *states)
{
	const struct snapshot *snapshot = snapshots_get(s->o.snapshots, key);

	for (size_t i = 0; i < n; i++) {
		const struct snapshot_pod *found = snapshot_find(snapshot, pods[i].uid);

		if (found)
			states[i] = found->state;
		else
			states[i] = (struct pod_state){ .asked = false };
	}
	snapshot_drop(s->o.snapshots, snapshot);
}
