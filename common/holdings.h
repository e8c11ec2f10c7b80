/*
 * holdings.h - what all apps of a cluster hold, as the watch has seen it; for webhook and controller.
 * Thread-safe. What each app and store holds is kept, never the object.
 */
#ifndef COMMON_HOLDINGS_H
#define COMMON_HOLDINGS_H

#include "common/exclusive.h"

struct holdings;

struct holdings *holdings_new(void) must_use;
void holdings_free(struct holdings *h);
define_cleanup(struct holdings *, holdings_free);
#define cleanup_holdings cleanup(holdings_free_cleanup)

/* Takes notice of a WorkerApp or a CelldObjectStore; what is unreadable is forgotten. */
void holdings_put_app(struct holdings *h, const struct json *object);
void holdings_put_store(struct holdings *h, const struct json *object);
/*
 * An app that is gone while its pods may still be there: it stays in the way, as a ghost, until it is
 * let go, or made again under its name.
 */
void holdings_bury(struct holdings *h, const struct json *object);
/* The keys of ghosts whose bucket prefix overlaps that of an app. */
void holdings_ghosts(struct holdings *h, const struct workerapp *app, struct strlist *ret);
void holdings_let_go(struct holdings *h, const char *key);
/* By namespace and name alone. */
void holdings_remove_app(struct holdings *h, const struct json *object);
void holdings_remove_store(struct holdings *h, const struct json *object);

/*
 * Faults for what app cannot hold because another one does. older: only those that came before count,
 * which is how two that exist find out who keeps it. False: the app's store is not known, so its
 * bucket was compared with nobody's.
 */
bool holdings_judge(struct holdings *h, const struct workerapp *app, bool older,
		    struct faults *faults);
/* The keys "namespace/name" of apps whose bucket prefix overlaps that of this one (known by its key). */
void holdings_rivals(struct holdings *h, const char *key, struct strlist *ret);
/*
 * Before an app's first pod is made: false when an app with an overlapping prefix has claimed it and
 * still exists. Two that are created at one moment ask at one moment; this lets one of them pass.
 * runs: the app has pods already and claims in any case.
 */
bool holdings_claim(struct holdings *h, const struct workerapp *app, bool runs);
/* Gives the claim back. False: there was none. */
bool holdings_unclaim(struct holdings *h, const struct workerapp *app);
/* The apps of a namespace that name this store, as keys; only_rolling: not those that are recreated. */
void holdings_users(struct holdings *h, const char *namespace, const char *store, bool only_rolling,
		    struct strlist *ret);
/* Whether an app is known, and what it is. Pointers may be NULL. */
bool holdings_app(struct holdings *h, const char *namespace, const char *name, bool *ret_fleet);

#endif
