#include "common/kube/seen.h"

#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/map.h"
#include "common/strlist.h"

struct entry {
	uint64_t round;
	const char *version; /* in text, behind the uid */
	char text[];	     /* uid NUL version NUL */
};

struct seen {
	struct map *map; /* "namespace/name" to struct entry */
	uint64_t round;
};

struct seen *seen_new(void)
{
	struct seen *s = xcalloc(1, sizeof(*s));

	s->map = map_new(free);
	return s;
}

void seen_free(struct seen *s)
{
	if (!s)
		return;
	map_free(s->map);
	free(s);
}

size_t seen_len(const struct seen *s)
{
	return map_len(s->map);
}

static const char *meta(const struct json *object, const char *name)
{
	const char *s = json_get_str(json_get(object, "metadata"), name);

	return s ? s : "";
}

static char *key_of(const struct json *object)
{
	const char *name = meta(object, "name");

	return *name ? xasprintf("%s/%s", meta(object, "namespace"), name) : NULL;
}

static struct entry *entry_new(const char *uid, const char *version, uint64_t round)
{
	size_t n = strlen(uid) + 1, m = strlen(version) + 1;
	struct entry *en = xmalloc(sizeof(*en) + n + m);

	en->round = round;
	memcpy(en->text, uid, n);
	memcpy(en->text + n, version, m);
	en->version = en->text + n;
	return en;
}

/* What is left of an object that is not there any more. */
static struct json *remains(const char *key, const struct entry *en)
{
	const char *slash = strchr(key, '/');
	cleanup(freep) char *ns = xstrndup(key, (size_t)(slash - key));
	struct json *object = json_new_object(), *m = json_object_at(object, "metadata");

	json_set_str(m, "namespace", ns);
	json_set_str(m, "name", slash + 1);
	json_set_str(m, "uid", en->text);
	json_set_str(m, "resourceVersion", en->version);
	return object;
}

bool seen_is_valid(const struct json *object)
{
	return *meta(object, "name") && *meta(object, "resourceVersion");
}

enum seen_change seen_put(struct seen *s, const struct json *object, struct json **ret_old)
{
	cleanup(freep) char *key = key_of(object);
	const char *uid = meta(object, "uid"), *version = meta(object, "resourceVersion");
	enum seen_change change = SEEN_NEW;
	struct entry *known;

	if (!seen_is_valid(object))
		return SEEN_INVALID;
	known = map_get(s->map, key);
	if (known && !str_eq(known->text, uid)) {
		*ret_old = remains(key, known);
		change = SEEN_REPLACED;
	} else if (known && str_eq(known->version, version)) {
		known->round = s->round;
		return SEEN_SAME;
	} else if (known) {
		change = SEEN_CHANGED;
	}
	map_put(s->map, key, entry_new(uid, version, s->round));
	return change;
}

bool seen_del(struct seen *s, const struct json *object)
{
	cleanup(freep) char *key = key_of(object);

	if (!key || !map_get(s->map, key))
		return false;
	map_del(s->map, key);
	return true;
}

void seen_begin(struct seen *s)
{
	s->round++;
}

struct missing {
	uint64_t round;
	struct strlist keys;
};

static void collect(const char *key, void *value, void *ctx)
{
	const struct entry *en = value;
	struct missing *m = ctx;

	if (en->round != m->round)
		strlist_add(&m->keys, key);
}

void seen_missing(struct seen *s, void (*f)(void *ctx, struct json *object), void *ctx)
{
	struct missing m = { .round = s->round };

	map_each(s->map, collect, &m);
	for (size_t i = 0; i < m.keys.n; i++) {
		cleanup(freep) struct entry *en = map_take(s->map, m.keys.v[i]);
		cleanup_json struct json *object = remains(m.keys.v[i], en);

		f(ctx, object);
	}
	strlist_done(&m.keys);
}

static bool is_number(const char *s)
{
	return *s >= '1' && *s <= '9' && s[strspn(s, "0123456789")] == '\0';
}

bool seen_version_less(const char *a, const char *b)
{
	size_t n, m;

	if (!a || !b || !is_number(a) || !is_number(b))
		return false;
	n = strlen(a);
	m = strlen(b);
	return n != m ? n < m : strcmp(a, b) < 0;
}
