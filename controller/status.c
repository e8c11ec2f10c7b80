#include "controller/status.h"

#include <stdio.h>
#include <string.h>

#include "common/buf.h"
#include "common/limits.h"
#include "controller/desired.h"

enum { TEXT = 1536 };

const char *status_phase(enum rollout_phase phase)
{
	switch (phase) {
	case ROLLOUT_PAUSED:
		return "Paused";
	case ROLLOUT_DEGRADED:
		return "Degraded";
	case ROLLOUT_RECREATING:
		return "Recreating";
	case ROLLOUT_ROLLING_OUT:
		return "RollingOut";
	case ROLLOUT_PENDING:
		return "Pending";
	case ROLLOUT_READY:
		return "Ready";
	}
	return "";
}

enum rollout_phase status_shown_phase(const struct status_input *in)
{
	const char *before = json_get_str(in->app->status, "phase");
	const struct rollout_obs *o = in->obs;
	enum rollout_phase now = in->decision->phase;
	bool starts = !o->template_due && (o->partition == 0 || o->partition == ROLLOUT_REST);

	if (!before || !o->exists || (now != ROLLOUT_PENDING && now != ROLLOUT_ROLLING_OUT))
		return now;
	if (str_eq(before, "Recreating") && (now == ROLLOUT_PENDING || starts))
		return ROLLOUT_RECREATING;
	return str_eq(before, "RollingOut") ? ROLLOUT_ROLLING_OUT : now;
}

static const char *fault_text(enum rollout_fault fault)
{
	switch (fault) {
	case ROLLOUT_FAULT_NONE:
		return "";
#define FAULT(name, curable, text)                                                                 \
	case ROLLOUT_FAULT_##name:                                                                 \
		return text;
#include "controller/rollout_faults.def"
#undef FAULT
	}
	return "";
}

static const char *remedy(enum rollout_fault fault)
{
	switch (fault) {
	case ROLLOUT_FAULT_NONE:
		return "";
	case ROLLOUT_FAULT_CRASH_LOOP:
		return "mend the spec or go back: a newer template goes through";
	case ROLLOUT_FAULT_IMAGE:
		return "correct spec.celld.image or its pull secret";
	case ROLLOUT_FAULT_CONFIG:
		return "create what the container refers to";
	case ROLLOUT_FAULT_REFUSED:
		return "see the StatefulSet's events: quota, Pod Security or another webhook";
	case ROLLOUT_FAULT_SELF_FENCE:
		return "check the object store and the bucket's credentials";
	case ROLLOUT_FAULT_UNSCHEDULABLE:
		return "make room, or change spec.resources or spec.scheduling";
	case ROLLOUT_FAULT_NODE_LOST:
		return "bring the node back, or delete it when it is gone for good";
	case ROLLOUT_FAULT_ENDLESS:
		return "its node is down, or a finalizer holds it: bring the node back; once the "
		       "pod runs nowhere for sure, delete it with --force";
	case ROLLOUT_FAULT_CLAIM_LOST:
		return "restore the claim, or delete it to start the member empty";
	}
	return "";
}

/* The pod of an ordinal among those that exist; NULL: missing. */
static const struct fleet_pod *pod_of(const struct status_input *in, int ordinal, size_t *ret_i)
{
	for (size_t i = 0; i < in->n_pods; i++) {
		if (in->pods[i].ordinal == ordinal) {
			*ret_i = i;
			return &in->pods[i];
		}
	}
	return NULL;
}

/* One line: what a container or a server said may have several. */
static void puts_line(struct buf *to, const char *s)
{
	for (size_t n; *s; s += n + (s[n] != '\0')) {
		n = strcspn(s, "\r\n\t");
		buf_add(to, s, n);
		if (s[n])
			buf_putc(to, ' ');
	}
}

static void fault_words(const struct status_input *in, int ordinal, enum rollout_fault fault,
			struct buf *to)
{
	size_t i;
	const struct fleet_pod *p = pod_of(in, ordinal, &i);
	bool ended = fault == ROLLOUT_FAULT_CRASH_LOOP || fault == ROLLOUT_FAULT_SELF_FENCE;

	buf_printf(to, " (%s", fault_text(fault));
	if (p && p->exit_code > 0 && ended)
		buf_printf(to, ", exit %d", p->exit_code);
	if (p && p->fault_text[0] && fault != ROLLOUT_FAULT_ENDLESS) {
		buf_puts(to, ": ");
		puts_line(to, p->fault_text);
	}
	if (!p && !str_empty(in->refused_text)) {
		buf_puts(to, ": ");
		puts_line(to, in->refused_text);
	}
	buf_puts(to, ")");
}

