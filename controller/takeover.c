#include "controller/takeover.h"

#include "common/kube/client.h"
#include "common/log.h"
#include "controller/compare.h"

/* Whose the owner reference to the app is. */
static const struct json *former_of(const struct json *all, const char *app_uid)
{
	cleanup(freep) char *reference = xasprintf("k:{\"uid\":\"%s\"}", app_uid);

	for (const struct json *m = json_first(all); m; m = json_next(m)) {
		if (str_empty(json_get_str(m, "subresource")) &&
		    json_path(m, "fieldsV1", "f:metadata", "f:ownerReferences", reference, NULL))
			return m;
	}
	return NULL;
}

struct json *takeover_fields(const struct json *live, const char *app_uid)
{
	const struct json *all = json_path(live, "metadata", "managedFields", NULL);
	const struct json *former = app_uid ? former_of(all, app_uid) : NULL;
	struct json *to;

	if (!former || compare_applied_by(live, DESIRED_MANAGER))
		return NULL;
	to = json_new_array();
	for (const struct json *m = json_first(all); m; m = json_next(m)) {
		struct json *entry = json_dup(m);

		if (m == former) {
			json_set_str(entry, "manager", DESIRED_MANAGER);
			json_set_str(entry, "operation", "Apply");
		}
		json_add(to, entry);
	}
	return to;
}

int takeover_write(struct turn *t, enum cache_kind kind, struct json **live, struct err *e)
{
	cleanup_json struct json *fields = takeover_fields(*live, t->app->uid);
	cleanup_json struct json *patch = NULL, *answer = NULL;
	const struct json *from = json_get(*live, "metadata");
	const char *name = json_get_str(from, "name");
	struct json *meta;
	int r;

	if (!fields || !name)
		return 0;
	patch = json_new_object();
	meta = json_object_at(patch, "metadata");
	json_set_str(meta, "uid", json_get_str(from, "uid"));
	json_set_str(meta, "resourceVersion", json_get_str(from, "resourceVersion"));
	json_set(meta, "managedFields", take(fields));
	r = kube_patch(t->o->client, &cache_kinds[kind], t->app->namespace, name, NULL,
		       KUBE_PATCH_MERGE, patch, 0, &answer, e);
	if (r)
		return err_wrap(e, "managed fields of %s %s", cache_kinds[kind].kind, name);
	log_info("fields taken over", "app", t->key, "kind", cache_kinds[kind].kind, "name", name,
		 NULL);
	json_free(*live);
	*live = take(answer);
	return 0;
}

int takeover_cached(struct turn *t, enum cache_kind kind, struct json **live, struct err *e)
{
	const char *name = json_str(json_path(*live, "metadata", "name", NULL));
	struct json *fresh = NULL;
	int r;

	if (!name || compare_applied_by(*live, DESIRED_MANAGER))
		return 0;
	r = kube_get(t->o->client, &cache_kinds[kind], t->app->namespace, name, 0, &fresh, e);
	if (r == -ERR_NOT_FOUND) /* the write that follows is pinned to it, and fails */
		return 0;
	if (r)
		return r;
	json_free(*live);
	*live = fresh;
	return takeover_write(t, kind, live, e);
}
