/*
 * framer.h - cuts a byte stream into lines. Pure.
 *
 * A watch is one JSON document per line. Bytes arrive in any pieces: a line or a character may be
 * split anywhere. What follows the last newline when the stream ends is not a line and is dropped,
 * so nothing is ever half applied.
 *
 *	framer_add(&f, bytes, n);
 *	while (framer_next(&f, &line, &len))
 *		...
 *	if (!framer_ok(&f))
 *		the line is longer than max: give up the stream
 */
#ifndef COMMON_KUBE_FRAMER_H
#define COMMON_KUBE_FRAMER_H

#include "common/base.h"
#include "common/buf.h"

struct framer {
	struct buf held; /* bytes not handed out yet, and the line handed out last */
	size_t start;	 /* of the next line in held */
	size_t scanned;	 /* held has no newline between start and here */
	size_t max;	 /* bytes of one line without its newline */
	bool too_long;
};

void framer_init(struct framer *f, size_t max);
void framer_done(struct framer *f);
/* Forgets everything held; ready for another stream. */
void framer_reset(struct framer *f);
/* Takes n bytes. Invalidates lines handed out. */
void framer_add(struct framer *f, const char *bytes, size_t n);
/* The next whole line, without newline and without a '\r' before it; empty lines are skipped. Lent
 * until framer_add, framer_reset, framer_done. */
bool framer_next(struct framer *f, const char **ret_line, size_t *ret_len);
/* False once a line longer than max was seen; framer_next then answers false. */
bool framer_ok(const struct framer *f);

#endif
