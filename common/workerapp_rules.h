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
/*
 * The transition rules alone, against what a live fleet runs rather than a stored object: the
 * controller's net for changes that admission did not see. running: versions of pods and template.
 */
void workerapp_rules_transition(const struct workerapp *app, const struct workerapp *old,
				const struct rules_facts *facts, struct faults *faults,
				struct strlist *warnings);

#endif
