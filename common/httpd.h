/*
 * httpd.h - the HTTP server of both programs, plain or TLS; the only user of libmicrohttpd and
 * GnuTLS.
 *
 * One struct httpd is one listening address with one thread of its own, which runs an epoll loop:
 * handlers, certificate reload and drain all happen on that thread and so never race with each
 * other. Handlers must not block for long: they hold up every other request of this server. Several
 * servers may live in one process.
 *
 * The request's body is complete when a handler is called. A body over the route's maximum is 413:
 * at once when the client asked first (Expect) or claims more than 16 MiB, else once its body has
 * been read and dropped, because a client that still writes would see a reset instead of the
 * answer. Memory grows with the bytes that have come, never with the length that a client claims.
 * The sum of all bodies is bounded too: beyond it the answer is 503 with Retry-After, which
 * client-go repeats. An unknown path is 404, a known path with another method 405 with Allow, a
 * POST whose media type is not the route's 415, a length told more than once 400 and the end of the connection. HEAD is
 * answered wherever GET is.
 *
 * TLS: 1.3 preferred, 1.2 accepted. The pair is read from two PEM files and read again whenever
 * they change; connections that are open keep the pair they began with, new ones get the new pair.
 * A pair that cannot be read, or whose key does not belong to its certificate (half-written files),
 * leaves the last good one in use. Instead of files, a program may hand over pairs of its own
 * (pair_later, httpd_set_pair).
 */
#ifndef COMMON_HTTPD_H
#define COMMON_HTTPD_H

#include "common/base.h"
#include "common/buf.h"
#include "common/err.h"

struct httpd;

enum {
	HTTPD_BODY_PAD = 16, /* zero bytes behind every body: json_scan.h wants them */
	HTTPD_MAX_ANSWER = 64 << 20,
};

/* Lent to the handler for the time of its call. */
struct httpd_request {
	const char *method, *path;
	const char *authorization; /* value of that header; NULL: there is none */
	const char *body;	   /* body[0..len), then HTTPD_BODY_PAD zero bytes; never NULL */
	size_t len;
};

/* Filled by the handler. It begins as status 200, text/plain, empty. */
struct httpd_answer {
	int status;
	const char *content_type; /* static */
	struct buf body;
	int retry_after_s; /* > 0: Retry-After */
};

typedef void (*httpd_handler)(void *ctx, const struct httpd_request *req,
			      struct httpd_answer *answer);

struct httpd_route {
	const char *method; /* "GET" or "POST" */
	const char *path;   /* whole path, matched exactly */
	httpd_handler handler;
	void *ctx;
	size_t max_body;	  /* 0: a body is refused */
	const char *content_type; /* wanted media type, parameters ignored; NULL: any or none */
};

struct httpd_options {
	const char *address;		  /* see httpd_address_read */
	const struct httpd_route *routes; /* lent: must outlive the server */
	size_t n_routes;
	const char *cert_file, *key_file; /* PEM, lent; both or neither: plain HTTP */
	/* Without files: TLS all the same; handshakes fail until httpd_set_pair has given a pair. */
	bool pair_later;
	int reload_ms; /* how often the files are looked at; 0: 2000 */
	/*
	 * Told on the server's thread: e NULL when a new pair is in use, else why the pair on disk
	 * is not used (once per change of the files, not per look). May be NULL.
	 */
	void (*on_reload)(void *ctx, const struct err *e);
	void *reload_ctx;
	/*
	 * 0: 1000; fewer where descriptors are short. One more takes the place of the connection that has been
	 * without a request for the longest time.
	 */
	unsigned max_connections;
	size_t max_in_flight; /* bytes of all bodies together; 0: 64 MiB */
	/* All three are times in all: a byte now and then does not prolong them. */
	unsigned first_request_s; /* from connecting to the end of the first headers; 0: 10 */
	unsigned request_s;	  /* from the end of headers to that of the answer; 0: 30 */
	unsigned idle_s;	  /* silence between requests; 0: 120, more than Go's 90 */
};

/* ":8443" (every address, IPv6 too where there is one), "0.0.0.0:8443", "[::1]:8443". Port 0: any
 * free one. */
struct httpd_address {
	char host[64]; /* numeric, without brackets; "": every address */
	int port;
};
/* ERR_INVALID: it is none; the message quotes it and says what is right. */
int httpd_address_read(const char *s, struct httpd_address *ret, struct err *e);

/*
 * Binds, loads the pair, starts the thread. ERR_INVALID: bad address, or a pair that does not go
 * together; ERR_NOT_FOUND: a certificate file is missing; ERR_UNAVAILABLE: the port is in use. The
 * message is one line for people. The thread blocks every signal; the caller handles them.
 */
int httpd_start(const struct httpd_options *o, struct httpd **ret, struct err *e);
/*
 * A new pair for connections to come, as PEM texts; from any thread, for servers with pair_later
 * alone. ERR_INVALID: it is no pair, and the last good one stays. The switch happens within one
 * turn of the server's loop, which is woken for it; on_reload is not told.
 */
int httpd_set_pair(struct httpd *h, const char *cert_pem, const char *key_pem, struct err *e);
/* The port that is bound. */
int httpd_port(const struct httpd *h);
/* Seconds since 1970 from and until when the leaf in use is valid; 0: plain, or none yet. From any thread. */
int64_t httpd_certificate_begin(const struct httpd *h);
int64_t httpd_certificate_expiry(const struct httpd *h);
/* Connections that are open. From any thread. */
unsigned httpd_connections(const struct httpd *h);
/* From any thread: every answer from now on carries `Connection: close`, and httpd_drain was
 * called. */
bool httpd_draining(const struct httpd *h);

/*
 * Ends the service without losing a request: goes on accepting and answering for lame_duck_ms
 * (longer than endpoints take to follow a readiness that has become false), every answer with
 * `Connection: close`; then takes over what the kernel has accepted, closes the listener, and waits
 * until no connection is left, or only idle ones for 3 s, or deadline_ms from the call. Returns the
 * number of connections that were cut (idle ones included). Blocks; the server is stopped then and
 * can only be freed.
 */
unsigned httpd_drain(struct httpd *h, int64_t lame_duck_ms, int64_t deadline_ms);
/* Stops at once unless drained, and frees. NULL is nothing. */
void httpd_free(struct httpd *h);
define_cleanup(struct httpd *, httpd_free);
#define cleanup_httpd cleanup(httpd_free_cleanup)

#endif
