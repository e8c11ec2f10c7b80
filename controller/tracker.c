#include "controller/tracker.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/map.h"
#include "controller/callees.h"
#include "controller/track_place.h"

enum { MOST_INTERVALS = 4, MORE_MS = 1000 /* at most */ };

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
	bool under_way, token;		  /* a request runs; it is one for a token */
	struct callee *endpoint, *tokens; /* of the store; where it gets tokens */
	struct target *next_gone;
};

struct tracker {
	struct tracker_opts o;
	pthread_t thread;
	pthread_mutex_t lock; /* of all below */
	struct map *targets;  /* app -> struct target */
	struct callees *endpoints;
	struct target *gone; /* forgotten while a request ran */
	struct http_loop *loop;
	struct target **due; /* of one round; kept for the next */
	size_t due_room;
};

/* --- targets ---------------------------------------------------------------------------------- */

static void target_free(struct target *t)
{
	store_call_done(&t->call);
	callee_give(t->tracker->endpoints, t->endpoint);
	callee_give(t->tracker->endpoints, t->tokens);
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

static int64_t within(int64_t ms)
{
	return ms > 0 ? (int64_t)arc4random_uniform((uint32_t)ms) : 0;
}

/* Counted from when it was due, so that what was late does not make the mean longer; but never two at once. */
static int64_t next_due(const struct tracker *t, int64_t due, int64_t now)
{
	int64_t ms = t->o.interval_ms - t->o.interval_ms / 10 + within(t->o.interval_ms / 5);

	return due + ms > now ? due + ms : now + ms;
}

/* Something is about to change: look again soon. */
static int64_t soon(const struct tracker *t)
{
	return t->o.interval_ms / 4 < MORE_MS ? t->o.interval_ms / 4 : MORE_MS;
}

static struct target *target_new(struct tracker *t, const char *app,
				 const struct store_place *place, const char *ns,
				 const char *secret)
{
	struct target *x = xcalloc(1, sizeof(*x));

	track_place(&t->o, place, ns, &x->place);
	x->tracker = t;
	x->app = xstrdup(app);
	x->ns = xstrdup(ns);
	x->secret = xstrdup(secret);
	x->place_id = track_place_id(place, secret);
	return x;
}

void tracker_want(struct tracker *t, const char *app, const struct store_place *place,
		  const char *ns, const char *secret, bool urgent)
{
	cleanup(freep) char *id = track_place_id(place, secret);
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
	if (!t->gone && !str_eq(t->facts.version, version)) {
		(void)snprintf(t->facts.version, sizeof(t->facts.version), "%s", version);
		t->facts.state = TRACK_NEVER; /* news, whatever was before */
	}
	learn(t, TRACK_READ, "");
}

/* --- endpoints -------------------------------------------------------------------------------- */

/* Whom the next request, or the one that runs, goes to. */
static struct callee *whom(const struct target *x)
{
	bool token = x->under_way ? x->token : store_needs_token(x->store, clock_wall_ms());

	return token ? x->tokens : x->endpoint;
}

static void sick(struct callee *at, const struct err *why)
{
	callee_failed(at, clock_mono_ms(), why, (double)arc4random_uniform(1024) / 1024);
}

struct spread {
	struct tracker *tracker;
	const struct callee *endpoint;
	int64_t now;
};

static void spread_one(const char *app, void *value, void *ctx)
{
	struct target *x = value;
	const struct spread *s = ctx;

	(void)app;
	if ((x->endpoint == s->endpoint || x->tokens == s->endpoint) && !x->under_way)
		x->due_ms = s->now + within(s->tracker->o.interval_ms);
}

/* Those that waited come back over an interval, not at once. */
static void well(struct tracker *t, struct callee *at)
{
	struct spread s = { .tracker = t, .endpoint = at, .now = clock_mono_ms() };

	if (callee_answered(at))
		map_each(t->targets, spread_one, &s);
}

/* The store itself is away or wants rest; anything else is the one bucket's. */
static bool is_sick(enum err_code code)
{
	return code == ERR_THROTTLED || code == ERR_TIMEOUT || code == ERR_UNAVAILABLE;
}

/* --- requests --------------------------------------------------------------------------------- */

static void start(struct tracker *t, struct target *x);

static void failed(struct target *x, struct callee *at, const struct err *e)
{
	struct tracker *t = x->tracker;

	if (is_sick(e->code))
		sick(at, e);
	else
		well(t, at);
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

/* The same once more, for the answer has cured why it was refused. */
static bool again(struct target *x, const struct store_reply *r)
{
	if (!r->again || x->again || x->gone)
		return false;
	x->again = true;
	start(x->tracker, x);
	return true;
}

static void take_answer(struct target *x, struct callee *at, const struct http_response *r)
{
	struct store_reply reply = { .unchanged = false };
	struct err e = ERR_INIT;
	int rc = store_answer(x->store, &x->op, r, clock_wall_ms(), &reply, &e);

	if (rc && !again(x, &reply)) {
		failed(x, at, &e);
	} else if (!rc) {
		well(x->tracker, at);
		if (reply.unchanged)
			learn(x, TRACK_READ, "");
		else
			read_pointer(x, &reply);
	}
	store_reply_done(&reply);
}

static void take_token(struct target *x, struct callee *at, const struct http_response *r)
{
	struct err e = ERR_INIT;

	if (store_token_answer(x->store, r, clock_wall_ms(), &e)) {
		failed(x, at, &e);
		return;
	}
	well(x->tracker, at);
	x->due_ms = clock_mono_ms(); /* with the token, when the store has room */
}

static void unlink_gone(struct tracker *t, const struct target *x)
{
	struct target **at = &t->gone;

	while (*at != x)
		at = &(*at)->next_gone;
	*at = x->next_gone;
}

/* Words that are the same each time: libcurl's tell milliseconds, addresses and counts of bytes. */
static void transport(struct target *x, struct callee *at, const struct http_response *r,
		      const struct err *e)
{
	cleanup(freep) char *origin = store_origin(x->store, at == x->tokens);
	struct err plain = *e;

	if (e->code == ERR_TIMEOUT)
		(void)err_set(&plain, e->code, "%s does not answer in time", origin);
	else if (e->code == ERR_UNAVAILABLE)
		(void)err_set(&plain, e->code, "%s cannot be reached", origin);
	else if (e->code == ERR_PROTOCOL && r->status)
		(void)err_set(&plain, e->code, "the answer of %s breaks off", origin);
	else if (e->code ==
		 ERR_PROTOCOL) /* no certificate to trust, no HTTP: everybody's trouble there */
		(void)err_set(&plain, ERR_UNAVAILABLE, "%s: %s", origin, e->message);
	failed(x, at, &plain);
}

/* More than a pointer has, or a long-winded refusal, whose status says enough. */
static void too_large(struct target *x, struct callee *at, const struct http_response *r)
{
	char why[64];

	if (r->status / 100 != 2) {
		take_answer(x, at, r);
		return;
	}
	well(x->tracker, at);
	x->tag[0] = '\0';
	(void)snprintf(why, sizeof(why), "more than %d bytes", LIMIT_POINTER);
	learn(x, TRACK_BAD_POINTER, why);
}

static void take_it(struct target *x, struct callee *at, bool token, const struct http_response *r,
		    const struct err *e)
{
	if (e && e->code == ERR_TOO_LARGE && !token)
		too_large(x, at, r);
	else if (e)
		transport(x, at, r, e);
	else if (token)
		take_token(x, at, r);
	else
		take_answer(x, at, r);
}

static void on_done(void *ctx, struct http_response *r, const struct err *e)
{
	struct target *x = ctx;
	struct tracker *t = x->tracker;
	struct callee *at;
	bool token = x->token;

	(void)pthread_mutex_lock(&t->lock);
	at = whom(x);
	callee_end(at);
	x->under_way = x->token = false;
	store_call_done(&x->call);
	if (e || !x->gone)
		take_it(x, at, token, r, e);
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
				   .max_response = LIMIT_POINTER,
				   .timeout_ms = t->o.timeout_ms };
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
	callee_begin(whom(x));
	(void)http_loop_start(t->loop, &x->call.request, &h);
}

static struct callee *named(struct tracker *t, const struct store *s, bool token)
{
	cleanup(freep) char *origin = store_origin(s, token);

	return callee_take(t->endpoints, origin);
}

static bool open_store(struct tracker *t, struct target *x, const struct store_keys *keys)
{
	struct callee *old = take(x->endpoint), *old_tokens = take(x->tokens);
	struct err e = ERR_INIT;
	bool fine;

	store_free(take(x->store));
	fine = !store_open(&x->place, keys, &x->store, &e);
	if (fine) {
		x->endpoint = named(t, x->store, false);
		x->tokens = named(t, x->store, true);
	} else {
		learn(x, TRACK_FAILED, e.message);
	}
	/* now, for it may be the same again: what is known of it stays */
	callee_give(t->endpoints, old);
	callee_give(t->endpoints, old_tokens);
	return fine;
}

/* The store with the credentials of now; false: there are none, and the facts say why. */
static bool ready(struct tracker *t, struct target *x, int64_t now)
{
	struct store_keys keys = { { NULL, 0 }, { NULL, 0 }, { NULL, 0 },
				   { NULL, 0 }, { NULL, 0 }, { NULL, 0 } };
	char why[192], digest[DIGEST_HEX];
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
		memcpy(x->credentials, digest, sizeof(digest));
		fine = open_store(t, x, &keys);
	}
	store_keys_done(&keys);
	return fine;
}

