#include "controller/cache_impl.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/kube/client.h"
#include "common/kube/wire.h"
#include "common/map.h"
#include "common/squeeze.h"
#include "common/workerapp.h"

const struct kube_kind cache_kinds[CACHE_KINDS] = {
	[CACHE_APP] = WORKERAPP_KIND,
	[CACHE_STATEFULSET] = { "apps", "v1", "statefulsets", "StatefulSet", true },
	[CACHE_POD] = { "", "v1", "pods", "Pod", true },
	[CACHE_SERVICE] = { "", "v1", "services", "Service", true },
	[CACHE_SERVICE_ACCOUNT] = { "", "v1", "serviceaccounts", "ServiceAccount", true },
	[CACHE_PDB] = { "policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", true },
	[CACHE_NETWORK_POLICY] = { "networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy",
				   true },
	[CACHE_STORE] = OBJECT_STORE_KIND,
	[CACHE_HTTPROUTE] = { "gateway.networking.k8s.io", "v1", "httproutes", "HTTPRoute", true },
	[CACHE_INGRESS] = { "networking.k8s.io", "v1", "ingresses", "Ingress", true },
	[CACHE_VIRTUALSERVICE] = { "networking.istio.io", "v1", "virtualservices", "VirtualService",
				   true },
	[CACHE_AUTHORIZATION_POLICY] = { "security.istio.io", "v1", "authorizationpolicies",
					 "AuthorizationPolicy", true },
	[CACHE_SCALED_OBJECT] = { "keda.sh", "v1alpha1", "scaledobjects", "ScaledObject", true },
	[CACHE_HPA] = { "autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler",
			true },
};

const char *entry_uid(const struct entry *x)
{
	return x->bytes + x->names;
}

const char *entry_version(const struct entry *x)
{
	const char *uid = entry_uid(x);

	return uid + strlen(uid) + 1;
}

const struct squeezed *entry_body(const struct entry *x)
{
	return x->body ? (const void *)(x->bytes + x->body) : NULL;
}

const union entry_brief *entry_brief(const struct entry *x)
{
	return (const void *)x->bytes;
}

static void free_pod_set(void *p)
{
	struct pod_set *s = p;

	map_free(s->by_name);
	free(s);
}

struct cache *cache_new(void)
{
	struct cache *c = xcalloc(1, sizeof(*c));

	(void)pthread_mutex_init(&c->lock, NULL);
	for (int k = 0; k < CACHE_KINDS; k++)
		c->objects[k] = map_new(k == CACHE_POD ? free_pod_set : free);
	return c;
}

void cache_free(struct cache *c)
{
	if (!c)
		return;
	for (int k = 0; k < CACHE_KINDS; k++)
		map_free(c->objects[k]);
	for (int k = 0; k < CACHE_KINDS; k++) {
		for (int m = 0; m < CACHE_MODELS; m++)
			free((char *)(uintptr_t)c->models[k][m].bytes);
	}
	(void)pthread_mutex_destroy(&c->lock);
	free(c);
}

bool cache_newer(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b);

	return n != m ? n > m : strcmp(a, b) > 0;
}

bool cache_join(char *to, size_t room, const char *ns, const char *name)
{
	int n;

	if (!ns || !name)
		return false;
	n = snprintf(to, room, "%s/%s", ns, name);
	return n > 0 && (size_t)n < room;
}

/* Of the StatefulSet "<app>-celld" that an autoscaler scales. */
static bool key_of_scaler(const struct json *object, char *key, size_t room)
{
	const struct json *target = json_path(object, "spec", "scaleTargetRef", NULL);
	const char *kind = json_get_str(target, "kind"), *name = json_get_str(target, "name");
	cleanup(freep) char *app = NULL;

	if (!kind || !name || !str_eq(kind, "StatefulSet") || !str_ends(name, "-celld"))
		return false;
	app = xstrndup(name, strlen(name) - strlen("-celld"));
	return cache_join(key, room, json_get_str(json_get(object, "metadata"), "namespace"), app);
}

