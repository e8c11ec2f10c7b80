/*
 * state.h - celld's GET /state, as far as decisions and metrics need it.
 *
 * Strict: a body that is not one JSON object, or lacks a member that its version always has, or has one of another type, is
 * no valid state. Members that a version does not have are not set: unknown is never 0. Unknown members are ignored.
 */
#ifndef COMMON_CELLD_STATE_H
#define COMMON_CELLD_STATE_H

#include "common/celld/table.h"
#include "common/err.h"

struct state_int {
	bool set;
	int64_t v;
};

struct celld_state {
	char ownership[16]; /* "s3" "gs" "az" "memory" */
	struct state_int restoring, occupied, evicting;
	struct state_int rss_bytes, in_use_bytes, working_set_bytes, cgroup_bytes;
	bool shedding;
	struct {
		bool set;
		char version[132];
		int64_t generation, swapping, n_draining;
	} deployment;
};

/* text[0..len) is the answer of a celld with these facts. ERR_INVALID: what is wrong with it. */
int celld_state_parse(const char *text, size_t len, const struct celld_facts *facts,
		      struct celld_state *ret, struct err *e);

#endif
