#include "common/multimap.h"

#include <stdlib.h>
#include <string.h>

void multimap_done(struct multimap *m)
{
	free(m->v);
	*m = (struct multimap){ .n = 0 };
}

/* The first entry with this key or a larger one. */
size_t multimap_find(const struct multimap *m, uint64_t key)
{
	size_t from = 0, to = m->n;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (m->v[middle].key < key)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

void multimap_add(struct multimap *m, uint64_t key, void *value)
{
	size_t at = multimap_find(m, key);

	while (at < m->n && m->v[at].key == key)
		at++;
	if (m->n == m->room) {
		m->room += m->room / 2 + 16;
		m->v = xrealloc(m->v, m->room * sizeof(m->v[0]));
	}
	memmove(m->v + at + 1, m->v + at, (m->n - at) * sizeof(m->v[0]));
	m->v[at] = (struct multimap_entry){ key, value };
	m->n++;
}

/* The entry; m->n: there is none. */
static size_t place_of(const struct multimap *m, uint64_t key, const void *value)
{
	size_t at = multimap_find(m, key);

	while (at < m->n && m->v[at].key == key && m->v[at].value != value)
		at++;
	return at < m->n && m->v[at].key == key ? at : m->n;
}

void multimap_remove(struct multimap *m, uint64_t key, const void *value)
{
	size_t at = place_of(m, key, value);

	if (at == m->n)
		return;
	m->n--;
	memmove(m->v + at, m->v + at + 1, (m->n - at) * sizeof(m->v[0]));
}

void multimap_replace(struct multimap *m, uint64_t key, const void *old, void *value)
{
	size_t at = place_of(m, key, old);

	if (at < m->n)
		m->v[at].value = value;
}
