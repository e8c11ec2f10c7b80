/*
 * env.h - may a user set this environment variable of celld? By its name alone. Pure (tier 2).
 */
#ifndef COMMON_CELLD_ENV_H
#define COMMON_CELLD_ENV_H

#include "common/celld/table.h"

/* The first that holds, in this order. */
enum env_verdict {
	ENV_NOT_ALLOWED, /* the name is not CELLD_..., OTEL_... or RUST_LOG, all in [A-Z0-9_] */
	ENV_OWNED,	 /* the operator sets it */
	ENV_REFUSED,	 /* the version does not start with it */
	ENV_NEWER,	 /* the version does not know it yet */
	ENV_OK,		 /* the version knows it, or the table does not */
};

/* empty: the value is the empty string (one name is refused with a value alone). */
enum env_verdict celld_env_check(const struct celld_table *t, struct version v, const char *name,
				 bool empty);
/* The first version that reads name, for messages; false: the table does not tell. */
bool celld_env_since(const struct celld_table *t, const char *name, struct version *ret);

#endif
