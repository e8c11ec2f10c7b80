#include "controller/desired_route.h"

static void parent(struct json *refs, const char *name, const char *ns, const char *section)
{
	struct json *ref = json_new_object();

	json_set_str(ref, "group", "gateway.networking.k8s.io");
	json_set_str(ref, "kind", "Gateway");
	json_set_str(ref, "name", name);
	json_set_str(ref, "namespace", ns);
	json_set_str(ref, "sectionName", section);
	json_add(refs, ref);
}

static void parents(const struct desired_input *in, struct json *refs)
{
	const struct json *own = in->app->ingress.gateway_refs;

	for (const struct json *g = json_first(own); g; g = json_next(g))
		parent(refs, json_get_str(g, "name"), json_get_str(g, "namespace"),
		       json_get_str(g, "sectionName"));
	if (!json_len(own))
		parent(refs, in->flags->gateway_name, in->flags->gateway_namespace, NULL);
}

/* A prefix matches whole segments; taken off, `/` is left of the prefix itself. */
static void strip(const struct workerapp *app, struct json *rule)
{
	struct json *filter, *path;

	if (!route_strips(app))
		return;
	filter = json_new_object();
	json_set_str(filter, "type", "URLRewrite");
	path = json_object_at(json_object_at(filter, "urlRewrite"), "path");
	json_set_str(path, "type", route_is_exact(app) ? "ReplaceFullPath" : "ReplacePrefixMatch");
	json_set_str(path, route_is_exact(app) ? "replaceFullPath" : "replacePrefixMatch", "/");
	json_add(json_array_at(rule, "filters"), filter);
}

static void backend(const struct desired_input *in, struct json *rule)
{
	cleanup(freep) char *name = desired_name(in->app);
	struct json *ref = json_new_object();

	json_set_str_always(ref, "group", "");
	json_set_str(ref, "kind", "Service");
	json_set_str(ref, "name", name);
	json_set_int(ref, "port", desired_facts(in)->public_port);
	json_set_int(ref, "weight", 1);
	json_add(json_array_at(rule, "backendRefs"), ref);
}

/* celld answers 503 while it drains, before the request has had any effect: another pod may be asked. */
static void retry(struct json *rule)
{
	struct json *r = json_object_at(rule, "retry");

	json_set_int(r, "attempts", 2);
	json_add(json_array_at(r, "codes"), json_new_int(503));
}

struct json *desired_httproute(const struct desired_input *in)
{
	const struct workerapp *app = in->app;
	const struct strlist *hosts = route_hostnames(in);
	cleanup(freep) char *name = desired_name(app), *path = route_path(app);
	struct json *object = desired_object(in, "gateway.networking.k8s.io/v1", "HTTPRoute", name);
	struct json *spec = json_object_at(object, "spec");
	struct json *rule = json_new_object(), *match = json_new_object(), *at;

	route_annotate(in, object);
	parents(in, json_array_at(spec, "parentRefs"));
	for (size_t i = 0; i < hosts->n; i++)
		json_add_str(json_array_at(spec, "hostnames"), hosts->v[i]);
	at = json_object_at(match, "path");
	json_set_str(at, "type", route_is_exact(app) ? "Exact" : "PathPrefix");
	json_set_str(at, "value", path);
	json_add(json_array_at(rule, "matches"), match);
	strip(app, rule);
	backend(in, rule);
	/* a WebSocket is one request that lasts */
	if (app->websockets)
		json_set_str(json_object_at(rule, "timeouts"), "request", "0s");
	if (in->flags->httproute_retries && in->retry_served)
		retry(rule);
	json_add(json_array_at(spec, "rules"), rule);
	return object;
}
