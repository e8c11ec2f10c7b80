/* The objects around the workload: written when a leaf of ours differs, never touched when somebody else's. */
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/kube/client.h"
#include "common/log.h"
#include "controller/compare.h"
#include "controller/takeover.h"

struct child {
	enum cache_kind kind;
	struct json *(*make)(const struct desired_input *in);
};

static const struct child children[] = {
	{ CACHE_SERVICE_ACCOUNT, desired_service_account }, { CACHE_SERVICE, desired_service },
	{ CACHE_SERVICE, desired_service_internal },	    { CACHE_PDB, desired_pdb },
	{ CACHE_NETWORK_POLICY, desired_network_policy },
};

bool children_is_ours(const struct turn *t, const struct json *live)
{
	const char *controller = fleet_controller_of(live);
	const char *label = json_str(json_path(live, "metadata", "labels", WORKERAPP_LABEL, NULL));

	if (controller)
		return t->app->uid && str_eq(controller, t->app->uid);
	return label && str_eq(label, t->app->name) && compare_managed_by(live, DESIRED_MANAGER);
}

bool children_is_former(const struct turn *t, const struct json *live)
{
	const struct json *owner = fleet_controller_ref(live);

	return json_is(owner, "kind", "WorkerApp") && json_is(owner, "name", t->app->name) &&
	       json_get_str(owner, "uid") && !json_is(owner, "uid", t->app->uid);
}

/* The precondition that keeps us from writing to another object of the same name. */
static void pin(struct json *want, const struct json *live)
{
	const char *uid = json_str(json_path(live, "metadata", "uid", NULL));

	json_set_str(json_get_mutable(want, "metadata"), "uid", uid);
}

static int foreign(const struct turn *t, const struct json *live, struct err *e)
{
	const char *kind = json_get_str(live, "kind");
	const char *name = json_str(json_path(live, "metadata", "name", NULL));

	if (children_is_former(t, live))
		return err_set(e, ERR_CONFLICT, "%s %s of the former WorkerApp is still there",
			       kind ? kind : "object", name ? name : "");
	return err_set(e, ERR_EXISTS,
		       "%s %s exists and is not of this WorkerApp; delete or rename it, or choose "
		       "another name for the WorkerApp",
		       kind ? kind : "object", name ? name : "");
}

/* The cache holds what carries our label; an object that is not there may still exist. */
static int look_up(struct turn *t, enum cache_kind kind, const char *name, struct json **ret,
		   struct err *e)
{
	int r;

	*ret = cache_get(t->o->cache, kind, t->app->namespace, name);
	if (*ret)
		return 0;
	r = kube_get(t->o->client, &cache_kinds[kind], t->app->namespace, name, 0, ret, e);
	if (r == -ERR_NOT_FOUND) {
		*ret = NULL;
		return 0;
	}
	return r;
}

/* --- somebody undoes it ---------------------------------------------------------------------------- */

/* Without the precondition. */
static uint64_t content_of(const struct json *want)
{
	cleanup_json struct json *plain = json_dup(want);
	cleanup(freep) char *text = NULL;

	json_del(json_get_mutable(plain, "metadata"), "uid");
	text = json_text_sorted(plain);
	return damp_hash(text);
}

/* Once for each fight: the cache does not keep who else has written. The caller's. */
static char *find_rival(const struct turn *t, enum cache_kind kind, const char *name)
{
	cleanup_json struct json *live = NULL;
	struct err e = ERR_INIT;
	char who[128] = "";
	int r = kube_get(t->o->client, &cache_kinds[kind], t->app->namespace, name, 0, &live, &e);

	if (!r)
		trouble_rival(live, DESIRED_MANAGER, who, sizeof(who));
	return xstrdup(who[0] ? who : "somebody");
}

/* Its entry, and what it is called; ret_called is the caller's. */
static struct damp_entry *entry_of(struct turn *t, enum cache_kind kind, const char *name,
				   char **ret_called)
{
	*ret_called = xasprintf("%s %s", cache_kinds[kind].kind, name);
	return damp_entry(&t->memory->damp, *ret_called);
}

bool children_held(struct turn *t, enum cache_kind kind, const char *name, const struct json *want)
{
	cleanup(freep) char *called = NULL;
	struct damp_entry *d;
	int64_t wait;

	if (!t->memory)
		return false;
	d = entry_of(t, kind, name, &called);
	wait = damp_wait(d, content_of(want), clock_mono_ms());
	if (!wait)
		return false;
	if (!d->rival)
		d->rival = find_rival(t, kind, name);
	trouble_fight(&t->trouble, called, d->rival);
	queue_add_after(t->o->queue, t->key, wait);
	return true;
}

