/*
 * fleet_view.h - what `kubectl-celld status` shows of a fleet, as one JSON document: the app's status, where its
 * storage is, and its pods. Made of objects as the cluster has them; nothing is asked here.
 */
#ifndef CLI_FLEET_VIEW_H
#define CLI_FLEET_VIEW_H

#include "common/json.h"

/*
 * {namespace, name, phase, ready, current, message, url, celld: {image, versions}, appVersion: {asked, expected,
 * rolledOut, policy}, storage: {bucket, endpoint, region, storageAccount, store, storeMissing, credentials,
 * tracking}, fleet, rollout, pods: [{name, phase, ready, celld, appVersion, swapping, draining, revision, restarts,
 * node, trouble}], conditions}; absent is what the cluster does not say.
 *	ready	 the condition is True, and for the spec as it is now
 *	current	 the status speaks of the spec as it is now
 * store: the CelldObjectStore that the app names, NULL: none, or there is none. pods: items of a list; those of this
 * app, in the order of their ordinals, are shown.
 */
struct json *fleet_view(const struct json *app, const struct json *store,
			const struct json *pods) must_use;

#endif
