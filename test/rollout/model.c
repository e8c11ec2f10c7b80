#include "test/rollout/model.h"

#include <string.h>

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
		*p = (struct model_pod){ .exists = true,
					 .revision = i < m->partition ? m->current : m->update };
		p->broken = p->revision == m->broken_revision;
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
			return true;
		}
	}
	return false;
}

/* The highest ordinal at or above the partition that runs another revision goes; one at a time. */
static bool update_next(struct model *m)
{
	for (int i = m->replicas - 1; i >= m->partition && i >= 0; i--) {
		struct model_pod *p = &m->pods[i];

		if (p->exists && p->revision != m->update && !p->terminating) {
			p->terminating = true;
			p->ready = false;
			return true;
		}
		if (!healthy(p))
			return false;
	}
	return false;
}

static bool complete(struct model *m)
{
	if (m->current == m->update)
		return false;
	for (int i = 0; i < m->replicas; i++) {
		if (!healthy(&m->pods[i]) || m->pods[i].revision != m->update)
			return false;
	}
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

void model_heal(struct model *m)
{
	for (int i = 0; i < MODEL_PODS; i++) {
		struct model_pod *p = &m->pods[i];

		if (p->terminating)
			*p = (struct model_pod){ .exists = false };
		p->ready = p->exists && !p->broken;
		p->reachable = p->ready;
		p->restoring = 0;
	}
	m->swept = m->settled_time = m->empty_time = true;
}

static bool any_pod(const struct model *m)
{
	for (int i = 0; i < MODEL_PODS; i++) {
		if (m->pods[i].exists)
			return true;
	}
	return false;
}

void model_observe(const struct model *m, struct rollout_obs *o)
{
	memset(o, 0, sizeof(*o));
	o->exists = m->exists;
	o->template_due = m->exists && m->update != m->wanted;
	o->stop_all = o->template_due && m->stop_all;
	o->want = m->want;
	o->start = m->want;
	o->observed = m->observed;
	o->settled = m->current == m->update;
	o->replicas = m->replicas;
	o->partition = m->partition;
	o->remembered = m->remembered;
	o->pods_current = true;
	o->n_pods = MODEL_PODS;
	for (int i = 0; i < MODEL_PODS; i++) {
		const struct model_pod *p = &m->pods[i];
		struct rollout_pod *to = &o->pods[i];

		to->exists = p->exists;
		to->terminating = p->terminating;
		to->ready = to->available = p->ready;
		to->updated = p->exists && p->revision == m->update;
		to->superseded = p->exists && !to->updated && p->revision != m->current;
		to->fault = p->exists && p->broken && !p->ready ? ROLLOUT_FAULT_CRASH_LOOP
								: ROLLOUT_FAULT_NONE;
		to->state = p->reachable ? ROLLOUT_STATE_REACHED : ROLLOUT_STATE_UNREACHABLE;
		to->restoring = p->reachable ? p->restoring : 0;
	}
	o->swept = m->swept;
	o->settle = o->hold = o->recheck = 10000;
	o->quiet = m->settled_time ? 10000 : 0;
	o->empty = !any_pod(m) && m->empty_time ? 10000 : 0;
}

void model_write(struct model *m, const struct rollout_decision *d)
{
	m->observed = false;
	m->swept = m->settled_time = false;
	switch (d->write) {
	case ROLLOUT_WRITE_NONE:
		m->observed = true;
		return;
	case ROLLOUT_WRITE_CREATE:
		m->exists = true;
		m->current = m->update = m->wanted;
		break;
	case ROLLOUT_WRITE_FREEZE:
	case ROLLOUT_WRITE_START:
		m->update = m->wanted;
		break;
	case ROLLOUT_WRITE_STEP:
	case ROLLOUT_WRITE_REST:
	case ROLLOUT_WRITE_SCALE:
	case ROLLOUT_WRITE_STOP:
		break;
	}
	m->remembered = d->write == ROLLOUT_WRITE_STOP ? d->remember : -1;
	m->replicas = d->replicas;
	m->partition = d->partition;
}

bool model_at_goal(const struct model *m)
{
	if (!m->exists || m->replicas != m->want || m->partition != ROLLOUT_REST ||
	    m->update != m->wanted || m->current != m->wanted)
		return false;
	for (int i = 0; i < MODEL_PODS; i++) {
		const struct model_pod *p = &m->pods[i];

		if (i >= m->replicas ? p->exists : !healthy(p) || p->revision != m->wanted)
			return false;
	}
	return true;
}
