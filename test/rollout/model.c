#include "test/rollout/model.h"

#include <string.h>

/* --- the StatefulSet controller ------------------------------------------------------------------- */

static bool healthy(const struct model_pod *p)
{
	return p->exists && p->ready && !p->terminating;
}

static bool create_missing(struct model *m)
{
	for (int i = 0; i < m->replicas; i++) {
		struct model_pod *p = &m->pods[i];

		if (p->exists)
			continue;
		memset(p, 0, sizeof(*p));
		p->exists = true;
		p->revision = (signed char)(i < m->partition ? m->current : m->update);
		model_changed(m);
		return true;
	}
	return false;
}

static bool delete_surplus(struct model *m)
{
	for (int i = MODEL_PODS - 1; i >= m->replicas; i--) {
		struct model_pod *p = &m->pods[i];

		if (p->exists && !p->terminating) {
			p->terminating = true;
			model_changed(m);
			return true;
		}
	}
	return false;
}

static int unavailable(const struct model *m)
{
	int n = 0;

	for (int i = 0; i < m->replicas; i++)
		n += !healthy(&m->pods[i]);
	return n;
}

/* The highest ordinal at or above the partition that runs another revision goes, ready or not; unavailable ones above
 * it are waited for. Where Kubernetes counts them, up to 1.36, the pods to spare go instead, wherever others lack. */
static bool update_next(struct model *m)
{
	if (m->budget && unavailable(m) >= m->budget)
		return false;
	for (int i = m->replicas - 1; i >= m->partition && i >= 0; i--) {
		struct model_pod *p = &m->pods[i];

		if (p->exists && p->revision != m->update && !p->terminating) {
			p->terminating = true;
			model_changed(m);
			return true;
		}
		if (!m->budget && !healthy(p))
			return false;
	}
	return false;
}

/* By numbers alone, whatever the ordinals; pods that terminate count as existing, and as ready while they are. */
static bool complete(struct model *m)
{
	int exist = 0, ready = 0, updated = 0;

	if (m->current == m->update)
		return false;
	for (int i = 0; i < MODEL_PODS; i++) {
		const struct model_pod *p = &m->pods[i];

		exist += p->exists;
		ready += p->exists && p->ready;
		updated += p->exists && !p->terminating && p->revision == m->update;
	}
	if (exist != m->replicas || ready != m->replicas || updated != m->replicas)
		return false;
	m->current = m->update;
	return true;
}

bool model_controller_step(struct model *m)
{
	if (!m->exists)
		return false;
	if (!m->observed) {
		m->observed = true;
		return true;
	}
	return create_missing(m) || delete_surplus(m) || update_next(m) || complete(m);
}

void model_controller_settle(struct model *m)
{
	for (int i = 0; i < 4 * MODEL_PODS && model_controller_step(m); i++)
		;
}

/* --- the world ------------------------------------------------------------------------------------ */

void model_changed(struct model *m)
{
	m->swept = false;
	m->quiet = 0;
	m->empty = 0;
}

static bool in_set(unsigned set, int revision)
{
	return revision >= 0 && set >> revision & 1;
}

bool model_broken(const struct model *m, int revision)
{
	return in_set(m->loud | m->silent, revision);
}

static void heal_pod(const struct model *m, struct model_pod *p)
{
	if (p->terminating)
		memset(p, 0, sizeof(*p));
	p->fault = ROLLOUT_FAULT_NONE;
	p->ready = p->exists && !model_broken(m, p->revision);
	p->reachable = p->ready;
	p->restoring = 0;
}

void model_heal(struct model *m)
{
	for (int i = 0; i < MODEL_PODS; i++)
		heal_pod(m, &m->pods[i]);
	m->swept = true;
	m->quiet = ROLLOUT_PATIENCE_MS;
	m->empty = MODEL_HOLD_MS;
}

/* --- between the two ------------------------------------------------------------------------------ */

static bool any_pod(const struct model *m)
{
	for (int i = 0; i < MODEL_PODS; i++) {
		if (m->pods[i].exists)
			return true;
	}
	return false;
}

