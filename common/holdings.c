#include "common/holdings.h"

#include <pthread.h>
#include <stdlib.h>

#include "common/map.h"
#include "common/multimap.h"

struct holdings {
	pthread_mutex_t lock;
	struct map *apps, *stores; /* by "namespace/name" */
	struct map *ghosts;	   /* as apps */
	struct multimap index;	   /* of apps, by exclusive_kept_by() */
};

static void free_app(void *value)
{
	holding_free(value);
}

static void free_store(void *value)
{
	holding_store_free(value);
}

struct holdings *holdings_new(void)
{
	struct holdings *h = xcalloc(1, sizeof(*h));

	(void)pthread_mutex_init(&h->lock, NULL);
	h->apps = map_new(free_app);
	h->stores = map_new(free_store);
	h->ghosts = map_new(free_app);
	return h;
}

void holdings_free(struct holdings *h)
{
	if (!h)
		return;
	map_free(h->apps);
	map_free(h->stores);
	map_free(h->ghosts);
	multimap_done(&h->index);
	(void)pthread_mutex_destroy(&h->lock);
	free(h);
}

static char *key_of(const char *namespace, const char *name)
{
	return xasprintf("%s/%s", namespace ? namespace : "", name ? name : "");
}

static char *key_of_object(const struct json *object)
{
	const struct json *m = json_get(object, "metadata");

	return key_of(json_get_str(m, "namespace"), json_get_str(m, "name"));
}

struct indexing {
	struct multimap *index;
	struct holding *was, *is; /* NULL: none */
};

static void index_drop(uint64_t key, void *ctx)
{
	const struct indexing *x = ctx;

	multimap_remove(x->index, key, x->was);
}

static void index_add(uint64_t key, void *ctx)
{
	const struct indexing *x = ctx;

	multimap_add(x->index, key, x->is);
}

static void index_replace(uint64_t key, void *ctx)
{
	const struct indexing *x = ctx;

	multimap_replace(x->index, key, x->was, x->is);
}

/* Most of the time an app has changed in what is not looked for. */
static void index_app(struct holdings *h, struct holding *was, struct holding *is)
{
	struct indexing x = { &h->index, was, is };

	if (was && is && exclusive_are_kept_alike(was, is)) {
		exclusive_kept_by(is, index_replace, &x);
		return;
	}
	if (was)
		exclusive_kept_by(was, index_drop, &x);
	if (is)
		exclusive_kept_by(is, index_add, &x);
}

static bool is_same_app(const struct holding *a, const char *uid)
{
	return a && uid && a->uid && str_eq(a->uid, uid);
}

/* What an app was makes room for what it is. */
static void take_place(struct holdings *h, struct holding *was, struct holding *is)
{
	index_app(h, was, is);
	if (is && is_same_app(was, is->uid))
		is->claimed = was->claimed;
}

static void put(struct holdings *h, struct map *to, const struct json *object, void *value)
{
	cleanup(freep) char *key = key_of_object(object);

	(void)pthread_mutex_lock(&h->lock);
	if (to == h->apps)
		take_place(h, map_get(h->apps, key), value);
	if (value)
		map_put(to, key, value);
	else
		map_del(to, key);
	if (value && to == h->apps)
		map_del(h->ghosts, key); /* made again under its name */
	(void)pthread_mutex_unlock(&h->lock);
}

void holdings_put_app(struct holdings *h, const struct json *object)
{
	struct json *copy = json_dup(object);
	cleanup_workerapp struct workerapp *app = NULL;
	struct err e = ERR_INIT;

	if (json_kind(copy) == JSON_OBJECT) {
		/* A list leaves out what is the same for all of its objects. */
		json_set_str(copy, "apiVersion", WORKERAPP_API);
		json_set_str(copy, "kind", "WorkerApp");
	}
	(void)workerapp_parse(copy, NULL, &app, &e);
	put(h, h->apps, object, app ? holding_of(app) : NULL);
}

