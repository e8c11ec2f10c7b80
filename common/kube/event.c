#include "common/kube/event.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/digest.h"
#include "common/json.h"
#include "common/kube/client.h"
#include "common/map.h"
#include "common/strlist.h"

static const struct kube_kind events = {
	.group = "events.k8s.io",
	.version = "v1",
	.plural = "events",
	.kind = "Event",
	.namespaced = true,
};

enum {
	QUEUE = 256,
	REPEAT_MS = 6 * 60000,	 /* the same within this is a repeat */
	REFRESH_MS = 30 * 60000, /* how often the count of a series is written */
	BURST = 25,		 /* new Events of one object at once */
	REFILL_MS = 300000,	 /* then one each */
	NAME = 128,
	NOTE = 1024,
	SEND_MS = 5000,
	TIDY_MS = 60000, /* how often what has become idle is forgotten */
};

/* Event names have to be DNS subdomains: the object's name, cut, a dot and the moment in hex. */
enum { OBJECT_NAME = 200 };

/* Something that was said about an object. */
struct series {
	char *ns, *name; /* of the Event; name NULL: not created yet */
	int64_t count;
	int64_t seen_ms;    /* monotonic, last time it was said */
	int64_t written_ms; /* monotonic, last request */
};

struct bucket {
	double tokens;
	int64_t filled_ms;
};

struct item {
	char *key; /* of the series */
	struct json *object;
	char *ns;
	int64_t wall_ms;
};

struct event_recorder {
	struct kube_client *client;
	char *controller, *instance;
	pthread_mutex_t lock; /* of what follows */
	struct item queue[QUEUE];
	size_t first, n;
	bool sending;
	struct event_stats stats;
	/* Of the thread that sends. */
	struct map *buckets; /* by uid */
	struct map *series;  /* by key */
	int64_t tidied_ms;   /* monotonic */
};

/* --- what is kept ----------------------------------------------------------------------------- */

static void series_free(void *series)
{
	struct series *s = series;

	free(s->ns);
	free(s->name);
	free(s);
}

static void item_done(struct item *i)
{
	free(i->key);
	free(i->ns);
	json_free(i->object);
}

struct event_recorder *event_recorder_new(const struct event_opts *o)
{
	struct event_recorder *r = xcalloc(1, sizeof(*r));

	r->client = o->client;
	r->controller = xstrndup(o->controller, NAME);
	r->instance = xstrndup(o->instance, NAME);
	(void)pthread_mutex_init(&r->lock, NULL);
	r->buckets = map_new(free);
	r->series = map_new(series_free);
	return r;
}

void event_recorder_free(struct event_recorder *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n; i++)
		item_done(&r->queue[(r->first + i) % QUEUE]);
	map_free(r->buckets);
	map_free(r->series);
	(void)pthread_mutex_destroy(&r->lock);
	free(r->controller);
	free(r->instance);
	free(r);
}

/* What tells no more than nothing would: a series that has ended, a bucket that is full again. */
struct idle {
	int64_t now_ms;
	struct strlist keys;
};

static void idle_series(const char *key, void *value, void *ctx)
{
	const struct series *s = value;
	struct idle *i = ctx;

	if (i->now_ms - s->seen_ms >= REPEAT_MS)
		strlist_add(&i->keys, key);
}

static double refilled(const struct bucket *b, int64_t now_ms)
{
	double tokens = b->tokens + (double)(now_ms - b->filled_ms) / REFILL_MS;

	return tokens < BURST ? tokens : BURST;
}

static void idle_bucket(const char *key, void *value, void *ctx)
{
	const struct bucket *b = value;
	struct idle *i = ctx;

	if (refilled(b, i->now_ms) >= BURST)
		strlist_add(&i->keys, key);
}

static void forget_idle(struct map *m, void (*f)(const char *key, void *value, void *ctx),
			int64_t now_ms)
{
	struct idle i = { .now_ms = now_ms };

	map_each(m, f, &i);
	for (size_t k = 0; k < i.keys.n; k++)
		map_del(m, i.keys.v[k]);
	strlist_done(&i.keys);
}

