/*
 * bucket.h - what a turn has to know of the app's bucket: the store connection (spec.storeRef), the Secrets that the
 * pods use, and the deploy pointer. Whatever of it is away changes nothing of a fleet that runs.
 */
#ifndef CONTROLLER_BUCKET_H
#define CONTROLLER_BUCKET_H

#include "common/celld/pointer.h"
#include "common/digest.h"
#include "common/workerapp.h"
#include "controller/status.h"

struct turn;
struct reconcile_opts;

/* All zero at the start of a turn. */
struct bucket_view {
	struct json *store_doc; /* of spec.storeRef; NULL: none, or it is missing */
	struct wa_bucket store;
	bool store_missing;
	char config_hash[DIGEST_HEX]; /* "": none */
	bool unread; /* a Secret that the pods use was not read yet, and there is no fleet to go by */
	char version[CELLD_VERSION_ID]; /* what `auto` means; "": not known */
	char pointer
		[CELLD_VERSION_ID]; /* what the bucket's pointer names, as last read; "": never read */
	struct status_condition credentials, tracking; /* type NULL: does not apply */
};

/*
 * Before a version is chosen: finds the store, wants Secrets and pointer, fills the view and input.store. t->input
 * has app, table and version. No requests: all of it is read elsewhere, and brings the key back when it changes.
 */
void bucket_look(struct turn *t);
/* Whether endpoint may change as it does (the verdict's refusal and stop_all follow from it). After the verdict. */
void bucket_judge(struct turn *t, bool due);
/* After the decision: what cannot be rendered now is not written. */
void bucket_hold(struct turn *t);
/* Adds up to 2 conditions; returns how many. */
size_t bucket_conditions(const struct turn *t, struct status_condition *to);
/* The turn ends: tells the store that is used, and an Event when the pointer was written again. */
void bucket_tell(struct turn *t);
void bucket_view_done(struct bucket_view *v);
/* The app is gone. */
void bucket_forget(const struct reconcile_opts *o, const char *key);

#endif
