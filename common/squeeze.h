/*
 * squeeze.h - bytes kept as what they do not have in common with others, their model (LZ4, with the model as
 * dictionary).
 *
 * Objects of one kind differ in names, digests and numbers; the rest is the same again and again. Not a format for
 * files: model and bytes have to be of the same process.
 */
#ifndef COMMON_SQUEEZE_H
#define COMMON_SQUEEZE_H

#include "common/base.h"

struct squeezed {
	unsigned len, size; /* of the original; of bytes */
	char bytes[];
};

/* What others are squeezed against. No bytes: nothing. */
struct squeeze_model {
	size_t len;
	const char *bytes; /* lent */
};

/* At most 1.9 GB made short; the caller's, by free(). The model is needed again, with the same bytes. */
struct squeezed *squeeze(struct squeeze_model model, const void *bytes, size_t len) must_use;
/* What it was, and a NUL; the caller's. */
char *unsqueeze(struct squeeze_model model, const struct squeezed *s) must_use;

#endif
