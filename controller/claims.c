#include "controller/claims.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/kube/client.h"
#include "common/log.h"
#include "controller/compare.h"
#include "controller/rebirth.h"
#include "controller/tell.h"

enum { AGAIN_MS = 60000, REBIRTH_MS = 300 };

static const struct kube_kind claims = { "", "v1", "persistentvolumeclaims",
					 "PersistentVolumeClaim", true };

/* --- pure ----------------------------------------------------------------------------------------- */

int64_t claims_bytes(const char *quantity)
{
	static const struct {
		const char *suffix;
		int64_t factor;
	} units[] = { { "", 1 },
		      { "Ki", 1LL << 10 },
		      { "Mi", 1LL << 20 },
		      { "Gi", 1LL << 30 },
		      { "Ti", 1LL << 40 },
		      { "Pi", 1LL << 50 },
		      { "k", 1000LL },
		      { "M", 1000000LL },
		      { "G", 1000000000LL },
		      { "T", 1000000000000LL },
		      { "P", 1000000000000000LL } };
	const char *s = quantity ? quantity : "";
	int64_t v = 0, bytes;

	if (*s < '0' || *s > '9')
		return -1;
	for (; *s >= '0' && *s <= '9'; s++) {
		if (v > INT64_MAX / 10 - 1)
			return -1;
		v = v * 10 + (*s - '0');
	}
	for (size_t i = 0; i < array_len(units); i++) {
		if (str_eq(s, units[i].suffix))
			return __builtin_mul_overflow(v, units[i].factor, &bytes) ? -1 : bytes;
	}
	return -1;
}

bool claims_is_foreign(const struct json *claim, const char *bucket)
{
	const char *whose = json_str(
		json_path(claim, "metadata", "annotations", ANNOTATION_CLAIM_BUCKET, NULL));

	return !str_empty(whose) && !str_eq(whose, bucket);
}

static const struct json *request_of(const struct json *claim)
{
	return json_path(claim, "spec", "resources", "requests", "storage", NULL);
}

static struct json *resized(const struct json *templates, const char *size)
{
	struct json *to = json_new_array();

	for (const struct json *t = json_first(templates); t; t = json_next(t)) {
		struct json *copy = json_dup(t);

		json_del(copy, "status");
		json_set_str(
			json_object_at(json_object_at(json_object_at(copy, "spec"), "resources"),
				       "requests"),
			"storage", size);
		json_add(to, copy);
	}
	return to;
}

struct json *claims_reborn(const struct json *sts, const char *size)
{
	static const char *const kept[] = { "name", "namespace", "labels", "annotations",
					    "ownerReferences" };
	const struct json *meta = json_get(sts, "metadata");
	struct json *to = json_new_object(), *m;

	json_set_str(to, "apiVersion", "apps/v1");
	json_set_str(to, "kind", "StatefulSet");
	m = json_object_at(to, "metadata");
	for (size_t i = 0; i < array_len(kept); i++) {
		if (json_get(meta, kept[i]))
			json_set(m, kept[i], json_dup(json_get(meta, kept[i])));
	}
	json_set(to, "spec", json_dup(json_get(sts, "spec")));
	json_set(json_get_mutable(to, "spec"), "volumeClaimTemplates",
		 resized(json_path(sts, "spec", "volumeClaimTemplates", NULL), size));
	return to;
}

/* --- foreign claims ------------------------------------------------------------------------------- */

static bool has_pod(const struct turn *t, int ordinal)
{
	for (size_t i = 0; i < t->n_pods; i++) {
		if (t->pods[i].ordinal == ordinal)
			return true;
	}
	return false;
}

static void refuse(struct turn *t, const char *name, const struct json *claim)
{
	const char *whose = json_str(
		json_path(claim, "metadata", "annotations", ANNOTATION_CLAIM_BUCKET, NULL));

	t->verdict.refusal.reason = "ForeignClaim";
	(void)snprintf(
		t->verdict.refusal.message, sizeof(t->verdict.refusal.message),
		"PersistentVolumeClaim %s holds data of bucket %.300s; delete the claim when "
		"nobody needs its data any more, or choose another name for the WorkerApp",
		name, whose);
}

