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

#define MEMBER(parent, name) .path = parent "." name, .under = sizeof(parent) - 1
#define AT(member)	     .at = offsetof(struct workerapp, member)

const struct workerapp_field workerapp_fields[] = {
	{ MEMBER("spec", "hostnames"), .kind = F_STRINGS, AT(hostnames) },
	{ MEMBER("spec", "appVersion"), .kind = F_STRING, AT(app_version) },
	{ MEMBER("spec", "deploymentPolicy"), .kind = F_ENUM, AT(policy), .choices = policies },
	{ MEMBER("spec", "deployTrackingSecretRef"), .kind = F_STRING, AT(tracking_secret) },
	{ MEMBER("spec", "celld"), .kind = F_OBJECT },
	{ MEMBER("spec.celld", "image"), .kind = F_STRING, AT(image) },
	{ MEMBER("spec.celld", "version"), .kind = F_STRING, AT(celld_version) },
	{ MEMBER("spec.celld", "updateStrategy"), .kind = F_ENUM, AT(strategy),
	  .choices = strategies },
	{ MEMBER("spec.celld", "imagePullPolicy"), .kind = F_CHOICE, AT(pull_policy),
	  .choices = pull_policies },
	{ MEMBER("spec.celld", "imagePullSecrets"), .kind = F_NAMES, AT(pull_secrets) },
	{ MEMBER("spec", "replicas"), .kind = F_INT, AT(replicas), .number = 3 },
	{ MEMBER("spec", "bucket"), .kind = F_OBJECT },
	{ MEMBER("spec.bucket", "name"), .kind = F_STRING, AT(bucket.name) },
	{ MEMBER("spec.bucket", "endpoint"), .kind = F_STRING, AT(bucket.endpoint) },
	{ MEMBER("spec.bucket", "allowHTTP"), .kind = F_BOOL, AT(bucket.allow_http) },
	{ MEMBER("spec.bucket", "region"), .kind = F_STRING, AT(bucket.region) },
	{ MEMBER("spec.bucket", "storageAccount"), .kind = F_STRING, AT(bucket.storage_account) },
	{ MEMBER("spec.bucket", "credentialsFrom"), .kind = F_OBJECT },
	{ MEMBER("spec.bucket.credentialsFrom", "iamRole"), .kind = F_STRING,
	  AT(bucket.credentials.iam_role) },
	{ MEMBER("spec.bucket.credentialsFrom", "secretRef"), .kind = F_STRING,
	  AT(bucket.credentials.secret_ref) },
	{ MEMBER("spec.bucket.credentialsFrom", "azureClientID"), .kind = F_STRING,
	  AT(bucket.credentials.azure_client_id) },
	{ MEMBER("spec.bucket.credentialsFrom", "gcpServiceAccount"), .kind = F_STRING,
	  AT(bucket.credentials.gcp_service_account) },
	{ MEMBER("spec", "storeRef"), .kind = F_OBJECT },
	{ MEMBER("spec.storeRef", "name"), .kind = F_STRING, AT(store_ref) },
	{ MEMBER("spec", "resources"), .kind = F_OBJECT },
	{ MEMBER("spec.resources", "cpuMillis"), .kind = F_INT, AT(resources.cpu_millis),
	  .number = 500 },
	{ MEMBER("spec.resources", "memoryGi"), .kind = F_INT, AT(resources.memory_gi),
	  .number = 8 },
	{ MEMBER("spec.resources", "ephemeralStorageGi"), .kind = F_INT, AT(resources.ephemeral_gi),
	  .number = 10 },
	{ MEMBER("spec.resources", "maxResidentCells"), .kind = F_INT,
	  AT(resources.max_resident_cells), .number = 1000 },
	{ MEMBER("spec.resources", "idleEvictSeconds"), .kind = F_OPT_INT,
	  AT(resources.idle_evict_seconds) },
	{ MEMBER("spec", "storage"), .kind = F_SET, AT(storage.set) },
	{ MEMBER("spec.storage", "sizeGi"), .kind = F_INT, AT(storage.size_gi) },
	{ MEMBER("spec.storage", "storageClassName"), .kind = F_STRING, AT(storage.class_name) },
	{ MEMBER("spec", "durability"), .kind = F_ENUM, AT(durability), .choices = durabilities },
	{ MEMBER("spec", "scheduling"), .kind = F_OBJECT },
	{ MEMBER("spec.scheduling", "nodeSelector"), .kind = F_MAP, AT(scheduling.node_selector) },
	{ MEMBER("spec.scheduling", "tolerations"), .kind = F_LIST, AT(scheduling.tolerations) },
	{ MEMBER("spec.scheduling", "spreadAcrossZones"), .kind = F_BOOL,
	  AT(scheduling.spread_zones) },
	{ MEMBER("spec.scheduling", "priorityClassName"), .kind = F_STRING,
	  AT(scheduling.priority_class) },
	{ MEMBER("spec", "service"), .kind = F_OBJECT },
	{ MEMBER("spec.service", "type"), .kind = F_CHOICE, AT(service.type), .choices = services,
	  .text = "ClusterIP" },
	{ MEMBER("spec.service", "annotations"), .kind = F_MAP, AT(service.annotations) },
	{ MEMBER("spec", "vars"), .kind = F_OBJECT },
	{ MEMBER("spec.vars", "secretRef"), .kind = F_STRING, AT(vars_secret) },
	{ MEMBER("spec", "env"), .kind = F_ENV },
	{ MEMBER("spec", "podLabels"), .kind = F_MAP, AT(pod_labels) },
	{ MEMBER("spec", "podAnnotations"), .kind = F_MAP, AT(pod_annotations) },
	{ MEMBER("spec", "websockets"), .kind = F_BOOL, AT(websockets) },
	{ MEMBER("spec", "trustForwardedHeaders"), .kind = F_BOOL, AT(trust_forwarded) },
	{ MEMBER("spec", "networkPolicy"), .kind = F_OBJECT },
	{ MEMBER("spec.networkPolicy", "publicFrom"), .kind = F_LIST,
	  AT(network_policy.public_from) },
	{ MEMBER("spec.networkPolicy", "egress"), .kind = F_OBJECT },
	{ MEMBER("spec.networkPolicy.egress", "enabled"), .kind = F_BOOL,
	  AT(network_policy.egress) },
	{ MEMBER("spec.networkPolicy.egress", "extra"), .kind = F_LIST,
	  AT(network_policy.egress_extra) },
	{ MEMBER("spec", "ingress"), .kind = F_SET, AT(ingress.set) },
	{ MEMBER("spec.ingress", "path"), .kind = F_STRING, AT(ingress.path), .text = "/" },
	{ MEMBER("spec.ingress", "pathType"), .kind = F_CHOICE, AT(ingress.path_type),
	  .choices = path_types, .text = "Prefix" },
	{ MEMBER("spec.ingress", "stripPrefix"), .kind = F_BOOL, AT(ingress.strip_prefix) },
	{ MEMBER("spec.ingress", "gatewayRefs"), .kind = F_LIST, AT(ingress.gateway_refs) },
	{ MEMBER("spec.ingress", "ingressClass"), .kind = F_STRING, AT(ingress.ingress_class) },
	{ MEMBER("spec.ingress", "clusterIssuer"), .kind = F_STRING, AT(ingress.cluster_issuer) },
	{ MEMBER("spec.ingress", "tlsSecretName"), .kind = F_STRING, AT(ingress.tls_secret) },
	{ MEMBER("spec.ingress", "annotations"), .kind = F_MAP, AT(ingress.annotations) },
	{ MEMBER("spec", "autoscaling"), .kind = F_OBJECT },
	{ MEMBER("spec.autoscaling", "enabled"), .kind = F_BOOL, AT(autoscaling.enabled) },
	{ MEMBER("spec.autoscaling", "minReplicas"), .kind = F_INT, AT(autoscaling.min),
	  .number = 2 },
	{ MEMBER("spec.autoscaling", "maxReplicas"), .kind = F_INT, AT(autoscaling.max),
	  .number = 10 },
	{ MEMBER("spec.autoscaling", "targets"), .kind = F_OBJECT },
	{ MEMBER("spec.autoscaling.targets", "residentCellUtilization"), .kind = F_INT,
	  AT(autoscaling.utilization), .number = 70 },
	{ MEMBER("spec.autoscaling.targets", "p95LatencyMs"), .kind = F_OPT_INT,
	  AT(autoscaling.p95_ms) },
	{ MEMBER("spec", "telemetry"), .kind = F_OBJECT },
	{ MEMBER("spec.telemetry", "enabled"), .kind = F_BOOL, AT(telemetry.enabled),
	  .number = true },
	{ MEMBER("spec.telemetry", "sink"), .kind = F_ENUM, AT(telemetry.sink), .choices = sinks },
	{ MEMBER("spec.telemetry", "otlpEndpoint"), .kind = F_STRING, AT(telemetry.otlp_endpoint) },
	{ MEMBER("spec.telemetry", "retention"), .kind = F_STRING, AT(telemetry.retention),
	  .text = "30d" },
	{ MEMBER("spec", "clusterDomain"), .kind = F_STRING, AT(cluster_domain),
	  .text = "cluster.local" },
	{ MEMBER("spec", "maintenance"), .kind = F_OBJECT },
	{ MEMBER("spec.maintenance", "paused"), .kind = F_BOOL, AT(paused) },
	{ MEMBER("spec.maintenance", "restartToken"), .kind = F_STRING, AT(restart_token) },
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
		const struct workerapp_field *f = &workerapp_fields[i];

		if (f->under == n && strncmp(f->path, path, n) == 0)
			names[count++] = workerapp_field_name(f);
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
