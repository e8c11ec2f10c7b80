#include <string.h>

#include "controller/desired.h"

/* "cluster.local" of "cluster.local/ns/..."; the caller's */
static char *trust_domain(const char *principal)
{
	const char *end = strstr(principal, "/ns/");

	return end ? xstrndup(principal, (size_t)(end - principal)) : xstrdup("cluster.local");
}

/*
 * A DENY for everyone else: an ALLOW would open the public port for all, and so undo what other policies say of it. Who
 * comes without mutual TLS has no principal, and is denied. Port and principal alone, so that ztunnel can judge it too.
 */
struct json *desired_authorization_policy(const struct desired_input *in)
{
	const struct celld_facts *facts = desired_facts(in);
	const char *controller = in->flags->operator_principal;
	cleanup(freep) char *name = desired_internal_name(in->app);
	cleanup(freep) char *account = desired_name(in->app);
	cleanup(freep) char *domain = trust_domain(controller);
	cleanup(freep) char *fleet =
		xasprintf("%s/ns/%s/sa/%s", domain, desired_namespace(in->app), account);
	cleanup(freep) char *port = xasprintf("%d", facts->internal_port);
	struct json *object, *spec, *rule, *from, *to, *principals;

	if (facts->internal_port == facts->public_port)
		return NULL; /* one listener for all */
	object = desired_object(in, "security.istio.io/v1", "AuthorizationPolicy", name);
	spec = json_object_at(object, "spec");
	json_set(json_object_at(spec, "selector"), "matchLabels", desired_match_labels(in->app));
	json_set_str(spec, "action", "DENY");
	rule = json_new_object();
	from = json_new_object();
	principals = json_array_at(json_object_at(from, "source"), "notPrincipals");
	json_add_str(principals, fleet);
	json_add_str(principals, controller);
	json_add(json_array_at(rule, "from"), from);
	to = json_new_object();
	json_add_str(json_array_at(json_object_at(to, "operation"), "ports"), port);
	json_add(json_array_at(rule, "to"), to);
	json_add(json_array_at(spec, "rules"), rule);
	return object;
}
