#include "controller/desired_route.h"

#include <string.h>

static enum route_mode mode_of_flag(const char *mode)
{
	if (str_eq(mode, "httproute"))
		return ROUTE_HTTPROUTE;
	if (str_eq(mode, "ingress"))
		return ROUTE_INGRESS;
	return str_eq(mode, "virtualservice") ? ROUTE_VIRTUALSERVICE : ROUTE_NONE;
}

enum route_mode route_mode_of(const struct desired_input *in)
{
	const struct workerapp *app = in->app;

	if (!app->hostnames.n)
		return ROUTE_NONE;
	if (json_len(app->ingress.gateway_refs))
		return ROUTE_HTTPROUTE;
	if (app->ingress.ingress_class)
		return ROUTE_INGRESS;
	return mode_of_flag(in->flags->ingress_mode);
}

const struct strlist *route_hostnames(const struct desired_input *in)
{
	return in->hostnames ? in->hostnames : &in->app->hostnames;
}

char *route_path(const struct workerapp *app)
{
	const char *path = str_empty(app->ingress.path) ? "/" : app->ingress.path;
	size_t n = strlen(path);

	return xstrndup(path, n > 1 && path[n - 1] == '/' ? n - 1 : n);
}

bool route_is_exact(const struct workerapp *app)
{
	return app->ingress.path_type && str_eq(app->ingress.path_type, "Exact");
}

bool route_strips(const struct workerapp *app)
{
	cleanup(freep) char *path = route_path(app);

	return app->ingress.strip_prefix && !str_eq(path, "/");
}

const char *route_ingress_class(const struct desired_input *in)
{
	const char *own = in->app->ingress.ingress_class;

	return own ? own : in->flags->ingress_class;
}

static const char *issuer(const struct desired_input *in)
{
	const char *own = in->app->ingress.cluster_issuer;

	return own ? own : in->flags->cluster_issuer;
}

char *route_tls_secret(const struct desired_input *in)
{
	if (in->app->ingress.tls_secret)
		return xstrdup(in->app->ingress.tls_secret);
	return str_empty(issuer(in)) ? NULL : xasprintf("%s-celld-tls", in->app->name);
}

/* An Ingress has no rewrite of its own; ingress-nginx's annotations express it. */
static bool is_nginx(const char *class)
{
	return class && strstr(class, "nginx") != NULL;
}

const char *route_refusal(const struct desired_input *in)
{
	switch (route_mode_of(in)) {
	case ROUTE_NONE:
	case ROUTE_HTTPROUTE:
		return NULL;
	case ROUTE_INGRESS:
		if (route_strips(in->app) && !is_nginx(route_ingress_class(in)))
			return "spec.ingress.stripPrefix: an Ingress can take the prefix off only "
			       "with "
			       "ingress-nginx; name its class in spec.ingress.ingressClass, or use "
			       "a "
			       "Gateway";
		return NULL;
	case ROUTE_VIRTUALSERVICE:
		return in->flags->istio_gateways.n
			       ? NULL
			       : "the operator has no --istio-gateways that a VirtualService could "
				 "bind to";
	}
	return NULL;
}

/* TLS ends at a Gateway whose listeners are not ours to read; of an Ingress we know whether it has a certificate. */
char *route_url(const struct desired_input *in)
{
	const struct strlist *hosts = route_hostnames(in);
	cleanup(freep) char *path = route_path(in->app), *secret = route_tls_secret(in);
	bool plain = route_mode_of(in) == ROUTE_INGRESS && !secret;

	for (size_t i = 0; i < hosts->n; i++) {
		if (!str_starts(hosts->v[i], "*."))
			return xasprintf("%s://%s%s", plain ? "http" : "https", hosts->v[i], path);
	}
	return NULL;
}

void route_annotate(const struct desired_input *in, struct json *object)
{
	const struct json *own = in->app->ingress.annotations;
	struct json *to;

	if (!json_len(own))
		return;
	to = json_object_at(json_get_mutable(object, "metadata"), "annotations");
	for (const struct json *a = json_first(own); a; a = json_next(a))
		json_set(to, json_name(a), json_dup(a));
}

struct json *desired_route(const struct desired_input *in)
{
	if (route_refusal(in) || !route_hostnames(in)->n)
		return NULL;
	switch (route_mode_of(in)) {
	case ROUTE_NONE:
		return NULL;
	case ROUTE_HTTPROUTE:
		return desired_httproute(in);
	case ROUTE_INGRESS:
		return desired_ingress(in);
	case ROUTE_VIRTUALSERVICE:
		return desired_virtualservice(in);
	}
	return NULL;
}
