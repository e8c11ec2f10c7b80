/*
 * scaling.h - who else may change the size of a fleet, and when they must not. Pure.
 *
 * KEDA makes a HorizontalPodAutoscaler for our ScaledObject, and takes it away when the annotation
 * autoscaling.keda.sh/paused says so; it then reports condition Paused (seen with KEDA 2.21). Nothing of a rollout is
 * written before that, so that nobody else changes the size of a fleet that is on its way.
 */
#ifndef CONTROLLER_SCALING_H
#define CONTROLLER_SCALING_H

#include "common/json.h"
#include "controller/rollout.h"

struct scaling_input {
	const char *name;		  /* of the StatefulSet and of our ScaledObject */
	const struct json *scaled_object; /* the live one, ours; NULL: none */
	const struct json *autoscalers;	  /* all of the namespace, a list */
};

struct scaling {
	char foreign
		[254]; /* an autoscaler of the StatefulSet that is not of our ScaledObject; "": none */
	bool active; /* somebody may change the number of replicas now */
	bool paused; /* the ScaledObject says so, whoever has asked for it */
};

void scaling_read(const struct scaling_input *in, struct scaling *ret);
/*
 * Our ScaledObject has to be paused: the fleet is not Ready in any way. A refused spec keeps its fleet as it is, and
 * that fleet may be at rest.
 */
bool scaling_must_pause(const struct rollout_obs *o, const struct rollout_decision *d);

#endif