static void stuck_text(const struct status_input *in, struct buf *to)
{
	fault_words(in, in->decision->ordinal, in->decision->fault, to);
	buf_printf(to, "; %s", remedy(in->decision->fault));
}

/* What holds a pod back that no waiting ends. */
static bool needs_hands(enum rollout_fault fault)
{
	return fault == ROLLOUT_FAULT_NODE_LOST || fault == ROLLOUT_FAULT_ENDLESS ||
	       fault == ROLLOUT_FAULT_CLAIM_LOST || fault == ROLLOUT_FAULT_UNSCHEDULABLE;
}

enum { OTHERS = 3 };

/* Other members that cannot come back; without them somebody mends one and finds the next. */
static void others_text(const struct status_input *in, const char *name, struct buf *to)
{
	const struct rollout_decision *d = in->decision;
	enum rollout_fault last = d->reason == ROLLOUT_STUCK ? d->fault : ROLLOUT_FAULT_NONE;
	int told = 0;

	for (int n = in->obs->n_pods - 1; n >= 0 && told < OTHERS; n--) {
		enum rollout_fault fault = in->obs->pods[n].fault;

		if (n == d->ordinal || !in->obs->pods[n].exists || !needs_hands(fault))
			continue;
		buf_printf(to, "; also %s-%d", name, n);
		fault_words(in, n, fault, to);
		if (fault != last)
			buf_printf(to, "; %s", remedy(fault));
		last = fault;
		told++;
	}
}

static bool waits_for_members(const struct rollout_decision *d)
{
	static const enum rollout_reason about_members[] = {
		ROLLOUT_STUCK,	   ROLLOUT_MISSING,	  ROLLOUT_TERMINATING, ROLLOUT_OLD_REVISION,
		ROLLOUT_NOT_READY, ROLLOUT_NOT_AVAILABLE, ROLLOUT_UNREACHABLE, ROLLOUT_PODS_LEFT,
	};

	for (size_t i = 0; i < array_len(about_members); i++) {
		if (d->reason == about_members[i])
			return true;
	}
	return false;
}

bool status_is_stuck(const struct status_input *in)
{
	if (in->decision->reason == ROLLOUT_STUCK)
		return true;
	for (int n = 0; waits_for_members(in->decision) && n < in->obs->n_pods; n++) {
		if (in->obs->pods[n].exists && needs_hands(in->obs->pods[n].fault))
			return true;
	}
	return false;
}

static const char *reason_text(enum rollout_reason reason)
{
	switch (reason) {
#define REASON(name, told, text)                                                                   \
	case ROLLOUT_##name:                                                                       \
		return text;
#include "controller/rollout_reasons.def"
#undef REASON
	}
	return "";
}

/* Puts pod name and number into a reason's text. */
static void fill(const char *text, const char *pod, int count, struct buf *to)
{
	for (; *text; text++) {
		if (text[0] == '%' && text[1] == 's') {
			buf_puts(to, pod);
			text++;
		} else if (text[0] == '%' && text[1] == 'd') {
			buf_printf(to, "%d", count);
			text++;
		} else {
			buf_putc(to, *text);
		}
	}
}

char *status_waiting_on(const struct status_input *in)
{
	const struct rollout_decision *d = in->decision;
	struct buf b = BUF_INIT(TEXT);
	cleanup(freep) char *name = desired_name(in->app);
	cleanup(freep) char *pod = xasprintf("%s-%d", name, d->ordinal);
	size_t i;

	fill(reason_text(d->reason), pod, d->count, &b);
	if (d->reason == ROLLOUT_STUCK)
		stuck_text(in, &b);
	if (waits_for_members(d))
		others_text(in, name, &b);
	if (d->reason == ROLLOUT_UNREACHABLE && pod_of(in, d->ordinal, &i) && in->states[i].why[0])
		buf_printf(&b, ": %s", in->states[i].why);
	if (d->reason == ROLLOUT_ADOPTING && pod_of(in, d->ordinal, &i) && in->expected)
		buf_printf(&b, ": %s, not %s",
			   in->states[i].has_deployment ? in->states[i].deployment : "none",
			   in->expected);
	return buf_ok(&b) ? buf_take(&b) : xstrdup("");
}

static const struct json *old_condition(const struct workerapp *app, const char *type)
{
	return json_find(json_get(app->status, "conditions"), "type", type);
}