bool cache_key_of(enum cache_kind kind, const struct json *object, char *key, size_t room)
{
	const struct json *meta = json_get(object, "metadata");
	const char *app = kind == CACHE_APP
				  ? json_get_str(meta, "name")
				  : json_get_str(json_get(meta, "labels"), WORKERAPP_LABEL);

	if (kind == CACHE_STORE) {
		key[0] = '@';
		return cache_join(key + 1, room - 1, json_get_str(meta, "namespace"),
				  json_get_str(meta, "name"));
	}
	if (kind == CACHE_HPA)
		return key_of_scaler(object, key, room);
	return cache_join(key, room, json_get_str(meta, "namespace"), app);
}

/*
 * managedFields entries of others are most of an object and never read. uid and resourceVersion are an entry's own,
 * and a uid is what least shrinks.
 */
static char *compact(enum cache_kind kind, const struct json *object)
{
	cleanup_json struct json *copy = json_dup(object);
	struct json *meta = json_get_mutable(copy, "metadata");
	cleanup_json struct json *all = json_take(meta, "managedFields");

	json_del(meta, "uid");
	json_del(meta, "resourceVersion");

	for (const struct json *m = json_first(all); m && kind != CACHE_APP; m = json_next(m)) {
		const char *who = json_get_str(m, "manager");

		if (who && str_starts(who, "celld-operator"))
			json_add(json_array_at(meta, "managedFields"), json_dup(m));
	}
	/* the items of a list do not say what they are */
	if (!json_get(copy, "kind")) {
		cleanup(freep) char *version = wire_api_version(&cache_kinds[kind]);

		json_set_str(copy, "apiVersion", version);
		json_set_str(copy, "kind", cache_kinds[kind].kind);
	}
	return json_text(copy);
}

static bool has_brief(enum cache_kind kind)
{
	return kind == CACHE_APP || kind == CACHE_STATEFULSET;
}

static union entry_brief read_brief(enum cache_kind kind, const struct json *object)
{
	const char *phase = json_get_str(json_get(object, "status"), "phase");
	union entry_brief brief = { .app = { .phase = "" } };
	struct fleet_sts sts;

	if (kind == CACHE_APP) {
		(void)snprintf(brief.app.phase, sizeof(brief.app.phase), "%s", phase ? phase : "");
		brief.app.deleting = json_get(json_get(object, "metadata"), "deletionTimestamp");
	}
	if (kind == CACHE_STATEFULSET) {
		fleet_read_sts(object, &sts);
		brief.size.replicas = sts.replicas;
		brief.size.partition = sts.partition;
	}
	return brief;
}

/* Another model; when there is no room for one, the last there is. Its number. */
static unsigned char add_model(struct cache *c, enum cache_kind kind, const void *bytes, size_t len)
{
	unsigned char m = 0;

	(void)pthread_mutex_lock(&c->lock);
	while (m < CACHE_MODELS - 1 && c->models[kind][m].bytes)
		m++;
	if (!c->models[kind][m].bytes) {
		char *copy = xmalloc(len);

		memcpy(copy, bytes, len);
		c->models[kind][m] = (struct squeeze_model){ len, copy };
	}
	(void)pthread_mutex_unlock(&c->lock);
	return m;
}

/* More cannot be asked of names, times and numbers. */
static bool is_alike(const struct squeezed *s)
{
	return s && (s->size <= s->len / 16 || s->size <= 160);
}

/* The caller's. */
static struct squeezed *squeeze_body(struct cache *c, enum cache_kind kind, const void *bytes,
				     size_t len, unsigned char *ret_model)
{
	struct squeeze_model models[CACHE_MODELS];
	struct squeezed *best = NULL;

	(void)pthread_mutex_lock(&c->lock);
	memcpy(models, c->models[kind], sizeof(models));
	(void)pthread_mutex_unlock(&c->lock);
	for (int m = CACHE_MODELS - 1; m >= 0 && !is_alike(best); m--) {
		struct squeezed *s = models[m].bytes ? squeeze(models[m], bytes, len) : NULL;

		if (s && (!best || s->size < best->size)) {
			free(best);
			best = s;
			*ret_model = (unsigned char)m;
		} else {
			free(s);
		}
	}
	if (is_alike(best) || (best && models[CACHE_MODELS - 1].bytes))
		return best;
	free(best);
	*ret_model = add_model(c, kind, bytes, len);
	return squeeze(c->models[kind][*ret_model], bytes, len);
}

