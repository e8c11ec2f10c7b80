/*
 * http.h - HTTP requests; the only user of libcurl.
 *
 * Rules that hold for every request: https only unless the request says plain_ok; TLS 1.2 or newer and verified; no
 * redirects; no proxy unless the request says proxy_env; no signals; HTTP/1.1; the answer's body never longer than
 * max_response; a connect timeout; TCP keep-alive. Every wait is curl_multi_poll and ends at once when its
 * http_cancel is triggered or it is woken.
 *
 * Three ways to use it, from the simple to the general:
 *	http_client	one thread, one blocking request at a time; keeps its connections
 *	http_batch	one thread, many GETs at once with a hard end (the sweeper)
 *	http_loop	one thread, any requests at once, bodies streamed (watches)
 * An http_pool lends http_clients to many threads.
 *
 * A struct http_client, http_batch or http_loop belongs to one thread at a time; only the functions
 * that say so may be called from another.
 *
 * Errors: an answer of any status is no error here: 0 is returned and response.status says what it was.
 *	ERR_TIMEOUT
 *	ERR_UNAVAILABLE	no connection, name not resolved, reset
 *	ERR_TOO_LARGE	body over max_response
 *	ERR_PROTOCOL	not HTTP, certificate not trusted, a body cut short
 *	ERR_INVALID	URL
 *	ERR_FORBIDDEN	no_local
 *	ERR_CANCELED
 */
#ifndef COMMON_HTTP_H
#define COMMON_HTTP_H

#include "common/base.h"
#include "common/buf.h"
#include "common/err.h"

/* Once at the start of main(), before any thread. Ignores SIGPIPE for the whole process: TLS
 * shutdown on a connection that the peer reset raises it even with libcurl's own precaution. */
int http_global_init(struct err *e);

/* --- cancelling ------------------------------------------------------------------------------- */

/* One switch for any number of clients, batches and loops: once triggered, it stays so. */
struct http_cancel;

struct http_cancel *http_cancel_new(void) must_use;
/* After everything that was made with it has been freed. */
void http_cancel_free(struct http_cancel *c);
define_cleanup(struct http_cancel *, http_cancel_free);
/* From any thread, not from a signal handler. */
void http_cancel_trigger(struct http_cancel *c);
bool http_cancel_triggered(const struct http_cancel *c); /* NULL: false */

/* --- requests and answers --------------------------------------------------------------------- */

/* Texts are PEM; NULL: not used. */
struct http_tls {
	const char *ca_file; /* read anew for new connections (kept at most 60 s) */
	const char *ca_pem;  /* wins over ca_file; neither: the system's authorities */
	const char *cert_pem, *key_pem;
	const char *server_name; /* name to send and to verify instead of the URL's host */
	bool insecure;		 /* certificate not verified: only where a kubeconfig says so */
};

/* Everything is lent until the request has ended (http_do returned, done() called). */
struct http_request {
	const char *method; /* NULL: GET */
	const char *url;
	const char *const *headers; /* "Name: value", ended by NULL; NULL: none */
	const char *bearer;	    /* token without "Bearer ", NULL: none */
	const void *body;	    /* NULL: none */
	size_t body_len;
	int64_t timeout_ms; /* of the whole request, from its start; 0: none (streams only) */
	int64_t connect_timeout_ms; /* 0: 10 s */
	size_t max_response; /* bytes of body; 0: 1 MiB. Not for streams, whose data() decides */
	const struct http_tls *tls; /* NULL: the system's authorities */
	bool plain_ok;		    /* http:// is allowed */
	bool proxy_env; /* HTTPS_PROXY, NO_PROXY are obeyed (object stores, STS; never the cluster)
			 */
	bool one_shot;	/* connection is closed afterwards */
	/* Never connects to loopback, link-local, multicast or cloud metadata addresses, whatever a
	 * name resolves to (ERR_FORBIDDEN): for URLs that a tenant has written. */
	bool no_local;
};

struct http_response {
	int status;		/* 200 ...; 0: no answer came */
	int64_t retry_after_ms; /* Retry-After in either form; 0: absent; at most 10 min */
	int64_t date_ms;	/* Date, milliseconds since 1970; -1: absent */
	struct buf headers;	/* as received, bounded; read with http_response_header */
	struct buf body;	/* empty for streams */
};

#define HTTP_RESPONSE_INIT                                                                         \
	{                                                                                          \
		.status = 0, .date_ms = -1, .headers = BUF_INIT(32 << 10), .body = BUF_INIT(0)     \
	}

void http_response_done(struct http_response *r);
#define cleanup_http_response cleanup(http_response_done)
/* Copies the value of the last header of that name (any case), cut to size; false: absent. */
bool http_response_header(const struct http_response *r, const char *name, char *to, size_t size);

/* "host", "host:8080", "10.0.0.1", "[fd00::1]:8081": puts brackets around a bare IPv6 address. port
 * 0: none. */
void http_authority(const char *host, int port, struct buf *to);
/* Appends s percent-encoded as one path segment or query value: all but A-Z a-z 0-9 - . _ ~ . */
void http_escape(const char *s, struct buf *to);

