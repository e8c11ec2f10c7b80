#include "controller/desired.h"

/*
 * maxUnavailable needs no edit when the size of the fleet changes and lets the only pod of a fleet
 * of one be evicted. A pod that is not ready serves nothing, so that its eviction is always
 * allowed: a crash loop must not hold a node's drain.
 */
struct json *desired_pdb(const struct desired_input *in)
{
	cleanup(freep) char *name = desired_name(in->app);
	struct json *object = desired_object(in, "policy/v1", "PodDisruptionBudget", name), *spec;

	spec = json_object_at(object, "spec");
	json_set_int(spec, "maxUnavailable", 1);
	json_set_str(spec, "unhealthyPodEvictionPolicy", "AlwaysAllow");
	json_set(json_object_at(spec, "selector"), "matchLabels", desired_match_labels(in->app));
	return object;
}
