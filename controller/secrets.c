#include "controller/secrets.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/codec.h"
#include "common/json.h"
#include "common/kube/client.h"
#include "common/log.h"
#include "common/map.h"

enum { AGAIN_MS = 5000, GET_MS = 10000, GAP_MS = 40 };

static const struct kube_kind secret_kind = { "", "v1", "secrets", "Secret", true };

struct entry {
	char *ns, *name;
	struct strlist users; /* keys of apps */
	enum secret_state state;
	struct map *digests; /* key -> hex */
	struct store_keys keys;
	char credentials[DIGEST_HEX];
	int64_t due_ms, read_ms;
};

struct secrets {
	struct secrets_opts o;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct map *entries; /* "ns/name" -> struct entry */
	struct map *apps;    /* key -> struct strlist of "ns/name" */
	bool ended;
};

static void entry_free(void *p)
{
	struct entry *x = p;

	map_free(x->digests);
	store_keys_done(&x->keys);
	strlist_done(&x->users);
	free(x->ns);
	free(x->name);
	free(x);
}

static void list_free(void *p)
{
	strlist_done(p);
	free(p);
}

static struct entry *find(struct secrets *s, const char *ns, const char *name)
{
	cleanup(freep) char *id = xasprintf("%s/%s", ns, name);

	return map_get(s->entries, id);
}

/* --- wanting ---------------------------------------------------------------------------------- */

static void remove_user(struct secrets *s, const char *id, const char *app)
{
	struct entry *x = map_get(s->entries, id);
	struct strlist left = STRLIST_INIT;

	if (!x)
		return;
	for (size_t i = 0; i < x->users.n; i++) {
		if (!str_eq(x->users.v[i], app))
			strlist_add(&left, x->users.v[i]);
	}
	strlist_done(&x->users);
	x->users = left;
	if (!left.n)
		map_del(s->entries, id);
}

static void add_user(struct secrets *s, const char *id, const char *ns, const char *name,
		     const char *app)
{
	struct entry *x = map_get(s->entries, id);

	if (!x) {
		x = xcalloc(1, sizeof(*x));
		x->ns = xstrdup(ns);
		x->name = xstrdup(name);
		x->digests = map_new(free);
		map_put(s->entries, id, x);
		(void)pthread_cond_signal(&s->wake);
	}
	strlist_add_once(&x->users, app);
}

void secrets_want(struct secrets *s, const char *app, const char *ns, const struct strlist *names)
{
	struct strlist *now = xcalloc(1, sizeof(*now));
	struct strlist *was;

	for (size_t i = 0; i < names->n; i++)
		strlist_add_take(now, xasprintf("%s/%s", ns, names->v[i]));
	(void)pthread_mutex_lock(&s->lock);
	was = map_get(s->apps, app);
	if (!was || !strlist_equal(was, now)) {
		for (size_t i = 0; was && i < was->n; i++) {
			if (!strlist_has(now, was->v[i]))
				remove_user(s, was->v[i], app);
		}
		for (size_t i = 0; i < now->n; i++)
			add_user(s, now->v[i], ns, names->v[i], app);
		if (now->n)
			map_put(s->apps, app, take(now));
		else
			map_del(s->apps, app);
	}
	(void)pthread_mutex_unlock(&s->lock);
	if (now)
		list_free(now);
}

/* --- asking ----------------------------------------------------------------------------------- */

enum secret_state secrets_state(struct secrets *s, const char *ns, const char *name)
{
	const struct entry *x;
	enum secret_state state;

	(void)pthread_mutex_lock(&s->lock);
	x = find(s, ns, name);
	state = x ? x->state : SECRET_UNREAD;
	(void)pthread_mutex_unlock(&s->lock);
	return state;
}

bool secrets_digest(struct secrets *s, const char *ns, const char *name, const char *key,
		    char hex[DIGEST_HEX])
{
	const struct entry *x;
	const char *found;

	(void)pthread_mutex_lock(&s->lock);
	x = find(s, ns, name);
	found = x ? map_get(x->digests, key) : NULL;
	if (found)
		memcpy(hex, found, DIGEST_HEX);
	(void)pthread_mutex_unlock(&s->lock);
	return found != NULL;
}

