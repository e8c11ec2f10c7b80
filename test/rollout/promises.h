/*
 * promises.h - what rollout_decide may never do, and what it must do when nothing is in the way. The rules are written
 * here anew, from the behaviour that users are promised, and share no code with the decision.
 */
#ifndef TEST_ROLLOUT_PROMISES_H
#define TEST_ROLLOUT_PROMISES_H

#include "controller/rollout.h"

enum { SETTLE = 10000, HOLD = 11000, RECHECK = 12000, PATIENCE = 120000 };

/* How often which write was decided. */
struct promises_tally {
	long states, writes[ROLLOUT_WRITE_START + 1];
};

/* Decides once, and fails the running test with the state on stdout when a promise is broken. */
void promises_check(const struct rollout_obs *of, struct promises_tally *tally);

#endif
