/*
 * model.h - Kubernetes' StatefulSet controller and the pods of one fleet, as a small deterministic model: for the
 * reachability test of rollout_decide, and for the traces that are replayed against the real controller in the test
 * bed (print_traces.c, test/e2e/traces.sh). Parallel pod management, RollingUpdate with a partition.
 *
 * Source of the rules: k8s.io/kubernetes pkg/controller/statefulset stateful_set_control.go (v1.36). What is left
 * out: claims, pods that fail or succeed as a whole, and the order in which one sync creates and deletes, which is
 * fixed here.
 */
#ifndef TEST_ROLLOUT_MODEL_H
#define TEST_ROLLOUT_MODEL_H

#include "controller/rollout.h"

enum {
	MODEL_PODS = 8,
	MODEL_SETTLE_MS = 10000,
	MODEL_HOLD_MS = 10000,
	MODEL_RECHECK_MS = 15000,
};

struct model_pod {
	bool exists, terminating, ready, reachable;
	signed char revision;
	signed char restoring;
	enum rollout_fault
		fault; /* of the world; that of a broken revision is added by model_observe */
};

struct model {
	bool exists;
	int replicas, partition;
	int current, update; /* revisions: the current one is that of the last completed update */
	int remembered;	     /* -1: none */
	bool observed;
	struct model_pod pods[MODEL_PODS];
	/* Sets of revisions, one bit each. */
	unsigned loud;	 /* pods never become ready, and are seen to loop */
	unsigned silent; /* pods never become ready, and nothing tells why */
	unsigned apart;	 /* may not run beside those that are not in the set: needs Recreate */
	int budget; /* maxUnavailable, where the feature gate MaxUnavailableStatefulSet is on; 0: it is off */
	/* what the controller of ours knows of the world */
	bool swept;
	int64_t quiet, empty; /* milliseconds */
	/* the spec */
	int wanted, want; /* revision and size; want -1: whatever there is, and 2 to start with */
};

/* One action of the StatefulSet controller; false: it has nothing to do. */
bool model_controller_step(struct model *m);
/* Until it has nothing to do, without the world changing. */
void model_controller_settle(struct model *m);
/* A pod or its readiness has changed: what was known of the fleet is old. */
void model_changed(struct model *m);
bool model_broken(const struct model *m, int revision);
/* Whether the spec cannot be rolled to from what runs, or may come up again. */
bool model_stop_all(const struct model *m);
/* Terminating pods are gone, others become ready unless broken, nothing restores, everything answers; long enough. */
void model_heal(struct model *m);
/* What rollout_decide is asked in this state. Writes the slots below n_pods only. */
void model_observe(const struct model *m, struct rollout_obs *o);
/* Applies a decision's write. */
void model_write(struct model *m, const struct rollout_decision *d);
/* Every pod runs the wanted revision, ready, at the wanted size, at rest. */
bool model_at_goal(const struct model *m);

#endif
