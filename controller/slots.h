/*
 * slots.h - at most so many fleets in roll at once (--max-concurrent-rollouts). A fleet takes a slot before the first write of
 * its roll and gives it back at rest. After a start the slots are those of the fleets that the cluster shows in roll.
 */
#ifndef CONTROLLER_SLOTS_H
#define CONTROLLER_SLOTS_H

#include "controller/cache.h"

struct slots;

/* limit 0: none. */
struct slots *slots_new(struct cache *cache, int64_t limit) must_use;
void slots_free(struct slots *s);
/* True: the fleet has a slot now, or had one. */
bool slots_take(struct slots *s, const char *key);
void slots_give(struct slots *s, const char *key);

#endif
