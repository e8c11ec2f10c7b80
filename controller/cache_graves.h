/*
 * cache_graves.h - who has been deleted lately. Of the cache alone, under its lock.
 *
 * The answer to a write and the event of a deletion come by two connections. When the deletion, which is the newer one,
 * is first, the answer must not bring the object back: nobody would ever tell of its end again. An object that comes
 * back by itself (its label was away for a moment) is newer than its deletion.
 */
#ifndef CONTROLLER_CACHE_GRAVES_H
#define CONTROLLER_CACHE_GRAVES_H

#include "common/json.h"
#include "controller/fleet.h"

/* More deletions than come while one answer is on its way. */
enum { GRAVES = 256, GRAVE_VERSION = 24 };

struct graves {
	struct {
		char uid[FLEET_UID], version[GRAVE_VERSION];
	} v[GRAVES];
	size_t next;
};

/* The object as it was deleted, or as it is known last. */
void graves_add(struct graves *g, const struct json *object);
/* Whether the object of that version is one that has been deleted since. */
bool graves_has(const struct graves *g, const struct json *object);

#endif
