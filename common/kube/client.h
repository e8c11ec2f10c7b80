/*
 * client.h - single requests to the API server: read, apply, patch, delete.
 *
 * One struct kube_client serves any number of threads. Every call blocks its thread until the answer, the timeout, or
 * the cancel; nothing is retried in here except one repetition after 401 with credentials read anew. What to do after
 * an error is the caller's decision, by its code:
 *	NOT_FOUND	404
 *	EXISTS		409 AlreadyExists
 *	CONFLICT	409 otherwise: read again, decide again
 *	GONE		410
 *	UNAUTHORIZED	401
 *	FORBIDDEN	403
 *	INVALID		400, 422: our fault, message is the server's
 *	TOO_LARGE	413
 *	THROTTLED	429
 *	UNAVAILABLE	500, 502, 503, no connection
 *	TIMEOUT		504, no answer in time: a write may have happened
 *	PROTOCOL	an answer that is none
 *	CANCELED	by the cancel, or by the fence before anything was sent
 * e->http_status and e->retry_after_ms carry the answer's; e->message is Status.message when the server sent one.
 *
 * Paths: every segment is percent-encoded. Answers: "Accept: application/json", parsed by json_parse.
 */
#ifndef COMMON_KUBE_CLIENT_H
#define COMMON_KUBE_CLIENT_H

#include "common/base.h"
#include "common/err.h"

struct http_cancel;
struct json;
struct kube_config;
struct kube_client;

struct kube_kind {
	const char *group; /* "" for the core group */
	const char *version;
	const char *plural;
	const char *kind;
	bool namespaced;
};

struct kube_client_opts {
	struct kube_config *config; /* lent; outlives the client */
	struct http_cancel *cancel; /* lent; may be NULL */
	const char *user_agent;	    /* "celld-controller/1.2" ; NULL: "celld-operator" */
	double qps;		    /* requests per second over all threads; 0: no limit */
	int burst;		    /* requests that may go at once; 0: 2 * qps, at least 1 */
	/*
	 * The fence: asked right before each write is sent (after the wait for the rate limit), in
	 * the caller's thread. Answers for how many milliseconds from now writing is allowed: at
	 * most 0 refuses with ERR_CANCELED, else the write's timeout is cut to it. NULL: always
	 * allowed.
	 */
	int64_t (*may_write)(void *ctx);
	void *may_write_ctx;
};

struct kube_client *kube_client_new(const struct kube_client_opts *o) must_use;
void kube_client_free(struct kube_client *c);
define_cleanup(struct kube_client *, kube_client_free);

enum { KUBE_TIMEOUT_MS = 30000 }; /* what a timeout of 0 means below */

/* Below: ns NULL or "" for cluster-scoped kinds; timeout_ms covers the waiting for the rate limit
 * too; *ret is the caller's, written on success only; ret may be NULL where it says so. */

int kube_get(struct kube_client *c, const struct kube_kind *k, const char *ns, const char *name,
	     int64_t timeout_ms, struct json **ret, struct err *e);

/*
 * The whole collection as one object {"metadata": {"resourceVersion"}, "items": []}, read in pages
 * of 500. ns NULL: all namespaces. label_selector may be NULL. When a page's continue token has
 * expired (410) the list starts again (three times, then ERR_GONE); so the result is always of one
 * moment. Consistent read (no resourceVersion given). timeout_ms is that of each page.
 */
int kube_list(struct kube_client *c, const struct kube_kind *k, const char *ns,
	      const char *label_selector, int64_t timeout_ms, struct json **ret, struct err *e);

/* POST. ret may be NULL. With metadata.generateName the answer has the name. */
int kube_create(struct kube_client *c, const struct kube_kind *k, const char *ns,
		const struct json *object, int64_t timeout_ms, struct json **ret, struct err *e);

/* PUT of the whole object, which has to carry metadata.resourceVersion. ret may be NULL.
 * subresource NULL: none. */
int kube_replace(struct kube_client *c, const struct kube_kind *k, const char *ns, const char *name,
		 const char *subresource, const struct json *object, int64_t timeout_ms,
		 struct json **ret, struct err *e);

struct kube_apply_opts {
	const char *field_manager; /* required, <= 128 printable characters */
	bool force;		   /* take fields from other managers */
	bool dry_run;
	const char *subresource; /* "status"; NULL: the object itself */
	int64_t timeout_ms;
};

/*
 * Server-side apply. object: apiVersion, kind, metadata.name and the fields we own. A
 * metadata.resourceVersion or uid in it is a precondition, ERR_CONFLICT when it does not hold. Only
 * the uid keeps an object that is gone from being made anew: the server takes an apply with a
 * resourceVersion alone as a creation then (seen with 1.36). name comes from object. ret may be
 * NULL. *ret's resourceVersion equals the one read before when nothing changed.
 */
int kube_apply(struct kube_client *c, const struct kube_kind *k, const char *ns,
	       const struct json *object, const struct kube_apply_opts *o, struct json **ret,
	       struct err *e);

enum kube_patch { KUBE_PATCH_MERGE, KUBE_PATCH_JSON };

/* RFC 7386 or RFC 6902 (patch is then an array). ret may be NULL. */
int kube_patch(struct kube_client *c, const struct kube_kind *k, const char *ns, const char *name,
	       const char *subresource, enum kube_patch type, const struct json *patch,
	       int64_t timeout_ms, struct json **ret, struct err *e);

struct kube_delete_opts {
	const char *uid;	      /* precondition; NULL: none */
	const char *resource_version; /* precondition; NULL: none */
	const char *propagation;      /* "Background" "Foreground" "Orphan"; NULL: the kind's own */
	int64_t grace_seconds;	      /* negative: the object's own */
	int64_t timeout_ms;
};

/* A precondition that does not hold is ERR_CONFLICT; an object that is gone ERR_NOT_FOUND. */
int kube_delete(struct kube_client *c, const struct kube_kind *k, const char *ns, const char *name,
		const struct kube_delete_opts *o, struct err *e);

/* GET of a path below the server ("/version", "/apis/apps/v1"), which is sent as it stands. ret:
 * the JSON answer. */
int kube_raw_get(struct kube_client *c, const char *path, int64_t timeout_ms, struct json **ret,
		 struct err *e);

/* Requests so far, for metrics: f is called once for each (verb, code) seen, under a lock: it must
 * not call the client. verb: GET LIST POST PUT PATCH APPLY DELETE; code: HTTP status, 0 without an
 * answer. */
void kube_client_counts(struct kube_client *c,
			void (*f)(void *ctx, const char *verb, int code, int64_t count), void *ctx);

#endif
