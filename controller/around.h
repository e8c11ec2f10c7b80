/*
 * around.h - what lies around a fleet: its route, its mesh policy, its autoscaler. They depend on kinds that a
 * cluster may not have, and on other apps (a hostname belongs to one); nothing of them ever holds the fleet itself,
 * but for an autoscaler that has not confirmed its pause.
 */
#ifndef CONTROLLER_AROUND_H
#define CONTROLLER_AROUND_H

#include "common/kube/watch.h"
#include "common/strlist.h"
#include "controller/cache.h"
#include "controller/desired_flags.h"
#include "controller/queue.h"
#include "controller/scaling.h"
#include "controller/status.h"

struct turn;
struct around;

struct around_opts {
	struct kube_config *config; /* lent, like all below */
	struct kube_client *client;
	struct cache *cache;
	struct queue *queue;
	const struct strlist *namespaces;
	const struct desired_flags *flags;
	int64_t discovery_ms;
	void (*changed)(void *ctx); /* all apps are to be looked at again; from any thread */
	void *ctx;
};

struct around *around_new(const struct around_opts *o) must_use;
/* Begins to look for the optional kinds. */
void around_run(struct around *a);
/* Ends its threads. */
void around_free(struct around *a);
/* What the cluster has is known; before, nobody should judge. */
bool around_settled(struct around *a);
/* Tells of a WorkerApp that the watch has seen. */
void around_app(struct around *a, enum kube_watch_type type, const struct json *app);

/* What one turn knows; all zero at its start. */
struct around_view {
	struct strlist hostnames;   /* the app's own */
	char *lost, *winner;	    /* hosts.h; NULL: nothing is lost */
	struct json *scaled_object; /* live, ours; NULL: none */
	struct scaling scaling;
	struct status_condition ingress, mesh, autoscaling; /* type NULL: does not apply */
	char *url; /* where the app is reached from outside; NULL: nowhere */
};

/* Fills the view and what of t->input comes from here; no requests. */
void around_observe(struct turn *t);
/* Makes, changes and deletes. What goes wrong is said in a condition; an error only when the turn has to begin anew. */
int around_apply(struct turn *t, struct err *e);
/* Adds up to 3 conditions; returns how many. */
size_t around_conditions(const struct turn *t, struct status_condition *to);
void around_view_done(struct around_view *v);

#endif
