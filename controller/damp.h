/*
 * damp.h - how often one object is written again with the same content. Pure.
 *
 * Somebody who undoes what we write would make both write for ever. The first few times we write again at once, as after a
 * change by hand; then with pauses that double from 1 s to 5 min. Another content, or ten minutes of calm, begin anew.
 */
#ifndef CONTROLLER_DAMP_H
#define CONTROLLER_DAMP_H

#include "common/digest.h"

enum {
	DAMP_FREE = 4,	       /* writes of one content that nothing holds back */
	DAMP_FIRST_MS = 1000,  /* the pause after these */
	DAMP_MOST_MS = 300000, /* and the longest one */
	DAMP_CALM_MS = 600000, /* without a write for so long it is no fight */
	DAMP_OBJECTS = 16,     /* of one app; more than it has */
	DAMP_NAME = 160,
};

struct damp_entry {
	char name[DAMP_NAME]; /* kind and name; "": free */
	char digest[DIGEST_HEX];
	char rival[128]; /* whom the last look showed to have written; "": not known */
	int writes;
	int64_t last_ms; /* monotonic, of our last write */
};

/* All zero at first. */
struct damp {
	struct damp_entry entries[DAMP_OBJECTS];
};

/* The entry of an object, or of the one that was written longest ago. */
struct damp_entry *damp_entry(struct damp *d, const char *kind, const char *name);
/* How long the write of this content has to wait; 0: it may go. */
int64_t damp_wait(const struct damp_entry *d, const char digest[DIGEST_HEX], int64_t now_ms);
/* It was written. */
void damp_written(struct damp_entry *d, const char digest[DIGEST_HEX], int64_t now_ms);
/* For how long yet it counts as a fight; 0: it is none. */
int64_t damp_fight(const struct damp_entry *d, int64_t now_ms);

#endif