enum secret_state secrets_credentials(struct secrets *s, const char *ns, const char *name,
				      struct store_keys *ret, char hex[DIGEST_HEX])
{
	const struct entry *x;
	enum secret_state state;

	(void)pthread_mutex_lock(&s->lock);
	x = find(s, ns, name);
	state = x ? x->state : SECRET_UNREAD;
	if (state == SECRET_FOUND) {
		store_keys_copy(ret, &x->keys);
		memcpy(hex, x->credentials, DIGEST_HEX);
	}
	(void)pthread_mutex_unlock(&s->lock);
	return state;
}

void secrets_again(struct secrets *s, const char *ns, const char *name)
{
	struct entry *x;

	(void)pthread_mutex_lock(&s->lock);
	x = find(s, ns, name);
	if (x && x->due_ms > x->read_ms + AGAIN_MS) {
		x->due_ms = x->read_ms + AGAIN_MS;
		(void)pthread_cond_signal(&s->wake);
	}
	(void)pthread_mutex_unlock(&s->lock);
}

/* --- reading ---------------------------------------------------------------------------------- */

/* What a GET found, before it goes into the entry. */
struct found {
	enum secret_state state;
	struct map *digests;
	struct store_keys keys;
	char credentials[DIGEST_HEX];
};

/* A line break at the end of a credential is an accident of `echo`; of a digest it is a part, for pods see it. */
static size_t trimmed(const unsigned char *v, size_t n)
{
	while (n && (v[n - 1] == '\n' || v[n - 1] == '\r'))
		n--;
	return n;
}

static void take_value(struct found *f, const char *key, const char *base64, struct buf *sum)
{
	size_t n = 0;
	unsigned char *v = codec_base64_decode(base64, strlen(base64), &n);
	char *hex = xmalloc(DIGEST_HEX);
	struct secret *to = store_key(&f->keys, key);

	digest_hex(v ? v : (const unsigned char *)"", n, hex);
	if (to && v) {
		secret_set(to, (const char *)v, trimmed(v, n));
		buf_printf(sum, "%s=%s\n", key, hex);
	}
	map_put(f->digests, key, hex);
	if (v)
		digest_wipe(v, n);
	free(v);
}

static void read_object(const struct json *object, struct found *f)
{
	const struct json *data = json_get(object, "data");
	struct buf sum = BUF_INIT(8192);

	f->state = SECRET_FOUND;
	for (const struct json *v = json_first(data); v; v = json_next(v)) {
		if (json_str(v))
			take_value(f, json_name(v), json_str(v), &sum);
	}
	digest_hex(buf_str(&sum), sum.len, f->credentials);
	buf_done(&sum);
}

struct comparison {
	const struct map *other;
	bool same;
};

static void compare(const char *key, void *value, void *ctx)
{
	struct comparison *c = ctx;
	const char *other = map_get(c->other, key);

	c->same = c->same && other && str_eq(other, value);
}

static bool same(const struct entry *x, const struct found *f)
{
	struct comparison c = { .other = f->digests, .same = true };

	if (x->state != f->state || map_len(x->digests) != map_len(f->digests))
		return false;
	map_each(x->digests, compare, &c);
	return c.same;
}

/* Puts it into the entry, if that is still there; tells the apps when it is news. */
static void settle(struct secrets *s, const char *ns, const char *name, struct found *f)
{
	struct strlist users = STRLIST_INIT;
	struct entry *x;

	(void)pthread_mutex_lock(&s->lock);
	x = find(s, ns, name);
	if (x && !same(x, f)) {
		struct map *old = x->digests;

		x->state = f->state;
		x->digests = f->digests;
		f->digests = old;
		store_keys_copy(&x->keys, &f->keys);
		memcpy(x->credentials, f->credentials, sizeof(x->credentials));
		strlist_copy(&users, &x->users);
	}
	(void)pthread_mutex_unlock(&s->lock);
	for (size_t i = 0; i < users.n; i++)
		queue_add(s->o.queue, users.v[i]);
	strlist_done(&users);
}

