/*
 * callees.h - whom the tracker calls: one entry a host, whoever's buckets are there. It says how many requests may be
 * under way to it, and leaves one alone that is not well: for 15 s, then twice as long each time, up to 4 intervals,
 * with one request (a probe) in between. So a sick one gets those that were under way, at most CALLEE_IN_FLIGHT, and
 * one for each pause: with the default interval of a minute at most 18 in the first minute, 1 in the second, 1 in the
 * fourth, and then 1 in 4 minutes.
 *
 * No thread, no clock: the caller's lock, the caller's time.
 */
#ifndef CONTROLLER_CALLEES_H
#define CONTROLLER_CALLEES_H

#include "common/base.h"
#include "common/err.h"

enum { CALLEE_IN_FLIGHT = 16 };

struct callees;
struct callee;

/* pause_ms: the first one (0: 15 s); most_ms: the longest. */
struct callees *callees_new(int64_t pause_ms, int64_t most_ms) must_use;
void callees_free(struct callees *all);
size_t callees_count(const struct callees *all);

/* That of a name ("https://minio.local:9000"), for a user who gives it back. */
struct callee *callee_take(struct callees *all, const char *name) must_use;
/* The last user's takes what is known of it along. NULL: nothing happens. */
void callee_give(struct callees *all, struct callee *e);

/* Nobody asks before this; 0 or in the past: one may. */
int64_t callee_rests_until(const struct callee *e);
/* Why it rests; lent. */
const char *callee_why(const struct callee *e);
/* Whether one more request may be under way to it. */
bool callee_has_room(const struct callee *e);
void callee_begin(struct callee *e); /* a request */
void callee_end(struct callee *e);
/* It did not answer, or asked for a pause (why->retry_after_ms). Requests that were under way when it began to fail
 * count once. random: 0 to 1, so that the pauses of several are not in step. */
void callee_failed(struct callee *e, int64_t now_ms, const struct err *why, double random);
/* It answered. True: it was not well before, so that those who waited should come back one by one. */
bool callee_answered(struct callee *e);

#endif
