#include "controller/rollout.h"

bool rollout_curable(enum rollout_fault fault)
{
	switch (fault) {
	case ROLLOUT_FAULT_NONE:
		return false;
#define FAULT(name, curable, text)                                                                 \
	case ROLLOUT_FAULT_##name:                                                                 \
		return curable;
#include "controller/rollout_faults.def"
#undef FAULT
	}
	return false;
}

static void wait_for(struct rollout_decision *d, enum rollout_reason reason, int ordinal, int count)
{
	d->reason = reason;
	d->ordinal = ordinal;
	d->count = count;
}

static void write(struct rollout_decision *d, enum rollout_write what, int replicas, int partition)
{
	d->write = what;
	d->replicas = replicas;
	d->partition = partition;
	d->requeue = 0;
}

static int pods_left(const struct rollout_obs *o)
{
	int n = 0;

	for (int i = 0; i < o->n_pods; i++)
		n += o->pods[i].exists;
	return n;
}

/* Why pod i is not a member in service; NOTHING: it is one. */
static enum rollout_reason lacking(const struct rollout_pod *p)
{
	if (!p->exists)
		return p->fault == ROLLOUT_FAULT_NONE ? ROLLOUT_MISSING : ROLLOUT_STUCK;
	if (p->terminating)
		return p->fault == ROLLOUT_FAULT_NODE_LOST || p->fault == ROLLOUT_FAULT_ENDLESS
			       ? ROLLOUT_STUCK
			       : ROLLOUT_TERMINATING;
	if (!p->ready)
		return p->fault == ROLLOUT_FAULT_NONE ? ROLLOUT_NOT_READY : ROLLOUT_STUCK;
	return ROLLOUT_NOTHING;
}

/* Why a released pod (ordinal >= partition) holds the gate. */
static enum rollout_reason released_lacks(const struct rollout_pod *p)
{
	enum rollout_reason why = lacking(p);

	if (p->exists && !p->terminating && !p->updated)
		return ROLLOUT_OLD_REVISION;
	if (why == ROLLOUT_NOTHING && !p->available)
		return ROLLOUT_NOT_AVAILABLE;
	return why;
}

/* What gate 1 knows of the fleet as a whole. */
struct fleet_view {
	bool some_ready; /* any pod is in service */
	bool current_works; /* one of them runs the current revision, which is not the update revision */
	int target;	    /* the pod that the next write takes down */
};

static struct fleet_view view_of(const struct rollout_obs *o, int size, int partition)
{
	struct fleet_view v = { .target = size < o->replicas ? size : partition - 1 };

	for (int i = 0; i < o->n_pods; i++) {
		const struct rollout_pod *p = &o->pods[i];

		if (lacking(p) != ROLLOUT_NOTHING)
			continue;
		v.some_ready = true;
		if (!p->updated && !p->superseded)
			v.current_works = true;
	}
	return v;
}

/*
 * Whether a newer template is what pod i, which is not Ready, waits for: then it must not hold it back. A pod without a
 * fault may just be starting, and is waited for; it is given up when it is the very pod that will be replaced now, or
 * after long enough that its revision passes for broken: an abandoned one, or one that no pod is Ready on.
 */
static bool forgiven(const struct rollout_obs *o, int i, const struct fleet_view *v)
{
	const struct rollout_pod *p = &o->pods[i];

	if (!v->some_ready)
		return true;
	if (p->exists && p->updated)
		return false; /* it has the newer template already, and does not come up on it */
	if (rollout_curable(p->fault))
		return true;
	if (p->fault != ROLLOUT_FAULT_NONE || !p->exists || p->terminating)
		return false;
	if (p->superseded && i == v->target)
		return true;
	return o->quiet >= ROLLOUT_PATIENCE_MS && (p->superseded || !v->current_works);
}

/*
 * Gate 1 for a fleet of `size` whose ordinals >= partition are released. Highest ordinal first: the
 * one that was released last is what people wait for.
 */
static bool members_hold(const struct rollout_obs *o, int size, int partition,
			 struct rollout_decision *d)
{
	const struct fleet_view view = view_of(o, size, partition);

	for (int i = o->n_pods - 1; i >= 0; i--) {
		const struct rollout_pod *p = &o->pods[i];
		enum rollout_reason why;

		if (i >= size)
			why = p->exists && i >= o->replicas ? ROLLOUT_TERMINATING : ROLLOUT_NOTHING;
		else if (i >= partition)
			why = released_lacks(p);
		else
			why = forgiven(o, i, &view) ? ROLLOUT_NOTHING : lacking(p);
		if (why != ROLLOUT_NOTHING) {
			wait_for(d, why, i, 0);
			d->fault = p->fault;
			return true;
		}
	}
	return false;
}

