/*
 * adopt.h - InPlace: nodes take a deployment up by themselves, no pod restarts. Such a roll is over when every pod
 * serves the expected version, nothing swaps and nothing drains. Pure.
 */
#ifndef CONTROLLER_ADOPT_H
#define CONTROLLER_ADOPT_H

#include "controller/observe.h"

struct adopt_input {
	const struct fleet_pod *pods;
	const struct pod_state *states; /* of the same index */
	size_t n_pods;
	const char *expected;
};

/*
 * A decision that says Ready becomes RollingOut while a pod that was asked has not adopted, and names the first such
 * pod. Anything else stays.
 */
void adopt_judge(const struct adopt_input *in, struct rollout_decision *d);

#endif
