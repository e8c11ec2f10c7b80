/*
 * fault.h - what is wrong with an object, all of it at once. Pure (tier 2).
 *
 * A fault is (rule, path, values read) plus a message for people: "what is wrong; what to write
 * instead". The first three identify it: an UPDATE is refused only for faults that the old object
 * did not have. An index in the path ("[2]") plays no part in that, so that an element which only
 * moved is the same fault; values holds the element.
 */
#ifndef COMMON_FAULT_H
#define COMMON_FAULT_H

#include "common/base.h"

struct buf;

struct fault {
	const char *rule; /* static, kebab-case: "replicas-fleet-minimum" */
	char *path;	  /* "spec.bucket.name", "spec.hostnames[0]" */
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

/* How many faults a list takes; the one after the last becomes "too-many-faults", which no ratchet
 * drops. */
enum { FAULTS_MAX = 256, FAULT_VALUE_TEXT = 96 };

/* A value of the document as a message shows it. */
struct fault_value {
	char text[FAULT_VALUE_TEXT];
};

/*
 * Copies path and values; rule must be static. Control characters in path and message become '?',
 * and a message is cut at a character's border below 1 KiB, so that a fault is one safe line
 * whatever the document holds. l == NULL: nothing happens.
 */
void fault_add(struct faults *l, const char *rule, const char *path, const char *values,
	       const char *fmt, ...) printf_like(5, 6);
/* The same for what operator policy forbids. */
void fault_forbid(struct faults *l, const char *rule, const char *path, const char *values,
		  const char *fmt, ...) printf_like(5, 6);
/* Adds copies of what is in from and not yet in to. */
void faults_add_all(struct faults *to, const struct faults *from);
bool faults_has(const struct faults *l, const struct fault *f); /* same rule, path, values */
void faults_done(struct faults *l);
/* Drops from l every fault that old has too (same rule, path, values). */
void faults_ratchet(struct faults *l, const struct faults *old);
/*
 * "PATH: MESSAGE", one a line (separator "\n") or joined by "; ". At most max bytes: what does not
 * fit is cut at a character's border and "... and N more" says so.
 */
void faults_text(const struct faults *l, const char *separator, size_t max, struct buf *to);
/* s in double quotes, long ones cut at a character's border with "..." after them; NULL is
 * "nothing". */
const char *fault_value(struct fault_value *v, const char *s);

#endif
