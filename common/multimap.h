/*
 * multimap.h - values by number, any number of them for each: a sorted array, sixteen bytes for a value.
 *
 * For looking up what hashes to the same number, often, in what changes seldom: to add or remove moves what is behind
 * it.
 */
#ifndef COMMON_MULTIMAP_H
#define COMMON_MULTIMAP_H

#include "common/base.h"

struct multimap_entry {
	uint64_t key;
	void *value; /* lent */
};

/* All zero at first. The entries of a key follow each other, the one that was added first ahead. */
struct multimap {
	struct multimap_entry *v;
	size_t n, room;
};

void multimap_done(struct multimap *m);
void multimap_add(struct multimap *m, uint64_t key, void *value);
/* Of several that are the same, the first; nothing when it is not there. */
void multimap_remove(struct multimap *m, uint64_t key, const void *value);
/* Puts another value in the place of one; nothing when it is not there. */
void multimap_replace(struct multimap *m, uint64_t key, const void *old, void *value);
/* Where the entries of a key begin, or would. */
size_t multimap_find(const struct multimap *m, uint64_t key);

#endif