/* Gate 2: what every pod that may hold cells says about restoring. */
static bool cells_hold(const struct rollout_obs *o, struct rollout_decision *d)
{
	int restoring = 0;

	if (!o->swept) {
		wait_for(d, ROLLOUT_SWEEP, -1, 0);
		return true;
	}
	for (int i = 0; i < o->n_pods; i++) {
		const struct rollout_pod *p = &o->pods[i];

		if (!p->exists)
			continue;
		switch (p->state) {
		case ROLLOUT_STATE_REACHED:
			restoring += p->restoring;
			break;
		case ROLLOUT_STATE_UNREACHABLE:
			if (!p->ready)
				break; /* it holds no cells */
			wait_for(d, ROLLOUT_UNREACHABLE, i, 0);
			return true;
		case ROLLOUT_STATE_UNKNOWN:
			wait_for(d, ROLLOUT_SWEEP, -1, 0);
			return true;
		}
	}
	if (restoring > 0) {
		wait_for(d, ROLLOUT_RESTORING, -1, restoring);
		return true;
	}
	return false;
}

/*
 * Both gates, and the settle time between steps. While it settles, the sweep that is asked for meanwhile is no news: a
 * process that is killed after each write of the status, and begins both anew, must not find one to write each time.
 */
static bool gates_hold(const struct rollout_obs *o, int size, int partition, bool settle,
		       struct rollout_decision *d)
{
	if (members_hold(o, size, partition, d))
		return true;
	if (settle && (o->quiet < o->settle || !o->swept)) {
		wait_for(d, ROLLOUT_SETTLING, -1, 0);
		if (o->quiet < o->settle)
			d->requeue = o->settle - o->quiet;
		return true;
	}
	return cells_hold(o, d);
}

/*
 * No pod may exist for a whole lease lifetime before others start. The wanted template comes first, while nothing runs:
 * then it becomes the current revision, and no pod that is lost later comes back on the old one.
 */
static void start_when_empty(const struct rollout_obs *o, int size, struct rollout_decision *d)
{
	int left = pods_left(o);

	d->phase = ROLLOUT_RECREATING;
	if (left > 0) {
		wait_for(d, ROLLOUT_PODS_LEFT, -1, left);
	} else if (o->empty < o->hold) {
		wait_for(d, ROLLOUT_LEASE_HOLD, -1, 0);
		d->requeue = o->hold - o->empty;
	} else if (o->template_due) {
		wait_for(d, ROLLOUT_CONTROLLER, -1, 0);
		write(d, ROLLOUT_WRITE_RENEW, 0, 0);
		d->remember = o->remembered;
	} else if (!o->settled) {
		wait_for(d, ROLLOUT_REVISION, -1, 0);
	} else {
		wait_for(d, ROLLOUT_STARTING, -1, 0);
		write(d, ROLLOUT_WRITE_START, size, 0);
	}
}

static void stop(const struct rollout_obs *o, int remember, struct rollout_decision *d)
{
	d->phase = ROLLOUT_RECREATING;
	wait_for(d, ROLLOUT_STOPPING, -1, 0);
	write(d, ROLLOUT_WRITE_STOP, 0, o->partition);
	d->remember = remember;
}

static void recreate(const struct rollout_obs *o, struct rollout_decision *d)
{
	if (o->replicas > 0)
		stop(o, o->remembered, d); /* somebody has started it in between */
	else
		start_when_empty(o, o->remembered, d);
}

static void change(const struct rollout_obs *o, struct rollout_decision *d)
{
	if (o->stop_all) {
		stop(o, o->replicas, d);
	} else {
		d->phase = ROLLOUT_ROLLING_OUT;
		wait_for(d, ROLLOUT_CONTROLLER, -1, 0);
		write(d, ROLLOUT_WRITE_FREEZE, o->replicas, o->replicas);
	}
}

/* One ordinal fewer, behind both gates. The pod that goes may be in any state. */
static void shrink(const struct rollout_obs *o, int partition, struct rollout_decision *d)
{
	int size = o->replicas - 1;
	int keep = partition == ROLLOUT_REST || partition < size ? partition : size;

	if (gates_hold(o, size, partition, true, d))
		return;
	wait_for(d, ROLLOUT_SCALING, -1, 0);
	write(d, ROLLOUT_WRITE_SCALE, size, keep);
}

