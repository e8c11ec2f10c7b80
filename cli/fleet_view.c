#include "cli/fleet_view.h"

#include <stdlib.h>
#include <string.h>

#include "common/workerapp.h"
#include "controller/desired.h"

static const char *text(const struct json *j, const char *name)
{
	const char *s = json_get_str(j, name);

	return s ? s : "";
}

static void copy(struct json *to, const char *name, const struct json *value)
{
	if (value)
		json_set(to, name, json_dup(value));
}

/* --- storage ---------------------------------------------------------------------------------- */

static char *credentials(const struct json *from, const char *alias)
{
	static const struct {
		const char *member, *word;
	} all[] = { { "secretRef", "Secret" },
		    { "iamRole", "IAM role" },
		    { "azureClientID", "Azure client" },
		    { "gcpServiceAccount", "Google service account" } };

	for (size_t i = 0; i < array_len(all); i++) {
		if (*text(from, all[i].member))
			return xasprintf("%s %s", all[i].word, text(from, all[i].member));
	}
	return str_empty(alias) ? xstrdup("of the pods' identity") : xasprintf("Secret %s", alias);
}

static struct json *storage(const struct json *spec, const struct json *store)
{
	struct json *j = json_new_object();
	const struct json *bucket = json_get(spec, "bucket");
	const char *name = text(json_get(spec, "storeRef"), "name");
	/* with a store the bucket carries its name alone */
	const struct json *from = *name ? json_get(store, "spec") : bucket;
	cleanup(freep) char *with =
		credentials(json_get(from, "credentialsFrom"),
			    text(json_get(from, "credentialsSecretRef"), "name"));

	json_set_str(j, "bucket", text(bucket, "name"));
	json_set_str(j, "store", name);
	if (*name)
		json_set_bool(j, "storeMissing", store == NULL);
	json_set_str(j, "endpoint", text(from, "endpoint"));
	json_set_str(j, "region", text(from, "region"));
	json_set_str(j, "storageAccount", text(from, "storageAccount"));
	if (!*name || store)
		json_set_str(j, "credentials", with);
	json_set_str(j, "tracking", text(spec, "deployTrackingSecretRef"));
	return j;
}

/* --- pods ------------------------------------------------------------------------------------- */

/* Of the container; pods may have others. */
static const struct json *celld_of(const struct json *pod)
{
	return json_find(json_path(pod, "status", "containerStatuses", NULL), "name", "celld");
}

/* What the kubelet or the scheduler says of a pod that is not up. */
static void trouble(struct json *j, const struct json *pod)
{
	const struct json *status = json_get(pod, "status");
	const struct json *container = celld_of(pod);
	const struct json *waiting = json_path(container, "state", "waiting", NULL);
	const struct json *scheduled =
		json_find(json_get(status, "conditions"), "type", "PodScheduled");
	const struct json *last = json_path(container, "lastState", "terminated", NULL);
	const struct json *what = json_is(scheduled, "status", "False") ? scheduled
				  : *text(waiting, "reason")		? waiting
									: NULL;
	cleanup(freep) char *said = NULL;
	const char *message = text(what, "message");
	int64_t code = 0;

	if (!what)
		return;
	if (what == waiting && json_get_int(last, "exitCode", &code)) {
		const char *end = text(last, "message");

		said = xasprintf("%s: exit status %lld%s%s", text(waiting, "reason"),
				 (long long)code, *end ? ": " : "", end);
	} else {
		said = xasprintf("%s%s%s", text(what, "reason"), *message ? ": " : "", message);
	}
	json_set_str(j, "trouble", said);
}

static struct json *pod_view(const struct json *pod, const struct json *deployments)
{
	const struct json *m = json_get(pod, "metadata"), *status = json_get(pod, "status");
	const struct json *notes = json_get(m, "annotations");
	const struct json *ready = json_find(json_get(status, "conditions"), "type", "Ready");
	const struct json *told = json_find(deployments, "name", text(m, "name"));
	const char *hash = text(json_get(m, "labels"), "controller-revision-hash");
	struct json *j = json_new_object();
	int64_t restarts = 0;

