#include "controller/turn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/celld/image.h"
#include "common/clock.h"
#include "common/kube/client.h"
#include "controller/exclusive.h"
#include "common/limits.h"
#include "controller/adopt.h"

enum { FRESH_MS = 15000 };

static void forget_fleet(struct turn *t)
{
	json_free(take(t->sts));
	free(take(t->pods));
	free(take(t->states));
	t->n_pods = 0;
}

static void take_in(struct turn *t)
{
	fleet_read_sts(t->sts, &t->facts);
	t->states = xcalloc(t->n_pods, sizeof(*t->states));
	sweep_states(t->o->sweeper, t->key, t->pods, t->n_pods, t->states);
}

void turn_read_cached(struct turn *t)
{
	forget_fleet(t);
	t->sts = cache_get(t->o->cache, CACHE_STATEFULSET, t->app->namespace, t->name);
	t->pods = cache_pods(t->o->cache, t->key, &t->n_pods);
	take_in(t);
}

static void read_pods(struct turn *t, const struct json *list)
{
	const struct json *items = json_get(list, "items");
	size_t n = 0;

	t->pods = xcalloc(json_len(items), sizeof(*t->pods));
	for (const struct json *p = json_first(items); p; p = json_next(p))
		n += fleet_read_pod(p, &t->pods[n]);
	t->n_pods = n;
}

/* The StatefulSet first, then the pods: the list is newer than the StatefulSet, as gate 2 needs it. */
int turn_read_live(struct turn *t, struct err *e)
{
	cleanup(freep) char *selector = desired_selector(t->app);
	cleanup_json struct json *list = NULL;
	int r;

	forget_fleet(t);
	r = kube_get(t->o->client, &cache_kinds[CACHE_STATEFULSET], t->app->namespace, t->name, 0,
		     &t->sts, e);
	if (r && r != -ERR_NOT_FOUND)
		return err_wrap(e, "reading StatefulSet %s", t->name);
	r = kube_list(t->o->client, &cache_kinds[CACHE_POD], t->app->namespace, selector, 0, &list,
		      e);
	if (r)
		return err_wrap(e, "listing the pods of %s", t->name);
	read_pods(t, list);
	take_in(t);
	return 0;
}

static void choose_version(struct turn *t)
{
	const char *live = t->facts.app_version[0] ? t->facts.app_version : NULL;
	const char *recorded =
		json_str(json_path(t->sts, "metadata", "annotations", ANNOTATION_EXPECTED, NULL));

	t->version_known =
		image_celld_version(t->app->image, t->app->celld_version, &t->input.version);
	t->input.app = t->app;
	t->input.table = t->view->table;
	t->input.operator_namespace = t->o->operator_namespace;
	t->input.ipv6 = t->o->ipv6;
	bucket_look(t);
	t->expected = t->app->app_version;
	if (t->app->app_version_auto)
		t->expected = t->bucket.version[0] ? t->bucket.version : NULL;
	free(take(t->app_version));
	if (!t->expected)
		return;
	t->app_version = xstrdup(desired_app_version(t->app->policy, t->expected, recorded, live));
	t->input.app_version = t->app_version;
	t->input.expected = t->expected;
}

static int wanted(const struct workerapp *app)
{
	return app->autoscaling.enabled ? -1 : (int)app->replicas;
}

/*
 * The size to start with. Where somebody has deleted the StatefulSet and pods are left, no smaller than it was: those
 * beyond its size would all end at once.
 */
static int first_size(const struct turn *t)
{
	const struct workerapp *app = t->app;
	int64_t size = app->replicas;

	if (app->autoscaling.enabled && app->autoscaling.min > size)
		size = app->autoscaling.min;
	for (size_t i = 0; !t->facts.exists && i < t->n_pods; i++) {
		if (t->pods[i].ordinal >= size && t->pods[i].ordinal < LIMIT_REPLICAS)
			size = t->pods[i].ordinal + 1;
	}
	return (int)size;
}

/* A StatefulSet that a Recreate replaces leaves its size in the status. */
static int start_size(const struct turn *t)
{
	int kept = t->sts ? -1 : status_kept_size(t->app);

	return t->app->autoscaling.enabled && kept > 0 ? kept : first_size(t);
}

