/*
 * squeeze.h - a text kept as what it does not have in common with another one, its model. Pure (tier 2).
 *
 * Objects of one kind differ in names, digests and numbers; the rest is the same again and again. What is kept is a run of
 * pieces: bytes of their own, and then a length and a distance back into the model or into the text itself. Not a format for
 * files: model and text have to be of the same process.
 */
#ifndef COMMON_SQUEEZE_H
#define COMMON_SQUEEZE_H

#include "common/base.h"

struct squeezed {
	unsigned len, size; /* of the text, without its NUL; of bytes */
	unsigned char bytes[];
};

/* text made short; the caller's, by free(). model is needed again, with the same bytes: NULL: none. */
struct squeezed *squeeze(const char *model, const char *text) must_use;
/* The text; the caller's. */
char *unsqueeze(const char *model, const struct squeezed *s) must_use;

#endif
