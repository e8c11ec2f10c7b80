/*
 * review.h - an AdmissionReview in, the answering AdmissionReview out. Pure, but for what it asks of
 * struct review_world.
 *
 * Only admission.k8s.io/v1 is spoken. One strict pass over the whole body comes first; then trees of
 * object and oldObject alone are built, without their managedFields, which nobody here reads. The
 * uid goes back as the very bytes that came.
 *
 * CREATE and UPDATE are judged; DELETE and CONNECT, and every write to `status`, are allowed
 * unseen, so that nothing can hold up a deletion or the controller. An UPDATE that leaves the spec's
 * bytes as they were (labels, finalizers) is allowed without a look. What cannot be judged (another
 * operation, an unknown subresource, no object) is denied, never passed.
 */
#ifndef WEBHOOK_REVIEW_H
#define WEBHOOK_REVIEW_H

#include "common/buf.h"
#include "common/json_scan.h"
#include "common/workerapp_defaults.h"
#include "common/workerapp_rules.h"

enum review_endpoint {
	REVIEW_MUTATE_WORKERAPP, /* never denies; a patch where the platform's defaults fill */
	REVIEW_VALIDATE_WORKERAPP,
	REVIEW_VALIDATE_SCALE, /* autoscaling/v1 Scale of a WorkerApp */
	REVIEW_VALIDATE_STORE, /* CelldObjectStore */
};

enum review_verdict {
	REVIEW_ALLOWED,
	REVIEW_DENIED,
	REVIEW_BROKEN, /* no review that can be answered: HTTP 400 */
};

enum { REVIEW_UID_MAX = 256, REVIEW_SUBJECT_TEXT = 352 };

struct review_result {
	enum review_verdict verdict;
	char subject[REVIEW_SUBJECT_TEXT]; /* "NAMESPACE/NAME" of a denied one, for the log */
};

/*
 * What is known of the cluster's other objects. NULL instead of it: nobody looks. Each may be NULL.
 * What cannot be known at the moment allows, with a warning.
 */
struct review_world {
	void *ctx;
	/* Faults for what app would take from another one; old: the stored object of an UPDATE. */
	void (*exclusive)(void *ctx, const struct workerapp *app, const struct workerapp *old,
			  struct faults *faults, struct strlist *warnings);
	/* Whether the app is known, and then whether its durability is `fleet`. */
	bool (*durability)(void *ctx, const char *namespace, const char *name, bool *ret_fleet);
	/* The apps that use a store and roll, as "namespace/name". */
	void (*users)(void *ctx, const char *namespace, const char *store, struct strlist *ret);
};

/* What a review is judged by. */
struct review_facts {
	const struct review_world *world;
	struct rules_facts rules;
	const struct workerapp_defaults *defaults; /* NULL: none */
};

/*
 * body[0..len) must be followed by JS_PAD zero bytes. The answer is appended to `to`: JSON, or for
 * REVIEW_BROKEN one line of text that says why. scan is scratch memory of the calling thread.
 */
struct review_result review_answer(enum review_endpoint endpoint, js_ctx *scan, const char *body,
				   size_t len, const struct review_facts *facts, struct buf *to);

#endif
