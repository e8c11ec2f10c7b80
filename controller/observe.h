/*
 * observe.h - from what the API server and the sweep say to what rollout_decide asks. Pure.
 */
#ifndef CONTROLLER_OBSERVE_H
#define CONTROLLER_OBSERVE_H

#include "common/digest.h"
#include "controller/damp.h"
#include "controller/fleet.h"

/* What one sweep learned of a pod. */
struct pod_state {
	bool asked;	  /* false: never */
	int64_t begun_ms; /* monotonic, when it was asked */
	bool valid;	  /* a valid /state came */
	bool silent;	  /* no answer at all came */
	int restoring;	  /* 0 where the version does not tell */
	char why[96];	  /* not valid: in words that do not churn */
	bool has_deployment;
	char deployment[132]; /* version */
	int64_t generation, swapping, draining;
};

/* What a worker remembers of an app between turns. Losing it only lengthens waits. */
struct fleet_memory {
	uint64_t app;	      /* digest_short() of the UID of whom all this is about */
	uint64_t fingerprint; /* of StatefulSet and pods; 0: never seen */
	int64_t changed_ms;   /* monotonic, when it became this */
	int64_t empty_ms;     /* monotonic, since when no pod exists; 0: some do */
	uint64_t
		tolerated; /* digest_short() of a StatefulSet that is not stored as it is written: see workload.c */
	/* of claims.c while it makes the StatefulSet again: what is to be made, and who owned which field; owned */
	struct json *reborn, *fields;
	char *former;	  /* UID of the StatefulSet that reborn was; NULL: not known. Owned */
	bool recalled;	  /* rebirth.c has looked for a note of it */
	struct damp damp; /* of the objects that are written */
	/* of children.c: a bit for each cache_kind of which an object was there that the cache has not */
	unsigned asks_first;
};

struct observe_input {
	const struct fleet_sts *sts;
	const struct fleet_pod *pods;
	const struct pod_state *states; /* of the same index */
	size_t n_pods;
	int64_t now_ms;	  /* monotonic */
	int64_t fresh_ms; /* how old a sweep may be: 15 s */
};

/*
 * Whether a pod is asked for its /state: it runs, has an address, does not end, and is of that StatefulSet (UID; "":
 * there is none) or of no controller. Any other one's address may be somebody else's already.
 */
bool observe_can_be_asked(const char *sts_uid, const struct fleet_pod *p);
/* Brings the memory up to date with what is seen now. */
void observe_remember(struct fleet_memory *m, const struct observe_input *in);
/*
 * Fills what comes from the fleet: exists .. swept, pods, quiet, empty. The verdict on the spec and the settings are
 * the caller's, who has set *o to zero before.
 */
void observe_fleet(const struct observe_input *in, const struct fleet_memory *m,
		   struct rollout_obs *o);

#endif
