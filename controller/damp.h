/*
 * damp.h - how often one object is written again with the same content. Pure.
 *
 * Somebody who undoes what we write would make both write for ever. The first few times we write again at once, as
 * after a change by hand; then with pauses that double from 1 s to 5 min. Another content, or ten minutes of calm,
 * begin anew.
 */
#ifndef CONTROLLER_DAMP_H
#define CONTROLLER_DAMP_H

#include "common/base.h"

enum {
	DAMP_FREE = 4,	       /* writes of one content that nothing holds back */
	DAMP_FIRST_MS = 1000,  /* the pause after these */
	DAMP_MOST_MS = 300000, /* and the longest one */
	DAMP_CALM_MS = 600000, /* without a write for so long it is no fight */
	DAMP_OBJECTS = 16,     /* of one app; more than it has */
};

/* Small: every app has one for each of its objects. */
struct damp_entry {
	uint32_t name;	  /* damp_hash() of kind and name */
	uint32_t content; /* and of what was written */
	char *rival; /* whom a look showed to have written too; NULL: nobody has looked. Owned */
	int64_t last_ms; /* monotonic, of our last write */
	int writes;
};

/* All zero at first. */
struct damp {
	struct damp_entry *entries;
	size_t n;
};

void damp_done(struct damp *d);
/* Never 0. */
uint32_t damp_hash(const char *text);
/*
 * The entry of an object ("Service shop-celld"): a new one, or of DAMP_OBJECTS the one that was written longest ago,
 * emptied. Good until the next call.
 */
struct damp_entry *damp_entry(struct damp *d, const char *object);
/* Whether one of them was written so often that damp_wait() or damp_fight() can tell of it. */
bool damp_is_busy(const struct damp *d);
/* How long the write of this content has to wait; 0: it may go. */
int64_t damp_wait(const struct damp_entry *d, uint32_t content, int64_t now_ms);
/* It was written. */
void damp_written(struct damp_entry *d, uint32_t content, int64_t now_ms);
/* For how long yet it counts as a fight; 0: it is none. */
int64_t damp_fight(const struct damp_entry *d, int64_t now_ms);

#endif