int claims_check(struct turn *t, bool *ret_foreign, struct err *e)
{
	cleanup(freep) char *bucket = desired_bucket(t->app);

	*ret_foreign = false;
	if (!t->app->storage.set)
		return 0;
	for (int i = 0; i < t->decision.replicas && !*ret_foreign; i++) {
		cleanup_json struct json *claim = NULL;
		cleanup(freep) char *name = xasprintf("%s-%s-%d", DESIRED_DATA, t->name, i);
		int r;

		if (has_pod(t, i))
			continue;
		r = kube_get(t->o->client, &claims, t->app->namespace, name, 0, &claim, e);
		if (r && r != -ERR_NOT_FOUND)
			return err_wrap(e, "reading claim %s", name);
		*ret_foreign = !r && claims_is_foreign(claim, bucket);
		if (*ret_foreign)
			refuse(t, name, claim);
	}
	return 0;
}

/* --- growing -------------------------------------------------------------------------------------- */

static void tell(const struct turn *t, bool warning, const char *reason, const char *note)
{
	const struct tell what = { warning, reason, "Grow", note };

	log_info("claims", "app", t->key, "what", reason, "detail", note, NULL);
	tell_workload(t, &what);
}

/* The claim templates are smaller than the spec asks for. */
static bool wants_growth(const struct turn *t, const char *size)
{
	const struct json *first =
		json_first(json_path(t->sts, "spec", "volumeClaimTemplates", NULL));
	int64_t has = claims_bytes(json_str(request_of(first)));

	return t->app->storage.set && t->facts.has_claims && has >= 0 && has < claims_bytes(size);
}

static bool at_rest(const struct turn *t)
{
	return t->decision.phase == ROLLOUT_READY && t->decision.write == ROLLOUT_WRITE_NONE &&
	       !t->obs->template_due;
}

static int grow_claim(struct turn *t, const struct json *claim, const char *size, struct err *e)
{
	cleanup_json struct json *patch = json_new_object();
	const struct json *meta = json_get(claim, "metadata");
	const char *name = json_get_str(meta, "name");
	struct json *m = json_object_at(patch, "metadata");

	json_set_str(m, "uid", json_get_str(meta, "uid"));
	json_set_str(m, "resourceVersion", json_get_str(meta, "resourceVersion"));
	json_set_str(json_object_at(json_object_at(json_object_at(patch, "spec"), "resources"),
				    "requests"),
		     "storage", size);
	return kube_patch(t->o->client, &claims, t->app->namespace, name, NULL, KUBE_PATCH_MERGE,
			  patch, 0, NULL, e);
}

static int grow_claims(struct turn *t, const char *size, struct err *e)
{
	cleanup_json struct json *list = NULL;
	cleanup(freep) char *selector = desired_selector(t->app);
	cleanup(freep) char *prefix = xasprintf("%s-%s-", DESIRED_DATA, t->name);
	int r = kube_list(t->o->client, &claims, t->app->namespace, selector, 0, &list, e);

	for (const struct json *c = json_first(json_get(list, "items")); c && !r;
	     c = json_next(c)) {
		const char *name = json_get_str(json_get(c, "metadata"), "name");

		if (!name || !str_starts(name, prefix) ||
		    claims_bytes(json_str(request_of(c))) >= claims_bytes(size))
			continue;
		r = grow_claim(t, c, size, e);
		if (r)
			return err_wrap(e, "claim %s does not grow to %s", name, size);
	}
	return r;
}

static int delete_orphaning(struct turn *t, struct err *e)
{
	struct kube_delete_opts how = { .uid = t->facts.uid,
					.resource_version = t->facts.resource_version,
					.propagation = "Orphan",
					.grace_seconds = -1 };

	return kube_delete(t->o->client, &cache_kinds[CACHE_STATEFULSET], t->app->namespace,
			   t->name, &how, e);
}

/* A failure of the claims is said in an Event, and tried again later: the fleet is well without. */
static int begin(struct turn *t, const char *size, bool *ret_busy, struct err *e)
{
	int r = grow_claims(t, size, e);

	if (r) {
		if (r == -ERR_CANCELED || r == -ERR_CONFLICT)
			return r;
		tell(t, true, "ClaimNotGrown", e->message);
		queue_add_after(t->o->queue, t->key, AGAIN_MS);
		return 0;
	}
	t->memory->reborn = claims_reborn(t->sts, size);
	t->memory->fields = json_dup(json_path(t->sts, "metadata", "managedFields", NULL));
	free(t->memory->former);
	t->memory->former = xstrdup(t->facts.uid);
	r = rebirth_note(t, e);
	if (!r)
		r = delete_orphaning(t, e);
	if (r) {
		rebirth_forget(t);
		return err_wrap(e, "deleting StatefulSet %s without its pods", t->name);
	}
	tell(t, false, "ClaimsGrow", size);
	*ret_busy = true;
	queue_add_after(t->o->queue, t->key, REBIRTH_MS);
	return 0;
}

