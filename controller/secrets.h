/*
 * secrets.h - the Secrets that apps use, read by name, each interval, in a thread of its own. There is no list and no
 * watch of Secrets: the operator's role has `get` alone. Kept are digests of their keys, and, of Secrets that
 * tracking reads the bucket with, the credentials themselves (secret.h).
 *
 * A Secret that cannot be read for any other cause than that it is not there stays as it was.
 */
#ifndef CONTROLLER_SECRETS_H
#define CONTROLLER_SECRETS_H

#include "common/digest.h"
#include "common/store/store.h"
#include "controller/queue.h"

struct kube_client;
struct secrets;

struct secrets_opts {
	struct kube_client *client; /* lent, like all below */
	struct queue *queue;	    /* told of the apps whose Secret has changed */
	int64_t interval_ms;
	bool (*active)(void *ctx); /* do we lead? */
	void *ctx;
};

enum secret_state {
	SECRET_UNREAD, /* not yet */
	SECRET_FOUND,
	SECRET_MISSING,
};

struct secrets *secrets_start(const struct secrets_opts *o) must_use;
/* Ends the thread (the client's cancel has been triggered) and frees. */
void secrets_stop(struct secrets *s);

/*
 * All Secrets of ns that the app (its key) uses now; those that it used before and does not name any more are
 * forgotten when nobody else uses them. New ones are read at once. An empty list: the app is gone.
 */
void secrets_want(struct secrets *s, const char *app, const char *ns, const struct strlist *names);
enum secret_state secrets_state(struct secrets *s, const char *ns, const char *name);
/* Digest of one key's value; false: the Secret has no such key, or is not known. */
bool secrets_digest(struct secrets *s, const char *ns, const char *name, const char *key,
		    char hex[DIGEST_HEX]);
/*
 * The credentials in it, a copy, and a digest of them that tells when they change. The state as it is; SECRET_FOUND
 * fills both.
 */
enum secret_state secrets_credentials(struct secrets *s, const char *ns, const char *name,
				      struct store_keys *ret, char hex[DIGEST_HEX]);
/* Somebody was refused with it: read it again soon, at most each 5 s. */
void secrets_again(struct secrets *s, const char *ns, const char *name);

#endif
