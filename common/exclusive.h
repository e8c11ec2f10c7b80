/*
 * exclusive.h - what one app holds to the exclusion of all others: its prefix of a bucket, its host
 * names. Pure (tier 2).
 *
 * A prefix is a place: scheme, host of the endpoint (Amazon's own count as none), Azure account,
 * container, and the prefix without a slash at its end. Two apps may not have the same place, nor one
 * inside the other: "apps" holds "apps/chat", not "apps2". A host name with a path is held by one
 * app; a host name by one namespace, and with "*.example.com" every name under it.
 */
#ifndef COMMON_EXCLUSIVE_H
#define COMMON_EXCLUSIVE_H

#include "common/fault.h"
#include "common/strlist.h"
#include "common/workerapp.h"

struct holding {
	const char *namespace, *name, *uid;
	const char
		*created; /* RFC 3339 in UTC, as the API server writes it; NULL: not stored yet */
	/* of the bucket */
	enum bucket_scheme scheme;
	const char *store; /* storeRef; NULL: inline */
	const char *host, *account, *container, *prefix;
	/* of the routes */
	struct strlist hosts;
	const char *path; /* without a slash at its end: "" is all */
	/* for those who ask about the app itself */
	bool fleet, recreate;
	bool claimed; /* holdings.h's own */
	char texts[]; /* all of the above: a large cluster has thousands of these */
};

struct holding *holding_of(const struct workerapp *app) must_use;
void holding_free(struct holding *h);
define_cleanup(struct holding *, holding_free);
#define cleanup_holding cleanup(holding_free_cleanup)

/* What a store says of its apps' places. */
struct holding_store {
	char *host, *account;
};
struct holding_store *holding_store_of(const struct json *store) must_use;
void holding_store_free(struct holding_store *s);

/*
 * Adds a fault for what mine and other cannot both hold. A store is NULL for an app that has none; an
 * app whose store is not known (h->store, and NULL here) has no place yet.
 */
void exclusive_judge(const struct holding *mine, const struct holding_store *my_store,
		     const struct holding *other, const struct holding_store *other_store,
		     struct faults *faults);
/* Whether of two apps with these host names, each a name or "*." and a name, only one can have its own. */
bool exclusive_hosts_clash(const char *a, const char *b, bool same_namespace, bool same_path);
/*
 * Numbers by which those that cannot both have what they hold find each other: one of those that a is asked by is
 * among those that b is kept by. Of a few, each is compared then; with all, each app would be compared with every
 * other one.
 */
void exclusive_kept_by(const struct holding *b, void (*f)(uint64_t key, void *ctx), void *ctx);
void exclusive_asked_by(const struct holding *a, void (*f)(uint64_t key, void *ctx), void *ctx);
/* Both are kept by the same numbers, in the same order. */
bool exclusive_are_kept_alike(const struct holding *a, const struct holding *b);
/* a came before b: by creationTimestamp, then uid. One that is not stored yet came last. */
bool exclusive_is_older(const struct holding *a, const struct holding *b);

/* The rules of the faults above. */
#define EXCLUSIVE_BUCKET "bucket-shared"
#define EXCLUSIVE_HOST	 "hostname-held"

#endif
