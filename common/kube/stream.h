/*
 * stream.h - one collection of a watch: its state between list and watch. Belongs to watch.c and
 * runs in its thread.
 */
#ifndef COMMON_KUBE_STREAM_H
#define COMMON_KUBE_STREAM_H

#include "common/base.h"
#include "common/err.h"
#include "common/kube/framer.h"
#include "common/kube/watch.h"

struct http_loop;
struct http_transfer;
struct kube_auth;
struct seen;
struct stream;

/* What a stream tells its owner. */
struct stream_hooks {
	/* A change; object is lent. */
	void (*event)(struct stream *s, enum kube_watch_type type, const struct json *object);
	/* Of a list that is not the stream's first, of an unremembered one's too: it begins, shows an object (before
	 * `event` tells what that means), ends (after the last `event`). s->went_back: its version is older than what
	 * was seen. */
	void (*relist)(struct stream *s, enum kube_relist_at at, const char *version,
		       const struct json *object);
	/* A list is complete. */
	void (*listed)(struct stream *s);
	/* The position moved to s->version, and everything up to it was reported. */
	void (*moved)(struct stream *s);
	/* Something of s->stats changed: heard (bytes came), began, or failed (why is set). */
	void (*heard)(struct stream *s);
	void (*began)(struct stream *s, bool list, bool again);
	void (*connected)(struct stream *s, bool yes);
	void (*failed)(struct stream *s, const struct err *why);
};

struct stream {
	/* Set by the owner before stream_init(), lent. */
	const struct stream_hooks *hooks;
	struct http_loop *loop;
	struct kube_config *config;
	const struct kube_kind *kind;
	const char *ns, *label_selector, *field_selector; /* NULL: all */
	const char *user_agent;				  /* a header line */
	int64_t timeout_s, idle_ms, page, backoff_ms;	  /* not 0 */
	void *owner;
	size_t index;	   /* of the kind */
	bool unremembered; /* seen is NULL */

	/* Its own. */
	struct seen *seen;
	char *version;	 /* of the last list, event or bookmark; NULL: list first */
	char *newest;	 /* the largest that version ever was */
	bool went_back;	 /* the list that runs is older than that: the server was restored */
	char *next_page; /* continue token; NULL: first page */
	bool listed;	 /* once at least */
	bool listing;	 /* the request that runs is a list */
	bool accepted;	 /* the watch that runs, or ran last, was answered with 200 */
	bool list_began; /* pages of this round were seen */
	struct http_transfer *transfer; /* NULL: waiting for due_ms */
	const struct kube_auth *auth;	/* of the request that runs or ran last */
	bool refused;			/* auth was answered with 401 */
	struct framer framer;
	struct err stop; /* why the reader stopped the watch; code ERR_NONE: it did not */
	bool relist;	 /* stop asks for a list */
	int64_t due_ms;	 /* of the next attempt, monotonic */
	int64_t began_ms, heard_ms;
	size_t events; /* lines of this watch */
	int steps;     /* of the back-off */
	int64_t failed_ms;
};

void stream_init(struct stream *s);
void stream_done(struct stream *s);
/* Starts what is due, cuts what is silent; returns the monotonic moment of its next wish. */
int64_t stream_tick(struct stream *s, int64_t now_ms);

#endif
