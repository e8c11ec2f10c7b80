/*
 * stores.h - CelldObjectStores: who uses them, and their status. A store is a key of the queue too: "@namespace/name".
 */
#ifndef CONTROLLER_STORES_H
#define CONTROLLER_STORES_H

#include "common/workerapp.h"
#include "controller/cache.h"
#include "controller/queue.h"
#include "controller/secrets.h"

struct kube_client;
struct stores;

struct stores_opts {
	struct kube_client *client; /* lent, like all below */
	struct cache *cache;
	struct queue *queue;
	struct secrets *secrets;
};

/* How an app's last read of its bucket went. */
enum stores_reach { STORES_NOT_ASKED, STORES_REACHED, STORES_UNREACHABLE };

struct stores *stores_new(const struct stores_opts *o) must_use;
void stores_free(struct stores *s);
/*
 * What an app (its key) uses now; NULL: no store. no_secret: the Secret that the store names is missing. The stores
 * whose status that changes are queued.
 */
void stores_note(struct stores *s, const char *app, const char *store, enum stores_reach reach,
		 bool no_secret);
bool stores_is_key(const char *key);
/* One turn for a store's key: tells its apps of a change, writes its status. False: come back. */
bool stores_reconcile(struct stores *s, const char *key);

#endif