/* Whether a sockaddr (AF_INET or AF_INET6, in network order) is one that no_local refuses. */
struct sockaddr;
bool http_is_local(const struct sockaddr *address);

/* --- one at a time ---------------------------------------------------------------------------- */

struct http_client;

/* cancel may be NULL and must outlive the client. */
struct http_client *http_client_new(struct http_cancel *cancel) must_use;
void http_client_free(struct http_client *c);
define_cleanup(struct http_client *, http_client_free);
/* Sends r and waits for the end. *ret was initialised; it is reused (cleared) and written on failure too as far as it
 * came. */
int http_do(struct http_client *c, const struct http_request *r, struct http_response *ret,
	    struct err *e);
/* Waits; 0 after ms or after http_client_wake, -ERR_CANCELED (e untouched: there is none) when
 * cancelled. */
int http_client_sleep(struct http_client *c, int64_t ms);
/* From any thread: ends a http_client_sleep that runs, or the next one. Does not end http_do. */
void http_client_wake(struct http_client *c);

/* --- lent to many threads --------------------------------------------------------------------- */

struct http_pool;

struct http_pool *http_pool_new(struct http_cancel *cancel) must_use;
/* After every client was given back. */
void http_pool_free(struct http_pool *p);
define_cleanup(struct http_pool *, http_pool_free);
/* From any thread. Never waits: makes a client when none is idle, so there are as many as threads at once. */
struct http_client *http_pool_get(struct http_pool *p) must_use;
void http_pool_put(struct http_pool *p, struct http_client *c);

/* --- many GETs with an end -------------------------------------------------------------------- */

struct http_batch;

struct http_batch_limits {
	int in_flight; /* at most at once, >= 1; fewer while all answer quickly */
	int slow_in_flight; /* the same for those of http_batch_add_slow, which take none of the others' places */
	int64_t request_ms; /* each request, connecting included */
	/* The whole run: what has not ended by then is ERR_TIMEOUT, what has not even begun ERR_THROTTLED. */
	int64_t batch_ms;
	size_t max_response; /* bytes of body */
	/* Of all that are being read: longer bodies than 16 KiB wait for each other then. 0: no limit. */
	size_t max_held;
};

/* One answer, called in the thread of http_batch_run. r is lent for the call; e is NULL when an
 * answer came. */
typedef void http_batch_done(void *ctx, void *tag, const struct http_response *r,
			     const struct err *e);

struct http_batch *http_batch_new(struct http_cancel *cancel) must_use;
void http_batch_free(struct http_batch *b);
define_cleanup(struct http_batch *, http_batch_free);
/* Queues a GET of url (copied; http or https; never through a proxy, connection not kept). tag comes back with the
 * answer. */
void http_batch_add(struct http_batch *b, const char *url, void *tag);
/* The same in a lane of its own, for peers that may well be silent: they do not hold up the others. */
void http_batch_add_slow(struct http_batch *b, const char *url, void *tag);
/* Runs what was added; calls done exactly once for each, also for those cut by the batch's end or
 * by cancelling (ERR_CANCELED). Afterwards the batch is empty and may be used again. -ERR_CANCELED
 * when cancelled. */
int http_batch_run(struct http_batch *b, const struct http_batch_limits *limits,
		   http_batch_done *done, void *ctx);

/* --- many streams ----------------------------------------------------------------------------- */

struct http_loop;
struct http_transfer; /* one request of a loop; ends with done() or http_loop_stop() */

struct http_handler {
	/* The headers of the answer have come, the body has not. NULL: not told. */
	void (*head)(void *ctx, int status);
	/* Body bytes of an answer of status 2xx, as they come. False ends the transfer: done() with
	 * ERR_CANCELED. NULL: the body is collected in response.body up to max_response. A body of
	 * another status is always collected. */
	bool (*data)(void *ctx, const char *bytes, size_t n);
	/* The end. r is lent for the call (its buffers may be taken); e is NULL when the answer came
	 * whole. Called from http_loop_run, never from http_loop_start. The transfer is gone
	 * afterwards. It may start and stop transfers. */
	void (*done)(void *ctx, struct http_response *r, const struct err *e);
	void *ctx;
};

struct http_loop *http_loop_new(struct http_cancel *cancel) must_use;
void http_loop_free(struct http_loop *l); /* stops what runs, without done() */
define_cleanup(struct http_loop *, http_loop_free);
/* The body is lent until the end; everything else of r is copied at once. A request that cannot be made ends through
 * done() as well. */
struct http_transfer *http_loop_start(struct http_loop *l, const struct http_request *r,
				      const struct http_handler *h);
/* Ends t without done(). Not from within data(). */
void http_loop_stop(struct http_loop *l, struct http_transfer *t);
/* Moves everything on: waits up to ms for something to happen and calls handlers. 0, or
 * -ERR_CANCELED. */
int http_loop_run(struct http_loop *l, int64_t ms);
/* The bodies that are being collected take little more than max bytes together: those longer than 16 KiB wait for each
 * other. Not so before the first call. */
void http_loop_hold(struct http_loop *l, size_t max);
/* From any thread: ends the wait of http_loop_run, or that of the next one. */
void http_loop_wake(struct http_loop *l);

#endif
