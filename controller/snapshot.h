/*
 * snapshot.h - what sweeps have learned, one immutable snapshot per fleet and sweep.
 *
 * Whoever asks (the rollout's gate, the status, /metrics) gets a reference and reads without a lock; a later sweep puts
 * another snapshot in its place and changes nothing in this one. So the answers of one snapshot are always of one
 * sweep.
 */
#ifndef CONTROLLER_SNAPSHOT_H
#define CONTROLLER_SNAPSHOT_H

#include "common/celld/state.h"
#include "common/strlist.h"
#include "controller/observe.h"

struct snapshot_pod {
	char name[FLEET_NAME], uid[FLEET_UID];
	int64_t max_cells; /* its own limit of resident cells; 0: not known */
	int64_t asked_ms; /* monotonic, begin of the sweep in which its turn came last; 0: in none yet */
	struct pod_state state;	  /* for the gate and the status */
	struct celld_state celld; /* for the metrics; valid as state.valid */
};

struct snapshot {
	int refs;	    /* of the store's lock */
	int64_t begun_ms;   /* monotonic, when the sweep began */
	int64_t sampled_ms; /* wall clock, when its last answer was there */
	bool complete; /* every pod that the fleet should have exists and gave a valid answer */
	size_t n;
	struct snapshot_pod pods[]; /* every pod that was asked */
};

/* With room for n pods, all zero; the caller's until it is put. */
struct snapshot *snapshot_new(size_t n) must_use;
/* The pod's part, or NULL. */
const struct snapshot_pod *snapshot_find(const struct snapshot *s, const char *uid);

struct snapshots;

struct snapshots *snapshots_new(void) must_use;
void snapshots_free(struct snapshots *all);
/*
 * Takes s as the newest of that fleet ("namespace/app"). False: a later one is there already, and s is gone.
 */
bool snapshots_put(struct snapshots *all, const char *key, struct snapshot *s);
/* A reference, for snapshot_drop; NULL: there is none. From any thread, like all below. */
const struct snapshot *snapshots_get(struct snapshots *all, const char *key) must_use;
/* Gives a reference back; NULL is nothing. */
void snapshot_drop(struct snapshots *all, const struct snapshot *s);
/* Forgets a fleet. */
void snapshots_forget(struct snapshots *all, const char *key);
/* Forgets every fleet that keys does not hold. */
void snapshots_keep(struct snapshots *all, const struct strlist *keys);
size_t snapshots_count(struct snapshots *all);

#endif
