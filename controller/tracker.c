#include "controller/tracker.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/map.h"
#include "common/settings.h"

enum { PAUSE_MS = 15000, MOST_INTERVALS = 4, IN_FLIGHT = 16, MORE_MS = 1000 /* at most */ };

/* One store's host, whoever's buckets are there. */
struct endpoint {
	int in_flight;
	int failures;	  /* in a row */
	int64_t until_ms; /* nobody asks before */
	char why[192];
};

struct target {
	struct tracker *tracker;
	char *app, *ns, *secret, *place_id;
	struct store_place place; /* texts owned */
	struct track_facts facts;
	bool republished, gone, again;
	int64_t due_ms;

	char credentials[DIGEST_HEX]; /* that store was opened with */
	struct store *store;	      /* NULL: not opened */
	char tag[STORE_TAG];
	struct store_op op;
	struct store_call call;
	bool under_way, token; /* a request runs; it is one for a token */
	struct endpoint *endpoint;
	struct target *next_gone;
};

struct tracker {
	struct tracker_opts o;
	pthread_t thread;
	pthread_mutex_t lock; /* of all below */
	struct map *targets;  /* app -> struct target */
	struct map *endpoints;
	struct target *gone; /* forgotten while a request ran */
	struct http_loop *loop;
};

/* --- targets ---------------------------------------------------------------------------------- */

static void target_free(struct target *t)
{
	store_call_done(&t->call);
	store_free(t->store);
	store_place_done(&t->place);
	free(t->app);
	free(t->ns);
	free(t->secret);
	free(t->place_id);
	free(t);
}

static void target_drop(void *p)
{
	struct target *t = p;
	struct tracker *all = t->tracker;

	if (!t->under_way) {
		target_free(t);
		return;
	}
	t->gone = true;
	t->next_gone = all->gone;
	all->gone = t;
}

static const char *or_empty(const char *s)
{
	return s ? s : "";
}

static char *id_of(const struct store_place *p, const char *secret)
{
	return xasprintf("%d|%s|%s|%s|%s|%s|%d|%s", (int)p->scheme, or_empty(p->endpoint),
			 or_empty(p->region), or_empty(p->account), or_empty(p->container),
			 or_empty(p->prefix), p->allow_http, secret);
}

static int64_t within(int64_t ms)
{
	return ms > 0 ? (int64_t)arc4random_uniform((uint32_t)ms) : 0;
}

static int64_t next_due(const struct tracker *t, int64_t now)
{
	return now + t->o.interval_ms - t->o.interval_ms / 10 + within(t->o.interval_ms / 5);
}

/* Something is about to change: look again soon. */
static int64_t soon(const struct tracker *t)
{
	return t->o.interval_ms / 4 < MORE_MS ? t->o.interval_ms / 4 : MORE_MS;
}

/* Where the clouds' own names lead, when a flag says so. */
static const char *endpoint_of(const struct tracker *t, const struct store_place *p, char **ret_own)
{
	const char *base = p->scheme == SCHEME_GS   ? t->o.gs_endpoint
			   : p->scheme == SCHEME_AZ ? t->o.az_endpoint
						    : p->endpoint;
	const char *at = base ? strstr(base, "{account}") : NULL;

	if (!at)
		return base;
	*ret_own = xasprintf("%.*s%s%s", (int)(at - base), base, or_empty(p->account),
			     at + strlen("{account}"));
	return *ret_own;
}

static bool may_be_local(struct tracker *t, const char *ns, const char *endpoint)
{
	const struct settings_view *v = settings_get(t->o.settings);
	bool yes = v->policy->list[POLICY_ENDPOINT].n > 0 &&
		   policy_allows(v->policy, POLICY_ENDPOINT, ns, endpoint);

	settings_release(t->o.settings, v);
	return yes;
}

static struct target *target_new(struct tracker *t, const char *app,
				 const struct store_place *place, const char *ns,
				 const char *secret)
{
	struct target *x = xcalloc(1, sizeof(*x));
	cleanup(freep) char *own = NULL;
	struct store_place p = *place;

	p.endpoint = endpoint_of(t, place, &own);
	if (place->scheme != SCHEME_S3)
		p.allow_http = p.endpoint != NULL; /* the platform's word */
	p.no_local = !may_be_local(t, ns, p.endpoint);
	store_place_copy(&x->place, &p);
	x->tracker = t;
	x->app = xstrdup(app);
	x->ns = xstrdup(ns);
	x->secret = xstrdup(secret);
	x->place_id = id_of(place, secret);
	return x;
}

