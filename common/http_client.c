/*
 * http_client.c - blocking requests, pools and batches, all on an http_loop.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/http.h"

struct http_client {
	struct http_loop *loop;
	struct http_client *next; /* idle in a pool */
};

struct http_client *http_client_new(struct http_cancel *cancel)
{
	struct http_client *c = xcalloc(1, sizeof(*c));

	c->loop = http_loop_new(cancel);
	return c;
}

void http_client_free(struct http_client *c)
{
	if (!c)
		return;
	http_loop_free(c->loop);
	free(c);
}

/* One http_do. */
struct wait {
	struct http_response *to;
	struct err *e;
	bool over;
	int result;
};

static void wait_done(void *ctx, struct http_response *r, const struct err *e)
{
	struct wait *w = ctx;
	struct http_response old = *w->to;

	*w->to = *r; /* r is freed right after: it gets the buffers of the answer before */
	*r = old;
	w->over = true;
	if (e) {
		*w->e = *e;
		w->result = -(int)e->code;
	}
}

int http_do(struct http_client *c, const struct http_request *r, struct http_response *ret,
	    struct err *e)
{
	struct wait w = { .to = ret, .e = e };
	struct http_handler h = { .done = wait_done, .ctx = &w };
	struct http_transfer *t = http_loop_start(c->loop, r, &h);

	ret->status = 0;
	while (!w.over) {
		if (http_loop_run(c->loop, 60000) < 0 && !w.over) {
			http_loop_stop(c->loop, t);
			return err_set(e, ERR_CANCELED, "canceled");
		}
	}
	return w.result;
}

int http_client_sleep(struct http_client *c, int64_t ms)
{
	return http_loop_run(c->loop, ms);
}

void http_client_wake(struct http_client *c)
{
	http_loop_wake(c->loop);
}

/* --- pool ------------------------------------------------------------------------------------- */

struct http_pool {
	pthread_mutex_t lock; /* of idle */
	struct http_client *idle;
	struct http_cancel *cancel;
};

struct http_pool *http_pool_new(struct http_cancel *cancel)
{
	struct http_pool *p = xcalloc(1, sizeof(*p));

	(void)pthread_mutex_init(&p->lock, NULL);
	p->cancel = cancel;
	return p;
}

void http_pool_free(struct http_pool *p)
{
	struct http_client *next;

	if (!p)
		return;
	for (struct http_client *c = p->idle; c; c = next) {
		next = c->next;
		http_client_free(c);
	}
	(void)pthread_mutex_destroy(&p->lock);
	free(p);
}

struct http_client *http_pool_get(struct http_pool *p)
{
	struct http_client *c;

	(void)pthread_mutex_lock(&p->lock);
	c = p->idle;
	if (c)
		p->idle = c->next;
	(void)pthread_mutex_unlock(&p->lock);
	return c ? c : http_client_new(p->cancel);
}

void http_pool_put(struct http_pool *p, struct http_client *c)
{
	(void)pthread_mutex_lock(&p->lock);
	c->next = p->idle; /* last in, first out: the warmest connection goes first */
	p->idle = c;
	(void)pthread_mutex_unlock(&p->lock);
}

/* --- batch ------------------------------------------------------------------------------------ */

struct get {
	struct http_batch *batch;
	char *url;
	void *tag;
	struct http_transfer *transfer; /* in flight */
	int lane;
	bool over;
};

enum { FIRST_PLACES = 32, STEP_MS = 20, SOON_MS = 1000 };
enum { LANES = 2 }; /* the usual one, and that of the slow */

struct http_batch {
	struct http_loop *loop;
	struct get *gets;
	size_t n, room;
	/* of the run */
	size_t next[LANES];
	int in_flight[LANES];
	size_t over;
	/* of the usual lane: its places by now, and how many have ended since when */
	int places;
	size_t ended;
	int64_t since_ms;
	http_batch_done *done;
	void *ctx;
};

struct http_batch *http_batch_new(struct http_cancel *cancel)
{
	struct http_batch *b = xcalloc(1, sizeof(*b));

	b->loop = http_loop_new(cancel);
	return b;
}

static void batch_clear(struct http_batch *b)
{
	for (size_t i = 0; i < b->n; i++)
		free(b->gets[i].url);
	b->n = b->over = 0;
	for (int lane = 0; lane < LANES; lane++) {
		b->next[lane] = 0;
		b->in_flight[lane] = 0;
	}
}

void http_batch_free(struct http_batch *b)
{
	if (!b)
		return;
	http_loop_free(b->loop);
	batch_clear(b);
	free(b->gets);
	free(b);
}

