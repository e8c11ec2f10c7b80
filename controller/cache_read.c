#include "controller/cache_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* text is taken. */
static struct json *read_text(char *text, const char *uid, const char *version)
{
	cleanup(freep) char *body = text;
	struct json *j = NULL, *meta;
	struct err ignored = ERR_INIT;

	if (json_parse(body, strlen(body), &j, &ignored))
		return NULL;
	meta = json_get_mutable(j, "metadata");
	json_set_str(meta, "uid", uid);
	json_set_str(meta, "resourceVersion", version);
	return j;
}

struct json *cache_read_entry(const struct cache *c, enum cache_kind kind, const struct entry *x)
{
	return read_text(unsqueeze(c->models[kind][x->model], entry_body(x)), entry_uid(x),
			 entry_version(x));
}

bool cache_brief(struct cache *c, const char *key, struct cache_brief *ret)
{
	cleanup(freep) char *sts_key = xasprintf("%s-celld", key);
	const struct entry *app, *sts;

	*ret = (struct cache_brief){ .replicas = 0 };
	(void)pthread_mutex_lock(&c->lock);
	app = map_get(c->objects[CACHE_APP], key);
	sts = map_get(c->objects[CACHE_STATEFULSET], sts_key);
	if (app) {
		memcpy(ret->phase, entry_brief(app)->app.phase, sizeof(ret->phase));
		ret->deleting = entry_brief(app)->app.deleting;
	}
	if (app && sts) {
		(void)snprintf(ret->sts_uid, sizeof(ret->sts_uid), "%s", entry_uid(sts));
		ret->replicas = entry_brief(sts)->size.replicas;
		ret->partition = entry_brief(sts)->size.partition;
	}
	(void)pthread_mutex_unlock(&c->lock);
	return app != NULL;
}

struct json *cache_get(struct cache *c, enum cache_kind kind, const char *ns, const char *name)
{
	char key[512];
	cleanup(freep) char *uid = NULL, *version = NULL;
	char *text = NULL;

	if (!cache_join(key, sizeof(key), ns, name))
		return NULL;
	(void)pthread_mutex_lock(&c->lock);
	{
		const struct entry *x = map_get(c->objects[kind], key);

		if (x) {
			text = unsqueeze(c->models[kind][x->model], entry_body(x));
			uid = xstrdup(entry_uid(x));
			version = xstrdup(entry_version(x));
		}
	}
	(void)pthread_mutex_unlock(&c->lock);
	return text ? read_text(text, uid, version) : NULL;
}

struct listing {
	const struct cache *c;
	enum cache_kind kind;
	const char *ns;
	struct json *to;
};

static void add_object(const char *name, void *value, void *ctx)
{
	const struct entry *x = value;
	const struct listing *l = ctx;
	size_t n = strlen(l->ns);
	struct json *j;

	if (!str_starts(name, l->ns) || name[n] != '/')
		return;
	j = cache_read_entry(l->c, l->kind, x);
	if (j)
		json_add(l->to, j);
}

struct json *cache_list(struct cache *c, enum cache_kind kind, const char *ns)
{
	struct listing l = { .c = c, .kind = kind, .ns = ns, .to = json_new_array() };

	(void)pthread_mutex_lock(&c->lock);
	map_each(c->objects[kind], add_object, &l);
	(void)pthread_mutex_unlock(&c->lock);
	return l.to;
}

struct collect {
	const struct squeeze_model *models;
	struct fleet_pod *v;
	size_t n;
};

static void add_pod(const char *name, void *value, void *ctx)
{
	const struct entry *x = value;
	struct collect *all = ctx;

	(void)name;
	if (entry_body(x)) {
		cleanup(freep) char *bytes = unsqueeze(all->models[x->model], entry_body(x));

		memcpy(&all->v[all->n++], bytes, sizeof(all->v[0]));
	}
}

struct fleet_pod *cache_pods(struct cache *c, const char *key, size_t *ret_n)
{
	struct collect all = { .v = NULL, .n = 0 };

	(void)pthread_mutex_lock(&c->lock);
	all.models = c->models[CACHE_POD];
	{
		const struct pod_set *set = map_get(c->objects[CACHE_POD], key);
		size_t n = set ? map_len(set->by_name) : 0;

		all.v = xcalloc(n, sizeof(*all.v));
		if (set)
			map_each(set->by_name, add_pod, &all);
	}
	(void)pthread_mutex_unlock(&c->lock);
	*ret_n = all.n;
	return all.v;
}

static void add_name(const char *name, void *value, void *ctx)
{
	(void)value;
	strlist_add(ctx, name);
}

void cache_names(struct cache *c, enum cache_kind kind, struct strlist *ret)
{
	(void)pthread_mutex_lock(&c->lock);
	map_each(c->objects[kind], add_name, ret);
	(void)pthread_mutex_unlock(&c->lock);
}

void cache_apps(struct cache *c, struct strlist *ret)
{
	cache_names(c, CACHE_APP, ret);
}

size_t cache_count(struct cache *c, enum cache_kind kind)
{
	size_t n;

	(void)pthread_mutex_lock(&c->lock);
	n = kind == CACHE_POD ? c->pods : map_len(c->objects[kind]);
	(void)pthread_mutex_unlock(&c->lock);
	return n;
}
