/*
 * compat.h - may a fleet go from one celld version to another, and how? Pure (tier 1): plain data in, verdict out.
 *
 * The verdict of `from -> to` is the strictest of every boundary between them, in the direction of travel. A minor
 * that the table does not know, or a `from` that cannot be read, is Recreate.
 */
#ifndef COMMON_CELLD_COMPAT_H
#define COMMON_CELLD_COMPAT_H

#include "common/celld/table.h"

struct compat_facts {
	bool bucket_both; /* durability is `bucket` in the running template and in the wanted one */
	bool unread;	  /* compat_judge_all: something runs whose version cannot be read */
	bool stopped; /* no pod is left: there is no mixed fleet to fear, only COMPAT_BLOCKED still counts */
	const char *acknowledged; /* the annotation `vA->vB[,vC->vD]`, or NULL */
};

struct compat_verdict {
	enum compat_way way;
	struct version from, to;
	bool from_known; /* false: `from` could not be read */
	bool needs_ack;	 /* way is COMPAT_BLOCKED only because the pair is not acknowledged */
	enum compat_way acknowledged_way; /* of needs_ack: the way once the pair is acknowledged */
	int boundary; /* index of the row that decided, -1: none (unknown minor, unreadable from, no boundary) */
	int warnings[CELLD_BOUNDARIES]; /* indexes of crossed rows that carry a warning */
	size_t n_warnings;
	bool up; /* direction */
};

/* from == NULL: it cannot be read. */
struct compat_verdict compat_judge(const struct celld_table *t, const struct version *from,
				   struct version to, const struct compat_facts *facts);
/*
 * The strictest over all that the fleet may still be running, and over what is unread; nothing of both: rolling
 * (nothing runs).
 */
struct compat_verdict compat_judge_all(const struct celld_table *t, const struct version *from,
				       size_t n, struct version to,
				       const struct compat_facts *facts);
/*
 * The sentence for people: names both versions, the boundary, upstream's reason, and what to do. recreate_asked:
 * whether the strategy is Recreate already. Returns the length, cut to room - 1.
 */
size_t compat_explain(const struct celld_table *t, const struct compat_verdict *v,
		      bool recreate_asked, char *text, size_t room);

#endif
