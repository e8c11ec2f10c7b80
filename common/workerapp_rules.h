/*
 * workerapp_rules.h - every rule about a WorkerApp, for webhook, controller and command line alike.
 * Pure.
 */
#ifndef COMMON_WORKERAPP_RULES_H
#define COMMON_WORKERAPP_RULES_H

#include "common/celld/compat.h"
#include "common/policy.h"
#include "common/workerapp.h"

struct rules_facts {
	const struct celld_table *table;
	const struct policy *policy; /* NULL: everything is allowed */
};

/*
 * Judges app; old is the stored object of an UPDATE (NULL: CREATE). With old, faults of app alone
 * that old has too are dropped (ratchet), and the transition rules are judged: immutables, storage,
 * durability, and the compatibility table against every version that the fleet may be running
 * (old's image and old's status.celldVersions). Faults of workerapp_parse (wrong types) are among
 * the faults, with the same ratchet; so a caller hands the same list to both, or NULL to
 * workerapp_parse. warnings: soft facts, each at most LIMIT_WARNING characters.
 */
void workerapp_rules(const struct workerapp *app, const struct workerapp *old,
		     const struct rules_facts *facts, struct faults *faults,
		     struct strlist *warnings);
/* What a fleet has that may not change pod by pod. */
struct rules_fleet {
	bool storage, fleet_durability;
	bool stopped; /* no pod is left that could be beside another, or hold a write for it */
};
/* One such change: "spec.storage: why". */
struct rules_apart {
	const char *rule, *path, *from, *to, *why;
	bool by_recreate; /* it may be done with all pods stopped; false: not either */
};
enum { RULES_APART = 3 };
/* What app would change of it; their number. For the stored object, and for what the controller finds running. */
size_t workerapp_rules_apart(const struct rules_fleet *was, const struct workerapp *app,
			     struct rules_apart ret[RULES_APART]);

#endif
