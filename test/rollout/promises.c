#include "test/rollout/promises.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct rollout_obs *obs;

/* --- the promises ----------------------------------------------------------------------------------- */

static bool up(const struct rollout_pod *p)
{
	return p->exists && !p->terminating && p->ready;
}

static bool in_service(const struct rollout_pod *p)
{
	return up(p) && p->available && p->updated;
}

static bool nobody_ready(void)
{
	for (int i = 0; i < obs->n_pods; i++) {
		if (up(&obs->pods[i]))
			return false;
	}
	return true;
}

static bool nothing_exists(void)
{
	for (int i = 0; i < obs->n_pods; i++) {
		if (obs->pods[i].exists)
			return false;
	}
	return true;
}

static bool someone_is_stale(void)
{
	for (int i = 0; i < obs->replicas; i++) {
		const struct rollout_pod *p = &obs->pods[i];

		if (p->exists && !p->terminating && !p->updated)
			return true;
	}
	return false;
}

/* The old revision is the one that a pod is neither updated nor superseded on. */
static bool old_revision_runs_somewhere(void)
{
	for (int i = 0; i < obs->n_pods; i++) {
		const struct rollout_pod *p = &obs->pods[i];

		if (up(p) && !p->updated && !p->superseded)
			return true;
	}
	return false;
}

static bool fault_is_of_the_template(enum rollout_fault fault)
{
	switch (fault) {
	case ROLLOUT_FAULT_CRASH_LOOP:
	case ROLLOUT_FAULT_IMAGE:
	case ROLLOUT_FAULT_CONFIG:
	case ROLLOUT_FAULT_REFUSED:
	case ROLLOUT_FAULT_SELF_FENCE:
	case ROLLOUT_FAULT_UNSCHEDULABLE:
		return true;
	case ROLLOUT_FAULT_NONE:
	case ROLLOUT_FAULT_NODE_LOST:
	case ROLLOUT_FAULT_ENDLESS:
	case ROLLOUT_FAULT_CLAIM_LOST:
		break;
	}
	return false;
}

/* Whether pod i, which is not up, may be left behind. `next` is the pod that the write would take down. */
static bool may_be_left_behind(int i, int next)
{
	const struct rollout_pod *p = &obs->pods[i];

	if (nobody_ready())
		return true;
	if (p->exists && p->updated)
		return false;
	if (fault_is_of_the_template(p->fault))
		return true;
	if (p->fault != ROLLOUT_FAULT_NONE || !p->exists || p->terminating)
		return false;
	if (p->superseded)
		return i == next || obs->quiet >= PATIENCE;
	return obs->quiet >= PATIENCE && !old_revision_runs_somewhere();
}

/* Gate 1 before pod `next` is taken down; it stays a member of the fleet unless the fleet shrinks by it. */
static bool gate_1(int next, bool shrinks)
{
	int released = shrinks ? obs->partition : next + 1;

	for (int i = 0; i < obs->n_pods; i++) {
		const struct rollout_pod *p = &obs->pods[i];

		if (i >= obs->replicas) {
			if (p->exists)
				return false;
			continue;
		}
		if (shrinks && i == next)
			continue;
		if (i >= released ? !in_service(p) : !up(p) && !may_be_left_behind(i, next))
			return false;
	}
	return true;
}

static bool gate_2(void)
{
	if (!obs->swept)
		return false;
	for (int i = 0; i < obs->n_pods; i++) {
		const struct rollout_pod *p = &obs->pods[i];

		if (!p->exists)
			continue;
		if (p->state == ROLLOUT_STATE_UNKNOWN)
			return false;
		if (p->state == ROLLOUT_STATE_UNREACHABLE && p->ready)
			return false;
		if (p->state == ROLLOUT_STATE_REACHED && p->restoring > 0)
			return false;
	}
	return true;
}

static int least(int a, int b)
{
	return a < b ? a : b;
}

static bool everyone_in_service(void)
{
	for (int i = 0; i < obs->n_pods; i++) {
		if (i < obs->replicas ? !in_service(&obs->pods[i]) : obs->pods[i].exists)
			return false;
	}
	return true;
}

static int lacking_pods(void)
{
	int n = 0;

	for (int i = 0; i < obs->replicas; i++)
		n += !up(&obs->pods[i]) || !obs->pods[i].available;
	return n;
}

