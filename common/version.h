/*
 * version.h - semantic versions as celld's releases and image tags carry them: "v0.6.2",
 * "0.6.2-alpine".
 *
 * Pure. A suffix (after '-' or '+') is remembered as present but plays no part in any comparison:
 * celld's image variants of one release are the same program.
 */
#ifndef COMMON_VERSION_H
#define COMMON_VERSION_H

#include "common/base.h"

struct version {
	int major, minor, patch;
};

enum { VERSION_TEXT = 40 };

/* Reads `v?MAJOR.MINOR.PATCH[suffix]` up to the end of n bytes; each number is at most 99999.
 * False: it is none. */
bool version_parse(const char *s, size_t n, struct version *ret);
/* The same of a whole string; NULL is none. */
bool version_read(const char *s, struct version *ret);
/* Negative, 0, positive, as a is older than, equal to, newer than b. */
int version_cmp(struct version a, struct version b);
/* "v0.6.2" */
void version_text(struct version v, char text[VERSION_TEXT]);

#endif