void holdings_put_store(struct holdings *h, const struct json *object)
{
	put(h, h->stores, object, holding_store_of(object));
}

void holdings_remove_app(struct holdings *h, const struct json *object)
{
	put(h, h->apps, object, NULL);
}

void holdings_remove_store(struct holdings *h, const struct json *object)
{
	put(h, h->stores, object, NULL);
}

/* ---- asking; the lock is held ---------------------------------------------------------------- */

static const struct holding_store *store_of(const struct holdings *h, const struct holding *a)
{
	cleanup(freep) char *key = NULL;

	if (!a->store)
		return NULL;
	key = key_of(a->namespace, a->store);
	return map_get(h->stores, key);
}

struct question {
	const struct holdings *h;
	const struct holding *mine;
	const struct holding_store *my_store;
	bool older;
	struct faults *faults;
	struct strlist *keys;
};

static bool has_bucket(const struct faults *l)
{
	for (size_t i = 0; i < l->n; i++) {
		if (str_eq(l->v[i].rule, EXCLUSIVE_BUCKET))
			return true;
	}
	return false;
}

static void compare(const struct question *q, const struct holding *other)
{
	struct faults found = FAULTS_INIT;

	if ((str_eq(q->mine->namespace, other->namespace) && str_eq(q->mine->name, other->name)) ||
	    (q->older && !exclusive_is_older(other, q->mine)))
		return;
	exclusive_judge(q->mine, q->my_store, other, store_of(q->h, other),
			q->faults ? q->faults : &found);
	if (q->keys && has_bucket(&found)) {
		cleanup(freep) char *key = key_of(other->namespace, other->name);

		strlist_add(q->keys, key);
	}
	faults_done(&found);
}

struct near_app {
	const struct holding *app;
};

/* The apps that have a key in common with one. */
struct near {
	const struct multimap *index;
	struct near_app *v;
	size_t n;
};

static void add_near(uint64_t key, void *ctx)
{
	struct near *to = ctx;
	const struct multimap *m = to->index;

	for (size_t i = multimap_find(m, key); i < m->n && m->v[i].key == key; i++) {
		size_t k = 0;

		while (k < to->n && to->v[k].app != m->v[i].value)
			k++;
		if (k < to->n)
			continue;
		to->v = xrealloc(to->v, (to->n + 1) * sizeof(to->v[0]));
		to->v[to->n++].app = m->v[i].value;
	}
}

static void compare_apps(const struct question *q)
{
	struct near near = { .index = &q->h->index };

	exclusive_asked_by(q->mine, add_near, &near);
	for (size_t i = 0; i < near.n; i++)
		compare(q, near.v[i].app);
	free(near.v);
}

bool holdings_judge(struct holdings *h, const struct workerapp *app, bool older,
		    struct faults *faults)
{
	cleanup_holding struct holding *mine = holding_of(app);
	struct question q = { .h = h, .mine = mine, .older = older, .faults = faults };

	(void)pthread_mutex_lock(&h->lock);
	q.my_store = store_of(h, mine);
	compare_apps(&q);
	(void)pthread_mutex_unlock(&h->lock);
	return !mine->store || q.my_store;
}

void holdings_rivals(struct holdings *h, const char *key, struct strlist *ret)
{
	struct question q = { .h = h, .keys = ret };

	(void)pthread_mutex_lock(&h->lock);
	q.mine = map_get(h->apps, key);
	if (q.mine) {
		q.my_store = store_of(h, q.mine);
		compare_apps(&q);
	}
	(void)pthread_mutex_unlock(&h->lock);
}

void holdings_bury(struct holdings *h, const struct json *object)
{
	cleanup(freep) char *key = key_of_object(object);
	struct holding *gone;

	(void)pthread_mutex_lock(&h->lock);
	gone = map_take(h->apps, key);
	index_app(h, gone, NULL);
	if (gone)
		map_put(h->ghosts, key, gone);
	(void)pthread_mutex_unlock(&h->lock);
}