static void condition(const struct status_input *in, struct json *all, const char *type,
		      const char *value, const char *reason, const char *message)
{
	const struct json *old = old_condition(in->app, type);
	const char *was = json_get_str(old, "status");
	const char *since = json_get_str(old, "lastTransitionTime");
	struct json *c = json_new_object();

	json_set_str_always(c, "type", type);
	json_set_str_always(c, "status", value);
	json_set_str_always(c, "reason", reason);
	json_set_str_always(c, "message", message);
	json_set_int(c, "observedGeneration", in->app->generation);
	json_set_str_always(c, "lastTransitionTime",
			    was && since && str_eq(was, value) ? since : in->now);
	json_add(all, c);
}

static void fleet_state_condition(const struct status_input *in, struct json *all)
{
	size_t asked = 0;
	const struct fleet_pod *worst = NULL; /* the lowest ordinal: lists come in any order */
	char text[TEXT] = "";

	for (size_t i = 0; i < in->n_pods; i++) {
		const struct pod_state *s = &in->states[i];
		const struct fleet_pod *p = &in->pods[i];

		if (!p->running || p->terminating || !s->asked)
			continue;
		asked++;
		if (s->valid || (worst && worst->ordinal < p->ordinal))
			continue;
		worst = p;
		(void)snprintf(text, sizeof(text), "pod %s: %s", p->name, s->why);
	}
	if (worst) {
		condition(in, all, "FleetStateReady", "False", "Unavailable", text);
		return;
	}
	if (asked)
		condition(in, all, "FleetStateReady", "True", "Observed",
			  "every pod's state was read");
	else
		condition(in, all, "FleetStateReady", "Unknown", "Unavailable",
			  "no pod was asked yet");
}

static int count_ready(const struct status_input *in)
{
	int n = 0;

	for (size_t i = 0; i < in->n_pods; i++)
		n += in->pods[i].ready && !in->pods[i].terminating;
	return n;
}

static const char *progress_reason(const struct status_input *in)
{
	const struct rollout_decision *d = in->decision;

	if (d->reason == ROLLOUT_STUCK && d->fault == ROLLOUT_FAULT_REFUSED)
		return "FailedCreate";
	if (status_is_stuck(in))
		return "MemberStuck";
	return status_phase(status_shown_phase(in));
}

/* A spec that is not acted on comes before an object that cannot be written. */
static void degraded_condition(const struct status_input *in, struct json *all)
{
	const struct refusal *r = in->refusal;

	if (r->reason)
		condition(in, all, "Degraded", "True", r->reason, r->message);
	else if (in->trouble && in->trouble->reason)
		condition(in, all, "Degraded", "True", in->trouble->reason, in->trouble->message);
	else
		condition(in, all, "Degraded", "False", status_phase(status_shown_phase(in)), "");
}

static struct json *conditions(const struct status_input *in, const char *waiting)
{
	struct json *all = json_new_array();
	enum rollout_phase phase = status_shown_phase(in);
	const char *name = status_phase(phase);
	bool refused = in->refusal->reason != NULL;
	bool moving = phase == ROLLOUT_RECREATING || phase == ROLLOUT_ROLLING_OUT ||
		      phase == ROLLOUT_PENDING;
	const char *message = refused ? in->refusal->message : waiting;

	condition(in, all, "Ready", phase == ROLLOUT_READY ? "True" : "False", name, message);
	condition(in, all, "SpecValid", in->spec_valid ? "True" : "False",
		  in->spec_valid ? "Validated" : "InvalidConfiguration",
		  in->spec_valid ? "" : in->spec_message);
	condition(in, all, "Available", count_ready(in) > 0 ? "True" : "False", name,
		  count_ready(in) > 0 ? "" : "no pod is Ready");
	condition(in, all, "Progressing", moving ? "True" : "False", progress_reason(in), waiting);
	degraded_condition(in, all);
	fleet_state_condition(in, all);
	for (size_t i = 0; i < in->n_more; i++)
		condition(in, all, in->more[i].type, in->more[i].status, in->more[i].reason,
			  in->more[i].message);
	return all;
}

static struct json *fleet_counts(const struct status_input *in)
{
	struct json *f = json_new_object();
	int replicas = 0, updated = 0, restoring = 0;

	for (size_t i = 0; i < in->n_pods; i++) {
		int n = in->pods[i].ordinal;

		replicas++;
		if (n >= 0 && n < ROLLOUT_PODS)
			updated += in->obs->pods[n].updated;
		if (in->states[i].valid)
			restoring += in->states[i].restoring;
	}
	json_set_int(f, "replicas", replicas);
	json_set_int(f, "ready", count_ready(in));
	json_set_int(f, "updated", updated);
	json_set_int(f, "restoring", restoring);
	return f;
}

static struct json *versions(const struct status_input *in)
{
	struct strlist l = STRLIST_INIT;
	struct json *all = json_new_array();
	char text[VERSION_TEXT];

