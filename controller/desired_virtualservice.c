#include "controller/desired_route.h"

static void match(struct json *matches, const char *how, const char *path)
{
	struct json *m = json_new_object();

	json_set_str(json_object_at(m, "uri"), how, path);
	json_add(matches, m);
}

/* Istio's prefix is one of characters: "/api" alone would also take "/apix". */
static void matches(const struct workerapp *app, struct json *to)
{
	cleanup(freep) char *path = route_path(app);
	cleanup(freep) char *below = xasprintf("%s/", path);

	if (route_is_exact(app)) {
		match(to, "exact", path);
	} else if (str_eq(path, "/")) {
		match(to, "prefix", path);
	} else {
		match(to, "exact", path);
		match(to, "prefix", below);
	}
}

static struct json *route(const struct desired_input *in)
{
	const struct workerapp *app = in->app;
	cleanup(freep) char *name = desired_name(app);
	cleanup(freep) char *host =
		xasprintf("%s.%s.svc.%s", name, desired_namespace(app), app->cluster_domain);
	struct json *r = json_new_object(), *to = json_object_at(r, "destination");

	json_set_str(to, "host", host);
	json_set_int(json_object_at(to, "port"), "number", desired_facts(in)->public_port);
	return r;
}

/* Istio sets no timeout unless it is told to, so that WebSockets need nothing here. */
struct json *desired_virtualservice(const struct desired_input *in)
{
	const struct strlist *hosts = route_hostnames(in);
	const struct strlist *gateways = &in->flags->istio_gateways;
	cleanup(freep) char *name = desired_name(in->app);
	struct json *object = desired_object(in, "networking.istio.io/v1", "VirtualService", name);
	struct json *spec = json_object_at(object, "spec"), *http = json_new_object(), *retries;

	route_annotate(in, object);
	for (size_t i = 0; i < hosts->n; i++)
		json_add_str(json_array_at(spec, "hosts"), hosts->v[i]);
	for (size_t i = 0; i < gateways->n; i++)
		json_add_str(json_array_at(spec, "gateways"), gateways->v[i]);
	matches(in->app, json_array_at(http, "match"));
	if (route_strips(in->app))
		json_set_str(json_object_at(http, "rewrite"), "uri", "/");
	json_add(json_array_at(http, "route"), route(in));
	/* celld answers 503 while it drains, before the request has had any effect */
	retries = json_object_at(http, "retries");
	json_set_int(retries, "attempts", 2);
	json_set_str(retries, "retryOn", "connect-failure,refused-stream,503");
	json_add(json_array_at(spec, "http"), http);
	return object;
}
