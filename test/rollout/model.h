/*
 * model.h - Kubernetes' StatefulSet controller and the pods of one fleet, as a small deterministic model, for the
 * reachability test of rollout_decide. Parallel pod management, RollingUpdate with a partition. The same model prints traces
 * that are replayed against the real controller in the test bed.
 *
 * Source of the rules: k8s.io/kubernetes pkg/controller/statefulset stateful_set_control.go (v1.36).
 */
#ifndef TEST_ROLLOUT_MODEL_H
#define TEST_ROLLOUT_MODEL_H

#include "controller/rollout.h"

enum { MODEL_PODS = 8 };

struct model_pod {
	bool exists, terminating, ready, reachable;
	int revision;
	int restoring;
	bool broken; /* never becomes ready on this revision */
};

struct model {
	bool exists;
	int replicas, partition;
	int current, update; /* revisions */
	int remembered;	     /* -1: none */
	bool observed;
	struct model_pod pods[MODEL_PODS];
	int broken_revision; /* a revision whose pods never become ready; -1: none */
	/* the world around */
	bool swept, settled_time, empty_time;
	/* the spec */
	int wanted, want; /* revision and size */
	bool stop_all;	  /* wanted needs all pods of other revisions gone */
};

/* One action of the StatefulSet controller; false: it has nothing to do. */
bool model_controller_step(struct model *m);
/* Until it has nothing to do, without the world changing. */
void model_controller_settle(struct model *m);
/* Terminating pods are gone, others become ready unless broken, nothing restores, everything answers. */
void model_heal(struct model *m);
/* What rollout_decide is asked in this state. */
void model_observe(const struct model *m, struct rollout_obs *o);
/* Applies a decision's write. */
void model_write(struct model *m, const struct rollout_decision *d);
/* Every pod runs the wanted revision, ready, at the wanted size, at rest. */
bool model_at_goal(const struct model *m);

#endif
