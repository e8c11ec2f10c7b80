/*
 * watch.h - keeps track of collections: list, then watch, for ever, in one thread for all kinds.
 *
 * Each pair of kind and namespace is a stream: list in pages of 500, then watch with bookmarks from
 * that resourceVersion. The end of a watch is normal and resumes from the last resourceVersion; 410
 * in either form (status, or ERROR event) and a resourceVersion that went back (the server was
 * restored) list again; 429 and connection trouble back off and resume without listing. A stream
 * without any byte for idle_ms is cut; one that never brought any lists again. Back-off: 0.8 s
 * doubling to 30 s, each with up to 100 % jitter, at least what Retry-After asks, forgotten after 2
 * min without trouble.
 *
 * The handler gets a consistent story: per object ADDED, then MODIFIED..., then DELETED. The watch
 * remembers uid and resourceVersion of every object, so a list after trouble reports exactly what
 * changed meanwhile: deletions that were missed come as DELETED, an object that was deleted and
 * made again under its name as DELETED and ADDED; an object that did not change is not reported. A
 * list that fails half way reports no deletion. For a kind that is `unremembered` all this is its relist function's.
 */
#ifndef COMMON_KUBE_WATCH_H
#define COMMON_KUBE_WATCH_H

#include "common/base.h"
#include "common/err.h"

struct json;
struct kube_config;
struct kube_kind;
struct strlist;
struct kube_watch;

enum kube_watch_type {
	KUBE_ADDED,
	KUBE_MODIFIED,
	KUBE_DELETED,
	KUBE_SYNCED, /* once per kind: its first list is complete in every namespace; object is NULL
		      */
};

/*
 * Called in the watch's thread: it must not block, and must not call kube_watch_stop. kind: index
 * into opts.kinds. object is lent for the call. For DELETED it is the last state when the server
 * told it, else (missed deletions) only apiVersion, kind and metadata.{namespace, name, uid,
 * resourceVersion}. An object that came from a list may lack apiVersion and kind: the server leaves
 * them out there.
 */
typedef void kube_watch_handler(void *ctx, size_t kind, enum kube_watch_type type,
				const struct json *object);

/*
 * For a cache that also takes in answers to its own writes: a list after the first one (of a kind that is unremembered:
 * each one), step by step. Whoever keeps objects by resourceVersion needs it after a restore of the server, when the
 * true state has a smaller one than what is kept, and what the server has forgotten may never have been seen by the
 * watch.
 */
enum kube_relist_at {
	KUBE_LIST_BEGINS,
	KUBE_LIST_ITEM, /* an object, whether it has changed or not; what it means is told to the handler next */
	KUBE_LIST_ENDS, /* the list was complete, and everything was told */
};

struct kube_relist {
	enum kube_relist_at at;
	const char *namespace; /* that is listed; NULL: all */
	const char *
		version; /* of the list. NULL: it is older than what was seen before, the server was restored */
	const struct json *object; /* of ITEM, lent */
};

typedef void kube_watch_relist(void *ctx, size_t kind, const struct kube_relist *r);

struct kube_watch_kind {
	const struct kube_kind *kind;
	const char *label_selector; /* NULL: all */
	const char *field_selector; /* NULL: all; "metadata.name=..." for one object */
	const char *namespace;	    /* this one only; NULL: opts.namespaces */
	/*
	 * The relist function keeps account of the objects, and the watch does not: each item of a list is told, the
	 * first one's too, as MODIFIED like what is new, a deletion whether or not the object was known, and one that
	 * was missed not at all.
	 */
	bool unremembered;
};

/*
 * The API server has gone, as far as the watch can tell: every stream's last try found nobody, or a gateway without
 * a server. Or it is back (there), after ms. In the watch's thread; why: the last failure, "" when it is back.
 */
typedef void kube_watch_presence(void *ctx, bool there, int64_t ms, const char *why);

struct kube_watch_opts {
	struct kube_config *config; /* lent; outlives the watch */
	const char *user_agent;	    /* NULL: "celld-operator" */
	const struct kube_watch_kind
		*kinds; /* copied with its texts; the struct kube_kind lives for ever */
	size_t n;
	const struct strlist *namespaces; /* copied; NULL or empty: all */
	kube_watch_handler *handler;
	kube_watch_relist *relist;     /* in the watch's thread, like handler; NULL: none */
	kube_watch_presence *presence; /* NULL: nobody wants to know */
	void *ctx;
	int64_t timeout_s;  /* of one watch, as asked from the server; a random 1 to 2 times of it;
			       0: 300 */
	int64_t idle_ms;    /* 0: 150,000. Servers send a bookmark about each minute */
	int64_t page;	    /* objects of one page; 0: 500 */
	int64_t backoff_ms; /* first pause; 0: 800. At most 37 times of it */
};

/* Starts the thread. The API server need not be there: the watch keeps trying. */
int kube_watch_start(const struct kube_watch_opts *o, struct kube_watch **ret, struct err *e);
/* Ends the thread at once and frees everything; no handler runs afterwards. */
void kube_watch_stop(struct kube_watch *w);
define_cleanup(struct kube_watch *, kube_watch_stop);

/* All below: from any thread, also from the handler. */

/* The first list of the kind is complete, and the handler has seen it. */
bool kube_watch_synced(struct kube_watch *w, size_t kind);
bool kube_watch_all_synced(struct kube_watch *w);
/* Waits up to ms for all kinds; false: not yet. */
bool kube_watch_wait_synced(struct kube_watch *w, int64_t ms);
/* Newest resourceVersion that the kind's handler has seen (with several namespaces: of the stream
 * that moved last). False when there is none or it does not fit. */
bool kube_watch_version(struct kube_watch *w, size_t kind, char *to, size_t size);

/* Moment (clock_mono_ms) of the thread's last turn; it makes one at least each minute, whatever the API server does,
 * so an old one means that it is stuck in the handler, or gone. */
int64_t kube_watch_beat_ms(const struct kube_watch *w);

/* How many kinds it watches. */
size_t kube_watch_kinds(const struct kube_watch *w);
/* Since when the API server is away, monotonic; 0: it is there. */
int64_t kube_watch_away_ms(const struct kube_watch *w);

struct kube_watch_stats {
	int64_t lists;	       /* lists begun, the first included */
	int64_t relists;       /* of these, not the first */
	int64_t watches;       /* watches begun */
	int64_t failures;      /* attempts that ended in an error */
	int64_t events;	       /* handed to the handler */
	int64_t last_heard_ms; /* monotonic moment of the oldest stream's last byte or answer; 0:
				  never */
	bool connected;	       /* every stream of the kind has a watch that was accepted */
	char last_error[256];  /* of the last failure; "" */
};

/* kind: below kube_watch_kinds(). */
void kube_watch_stats(struct kube_watch *w, size_t kind, struct kube_watch_stats *ret);

#endif
