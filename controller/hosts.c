#include "controller/hosts.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/exclusive.h"
#include "common/map.h"

struct holder {
	char *key, *created, *uid, *path;
	size_t ns; /* length of the namespace in key */
	struct strlist names;
};

struct hosts {
	pthread_mutex_t lock;
	struct map *holders; /* "namespace/name" -> struct holder */
};

static void free_holder(void *p)
{
	struct holder *x = p;

	free(x->key);
	free(x->created);
	free(x->uid);
	free(x->path);
	strlist_done(&x->names);
	free(x);
}

struct hosts *hosts_new(void)
{
	struct hosts *h = xcalloc(1, sizeof(*h));

	(void)pthread_mutex_init(&h->lock, NULL);
	h->holders = map_new(free_holder);
	return h;
}

void hosts_free(struct hosts *h)
{
	if (!h)
		return;
	map_free(h->holders);
	(void)pthread_mutex_destroy(&h->lock);
	free(h);
}

static char *text(const struct json *j, const char *name)
{
	const char *s = json_get_str(j, name);

	return xstrdup(s ? s : "");
}

/* "/api/" and "/api" are one path. */
static char *path_of(const struct json *app)
{
	const char *path = json_str(json_path(app, "spec", "ingress", "path", NULL));
	size_t n = path ? strlen(path) : 0;

	while (n && path[n - 1] == '/')
		n--;
	return path ? xstrndup(path, n) : xstrdup("");
}

static struct holder *read_holder(const struct json *app)
{
	const struct json *meta = json_get(app, "metadata");
	const struct json *names = json_path(app, "spec", "hostnames", NULL);
	struct holder *x = xcalloc(1, sizeof(*x));
	cleanup(freep) char *ns = text(meta, "namespace"), *name = text(meta, "name");

	x->key = xasprintf("%s/%s", ns, name);
	x->ns = strlen(ns);
	x->created = text(meta, "creationTimestamp");
	x->uid = text(meta, "uid");
	x->path = path_of(app);
	for (const struct json *n = json_first(names); n; n = json_next(n)) {
		if (json_str(n))
			strlist_add(&x->names, json_str(n));
	}
	return x;
}

static bool same_namespace(const struct holder *a, const struct holder *b)
{
	return a->ns == b->ns && memcmp(a->key, b->key, a->ns) == 0;
}

static bool wants(const struct holder *a, const char *name, const struct holder *b)
{
	bool same_path = str_eq(a->path, b->path);

	for (size_t i = 0; i < b->names.n; i++) {
		if (exclusive_hosts_clash(name, b->names.v[i], same_namespace(a, b), same_path))
			return true;
	}
	return false;
}

static bool older(const struct holder *a, const struct holder *b)
{
	int by_age = strcmp(a->created, b->created);

	return by_age ? by_age < 0 : strcmp(a->uid, b->uid) < 0;
}

struct search {
	const struct holder *of;
	const char *name;
	const struct holder *winner; /* of name, older than `of`; NULL: it is its own */
	struct strlist *touched;
};

static void touch(const char *key, void *value, void *ctx)
{
	const struct holder *x = value;
	struct search *s = ctx;

	if (str_eq(key, s->of->key))
		return;
	for (size_t i = 0; i < s->of->names.n; i++) {
		if (wants(s->of, s->of->names.v[i], x)) {
			strlist_add_once(s->touched, key);
			return;
		}
	}
}

static bool equal(const struct holder *a, const struct holder *b)
{
	return a && b && str_eq(a->uid, b->uid) && str_eq(a->path, b->path) &&
	       strlist_equal(&a->names, &b->names);
}

static void tell(struct hosts *h, const struct holder *of, struct strlist *touched)
{
	struct search s = { .of = of, .touched = touched };

	if (of)
		map_each(h->holders, touch, &s);
}

void hosts_put(struct hosts *h, const struct json *app, struct strlist *ret_touched)
{
	struct holder *x = read_holder(app);
	const struct holder *old;

	(void)pthread_mutex_lock(&h->lock);
	old = map_get(h->holders, x->key);
	if (equal(old, x)) {
		free_holder(x);
	} else {
		tell(h, old, ret_touched);
		tell(h, x, ret_touched);
		if (x->names.n) {
			map_put(h->holders, x->key, x);
		} else {
			map_del(h->holders, x->key);
			free_holder(x);
		}
	}
	(void)pthread_mutex_unlock(&h->lock);
}

void hosts_remove(struct hosts *h, const struct json *app, struct strlist *ret_touched)
{
	struct holder *x = read_holder(app);
	const struct holder *old;

	(void)pthread_mutex_lock(&h->lock);
	old = map_get(h->holders, x->key);
	if (old && (!x->uid[0] || str_eq(old->uid, x->uid))) {
		tell(h, old, ret_touched);
		map_del(h->holders, x->key);
	}
	(void)pthread_mutex_unlock(&h->lock);
	free_holder(x);
}

static void find_winner(const char *key, void *value, void *ctx)
{
	const struct holder *x = value;
	struct search *s = ctx;

	if (str_eq(key, s->of->key) || !older(x, s->winner ? s->winner : s->of))
		return;
	if (wants(s->of, s->name, x))
		s->winner = x;
}

bool hosts_of(struct hosts *h, const struct json *app, struct strlist *ret_own, char **ret_lost,
	      char **ret_winner)
{
	struct holder *x = read_holder(app);
	bool all = true;

	(void)pthread_mutex_lock(&h->lock);
	for (size_t i = 0; i < x->names.n; i++) {
		struct search s = { .of = x, .name = x->names.v[i] };

		map_each(h->holders, find_winner, &s);
		if (!s.winner) {
			strlist_add(ret_own, s.name);
		} else if (all) {
			all = false;
			*ret_lost = xstrdup(s.name);
			*ret_winner = xstrdup(s.winner->key);
		}
	}
	(void)pthread_mutex_unlock(&h->lock);
	free_holder(x);
	return all;
}