struct round {
	struct tracker *tracker;
	int64_t now, next;
	size_t n; /* in tracker->due */
};

/* Its endpoint rests, or is busy: the end of a request begins the next round, and x is as long overdue as it is. */
static bool must_wait(struct target *x, int64_t now, int64_t due)
{
	const struct callee *at = whom(x);

	if (now < callee_rests_until(at)) {
		learn(x, TRACK_FAILED, callee_why(at));
		x->due_ms = callee_rests_until(at);
		return true;
	}
	if (callee_has_room(at))
		return false;
	x->due_ms = due;
	return true;
}

static void look_ahead(struct round *r, const struct target *x)
{
	if (!x->under_way && x->due_ms > r->now && x->due_ms < r->next)
		r->next = x->due_ms;
}

static void attend(struct round *r, struct target *x)
{
	int64_t due = x->due_ms;

	if (x->store && must_wait(x, r->now, due))
		return;
	x->due_ms = next_due(r->tracker, due, r->now);
	if (!ready(r->tracker, x, r->now) || must_wait(x, r->now, due))
		return;
	x->again = false;
	start(r->tracker, x);
}

static void collect(const char *app, void *value, void *ctx)
{
	struct target *x = value;
	struct round *r = ctx;
	struct tracker *t = r->tracker;

	(void)app;
	look_ahead(r, x);
	if (x->under_way || x->due_ms > r->now)
		return;
	if (r->n == t->due_room) {
		t->due_room = t->due_room ? 2 * t->due_room : 64;
		t->due = xrealloc(t->due, t->due_room * sizeof(struct target *));
	}
	t->due[r->n++] = x;
}

