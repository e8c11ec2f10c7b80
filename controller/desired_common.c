#include "controller/desired.h"

#include <string.h>

#include "controller/desired_route.h"

char *desired_name(const struct workerapp *app)
{
	return xasprintf("%s-celld", app->name);
}

char *desired_internal_name(const struct workerapp *app)
{
	return xasprintf("%s-celld-internal", app->name);
}

char *desired_selector(const struct workerapp *app)
{
	return xasprintf("%s=%s", WORKERAPP_LABEL, app->name);
}

const char *desired_namespace(const struct workerapp *app)
{
	return str_empty(app->namespace) ? "default" : app->namespace;
}

const struct celld_facts *desired_facts(const struct desired_input *in)
{
	return celld_facts_of(in->table, in->version);
}

const struct wa_bucket *desired_store(const struct desired_input *in)
{
	return in->store ? in->store : &in->app->bucket;
}

char *desired_bucket(const struct workerapp *app)
{
	size_t n = strlen(app->bucket.name);

	return xstrndup(app->bucket.name, str_ends(app->bucket.name, "/") ? n - 1 : n);
}

bool desired_otlp(const struct workerapp *app, const char **ret_endpoint)
{
	const char *endpoint = app->telemetry.otlp_endpoint;

	*ret_endpoint = str_empty(endpoint) ? "http://localhost:4318" : endpoint;
	if (app->telemetry.sink == SINK_DEFAULT)
		return !str_empty(endpoint);
	return app->telemetry.sink == SINK_OTLP;
}

void desired_labels(const struct workerapp *app, struct json *labels)
{
	json_set_str(labels, WORKERAPP_LABEL, app->name);
	json_set_str(labels, LABEL_NAME, "celld");
	json_set_str(labels, LABEL_INSTANCE, app->name);
	json_set_str(labels, LABEL_MANAGED_BY, DESIRED_MANAGER);
	json_set_str(labels, LABEL_COMPONENT, "fleet");
}

struct json *desired_match_labels(const struct workerapp *app)
{
	struct json *labels = json_new_object();

	json_set_str(labels, WORKERAPP_LABEL, app->name);
	return labels;
}

/*
 * Without blockOwnerDeletion: a cluster that guards it (OwnerReferencesPermissionEnforcement) wants `update` on
 * workerapps/finalizers for it, and all that it gives is that a foreground deletion waits for the children.
 */
struct json *desired_owner(const struct workerapp *app)
{
	struct json *owner;

	if (str_empty(app->uid))
		return NULL;
	owner = json_new_object();
	json_set_str(owner, "apiVersion", WORKERAPP_API);
	json_set_str(owner, "kind", "WorkerApp");
	json_set_str(owner, "name", app->name);
	json_set_str(owner, "uid", app->uid);
	json_set_bool(owner, "controller", true);
	return owner;
}

struct json *desired_object(const struct desired_input *in, const char *api_version,
			    const char *kind, const char *name)
{
	struct json *object = json_new_object(), *metadata, *owner;

	json_set_str(object, "apiVersion", api_version);
	json_set_str(object, "kind", kind);
	metadata = json_object_at(object, "metadata");
	json_set_str(metadata, "name", name);
	json_set_str(metadata, "namespace", desired_namespace(in->app));
	desired_labels(in->app, json_object_at(metadata, "labels"));
	owner = desired_owner(in->app);
	if (owner)
		json_add(json_array_at(metadata, "ownerReferences"), owner);
	return object;
}

/* "1000m" would be stored as "1". */
char *desired_cpu(int64_t millis)
{
	if (millis % 1000 == 0)
		return xasprintf("%lld", (long long)(millis / 1000));
	return xasprintf("%lldm", (long long)millis);
}

/* "2048Gi" would be stored as "2Ti". */
char *desired_gi(int64_t gi)
{
	static const char *const unit[] = { "Gi", "Ti", "Pi", "Ei" };
	size_t i = 0;

	for (; gi && gi % 1024 == 0 && i + 1 < array_len(unit); i++)
		gi /= 1024;
	return xasprintf("%lld%s", (long long)gi, unit[i]);
}

static bool stored(const struct json *member)
{
	enum json_kind kind = json_kind(member);

	if (kind == JSON_STRING)
		return *json_str(member) != '\0';
	if (kind == JSON_ARRAY)
		return json_len(member) > 0;
	if (kind == JSON_OBJECT) /* an empty selector selects everything */
		return json_len(member) > 0 || !str_eq(json_name(member), "matchLabels");
	return kind != JSON_NULL;
}

static struct json *canonical_object(const struct json *j)
{
	struct json *copy = json_new_object();

	for (const struct json *c = json_first(j); c; c = json_next(c)) {
		if (!stored(c))
			continue;
		json_set(copy, json_name(c),
			 str_eq(json_name(c), "matchLabels") ? json_dup(c) : desired_canonical(c));
	}
	return copy;
}

struct json *desired_canonical(const struct json *j)
{
	struct json *copy;

	if (!j)
		return NULL;
	if (json_kind(j) == JSON_OBJECT)
		return canonical_object(j);
	if (json_kind(j) != JSON_ARRAY)
		return json_dup(j);
	copy = json_new_array();
	for (const struct json *c = json_first(j); c; c = json_next(c))
		json_add(copy, desired_canonical(c));
	return copy;
}

const char *desired_app_version(enum deployment_policy policy, const char *expected,
				const char *recorded, const char *live)
{
	if (!live)
		return expected;
	if (policy == POLICY_IN_PLACE)
		return live;
	return str_eq(recorded ? recorded : live, expected) ? live : expected;
}

int desired_first_replicas(const struct workerapp *app)
{
	int64_t n = app->replicas;

	if (app->autoscaling.enabled && app->autoscaling.min > n)
		n = app->autoscaling.min;
	return (int)n;
}

/* By kind, as the list is: A..., H..., I..., N..., P..., Sca..., Ser..., Sta..., V... */
struct json *desired_all(const struct desired_input *in, bool mesh)
{
	struct json *all = json_new_array();
	enum route_mode mode = in->flags ? route_mode_of(in) : ROUTE_NONE;

	if (in->flags && mesh)
		json_add(all, desired_authorization_policy(in));
	if (mode == ROUTE_HTTPROUTE || mode == ROUTE_INGRESS)
		json_add(all, desired_route(in));
	json_add(all, desired_network_policy(in));
	json_add(all, desired_pdb(in));
	if (in->flags)
		json_add(all, desired_scaled_object(in, false));
	json_add(all, desired_service(in));
	json_add(all, desired_service_internal(in));
	json_add(all, desired_service_account(in));
	json_add(all,
		 desired_statefulset(in, desired_first_replicas(in->app), DESIRED_PARTITION_REST));
	if (mode == ROUTE_VIRTUALSERVICE)
		json_add(all, desired_route(in));
	return all;
}
