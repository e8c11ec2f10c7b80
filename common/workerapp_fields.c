#include "common/workerapp_fields.h"

#include <stddef.h>
#include <string.h>

static const char *const policies[] = { "Restart", "InPlace", NULL };
static const char *const strategies[] = { "Rolling", "Recreate", NULL };
static const char *const pull_policies[] = { "Always", "IfNotPresent", "Never", NULL };
static const char *const durabilities[] = { "bucket", "fleet", NULL };
static const char *const services[] = { "ClusterIP", "LoadBalancer", "NodePort", NULL };
static const char *const path_types[] = { "Prefix", "Exact", NULL };
static const char *const sinks[] = { "", "bucket", "otlp", NULL }; /* enum telemetry_sink */

#define AT(member) .at = offsetof(struct workerapp, member)

const struct workerapp_field workerapp_fields[] = {
	{ .path = "spec.hostnames", .kind = F_STRINGS, AT(hostnames) },
	{ .path = "spec.appVersion", .kind = F_STRING, AT(app_version) },
	{ .path = "spec.deploymentPolicy", .kind = F_ENUM, AT(policy), .choices = policies },
	{ .path = "spec.deployTrackingSecretRef", .kind = F_STRING, AT(tracking_secret) },
	{ .path = "spec.celld", .kind = F_OBJECT },
	{ .path = "spec.celld.image", .kind = F_STRING, AT(image) },
	{ .path = "spec.celld.version", .kind = F_STRING, AT(celld_version) },
	{ .path = "spec.celld.updateStrategy",
	  .kind = F_ENUM,
	  AT(strategy),
	  .choices = strategies },
	{ .path = "spec.celld.imagePullPolicy",
	  .kind = F_CHOICE,
	  AT(pull_policy),
	  .choices = pull_policies },
	{ .path = "spec.celld.imagePullSecrets", .kind = F_NAMES, AT(pull_secrets) },
	{ .path = "spec.replicas", .kind = F_INT, AT(replicas), .number = 3 },
	{ .path = "spec.bucket", .kind = F_OBJECT },
	{ .path = "spec.bucket.name", .kind = F_STRING, AT(bucket.name) },
	{ .path = "spec.bucket.endpoint", .kind = F_STRING, AT(bucket.endpoint) },
	{ .path = "spec.bucket.allowHTTP", .kind = F_BOOL, AT(bucket.allow_http) },
	{ .path = "spec.bucket.region", .kind = F_STRING, AT(bucket.region) },
	{ .path = "spec.bucket.storageAccount", .kind = F_STRING, AT(bucket.storage_account) },
	{ .path = "spec.bucket.credentialsFrom", .kind = F_OBJECT },
	{ .path = "spec.bucket.credentialsFrom.iamRole",
	  .kind = F_STRING,
	  AT(bucket.credentials.iam_role) },
	{ .path = "spec.bucket.credentialsFrom.secretRef",
	  .kind = F_STRING,
	  AT(bucket.credentials.secret_ref) },
	{ .path = "spec.bucket.credentialsFrom.azureClientID",
	  .kind = F_STRING,
	  AT(bucket.credentials.azure_client_id) },
	{ .path = "spec.bucket.credentialsFrom.gcpServiceAccount",
	  .kind = F_STRING,
	  AT(bucket.credentials.gcp_service_account) },
	{ .path = "spec.storeRef", .kind = F_OBJECT },
	{ .path = "spec.storeRef.name", .kind = F_STRING, AT(store_ref) },
	{ .path = "spec.resources", .kind = F_OBJECT },
	{ .path = "spec.resources.cpuMillis",
	  .kind = F_INT,
	  AT(resources.cpu_millis),
	  .number = 500 },
	{ .path = "spec.resources.memoryGi", .kind = F_INT, AT(resources.memory_gi), .number = 8 },
	{ .path = "spec.resources.ephemeralStorageGi",
	  .kind = F_INT,
	  AT(resources.ephemeral_gi),
	  .number = 10 },
	{ .path = "spec.resources.maxResidentCells",
	  .kind = F_INT,
	  AT(resources.max_resident_cells),
	  .number = 1000 },
	{ .path = "spec.resources.idleEvictSeconds",
	  .kind = F_OPT_INT,
	  AT(resources.idle_evict_seconds) },
	{ .path = "spec.storage", .kind = F_SET, AT(storage.set) },
	{ .path = "spec.storage.sizeGi", .kind = F_INT, AT(storage.size_gi) },
	{ .path = "spec.storage.storageClassName", .kind = F_STRING, AT(storage.class_name) },
	{ .path = "spec.durability", .kind = F_ENUM, AT(durability), .choices = durabilities },
	{ .path = "spec.scheduling", .kind = F_OBJECT },
	{ .path = "spec.scheduling.nodeSelector", .kind = F_MAP, AT(scheduling.node_selector) },
	{ .path = "spec.scheduling.tolerations", .kind = F_LIST, AT(scheduling.tolerations) },
	{ .path = "spec.scheduling.spreadAcrossZones",
	  .kind = F_BOOL,
	  AT(scheduling.spread_zones) },
	{ .path = "spec.scheduling.priorityClassName",
	  .kind = F_STRING,
	  AT(scheduling.priority_class) },
	{ .path = "spec.service", .kind = F_OBJECT },
	{ .path = "spec.service.type",
	  .kind = F_CHOICE,
	  AT(service.type),
	  .choices = services,
	  .text = "ClusterIP" },
	{ .path = "spec.service.annotations", .kind = F_MAP, AT(service.annotations) },
	{ .path = "spec.vars", .kind = F_OBJECT },
	{ .path = "spec.vars.secretRef", .kind = F_STRING, AT(vars_secret) },
	{ .path = "spec.env", .kind = F_ENV },
	{ .path = "spec.podLabels", .kind = F_MAP, AT(pod_labels) },
	{ .path = "spec.podAnnotations", .kind = F_MAP, AT(pod_annotations) },
	{ .path = "spec.websockets", .kind = F_BOOL, AT(websockets) },
	{ .path = "spec.trustForwardedHeaders", .kind = F_BOOL, AT(trust_forwarded) },
	{ .path = "spec.networkPolicy", .kind = F_OBJECT },
	{ .path = "spec.networkPolicy.publicFrom", .kind = F_LIST, AT(network_policy.public_from) },
	{ .path = "spec.networkPolicy.egress", .kind = F_OBJECT },
	{ .path = "spec.networkPolicy.egress.enabled", .kind = F_BOOL, AT(network_policy.egress) },
	{ .path = "spec.networkPolicy.egress.extra",
	  .kind = F_LIST,
	  AT(network_policy.egress_extra) },
	{ .path = "spec.ingress", .kind = F_SET, AT(ingress.set) },
	{ .path = "spec.ingress.path", .kind = F_STRING, AT(ingress.path), .text = "/" },
	{ .path = "spec.ingress.pathType",
	  .kind = F_CHOICE,
	  AT(ingress.path_type),
	  .choices = path_types,
	  .text = "Prefix" },
	{ .path = "spec.ingress.stripPrefix", .kind = F_BOOL, AT(ingress.strip_prefix) },
	{ .path = "spec.ingress.gatewayRefs", .kind = F_LIST, AT(ingress.gateway_refs) },
	{ .path = "spec.ingress.ingressClass", .kind = F_STRING, AT(ingress.ingress_class) },
	{ .path = "spec.ingress.clusterIssuer", .kind = F_STRING, AT(ingress.cluster_issuer) },
	{ .path = "spec.ingress.tlsSecretName", .kind = F_STRING, AT(ingress.tls_secret) },
	{ .path = "spec.ingress.annotations", .kind = F_MAP, AT(ingress.annotations) },
	{ .path = "spec.autoscaling", .kind = F_OBJECT },
	{ .path = "spec.autoscaling.enabled", .kind = F_BOOL, AT(autoscaling.enabled) },
	{ .path = "spec.autoscaling.minReplicas", .kind = F_INT, AT(autoscaling.min), .number = 2 },
	{ .path = "spec.autoscaling.maxReplicas",
	  .kind = F_INT,
	  AT(autoscaling.max),
	  .number = 10 },
	{ .path = "spec.autoscaling.targets", .kind = F_OBJECT },
	{ .path = "spec.autoscaling.targets.residentCellUtilization",
	  .kind = F_INT,
	  AT(autoscaling.utilization),
	  .number = 70 },
	{ .path = "spec.autoscaling.targets.p95LatencyMs",
	  .kind = F_OPT_INT,
	  AT(autoscaling.p95_ms) },
	{ .path = "spec.telemetry", .kind = F_OBJECT },
	{ .path = "spec.telemetry.enabled", .kind = F_BOOL, AT(telemetry.enabled), .number = true },
	{ .path = "spec.telemetry.sink", .kind = F_ENUM, AT(telemetry.sink), .choices = sinks },
	{ .path = "spec.telemetry.otlpEndpoint", .kind = F_STRING, AT(telemetry.otlp_endpoint) },
	{ .path = "spec.telemetry.retention",
	  .kind = F_STRING,
	  AT(telemetry.retention),
	  .text = "30d" },
	{ .path = "spec.clusterDomain",
	  .kind = F_STRING,
	  AT(cluster_domain),
	  .text = "cluster.local" },
	{ .path = "spec.maintenance", .kind = F_OBJECT },
	{ .path = "spec.maintenance.paused", .kind = F_BOOL, AT(paused) },
	{ .path = "spec.maintenance.restartToken", .kind = F_STRING, AT(restart_token) },
};