static int by_due(const void *a, const void *b)
{
	const struct target *const *x = a, *const *y = b;

	return ((*x)->due_ms > (*y)->due_ms) - ((*x)->due_ms < (*y)->due_ms);
}

/* Starts what is due; returns for how long there is nothing more to start. */
static int64_t one_round(struct tracker *t)
{
	struct round r = { .tracker = t, .now = clock_mono_ms() };

	r.next = r.now + t->o.interval_ms;
	if (!t->o.active(t->o.ctx))
		return soon(t);
	(void)pthread_mutex_lock(&t->lock);
	map_each(t->targets, collect, &r);
	if (r.n)
		qsort(t->due, r.n, sizeof(struct target *), by_due);
	for (size_t i = 0; i < r.n; i++) {
		attend(&r, t->due[i]);
		look_ahead(&r, t->due[i]);
	}
	(void)pthread_mutex_unlock(&t->lock);
	return r.next - r.now;
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
	t->endpoints = callees_new(o->pause_ms, MOST_INTERVALS * o->interval_ms);
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
	for (struct target *x = t->gone, *next; x; x = next) {
		next = x->next_gone;
		target_free(x);
	}
	callees_free(t->endpoints);
	free(t->due);
	(void)pthread_mutex_destroy(&t->lock);
	free(t);
}
