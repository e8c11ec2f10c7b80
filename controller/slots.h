/*
 * slots.h - at most so many fleets in roll at once (--max-concurrent-rollouts). A fleet takes a slot before each
 * write of its roll that takes a pod down, and keeps it until rest, or until nothing goes on: while it is paused, its
 * spec is refused, or a member has not come back for ROLLOUT_PATIENCE_MS. A fleet that is stopped (Recreate) starts
 * again with or without one. After a start the slots are those of the fleets that the cluster shows in roll.
 */
#ifndef CONTROLLER_SLOTS_H
#define CONTROLLER_SLOTS_H

#include "controller/cache.h"
#include "controller/rollout.h"

struct slots;

/* limit 0: none. */
struct slots *slots_new(struct cache *cache, int64_t limit) must_use;
void slots_free(struct slots *s);
/* True: the fleet has a slot now, or had one. */
bool slots_take(struct slots *s, const char *key);
void slots_give(struct slots *s, const char *key);

/* How a write goes with the slot: it needs one, takes one even where none is left, or does not care. Pure. */
enum slots_need { SLOTS_NOT, SLOTS_ASK, SLOTS_FORCE };
enum slots_need slots_need(enum rollout_write w);
/* Takes one, over the limit if need be. */
void slots_force(struct slots *s, const char *key);
/* Whether the roll goes on, so that the fleet keeps its slot. Pure. */
bool slots_are_kept(const struct rollout_obs *o, const struct rollout_decision *d);

#endif
