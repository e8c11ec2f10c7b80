/*
 * verdict.h - may the spec be acted on, and which way? Pure. The net under admission: an object that slipped past it is
 * refused here by the same rules, and the fleet that runs stays as it is.
 */
#ifndef CONTROLLER_VERDICT_H
#define CONTROLLER_VERDICT_H

#include "common/workerapp_rules.h"
#include "controller/fleet.h"
#include "controller/status.h"

struct verdict_input {
	const struct workerapp *app;
	const struct faults *parse_faults; /* of workerapp_parse; may be NULL */
	const struct celld_table *table;
	const struct policy *policy; /* NULL: everything is allowed */
	const struct fleet_sts *sts;
	const struct fleet_pod *pods;
	size_t n_pods;
	bool template_due;
	bool version_known;
	struct version version; /* that the spec asks for */
};

struct verdict {
	struct refusal refusal;
	bool spec_valid;
	char spec_message[1536];
	bool stop_all; /* the change needs Recreate, and the spec asks for it */
};

/* The faults of the spec alone; fills spec_valid, spec_message and refusal. */
void verdict_of_spec(const struct verdict_input *in, struct verdict *ret);
/* Where the change leads from what runs; fills stop_all and refusal. Only for a valid spec. */
void verdict_of_change(const struct verdict_input *in, struct verdict *ret);

#endif