static void tidy(struct event_recorder *r, int64_t now_ms)
{
	if (now_ms - r->tidied_ms < TIDY_MS)
		return;
	r->tidied_ms = now_ms;
	forget_idle(r->series, idle_series, now_ms);
	forget_idle(r->buckets, idle_bucket, now_ms);
}

/* --- queueing --------------------------------------------------------------------------------- */

/* At most max bytes, cut at a character's border. */
static char *cut(const char *s, size_t max)
{
	size_t n = strnlen(s, max + 1);

	if (n > max) {
		n = max;
		while (n && ((unsigned char)s[n] & 0xc0) == 0x80)
			n--;
	}
	return xstrndup(s, n);
}

static void set_cut(struct json *to, const char *name, const char *s, size_t max)
{
	cleanup(freep) char *text = cut(s, max);

	json_set_str(to, name, text);
}

static struct json *event_of(const struct event_recorder *r, const struct event_about *about,
			     bool warning, const char *reason, const char *action, const char *note)
{
	struct json *j = json_new_object(), *object = json_object_at(j, "regarding");

	json_set_str(j, "apiVersion", "events.k8s.io/v1");
	json_set_str(j, "kind", events.kind);
	json_set_str(j, "type", warning ? "Warning" : "Normal");
	set_cut(j, "reason", reason, NAME);
	set_cut(j, "action", action, NAME);
	set_cut(j, "note", note, NOTE);
	json_set_str(j, "reportingController", r->controller);
	json_set_str(j, "reportingInstance", r->instance);
	json_set_str(object, "apiVersion", about->api_version);
	json_set_str(object, "kind", about->kind);
	json_set_str(object, "namespace", about->namespace);
	json_set_str(object, "name", about->name);
	json_set_str(object, "uid", about->uid);
	json_set_str(object, "resourceVersion", about->resource_version);
	return j;
}

/* What repeats has the same one. */
static char *key_of(const struct event_about *about, bool warning, const char *reason,
		    const char *action, const char *note)
{
	cleanup(freep) char *text = xasprintf(
		"%s/%s/%s/%d/%s/%s/%s", about->kind, about->namespace ? about->namespace : "",
		about->uid ? about->uid : about->name, warning, reason, action, note);
	char hex[DIGEST_HEX];

	digest_hex(text, strlen(text), hex);
	return xstrndup(hex, 32);
}

void event_emit(struct event_recorder *r, const struct event_about *about, bool warning,
		const char *reason, const char *action, const char *note)
{
	struct item i = {
		.key = key_of(about, warning, reason, action, note),
		/* Events of cluster-scoped objects live in "default". */
		.ns = xstrdup(str_empty(about->namespace) ? "default" : about->namespace),
		.object = event_of(r, about, warning, reason, action, note),
		.wall_ms = clock_wall_ms(),
	};
	bool full;

	(void)pthread_mutex_lock(&r->lock);
	full = r->n == QUEUE;
	if (full)
		r->stats.dropped++;
	else
		r->queue[(r->first + r->n++) % QUEUE] = i;
	(void)pthread_mutex_unlock(&r->lock);
	if (full)
		item_done(&i);
}

/* --- sending ---------------------------------------------------------------------------------- */

static bool may_create(struct event_recorder *r, const struct item *i)
{
	const struct json *about = json_get(i->object, "regarding");
	const char *uid = json_get_str(about, "uid"), *name = json_get_str(about, "name");
	const char *key = uid ? uid : name;
	int64_t now = clock_mono_ms();
	struct bucket *b = map_get(r->buckets, key);

	if (!b) {
		b = xcalloc(1, sizeof(*b));
		*b = (struct bucket){ .tokens = BURST, .filled_ms = now };
		map_put(r->buckets, key, b);
	}
	b->tokens = refilled(b, now);
	b->filled_ms = now;
	if (b->tokens < 1)
		return false;
	b->tokens -= 1;
	return true;
}