	json_set_str(j, "name", text(m, "name"));
	json_set_str(j, "phase",
		     *text(m, "deletionTimestamp") ? "Terminating" : text(status, "phase"));
	json_set_bool(j, "ready", json_is(ready, "status", "True"));
	json_set_str(j, "celld", text(notes, ANNOTATION_CELLD_VERSION));
	/* what it says itself; else what it was started with */
	json_set_str(j, "appVersion",
		     told ? text(told, "version") : text(notes, ANNOTATION_APP_VERSION));
	copy(j, "swapping", json_get(told, "swapping"));
	copy(j, "draining", json_get(told, "draining"));
	json_set_str(j, "revision", strrchr(hash, '-') ? strrchr(hash, '-') + 1 : hash);
	(void)json_get_int(celld_of(pod), "restartCount", &restarts);
	json_set_int(j, "restarts", restarts);
	json_set_str(j, "node", text(json_get(pod, "spec"), "nodeName"));
	trouble(j, pod);
	return j;
}

/* Their names are alike but for the ordinal. */
static int by_ordinal(const void *a, const void *b)
{
	const char *x = json_get_str(json_get(*(const struct json *const *)a, "metadata"), "name");
	const char *y = json_get_str(json_get(*(const struct json *const *)b, "metadata"), "name");
	size_t n = strlen(x), m = strlen(y);

	return n != m ? (n > m) - (n < m) : strcmp(x, y);
}

static bool is_of(const struct json *pod, const char *ns, const char *app)
{
	const struct json *m = json_get(pod, "metadata");

	return *text(m, "name") && str_eq(text(m, "namespace"), ns) &&
	       str_eq(text(json_get(m, "labels"), WORKERAPP_LABEL), app);
}

static struct json *pods_of(const struct json *app, const struct json *pods)
{
	const struct json *m = json_get(app, "metadata");
	const struct json *deployments = json_path(app, "status", "deployments", NULL);
	const struct json **all = xcalloc(json_len(pods) + 1, sizeof(struct json *));
	struct json *list = json_new_array();
	size_t n = 0;

	for (const struct json *p = json_first(pods); p; p = json_next(p)) {
		if (is_of(p, text(m, "namespace"), text(m, "name")))
			all[n++] = p;
	}
	if (n)
		qsort(all, n, sizeof(struct json *), by_ordinal);
	for (size_t i = 0; i < n; i++)
		json_add(list, pod_view(all[i], deployments));
	free(all);
	return list;
}

/* --- all of it -------------------------------------------------------------------------------- */

static bool is_current(const struct json *app)
{
	int64_t wanted = 0, seen = -1;

	(void)json_get_int(json_get(app, "metadata"), "generation", &wanted);
	(void)json_get_int(json_get(app, "status"), "observedGeneration", &seen);
	return wanted == seen;
}

static struct json *app_version(const struct json *spec, const struct json *status)
{
	struct json *j = json_new_object();
	const char *policy = text(spec, "deploymentPolicy");

	json_set_str(j, "asked", text(spec, "appVersion"));
	json_set_str(j, "expected", text(status, "expectedAppVersion"));
	json_set_str(j, "rolledOut", text(status, "rolledOutAppVersion"));
	json_set_str(j, "policy", *policy ? policy : "Restart");
	return j;
}

struct json *fleet_view(const struct json *app, const struct json *store, const struct json *pods)
{
	const struct json *m = json_get(app, "metadata"), *spec = json_get(app, "spec");
	const struct json *status = json_get(app, "status");
	const struct json *ready = json_find(json_get(status, "conditions"), "type", "Ready");
	struct json *j = json_new_object(), *celld;
	bool current = is_current(app);

	json_set_str(j, "namespace", text(m, "namespace"));
	json_set_str(j, "name", text(m, "name"));
	json_set_str(j, "phase", text(status, "phase"));
	json_set_bool(j, "ready", current && json_is(ready, "status", "True"));
	json_set_bool(j, "current", current);
	json_set_str(j, "message", text(ready, "message"));
	json_set_str(j, "url", text(status, "url"));
	celld = json_object_at(j, "celld");
	json_set_str(celld, "image", text(json_get(spec, "celld"), "image"));
	copy(celld, "versions", json_get(status, "celldVersions"));
	json_set(j, "appVersion", app_version(spec, status));
	json_set(j, "storage", storage(spec, store));
	copy(j, "fleet", json_get(status, "fleet"));
	copy(j, "rollout", json_get(status, "rollout"));
	json_set(j, "pods", pods_of(app, pods));
	copy(j, "conditions", json_get(status, "conditions"));
	return j;
}
