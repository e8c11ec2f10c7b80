/*
 * fault.h - what is wrong with an object, all of it at once.
 *
 * A fault is (rule, path, values read) plus a message for people: "what is wrong; what to write instead". The first three
 * identify it: an UPDATE is refused only for faults that the old object did not have.
 */
#ifndef COMMON_FAULT_H
#define COMMON_FAULT_H

#include "common/base.h"

struct buf;

struct fault {
	const char *rule; /* static, kebab-case: "replicas-fleet-minimum" */
	char *path;	  /* "spec.bucket.name"; in a set-like list the path of the list */
	char *values;	  /* the values that the rule read, in one text */
	char *message; /* "fleet durability needs at least 3 replicas; set spec.replicas to 3 or more" */
	bool forbidden; /* answered with 403 instead of 422: operator policy */
};

struct faults {
	struct fault *v;
	size_t n, room;
};

#define FAULTS_INIT                                                                                \
	{                                                                                          \
		.v = NULL, .n = 0, .room = 0                                                       \
	}

void fault_add(struct faults *l, const char *rule, const char *path, const char *values,
	       const char *fmt, ...) printf_like(5, 6);
void faults_done(struct faults *l);
/* Drops from l every fault that old has too (same rule, path, values). */
void faults_ratchet(struct faults *l, const struct faults *old);
/* "PATH: MESSAGE", one a line (separator "\n") or joined by "; ", at most max bytes, cut at a character's border. */
void faults_text(const struct faults *l, const char *separator, size_t max, struct buf *to);

#endif
