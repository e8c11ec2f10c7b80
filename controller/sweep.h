/*
 * sweep.h - asks the pods for their /state, in a thread of its own, all at once and with a hard end.
 *
 * Every interval all running pods of all apps; and, on request, those of one app at once. A result belongs to a pod by its
 * UID, before and after: an address that another pod has taken over meanwhile tells nothing. Only the leader sweeps.
 */
#ifndef CONTROLLER_SWEEP_H
#define CONTROLLER_SWEEP_H

#include "common/celld/table.h"
#include "controller/cache.h"
#include "controller/observe.h"
#include "controller/queue.h"

struct http_cancel;
struct sweeper;

struct sweep_opts {
	struct cache *cache; /* lent, like all below */
	struct queue *queue; /* told of apps whose state has changed, or was asked for */
	const struct celld_table *table; /* ports and required members by version */
	struct http_cancel *cancel;
	int64_t interval_ms;
	bool (*active)(void *ctx); /* do we lead? */
	void *ctx;
};

/* Starts the thread. */
struct sweeper *sweep_start(const struct sweep_opts *o) must_use;
/* Ends the thread (the cancel has been triggered) and frees. */
void sweep_stop(struct sweeper *s);
/* Sweep this app's pods now; the key is queued when that is done. */
void sweep_request(struct sweeper *s, const char *key);
/* What is known of n pods, by UID; states[i] belongs to pods[i]. */
void sweep_states(struct sweeper *s, const struct fleet_pod *pods, size_t n,
		  struct pod_state *states);

#endif
