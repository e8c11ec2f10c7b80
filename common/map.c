#include "common/map.h"

#include <stdlib.h>
#include <string.h>

/* uthash's own hash falls through in its switch, marked for gcc by a comment alone. */
#pragma GCC diagnostic ignored "-Wimplicit-fallthrough"
#define uthash_fatal(text) abort()
#include <uthash.h>

struct entry {
	void *value;
	UT_hash_handle hh;
	char key[];
};

struct map {
	struct entry *head;
	void (*free_value)(void *);
};

struct map *map_new(void (*free_value)(void *))
{
	struct map *m = xcalloc(1, sizeof(*m));

	m->free_value = free_value;
	return m;
}

static void end_entry(struct map *m, struct entry *x)
{
	if (m->free_value)
		m->free_value(x->value);
	free(x);
}

void map_free(struct map *m)
{
	struct entry *x, *next;

	if (!m)
		return;
	HASH_ITER(hh, m->head, x, next)
	{
		HASH_DEL(m->head, x); /* NOLINT(clang-analyzer-unix.Malloc): macros mislead it */
		end_entry(m, x);
	}
	free(m);
}

static struct entry *find(const struct map *m, const char *key)
{
	struct entry *x = NULL;

	if (m)
		HASH_FIND_STR(m->head, key, x);
	return x;
}

void *map_get(const struct map *m, const char *key)
{
	const struct entry *x = find(m, key);

	return x ? x->value : NULL;
}

void map_put(struct map *m, const char *key, void *value)
{
	struct entry *x = find(m, key);
	size_t n;

	if (x) {
		if (m->free_value && x->value != value)
			m->free_value(x->value);
		x->value = value;
		return;
	}
	n = strlen(key);
	x = xcalloc(1, sizeof(*x) + n + 1);
	memcpy(x->key, key, n + 1);
	x->value = value;
	HASH_ADD_KEYPTR(hh, m->head, x->key, n, x);
}

void *map_take(struct map *m, const char *key)
{
	struct entry *x = find(m, key);
	void *value;

	if (!x)
		return NULL;
	value = x->value;
	HASH_DEL(m->head, x);
	free(x);
	return value;
}

void map_del(struct map *m, const char *key)
{
	void *value = map_take(m, key);

	if (value && m->free_value)
		m->free_value(value);
}

size_t map_len(const struct map *m)
{
	return m ? HASH_COUNT(m->head) : 0;
}

void map_each(const struct map *m, void (*f)(const char *key, void *value, void *ctx), void *ctx)
{
	if (!m)
		return;
	for (struct entry *x = m->head; x; x = x->hh.next)
		f(x->key, x->value, ctx);
}