/* What is known stays; what was never known is asked for again soon, since somebody may wait for it. */
static void put_off(struct secrets *s, const char *ns, const char *name, const struct err *e)
{
	log_warn("cannot read Secret", "namespace", ns, "name", name, "error", e->message, NULL);
	if (secrets_state(s, ns, name) == SECRET_UNREAD)
		secrets_again(s, ns, name);
}

static void read_one(struct secrets *s, const char *ns, const char *name)
{
	cleanup_json struct json *object = NULL;
	struct found f = { .state = SECRET_MISSING, .digests = map_new(free) };
	struct err e = ERR_INIT;
	int r = kube_get(s->o.client, &secret_kind, ns, name, GET_MS, &object, &e);

	if (!r)
		read_object(object, &f);
	if (!r || r == -ERR_NOT_FOUND)
		settle(s, ns, name, &f);
	else if (r != -ERR_CANCELED)
		put_off(s, ns, name, &e);
	map_free(f.digests);
	store_keys_done(&f.keys);
}

struct choice {
	struct entry *best;
};

static void choose(const char *id, void *value, void *ctx)
{
	struct entry *x = value;
	struct choice *c = ctx;

	(void)id;
	if (!c->best || x->due_ms < c->best->due_ms)
		c->best = x;
}

static void wait_ms(struct secrets *s, int64_t ms)
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

/* The mean is the interval. */
static int64_t jittered(int64_t ms)
{
	return ms - ms / 10 + (int64_t)arc4random_uniform((uint32_t)(ms / 5 + 1));
}

/* The next Secret that is due, as copies; waits for it. False: the end. */
static bool next(struct secrets *s, char **ret_ns, char **ret_name)
{
	bool found = false;

	(void)pthread_mutex_lock(&s->lock);
	while (!s->ended && !found) {
		struct choice c = { .best = NULL };
		int64_t now = clock_mono_ms();

		map_each(s->entries, choose, &c);
		if (!c.best || c.best->due_ms > now) {
			wait_ms(s, c.best ? c.best->due_ms - now : s->o.interval_ms);
			continue;
		}
		c.best->read_ms = now;
		c.best->due_ms = now + jittered(s->o.interval_ms);
		*ret_ns = xstrdup(c.best->ns);
		*ret_name = xstrdup(c.best->name);
		found = true;
	}
	(void)pthread_mutex_unlock(&s->lock);
	return found;
}

/* Many at once must not take the API server's patience from the workers. */
static void breathe(struct secrets *s)
{
	(void)pthread_mutex_lock(&s->lock);
	if (!s->ended && map_len(s->entries) > 10)
		wait_ms(s, GAP_MS);
	(void)pthread_mutex_unlock(&s->lock);
}

static void *work(void *p)
{
	struct secrets *s = p;
	char *ns = NULL, *name = NULL;

	while (next(s, &ns, &name)) {
		if (s->o.active(s->o.ctx))
			read_one(s, ns, name);
		free(ns);
		free(name);
		breathe(s);
	}
	return NULL;
}

struct secrets *secrets_start(const struct secrets_opts *o)
{
	struct secrets *s = xcalloc(1, sizeof(*s));
	pthread_condattr_t attr;

	s->o = *o;
	(void)pthread_condattr_init(&attr);
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&s->wake, &attr);
	(void)pthread_condattr_destroy(&attr);
	(void)pthread_mutex_init(&s->lock, NULL);
	s->entries = map_new(entry_free);
	s->apps = map_new(list_free);
	if (pthread_create(&s->thread, NULL, work, s))
		abort();
	return s;
}

void secrets_stop(struct secrets *s)
{
	if (!s)
		return;
	(void)pthread_mutex_lock(&s->lock);
	s->ended = true;
	(void)pthread_cond_broadcast(&s->wake);
	(void)pthread_mutex_unlock(&s->lock);
	(void)pthread_join(s->thread, NULL);
	map_free(s->entries);
	map_free(s->apps);
	(void)pthread_cond_destroy(&s->wake);
	(void)pthread_mutex_destroy(&s->lock);
	free(s);
}
