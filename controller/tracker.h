/*
 * tracker.h - reads the deploy pointers of apps' buckets, in a thread of its own.
 *
 * One read per app and interval (jittered, the mean is the interval), conditional on what was read before; the first
 * read of an app that has no fleet is at once, others spread over an interval, so that a start makes no burst. An
 * endpoint that asks for a pause, or does not answer, is left alone for longer and longer (15 s to 4 intervals, one
 * probe at a time) and then its apps come back spread over an interval; meanwhile each of them knows why it is not
 * read (callees.h). At most 16 requests are under way to one endpoint, the longest overdue first, so a sick or slow
 * one delays nobody else's, and nobody waits for ever. Google's tokens come from an endpoint of their own.
 *
 * A failure never changes the version that is known.
 */
#ifndef CONTROLLER_TRACKER_H
#define CONTROLLER_TRACKER_H

#include "common/celld/pointer.h"
#include "common/store/store.h"
#include "controller/queue.h"
#include "controller/secrets.h"

struct http_cancel;
struct settings;
struct tracker;

struct tracker_opts {
	struct queue *queue;	 /* lent, like all below; told of apps whose facts have changed */
	struct secrets *secrets; /* where the credentials come from */
	struct http_cancel *cancel;
	struct settings *settings; /* an endpoint that its policy lists may be at a local address */
	int64_t interval_ms;
	int64_t pause_ms;    /* the first one of an endpoint; 0: 15 s */
	int64_t timeout_ms;  /* of one request; 0: 15 s */
	const char *ca_file; /* the stores' authorities instead of the system's; NULL */
	const char *
		gs_endpoint; /* where gs:// and az:// buckets are; NULL: the clouds' own. "{account}" */
	const char *az_endpoint;   /* in it is replaced */
	bool (*active)(void *ctx); /* do we lead? */
	void *ctx;
};

enum track_state {
	TRACK_NEVER, /* not read yet */
	TRACK_READ,
	TRACK_NO_POINTER,  /* the bucket answers, and has none */
	TRACK_BAD_POINTER, /* what is there is none */
	TRACK_FAILED,	   /* the bucket cannot be read */
};

struct track_facts {
	enum track_state state;		/* of the last read */
	char why[192];			/* not READ */
	char version[CELLD_VERSION_ID]; /* the last that was read; "": never one */
};

struct tracker *tracker_start(const struct tracker_opts *o) must_use;
/* Ends the thread (the cancel has been triggered) and frees. */
void tracker_stop(struct tracker *t);

/*
 * Reads the pointer at place with the credentials of Secret ns/secret for the app from now on; costs nothing when
 * that is so already. Another place, account or Secret forgets what is known. urgent: the app waits for it.
 */
void tracker_want(struct tracker *t, const char *app, const struct store_place *place,
		  const char *ns, const char *secret, bool urgent);
void tracker_forget(struct tracker *t, const char *app);
void tracker_facts(struct tracker *t, const char *app, struct track_facts *ret);
/* The pointer was written again with the same version since the last question. */
bool tracker_republished(struct tracker *t, const char *app);

#endif
