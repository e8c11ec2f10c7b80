/*
 * desired_intent.c - what the owner wants of the pods, as a digest.
 *
 * Each value that can reach the pod template is named once, after the rules that the API itself has
 * for it (defaults, an empty string is absent) and before any rendering. So a new renderer, or a
 * table whose rows are cut differently, leaves the digest as it is. The names are part of the
 * digest: changing one restarts every fleet.
 */
#include "controller/desired.h"

#include <string.h>

static void list(struct json *to, const char *name, const struct strlist *l)
{
	for (size_t i = 0; i < l->n; i++)
		json_add_str(json_array_at(to, name), l->v[i]);
}

static void map(struct json *to, const char *name, const struct json *from)
{
	if (json_len(from))
		json_set(to, name, json_dup(from));
}

static void celld(const struct desired_input *in, struct json *to)
{
	const struct workerapp *app = in->app;
	char version[VERSION_TEXT];

	version_text(in->version, version);
	json_set_str(to, "celldVersion", version);
	json_set_str(to, "image", app->image);
	json_set_str(to, "pullPolicy", app->pull_policy);
	list(to, "pullSecrets", &app->pull_secrets);
	json_set_str(to, "durability", app->durability == DURABILITY_FLEET ? "fleet" : "bucket");
	json_set_bool(to, "trustForwardedHeaders", app->trust_forwarded);
	json_set_str(to, "varsSecret", app->vars_secret);
	json_set_str(to, "clusterDomain", app->cluster_domain);
}

/* allowHTTP permits an endpoint and changes nothing in a pod. */
static void storage(const struct desired_input *in, struct json *to)
{
	const struct wa_bucket *store = desired_store(in);
	const struct wa_credentials *from = &store->credentials;
	cleanup(freep) char *bucket = desired_bucket(in->app);

	json_set_str(to, "bucket", bucket);
	json_set_str(to, "endpoint", store->endpoint);
	json_set_str(to, "region", store->region);
	json_set_str(to, "storageAccount", store->storage_account);
	json_set_str(to, "iamRole", from->iam_role);
	json_set_str(to, "credentialsSecret", from->secret_ref);
	json_set_str(to, "azureClientID", from->azure_client_id);
	json_set_str(to, "gcpServiceAccount", from->gcp_service_account);
	json_set_bool(to, "claims", in->app->storage.set);
}

static void resources(const struct workerapp *app, struct json *to)
{
	json_set_int(to, "cpuMillis", app->resources.cpu_millis);
	json_set_int(to, "memoryGi", app->resources.memory_gi);
	json_set_int(to, "ephemeralStorageGi", app->resources.ephemeral_gi);
	json_set_int(to, "maxResidentCells", app->resources.max_resident_cells);
	if (app->resources.idle_evict_seconds.set)
		json_set_int(to, "idleEvictSeconds", app->resources.idle_evict_seconds.v);
	map(to, "nodeSelector", app->scheduling.node_selector);
	if (json_len(app->scheduling.tolerations))
		json_set(to, "tolerations", desired_canonical(app->scheduling.tolerations));
	json_set_bool(to, "spreadAcrossZones", app->scheduling.spread_zones);
	json_set_str(to, "priorityClass", app->scheduling.priority_class);
}

/* The order counts: a value may refer to an earlier one. */
static void env(const struct workerapp *app, struct json *to)
{
	for (size_t i = 0; i < app->n_env; i++) {
		const struct wa_env *e = &app->env[i];
		struct json *j = json_new_object();

		json_set_str(j, "name", e->name);
		json_set_str(j, "value", e->value);
		json_set_str(j, "secret", e->secret_name);
		json_set_str(j, "key", e->secret_key);
		json_add(json_array_at(to, "env"), j);
	}
}

static void telemetry(const struct workerapp *app, struct json *to)
{
	const char *endpoint;
	bool otlp = desired_otlp(app, &endpoint);

	if (!app->telemetry.enabled)
		return;
	json_set_str(to, "otlp", otlp ? endpoint : NULL);
	json_set_str(to, "retention", otlp ? NULL : app->telemetry.retention);
	json_set_bool(to, "telemetry", true);
}

/* Of celld's facts those that a template depends on, whatever row of the table they come from. */
static void facts(const struct celld_facts *f, struct json *to)
{
	json_set_str(to, "healthPath", f->health_path);
	json_set_int(to, "publicPort", f->public_port);
	json_set_int(to, "internalPort", f->internal_port);
	json_set_bool(to, "internalListener", f->internal_listener);
	json_set_bool(to, "durability", f->durability);
	json_set_bool(to, "varsFile", f->vars_file);
	json_set_bool(to, "forwardedHeaders", f->forwarded_headers);
	json_set_bool(to, "telemetry", f->telemetry);
	json_set_bool(to, "telemetrySink", f->telemetry_sink);
	json_set_bool(to, "shutdownTotal", f->shutdown_total);
	json_set_bool(to, "shutdownDrain", f->shutdown_drain);
	json_set_bool(to, "drainTokenWait", f->drain_token_wait);
	json_set_int(to, "shutdownMs", f->shutdown_ms);
	json_set_int(to, "graceSeconds", f->grace_seconds);
}

static struct json *intent(const struct desired_input *in)
{
	struct json *to = json_new_object();

	celld(in, to);
	storage(in, to);
	resources(in->app, to);
	env(in->app, to);
	telemetry(in->app, to);
	map(to, "podLabels", in->app->pod_labels);
	map(to, "podAnnotations", in->app->pod_annotations);
	json_set_str(to, "appVersion", in->app_version);
	json_set_str(to, "configHash", in->config_hash);
	json_set_str(to, "restartToken", in->app->restart_token);
	facts(desired_facts(in), json_object_at(to, "facts"));
	return to;
}

void desired_intent(const struct desired_input *in, char hex[DIGEST_HEX])
{
	cleanup_json struct json *j = intent(in);
	cleanup(freep) char *text = json_text_sorted(j);

	digest_hex(text, strlen(text), hex);
}
