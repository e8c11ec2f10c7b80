/*
 * takeover.h - an object that the WorkerApp controls but another operator has written (a migration, a restored
 * backup): its fields become ours, so that what we do not render goes when we apply. A field of another manager would
 * stay for good: a variable that a later celld refuses, an annotation that still grants a role.
 *
 * The former operator is who wrote the owner reference: its managedFields entry becomes our Apply entry, values stay.
 * Entries of others (a cloud's annotations, what people have edited) stay theirs.
 */
#ifndef CONTROLLER_TAKEOVER_H
#define CONTROLLER_TAKEOVER_H

#include "controller/turn.h"

/*
 * managedFields as it has to be; NULL: nothing to do, since we have an Apply entry or nobody is known to have written
 * the reference to app_uid. The caller's. live is as the API server has it: the cache leaves entries of others out.
 */
struct json *takeover_fields(const struct json *live, const char *app_uid) must_use;
/* Writes them. *live, which was just read, is replaced by the answer when something was written. */
int takeover_write(struct turn *t, enum cache_kind kind, struct json **live, struct err *e);
/* The same of an object of the cache, which is read first, unless we have applied it before; *live is replaced then. */
int takeover_cached(struct turn *t, enum cache_kind kind, struct json **live, struct err *e);

#endif
