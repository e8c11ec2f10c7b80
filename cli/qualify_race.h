/*
 * qualify_race.h - the part of qualify that many writers do at once.
 */
#ifndef CLI_QUALIFY_RACE_H
#define CLI_QUALIFY_RACE_H

#include "common/store/store.h"

struct race_opts {
	const struct store_place *place;
	const struct store_keys *keys;
	int64_t writers, rounds;
	void (*progress)(void *ctx, int64_t done); /* rounds that are over; NULL */
	void *ctx;
};

struct race_result {
	int64_t rounds;			     /* that were run, of each kind */
	int64_t creates_lost, replaces_lost; /* rounds with more than one winner */
	int64_t nobody;	 /* rounds that no writer won: no harm, but it is said */
	int64_t unclear; /* answers that were lost or refused for another cause */
	int64_t torn;	 /* rounds after which the object was not the winner's */
	struct err last; /* of the last unclear one */
};

/*
 * Each round: all writers create the same key at the same moment, then all replace the same state of it; exactly one
 * of each may win. 0, or an error when the store cannot be used at all.
 */
int race_run(const struct race_opts *o, struct race_result *ret, struct err *e);

#endif
