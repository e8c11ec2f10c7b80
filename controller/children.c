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

static int ask(const struct turn *t, enum cache_kind kind, const char *name, struct json **ret,
	       struct err *e)
{
	int r = kube_get(t->o->client, &cache_kinds[kind], t->app->namespace, name, 0, ret, e);

	if (r == -ERR_NOT_FOUND) {
		*ret = NULL;
		return 0;
	}
	return r;
}

/* --- somebody undoes it ---------------------------------------------------------------------------- */

/* Without the precondition. */
static uint32_t content_of(const struct json *want)
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

	if (!t->memory || !damp_is_busy(&t->memory->damp))
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

	if (!t->memory || !damp_is_busy(&t->memory->damp))
		return;
	d = entry_of(t, kind, name, &called);
	left = damp_fight(d, clock_mono_ms());
	if (!left || !d->rival)
		return;
	trouble_fight(&t->trouble, called, d->rival);
	queue_add_after(t->o->queue, t->key, left);
}

/* --- one object ------------------------------------------------------------------------------------ */

/* In asks_first. */
static unsigned bit_of(enum cache_kind kind)
{
	return 1u << kind;
}

bool children_asks_first(const struct turn *t, enum cache_kind kind)
{
	return t->memory && (t->memory->asks_first & bit_of(kind));
}

void children_ask_first(struct turn *t, enum cache_kind kind)
{
	if (t->memory)
		t->memory->asks_first |= bit_of(kind);
}

void children_only_new(struct json *want)
{
	json_set_str(json_get_mutable(want, "metadata"), "resourceVersion", "1");
}

static int write_child(struct turn *t, enum cache_kind kind, const struct json *want, bool force,
		       struct json **ret_answer, struct err *e)
{
	const struct kube_apply_opts how = { .field_manager = DESIRED_MANAGER, .force = force };

	return kube_apply(t->o->client, &cache_kinds[kind], t->app->namespace, want, &how,
			  ret_answer, e);
}

/*
 * Makes what the cache does not have. The cache holds what carries our label; an object that is not there may still
 * exist, and is not to be touched (children_only_new()). If it does, it is asked for: *ret_live. From then on it is
 * asked for first, so that an object of somebody else's costs a read and not a refused write each time.
 */
static int create(struct turn *t, enum cache_kind kind, struct json *want, struct json **ret_answer,
		  struct json **ret_live, struct err *e)
{
	const char *name = json_str(json_path(want, "metadata", "name", NULL));
	bool asks = children_asks_first(t, kind);
	struct err why = ERR_INIT;
	int r;

	if (!asks) {
		children_only_new(want);
		r = write_child(t, kind, want, false, ret_answer, &why);
		json_del(json_get_mutable(want, "metadata"), "resourceVersion");
		if (r != -ERR_CONFLICT && r != -ERR_EXISTS) {
			if (r)
				*e = why;
			return r;
		}
	}
	r = ask(t, kind, name, ret_live, e);
	if (r)
		return r;
	if (*ret_live)
		children_ask_first(t, kind);
	/* without force a creation cannot take over what somebody has made in the meantime */
	return *ret_live ? 0 : write_child(t, kind, want, false, ret_answer, e);
}

static void wrote(struct turn *t, enum cache_kind kind, const struct json *want,
		  const struct json *answer, bool was_there)
{
	const char *name = json_str(json_path(want, "metadata", "name", NULL));

	/* what a new app gets nobody has undone yet, and thousands of new ones take no memory for it */
	if (was_there || t->app->status)
		children_wrote(t, kind, name, want);
	(void)cache_put_answer(t->o->cache, kind, answer);
	log_info(was_there ? "child updated" : "child created", "app", t->key, "kind",
		 cache_kinds[kind].kind, "name", name, NULL);
}

/* One that is there; cached: *live is the cache's, and read anew when more of it is needed. */
static int update(struct turn *t, enum cache_kind kind, struct json *want, bool cached,
		  struct json **live, struct json **ret_answer, struct err *e)
{
	const char *name = json_str(json_path(want, "metadata", "name", NULL));
	int r;

	if (!children_is_ours(t, *live))
		return foreign(t, *live, e);
	if (!compare_differs(want, *live, DESIRED_MANAGER)) {
		recall_fight(t, kind, name);
		return 0;
	}
	if (children_held(t, kind, name, want))
		return 0;
	pin(want, *live);
	r = cached ? takeover_cached(t, kind, live, e) : takeover_write(t, kind, live, e);
	if (r)
		return r;
	r = write_child(t, kind, want, true, ret_answer, e);
	if (r)
		return err_wrap(e, "applying %s %s", cache_kinds[kind].kind, name);
	wrote(t, kind, want, *ret_answer, true);
	return 0;
}

int children_put(struct turn *t, enum cache_kind kind, struct json *object, struct json **ret_live,
		 struct err *e)
{
	cleanup_json struct json *want = object;
	const char *name = json_str(json_path(want, "metadata", "name", NULL));
	cleanup_json struct json *live = cache_get(t->o->cache, kind, t->app->namespace, name);
	cleanup_json struct json *answer = NULL;
	bool cached = live != NULL;
	int r = 0;

	if (!live && !children_held(t, kind, name, want)) {
		r = create(t, kind, want, &answer, &live, e);
		if (r)
			return err_wrap(e, "applying %s %s", cache_kinds[kind].kind, name);
		if (answer)
			wrote(t, kind, want, answer, false);
	}
	if (live)
		r = update(t, kind, want, cached, &live, &answer, e);
	if (!r && ret_live)
		*ret_live = answer ? take(answer) : take(live);
	return r;
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
