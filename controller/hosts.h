/*
 * hosts.h - which app holds which hostname. Thread-safe.
 *
 * A (hostname, path) belongs to one app, and a hostname to one namespace, within which apps may share it by path. A
 * wildcard and a name that it covers clash between namespaces. Who came first (creationTimestamp, then UID) keeps it;
 * when it goes, the next in line gets it.
 */
#ifndef CONTROLLER_HOSTS_H
#define CONTROLLER_HOSTS_H

#include "common/json.h"
#include "common/strlist.h"

struct hosts;

struct hosts *hosts_new(void) must_use;
void hosts_free(struct hosts *h);

/* Takes notice of a WorkerApp. ret_touched: the other apps ("namespace/name") that hold or want something of it. */
void hosts_put(struct hosts *h, const struct json *app, struct strlist *ret_touched);
void hosts_remove(struct hosts *h, const struct json *app, struct strlist *ret_touched);
/*
 * The hostnames of an app that are its own, in their order: those of app as the caller has read it, since what was
 * noticed of it may be older or newer. False: some are not; then *ret_lost is one of them and *ret_winner who has it
 * ("namespace/name"), both the caller's.
 */
bool hosts_of(struct hosts *h, const struct json *app, struct strlist *ret_own, char **ret_lost,
	      char **ret_winner);

#endif
