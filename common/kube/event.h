/*
 * event.h - events.k8s.io/v1 Events about objects, for people.
 *
 * Fire and forget: event_emit() only queues (any thread, never blocks on the network);
 * event_flush() sends, in the thread of its caller. A full queue drops the newest, a failed request
 * drops its event; both are counted. Events are never the record of anything that the program
 * needs.
 *
 * Repeats: the same (object, type, reason, action, note) within 6 minutes is one Event whose series
 * counts. The first repeat is written, later ones at most each 30 minutes; so something that is
 * true all the time writes nothing. Per object at most 25 new Events at once and then one each 300
 * s; the rest is dropped.
 */
#ifndef COMMON_KUBE_EVENT_H
#define COMMON_KUBE_EVENT_H

#include "common/base.h"

struct kube_client;
struct event_recorder;

struct event_opts {
	struct kube_client *client; /* lent; its fence holds for Events too */
	const char *controller;	    /* reportingController: "celld.dev/controller" */
	const char *instance;	    /* reportingInstance: the pod's name */
};

/* What the Event is about; texts are copied. */
struct event_about {
	const char *api_version, *kind, *namespace, *name, *uid, *resource_version;
};

struct event_recorder *event_recorder_new(const struct event_opts *o) must_use;
void event_recorder_free(struct event_recorder *r); /* drops what is queued */
define_cleanup(struct event_recorder *, event_recorder_free);

/* warning: type Warning, else Normal. reason, action: CamelCase, cut to 128. note: cut to 1 kB at a character's
 * border. */
void event_emit(struct event_recorder *r, const struct event_about *about, bool warning,
		const char *reason, const char *action, const char *note);
/*
 * Sends what is queued, at most max requests; returns how many are left for a later call. One thread at a time sends,
 * others return 0 at once: it sees to theirs too. A request that gets no answer is the last one: nobody waits for the
 * rest.
 */
size_t event_flush(struct event_recorder *r, int max);

struct event_stats {
	int64_t sent, repeated, dropped;
};
void event_stats(struct event_recorder *r, struct event_stats *ret);

#endif
