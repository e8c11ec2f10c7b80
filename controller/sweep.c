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
#include "common/map.h"

enum { IN_FLIGHT = 512, REQUEST_MS = 3000, BATCH_MS = 10000 };

struct target {
	char *key;
	struct fleet_pod pod;
	const struct celld_facts *facts;
	struct pod_state state;
};

struct sweeper {
	struct sweep_opts o;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct map *results; /* UID -> struct pod_state */
	struct strlist requests;
	int64_t next_full;
	bool ended;
};

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

static void read_answer(struct target *t, const struct http_response *r, const struct err *e)
{
	struct celld_state c;
	struct err bad = ERR_INIT;

	if (e) {
		(void)snprintf(t->state.why, sizeof(t->state.why), "%s", err_text(e->code));
	} else if (r->status != 200) {
		(void)snprintf(t->state.why, sizeof(t->state.why), "HTTP status %d", r->status);
	} else if (celld_state_parse(r->body.data, r->body.len, t->facts, &c, &bad)) {
		(void)snprintf(t->state.why, sizeof(t->state.why), "no valid state: %.72s",
			       bad.message);
	} else {
		t->state.valid = true;
		t->state.restoring = c.restoring.set ? (int)c.restoring.v : 0;
		read_deployment(&c, &t->state);
	}
}

static void on_answer(void *ctx, void *tag, const struct http_response *r, const struct err *e)
{
	(void)ctx;
	read_answer(tag, r, e);
}

struct targets {
	struct target *v;
	size_t n, room;
};

static void add_target(const struct sweeper *s, struct targets *all, const char *key,
		       const struct fleet_pod *p)
{
	struct target *t;

	if (!p->running || !p->ip[0])
		return;
	if (all->n == all->room) {
		all->room = all->room ? all->room * 2 : 64;
		all->v = xrealloc(all->v, all->room * sizeof(*all->v));
	}
	t = &all->v[all->n++];
	*t = (struct target){ .key = xstrdup(key), .pod = *p };
	t->facts = celld_facts_of(
		s->o.table,
		p->has_version ? p->version : s->o.table->releases[s->o.table->n_releases - 1]);
}

static void add_app(const struct sweeper *s, struct targets *all, const char *key)
{
	size_t n;
	cleanup(freep) struct fleet_pod *pods = cache_pods(s->o.cache, key, &n);

	for (size_t i = 0; i < n; i++)
		add_target(s, all, key, &pods[i]);
}

/* The pod is still the one that was asked. */
static bool same_pod(const struct sweeper *s, const struct target *t)
{
	size_t n;
	cleanup(freep) struct fleet_pod *pods = cache_pods(s->o.cache, t->key, &n);

	for (size_t i = 0; i < n; i++) {
		if (str_eq(pods[i].uid, t->pod.uid))
			return str_eq(pods[i].ip, t->pod.ip);
	}
	return false;
}

static bool tells_news(const struct pod_state *was, const struct pod_state *is)
{
	if (!was || was->valid != is->valid || was->restoring != is->restoring ||
	    !str_eq(was->why, is->why))
		return true;
	return !str_eq(was->deployment, is->deployment) || was->swapping != is->swapping ||
	       was->draining != is->draining || was->generation != is->generation;
}

static void keep(struct sweeper *s, const struct target *t)
{
	struct pod_state *was;
	bool news;

	if (!same_pod(s, t))
		return;
	(void)pthread_mutex_lock(&s->lock);
	was = map_get(s->results, t->pod.uid);
	news = tells_news(was, &t->state);
	if (was) {
		*was = t->state;
	} else {
		was = xmalloc(sizeof(*was));
		*was = t->state;
		map_put(s->results, t->pod.uid, was);
	}
	(void)pthread_mutex_unlock(&s->lock);
	if (news)
		queue_add(s->o.queue, t->key);
}

static void run(struct sweeper *s, struct targets *all)
{
	static const struct http_batch_limits limits = { .in_flight = IN_FLIGHT,
							 .request_ms = REQUEST_MS,
							 .batch_ms = BATCH_MS,
							 .max_response = LIMIT_STATE };
	cleanup(http_batch_free_cleanup) struct http_batch *batch = http_batch_new(s->o.cancel);

	for (size_t i = 0; i < all->n; i++) {
		struct buf url = BUF_INIT(256);

		buf_puts(&url, "http://");
		http_authority(all->v[i].pod.ip, all->v[i].facts->internal_port, &url);
		buf_puts(&url, "/state");
		all->v[i].state.asked = true;
		all->v[i].state.begun_ms = clock_mono_ms();
		http_batch_add(batch, buf_str(&url), &all->v[i]);
		buf_done(&url);
	}
	if (all->n && http_batch_run(batch, &limits, on_answer, s))
		return; /* cancelled: the process ends */
	for (size_t i = 0; i < all->n; i++)
		keep(s, &all->v[i]);
}