static void grow(const struct rollout_obs *o, int partition, struct rollout_decision *d)
{
	wait_for(d, ROLLOUT_SCALING, -1, 0);
	write(d, ROLLOUT_WRITE_SCALE, o->want, partition);
}

static int unavailable(const struct rollout_obs *o)
{
	int n = 0;

	for (int i = 0; i < o->replicas && i < o->n_pods; i++)
		n += lacking(&o->pods[i]) != ROLLOUT_NOTHING || !o->pods[i].available;
	return n;
}

/*
 * The highest released pod that still runs another revision while so many are unavailable that the StatefulSet's
 * controller replaces none: more than when it was released, or somebody has released it without us. -1: there is none.
 */
static int starved(const struct rollout_obs *o, int partition)
{
	int members = o->replicas < o->n_pods ? o->replicas : o->n_pods;

	if (!o->budget || o->budget > unavailable(o))
		return -1;
	for (int i = members - 1; i >= partition; i--) {
		const struct rollout_pod *p = &o->pods[i];

		if (p->exists && !p->terminating && !p->updated)
			return i;
	}
	return -1;
}

/* It is released once more, alone, behind both gates. */
static void feed(const struct rollout_obs *o, int ordinal, struct rollout_decision *d)
{
	if (gates_hold(o, o->replicas, ordinal + 1, true, d))
		return;
	wait_for(d, ROLLOUT_RELEASED, -1, 0);
	write(d, ROLLOUT_WRITE_STEP, o->replicas, ordinal);
}

/* A pod that runs another revision than the template, whoever has changed which. */
static bool stale(const struct rollout_obs *o)
{
	for (int i = 0; i < o->replicas && i < o->n_pods; i++) {
		if (o->pods[i].exists && !o->pods[i].terminating && !o->pods[i].updated)
			return true;
	}
	return false;
}

static void end_roll(const struct rollout_obs *o, struct rollout_decision *d)
{
	wait_for(d, ROLLOUT_RELEASED, -1, 0);
	write(d, ROLLOUT_WRITE_REST, o->replicas, ROLLOUT_REST);
}

static void finish(const struct rollout_obs *o, struct rollout_decision *d)
{
	if (members_hold(o, o->replicas, 0, d))
		return;
	if (!o->settled) {
		wait_for(d, ROLLOUT_REVISION, -1, 0);
		return;
	}
	end_roll(o, d);
}

static void roll(const struct rollout_obs *o, struct rollout_decision *d)
{
	int partition = o->partition < o->replicas ? o->partition : o->replicas;
	int hungry = starved(o, partition);

	d->phase = ROLLOUT_ROLLING_OUT;
	if (o->want > o->replicas) {
		grow(o, partition, d);
	} else if (hungry >= 0) {
		feed(o, hungry, d);
	} else if (o->want >= 0 && o->want < o->replicas) {
		shrink(o, partition, d);
	} else if (partition == 0) {
		finish(o, d);
	} else if (o->settled && !stale(o)) {
		end_roll(o,
			 d); /* what changed is not of the pods: none ends when all are released */
	} else if (!gates_hold(o, o->replicas, partition, partition < o->replicas, d)) {
		wait_for(d, ROLLOUT_RELEASED, -1, 0);
		write(d, ROLLOUT_WRITE_STEP, o->replicas, partition - 1);
	}
}

static void rest(const struct rollout_obs *o, struct rollout_decision *d)
{
	if (o->want > o->replicas) {
		grow(o, ROLLOUT_REST, d);
	} else if (o->want >= 0 && o->want < o->replicas) {
		shrink(o, ROLLOUT_REST, d);
	} else if (!members_hold(o, o->replicas, 0, d)) {
		d->phase = ROLLOUT_READY;
		d->requeue = 0;
	}
}

static void live(const struct rollout_obs *o, struct rollout_decision *d)
{
	bool changing = o->template_due || o->remembered >= 0;

	if (o->remembered >= 0)
		d->phase = ROLLOUT_RECREATING;
	else if (o->partition != ROLLOUT_REST || changing)
		d->phase = ROLLOUT_ROLLING_OUT;
	if (!o->observed)
		wait_for(d, ROLLOUT_CONTROLLER, -1, 0);
	else if (!o->pods_current)
		wait_for(d, ROLLOUT_PODS_UNKNOWN, -1, 0);
	else if (o->remembered >= 0)
		recreate(o, d);
	else if (o->replicas == 0)
		start_when_empty(o, o->start, d);
	else if (o->template_due || (o->partition == ROLLOUT_REST && stale(o)))
		change(o, d);
	else if (o->partition != ROLLOUT_REST)
		roll(o, d);
	else
		rest(o, d);
}

