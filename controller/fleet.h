/*
 * fleet.h - one fleet as the API server shows it: its StatefulSet and its pods, reduced to what decisions need. Pure.
 */
#ifndef CONTROLLER_FLEET_H
#define CONTROLLER_FLEET_H

#include "common/json.h"
#include "common/version.h"
#include "controller/rollout.h"

enum { FLEET_TEXT = 256, FLEET_UID = 64, FLEET_NAME = 64, FLEET_IP = 48, FLEET_NODE = 256 };

struct fleet_pod {
	char name[FLEET_NAME], uid[FLEET_UID], ip[FLEET_IP];
	char owner_uid[FLEET_UID]; /* of its controller */
	char node[FLEET_NODE];	   /* that it was scheduled to; "": none yet */
	char revision[FLEET_NAME]; /* label controller-revision-hash */
	int ordinal;
	bool terminating, ready, running;
	bool has_version;
	struct version
		version; /* annotation celld-version, else the image's tag: what it was created to run */
	char app_version[132]; /* annotation app-version */
	enum rollout_fault fault;
	char fault_text
		[FLEET_TEXT]; /* the scheduler's or the kubelet's words, the last termination message */
	int exit_code;	      /* of the last end of the container; -1: none */
	int restarts;
	bool self_fenced;  /* that end was celld's own fence */
	int64_t max_cells; /* CELLD_MAX_RESIDENT_CELLS of the container; 0: not known */
};

struct fleet_sts {
	bool exists;
	bool terminating;
	char uid[FLEET_UID], resource_version[FLEET_NAME];
	char owner_uid[FLEET_UID]; /* of its controller; "": none */
	int64_t generation, observed_generation;
	int replicas, partition, remembered, min_ready_seconds;
	int max_unavailable; /* 0: not there; a percentage is 1 */
	char intent[72], renderer[32];
	char current_revision[FLEET_NAME], update_revision[FLEET_NAME];
	bool has_version;
	struct version version; /* template annotation celld-version, else the image's tag */
	char app_version[132];	/* template annotation app-version */
	/* What the current revision runs, while it is not the update revision: a pod below the partition that is lost
	 * comes back on it, also when no pod shows it any more. */
	bool has_current_version;
	struct version current_version;
	bool has_claims;
	bool bucket_durability; /* CELLD_DURABILITY of the template is absent or `bucket` */
};

/* Annotation of the StatefulSet: the size of the fleet while a Recreate has it at 0. */
#define ANNOTATION_REPLICAS "celld-operator.io/replicas"

/* Annotation of the StatefulSet: celld's version in its current revision, while another one rolls. */
#define ANNOTATION_CURRENT "celld-operator.io/current-version"

/* Reads a Pod. False: it is no member of a fleet: not named after the app of its label, with an ordinal. */
bool fleet_read_pod(const struct json *pod, struct fleet_pod *ret);
/* Reads a StatefulSet; NULL: there is none. */
void fleet_read_sts(const struct json *sts, struct fleet_sts *ret);
/* The owner reference with controller: true, or NULL; and its UID. */
const struct json *fleet_controller_ref(const struct json *object);
const char *fleet_controller_of(const struct json *object);

#endif
