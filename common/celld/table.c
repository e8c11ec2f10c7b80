#include "common/celld/table.h"

bool celld_in_range(struct celld_range r, struct version v)
{
	static const struct version unbounded = { 0 };

	if (version_cmp(v, r.since) < 0)
		return false;
	return version_cmp(r.until, unbounded) == 0 || version_cmp(v, r.until) < 0;
}

const struct celld_facts *celld_facts_of(const struct celld_table *t, struct version v)
{
	size_t i = 0;

	/* Ranges ascend without gaps: the first that v is not above, or the last. */
	while (i + 1 < t->n_facts && version_cmp(v, t->facts[i].range.until) >= 0)
		i++;
	return &t->facts[i];
}

bool celld_knows_minor(const struct celld_table *t, struct version v)
{
	for (size_t i = 0; i < t->n_releases; i++) {
		if (t->releases[i].major == v.major && t->releases[i].minor == v.minor)
			return true;
	}
	return false;
}
