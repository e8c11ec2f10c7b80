/*
 * world.h - the model with a witness beside it, who remembers which pods are down because of us: taken down by the
 * StatefulSet controller at an ordinal that we have released, or by our scale-in. Every way to move a world is here,
 * so that nothing happens unseen. A broken promise fails the running test.
 */
#ifndef TEST_ROLLOUT_WORLD_H
#define TEST_ROLLOUT_WORLD_H

#include "test/rollout/model.h"
#include "test/rollout/promises.h"

struct world {
	struct model m;
	bool ours[MODEL_PODS]; /* down because of us, and not yet Ready again */
	int leaving;	       /* the ordinal that our last scale-in gives up; -1: none */
	int released_down; /* the ordinal that was not Ready when we last released it or gave it up; -1: none */
	bool pure; /* it began without a mix of revisions that may not run together */
};

/* maxUnavailable of the worlds that begin from now on; 0: their StatefulSet controller does not count. */
extern int world_budget;

/* A fleet of n that has run revision 0 for long. */
void world_begin(struct world *w, int n);
/* One action of the StatefulSet controller; false: it has nothing to do. */
bool world_controller(struct world *w);
/* rollout_decide on what is there now, against the promises too when there is a tally; then its write. */
void world_turn(struct world *w, struct promises_tally *tally);
void world_decide(const struct world *w, struct rollout_decision *ret);
/* `seen` is what was decided on. */
void world_write(struct world *w, const struct rollout_decision *d, const struct model *seen);

/* What the world does by itself; false: not possible here. */
bool world_pod_ready(struct world *w, int i);
bool world_pod_unready(struct world *w, int i);
bool world_pod_gone(struct world *w, int i);	/* has ended */
bool world_pod_deleted(struct world *w, int i); /* by hand */
bool world_pod_loops(struct world *w, int i);
bool world_sweep(struct world *w);
/* Time goes on to the next limit; not that of patience while a pod that is down because of us is on its way. */
bool world_time(struct world *w);
/* Our process is started anew. */
bool world_restart(struct world *w);

/* One round: a turn, then the controller and the world until they are done. False: at the goal. */
bool world_heal_round(struct world *w);
/* The same in the smallest steps: a turn, one action of the controller, one of the world. */
bool world_heal_slowly(struct world *w);
void world_print(const struct world *w);
/* When set, called before a failure is reported: to tell how it came about. */
extern void (*world_how)(void);

/* A world with up to 4 ordinals and 4 revisions in 64 bits; without what never changes (broken, apart, pure)
 * and without what pods answer, which here is what their readiness is. */
uint64_t world_pack(const struct world *w);
/* Into a world whose unchanging part is set. */
void world_unpack(uint64_t from, struct world *w);

/* A set of packed worlds. */
struct world_set {
	uint64_t *slots;
	size_t n, size; /* size: a power of two, never more than half full */
};
void world_set_init(struct world_set *s, size_t size);
void world_set_done(struct world_set *s);
bool world_set_has(const struct world_set *s, uint64_t key);
/* False: it was there already, or the set is full. */
bool world_set_add(struct world_set *s, uint64_t key);
bool world_set_full(const struct world_set *s);

#endif
