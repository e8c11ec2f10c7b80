/*
 * The StatefulSet: every apply carries template, partition and replicas together with the resourceVersion that was read,
 * since an owned field that is left out would fall back to its default, and that would release everything.
 */
#include <stdio.h>
#include <string.h>

#include "common/kube/client.h"
#include "common/kube/event.h"
#include "common/log.h"
#include "controller/compare.h"
#include "controller/turn.h"

static const struct kube_kind *statefulset(void)
{
	return &cache_kinds[CACHE_STATEFULSET];
}

bool workload_due(const struct turn *t)
{
	cleanup_json struct json *want = NULL;
	char intent[DIGEST_HEX];

	/* without its store nobody knows what the template should be */
	if (t->bucket.store_missing || !t->facts.exists || !t->version_known || !t->app_version)
		return false;
	desired_intent(&t->input, intent);
	if (!str_eq(intent, t->facts.intent))
		return true;
	/* Another renderer has made it, and nothing was asked for: what runs stays. */
	if (!str_eq(t->facts.renderer, DESIRED_RENDERER))
		return false;
	/* The same renderer would make it as it is, unless somebody has changed it since. */
	want = desired_statefulset(&t->input, t->facts.replicas, t->facts.partition);
	json_del(json_get_mutable(want, "spec"), "volumeClaimTemplates");
	return !compare_covers(want, t->sts);
}

static bool keeps_template(enum rollout_write w)
{
	switch (w) {
	case ROLLOUT_WRITE_STEP:
	case ROLLOUT_WRITE_REST:
	case ROLLOUT_WRITE_SCALE:
	case ROLLOUT_WRITE_STOP:
		return true;
	case ROLLOUT_WRITE_NONE:
	case ROLLOUT_WRITE_CREATE:
	case ROLLOUT_WRITE_FREEZE:
	case ROLLOUT_WRITE_RENEW:
	case ROLLOUT_WRITE_START:
		return false;
	}
	return false;
}

/* Our own leaves with their live values, so that nothing but what we change now can change. */
static struct json *live_body(const struct turn *t)
{
	struct json *body = compare_owned(t->sts, DESIRED_MANAGER);

	if (!body || !json_path(body, "spec", "template", NULL)) {
		json_free(body);
		return desired_statefulset(&t->input, t->facts.replicas, t->facts.partition);
	}
	return body;
}

static struct json *make_body(const struct turn *t)
{
	const struct rollout_decision *d = &t->decision;
	struct json *body, *spec, *notes, *update;
	char text[16];

	if (keeps_template(d->write))
		body = live_body(t);
	else
		body = desired_statefulset(&t->input, d->replicas, d->partition);
	spec = json_object_at(body, "spec");
	json_set_int(spec, "replicas", d->replicas);
	update = json_object_at(spec, "updateStrategy");
	json_set_str_always(update, "type", "RollingUpdate");
	json_set_int(json_object_at(update, "rollingUpdate"), "partition", d->partition);
	notes = json_object_at(json_object_at(body, "metadata"), "annotations");
	json_del(notes, ANNOTATION_REPLICAS);
	if (d->remember >= 0) {
		(void)snprintf(text, sizeof(text), "%d", d->remember);
		json_set_str_always(notes, ANNOTATION_REPLICAS, text);
	}
	if (t->sts) {
		struct json *meta = json_get_mutable(body, "metadata");

		json_set_str(meta, "uid", t->facts.uid);
		json_set_str(meta, "resourceVersion", t->facts.resource_version);
		/* immutable; what is there stays */
		if (!keeps_template(d->write))
			json_set(spec, "volumeClaimTemplates",
				 json_dup(json_path(t->sts, "spec", "volumeClaimTemplates", NULL)));
	}
	return body;
}

static const char *event_reason(enum rollout_write w)
{
	switch (w) {
	case ROLLOUT_WRITE_NONE:
		return NULL;
	case ROLLOUT_WRITE_CREATE:
		return "FleetCreated";
	case ROLLOUT_WRITE_FREEZE:
		return "RolloutStarted";
	case ROLLOUT_WRITE_STEP:
		return "PodReleased";
	case ROLLOUT_WRITE_REST:
		return "RolloutFinished";
	case ROLLOUT_WRITE_SCALE:
		return "FleetScaled";
	case ROLLOUT_WRITE_STOP:
		return "FleetStopped";
	case ROLLOUT_WRITE_RENEW:
		return "TemplateReplaced";
	case ROLLOUT_WRITE_START:
		return "FleetStarted";
	}
	return NULL;
}

static void tell(const struct turn *t)
{
	const struct rollout_decision *d = &t->decision;
	const char *reason = event_reason(d->write);
	struct event_about about = { .api_version = WORKERAPP_API,
				     .kind = "WorkerApp",
				     .namespace = t->app->namespace,
				     .name = t->app->name,
				     .uid = t->app->uid,
				     .resource_version = t->app->resource_version };
	char note[160];

	if (d->write == ROLLOUT_WRITE_STEP)
		(void)snprintf(note, sizeof(note), "released %s-%d", t->name, d->partition);
	else
		(void)snprintf(note, sizeof(note), "StatefulSet %s: replicas %d", t->name,
			       d->replicas);
	log_info("workload written", "app", t->key, "what", reason, "partition",
		 log_int(d->partition).text, "replicas", log_int(d->replicas).text, NULL);
	event_emit(t->o->events, &about, false, reason, "Reconcile", note);
}

/* Claims cannot be added to a StatefulSet or taken from it: an empty one is replaced. */
static int replace_empty(const struct turn *t, struct err *e)
{
	struct kube_delete_opts how = { .uid = t->facts.uid,
					.resource_version = t->facts.resource_version,
					.propagation = "Background",
					.grace_seconds = -1 };

	return kube_delete(t->o->client, statefulset(), t->app->namespace, t->name, &how, e);
}

int workload_write(struct turn *t, struct err *e)
{
	cleanup_json struct json *body = NULL;
	cleanup_json struct json *answer = NULL;
	struct kube_apply_opts how = { .field_manager = DESIRED_MANAGER, .force = t->sts != NULL };
	int r;

	if ((t->decision.write == ROLLOUT_WRITE_RENEW ||
	     t->decision.write == ROLLOUT_WRITE_START) &&
	    t->app->storage.set != t->facts.has_claims) {
		r = replace_empty(t, e);
		return r ? err_wrap(e, "replacing StatefulSet %s", t->name) : 0;
	}
	body = make_body(t);
	r = kube_apply(t->o->client, statefulset(), t->app->namespace, body, &how, &answer, e);
	if (r)
		return err_wrap(e, "applying StatefulSet %s", t->name);
	(void)cache_put(t->o->cache, CACHE_STATEFULSET, answer);
	tell(t);
	return 0;
}
