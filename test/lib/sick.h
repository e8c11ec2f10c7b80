/*
 * sick.h - an object store that is not well, for tests of those who read it: an HTTP server on 127.0.0.1, plain or
 * TLS, that is switched between ways to fail. Every GET is answered alike, whatever it asks for and whoever signed it.
 */
#ifndef TEST_LIB_SICK_H
#define TEST_LIB_SICK_H

#include "common/base.h"

enum sick_mode {
	SICK_FINE,	 /* 200, the body and ETag given to sick_switch; 304 for the same tag */
	SICK_SLOW,	 /* the same, 100 ms later */
	SICK_STOPPED,	 /* nobody listens */
	SICK_HANG,	 /* takes the request, and never answers */
	SICK_STORM,	 /* 503 */
	SICK_STORM_LONG, /* 503 with a page of 100 MiB */
	SICK_GARBAGE,	 /* 200 and a page of HTML */
	SICK_NOT_HTTP,	 /* bytes that are no HTTP */
	SICK_HUGE,	 /* 200 and 100 MiB, whose length is not told */
	SICK_HUGE_TOLD,	 /* the same with its length */
	SICK_CUT,	 /* 200, and the connection ends within the body */
	SICK_REDIRECT,	 /* 307 to the other place */
	SICK_REGION,	 /* 301, as S3 does for a bucket of region eu-west-1 */
	SICK_SIGNED,	 /* 400, as S3 does for a signature for another region */
	SICK_EXPIRED,	 /* TLS: the certificate has expired; else as FINE */
};

struct sick;

/* tls: with certificates of its own. other: where REDIRECT leads, "http://127.0.0.1:1"; lent. */
struct sick *sick_start(bool tls, const char *other) must_use;
void sick_stop(struct sick *s);
const char *sick_url(const struct sick *s); /* lent */
/* Both certificates, the one that has expired too, as PEM: for those who are to trust it. Lent. */
const char *sick_authorities(const struct sick *s);

/*
 * From now on. Connections that are there end. body, of FINE: copied, at most 511 bytes; its ETag is its own text's
 * digest. Begins to count anew.
 */
void sick_switch(struct sick *s, enum sick_mode mode, const char *body);
/* Calls since the switch: requests, and connections without one. STOPPED sees none. */
size_t sick_calls(struct sick *s);
/* Waits for that many; false: a minute has passed. */
bool sick_wait(struct sick *s, size_t calls);
/* Milliseconds (monotonic) of the switch. */
int64_t sick_since(struct sick *s);
/* The most bytes of one answer's body that a caller has taken since the switch, what lies in sockets included. */
size_t sick_most_sent(struct sick *s);

#endif
