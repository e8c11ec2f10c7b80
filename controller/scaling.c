#include "controller/scaling.h"

#include <stdio.h>
#include <string.h>

#include "controller/desired.h"
#include "controller/fleet.h"

static bool scales(const struct json *autoscaler, const char *name)
{
	const struct json *target = json_path(autoscaler, "spec", "scaleTargetRef", NULL);

	return json_is(target, "kind", "StatefulSet") && json_is(target, "name", name);
}

/* By name: it may outlive our ScaledObject for a moment, or come before we see a new one. */
static bool is_of_ours(const struct json *autoscaler, const char *name)
{
	const struct json *owner = fleet_controller_ref(autoscaler);

	return json_is(owner, "kind", "ScaledObject") && json_is(owner, "name", name);
}

static bool reports_pause(const struct json *scaled_object)
{
	const struct json *all = json_path(scaled_object, "status", "conditions", NULL);

	return json_is(json_find(all, "type", "Paused"), "status", "True");
}

void scaling_read(const struct scaling_input *in, struct scaling *ret)
{
	const struct json *notes = json_path(in->scaled_object, "metadata", "annotations", NULL);
	struct scaling s = { .paused = json_is(notes, ANNOTATION_KEDA_PAUSED, "true") };
	bool own = false;

	for (const struct json *a = json_first(in->autoscalers); a; a = json_next(a)) {
		const char *name = json_str(json_path(a, "metadata", "name", NULL));

		if (!scales(a, in->name))
			continue;
		if (is_of_ours(a, in->name))
			own = true;
		else
			(void)snprintf(s.foreign, sizeof(s.foreign), "%s", name ? name : "?");
	}
	if (s.foreign[0])
		s.active = true;
	else if (in->scaled_object)
		s.active = !s.paused || (own && !reports_pause(in->scaled_object));
	else
		s.active = own;
	*ret = s;
}

static bool at_rest(const struct rollout_obs *o)
{
	if (!o->exists || !o->replicas || o->partition != ROLLOUT_REST || o->remembered >= 0)
		return false;
	for (int i = 0; i < o->replicas; i++) {
		const struct rollout_pod *p = &o->pods[i];

		if (i >= o->n_pods || !p->exists || p->terminating || !p->ready || !p->updated)
			return false;
	}
	return true;
}

bool scaling_must_pause(const struct rollout_obs *o, const struct rollout_decision *d)
{
	if (d->phase == ROLLOUT_READY)
		return false;
	return d->phase != ROLLOUT_DEGRADED || !at_rest(o);
}
