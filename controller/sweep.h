/*
 * sweep.h - asks the pods for their /state, all at once and with a hard end.
 *
 * Every interval all pods of all apps, in one thread; on request those of one app at once, in another, so that a
 * rollout that waits for its gate does not wait for a silent pod of somebody else. Asked are pods that run, do not
 * terminate and belong to the app's StatefulSet; a pod that was silent last time is asked in a lane of its own. A
 * result belongs to a pod by its UID and address, before and after: an address that another pod has taken over
 * meanwhile tells nothing. A fleet's snapshot is published as soon as its last pod has answered. Only the leader
 * sweeps.
 */
#ifndef CONTROLLER_SWEEP_H
#define CONTROLLER_SWEEP_H

#include "common/settings.h"
#include "controller/cache.h"
#include "controller/queue.h"
#include "controller/snapshot.h"

struct http_cancel;
struct sweeper;

enum { SWEEP_IN_FLIGHT = 512, SWEEP_SLOW_IN_FLIGHT = 64 };

struct sweep_opts {
	struct cache *cache;	     /* lent, like all below */
	struct queue *queue;	     /* told of apps whose state has changed, or was asked for */
	struct snapshots *snapshots; /* where the results go */
	struct settings *settings;   /* ports and required members by version are in its table */
	struct http_cancel *cancel;
	int64_t interval_ms;
	int64_t request_ms, batch_ms; /* of one pod; of a whole sweep. 0: 3 s, 10 s */
	bool (*active)(void *ctx);    /* do we lead? */
	void (*swept)(void *ctx, int64_t ms,
		      size_t pods); /* after each full sweep; NULL: not told */
	void *ctx;
};

/* Starts the threads. */
struct sweeper *sweep_start(const struct sweep_opts *o) must_use;
/* Ends the threads (the cancel has been triggered) and frees. */
void sweep_stop(struct sweeper *s);
/* Sweep this app's pods now; the key is queued when that is done. */
void sweep_request(struct sweeper *s, const char *key);
/* One full sweep, in the caller's thread. */
void sweep_now(struct sweeper *s);
/* What the last sweep of that app says of n pods, by UID; states[i] belongs to pods[i]. */
void sweep_states(struct sweeper *s, const char *key, const struct fleet_pod *pods, size_t n,
		  struct pod_state *states);

#endif
