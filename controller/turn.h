/*
 * turn.h - what one turn of reconciliation works on; shared by the files reconcile, workload and children.
 */
#ifndef CONTROLLER_TURN_H
#define CONTROLLER_TURN_H

#include "common/kube/event.h"
#include "controller/around.h"
#include "controller/bucket.h"
#include "controller/observe.h"
#include "controller/reconcile.h"
#include "controller/trouble.h"
#include "controller/verdict.h"

struct turn {
	const struct reconcile_opts *o;
	struct status_writer *statuses;
	const struct settings_view *view;  /* of the whole turn; NULL: it has not begun */
	struct status_condition exclusive; /* BucketExclusive */
	const char *key;
	struct workerapp *app;
	struct faults faults; /* of reading it */
	char *name;	      /* of StatefulSet, Service ... */

	struct desired_input input;
	struct bucket_view bucket;
	bool version_known;
	const char *expected; /* version that the fleet should serve; NULL: not known */
	char *app_version;    /* of the template */

	struct json *sts; /* live or cached; NULL: none */
	struct fleet_sts facts;
	struct fleet_pod *pods;
	struct pod_state *states;
	size_t n_pods;

	struct fleet_memory *memory;
	struct verdict verdict;
	struct rollout_obs *obs;
	struct rollout_decision decision;
	struct around_view around;
	bool leaving;	    /* the StatefulSet ends, or is of an earlier app of this name */
	char *refused_text; /* why no pod is made; NULL: not known */
	bool foreign;	    /* an object of ours by name belongs to somebody else */
	struct trouble trouble;
};

/* Reads StatefulSet and pods: from the cache, or from the API server. */
void turn_read_cached(struct turn *t);
int turn_read_live(struct turn *t, struct err *e);
/* Fills verdict, obs and decision from what was read. */
void turn_decide(struct turn *t);
/*
 * Whether the spec is acted on. One that is refused, for whatever reason, changes the status alone: the workload and
 * every object around it stay as they are.
 */
bool turn_acts(const struct turn *t);
/* The app, for Events; lent by t. */
struct event_about turn_about(const struct turn *t);
/* Whether this celld says in /state which version it serves. */
bool turn_serves_version(const struct turn *t);
void turn_done(struct turn *t);

/*
 * Makes every child but the StatefulSet what it should be. Sets t->foreign and returns 0 for a foreign one. One that is
 * refused is noted in t->trouble, and the others are made all the same.
 */
int children_apply(struct turn *t, struct err *e);
/*
 * Makes one object, which is taken, what it should be. *ret_live (may be NULL): what is there then, the caller's.
 * ERR_EXISTS: it is somebody else's. What somebody undoes again and again is noted in t->trouble, and 0 is returned.
 */
int children_put(struct turn *t, enum cache_kind kind, struct json *object, struct json **ret_live,
		 struct err *e);
/*
 * Whether the write of want, which is due, has to wait because somebody undoes it again and again: then that is noted
 * in t->trouble, and the key comes back.
 */
bool children_held(struct turn *t, enum cache_kind kind, const char *name, const struct json *want);
/* want was written: what children_held() goes by. */
void children_wrote(struct turn *t, enum cache_kind kind, const char *name,
		    const struct json *want);
/*
 * Lets the apply of want make an object, never change one: no object has this resourceVersion (etcd's first write is
 * 2), so that the apply of one that exists is a conflict.
 */
void children_only_new(struct json *want);
/* An object that the cache did not have was there; from then on it is asked for before it is made. */
bool children_asks_first(const struct turn *t, enum cache_kind kind);
void children_ask_first(struct turn *t, enum cache_kind kind);
/* Deletes an object of ours that the cache knows; 0 when there is none. */
int children_drop(struct turn *t, enum cache_kind kind, const char *name, struct err *e);
/* Whether live is the app's: by its controller reference, or adoptable (ownerless, our label, our manager). */
bool children_is_ours(const struct turn *t, const struct json *live);
/* Claims cannot be added to a StatefulSet or taken from it: the write of t->decision deletes it, empty as it is. */
bool workload_is_replaced(const struct turn *t);
/* Whether live was made for an earlier app of this name: the garbage collector takes it away. */
bool children_is_former(const struct turn *t, const struct json *live);
/* Somebody undoes the write of t->decision again and again: it waits, as children_held() says. */
bool workload_held(struct turn *t);
/* It was written. */
void workload_wrote(struct turn *t);
/* Sends the write of t->decision; the answer goes into the cache. */
int workload_write(struct turn *t, struct err *e);
/*
 * The StatefulSet is the app's, and nobody has noted in it which spec it was made for: another operator's, or
 * somebody has taken the annotation away. It is taken over as it is: what runs stays until the spec changes.
 */
bool workload_adopts(const struct turn *t);
/* Notes the spec in it, with the live template, and takes the partition to rest. */
int workload_take_over(struct turn *t, struct err *e);
/* The StatefulSet's template differs from what the spec asks for, or from what we wrote. */
bool workload_due(const struct turn *t);

#endif