/* Released before, and there is no room for its controller to replace it. */
static int starved(void)
{
	int i = obs->replicas - 1;

	if (obs->partition == ROLLOUT_REST || !obs->budget || lacking_pods() < obs->budget)
		return -1;
	while (i >= obs->partition &&
	       (!obs->pods[i].exists || obs->pods[i].terminating || obs->pods[i].updated))
		i--;
	return i >= obs->partition ? i : -1;
}

/* --- telling ---------------------------------------------------------------------------------------- */

static void print_state(const struct rollout_decision *d)
{
	print_message(
		"exists %d observed %d current %d replicas %d partition %d remembered %d due %d "
		"budget %d stop_all %d want %d start %d settled %d swept %d quiet %lld empty %lld "
		"autoscaler %d\n",
		obs->exists, obs->observed, obs->pods_current, obs->replicas, obs->partition,
		obs->remembered, obs->template_due, obs->budget, obs->stop_all, obs->want,
		obs->start, obs->settled, obs->swept, (long long)obs->quiet, (long long)obs->empty,
		obs->autoscaler);
	print_message(
		"-> phase %d write %d replicas %d partition %d remember %d reason %d ordinal %d "
		"count %d fault %d requeue %lld\n",
		(int)d->phase, (int)d->write, d->replicas, d->partition, d->remember,
		(int)d->reason, d->ordinal, d->count, (int)d->fault, (long long)d->requeue);
	for (int i = 0; i < obs->n_pods; i++) {
		const struct rollout_pod *p = &obs->pods[i];

		print_message("  pod %d: exists %d terminating %d ready %d available %d updated %d "
			      "superseded %d fault %d state %d restoring %d\n",
			      i, p->exists, p->terminating, p->ready, p->available, p->updated,
			      p->superseded, (int)p->fault, (int)p->state, p->restoring);
	}
}

#define must(cond)                                                                                 \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			print_state(d);                                                            \
			fail_msg("broken: %s", #cond);                                             \
		}                                                                                  \
	} while (0)

/* --- each write ------------------------------------------------------------------------------------- */

static void check_step(const struct rollout_decision *d)
{
	int from = least(obs->partition, obs->replicas);

	must(!obs->template_due && obs->remembered < 0 && obs->partition != ROLLOUT_REST);
	must(starved() < 0 ? obs->want < 0 || obs->want == obs->replicas
			   : obs->want <= obs->replicas);
	must(d->replicas == obs->replicas);
	must(d->partition == (starved() < 0 ? from - 1 : starved()) && d->partition >= 0);
	must(gate_1(d->partition, false));
	must(gate_2());
	must(d->partition == obs->replicas - 1 || obs->quiet >= obs->settle);
	must(!obs->settled || someone_is_stale());
	/* its controller may take down that one, and no other with it */
	must(d->budget == (obs->budget ? lacking_pods() + 1 : 0));
}

static void check_scale(const struct rollout_decision *d)
{
	must(!obs->template_due && obs->remembered < 0 && obs->want >= 0 && obs->replicas > 0);
	if (d->replicas < obs->replicas) {
		must(obs->want < obs->replicas && d->replicas == obs->replicas - 1);
		must(gate_1(d->replicas, true));
		must(gate_2());
		must(obs->quiet >= obs->settle);
	} else {
		must(d->replicas > obs->replicas && d->replicas == obs->want);
	}
	must((d->partition == ROLLOUT_REST) == (obs->partition == ROLLOUT_REST));
	/* no ordinal that was held is released by it, and none that was released is held again */
	for (int i = 0; i < least(obs->replicas, d->replicas); i++)
		must((i >= d->partition) == (i >= obs->partition));
}

static void check_rest(const struct rollout_decision *d)
{
	must(!obs->template_due && obs->remembered < 0);
	must(d->partition == ROLLOUT_REST && d->replicas == obs->replicas);
	must(obs->settled && (obs->partition == 0 ? everyone_in_service() : !someone_is_stale()));
}

static void check_stop(const struct rollout_decision *d)
{
	must(d->replicas == 0 && d->remember > 0 && obs->replicas > 0);
	must(d->partition == obs->partition);
	if (obs->remembered >= 0) {
		must(d->remember == obs->remembered);
	} else {
		must(obs->stop_all && d->remember == obs->replicas);
		must(obs->template_due || someone_is_stale());
	}
}

