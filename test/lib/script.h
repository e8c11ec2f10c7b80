/*
 * script.h - an HTTP server that answers from a table, for tests. Plain or TLS, on 127.0.0.1.
 *
 * Requests are matched to steps: the first step not used yet whose `want` is how "METHOD target" begins. What matches
 * no step is answered 599 and counted. Every request is kept for the test to look at.
 */
#ifndef TEST_LIB_SCRIPT_H
#define TEST_LIB_SCRIPT_H

#include "common/base.h"

enum script_end {
	SCRIPT_REPLY,  /* Content-Length and body */
	SCRIPT_STREAM, /* chunked, then the end */
	SCRIPT_HOLD, /* chunked, then open until the peer leaves, script_release(), or script_stop() */
	SCRIPT_CUT,    /* chunked, then the connection is closed without an end */
	SCRIPT_RESET,  /* the same by a reset, which may overtake what was sent */
	SCRIPT_SILENT, /* not a byte, until the same moments as HOLD */
};

struct script_step {
	const char *want;    /* "GET /api/v1/pods?"; NULL: anything */
	int status;	     /* 0: 200 */
	const char *headers; /* more of them, each ended by \r\n; NULL: none */
	const char *body;    /* NULL: empty */
	enum script_end end;
	size_t piece; /* bytes of one chunk; 0: the body is one */
	bool again;   /* never used up */
	bool gated;   /* waits for script_pass() */
};

struct script_request {
	char *line;    /* "GET /path?query" */
	char *headers; /* as received, lines ended by \r\n */
	char *body;
};

struct script;

/* pem: certificate and key in one text for TLS; NULL: plain. steps live as long as the server. */
struct script *script_start(const struct script_step *steps, size_t n, const char *pem) must_use;
/* Ends every connection and frees everything. */
void script_stop(struct script *s);
int script_port(const struct script *s);
/* "http://127.0.0.1:PORT" or "https://...": lent */
const char *script_url(const struct script *s);
/* Steps SCRIPT_HOLD and SCRIPT_SILENT that wait now end: the former with a proper end. */
void script_release(struct script *s);
/*
 * Lets the next gated step through, now or when it is asked for: so a test sees each answer's effect before the next
 * one.
 */
void script_pass(struct script *s);
/* Waits until n requests have come in all; false: 30 s have passed. */
bool script_wait(struct script *s, size_t n);
size_t script_count(struct script *s);	     /* of requests so far */
size_t script_unexpected(struct script *s);  /* of those that matched no step */
size_t script_connections(struct script *s); /* accepted so far */
/* The i-th request, which has come; lent until script_stop. */
const struct script_request *script_request(struct script *s, size_t i);
/* Does its headers hold this line, exactly? */
bool script_has_header(const struct script_request *r, const char *line);

/*
 * A self-signed certificate with its key, for 127.0.0.1 and the DNS name; the caller's. *ret_cert: the certificate
 * alone.
 */
char *script_pem(const char *dns_name, char **ret_cert) must_use;
/* The same with a subject of that name, from an hour ago until so many seconds from now (negative: it has ended). */
char *script_pem_until(const char *dns_name, long seconds, char **ret_cert) must_use;

#endif