static void add(struct http_batch *b, const char *url, void *tag, int lane)
{
	if (b->n == b->room) {
		b->room = b->room ? b->room * 2 : 16;
		b->gets = xrealloc(b->gets, b->room * sizeof(*b->gets));
	}
	b->gets[b->n++] = (struct get){ .batch = b, .url = xstrdup(url), .tag = tag, .lane = lane };
}

void http_batch_add(struct http_batch *b, const char *url, void *tag)
{
	add(b, url, tag, 0);
}

void http_batch_add_slow(struct http_batch *b, const char *url, void *tag)
{
	add(b, url, tag, 1);
}

static void get_done(void *ctx, struct http_response *r, const struct err *e)
{
	struct get *g = ctx;

	g->over = true;
	g->batch->over++;
	g->batch->ended += g->lane == 0;
	g->batch->in_flight[g->lane]--;
	g->batch->done(g->batch->ctx, g->tag, r, e);
}

/* The end of the batch is batch_cut()'s alone: a timer of the request's own that fires a moment before would free its
   place for a request that has no time left. */
static void get_start(struct get *g, const struct http_batch_limits *limits)
{
	struct http_request r = {
		.url = g->url,
		.timeout_ms = limits->request_ms,
		.connect_timeout_ms = limits->request_ms,
		.max_response = limits->max_response,
		.plain_ok = true,
		.one_shot = true,
	};
	struct http_handler h = { .done = get_done, .ctx = g };

	g->transfer = http_loop_start(g->batch->loop, &r, &h);
	g->batch->in_flight[g->lane]++;
}

/* Fills the free places of a lane. */
static void lane_start(struct http_batch *b, int lane, int places,
		       const struct http_batch_limits *limits)
{
	size_t *next = &b->next[lane];

	for (; *next < b->n && b->in_flight[lane] < places; (*next)++) {
		if (b->gets[*next].lane == lane)
			get_start(&b->gets[*next], limits);
	}
}

/*
 * A transfer costs memory, and each event a look at all of them, so the usual lane begins with few places: peers that
 * answer at once need no more. They double as long as at this pace those that wait would not all be done SOON_MS later.
 */
static void lane_widen(struct http_batch *b, const struct http_batch_limits *limits)
{
	int64_t ms = clock_mono_ms() - b->since_ms;

	if (ms < STEP_MS)
		return;
	if ((int64_t)(b->n - b->next[0]) * ms > (int64_t)b->ended * SOON_MS)
		b->places = b->places * 2 < limits->in_flight ? b->places * 2 : limits->in_flight;
	b->ended = 0;
	b->since_ms += ms;
}

/* Ends what has not ended. */
static void batch_cut(struct http_batch *b, bool canceled)
{
	struct http_response none = HTTP_RESPONSE_INIT;
	struct err late = ERR_INIT, unbegun = ERR_INIT;

	if (canceled) {
		(void)err_set(&late, ERR_CANCELED, "canceled");
		unbegun = late;
	} else {
		(void)err_set(&late, ERR_TIMEOUT, "the batch's time is over");
		(void)err_set(&unbegun, ERR_THROTTLED, "the batch's time was over before its turn");
	}
	for (size_t i = 0; i < b->n; i++) {
		struct get *g = &b->gets[i];

		if (g->over)
			continue;
		if (g->transfer)
			http_loop_stop(b->loop, g->transfer);
		b->done(b->ctx, g->tag, &none, g->transfer ? &late : &unbegun);
	}
}

int http_batch_run(struct http_batch *b, const struct http_batch_limits *limits,
		   http_batch_done *done, void *ctx)
{
	int64_t end = clock_mono_ms() + limits->batch_ms, left;
	int r = 0;

	b->places = limits->in_flight < FIRST_PLACES ? limits->in_flight : FIRST_PLACES;
	b->ended = 0;
	b->since_ms = clock_mono_ms();
	b->done = done;
	b->ctx = ctx;
	http_loop_hold(b->loop, limits->max_held);
	while (b->over < b->n) {
		left = end - clock_mono_ms();
		if (left <= 0)
			break;
		lane_widen(b, limits);
		lane_start(b, 0, b->places, limits);
		lane_start(b, 1, limits->slow_in_flight > 0 ? limits->slow_in_flight : 1, limits);
		if (b->next[0] < b->n && b->places < limits->in_flight && left > STEP_MS)
			left = STEP_MS;
		r = http_loop_run(b->loop, left);
		if (r < 0)
			break;
	}
	batch_cut(b, r < 0);
	batch_clear(b);
	return r;
}