void tracker_want(struct tracker *t, const char *app, const struct store_place *place,
		  const char *ns, const char *secret, bool urgent)
{
	cleanup(freep) char *id = id_of(place, secret);
	struct target *x;

	(void)pthread_mutex_lock(&t->lock);
	x = map_get(t->targets, app);
	if (!x || !str_eq(x->place_id, id)) {
		x = target_new(t, app, place, ns, secret);
		x->due_ms = clock_mono_ms() + (urgent ? 0 : within(t->o.interval_ms));
		map_put(t->targets, app, x);
		http_loop_wake(t->loop);
	}
	(void)pthread_mutex_unlock(&t->lock);
}

void tracker_forget(struct tracker *t, const char *app)
{
	(void)pthread_mutex_lock(&t->lock);
	map_del(t->targets, app);
	(void)pthread_mutex_unlock(&t->lock);
}

void tracker_facts(struct tracker *t, const char *app, struct track_facts *ret)
{
	const struct target *x;

	*ret = (struct track_facts){ .state = TRACK_NEVER };
	(void)pthread_mutex_lock(&t->lock);
	x = map_get(t->targets, app);
	if (x)
		*ret = x->facts;
	(void)pthread_mutex_unlock(&t->lock);
}

bool tracker_republished(struct tracker *t, const char *app)
{
	struct target *x;
	bool was = false;

	(void)pthread_mutex_lock(&t->lock);
	x = map_get(t->targets, app);
	if (x) {
		was = x->republished;
		x->republished = false;
	}
	(void)pthread_mutex_unlock(&t->lock);
	return was;
}

/* --- facts ------------------------------------------------------------------------------------ */

/* The known version stays, whatever comes. */
static void learn(struct target *t, enum track_state state, const char *why)
{
	struct track_facts *f = &t->facts;

	if (t->gone || (f->state == state && str_eq(f->why, why)))
		return;
	f->state = state;
	(void)snprintf(f->why, sizeof(f->why), "%s", why);
	queue_add(t->tracker->o.queue, t->app);
}

static void learn_version(struct target *t, const char *version)
{
	if (t->gone)
		return;
	if (!str_eq(t->facts.version, version)) {
		(void)snprintf(t->facts.version, sizeof(t->facts.version), "%s", version);
		t->facts.state = TRACK_READ;
		t->facts.why[0] = '\0';
		queue_add(t->tracker->o.queue, t->app);
	}
	learn(t, TRACK_READ, "");
}

/* --- endpoints -------------------------------------------------------------------------------- */

static struct endpoint *endpoint_get(struct tracker *t, const char *host)
{
	struct endpoint *e = map_get(t->endpoints, host);

	if (!e) {
		e = xcalloc(1, sizeof(*e));
		map_put(t->endpoints, host, e);
	}
	return e;
}

static int64_t pause_of(const struct tracker *t, const struct endpoint *e)
{
	int64_t pause = t->o.pause_ms ? t->o.pause_ms : PAUSE_MS;

	for (int i = 1; i < e->failures && pause < MOST_INTERVALS * t->o.interval_ms; i++)
		pause *= 2;
	return pause < MOST_INTERVALS * t->o.interval_ms ? pause
							 : MOST_INTERVALS * t->o.interval_ms;
}

/* Requests that were under way when it began to fail count once. */
static void endpoint_failed(struct tracker *t, struct endpoint *e, const struct err *why)
{
	int64_t now = clock_mono_ms(), pause;

	(void)snprintf(e->why, sizeof(e->why), "%.191s", why->message);
	if (now < e->until_ms)
		return;
	e->failures++;
	pause = pause_of(t, e);
	pause += within(pause / 4);
	if (pause < why->retry_after_ms)
		pause = why->retry_after_ms;
	e->until_ms = now + pause;
}

struct spread {
	struct tracker *tracker;
	const struct endpoint *endpoint;
	int64_t now;
};

static void spread_one(const char *app, void *value, void *ctx)
{
	struct target *x = value;
	const struct spread *s = ctx;

	(void)app;
	if (x->endpoint == s->endpoint && !x->under_way)
		x->due_ms = s->now + within(s->tracker->o.interval_ms);
}

/* Those that waited come back over an interval, not at once. */
static void endpoint_fine(struct tracker *t, struct endpoint *e)
{
	struct spread s = { .tracker = t, .endpoint = e, .now = clock_mono_ms() };

	if (!e->failures)
		return;
	e->failures = 0;
	e->until_ms = 0;
	map_each(t->targets, spread_one, &s);
}

