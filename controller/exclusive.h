/*
 * exclusive.h - of two apps on one bucket prefix the older one keeps it.
 *
 * The loser has no workload made for it. Where a younger one runs already the older one is the loser,
 * because two fleets on one prefix corrupt each other; where both run the younger one is told, and left
 * running.
 */
#ifndef CONTROLLER_EXCLUSIVE_H
#define CONTROLLER_EXCLUSIVE_H

#include "common/holdings.h"
#include "common/kube/watch.h"
#include "controller/queue.h"
#include "controller/turn.h"

/* Takes notice of an app or (store) of a CelldObjectStore, and queues the apps that it concerns. */
void exclusive_event(struct holdings *h, struct queue *q, bool store, enum kube_watch_type type,
		     const struct json *object);
/*
 * Something of an app has gone (its key): with the last of it goes what the app is remembered for after its end, which
 * without this nobody but a rival would ask for.
 */
void exclusive_let_go(struct holdings *h, struct cache *c, const char *key);
/*
 * Fills the condition BucketExclusive. runs: the app has a StatefulSet. False: the bucket is not the
 * app's own, so that it may not be started.
 */
bool exclusive_condition(const struct reconcile_opts *o, const struct workerapp *app, bool runs,
			 struct status_condition *ret);

#endif
