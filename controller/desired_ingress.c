#include <string.h>

#include "common/buf.h"
#include "controller/desired_route.h"

/* Every character that a regular expression would read is taken as it stands. */
static void quote(const char *path, struct buf *to)
{
	for (; *path; path++) {
		if (strchr("\\^$.|?*+()[]{}", *path))
			buf_putc(to, '\\');
		buf_putc(to, *path);
	}
}

/* What ingress-nginx wants for a prefix that is taken off: a regular expression whose second group is the rest. */
static char *stripping_path(const struct workerapp *app)
{
	cleanup(freep) char *path = route_path(app);
	struct buf b = BUF_INIT(8192);

	quote(path, &b);
	buf_puts(&b, route_is_exact(app) ? "()()$" : "(/|$)(.*)");
	return buf_take(&b);
}

static void annotations(const struct desired_input *in, struct json *object)
{
	const struct workerapp *app = in->app;
	struct json *to = json_object_at(json_get_mutable(object, "metadata"), "annotations");
	const char *own = app->ingress.cluster_issuer;

	json_set_str(to, "cert-manager.io/cluster-issuer", own ? own : in->flags->cluster_issuer);
	/* celld answers 503 while it drains, before the request has had any effect */
	json_set_str(to, "nginx.ingress.kubernetes.io/proxy-next-upstream",
		     "error timeout http_503");
	json_set_str(to, "nginx.ingress.kubernetes.io/proxy-next-upstream-tries", "3");
	if (app->websockets) {
		json_set_str(to, "nginx.ingress.kubernetes.io/proxy-read-timeout", "3600");
		json_set_str(to, "nginx.ingress.kubernetes.io/proxy-send-timeout", "3600");
	}
	if (route_strips(app)) {
		json_set_str(to, "nginx.ingress.kubernetes.io/use-regex", "true");
		json_set_str(to, "nginx.ingress.kubernetes.io/rewrite-target", "/$2");
	}
	route_annotate(in, object);
}

static struct json *path_of(const struct desired_input *in)
{
	const struct workerapp *app = in->app;
	cleanup(freep) char *name = desired_name(app);
	cleanup(freep) char *path = route_strips(app) ? stripping_path(app) : route_path(app);
	struct json *p = json_new_object(), *service;

	json_set_str(p, "path", path);
	if (route_strips(app))
		json_set_str(p, "pathType", "ImplementationSpecific");
	else
		json_set_str(p, "pathType", route_is_exact(app) ? "Exact" : "Prefix");
	service = json_object_at(json_object_at(p, "backend"), "service");
	json_set_str(service, "name", name);
	json_set_int(json_object_at(service, "port"), "number", desired_facts(in)->public_port);
	return p;
}

static void tls(const struct desired_input *in, struct json *spec)
{
	cleanup(freep) char *secret = route_tls_secret(in);
	const struct strlist *hosts = route_hostnames(in);
	struct json *entry;

	if (!secret)
		return;
	entry = json_new_object();
	for (size_t i = 0; i < hosts->n; i++)
		json_add_str(json_array_at(entry, "hosts"), hosts->v[i]);
	json_set_str(entry, "secretName", secret);
	json_add(json_array_at(spec, "tls"), entry);
}

struct json *desired_ingress(const struct desired_input *in)
{
	const struct strlist *hosts = route_hostnames(in);
	cleanup(freep) char *name = desired_name(in->app);
	struct json *object = desired_object(in, "networking.k8s.io/v1", "Ingress", name);
	struct json *spec = json_object_at(object, "spec");

	annotations(in, object);
	json_set_str(spec, "ingressClassName", route_ingress_class(in));
	for (size_t i = 0; i < hosts->n; i++) {
		struct json *rule = json_new_object();

		json_set_str(rule, "host", hosts->v[i]);
		json_add(json_array_at(json_object_at(rule, "http"), "paths"), path_of(in));
		json_add(json_array_at(spec, "rules"), rule);
	}
	tls(in, spec);
	return object;
}
