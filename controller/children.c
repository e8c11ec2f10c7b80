/* The objects around the workload: written when a leaf of ours differs, never touched when somebody else's. */
#include <stdio.h>
#include <string.h>

#include "common/kube/client.h"
#include "common/log.h"
#include "controller/compare.h"
#include "controller/turn.h"

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

/* The precondition that keeps us from writing to another object of the same name. */
static void pin(struct json *want, const struct json *live)
{
	const char *uid = json_str(json_path(live, "metadata", "uid", NULL));

	json_set_str(json_get_mutable(want, "metadata"), "uid", uid);
}

static int foreign(struct turn *t, const struct json *live)
{
	const char *kind = json_get_str(live, "kind");
	const char *name = json_str(json_path(live, "metadata", "name", NULL));

	t->foreign = true;
	t->verdict.refusal.reason = "ForeignObject";
	(void)snprintf(
		t->verdict.refusal.message, sizeof(t->verdict.refusal.message),
		"%s %s exists and is not of this WorkerApp; delete or rename it, or choose another "
		"name for the WorkerApp",
		kind ? kind : "object", name ? name : "");
	return 0;
}

/* The cache holds what carries our label; an object that is not there may still exist. */
static int look_up(struct turn *t, const struct child *c, const char *name, struct json **ret,
		   struct err *e)
{
	int r;

	*ret = cache_get(t->o->cache, c->kind, t->app->namespace, name);
	if (*ret)
		return 0;
	r = kube_get(t->o->client, &cache_kinds[c->kind], t->app->namespace, name, 0, ret, e);
	if (r == -ERR_NOT_FOUND) {
		*ret = NULL;
		return 0;
	}
	return r;
}

static int one_child(struct turn *t, const struct child *c, struct err *e)
{
	cleanup_json struct json *want = c->make(&t->input);
	cleanup_json struct json *live = NULL;
	cleanup_json struct json *answer = NULL;
	const char *name = json_str(json_path(want, "metadata", "name", NULL));
	struct kube_apply_opts how = { .field_manager = DESIRED_MANAGER };
	int r = look_up(t, c, name, &live, e);

	if (r)
		return err_wrap(e, "reading %s %s", cache_kinds[c->kind].kind, name);
	if (live && !children_is_ours(t, live))
		return foreign(t, live);
	if (live && !compare_differs(want, live, DESIRED_MANAGER))
		return 0;
	/* without force a creation cannot take over what somebody has made in the meantime */
	how.force = live != NULL;
	if (live)
		pin(want, live);
	r = kube_apply(t->o->client, &cache_kinds[c->kind], t->app->namespace, want, &how, &answer,
		       e);
	if (r)
		return err_wrap(e, "applying %s %s", cache_kinds[c->kind].kind, name);
	(void)cache_put(t->o->cache, c->kind, answer);
	log_info(live ? "child updated" : "child created", "app", t->key, "kind",
		 cache_kinds[c->kind].kind, "name", name, NULL);
	return 0;
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
