/*
 * cache_impl.h - the inside of cache.h: cache.c takes notice of objects, cache_read.c hands them out. For these two
 * alone.
 */
#ifndef CONTROLLER_CACHE_IMPL_H
#define CONTROLLER_CACHE_IMPL_H

#include <pthread.h>

#include "common/map.h"
#include "common/squeeze.h"
#include "controller/cache.h"
#include "controller/cache_graves.h"

/* What cache_brief() tells, so that nobody has to parse the text for it. */
union entry_brief {
	struct {
		char phase[CACHE_PHASE];
		bool deleting;
	} app; /* of a WorkerApp */
	struct {
		int replicas, partition;
	} size; /* of a StatefulSet */
};

/* Small, and in one piece: a large cluster has a hundred thousand of them. */
struct entry {
	unsigned names, body; /* where they begin in bytes; no body: a pod that is no member */
	unsigned char model;  /* of the body */
	bool unlisted;	      /* the list that runs has not shown it, and it was there before */
	/*
	 * Of a WorkerApp and a StatefulSet the brief; the names: UID, NUL, resourceVersion, NUL; and a struct
	 * squeezed: the object's compact text, of a pod its struct fleet_pod.
	 */
	_Alignas(unsigned) char bytes[];
};

const char *entry_uid(const struct entry *x);
const char *entry_version(const struct entry *x);
const struct squeezed *entry_body(const struct entry *x); /* NULL: it has none */
/* Of one that has it. */
const union entry_brief *entry_brief(const struct entry *x);

/* The pods of one app. */
struct pod_set {
	struct map *by_name; /* name -> struct entry */
};

/* As without a status, and with one; and room for some that have nothing to do with ours. */
enum { CACHE_MODELS = 6 };

struct cache {
	pthread_mutex_t lock;
	struct map *objects
		[CACHE_KINDS]; /* "namespace/name" -> struct entry; of pods: app key -> struct pod_set */
	/* Bodies that were unlike those before them, owned; kept to the end. */
	struct squeeze_model models[CACHE_KINDS][CACHE_MODELS];
	size_t pods;
	struct graves graves;
};

/* "namespace/name"; false: there is no room, or no name. */
bool cache_join(char *to, size_t room, const char *ns, const char *name);
/* The object of an entry, under the lock; the caller's. NULL: it cannot be read. */
struct json *cache_read_entry(const struct cache *c, enum cache_kind kind,
			      const struct entry *x) must_use;

#endif
