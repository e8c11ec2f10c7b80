/*
 * status.h - the status of a WorkerApp from a decision. Pure.
 *
 * Messages hold no time and no counter but those that the design names, so that a status is written only when something
 * that people care about has changed. lastTransitionTime moves with the status value alone.
 */
#ifndef CONTROLLER_STATUS_H
#define CONTROLLER_STATUS_H

#include "common/workerapp.h"
#include "controller/observe.h"
#include "controller/trouble.h"

/* Why a spec is not acted on. */
struct refusal {
	const char *reason; /* "BreakingUpgrade" ...; NULL: it is acted on */
	char message[1536];
};

/* A condition that the caller adds; NULL type ends a list. */
struct status_condition {
	const char *type, *status, *reason;
	char message[512];
};

struct status_input {
	const struct workerapp *app;
	const struct rollout_obs *obs;
	const struct rollout_decision *decision;
	const struct fleet_sts *sts;
	const struct fleet_pod *pods;
	const struct pod_state *states;
	size_t n_pods;
	const struct refusal *refusal; /* never NULL */
	bool spec_valid;
	const char *spec_message; /* when it is not */
	const char *expected;	  /* version that the fleet should serve; NULL: not known */
	bool tells_deployment;	  /* this celld says in /state which version it serves */
	const struct status_condition *more; /* n_more */
	size_t n_more;
	const struct trouble *trouble; /* NULL: none */
	const char *url;	       /* from outside of the cluster; NULL: it has none */
	const char *refused_text;      /* why the API server makes no pod; NULL or "": not known */
	const char *now;	       /* RFC 3339 */
};

/* The whole status; the caller's. */
struct json *status_build(const struct status_input *in) must_use;
/* "chat-celld-2: not ready" - what the decision waits for; "" for nothing. The caller's. */
char *status_waiting_on(const struct status_input *in) must_use;
/* A member cannot come back by itself: the decision's reason, or beside it. */
bool status_is_stuck(const struct status_input *in);
/* The size that a stopped fleet comes back with, as the app's status has it; -1: none. */
int status_kept_size(const struct workerapp *app);
/*
 * The phase that people see. A decision knows nothing of the past: between its last write and the last pod that is
 * Ready a roll looks like a fleet that starts, and a Recreate whose pods start looks like a roll. Both keep their
 * name to the end.
 */
enum rollout_phase status_shown_phase(const struct status_input *in);
/* "RollingOut" */
const char *status_phase(enum rollout_phase phase);

#endif