static void compare_ghost(const char *key, void *value, void *ctx)
{
	const struct question *q = ctx;
	const struct holding *ghost = value;
	struct faults found = FAULTS_INIT;

	exclusive_judge(q->mine, q->my_store, ghost, store_of(q->h, ghost), &found);
	if (has_bucket(&found))
		strlist_add(q->keys, key);
	faults_done(&found);
}

void holdings_ghosts(struct holdings *h, const struct workerapp *app, struct strlist *ret)
{
	cleanup_holding struct holding *mine = holding_of(app);
	struct question q = { .h = h, .mine = mine, .keys = ret };

	(void)pthread_mutex_lock(&h->lock);
	q.my_store = store_of(h, mine);
	map_each(h->ghosts, compare_ghost, &q);
	(void)pthread_mutex_unlock(&h->lock);
}

void holdings_let_go(struct holdings *h, const char *key)
{
	(void)pthread_mutex_lock(&h->lock);
	map_del(h->ghosts, key);
	(void)pthread_mutex_unlock(&h->lock);
}

static bool is_claimed(const struct holdings *h, const char *key)
{
	const struct holding *a = map_get(h->apps, key);

	return a && a->claimed;
}

bool holdings_claim(struct holdings *h, const struct workerapp *app, bool runs)
{
	cleanup_holding struct holding *mine = holding_of(app);
	cleanup(freep) char *key = key_of(app->namespace, app->name);
	struct strlist rivals = STRLIST_INIT;
	struct question q = { .h = h, .mine = mine, .keys = &rivals };
	struct holding *known;
	bool free_for_me = true;

	(void)pthread_mutex_lock(&h->lock);
	q.my_store = store_of(h, mine);
	if (!runs)
		compare_apps(&q);
	for (size_t i = 0; i < rivals.n; i++)
		free_for_me = free_for_me && !is_claimed(h, rivals.v[i]);
	known = map_get(h->apps, key);
	if (free_for_me && is_same_app(known, app->uid))
		known->claimed = true;
	(void)pthread_mutex_unlock(&h->lock);
	strlist_done(&rivals);
	return free_for_me;
}

bool holdings_unclaim(struct holdings *h, const struct workerapp *app)
{
	cleanup(freep) char *key = key_of(app->namespace, app->name);
	struct holding *known;
	bool had;

	(void)pthread_mutex_lock(&h->lock);
	known = map_get(h->apps, key);
	had = known && known->claimed;
	if (had)
		known->claimed = false;
	(void)pthread_mutex_unlock(&h->lock);
	return had;
}

struct users {
	const char *namespace, *store;
	bool only_rolling;
	struct strlist *keys;
};

static void add_user(const char *key, void *value, void *ctx)
{
	const struct users *u = ctx;
	const struct holding *a = value;

	if (a->store && str_eq(a->store, u->store) && str_eq(a->namespace, u->namespace) &&
	    !(u->only_rolling && a->recreate))
		strlist_add(u->keys, key);
}

void holdings_users(struct holdings *h, const char *namespace, const char *store, bool only_rolling,
		    struct strlist *ret)
{
	struct users u = { namespace, store, only_rolling, ret };

	(void)pthread_mutex_lock(&h->lock);
	map_each(h->apps, add_user, &u);
	(void)pthread_mutex_unlock(&h->lock);
}

bool holdings_app(struct holdings *h, const char *namespace, const char *name, bool *ret_fleet)
{
	cleanup(freep) char *key = key_of(namespace, name);
	const struct holding *a;

	(void)pthread_mutex_lock(&h->lock);
	a = map_get(h->apps, key);
	if (a && ret_fleet)
		*ret_fleet = a->fleet;
	(void)pthread_mutex_unlock(&h->lock);
	return a != NULL;
}