/* The name of a new Event, unique enough: names are never reused within a burst of one process. */
static char *name_of(const char *object, int64_t wall_ms)
{
	size_t n;

	object = str_empty(object) ? "event" : object;
	n = strnlen(object, OBJECT_NAME);
	while (n && (object[n - 1] == '.' || object[n - 1] == '-')) /* after a cut */
		n--;
	return xasprintf("%.*s.%llx%04x", (int)n, object, (unsigned long long)wall_ms,
			 arc4random_uniform(1 << 16));
}

static int create(struct event_recorder *r, const struct item *i, struct series *s)
{
	const char *object = json_get_str(json_get(i->object, "regarding"), "name");
	struct json *meta = json_object_at(i->object, "metadata");
	struct err e = ERR_INIT;
	char when[CLOCK_TEXT];
	int result;

	if (!may_create(r, i))
		return -ERR_THROTTLED;
	free(s->ns);
	free(s->name);
	s->ns = xstrdup(i->ns);
	s->name = name_of(object, i->wall_ms);
	clock_text_micro(i->wall_ms, when);
	json_set_str(i->object, "eventTime", when);
	json_set_str(meta, "namespace", s->ns);
	json_set_str(meta, "name", s->name);
	result = kube_create(r->client, &events, s->ns, i->object, SEND_MS, NULL, &e);
	if (result < 0)
		free(take(s->name));
	return result;
}

static int write_series(struct event_recorder *r, const struct item *i, const struct series *s)
{
	cleanup_json struct json *patch = json_new_object();
	struct json *to = json_object_at(patch, "series");
	struct err e = ERR_INIT;
	char when[CLOCK_TEXT];

	clock_text_micro(i->wall_ms, when);
	json_set_int(to, "count", s->count);
	json_set_str(to, "lastObservedTime", when);
	return kube_patch(r->client, &events, s->ns, s->name, NULL, KUBE_PATCH_MERGE, patch,
			  SEND_MS, NULL, &e);
}

/* One item; what became of it. False: the server took no request. */
static bool send(struct event_recorder *r, const struct item *i, struct event_stats *done)
{
	int64_t now = clock_mono_ms();
	struct series *s;
	bool repeat;
	int result;

	tidy(r, now);
	s = map_get(r->series, i->key);
	repeat = s && s->name && now - s->seen_ms < REPEAT_MS;
	if (!s) {
		s = xcalloc(1, sizeof(*s));
		map_put(r->series, i->key, s);
	}
	s->seen_ms = now;
	s->count = repeat ? s->count + 1 : 1;
	if (repeat && s->count > 2 && now - s->written_ms < REFRESH_MS) {
		done->repeated++;
		return true;
	}
	result = repeat ? write_series(r, i, s) : create(r, i, s);
	if (result == -ERR_NOT_FOUND && repeat) { /* the server lets Events expire */
		s->count = 1;
		result = create(r, i, s);
	}
	s->written_ms = now;
	if (result < 0)
		done->dropped++;
	else if (repeat)
		done->repeated++;
	else
		done->sent++;
	return result != -ERR_TIMEOUT && result != -ERR_CANCELED;
}

size_t event_flush(struct event_recorder *r, int max)
{
	struct event_stats done = { .sent = 0 };
	bool answers = true;
	struct item i;
	size_t left;

	(void)pthread_mutex_lock(&r->lock);
	if (r->sending) {
		(void)pthread_mutex_unlock(&r->lock);
		return 0;
	}
	while (answers && r->n && max-- > 0) {
		i = r->queue[r->first];
		r->first = (r->first + 1) % QUEUE;
		r->n--;
		r->sending = true;
		(void)pthread_mutex_unlock(&r->lock);
		done = (struct event_stats){ .sent = 0 };
		answers = send(r, &i, &done);
		item_done(&i);
		(void)pthread_mutex_lock(&r->lock);
		r->sending = false;
		r->stats.sent += done.sent;
		r->stats.repeated += done.repeated;
		r->stats.dropped += done.dropped;
	}
	left = r->n;
	(void)pthread_mutex_unlock(&r->lock);
	return left;
}

void event_stats(struct event_recorder *r, struct event_stats *ret)
{
	(void)pthread_mutex_lock(&r->lock);
	*ret = r->stats;
	(void)pthread_mutex_unlock(&r->lock);
}