/* Pods of an earlier StatefulSet: another may not begin beside them. */
static int former_pods(void)
{
	int n = 0;

	for (int i = 0; i < obs->n_pods; i++) {
		const struct rollout_pod *p = &obs->pods[i];

		n += p->exists && (p->terminating || p->foreign);
	}
	return n;
}

static void check_write(const struct rollout_decision *d)
{
	if (d->write == ROLLOUT_WRITE_NONE)
		return;
	must(!obs->paused && !obs->refused && !obs->deleting);
	must(!obs->leaving);
	must(!obs->exists || (obs->observed && obs->pods_current));
	must(d->remember < 0 || d->write == ROLLOUT_WRITE_STOP || d->write == ROLLOUT_WRITE_RENEW);
	must(d->write == ROLLOUT_WRITE_STEP || d->budget == (obs->budget ? 1 : 0));
	must(!obs->autoscaler || d->write == ROLLOUT_WRITE_CREATE ||
	     d->write == ROLLOUT_WRITE_REST);
	switch (d->write) {
	case ROLLOUT_WRITE_NONE:
		break;
	case ROLLOUT_WRITE_CREATE:
		must(!obs->exists && !obs->no_workload && d->partition == ROLLOUT_REST);
		must(d->replicas == obs->start && former_pods() == 0);
		break;
	case ROLLOUT_WRITE_FREEZE:
		must(d->partition == obs->replicas && d->replicas == obs->replicas);
		must(!obs->stop_all && obs->remembered < 0 && obs->replicas > 0);
		must(obs->template_due || (obs->partition == ROLLOUT_REST && someone_is_stale()));
		break;
	case ROLLOUT_WRITE_STEP:
		check_step(d);
		break;
	case ROLLOUT_WRITE_REST:
		check_rest(d);
		break;
	case ROLLOUT_WRITE_SCALE:
		check_scale(d);
		break;
	case ROLLOUT_WRITE_STOP:
		check_stop(d);
		break;
	case ROLLOUT_WRITE_RENEW:
		must(obs->replicas == 0 && nothing_exists() && obs->empty >= obs->hold);
		must(d->replicas == 0 && obs->template_due && d->remember == obs->remembered);
		break;
	case ROLLOUT_WRITE_START:
		must(!obs->template_due && obs->settled);
		must(obs->replicas == 0 && nothing_exists() && obs->empty >= obs->hold);
		must(d->partition == 0);
		must(d->replicas == (obs->remembered >= 0 ? obs->remembered : obs->start));
		break;
	}
}

/* --- nothing in the way: it goes on ----------------------------------------------------------------- */

static enum rollout_write due_of_size(void)
{
	return gate_1(obs->replicas - 1, true) && gate_2() && obs->quiet >= obs->settle
		       ? ROLLOUT_WRITE_SCALE
		       : ROLLOUT_WRITE_NONE;
}

static enum rollout_write due_of_roll(void)
{
	int from = least(obs->partition, obs->replicas);

	if (!from)
		return everyone_in_service() && obs->settled ? ROLLOUT_WRITE_REST
							     : ROLLOUT_WRITE_NONE;
	if (obs->settled && !someone_is_stale())
		return ROLLOUT_WRITE_REST;
	return gate_1(from - 1, false) && gate_2() &&
			       (from == obs->replicas || obs->quiet >= obs->settle)
		       ? ROLLOUT_WRITE_STEP
		       : ROLLOUT_WRITE_NONE;
}

static enum rollout_write due_of_empty(void)
{
	if (!nothing_exists() || obs->empty < obs->hold)
		return ROLLOUT_WRITE_NONE;
	if (obs->template_due)
		return ROLLOUT_WRITE_RENEW;
	return obs->settled ? ROLLOUT_WRITE_START : ROLLOUT_WRITE_NONE;
}

static enum rollout_write due_of_live(void)
{
	bool new_template = obs->template_due;