	for (size_t i = 0; i < in->n_pods; i++) {
		if (!in->pods[i].has_version)
			continue;
		version_text(in->pods[i].version, text);
		strlist_add_once(&l, text);
	}
	if (in->sts->exists && in->sts->replicas > 0 && in->sts->has_version) {
		version_text(in->sts->version, text);
		strlist_add_once(&l, text);
	}
	if (in->sts->exists && in->sts->replicas > 0 && in->sts->has_current_version) {
		version_text(in->sts->current_version, text);
		strlist_add_once(&l, text);
	}
	strlist_sort(&l);
	for (size_t i = 0; i < l.n; i++)
		json_add_str(all, l.v[i]);
	strlist_done(&l);
	return all;
}

static struct json *deployments(const struct status_input *in)
{
	struct json *all = json_new_array();

	for (int n = 0; n < in->obs->n_pods; n++) {
		size_t i;
		struct json *d;

		if (!pod_of(in, n, &i) || !in->states[i].valid || !in->states[i].has_deployment)
			continue;
		d = json_new_object();
		json_set_str_always(d, "name", in->pods[i].name);
		json_set_str_always(d, "version", in->states[i].deployment);
		json_set_int(d, "generation", in->states[i].generation);
		json_set_int(d, "draining", in->states[i].draining);
		json_set_int(d, "swapping", in->states[i].swapping);
		json_add(all, d);
	}
	return all;
}

/* Every pod says itself that it serves the expected version; before 0.4 its revision says so. */
static bool all_serve(const struct status_input *in)
{
	for (size_t i = 0; i < in->n_pods; i++) {
		const struct pod_state *s = &in->states[i];

		if (!in->tells_deployment)
			continue;
		if (!s->valid || !s->has_deployment || !str_eq(s->deployment, in->expected))
			return false;
	}
	return in->n_pods > 0;
}

static const char *rolled_out(const struct status_input *in)
{
	const char *before = in->app->seen.rolled_out_app_version;

	if (in->decision->phase != ROLLOUT_READY || !in->expected || !all_serve(in))
		return before;
	return in->expected;
}

int status_kept_size(const struct workerapp *app)
{
	int64_t n = -1;

	(void)json_get_int(json_get(app->status, "rollout"), "replicas", &n);
	return n > 0 && n <= ROLLOUT_PODS ? (int)n : -1;
}

static struct json *rollout(const struct status_input *in, const char *waiting)
{
	const struct json *old = json_get(in->app->status, "rollout");
	const char *before = json_get_str(old, "waitingOn");
	const char *since = json_get_str(old, "since");
	enum rollout_phase phase = status_shown_phase(in);
	bool same = since && str_eq(before ? before : "", waiting);
	int kept = in->sts->exists ? in->sts->remembered : status_kept_size(in->app);
	struct json *r;

	if (phase != ROLLOUT_ROLLING_OUT && phase != ROLLOUT_RECREATING && !waiting[0])
		return NULL;
	r = json_new_object();
	if (in->sts->exists && in->sts->partition != ROLLOUT_REST)
		json_set_int(r, "partition", in->sts->partition);
	if (kept > 0)
		json_set_int(r, "replicas", kept);
	json_set_str(r, "waitingOn", waiting);
	json_set_str(r, "since", same ? since : in->now);
	json_set_str(r, "targetRevision", in->sts->update_revision);
	return r;
}

/* Where the fleet answers: from outside, else inside the cluster. */
static char *url(const struct status_input *in)
{
	const struct workerapp *app = in->app;
	cleanup(freep) char *name = desired_name(app);

	if (in->url)
		return xstrdup(in->url);

	return xasprintf("http://%s.%s.svc:8080/", name, desired_namespace(app));
}

struct json *status_build(const struct status_input *in)
{
	struct json *s = json_new_object();
	cleanup(freep) char *waiting = status_waiting_on(in);
	cleanup(freep) char *selector = desired_selector(in->app);
	cleanup(freep) char *where = url(in);

	json_set_int(s, "observedGeneration", in->app->generation);
	json_set_str_always(s, "phase", status_phase(status_shown_phase(in)));
	json_set_str(s, "expectedAppVersion", in->expected);
	json_set_str(s, "rolledOutAppVersion", rolled_out(in));
	json_set(s, "rollout", rollout(in, waiting));
	json_set(s, "fleet", fleet_counts(in));
	json_set(s, "celldVersions", versions(in));
	json_set(s, "deployments", deployments(in));
	json_set_str(s, "url", where);
	json_set_str(s, "selector", selector);
	json_set(s, "conditions", conditions(in, waiting));
	return s;
}
