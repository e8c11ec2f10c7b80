/*
 * http_hold.h - how much memory the answers of one loop take together, while they are read.
 *
 * A body of up to HTTP_HOLD_FREE bytes is never made to wait. A longer one waits while all of them are over the
 * limit; but one, the first that came upon the limit, goes on to its end, so that there always is an end.
 */
#ifndef COMMON_HTTP_HOLD_H
#define COMMON_HTTP_HOLD_H

#include "common/base.h"

enum { HTTP_HOLD_FREE = 16 << 10 };

struct http_hold {
	size_t max;	      /* 0: no limit */
	size_t held;	      /* by all */
	const void *favoured; /* the one that goes on */
	bool waiting;	      /* somebody was told to wait since the last http_hold_give */
};

/* Takes n more bytes for a body that has `has` of them; false: it has to wait. */
bool http_hold_take(struct http_hold *h, const void *who, size_t has, size_t n);
/* What a body took counts no more; those who wait hear of it with the next http_hold_give. */
void http_hold_drop(struct http_hold *h, const void *who, size_t has);
/* Gives back what a body took. True: those who wait may try again. */
bool http_hold_give(struct http_hold *h, const void *who, size_t has);

#endif