/* NULL: a pod that is no member of a fleet. */
static struct squeezed *make_body(struct cache *c, enum cache_kind kind, const struct json *object,
				  unsigned char *ret_model)
{
	if (kind == CACHE_POD) {
		cleanup(freep) struct fleet_pod *pod = xcalloc(1, sizeof(*pod));

		return fleet_read_pod(object, pod)
			       ? squeeze_body(c, kind, pod, sizeof(*pod), ret_model)
			       : NULL;
	}
	cleanup(freep) char *text = compact(kind, object);

	return squeeze_body(c, kind, text, strlen(text), ret_model);
}

static struct entry *make_entry(struct cache *c, enum cache_kind kind, const struct json *object)
{
	const struct json *meta = json_get(object, "metadata");
	const char *uid = json_get_str(meta, "uid");
	const char *version = json_get_str(meta, "resourceVersion");
	union entry_brief brief = read_brief(kind, object);
	size_t names = has_brief(kind) ? sizeof(brief) : 0;
	size_t n = uid ? strlen(uid) + 1 : 1, m = version ? strlen(version) + 1 : 1;
	size_t at = (names + n + m + sizeof(unsigned) - 1) / sizeof(unsigned) * sizeof(unsigned);
	unsigned char model = 0;
	cleanup(freep) struct squeezed *body = make_body(c, kind, object, &model);
	size_t size = body ? sizeof(*body) + body->size : 0;
	struct entry *x = xcalloc(1, sizeof(*x) + at + size);

	x->names = (unsigned)names;
	x->model = model;
	memcpy(x->bytes, &brief, names);
	memcpy(x->bytes + names, uid ? uid : "", n);
	memcpy(x->bytes + names + n, version ? version : "", m);
	if (body) {
		x->body = (unsigned)at;
		memcpy(x->bytes + at, body, size);
	}
	return x;
}

/* Where an object lives: its map and its name in it. For pods the map of its app, made on demand. */
static struct map *place(struct cache *c, enum cache_kind kind, const struct json *object,
			 char *name, size_t room)
{
	const struct json *meta = json_get(object, "metadata");
	char key[512];
	struct pod_set *set;

	if (kind != CACHE_POD)
		return cache_join(name, room, json_get_str(meta, "namespace"),
				  json_get_str(meta, "name"))
			       ? c->objects[kind]
			       : NULL;
	if (!cache_key_of(kind, object, key, sizeof(key)) || !json_get_str(meta, "name"))
		return NULL;
	(void)snprintf(name, room, "%s", json_get_str(meta, "name"));
	set = map_get(c->objects[CACHE_POD], key);
	if (!set) {
		set = xcalloc(1, sizeof(*set));
		set->by_name = map_new(free);
		map_put(c->objects[CACHE_POD], key, set);
	}
	return set->by_name;
}

/* Of a past that the server has lost: it was there before the list began, the list has another, and is not older. */
static bool is_lost(const struct entry *x, const char *list_version)
{
	return x->unlisted && (!list_version || !cache_newer(entry_version(x), list_version));
}

/* Of that version, against what is there; listed: it is of a list, of that version. */
static bool is_news(const struct entry *old, const char *version, bool listed,
		    const char *list_version)
{
	return !old || cache_newer(version, entry_version(old)) ||
	       (listed && !str_eq(version, entry_version(old)) && is_lost(old, list_version));
}

/* An echo of what is there costs no more than a look. */
static bool is_echo(struct cache *c, enum cache_kind kind, const struct json *object, bool listed,
		    const char *list_version)
{
	const char *version = json_str(json_path(object, "metadata", "resourceVersion", NULL));
	const struct map *m;
	struct entry *old;
	char name[512];
	bool echo;

	(void)pthread_mutex_lock(&c->lock);
	m = place(c, kind, object, name, sizeof(name));
	old = m ? map_get(m, name) : NULL;
	echo = !m || !is_news(old, version ? version : "", listed, list_version);
	if (listed && old && echo)
		old->unlisted = false;
	(void)pthread_mutex_unlock(&c->lock);
	return echo;
}