/* The store itself is away or wants rest; anything else is the one bucket's. */
static bool is_sick(enum err_code code)
{
	return code == ERR_THROTTLED || code == ERR_TIMEOUT || code == ERR_UNAVAILABLE;
}

/* --- requests --------------------------------------------------------------------------------- */

static void start(struct tracker *t, struct target *x);

static void failed(struct target *x, const struct err *e)
{
	struct tracker *t = x->tracker;

	if (is_sick(e->code))
		endpoint_failed(t, x->endpoint, e);
	else
		endpoint_fine(t, x->endpoint);
	if ((e->code == ERR_UNAUTHORIZED || e->code == ERR_FORBIDDEN) && !x->gone)
		secrets_again(t->o.secrets, x->ns, x->secret);
	if (e->code == ERR_NOT_FOUND)
		learn(x, TRACK_NO_POINTER,
		      "the bucket has no " CELLD_POINTER_KEY " below its prefix");
	else
		learn(x, TRACK_FAILED, e->message);
}

static void read_pointer(struct target *x, const struct store_reply *r)
{
	char version[CELLD_VERSION_ID];
	struct err e = ERR_INIT;
	bool other = x->tag[0] && !str_eq(x->tag, r->tag);

	if (celld_pointer_parse(r->body, r->body_len, version, &e)) {
		x->tag[0] = '\0';
		learn(x, TRACK_BAD_POINTER, e.message);
		return;
	}
	memcpy(x->tag, r->tag, sizeof(x->tag));
	if (other && str_eq(version, x->facts.version)) {
		x->republished = true;
		queue_add(x->tracker->o.queue, x->app);
	}
	learn_version(x, version);
}

static void take_answer(struct target *x, const struct http_response *r)
{
	struct store_reply reply = { .unchanged = false };
	struct err e = ERR_INIT;
	int rc = store_answer(x->store, &x->op, r, clock_wall_ms(), &reply, &e);

	if (rc && reply.again && !x->again && !x->gone) {
		x->again = true;
		start(x->tracker, x);
	} else if (rc) {
		failed(x, &e);
	} else {
		endpoint_fine(x->tracker, x->endpoint);
		if (reply.unchanged)
			learn(x, TRACK_READ, "");
		else
			read_pointer(x, &reply);
	}
	store_reply_done(&reply);
}

static void take_token(struct target *x, const struct http_response *r)
{
	struct err e = ERR_INIT;

	if (store_token_answer(x->store, r, clock_wall_ms(), &e))
		failed(x, &e);
	else
		start(x->tracker, x);
}

static void unlink_gone(struct tracker *t, const struct target *x)
{
	struct target **at = &t->gone;

	while (*at != x)
		at = &(*at)->next_gone;
	*at = x->next_gone;
}

/* Words that are the same each time: libcurl's tell milliseconds and addresses. */
static void transport(struct target *x, const struct err *e)
{
	struct err plain = *e;

	if (e->code == ERR_TIMEOUT)
		(void)err_set(&plain, e->code, "%s does not answer in time", store_host(x->store));
	else if (e->code == ERR_UNAVAILABLE)
		(void)err_set(&plain, e->code, "%s cannot be reached", store_host(x->store));
	failed(x, &plain);
}

static void on_done(void *ctx, struct http_response *r, const struct err *e)
{
	struct target *x = ctx;
	struct tracker *t = x->tracker;
	bool token = x->token;

	(void)pthread_mutex_lock(&t->lock);
	x->under_way = x->token = false;
	x->endpoint->in_flight--;
	store_call_done(&x->call);
	if (e)
		transport(x, e);
	else if (x->gone)
		;
	else if (token)
		take_token(x, r);
	else
		take_answer(x, r);
	if (x->gone && !x->under_way) {
		unlink_gone(t, x);
		target_free(x);
	}
	(void)pthread_mutex_unlock(&t->lock);
}