/* A step that counts on the size of the fleet waits until nobody else can change it. Rest gives nothing away. */
static bool counts_on_size(enum rollout_write w)
{
	switch (w) {
	case ROLLOUT_WRITE_NONE:
	case ROLLOUT_WRITE_CREATE:
	case ROLLOUT_WRITE_REST:
		return false;
	case ROLLOUT_WRITE_FREEZE:
	case ROLLOUT_WRITE_STEP:
	case ROLLOUT_WRITE_SCALE:
	case ROLLOUT_WRITE_STOP:
	case ROLLOUT_WRITE_RENEW:
	case ROLLOUT_WRITE_START:
		return true;
	}
	return true;
}

static void wait_for_autoscaler(const struct rollout_obs *o, struct rollout_decision *d)
{
	d->write = ROLLOUT_WRITE_NONE;
	d->partition = d->replicas = 0;
	d->remember = -1;
	wait_for(d, ROLLOUT_AUTOSCALER, -1, 0);
	d->requeue = o->recheck;
}

/*
 * Of an earlier StatefulSet, perhaps of another version: a new one waits until they are gone. Orphans are taken over.
 */
static int leftovers(const struct rollout_obs *o)
{
	int n = 0;

	for (int i = 0; i < o->n_pods; i++)
		n += o->pods[i].exists && (o->pods[i].foreign || o->pods[i].terminating);
	return n;
}

static bool is_told(enum rollout_reason reason)
{
	switch (reason) {
#define REASON(name, told, text)                                                                   \
	case ROLLOUT_##name:                                                                       \
		return told;
#include "controller/rollout_reasons.def"
#undef REASON
	}
	return false;
}

/*
 * The longer nothing has changed the later: ten thousand apps that wait for ever cost next to nothing. Not past a
 * moment at which time alone makes a fault of a wait.
 */
static int64_t later_and_later(const struct rollout_obs *o)
{
	static const int64_t moments[] = { ROLLOUT_REFUSED_MS, ROLLOUT_PATIENCE_MS };
	int64_t ms = o->quiet / 2;

	if (ms < o->recheck)
		ms = o->recheck;
	if (ms > ROLLOUT_RECHECKS * o->recheck)
		ms = ROLLOUT_RECHECKS * o->recheck;
	for (size_t i = 0; i < array_len(moments); i++) {
		if (o->quiet < moments[i] && ms > moments[i] - o->quiet)
			ms = moments[i] - o->quiet;
	}
	return ms;
}

void rollout_decide(const struct rollout_obs *obs, struct rollout_decision *ret)
{
	struct rollout_decision d = {
		.phase = ROLLOUT_PENDING,
		.ordinal = -1,
		.remember = -1,
		.requeue = obs->recheck,
	};

	if (obs->deleting || obs->paused || obs->refused) {
		d.phase = obs->paused	 ? ROLLOUT_PAUSED
			  : obs->refused ? ROLLOUT_DEGRADED
					 : ROLLOUT_PENDING;
		d.requeue = 0;
	} else if (obs->leaving) {
		wait_for(&d, ROLLOUT_LEAVING, -1, 0);
	} else if (obs->exists) {
		live(obs, &d);
	} else if (obs->no_workload) {
		wait_for(&d, ROLLOUT_NO_WORKLOAD, -1, 0);
	} else if (leftovers(obs) > 0) {
		wait_for(&d, ROLLOUT_PODS_LEFT, -1, leftovers(obs));
	} else {
		wait_for(&d, ROLLOUT_CREATING, -1, 0);
		write(&d, ROLLOUT_WRITE_CREATE, obs->start, ROLLOUT_REST);
	}
	if (obs->autoscaler && counts_on_size(d.write))
		wait_for_autoscaler(obs, &d);
	/* Room for the one that a step takes down, beside those that are down already and were forgiven. */
	if (obs->budget && d.write != ROLLOUT_WRITE_NONE)
		d.budget = d.write == ROLLOUT_WRITE_STEP ? unavailable(obs) + 1 : 1;
	if (d.requeue > 0 && is_told(d.reason))
		d.requeue = later_and_later(obs);
	*ret = d;
}
