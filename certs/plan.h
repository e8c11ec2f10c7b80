/*
 * plan.h - what to do next about the webhook's certificates: a pure function of what one replica
 * has observed. One step at a time; after each step everything is observed anew.
 *
 * The order of a rotation, so that no call fails in it: the next authority is stored beside the one
 * in use (STAGE); both bundles name both (ADD), read back and left alone for the settle time,
 * because API servers follow a change with some delay; then the next one becomes the one in use and
 * signs a leaf (PROMOTE), which replicas serve once they have read a bundle that names its authority
 * (SERVE); the old authority stays in the bundles until the last leaf it signed has ended (RETIRE,
 * TRIM).
 *
 * No wait outlasts what is served: overlap is there to protect calls, and a leaf that has ended
 * protects none. A leaf that becomes due while the next authority settles is renewed by the one in
 * use; where that would not last longer, the settle time is cut short just before the leaf ends.
 *
 * Replicas do not talk with each other: every step is one write with a precondition, and whoever
 * loses a race observes again.
 */
#ifndef CERTS_PLAN_H
#define CERTS_PLAN_H

#include "common/base.h"

enum plan_pair {
	PLAN_NONE,
	PLAN_BROKEN, /* unreadable, or the key is another's, or the signer or the names are wrong */
	PLAN_KEYLESS, /* an authority whose certificate is good, but which cannot sign */
	PLAN_EARLY,   /* begins in the future: a clock has jumped */
	PLAN_GOOD,
	PLAN_DUE, /* good, with a third of its life or less left */
	PLAN_ENDED,
};

enum plan_ask { PLAN_ASK_NOTHING, PLAN_ASK_LEAF, PLAN_ASK_CA };

struct plan_facts {
	bool secret;	     /* it exists */
	int64_t absent_ms;   /* how long this replica has missed it */
	enum plan_pair ca;   /* in use */
	enum plan_pair next; /* stored beside it */
	enum plan_pair leaf; /* judged by ca */
	bool ca_longer;	     /* ca ends after that leaf: a new one could last longer */
	bool old, old_over;  /* earlier authorities are kept; the time to keep them is over */
	enum plan_ask ask;   /* what the Secret's annotation asks for */
	bool named;	     /* every bundle names ca, next and old */
	bool strangers;	     /* some bundle names others as well */
	int64_t named_ms;    /* how long `named` has held */
	int64_t settle_ms;   /* how long API servers may take to follow a bundle */
	bool serving_it;     /* this replica serves that leaf */
	bool serving;	     /* it serves a leaf that is valid now, and for PLAN_LAST_MS more */
	bool same_ca;	     /* which ca has signed, too */
	int64_t calm_ms; /* how long the leaf that it serves asks for nothing; 0: `serving` is false */
};

enum plan_action {
	PLAN_WAIT,
	/* The two: to what this replica remembers, else to a new authority and leaf. */
	PLAN_CREATE,  /* the Secret */
	PLAN_REPLACE, /* what is in the Secret, where nothing is worth keeping */
	PLAN_ADD,     /* ca, next and old to the bundles; strangers stay while they are valid */
	PLAN_SERVE,   /* the leaf */
	PLAN_RENEW,   /* a leaf signed by ca */
	PLAN_STAGE,   /* a new authority as next */
	PLAN_PROMOTE, /* next to ca with a leaf of its own, ca to old */
	PLAN_RETIRE,  /* old leaves the Secret */
	PLAN_TRIM,    /* strangers leave the bundles */
};
enum {
	PLAN_ACTIONS = PLAN_TRIM + 1,
	PLAN_RECREATE_MS = 5000,
	PLAN_LAST_MS = 5000,
	PLAN_HURRY_MS = 1000,
};

enum plan_action plan_next(const struct plan_facts *f);
/*
 * The facts serving and calm_ms, of a served leaf that begins, is due and ends then; end_ms 0: none
 * is served. A leaf counts as served until PLAN_LAST_MS before its end, or half of the time between
 * due and end where that is less: what has to be in its place by its end is begun there, whatever
 * else would still be waited for.
 */
void plan_served(struct plan_facts *f, int64_t now_ms, int64_t begin_ms, int64_t due_ms,
		 int64_t end_ms);
/* How long to rest after PLAN_WAIT, look_ms at most: nothing becomes due meanwhile. */
int64_t plan_rest_ms(const struct plan_facts *f, int64_t look_ms);
/*
 * The pause ms, cut short so that what is served is neither due nor ends in it. Where nothing good is
 * served, PLAN_HURRY_MS at most.
 */
int64_t plan_patience_ms(const struct plan_facts *f, int64_t ms);
/* "promote" */
const char *plan_action_text(enum plan_action a);

#endif
