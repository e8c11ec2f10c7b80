/*
 * conn.h - the connections of a server and how long each may go on. Of httpd.c and serve.c alone, on the server's
 * thread.
 *
 * libmicrohttpd's own timeout is silence: whoever sends a byte now and then keeps a connection for ever. So each has a
 * deadline for what it is at: its first request, its request, the pause after one. And who connects while all places
 * are taken is given one: that of the connection that has been without a request for the longest time, silent ones
 * first.
 */
#ifndef COMMON_HTTPD_CONN_H
#define COMMON_HTTPD_CONN_H

#include <microhttpd.h>

#include "common/base.h"
#include "common/httpd/pair.h"

enum conn_phase {
	CONN_NEW, /* has not asked yet: handshake, request line and headers of its first request */
	CONN_ASKING, /* from a request's headers to the end of its answer */
	CONN_IDLE,   /* between requests */
	CONN_LEFT,   /* the same, and the other side has sent its end */
	CONN_CUT,    /* has been shut down; libmicrohttpd has not told of its end yet */
	CONN_PHASES,
};

struct conn {
	struct conn *prev,
		*next; /* of its phase, the one that has been in it for the longest time first */
	enum conn_phase phase;
	int fd;
	int64_t due; /* monotonic */
	struct pair *pair;
};

struct conns {
	struct conn *first[CONN_PHASES], *last[CONN_PHASES];
	size_t n[CONN_PHASES];
};

/* A new one, which is CONN_NEW until due; conn_free drops its pair. */
struct conn *conn_new(struct conns *l, int fd, int64_t due) must_use;
void conn_free(struct conns *l, struct conn *c);
/* The other side has sent its end. libmicrohttpd does not see that when it comes together with a request. */
bool conn_has_left(const struct conn *c);
/* Enters another phase, or the same anew; a connection that is cut stays so. */
void conn_enter(struct conns *l, struct conn *c, enum conn_phase phase, int64_t due);
/* Cuts connections without a request until at most max are left. */
void conns_make_room(struct conns *l, size_t max);
/* Cuts those that are past their time. */
void conns_cut_due(struct conns *l, int64_t now);
/* When the next one is past its time; INT64_MAX: none. */
int64_t conns_due(const struct conns *l);

#endif