enum source { EVENT, ANSWER, LISTED };

/* LISTED: of a list of that version. */
static bool put(struct cache *c, enum cache_kind kind, const struct json *object,
		enum source source, const char *list_version)
{
	bool listed = source == LISTED;
	struct entry *x, *old;
	char name[512];
	struct map *m;
	bool newer;

	if (is_echo(c, kind, object, listed, list_version))
		return false;
	x = make_entry(c, kind, object);
	(void)pthread_mutex_lock(&c->lock);
	m = place(c, kind, object, name, sizeof(name));
	old = m ? map_get(m, name) : NULL;
	newer = m && is_news(old, entry_version(x), listed, list_version) &&
		!(source == ANSWER && !old && graves_has(&c->graves, object));
	if (listed && old)
		old->unlisted = false;
	if (newer) {
		c->pods += kind == CACHE_POD && !old;
		map_put(m, name, x);
	}
	(void)pthread_mutex_unlock(&c->lock);
	if (!newer)
		free(x);
	return newer;
}

bool cache_put(struct cache *c, enum cache_kind kind, const struct json *object)
{
	return put(c, kind, object, EVENT, NULL);
}

bool cache_put_answer(struct cache *c, enum cache_kind kind, const struct json *object)
{
	return put(c, kind, object, ANSWER, NULL);
}

/* --- lists ---------------------------------------------------------------------------------------- */

/* Walks over the entries of a kind in a namespace. */
struct list_walk {
	const struct cache *c;
	const char *ns; /* NULL: all */
	const char *version;
	enum cache_kind kind;
	struct strlist names, keys; /* of the map, and of the apps */
	size_t pods;		    /* that went */
};

static bool in_namespace(const char *name, const char *ns)
{
	size_t n = ns ? strlen(ns) : 0;

	return !ns || (!strncmp(name, ns, n) && name[n] == '/');
}

static void mark_pod(const char *name, void *value, void *ctx)
{
	struct entry *x = value;

	(void)name;
	(void)ctx;
	x->unlisted = true;
}

static void mark(const char *name, void *value, void *ctx)
{
	const struct list_walk *w = ctx;
	struct pod_set *set = value;

	if (!in_namespace(name, w->ns))
		return;
	if (w->kind == CACHE_POD)
		map_each(set->by_name, mark_pod, ctx);
	else
		mark_pod(name, value, ctx);
}

void cache_list_begin(struct cache *c, enum cache_kind kind, const char *ns)
{
	struct list_walk w = { .c = c, .ns = ns, .kind = kind };

	(void)pthread_mutex_lock(&c->lock);
	map_each(c->objects[kind], mark, &w);
	(void)pthread_mutex_unlock(&c->lock);
}

bool cache_listed(struct cache *c, enum cache_kind kind, const struct json *object,
		  const char *version)
{
	return put(c, kind, object, LISTED, version);
}

static void collect_lost_pod(const char *name, void *value, void *ctx)
{
	struct list_walk *w = ctx;

	if (is_lost(value, w->version))
		strlist_add(&w->names, name);
}

static void collect_pod_set(const char *key, void *value, void *ctx)
{
	struct list_walk *w = ctx;
	struct pod_set *set = value;

	if (!in_namespace(key, w->ns))
		return;
	map_each(set->by_name, collect_lost_pod, w);
	if (w->names.n)
		strlist_add(&w->keys, key);
	for (size_t i = 0; i < w->names.n; i++)
		map_del(set->by_name, w->names.v[i]);
	w->pods += w->names.n;
	strlist_done(&w->names);
}

static void collect_lost(const char *name, void *value, void *ctx)
{
	struct list_walk *w = ctx;
	const struct entry *x = value;
	cleanup_json struct json *object = NULL;
	char key[512];

	if (!in_namespace(name, w->ns) || !is_lost(x, w->version))
		return;
	strlist_add(&w->names, name);
	object = cache_read_entry(w->c, w->kind, x);
	if (object && cache_key_of(w->kind, object, key, sizeof(key)))
		strlist_add(&w->keys, key);
}

