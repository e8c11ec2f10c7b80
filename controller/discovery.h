/*
 * discovery.h - the kinds that a cluster may have or not (Gateway API, Istio, KEDA) or that we may not be allowed to
 * read: looked for again and again, watched while they are there.
 *
 * A thread of its own asks GET /apis/<group>/<version> of each kind at every interval. A kind that appears gets a
 * watch of its own, one that vanishes loses it and all that the cache held of it. An answer that tells nothing (5xx,
 * no connection) changes nothing. Rights that are missing end in DISCOVERY_UNREADABLE, with the server's words; the
 * watch goes on trying with its back-off, so that they may be given at any time.
 */
#ifndef CONTROLLER_DISCOVERY_H
#define CONTROLLER_DISCOVERY_H

#include "common/kube/watch.h"
#include "controller/cache.h"

struct discovery;

enum discovery_state {
	DISCOVERY_ABSENT,     /* the API server does not have the kind */
	DISCOVERY_UNREADABLE, /* it does, and we have not been able to list it */
	DISCOVERY_READY,      /* the cache holds all of it */
};

struct discovery_opts {
	struct kube_config *config; /* lent, like all below */
	struct kube_client *client;
	struct cache *cache;
	const struct strlist *namespaces;
	int64_t interval_ms;
	bool look_for_retry; /* whether HTTPRoute has `retry` is of interest */
	/* In the thread of a watch, for everything but KUBE_SYNCED; kind is an enum cache_kind. Must not stop us. */
	kube_watch_handler *event;
	kube_watch_relist *relist; /* the same; NULL: none */
	/* Something is there, readable or gone that was not before; from any of our threads. */
	void (*changed)(void *ctx);
	void *ctx;
};

struct discovery *discovery_new(const struct discovery_opts *o) must_use;
/* Starts the thread; see discovery_settled. */
void discovery_run(struct discovery *d);
/* Ends all threads; no callback runs afterwards. */
void discovery_free(struct discovery *d);

/* Every kind was looked for once, and those that are there were read or could not be. */
bool discovery_settled(struct discovery *d);
/* why: what stands in the way, when unreadable; "" else. */
enum discovery_state discovery_state(struct discovery *d, enum cache_kind kind, char *why,
				     size_t room);
/* The installed HTTPRoute serves spec.rules[].retry. */
bool discovery_retry_served(struct discovery *d);

#endif