	if (obs->partition == ROLLOUT_REST && someone_is_stale())
		new_template = true;
	if (obs->replicas == 0)
		return due_of_empty();
	if (obs->remembered >= 0)
		return ROLLOUT_WRITE_STOP;
	if (new_template)
		return obs->stop_all ? ROLLOUT_WRITE_STOP : ROLLOUT_WRITE_FREEZE;
	if (obs->want > obs->replicas)
		return ROLLOUT_WRITE_SCALE;
	if (starved() >= 0)
		return gate_1(starved(), false) && gate_2() && obs->quiet >= obs->settle
			       ? ROLLOUT_WRITE_STEP
			       : ROLLOUT_WRITE_NONE;
	if (obs->want >= 0 && obs->want < obs->replicas)
		return due_of_size();
	return obs->partition == ROLLOUT_REST ? ROLLOUT_WRITE_NONE : due_of_roll();
}

/* What would be written if nobody else could change the size. */
static enum rollout_write due_alone(void)
{
	if (obs->paused || obs->refused || obs->deleting || obs->leaving)
		return ROLLOUT_WRITE_NONE;
	if (!obs->exists)
		return obs->no_workload || former_pods() > 0 ? ROLLOUT_WRITE_NONE
							     : ROLLOUT_WRITE_CREATE;
	return obs->observed && obs->pods_current ? due_of_live() : ROLLOUT_WRITE_NONE;
}

static enum rollout_write due(void)
{
	enum rollout_write w = due_alone();

	return obs->autoscaler && w != ROLLOUT_WRITE_CREATE && w != ROLLOUT_WRITE_REST
		       ? ROLLOUT_WRITE_NONE
		       : w;
}

/* --- phase, reason, requeue ------------------------------------------------------------------------- */

static bool all_is_well(void)
{
	return obs->exists && obs->observed && obs->pods_current && obs->replicas > 0 &&
	       obs->partition == ROLLOUT_REST && !obs->template_due && obs->remembered < 0 &&
	       (obs->want < 0 || obs->want == obs->replicas) && everyone_in_service();
}

static bool is_recreating(void)
{
	return obs->exists && (obs->remembered >= 0 || due_alone() == ROLLOUT_WRITE_STOP ||
			       (obs->observed && obs->pods_current && obs->replicas == 0));
}

static bool is_rolling(void)
{
	return obs->exists && (obs->template_due || obs->partition != ROLLOUT_REST ||
			       (obs->observed && obs->pods_current && someone_is_stale()));
}

static enum rollout_phase phase_due(void)
{
	if (obs->paused)
		return ROLLOUT_PAUSED;
	if (obs->refused)
		return ROLLOUT_DEGRADED;
	if (obs->deleting || obs->leaving)
		return ROLLOUT_PENDING;
	if (is_recreating())
		return ROLLOUT_RECREATING;
	if (is_rolling())
		return ROLLOUT_ROLLING_OUT;
	return all_is_well() ? ROLLOUT_READY : ROLLOUT_PENDING;
}

static int existing(void)
{
	int n = 0;

	for (int i = 0; i < obs->n_pods; i++)
		n += obs->pods[i].exists;
	return n;
}

static int restoring(void)
{
	int n = 0;

	for (int i = 0; i < obs->n_pods; i++) {
		if (obs->pods[i].exists && obs->pods[i].state == ROLLOUT_STATE_REACHED)
			n += obs->pods[i].restoring;
	}
	return n;
}

/* A reason that names a pod is true of that pod. */
static void check_pod_reason(const struct rollout_decision *d)
{
	const struct rollout_pod *p = &obs->pods[d->ordinal];

	must(d->ordinal < obs->n_pods &&
	     d->fault == (d->reason == ROLLOUT_UNREACHABLE ? ROLLOUT_FAULT_NONE : p->fault));
	switch (d->reason) {
	case ROLLOUT_MISSING:
		must(!p->exists && p->fault == ROLLOUT_FAULT_NONE);
		break;
	case ROLLOUT_TERMINATING:
		must(p->exists && (p->terminating || d->ordinal >= obs->replicas));
		break;
	case ROLLOUT_OLD_REVISION:
		must(p->exists && !p->updated &&
		     d->ordinal >= least(obs->partition, obs->replicas));
		break;
	case ROLLOUT_NOT_READY:
		must(p->exists && !p->ready && p->fault == ROLLOUT_FAULT_NONE);
		break;
	case ROLLOUT_NOT_AVAILABLE:
		must(up(p) && !p->available);
		break;
	case ROLLOUT_STUCK:
		must(!up(p) && p->fault != ROLLOUT_FAULT_NONE);
		break;
	case ROLLOUT_UNREACHABLE:
		must(p->exists && p->ready && p->state == ROLLOUT_STATE_UNREACHABLE);
		break;
	default:
		print_state(d);
		fail_msg("broken: a reason that is about no pod");
	}
}

