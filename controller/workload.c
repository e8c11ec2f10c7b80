/*
 * The StatefulSet: every apply carries template, partition and replicas together with the resourceVersion that was
 * read, since an owned field that is left out would fall back to its default, and that would release everything.
 */
#include <stdio.h>
#include <string.h>

#include "common/kube/client.h"
#include "common/log.h"
#include "controller/compare.h"
#include "controller/takeover.h"
#include "controller/tell.h"

/* Annotation renderer of a template that we have not made. */
#define ADOPTED "adopted"

static const struct kube_kind *statefulset(void)
{
	return &cache_kinds[CACHE_STATEFULSET];
}

/* What the server lets nobody change stays as it is, also in an adopted StatefulSet. */
static void keep_immutable(const struct turn *t, struct json *spec)
{
	static const char *const fields[] = { "volumeClaimTemplates", "podManagementPolicy",
					      "serviceName", "selector" };

	for (size_t i = 0; t->sts && i < array_len(fields); i++) {
		const struct json *live = json_path(t->sts, "spec", fields[i], NULL);

		json_del(spec, fields[i]);
		if (live)
			json_set(spec, fields[i], json_dup(live));
	}
}

/* A digest of what is wanted and of what is there, without size and partition. */
static uint64_t difference(const struct turn *t, const struct json *want)
{
	const struct json *sides[] = { want, t->sts };
	cleanup_json struct json *both = json_new_array();
	cleanup(freep) char *text = NULL;

	for (size_t i = 0; i < array_len(sides); i++) {
		const char *intent = json_str(
			json_path(sides[i], "metadata", "annotations", ANNOTATION_INTENT, NULL));
		struct json *spec = json_dup(json_get(sides[i], "spec"));

		json_del(spec, "replicas");
		json_del(spec, "updateStrategy");
		json_add(both, spec);
		json_add_str(both, intent ? intent : "");
	}
	text = json_text_sorted(both);
	return digest_short(text, strlen(text));
}

static struct json *rolling_update(struct json *spec)
{
	return json_object_at(json_object_at(spec, "updateStrategy"), "rollingUpdate");
}

static struct json *wanted(const struct turn *t)
{
	struct json *want = desired_statefulset(&t->input, t->facts.replicas, t->facts.partition);
	struct json *spec = json_get_mutable(want, "spec");
	const struct json *room = json_path(t->sts, "spec", "updateStrategy", "rollingUpdate",
					    "maxUnavailable", NULL);

	keep_immutable(t, spec);
	if (room) /* whoever has written it, with the last step or by hand */
		json_set(rolling_update(spec), "maxUnavailable", json_dup(room));
	return want;
}

/*
 * An apply that changed nothing: somebody rewrites what we write before it is stored (a mutating webhook). It is let
 * be until one of the two sides changes; to write it again would be a loop without an end, and the fleet would stay
 * frozen.
 */
static bool tolerate(struct turn *t, const struct json *answer)
{
	const char *version = json_str(json_path(answer, "metadata", "resourceVersion", NULL));
	cleanup_json struct json *want = NULL;

	if (t->decision.write != ROLLOUT_WRITE_FREEZE || !version ||
	    !str_eq(version, t->facts.resource_version))
		return false;
	want = wanted(t);
	t->memory->tolerated = difference(t, want);
	log_warn("StatefulSet is not stored as it is written; what is stored is let be", "app",
		 t->key, NULL);
	return true;
}

bool workload_adopts(const struct turn *t)
{
	return t->facts.exists && !t->facts.intent[0] && turn_acts(t) && !t->app->paused &&
	       !t->bucket.store_missing && t->version_known && t->app_version;
}

