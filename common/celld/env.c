#include "common/celld/env.h"

#include <string.h>

static bool is_allowed(const char *name)
{
	const char *rest;

	if (str_eq(name, "RUST_LOG"))
		return true;
	if (str_starts(name, "CELLD_"))
		rest = name + 6;
	else if (str_starts(name, "OTEL_"))
		rest = name + 5;
	else
		return false;
	if (!*rest)
		return false;
	for (; *rest; rest++) {
		if (!(*rest >= 'A' && *rest <= 'Z') && !(*rest >= '0' && *rest <= '9') &&
		    *rest != '_')
			return false;
	}
	return true;
}

/* "CELLD_VAR_*" speaks of all that begin so. */
static bool speaks_of(const struct celld_name *row, const char *name)
{
	const char *r = row->name;

	while (*r && *r == *name) {
		r++;
		name++;
	}
	return (!*r && !*name) || (r[0] == '*' && !r[1]);
}

static bool holds(const struct celld_name *list, size_t n, struct version v, const char *name,
		  bool empty)
{
	for (size_t i = 0; i < n; i++) {
		if (speaks_of(&list[i], name) && celld_in_range(list[i].range, v) &&
		    !(list[i].if_not_empty && empty))
			return true;
	}
	return false;
}

bool celld_env_since(const struct celld_table *t, const char *name, struct version *ret)
{
	bool found = false;

	for (size_t i = 0; i < t->n_known; i++) {
		const struct celld_name *row = &t->known[i];

		if (row->name[0] != name[0] || !speaks_of(row, name))
			continue;
		if (!found || version_cmp(row->range.since, *ret) < 0)
			*ret = row->range.since;
		found = true;
	}
	return found;
}

enum env_verdict celld_env_check(const struct celld_table *t, struct version v, const char *name,
				 bool empty)
{
	struct version since;

	if (!is_allowed(name))
		return ENV_NOT_ALLOWED;
	if (holds(t->owned, t->n_owned, v, name, false))
		return ENV_OWNED;
	if (holds(t->refused, t->n_refused, v, name, empty))
		return ENV_REFUSED;
	if (celld_env_since(t, name, &since) && version_cmp(v, since) < 0)
		return ENV_NEWER;
	return ENV_OK;
}