static void check_fleet_reason(const struct rollout_decision *d)
{
	switch (d->reason) {
	case ROLLOUT_CREATING:
		must(!obs->exists && d->write == ROLLOUT_WRITE_CREATE);
		break;
	case ROLLOUT_LEAVING:
		must(obs->leaving);
		break;
	case ROLLOUT_NO_WORKLOAD:
		must(!obs->exists && obs->no_workload);
		break;
	case ROLLOUT_CONTROLLER:
		must(!obs->observed || d->write == ROLLOUT_WRITE_FREEZE ||
		     d->write == ROLLOUT_WRITE_RENEW);
		break;
	case ROLLOUT_PODS_UNKNOWN:
		must(!obs->pods_current);
		break;
	case ROLLOUT_SWEEP:
		must(!gate_2());
		break;
	case ROLLOUT_RESTORING:
		must(d->count > 0 && d->count == restoring());
		break;
	case ROLLOUT_SETTLING:
		must(obs->quiet < obs->settle ? d->requeue == obs->settle - obs->quiet
					      : !obs->swept);
		break;
	case ROLLOUT_SCALING:
		must(d->write == ROLLOUT_WRITE_SCALE);
		break;
	case ROLLOUT_REVISION:
		must(!obs->settled && everyone_in_service());
		break;
	case ROLLOUT_PODS_LEFT:
		must(d->count > 0 && d->count == (obs->exists ? existing() : former_pods()));
		break;
	case ROLLOUT_LEASE_HOLD:
		must(d->requeue == obs->hold - obs->empty && nothing_exists());
		break;
	case ROLLOUT_STOPPING:
		must(d->write == ROLLOUT_WRITE_STOP);
		break;
	case ROLLOUT_STARTING:
		must(d->write == ROLLOUT_WRITE_START);
		break;
	case ROLLOUT_RELEASED:
		must(d->write == ROLLOUT_WRITE_STEP || d->write == ROLLOUT_WRITE_REST);
		break;
	case ROLLOUT_AUTOSCALER:
		must(obs->autoscaler && d->write == ROLLOUT_WRITE_NONE && due_alone() != due());
		must(d->requeue == obs->recheck && d->replicas == 0 && d->partition == 0);
		break;
	default:
		print_state(d);
		fail_msg("broken: a reason that is about a pod");
	}
}

static void check_reason(const struct rollout_decision *d)
{
	if (d->ordinal >= 0)
		check_pod_reason(d);
	else
		check_fleet_reason(d);
}

/*
 * When it has to be looked at again: what no watch tells at every recheck, the rest once half as much time has passed
 * again.
 */
static int64_t latest(enum rollout_reason reason)
{
	bool told = reason == ROLLOUT_CONTROLLER || reason == ROLLOUT_MISSING ||
		    reason == ROLLOUT_TERMINATING || reason == ROLLOUT_NOT_READY ||
		    reason == ROLLOUT_STUCK || reason == ROLLOUT_PODS_LEFT;

	return told && obs->quiet / 2 > obs->recheck ? obs->quiet / 2 : obs->recheck;
}

void promises_check(const struct rollout_obs *of, struct promises_tally *tally)
{
	struct rollout_decision decision;
	const struct rollout_decision *d = &decision;

	obs = of;
	rollout_decide(of, &decision);
	check_write(d);
	must(d->write == due());
	must(d->phase == phase_due());
	tally->states++;
	tally->writes[d->write]++;
	if (obs->paused || obs->refused || obs->deleting || d->phase == ROLLOUT_READY) {
		must(d->reason == ROLLOUT_NOTHING && d->requeue == 0 && d->ordinal == -1);
		return;
	}
	must(d->write == ROLLOUT_WRITE_NONE ? d->requeue > 0 && d->requeue <= latest(d->reason)
					    : d->requeue == 0);
	check_reason(d);
}