static void done(struct targets *all)
{
	for (size_t i = 0; i < all->n; i++)
		free(all->v[i].key);
	free(all->v);
}

static void sweep_some(struct sweeper *s, const struct strlist *keys)
{
	struct targets all = { .v = NULL };

	for (size_t i = 0; i < keys->n; i++)
		add_app(s, &all, keys->v[i]);
	run(s, &all);
	done(&all);
	for (size_t i = 0; i < keys->n; i++)
		queue_add(s->o.queue, keys->v[i]);
}

struct living {
	struct sweeper *s;
	struct map *uids;
	struct strlist gone;
};

static void note_if_gone(const char *uid, void *value, void *ctx)
{
	struct living *l = ctx;

	(void)value;
	if (!map_get(l->uids, uid))
		strlist_add(&l->gone, uid);
}

/* Results of pods that are gone go too. */
static void forget_gone(struct sweeper *s, const struct targets *all)
{
	static char yes;
	struct living l = { .s = s, .uids = map_new(NULL), .gone = STRLIST_INIT };

	for (size_t i = 0; i < all->n; i++)
		map_put(l.uids, all->v[i].pod.uid, &yes);
	(void)pthread_mutex_lock(&s->lock);
	map_each(s->results, note_if_gone, &l);
	for (size_t i = 0; i < l.gone.n; i++)
		map_del(s->results, l.gone.v[i]);
	(void)pthread_mutex_unlock(&s->lock);
	strlist_done(&l.gone);
	map_free(l.uids);
}

static void sweep_all(struct sweeper *s)
{
	struct strlist keys = STRLIST_INIT;
	struct targets all = { .v = NULL };

	cache_apps(s->o.cache, &keys);
	for (size_t i = 0; i < keys.n; i++)
		add_app(s, &all, keys.v[i]);
	run(s, &all);
	forget_gone(s, &all);
	done(&all);
	strlist_done(&keys);
}

static void wait_until(struct sweeper *s, int64_t ms)
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

/* What is to be done next; waits for it. False: the end. */
static bool next(struct sweeper *s, bool *ret_full, struct strlist *ret_keys)
{
	bool more;

	(void)pthread_mutex_lock(&s->lock);
	while (!s->ended && !s->requests.n && clock_mono_ms() < s->next_full)
		wait_until(s, s->next_full - clock_mono_ms());
	more = !s->ended;
	*ret_full = clock_mono_ms() >= s->next_full;
	*ret_keys = s->requests;
	s->requests = (struct strlist)STRLIST_INIT;
	if (*ret_full)
		s->next_full = clock_mono_ms() + s->o.interval_ms;
	(void)pthread_mutex_unlock(&s->lock);
	return more;
}

static void *work(void *p)
{
	struct sweeper *s = p;
	struct strlist keys = STRLIST_INIT;
	bool full;

	while (next(s, &full, &keys)) {
		if (s->o.active(s->o.ctx)) {
			if (keys.n)
				sweep_some(s, &keys);
			if (full)
				sweep_all(s);
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
	s->results = map_new(free);
	s->next_full = clock_mono_ms();
	if (pthread_create(&s->thread, NULL, work, s))
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
	(void)pthread_join(s->thread, NULL);
	map_free(s->results);
	strlist_done(&s->requests);
	(void)pthread_cond_destroy(&s->wake);
	(void)pthread_mutex_destroy(&s->lock);
	free(s);
}

void sweep_request(struct sweeper *s, const char *key)
{
	(void)pthread_mutex_lock(&s->lock);
	strlist_add_once(&s->requests, key);
	(void)pthread_cond_signal(&s->wake);
	(void)pthread_mutex_unlock(&s->lock);
}

void sweep_states(struct sweeper *s, const struct fleet_pod *pods, size_t n,
		  struct pod_state *states)
{
	(void)pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < n; i++) {
		const struct pod_state *found = map_get(s->results, pods[i].uid);

		if (found)
			states[i] = *found;
		else
			states[i] = (struct pod_state){ .asked = false };
	}
	(void)pthread_mutex_unlock(&s->lock);
}