void children_wrote(struct turn *t, enum cache_kind kind, const char *name, const struct json *want)
{
	cleanup(freep) char *called = NULL;

	if (t->memory)
		damp_written(entry_of(t, kind, name, &called), content_of(want), clock_mono_ms());
}

/* It is as it should be, just now: a fight is over only when it stays so. */
static void recall_fight(struct turn *t, enum cache_kind kind, const char *name)
{
	cleanup(freep) char *called = NULL;
	const struct damp_entry *d;
	int64_t left;

	if (!t->memory)
		return;
	d = entry_of(t, kind, name, &called);
	left = damp_fight(d, clock_mono_ms());
	if (!left || !d->rival)
		return;
	trouble_fight(&t->trouble, called, d->rival);
	queue_add_after(t->o->queue, t->key, left);
}

/* --- one object ------------------------------------------------------------------------------------ */

int children_put(struct turn *t, enum cache_kind kind, struct json *object, struct json **ret_live,
		 struct err *e)
{
	cleanup_json struct json *want = object;
	cleanup_json struct json *live = NULL;
	cleanup_json struct json *answer = NULL;
	const char *name = json_str(json_path(want, "metadata", "name", NULL));
	struct kube_apply_opts how = { .field_manager = DESIRED_MANAGER };
	int r = look_up(t, kind, name, &live, e);

	if (r)
		return err_wrap(e, "reading %s %s", cache_kinds[kind].kind, name);
	if (live && !children_is_ours(t, live))
		return foreign(t, live, e);
	if (live && !compare_differs(want, live, DESIRED_MANAGER)) {
		recall_fight(t, kind, name);
	} else if (!children_held(t, kind, name, want)) {
		/* without force a creation cannot take over what somebody has made in the meantime */
		how.force = live != NULL;
		if (live) {
			pin(want, live);
			r = takeover_cached(t, kind, &live, e);
			if (r)
				return r;
		}
		r = kube_apply(t->o->client, &cache_kinds[kind], t->app->namespace, want, &how,
			       &answer, e);
		if (r)
			return err_wrap(e, "applying %s %s", cache_kinds[kind].kind, name);
		children_wrote(t, kind, name, want);
		(void)cache_put(t->o->cache, kind, answer);
		log_info(live ? "child updated" : "child created", "app", t->key, "kind",
			 cache_kinds[kind].kind, "name", name, NULL);
	}
	if (ret_live)
		*ret_live = answer ? take(answer) : take(live);
	return 0;
}

int children_drop(struct turn *t, enum cache_kind kind, const char *name, struct err *e)
{
	cleanup_json struct json *live = cache_get(t->o->cache, kind, t->app->namespace, name);
	struct kube_delete_opts how = { .propagation = "Background", .grace_seconds = -1 };
	int r;

	if (!live || !children_is_ours(t, live))
		return 0;
	how.uid = json_str(json_path(live, "metadata", "uid", NULL));
	r = kube_delete(t->o->client, &cache_kinds[kind], t->app->namespace, name, &how, e);
	if (r && r != -ERR_NOT_FOUND && r != -ERR_CONFLICT)
		return err_wrap(e, "deleting %s %s", cache_kinds[kind].kind, name);
	cache_remove(t->o->cache, kind, live);
	log_info("child deleted", "app", t->key, "kind", cache_kinds[kind].kind, "name", name,
		 NULL);
	return 0;
}

static int one_child(struct turn *t, const struct child *c, struct err *e)
{
	struct err why = ERR_INIT;
	int r = children_put(t, c->kind, c->make(&t->input), NULL, &why);

	if (r == -ERR_EXISTS) {
		t->foreign = true;
		t->verdict.refusal.reason = "ForeignObject";
		(void)snprintf(t->verdict.refusal.message, sizeof(t->verdict.refusal.message), "%s",
			       why.message);
		return 0;
	}
	if (r == -ERR_CONFLICT) {
		trouble_raced(&t->trouble, &why);
		return 0;
	}
	if (r && trouble_is_refusal(&why)) {
		trouble_refused(&t->trouble, &why);
		return 0;
	}
	if (r)
		*e = why;
	return r;
}

int children_apply(struct turn *t, struct err *e)
{
	for (size_t i = 0; i < array_len(children) && !t->foreign; i++) {
		int r = one_child(t, &children[i], e);

		if (r)
			return r;
	}
	return 0;
}
