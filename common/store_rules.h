/*
 * store_rules.h - every rule about a CelldObjectStore. Pure (tier 2).
 */
#ifndef COMMON_STORE_RULES_H
#define COMMON_STORE_RULES_H

#include "common/policy.h"

/*
 * Judges a store; old is the stored one of an UPDATE (NULL: CREATE), whose own faults are forgiven.
 * users: keys of the apps that use it and roll (not those with updateStrategy Recreate); empty when
 * nobody knows. policy may be NULL.
 */
void store_rules(const struct json *store, const struct json *old, const struct policy *policy,
		 const struct strlist *users, struct faults *faults);
/* A fault for every member of its spec that stores do not have. store may be NULL. */
void store_unknown_fields(const struct json *store, struct faults *faults);
/*
 * Its spec as the bucket of an app that names it: endpoint, region, account, credentials. Texts are
 * lent by store; what has a wrong type is absent.
 */
void store_read(const struct json *store, struct wa_bucket *ret);

#endif
