/*
 * rollout.h - what to do next with one fleet. Pure: an observed fleet in, a decision with at most
 * one write out.
 *
 * No clock, no I/O, no memory: all progress is in the cluster (the StatefulSet's partition,
 * replicas and annotations, the pods' revisions), so a process that is killed after any write and
 * started again comes to the same end. Waits are inputs: milliseconds since this process first saw
 * the state, by its own monotonic clock, so that a restart only lengthens them.
 *
 * How a fleet rolls: at rest the partition is ROLLOUT_REST, so nobody's edit of the template starts
 * anything. A change is applied with partition = replicas (frozen); then one ordinal after the
 * other is released, highest first, each behind two gates: (1) every released ordinal is available
 * on the update revision and every other one is Ready, unless its fault is one that the new
 * template can cure or no pod of the fleet is Ready at all. A pod that is not Ready without a known
 * fault counts as curable after ROLLOUT_PATIENCE_MS without any change, when its revision is
 * abandoned or no pod is Ready on it; at once when it is of an abandoned revision and next to be
 * replaced. Without the wait, a newer template would take down a second pod while the first one
 * still starts; without the patience a revision that fails silently would hold its cure for ever.
 * (2) A fresh sweep of every pod's /state
 * shows that nothing restores. After the last one the partition goes back to rest. A newer template
 * freezes again. Where the StatefulSet's controller counts unavailable pods, a step makes room for exactly the pod that
 * it releases.
 *
 * How a fleet is replaced (Recreate): replicas 0, with the size remembered in an annotation of the
 * same apply; no pod left, terminating ones included; one lease lifetime; then the new template,
 * still at replicas 0, which makes it the current revision; then the size and partition 0; then
 * rest. With size and template in one apply the old revision would stay the current one until every
 * pod is Ready, and a pod that is lost while a newer template is frozen would come back on it,
 * beside pods that it may not run with.
 */
#ifndef CONTROLLER_ROLLOUT_H
#define CONTROLLER_ROLLOUT_H

#include "common/base.h"

enum {
	/* ordinals that an observation can hold; spec.replicas is at most 1000 */
	ROLLOUT_PODS = 1024,
	ROLLOUT_REST = 2147483647, /* the partition of a fleet at rest */
	/* a pod that the StatefulSet does not make for so long was refused: quota, Pod Security, another webhook */
	ROLLOUT_REFUSED_MS = 30000,
	ROLLOUT_PATIENCE_MS = 120000, /* how long a pod without a fault may take to become Ready */
	ROLLOUT_RECHECKS = 30, /* the longest pause between looks at a fleet, in obs.recheck */
};

/* Why a pod does not come up. */
enum rollout_fault {
	ROLLOUT_FAULT_NONE,
#define FAULT(name, curable, text) ROLLOUT_FAULT_##name,
#include "controller/rollout_faults.def"
#undef FAULT
};

enum rollout_state {
	ROLLOUT_STATE_UNKNOWN,	   /* not asked yet */
	ROLLOUT_STATE_REACHED,	   /* a valid /state */
	ROLLOUT_STATE_UNREACHABLE, /* no answer, or one that is no valid /state */
};

struct rollout_pod {
	bool exists;
	bool terminating;
	bool foreign;	 /* another StatefulSet, perhaps one that is gone, controls it */
	bool ready;	 /* condition Ready */
	bool available;	 /* Ready for minReadySeconds */
	bool updated;	 /* its revision label is the StatefulSet's update revision */
	bool superseded; /* it is neither that nor the current revision: an abandoned roll left it */
	enum rollout_fault fault;
	enum rollout_state state;
	int restoring; /* of a reached pod; 0 for versions that do not tell */
};

struct rollout_obs {
	/* the verdict on the spec */
	bool deleting, paused, refused;
	bool no_workload;  /* nothing may be created yet (no version known, prefix shared) */
	bool template_due; /* the StatefulSet does not carry the intent of the spec */
	bool stop_all;	   /* a due template that needs Recreate, and the spec asks for it */
	int want;	   /* replicas asked for; -1: whatever the StatefulSet has (autoscaling) */
	int start;	   /* the size to start with when there is none */
	bool autoscaler; /* somebody else may change the size now: an autoscaler that has not confirmed its pause */

	/* the StatefulSet, read live */
	bool exists;
	bool leaving; /* it is being deleted, or belongs to an earlier app of this name: it will go */
	bool observed; /* its controller has seen the current generation */
	bool settled;  /* current revision == update revision */
	int replicas, partition;
	/*
	 * Pods that may be unavailable while its controller replaces one (maxUnavailable). It is there where the
	 * feature gate MaxUnavailableStatefulSet is on, and then the very pod that is to be replaced counts too. 0:
	 * nobody counts.
	 */
	int budget;
	int remembered; /* size in the annotation of a Recreate in progress; -1: none */

	/* its pods, from a list that is newer than the StatefulSet's resourceVersion (else pods_current is false) */
	bool pods_current;
	int n_pods; /* slots in use: at least replicas, and every ordinal that exists */
	struct rollout_pod pods[ROLLOUT_PODS];
	bool swept; /* every pod's /state was asked after the last change of the fleet, and at most 15 s ago */

	/* milliseconds */
	int64_t quiet; /* since the fleet last changed: pods, readiness, StatefulSet */
	int64_t empty; /* since no pod exists */
	int64_t settle, hold, recheck;
};

/* Order is precedence: the first that holds is the phase. */
enum rollout_phase {
	ROLLOUT_PAUSED,
	ROLLOUT_DEGRADED,
	ROLLOUT_RECREATING,
	ROLLOUT_ROLLING_OUT,
	ROLLOUT_PENDING,
	ROLLOUT_READY,
};

/* What is being waited for. */
enum rollout_reason {
#define REASON(name, told, text) ROLLOUT_##name,
#include "controller/rollout_reasons.def"
#undef REASON
};

enum rollout_write {
	ROLLOUT_WRITE_NONE,
	ROLLOUT_WRITE_CREATE, /* the StatefulSet, with the wanted template */
	ROLLOUT_WRITE_FREEZE, /* the wanted template, partition = replicas */
	ROLLOUT_WRITE_STEP, /* one ordinal is released: partition - 1, or again, with room for it; the live template */
	ROLLOUT_WRITE_REST,  /* partition at rest; the live template */
	ROLLOUT_WRITE_SCALE, /* replicas; the live template */
	ROLLOUT_WRITE_STOP,  /* replicas 0, the size remembered; the live template */
	ROLLOUT_WRITE_RENEW, /* the wanted template at replicas 0; what is remembered stays */
	ROLLOUT_WRITE_START, /* the wanted template (it is there), partition 0, replicas; nothing remembered any more */
};

struct rollout_decision {
	enum rollout_phase phase;
	enum rollout_write write;
	int partition, replicas; /* for every write but NONE */
	int budget;		 /* for every write but NONE; 0: nobody counts */
	int remember;		 /* for STOP and RENEW; -1: nothing */
	enum rollout_reason reason;
	int ordinal; /* whom the reason is about; -1: the fleet */
	int count;   /* the number in the reason: restoring cells, pods left */
	enum rollout_fault fault;
	int64_t requeue; /* look again after so many milliseconds; 0: when something changes */
};

void rollout_decide(const struct rollout_obs *obs, struct rollout_decision *ret);
/* Whether a newer template can cure it, so that such a pod must not hold the newer template back. */
bool rollout_curable(enum rollout_fault fault);

#endif