/*
 * Who owns which field is as it was: else a later apply could not take a field of ours away. *ret: NULL when nobody
 * knows.
 */
static int restore_fields(struct turn *t, const struct json *live, struct json **ret, struct err *e)
{
	cleanup_json struct json *patch = json_new_object();
	struct json *m = json_object_at(patch, "metadata");

	if (!t->memory->fields)
		return 0;
	json_set_str(m, "uid", json_str(json_path(live, "metadata", "uid", NULL)));
	json_set(m, "managedFields", json_dup(t->memory->fields));
	return kube_patch(t->o->client, &cache_kinds[CACHE_STATEFULSET], t->app->namespace, t->name,
			  NULL, KUBE_PATCH_MERGE, patch, 0, ret, e);
}

/* The last step, of live, which was just made. */
static int give_fields_back(struct turn *t, const struct json *live, struct err *e)
{
	cleanup_json struct json *answer = NULL;
	int r = restore_fields(t, live, &answer, e);

	rebirth_forget(t);
	if (r)
		return err_wrap(e, "managed fields of StatefulSet %s", t->name);
	if (answer)
		(void)cache_put_answer(t->o->cache, CACHE_STATEFULSET, answer);
	rebirth_done(t);
	return 0;
}

/* The StatefulSet goes once the garbage collector has let go of its pods; then it is made again. */
static int finish(struct turn *t, bool *ret_busy, struct err *e)
{
	cleanup_json struct json *answer = NULL;
	int r = kube_create(t->o->client, &cache_kinds[CACHE_STATEFULSET], t->app->namespace,
			    t->memory->reborn, 0, &answer, e);

	*ret_busy = true;
	if (r == -ERR_EXISTS) {
		queue_add_after(t->o->queue, t->key, REBIRTH_MS);
		return 0;
	}
	if (r)
		return err_wrap(e, "making StatefulSet %s again", t->name);
	(void)cache_put_answer(t->o->cache, CACHE_STATEFULSET, answer);
	r = give_fields_back(t, answer, e);
	if (r)
		return r;
	tell(t, false, "ClaimsGrown",
	     "StatefulSet made again with larger claims; no pod restarted");
	queue_add(t->o->queue, t->key);
	return 0;
}

/* Made, but nobody has told yet who owns which field: as the answer to a plain creation has it. */
static bool is_half_born(const struct turn *t)
{
	cleanup_json struct json *owned = NULL;

	if (!t->facts.exists || t->leaving || !t->facts.has_claims || !t->facts.intent[0])
		return false;
	owned = compare_owned(t->sts, DESIRED_MANAGER);
	return !owned;
}

/* What another process has begun. */
static int recall(struct turn *t, bool *ret_busy, struct err *e)
{
	struct fleet_memory *m = t->memory;
	bool half = is_half_born(t);
	int r;

	if (m->reborn && t->facts.exists && !t->facts.terminating &&
	    !(m->former && str_eq(t->facts.uid, m->former)))
		rebirth_forget(t); /* somebody else was faster */
	if (t->facts.exists && !half)
		m->recalled = false;
	if (m->reborn || m->recalled || !t->app->storage.set ||
	    (t->facts.exists ? !half : t->n_pods == 0))
		return 0;
	r = rebirth_recall(t, e);
	if (r || !half || !m->reborn)
		return r;
	*ret_busy = true;
	queue_add(t->o->queue, t->key);
	return give_fields_back(t, t->sts, e);
}

int claims_grow(struct turn *t, bool *ret_busy, struct err *e)
{
	cleanup(freep) char *size = desired_gi(t->app->storage.size_gi);
	int r;

	*ret_busy = false;
	r = recall(t, ret_busy, e);
	if (r || *ret_busy)
		return r;
	if (t->memory->reborn)
		return finish(t, ret_busy, e);
	if (!at_rest(t) || !wants_growth(t, size))
		return 0;
	r = turn_read_live(t, e);
	if (r)
		return r;
	turn_decide(t);
	if (!at_rest(t) || !wants_growth(t, size))
		return 0;
	return begin(t, size, ret_busy, e);
}
