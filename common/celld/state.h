/*
 * state.h - what celld says of itself on GET /state, as far as the operator reads it.
 *
 * A body is valid when it is one strict JSON object (json.h) with the members that every node of
 * its version has, in their type: `ownership` (a string) and `occupied`, from 0.2 on `restoring`
 * (both integers of 0 and more). Anything else - an error object, a proxy's page, half a body - is
 * no answer of a healthy node and must not open a gate.
 * All else is optional: null, absent, of another type or negative is "unknown", which is not 0.
 * Members that are not named here are ignored; their order means nothing.
 */
#ifndef COMMON_CELLD_STATE_H
#define COMMON_CELLD_STATE_H

#include "common/celld/table.h"
#include "common/err.h"

struct celld_count {
	bool set;
	int64_t v;
};

enum celld_tri { CELLD_UNKNOWN, CELLD_NO, CELLD_YES };

enum { CELLD_OWNERSHIP_TEXT = 16, CELLD_SHEDDING_TEXT = 32, CELLD_DEPLOYMENT_TEXT = 129 };

/* What the node has adopted (0.4 and later). */
struct celld_deployment {
	bool set; /* version, generation, swapping and draining were all there and legal */
	char version[CELLD_DEPLOYMENT_TEXT]; /* [A-Za-z0-9._-] */
	int64_t generation;		     /* counts from 1 in each process */
	int64_t swapping;		     /* objects that still have to move */
	int64_t n_draining;		     /* old generations that still hold work */
};

struct celld_state {
	bool valid;
	char ownership[CELLD_OWNERSHIP_TEXT]; /* "s3", "gs", "az"; "memory": it has no bucket */
	struct celld_count occupied, restoring, evicting;
	struct celld_count rss_bytes, in_use_bytes; /* 1 and less is celld's own "unknown" */
	struct celld_count cgroup_working_set_bytes, cgroup_current_bytes;
	enum celld_tri shedding;		/* null is no, a string is yes */
	char shedding_why[CELLD_SHEDDING_TEXT]; /* of yes: "memory", "rss-hard" */
	struct celld_deployment deployment;	/* of versions whose facts have it */
	/* Of node_load (0.4.1 and later): what can hold other nodes' ready gate shut. */
	enum celld_tri pressured, memory_headroom, draining;
};

/*
 * ERR_INVALID: body is no valid state of a version with these facts; why in words that do not
 * change from poll to poll. *ret is always written; invalid, it is all unknown.
 */
int celld_state_parse(const char *body, size_t len, const struct celld_facts *facts,
		      struct celld_state *ret, struct err *e);

#endif
