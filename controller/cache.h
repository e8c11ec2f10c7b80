/*
 * cache.h - what the watches have seen, for the workers. Thread-safe; what it hands out is the caller's.
 *
 * Objects are kept as compact JSON text, pods as struct fleet_pod. The response of an own write is put in as well; an
 * event that is older than what the cache has is dropped, so a reader never goes back in time.
 */
#ifndef CONTROLLER_CACHE_H
#define CONTROLLER_CACHE_H

#include "common/json.h"
#include "common/kube/client.h"
#include "common/strlist.h"
#include "controller/fleet.h"

/* Kinds that are watched; the order is that of cache_kinds. */
enum cache_kind {
	CACHE_APP,
	CACHE_STATEFULSET,
	CACHE_POD,
	CACHE_SERVICE,
	CACHE_SERVICE_ACCOUNT,
	CACHE_PDB,
	CACHE_NETWORK_POLICY,
	CACHE_STORE,	/* CelldObjectStores: all of them */
	CACHE_OPTIONAL, /* from here on: watched while the API server has them (discovery.h) */
	CACHE_HTTPROUTE = CACHE_OPTIONAL,
	CACHE_INGRESS,
	CACHE_VIRTUALSERVICE,
	CACHE_AUTHORIZATION_POLICY,
	CACHE_SCALED_OBJECT,
	CACHE_HPA, /* all of them, ours or not */
	CACHE_KINDS,
};

extern const struct kube_kind cache_kinds[CACHE_KINDS];

struct cache;

struct cache *cache_new(void) must_use;
void cache_free(struct cache *c);

/*
 * The key "namespace/app" of the app that an object belongs to (by its label; a WorkerApp is its own; an autoscaler's
 * by the StatefulSet that it scales); false: to none. That of a CelldObjectStore is "@namespace/name".
 */
bool cache_key_of(enum cache_kind kind, const struct json *object, char *key, size_t room);
/* Takes notice of an object. False: it is not newer than what is there, and nothing happened. */
bool cache_put(struct cache *c, enum cache_kind kind, const struct json *object);
/* The same of the answer to a write of ours, which may be late: what was deleted since does not come back. */
bool cache_put_answer(struct cache *c, enum cache_kind kind, const struct json *object);
/*
 * A list of the whole kind, of a namespace or (NULL) of all: what is known since before it began has to stand against
 * it. An entry with a larger resourceVersion than the list shows is either newer than the list (an own write that was
 * answered meanwhile) and stays, or, not being newer than the list itself, of a past that the server has lost, and
 * goes. version: of the list; NULL: the server went back behind what was seen, so that no older entry counts.
 */
void cache_list_begin(struct cache *c, enum cache_kind kind, const char *ns);
/* Takes notice of an object of it. False: nothing happened. */
bool cache_listed(struct cache *c, enum cache_kind kind, const struct json *object,
		  const char *version);
/* Forgets what it did not show. The keys of their apps are added to ret_keys. */
void cache_list_end(struct cache *c, enum cache_kind kind, const char *ns, const char *version,
		    struct strlist *ret_keys);
/*
 * Forgets an object that was deleted, however little of it is known (a deletion that was missed leaves no labels);
 * key: of the app that it belonged to. False: it was not known, or another of its name has taken its place.
 */
bool cache_gone(struct cache *c, enum cache_kind kind, const struct json *object, char *key,
		size_t room);
/* Forgets an object, unless another of its name (another UID) has taken its place. */
void cache_remove(struct cache *c, enum cache_kind kind, const struct json *object);
/* A copy of the object, or NULL. */
struct json *cache_get(struct cache *c, enum cache_kind kind, const char *ns,
		       const char *name) must_use;
/* Copies of all objects of a namespace, a list. */
struct json *cache_list(struct cache *c, enum cache_kind kind, const char *ns) must_use;
/* Forgets every object of a kind that is not watched any more. */
void cache_clear(struct cache *c, enum cache_kind kind);
/* The pods of an app, the caller's array (free). */
struct fleet_pod *cache_pods(struct cache *c, const char *key, size_t *ret_n) must_use;
/* What sweeps and metrics need of a fleet, read once per event. */
enum { CACHE_PHASE = 15 };

struct cache_brief {
	char sts_uid[FLEET_UID]; /* "": there is no StatefulSet */
	int replicas, partition; /* of it */
	char phase[CACHE_PHASE]; /* of the WorkerApp's status; "": none written yet */
	bool deleting;		 /* the WorkerApp is */
};
/* False: there is no such app. */
bool cache_brief(struct cache *c, const char *key, struct cache_brief *ret);
/* All objects of a kind (not pods) as "namespace/name". */
void cache_names(struct cache *c, enum cache_kind kind, struct strlist *ret);
/* All apps as "namespace/name". */
void cache_apps(struct cache *c, struct strlist *ret);
size_t cache_count(struct cache *c, enum cache_kind kind);
/* a is a newer resourceVersion than b (both decimal, as etcd counts them). */
bool cache_newer(const char *a, const char *b);

#endif
