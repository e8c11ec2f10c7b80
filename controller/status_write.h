/*
 * status_write.h - writes the status of a WorkerApp or a CelldObjectStore, when it is another one than what is stored.
 *
 * The definition (CRD) in the cluster may be older than the operator. A server-side apply that names a member which
 * it does not have is refused as a whole, and then nobody would see any status. So the members that a refusal names
 * are left out, of every object of the kind, and the write goes again. A quarter of an hour later they are tried
 * anew: somebody may have mended the definition.
 */
#ifndef CONTROLLER_STATUS_WRITE_H
#define CONTROLLER_STATUS_WRITE_H

#include "common/json.h"
#include "controller/cache.h"

struct kube_client;
struct status_writer;

enum { STATUS_WRITE_AGAIN_MS = 900000 };

struct status_target {
	const char *namespace, *name, *uid, *resource_version;
	const struct json *stored; /* its status; NULL: none */
	int64_t now_ms;		   /* monotonic */
};

struct status_outcome {
	bool wrote;
	/* Members that the definition turned out not to have: "status.url, status.fleet.ready"; NULL: none. Owned. */
	char *lacking;
};

/* For one kind: CACHE_APP or CACHE_STORE. client and cache are lent. */
struct status_writer *status_writer_new(struct kube_client *client, struct cache *cache,
					enum cache_kind kind) must_use;
void status_writer_free(struct status_writer *w);
/* What cannot be stored is taken out of status. The answer goes into the cache. *ret is filled in any case. */
int status_write(struct status_writer *w, const struct status_target *to, struct json *status,
		 struct status_outcome *ret, struct err *e);

#endif