static void start(struct tracker *t, struct target *x)
{
	const struct http_handler h = { .done = on_done, .ctx = x };
	struct err e = ERR_INIT;
	int r;

	x->op = (struct store_op){ .verb = STORE_GET,
				   .key = CELLD_POINTER_KEY,
				   .if_not_tag = x->tag[0] ? x->tag : NULL,
				   .max_response = LIMIT_POINTER };
	x->token = store_needs_token(x->store, clock_wall_ms());
	if (x->token)
		r = store_token_call(x->store, clock_wall_ms(), &x->call, &e);
	else
		r = store_call(x->store, &x->op, clock_wall_ms(), &x->call, &e);
	if (r) {
		x->token = false;
		learn(x, TRACK_FAILED, e.message);
		return;
	}
	x->under_way = true;
	x->endpoint->in_flight++;
	(void)http_loop_start(t->loop, &x->call.request, &h);
}

/* The store with the credentials of now; false: there are none, and the facts say why. */
static bool ready(struct tracker *t, struct target *x, int64_t now)
{
	struct store_keys keys = { { NULL, 0 }, { NULL, 0 }, { NULL, 0 },
				   { NULL, 0 }, { NULL, 0 }, { NULL, 0 } };
	char why[192], digest[DIGEST_HEX];
	struct err e = ERR_INIT;
	enum secret_state state =
		secrets_credentials(t->o.secrets, x->ns, x->secret, &keys, digest);
	bool fine = state == SECRET_FOUND;

	if (state == SECRET_UNREAD)
		x->due_ms = now + soon(t);
	if (state == SECRET_MISSING) {
		(void)snprintf(why, sizeof(why), "Secret %s does not exist", x->secret);
		learn(x, TRACK_FAILED, why);
	}
	if (fine && (!x->store || !str_eq(digest, x->credentials))) {
		store_free(take(x->store));
		x->endpoint = NULL;
		fine = !store_open(&x->place, &keys, &x->store, &e);
		memcpy(x->credentials, digest, sizeof(digest));
		if (fine)
			x->endpoint = endpoint_get(t, store_host(x->store));
		else
			learn(x, TRACK_FAILED, e.message);
	}
	store_keys_done(&keys);
	return fine;
}

struct round {
	struct tracker *tracker;
	int64_t now, next;
};

static void consider(const char *app, void *value, void *ctx)
{
	struct target *x = value;
	struct round *r = ctx;
	struct tracker *t = r->tracker;
	struct endpoint *e;

	(void)app;
	if (!x->under_way && x->due_ms <= r->now) {
		x->due_ms = next_due(t, r->now);
		if (ready(t, x, r->now)) {
			e = x->endpoint;
			if (r->now < e->until_ms) {
				learn(x, TRACK_FAILED, e->why);
				x->due_ms = e->until_ms;
			} else if (e->in_flight >= (e->failures ? 1 : IN_FLIGHT)) {
				x->due_ms = r->now + soon(t);
			} else {
				x->again = false;
				start(t, x);
			}
		}
	}
	if (!x->under_way && x->due_ms < r->next)
		r->next = x->due_ms;
}

/* Starts what is due; returns for how long there is nothing more to start. */
static int64_t one_round(struct tracker *t)
{
	struct round r = { .tracker = t, .now = clock_mono_ms() };

	r.next = r.now + t->o.interval_ms;
	if (!t->o.active(t->o.ctx))
		return soon(t);
	(void)pthread_mutex_lock(&t->lock);
	map_each(t->targets, consider, &r);
	(void)pthread_mutex_unlock(&t->lock);
	return r.next > r.now ? r.next - r.now : 0;
}

static void *work(void *p)
{
	struct tracker *t = p;

	while (http_loop_run(t->loop, one_round(t)) == 0)
		;
	return NULL;
}

struct tracker *tracker_start(const struct tracker_opts *o)
{
	struct tracker *t = xcalloc(1, sizeof(*t));

	t->o = *o;
	(void)pthread_mutex_init(&t->lock, NULL);
	t->targets = map_new(target_drop);
	t->endpoints = map_new(free);
	t->loop = http_loop_new(o->cancel);
	if (pthread_create(&t->thread, NULL, work, t))
		abort();
	return t;
}

static void settle(const char *app, void *value, void *ctx)
{
	struct target *x = value;

	(void)app;
	(void)ctx;
	x->under_way = false;
}

void tracker_stop(struct tracker *t)
{
	if (!t)
		return;
	(void)pthread_join(t->thread, NULL);
	http_loop_free(t->loop); /* what runs ends without on_done */
	map_each(t->targets, settle, NULL);
	map_free(t->targets);
	while (t->gone) {
		struct target *x = t->gone;

		t->gone = x->next_gone;
		target_free(x);
	}
	map_free(t->endpoints);
	(void)pthread_mutex_destroy(&t->lock);
	free(t);
}
