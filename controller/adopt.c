#include "controller/adopt.h"

#include <string.h>

static enum rollout_reason reason_of(const struct adopt_input *in, size_t i)
{
	const struct pod_state *s = &in->states[i];

	if (!s->valid || in->pods[i].terminating)
		return ROLLOUT_NOTHING; /* others speak of that */
	if (!s->has_deployment || !str_eq(s->deployment, in->expected))
		return ROLLOUT_ADOPTING;
	return s->swapping > 0 || s->draining > 0 ? ROLLOUT_SWAPPING : ROLLOUT_NOTHING;
}

void adopt_judge(const struct adopt_input *in, struct rollout_decision *d)
{
	if (d->phase != ROLLOUT_READY || d->write != ROLLOUT_WRITE_NONE)
		return;
	for (size_t i = 0; i < in->n_pods; i++) {
		enum rollout_reason why = reason_of(in, i);

		if (why == ROLLOUT_NOTHING || in->pods[i].ordinal < 0)
			continue;
		/* a pod that does not adopt is named before one that is about to end it */
		if (d->phase == ROLLOUT_ROLLING_OUT &&
		    (d->reason == ROLLOUT_ADOPTING || why == ROLLOUT_SWAPPING) &&
		    !(why == d->reason && in->pods[i].ordinal < d->ordinal))
			continue;
		d->phase = ROLLOUT_ROLLING_OUT;
		d->reason = why;
		d->ordinal = in->pods[i].ordinal;
	}
}
