/*
 * squeeze.h - a text kept as what it does not have in common with another one, its model (LZ4, with the model as dictionary).
 *
 * Objects of one kind differ in names, digests and numbers; the rest is the same again and again. Not a format for files:
 * model and text have to be of the same process.
 */
#ifndef COMMON_SQUEEZE_H
#define COMMON_SQUEEZE_H

#include "common/base.h"

struct squeezed {
	unsigned len, size; /* of the text, without its NUL; of bytes */
	char bytes[];
};

/* text made short, at most 1.9 GB of it; the caller's, by free(). model is needed again, with the same bytes: NULL: none. */
struct squeezed *squeeze(const char *model, const char *text) must_use;
/* The text; the caller's. */
char *unsqueeze(const char *model, const struct squeezed *s) must_use;

#endif
