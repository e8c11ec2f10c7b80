#include "controller/desired.h"

/* The protocol is part of a port's merge key: left out, the server's own would stand beside ours. */
static struct json *port(const char *name, int number)
{
	struct json *j = json_new_object();

	json_set_str(j, "name", name);
	json_set_int(j, "port", number);
	json_set_str(j, "protocol", "TCP");
	return j;
}

/*
 * The type is always said, so that a Service that was a LoadBalancer goes back to what the spec says now. Both address
 * families where the cluster has two: one with a single family stores the policy and gives one address.
 */
struct json *desired_service(const struct desired_input *in)
{
	const struct workerapp *app = in->app;
	cleanup(freep) char *name = desired_name(app);
	struct json *object = desired_object(in, "v1", "Service", name), *spec;

	if (json_len(app->service.annotations))
		json_set(json_get_mutable(object, "metadata"), "annotations",
			 json_dup(app->service.annotations));
	spec = json_object_at(object, "spec");
	json_set_str(spec, "type", app->service.type);
	json_set_str(spec, "ipFamilyPolicy", "PreferDualStack");
	json_set(spec, "selector", desired_match_labels(app));
	json_add(json_array_at(spec, "ports"), port("http", desired_facts(in)->public_port));
	return object;
}

/*
 * Peers must reach a node that starts (they hold its log) and one that drains (it hands its cells
 * over): addresses of pods that are not ready are published. appProtocol keeps a mesh from reading
 * the peer protocol as HTTP.
 */
struct json *desired_service_internal(const struct desired_input *in)
{
	cleanup(freep) char *name = desired_internal_name(in->app);
	struct json *object = desired_object(in, "v1", "Service", name), *spec, *peer;

	spec = json_object_at(object, "spec");
	json_set_str(spec, "clusterIP", "None");
	json_set_str(spec, "ipFamilyPolicy", "PreferDualStack");
	json_set_bool(spec, "publishNotReadyAddresses", true);
	json_set(spec, "selector", desired_match_labels(in->app));
	peer = port("internal", desired_facts(in)->internal_port);
	json_set_str(peer, "appProtocol", "tcp");
	json_add(json_array_at(spec, "ports"), peer);
	return object;
}
