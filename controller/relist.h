/*
 * relist.h - brings the cache in line with a list that a watch makes anew.
 */
#ifndef CONTROLLER_RELIST_H
#define CONTROLLER_RELIST_H

#include "common/kube/watch.h"
#include "controller/cache.h"
#include "controller/queue.h"

/* Takes a step of the list in; the apps of what has changed by it are queued. */
void relist_step(struct cache *c, struct queue *q, enum cache_kind kind,
		 const struct kube_relist *r);

#endif
