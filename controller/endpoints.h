/*
 * endpoints.h - whom the tracker calls: one entry a host, whoever's buckets are there. It says how many requests may be under
 * way to it, and leaves one alone that is not well: for 15 s, then twice as long each time, up to 4 intervals, with one
 * request (a probe) in between. So a sick one gets those that were under way, at most ENDPOINT_IN_FLIGHT, and one for each
 * pause; with the default interval of a minute that is 16 and 3 in the first minute, 1 in the second and third together, and
 * then 1 in 4 minutes.
 *
 * No thread, no clock: the caller's lock, the caller's time.
 */
#ifndef CONTROLLER_ENDPOINTS_H
#define CONTROLLER_ENDPOINTS_H

#include "common/base.h"
#include "common/err.h"

enum { ENDPOINT_IN_FLIGHT = 16 };

struct endpoints;
struct endpoint;

/* pause_ms: the first one (0: 15 s); most_ms: the longest. */
struct endpoints *endpoints_new(int64_t pause_ms, int64_t most_ms) must_use;
void endpoints_free(struct endpoints *all);
size_t endpoints_count(const struct endpoints *all);

/* That of a name ("https://minio.local:9000"), for a user who gives it back. */
struct endpoint *endpoint_take(struct endpoints *all, const char *name) must_use;
/* The last user's takes what is known of it along. NULL: nothing happens. */
void endpoint_give(struct endpoints *all, struct endpoint *e);

/* Nobody asks before this; 0 or in the past: one may. */
int64_t endpoint_rests_until(const struct endpoint *e);
/* Why it rests; lent. */
const char *endpoint_why(const struct endpoint *e);
/* Whether one more request may be under way to it. */
bool endpoint_has_room(const struct endpoint *e);
void endpoint_begin(struct endpoint *e); /* a request */
void endpoint_end(struct endpoint *e);
/* It did not answer, or asked for a pause (why->retry_after_ms). Requests that were under way when it began to fail count
 * once. random: 0 to 1, so that the pauses of several are not in step. */
void endpoint_failed(struct endpoint *e, int64_t now_ms, const struct err *why, double random);
/* It answered. True: it was not well before, so that those who waited should come back one by one. */
bool endpoint_answered(struct endpoint *e);

#endif
