#include "controller/observe.h"

#include <stdio.h>
#include <string.h>

#include "common/digest.h"

/* Longer than any grace period that we render (60 s): a pod that terminates for so long does not come to its end. */
enum { ENDLESS_AFTER_MS = 120000 };

/*
 * One number per pod that changes with identity and readiness, summed up, so that the order of the list plays no part;
 * with the StatefulSet's identity and generation in front.
 */
static uint64_t fingerprint(const struct observe_input *in)
{
	char all[FLEET_UID + 64];
	uint64_t sum = 0;

	for (size_t i = 0; i < in->n_pods; i++) {
		const struct fleet_pod *p = &in->pods[i];
		char text[FLEET_UID + 8];

		(void)snprintf(text, sizeof(text), "%s%d%d", p->uid, p->ready, p->terminating);
		sum += digest_short(text, strlen(text));
	}
	(void)snprintf(all, sizeof(all), "%s/%lld/%016llx", in->sts->exists ? in->sts->uid : "-",
		       (long long)in->sts->generation, (unsigned long long)sum);
	return digest_short(all, strlen(all));
}

void observe_remember(struct fleet_memory *m, const struct observe_input *in)
{
	uint64_t now = fingerprint(in);

	if (now != m->fingerprint) {
		m->fingerprint = now;
		m->changed_ms = in->now_ms;
	}
	if (in->n_pods)
		m->empty_ms = 0;
	else if (!m->empty_ms)
		m->empty_ms = in->now_ms;
}

/* Any other pod counts as unreachable at once. */
bool observe_can_be_asked(const char *sts_uid, const struct fleet_pod *p)
{
	bool ours = !sts_uid[0] || !p->owner_uid[0] || str_eq(p->owner_uid, sts_uid);

	return p->running && p->ip[0] && !p->terminating && ours;
}

static bool is_swept(const struct observe_input *in, const struct fleet_memory *m)
{
	for (size_t i = 0; i < in->n_pods; i++) {
		const struct pod_state *s = &in->states[i];

		if (in->pods[i].ordinal < 0 || !observe_can_be_asked(in->sts->uid, &in->pods[i]))
			continue;
		if (!s->asked || s->begun_ms < m->changed_ms ||
		    in->now_ms - s->begun_ms > in->fresh_ms)
			return false;
	}
	return true;
}

static enum rollout_state state_of(const struct fleet_sts *sts, const struct fleet_pod *p,
				   const struct pod_state *s)
{
	if (!observe_can_be_asked(sts->uid, p))
		return ROLLOUT_STATE_UNREACHABLE;
	if (!s->asked)
		return ROLLOUT_STATE_UNKNOWN;
	return s->valid ? ROLLOUT_STATE_REACHED : ROLLOUT_STATE_UNREACHABLE;
}

static void one_pod(const struct observe_input *in, size_t i, int64_t quiet, struct rollout_obs *o)
{
	const struct fleet_pod *p = &in->pods[i];
	const struct fleet_sts *sts = in->sts;
	struct rollout_pod *to;

	if (p->ordinal < 0 || p->ordinal >= ROLLOUT_PODS)
		return;
	if (p->ordinal >= o->n_pods)
		o->n_pods = p->ordinal + 1;
	to = &o->pods[p->ordinal];
	to->exists = true;
	to->terminating = p->terminating;
	to->foreign = p->owner_uid[0] && !str_eq(p->owner_uid, sts->uid);
	to->ready = p->ready;
	/* readiness is part of the fingerprint, so `quiet` is at most the time that the pod is Ready */
	to->available = p->ready && (!sts->min_ready_seconds ||
				     quiet >= (int64_t)sts->min_ready_seconds * 1000);
	to->updated = sts->update_revision[0] && str_eq(p->revision, sts->update_revision);
	to->superseded = !to->updated && !str_eq(p->revision, sts->current_revision);
	to->fault = p->fault;
	if (p->terminating && p->fault != ROLLOUT_FAULT_NODE_LOST)
		to->fault = quiet >= ENDLESS_AFTER_MS ? ROLLOUT_FAULT_ENDLESS : ROLLOUT_FAULT_NONE;
	to->state = state_of(sts, p, &in->states[i]);
	to->restoring = in->states[i].valid ? in->states[i].restoring : 0;
}

void observe_fleet(const struct observe_input *in, const struct fleet_memory *m,
		   struct rollout_obs *o)
{
	const struct fleet_sts *sts = in->sts;

	o->quiet = in->now_ms - m->changed_ms;
	o->empty = m->empty_ms ? in->now_ms - m->empty_ms : 0;
	o->exists = sts->exists;
	o->observed = sts->observed_generation >= sts->generation;
	o->settled = str_eq(sts->current_revision, sts->update_revision);
	o->replicas = sts->exists ? sts->replicas : 0;
	o->partition = sts->partition;
	o->budget = sts->max_unavailable;
	o->remembered = sts->exists ? sts->remembered : -1;
	o->pods_current = true;
	o->n_pods = o->replicas < ROLLOUT_PODS ? o->replicas : ROLLOUT_PODS;
	for (size_t i = 0; i < in->n_pods; i++)
		one_pod(in, i, o->quiet, o);
	for (int i = 0; i < o->n_pods && i < o->replicas; i++) {
		if (!o->pods[i].exists && o->quiet >= ROLLOUT_REFUSED_MS)
			o->pods[i].fault = ROLLOUT_FAULT_REFUSED;
	}
	o->swept = is_swept(in, m);
}
