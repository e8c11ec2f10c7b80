/*
 * reconcile.h - one turn for one app: observe, decide, do at most one thing to its workload, say so in its status.
 */
#ifndef CONTROLLER_RECONCILE_H
#define CONTROLLER_RECONCILE_H

#include "controller/cache.h"
#include "controller/desired.h"
#include "controller/queue.h"
#include "controller/sweep.h"

struct kube_client;
struct secrets;
struct slots;
struct stores;
struct tracker;
struct event_recorder;
struct around;

#define STATUS_MANAGER "celld-operator-status"

struct reconcile_opts {
	struct kube_client *client; /* lent, like all below */
	struct cache *cache;
	struct queue *queue;
	struct sweeper *sweeper;
	struct event_recorder *events;
	struct around *around;
	struct settings *settings;
	struct holdings *holdings;
	struct secrets *secrets;
	struct tracker *tracker;
	struct stores *stores;
	struct slots *slots;
	const char *operator_namespace;
	bool ipv6; /* pods of this cluster have IPv6 addresses */
	int64_t settle_ms, hold_ms, recheck_ms;
};

struct reconciler;

struct reconciler *reconcile_new(const struct reconcile_opts *o) must_use;
void reconcile_free(struct reconciler *r);
/* One turn for "namespace/name". False: it failed, and wants to come back after a back-off. */
bool reconcile(struct reconciler *r, const char *key);

#endif
