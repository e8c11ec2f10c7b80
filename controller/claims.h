/*
 * claims.h - the PersistentVolumeClaims of a fleet: whose data they hold, and how they grow.
 *
 * A claim that is left from another fleet of the same name, with another bucket, must not be given to this one: its
 * unsealed logs would go to the wrong bucket. A claim says in its annotation which bucket it belongs to.
 *
 * Growing: only a fleet at rest. First every claim is asked to grow; then the StatefulSet, whose claim templates
 * nobody can change, is deleted without its pods and made again as it was, template byte for byte, size and partition
 * included, with the larger claim template. No pod notices. A process that ends in between leaves pods without a
 * StatefulSet, and a note of it (rebirth.h), by which the next one makes the same again.
 */
#ifndef CONTROLLER_CLAIMS_H
#define CONTROLLER_CLAIMS_H

#include "controller/turn.h"

/*
 * Before pods are made: looks at the claims that they will take. A foreign one becomes the verdict's refusal
 * (ForeignClaim) and true is in *ret_foreign.
 */
int claims_check(struct turn *t, bool *ret_foreign, struct err *e);
/* Does what growing needs next. *ret_busy: it is not done yet, the key is queued, and nothing else may be written. */
int claims_grow(struct turn *t, bool *ret_busy, struct err *e);

/* Pure parts. Bytes of a quantity ("10Gi", "500M", "1024"); -1: it is none that a claim has. */
int64_t claims_bytes(const char *quantity);
/* The claim carries the name of another bucket. */
bool claims_is_foreign(const struct json *claim, const char *bucket);
/*
 * The live StatefulSet as it is to be made again, with claims of that size: metadata that the server sets is left
 * out.
 */
struct json *claims_reborn(const struct json *sts, const char *size) must_use;

#endif
