/* A /state that is taken has what its version must have, and no count below zero. */
#include <stdlib.h>
#include <string.h>

#include "common/celld/state.h"
#include "common/celld/table_load.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_count(struct celld_count c)
{
	if (c.v < 0 || (!c.set && c.v))
		abort();
}

static void check(const struct celld_state *s, const struct celld_facts *f)
{
	if (!s->valid) {
		if (s->occupied.set || s->restoring.set || s->deployment.set || s->shedding)
			abort();
		return;
	}
	if (!s->occupied.set || s->restoring.set != f->state_restoring)
		abort();
	if (s->deployment.set && (!f->state_deployment || !s->deployment.version[0]))
		abort();
	check_count(s->occupied);
	check_count(s->restoring);
	check_count(s->evicting);
	check_count(s->rss_bytes);
	check_count(s->in_use_bytes);
	check_count(s->cgroup_working_set_bytes);
	check_count(s->cgroup_current_bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct celld_table *t = celld_table_builtin();

	for (size_t i = 0; i < t->n_facts; i++) {
		struct celld_state s;
		struct err e = ERR_INIT;
		bool bad;

		memset(&s, 0x55, sizeof(s));
		bad = celld_state_parse((const char *)data, size, &t->facts[i], &s, &e) != 0;
		if (bad == s.valid)
			abort();
		check(&s, &t->facts[i]);
	}
	return 0;
}