bool model_stop_all(const struct model *m)
{
	bool kind = in_set(m->apart, m->wanted);

	if (!m->exists || m->update == m->wanted)
		return false;
	if (m->replicas > 0 && in_set(m->apart, m->update) != kind)
		return true;
	for (int i = 0; i < MODEL_PODS; i++) {
		if (m->pods[i].exists && in_set(m->apart, m->pods[i].revision) != kind)
			return true;
	}
	return false;
}

static enum rollout_fault seen_fault(const struct model *m, const struct model_pod *p)
{
	if (p->fault != ROLLOUT_FAULT_NONE || !p->exists || p->ready)
		return p->fault;
	return in_set(m->loud, p->revision) ? ROLLOUT_FAULT_CRASH_LOOP : ROLLOUT_FAULT_NONE;
}

static void observe_pod(const struct model *m, const struct model_pod *p, struct rollout_pod *to)
{
	memset(to, 0, sizeof(*to));
	to->fault = seen_fault(m, p);
	if (!p->exists)
		return;
	to->exists = true;
	to->terminating = p->terminating;
	to->ready = to->available = p->ready;
	to->updated = p->revision == m->update;
	to->superseded = !to->updated && p->revision != m->current;
	to->state = p->reachable ? ROLLOUT_STATE_REACHED : ROLLOUT_STATE_UNREACHABLE;
	to->restoring = p->reachable ? p->restoring : 0;
}

void model_observe(const struct model *m, struct rollout_obs *o)
{
	o->deleting = o->paused = o->refused = o->no_workload = false;
	o->exists = m->exists;
	o->template_due = m->exists && m->update != m->wanted;
	o->stop_all = model_stop_all(m);
	o->want = m->want;
	o->start = m->want >= 0 ? m->want : 2;
	o->observed = m->observed;
	o->settled = m->current == m->update;
	o->replicas = m->replicas;
	o->partition = m->partition;
	o->budget = m->exists ? m->budget : 0;
	o->remembered = m->remembered;
	o->pods_current = true;
	o->n_pods = MODEL_PODS;
	for (int i = 0; i < MODEL_PODS; i++)
		observe_pod(m, &m->pods[i], &o->pods[i]);
	o->swept = m->swept;
	o->settle = MODEL_SETTLE_MS;
	o->hold = MODEL_HOLD_MS;
	o->recheck = MODEL_RECHECK_MS;
	o->quiet = m->quiet;
	o->empty = any_pod(m) ? 0 : m->empty;
}

void model_write(struct model *m, const struct rollout_decision *d)
{
	switch (d->write) {
	case ROLLOUT_WRITE_NONE:
		return;
	case ROLLOUT_WRITE_CREATE:
		m->exists = true;
		m->current = m->update = m->wanted;
		break;
	case ROLLOUT_WRITE_FREEZE:
	case ROLLOUT_WRITE_RENEW:
	case ROLLOUT_WRITE_START:
		m->update = m->wanted;
		break;
	case ROLLOUT_WRITE_STEP:
	case ROLLOUT_WRITE_REST:
	case ROLLOUT_WRITE_SCALE:
	case ROLLOUT_WRITE_STOP:
		break;
	}
	/* a change of the StatefulSet is one of the fleet; how long it is empty is another matter */
	m->observed = false;
	m->swept = false;
	m->quiet = 0;
	m->remembered = d->remember;
	m->replicas = d->replicas;
	m->partition = d->partition;
	if (m->budget && d->budget)
		m->budget = d->budget;
}

bool model_at_goal(const struct model *m)
{
	int size = m->want >= 0 ? m->want : m->replicas;

	if (!m->exists || m->replicas != size || size < 1 || m->partition != ROLLOUT_REST ||
	    m->update != m->wanted || m->current != m->wanted || m->remembered >= 0)
		return false;
	for (int i = 0; i < MODEL_PODS; i++) {
		const struct model_pod *p = &m->pods[i];

		if (i >= m->replicas ? p->exists : !healthy(p) || p->revision != m->wanted)
			return false;
	}
	return true;
}