static void judge(struct turn *t, bool due)
{
	const struct verdict_input in = {
		.app = t->app,
		.parse_faults = &t->faults,
		.table = t->view->table,
		.policy = t->view->policy,
		.sts = &t->facts,
		.pods = t->pods,
		.n_pods = t->n_pods,
		/* pods that lost their StatefulSet get one with this template */
		.template_due = due || (!t->facts.exists && t->n_pods),
		.version_known = t->version_known,
		.version = t->input.version,
	};

	t->verdict = (struct verdict){ .spec_valid = true };
	verdict_of_spec(&in, &t->verdict);
	if (t->verdict.spec_valid)
		verdict_of_change(&in, &t->verdict);
}

static void observe(struct turn *t, bool due)
{
	const struct observe_input in = {
		.sts = &t->facts,
		.pods = t->pods,
		.states = t->states,
		.n_pods = t->n_pods,
		.now_ms = clock_mono_ms(),
		.fresh_ms = FRESH_MS,
	};
	struct rollout_obs *o = t->obs;
	bool own;

	memset(o, 0, sizeof(*o));
	observe_remember(t->memory, &in);
	observe_fleet(&in, t->memory, o);
	o->deleting = t->app->deleting;
	o->paused = t->app->paused;
	o->refused = t->verdict.refusal.reason != NULL;
	/* Whoever runs is left running: it lost nothing by coming late to a rule. */
	own = exclusive_condition(t->o, t->app, t->sts != NULL, &t->exclusive) || t->sts;
	o->no_workload = !t->expected || !t->version_known || !own;
	o->leaving = t->leaving;
	o->template_due = due;
	o->stop_all = t->verdict.stop_all;
	o->autoscaler = t->around.scaling.active;
	o->want = wanted(t->app);
	o->start = start_size(t);
	o->settle = t->o->settle_ms;
	o->hold = t->o->hold_ms;
	o->recheck = t->o->recheck_ms;
}

bool turn_acts(const struct turn *t)
{
	return !t->verdict.refusal.reason && !t->foreign && !t->leaving;
}

struct event_about turn_about(const struct turn *t)
{
	return (struct event_about){ .api_version = WORKERAPP_API,
				     .kind = "WorkerApp",
				     .namespace = t->app->namespace,
				     .name = t->app->name,
				     .uid = t->app->uid,
				     .resource_version = t->app->resource_version };
}

bool turn_serves_version(const struct turn *t)
{
	return t->version_known &&
	       celld_facts_of(t->view->table, t->input.version)->state_deployment;
}

/*
 * InPlace ends when every pod serves the version; not when the bucket names another one, which no pod will ever
 * serve.
 */
static void judge_adoption(struct turn *t)
{
	const struct adopt_input in = {
		.pods = t->pods, .states = t->states, .n_pods = t->n_pods, .expected = t->expected
	};
	const char *named = t->bucket.pointer;

	if (t->app->policy != POLICY_IN_PLACE || !t->expected || !turn_serves_version(t))
		return;
	if (!named[0] || str_eq(named, t->expected))
		adopt_judge(&in, &t->decision);
}

void turn_decide(struct turn *t)
{
	bool due;

	choose_version(t);
	around_observe(t);
	t->leaving = t->sts && (t->facts.terminating || children_is_former(t, t->sts));
	due = !t->leaving && workload_due(t);
	judge(t, due);
	bucket_judge(t, due);
	if (t->sts && !t->leaving && !children_is_ours(t, t->sts)) {
		t->foreign = true;
		t->verdict.refusal.reason = "ForeignObject";
		(void)snprintf(
			t->verdict.refusal.message, sizeof(t->verdict.refusal.message),
			"StatefulSet %s exists and is not of this WorkerApp; delete or rename "
			"it, or choose another name for the WorkerApp",
			t->name);
	}
	observe(t, due);
	rollout_decide(t->obs, &t->decision);
	bucket_hold(t);
	judge_adoption(t);
}

void turn_done(struct turn *t)
{
	forget_fleet(t);
	if (t->view)
		settings_release(t->o->settings, t->view);
	around_view_done(&t->around);
	free(t->name);
	free(t->app_version);
	free(t->refused_text);
	free(t->obs);
	bucket_view_done(&t->bucket);
	trouble_done(&t->trouble);
	faults_done(&t->faults);
	workerapp_free(t->app);
}
