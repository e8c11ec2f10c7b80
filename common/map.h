/*
 * map.h - a map of strings to pointers; the only user of uthash.
 */
#ifndef COMMON_MAP_H
#define COMMON_MAP_H

#include "common/base.h"

struct map;

/* free_value (may be NULL) ends a value that is replaced, deleted, or left at map_free. */
struct map *map_new(void (*free_value)(void *)) must_use;
void map_free(struct map *m);
define_cleanup(struct map *, map_free);
#define cleanup_map cleanup(map_free_cleanup)

void *map_get(const struct map *m, const char *key);	   /* NULL: not there */
void map_put(struct map *m, const char *key, void *value); /* copies key, takes value (not NULL) */
void map_del(struct map *m, const char *key);
void *map_take(struct map *m, const char *key); /* out of the map, to the caller */
size_t map_len(const struct map *m);
/* Calls f for each pair, in order of insertion; f must not change the map. */
void map_each(const struct map *m, void (*f)(const char *key, void *value, void *ctx), void *ctx);

#endif