bool workload_due(const struct turn *t)
{
	cleanup_json struct json *want = NULL;
	char intent[DIGEST_HEX];
	bool asked;

	if (workload_adopts(t))
		return false;
	/* without its store nobody knows what the template should be */
	if (t->bucket.store_missing || !t->facts.exists || !t->version_known || !t->app_version)
		return false;
	desired_intent(&t->input, intent);
	asked = !str_eq(intent, t->facts.intent);
	/* Another renderer has made it, and nothing was asked for: what runs stays. */
	if (!asked && !str_eq(t->facts.renderer, DESIRED_RENDERER))
		return false;
	/* The same renderer would make it as it is, unless somebody has changed it since. */
	want = wanted(t);
	if (!asked && compare_covers(want, t->sts))
		return false;
	return difference(t, want) != t->memory->tolerated;
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

/* Our own leaves with their live values, so that nothing but what we change now can change; all of the template, when
 * the server does not tell which are ours. */
static struct json *live_body(const struct turn *t)
{
	struct json *body = compare_owned(t->sts, DESIRED_MANAGER);

	if (!body || !json_path(body, "spec", "template", NULL)) {
		struct json *notes;

		json_free(body);
		body = wanted(t);
		json_set(json_get_mutable(body, "spec"), "template",
			 json_dup(json_path(t->sts, "spec", "template", NULL)));
		notes = json_object_at(json_get_mutable(body, "metadata"), "annotations");
		json_set_str_always(notes, ANNOTATION_INTENT, t->facts.intent);
		json_set_str_always(notes, ANNOTATION_RENDERER, t->facts.renderer);
	}
	return body;
}

/*
 * The version of the current revision, as long as that may differ from the update revision: pods below the partition
 * that are lost come back on it, also when no pod shows it any more.
 */
static void note_current(const struct turn *t, struct json *notes)
{
	enum rollout_write w = t->decision.write;
	bool settled = str_eq(t->facts.current_revision, t->facts.update_revision);
	char text[VERSION_TEXT];

	json_del(notes, ANNOTATION_CURRENT);
	if (w != ROLLOUT_WRITE_FREEZE && (settled || !keeps_template(w)))
		return;
	if (settled && t->facts.has_version)
		version_text(t->facts.version, text);
	else if (!settled && t->facts.has_current_version)
		version_text(t->facts.current_version, text);
	else
		return;
	json_set_str(notes, ANNOTATION_CURRENT, text);
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
	json_set_int(rolling_update(spec), "partition", d->partition);
	if (d->budget)
		json_set_int(rolling_update(spec), "maxUnavailable", d->budget);
	notes = json_object_at(json_object_at(body, "metadata"), "annotations");
	note_current(t, notes);
	json_del(notes, ANNOTATION_REPLICAS);
	if (d->remember >= 0) {
		(void)snprintf(text, sizeof(text), "%d", d->remember);
		json_set_str_always(notes, ANNOTATION_REPLICAS, text);
	}
	if (t->sts) {
		struct json *meta = json_get_mutable(body, "metadata");

		json_set_str(meta, "uid", t->facts.uid);
		json_set_str(meta, "resourceVersion", t->facts.resource_version);
		if (!keeps_template(d->write))
			keep_immutable(t, spec);
	} else {
		children_only_new(body);
	}
	return body;
}

int workload_take_over(struct turn *t, struct err *e)
{
	cleanup_json struct json *body = NULL, *answer = NULL;
	const struct tell what = {
		false, "FleetAdopted", "Reconcile",
		"the StatefulSet was taken over as it is; no pod restarts before the spec changes"
	};
	struct kube_apply_opts how = { .field_manager = DESIRED_MANAGER, .force = true };
	struct json *meta, *notes, *update;
	char intent[DIGEST_HEX];
	int r = takeover_write(t, CACHE_STATEFULSET, &t->sts, e);

	if (r)
		return r;
	body = live_body(t);
	meta = json_object_at(body, "metadata");
	notes = json_object_at(meta, "annotations");
	update = json_object_at(json_object_at(body, "spec"), "updateStrategy");
	desired_intent(&t->input, intent);
	json_set_str(notes, ANNOTATION_INTENT, intent);
	json_set_str(notes, ANNOTATION_RENDERER, ADOPTED);
	json_set_str_always(update, "type", "RollingUpdate");
	json_set_int(json_object_at(update, "rollingUpdate"), "partition", ROLLOUT_REST);
	json_set_int(json_object_at(body, "spec"), "replicas", t->facts.replicas);
	json_set_str(meta, "uid", t->facts.uid);
	json_set_str(meta, "resourceVersion",
		     json_str(json_path(t->sts, "metadata", "resourceVersion", NULL)));
	r = kube_apply(t->o->client, statefulset(), t->app->namespace, body, &how, &answer, e);
	if (r)
		return err_wrap(e, "taking over StatefulSet %s", t->name);
	(void)cache_put_answer(t->o->cache, CACHE_STATEFULSET, answer);
	log_info("workload taken over", "app", t->key, NULL);
	tell_workload(t, &what);
	return 0;
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
	struct tell what = { .reason = reason, .action = "Reconcile" };
	char note[160];

	if (d->write == ROLLOUT_WRITE_STEP)
		(void)snprintf(note, sizeof(note), "released %s-%d", t->name, d->partition);
	else
		(void)snprintf(note, sizeof(note), "StatefulSet %s: replicas %d", t->name,
			       d->replicas);
	log_info("workload written", "app", t->key, "what", reason, "partition",
		 log_int(d->partition).text, "replicas", log_int(d->replicas).text, NULL);
	what.note = note;
	if (d->write == ROLLOUT_WRITE_STEP)
		tell_pod(t, d->partition, &what);
	else
		tell_workload(t, &what);
}

bool workload_is_replaced(const struct turn *t)
{
	return (t->decision.write == ROLLOUT_WRITE_RENEW ||
		t->decision.write == ROLLOUT_WRITE_START) &&
	       t->app->storage.set != t->facts.has_claims;
}

static int replace_empty(const struct turn *t, struct err *e)
{
	struct kube_delete_opts how = { .uid = t->facts.uid,
					.resource_version = t->facts.resource_version,
					.propagation = "Background",
					.grace_seconds = -1 };

	return kube_delete(t->o->client, statefulset(), t->app->namespace, t->name, &how, e);
}

/* What is written, as long as it is the whole template: what somebody may undo. NULL: another write. The caller's. */
static struct json *disputed(const struct turn *t)
{
	struct json *want;

	if (t->decision.write != ROLLOUT_WRITE_CREATE && t->decision.write != ROLLOUT_WRITE_FREEZE)
		return NULL;
	want = wanted(t);
	json_del(json_get_mutable(want, "spec"), "replicas");
	json_del(json_get_mutable(want, "spec"), "updateStrategy");
	return want;
}

bool workload_held(struct turn *t)
{
	cleanup_json struct json *want =
		t->memory && damp_is_busy(&t->memory->damp) ? disputed(t) : NULL;

	return want && children_held(t, CACHE_STATEFULSET, t->name, want);
}

void workload_wrote(struct turn *t)
{
	cleanup_json struct json *want = t->sts || t->app->status ? disputed(t) : NULL;

	if (want)
		children_wrote(t, CACHE_STATEFULSET, t->name, want);
}

int workload_write(struct turn *t, struct err *e)
{
	cleanup_json struct json *body = NULL;
	cleanup_json struct json *answer = NULL;
	struct kube_apply_opts how = { .field_manager = DESIRED_MANAGER, .force = t->sts != NULL };
	int r;

	if (workload_is_replaced(t)) {
		r = replace_empty(t, e);
		return r ? err_wrap(e, "replacing StatefulSet %s", t->name) : 0;
	}
	body = make_body(t);
	r = kube_apply(t->o->client, statefulset(), t->app->namespace, body, &how, &answer, e);
	if (r)
		return err_wrap(e, "applying StatefulSet %s", t->name);
	(void)cache_put_answer(t->o->cache, CACHE_STATEFULSET, answer);
	if (!tolerate(t, answer))
		tell(t);
	return 0;
}