void cache_list_end(struct cache *c, enum cache_kind kind, const char *ns, const char *version,
		    struct strlist *ret_keys)
{
	struct list_walk w = { .c = c, .ns = ns, .version = version, .kind = kind };

	(void)pthread_mutex_lock(&c->lock);
	map_each(c->objects[kind], kind == CACHE_POD ? collect_pod_set : collect_lost, &w);
	for (size_t i = 0; i < w.names.n; i++)
		map_del(c->objects[kind], w.names.v[i]);
	c->pods -= w.pods;
	(void)pthread_mutex_unlock(&c->lock);
	for (size_t i = 0; i < w.keys.n; i++)
		strlist_add_once(ret_keys, w.keys.v[i]);
	strlist_done(&w.names);
	strlist_done(&w.keys);
}

/* --- deletions ------------------------------------------------------------------------------------ */

void cache_remove(struct cache *c, enum cache_kind kind, const struct json *object)
{
	const char *uid = json_get_str(json_get(object, "metadata"), "uid");
	char name[512];
	struct map *m;
	const struct entry *old;

	(void)pthread_mutex_lock(&c->lock);
	m = place(c, kind, object, name, sizeof(name));
	old = m ? map_get(m, name) : NULL;
	if (kind != CACHE_POD) /* of which we write none */
		graves_add(&c->graves, object);
	if (old && (!uid || str_eq(uid, entry_uid(old)))) {
		map_del(m, name);
		c->pods -= kind == CACHE_POD;
	}
	if (kind == CACHE_POD && m && map_len(m) == 0) {
		char key[512];

		if (cache_key_of(kind, object, key, sizeof(key)))
			map_del(c->objects[CACHE_POD], key);
	}
	(void)pthread_mutex_unlock(&c->lock);
}

/*
 * The pod set that holds a pod of that name in ns; its app's key. Missed deletions are rare: looking through all will
 * do.
 */
struct pod_search {
	const char *ns, *name;
	const char *key; /* found */
};

static void look_in_set(const char *key, void *value, void *ctx)
{
	const struct pod_set *set = value;
	struct pod_search *s = ctx;
	size_t n = strlen(s->ns);

	if (!s->key && !strncmp(key, s->ns, n) && key[n] == '/' && map_get(set->by_name, s->name))
		s->key = key;
}

/* The app of an object that is known by name alone; under the lock. */
static bool key_by_name(struct cache *c, enum cache_kind kind, const char *ns, const char *name,
			char *key, size_t room)
{
	struct pod_search s = { .ns = ns, .name = name };
	cleanup_json struct json *object = NULL;
	const struct entry *x;
	char place[512];

	if (kind == CACHE_POD) {
		map_each(c->objects[CACHE_POD], look_in_set, &s);
		return s.key && snprintf(key, room, "%s", s.key) < (int)room;
	}
	if (!cache_join(place, sizeof(place), ns, name))
		return false;
	x = map_get(c->objects[kind], place);
	object = x ? cache_read_entry(c, kind, x) : NULL;
	return object && cache_key_of(kind, object, key, room);
}

bool cache_gone(struct cache *c, enum cache_kind kind, const struct json *object, char *key,
		size_t room)
{
	cleanup_json struct json *labelled = NULL;
	const struct json *meta = json_get(object, "metadata");
	const char *ns = json_get_str(meta, "namespace"), *name = json_get_str(meta, "name");
	bool known;

	if (cache_key_of(kind, object, key, room)) {
		cache_remove(c, kind, object);
		return true;
	}
	if (!ns || !name)
		return false;
	(void)pthread_mutex_lock(&c->lock);
	known = key_by_name(c, kind, ns, name, key, room);
	(void)pthread_mutex_unlock(&c->lock);
	if (!known)
		return false;
	labelled = json_dup(object);
	json_set_str(json_object_at(json_get_mutable(labelled, "metadata"), "labels"),
		     WORKERAPP_LABEL, strchr(key, '/') + 1);
	cache_remove(c, kind, labelled);
	return true;
}

void cache_clear(struct cache *c, enum cache_kind kind)
{
	(void)pthread_mutex_lock(&c->lock);
	map_free(c->objects[kind]);
	c->objects[kind] = map_new(free);
	(void)pthread_mutex_unlock(&c->lock);
}