const size_t workerapp_n_fields = array_len(workerapp_fields);

/* --- what was meant --- */

enum { NEAR_TEXT = 48 };

static int lower(char c)
{
	return c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : (unsigned char)c;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* How many letters must be put in, taken out, or changed (two neighbours changing places: two),
 * whatever their case. */
static size_t distance(const char *a, size_t n, const char *b, size_t m)
{
	size_t row[NEAR_TEXT + 1];

	for (size_t j = 0; j <= m; j++)
		row[j] = j;
	for (size_t i = 1; i <= n; i++) {
		size_t corner = row[0];

		row[0] = i;
		for (size_t j = 1; j <= m; j++) {
			size_t above = row[j];

			row[j] = least(least(above, row[j - 1]) + 1,
				       corner + (lower(a[i - 1]) != lower(b[j - 1])));
			corner = above;
		}
	}
	return row[m];
}

const char *workerapp_near_miss(const char *word, const char *const *candidates)
{
	const char *best = NULL;
	size_t n = strlen(word), best_distance = SIZE_MAX;

	if (n > NEAR_TEXT)
		return NULL;
	for (; *candidates; candidates++) {
		size_t m = strlen(*candidates);
		size_t d = m <= NEAR_TEXT ? distance(word, n, *candidates, m) : SIZE_MAX;

		/* A third of the letters may be wrong. */
		if (d < best_distance && 3 * d <= (n > m ? n : m)) {
			best = *candidates;
			best_distance = d;
		}
	}
	return best;
}

/* The members that an object at path (without a dot at its end) may have; room for
 * array_len(workerapp_fields) + 1. */
static void members_of(const char *path, const char **names)
{
	size_t n = strlen(path), count = 0;

	for (size_t i = 0; i < array_len(workerapp_fields); i++) {
		const char *p = workerapp_fields[i].path;

		if (strncmp(p, path, n) == 0 && p[n] == '.' && !strchr(p + n + 1, '.'))
			names[count++] = p + n + 1;
	}
	names[count] = NULL;
}

static bool is_among(const char *name, const char *const *names)
{
	while (*names && !str_eq(*names, name))
		names++;
	return *names != NULL;
}

static void unknown_in(const struct json *j, const char *path, struct faults *faults)
{
	const char *names[array_len(workerapp_fields) + 1];

	members_of(path, names);
	for (const struct json *c = json_first(j); c; c = json_next(c)) {
		cleanup(freep) char *at = xasprintf("%s.%.128s", path, json_name(c));
		const char *near;

		if (is_among(json_name(c), names))
			continue;
		near = workerapp_near_miss(json_name(c), names);
		if (near)
			fault_add(faults, "unknown-field", at, "",
				  "there is no such field; did you mean %s?", near);
		else
			fault_add(faults, "unknown-field", at, "",
				  "there is no such field; leave it out");
	}
}

void workerapp_unknown_fields(const struct workerapp *app, struct faults *faults)
{
	if (app->spec)
		unknown_in(app->spec, "spec", faults);
	for (size_t i = 0; i < array_len(workerapp_fields); i++) {
		const struct json *j = json_at_path(app->doc, workerapp_fields[i].path);

		if ((workerapp_fields[i].kind == F_OBJECT || workerapp_fields[i].kind == F_SET) &&
		    json_kind(j) == JSON_OBJECT)
			unknown_in(j, workerapp_fields[i].path, faults);
	}
}
