#include "controller/desired.h"

/* celld's image names no user; any works that may write to the data volume. */
enum { CELLD_UID = 10001 };

static void maps(struct json *to, const struct json *from)
{
	for (const struct json *c = json_first(from); c; c = json_next(c))
		json_set(to, json_name(c), json_dup(c));
}

static const char *identity(const struct desired_input *in)
{
	const struct wa_credentials *from = &desired_store(in)->credentials;

	if (!str_empty(from->iam_role))
		return from->iam_role;
	if (!str_empty(from->gcp_service_account))
		return from->gcp_service_account;
	return from->azure_client_id;
}

static struct json *metadata(const struct desired_input *in)
{
	const struct workerapp *app = in->app;
	struct json *j = json_new_object(), *labels, *annotations;
	char version[VERSION_TEXT];

	labels = json_object_at(j, "labels");
	maps(labels, app->pod_labels);
	desired_labels(app, labels);
	if (!str_empty(desired_store(in)->credentials.azure_client_id))
		json_set_str(labels, "azure.workload.identity/use", "true");

	annotations = json_object_at(j, "annotations");
	maps(annotations, app->pod_annotations);
	version_text(in->version, version);
	json_set_str(annotations, ANNOTATION_CELLD_VERSION, version);
	json_set_str(annotations, ANNOTATION_APP_VERSION, in->app_version);
	json_set_str(annotations, ANNOTATION_CONFIG_HASH, in->config_hash);
	json_set_str(annotations, ANNOTATION_RESTART, app->restart_token);
	json_set_str(annotations, ANNOTATION_IDENTITY, identity(in));
	return j;
}

static struct json *probe_tcp(int port, int period, int timeout, int failures)
{
	struct json *probe = json_new_object();

	json_set_int(json_object_at(probe, "tcpSocket"), "port", port);
	json_set_int(probe, "periodSeconds", period);
	json_set_int(probe, "timeoutSeconds", timeout);
	json_set_int(probe, "failureThreshold", failures);
	return probe;
}

/*
 * Until celld serves, HTTP probes time out rather than fail, and connections already succeed:
 * start-up and liveness look at the socket. Health is 503 during a drain and while the gate is
 * shut, so that it may only say whether to send requests.
 */
static void probes(const struct celld_facts *f, struct json *container)
{
	struct json *ready = json_new_object(), *get;

	get = json_object_at(ready, "httpGet");
	json_set_str(get, "path", f->health_path);
	json_set_int(get, "port", f->public_port);
	json_set_int(ready, "periodSeconds", 5);
	json_set_int(ready, "timeoutSeconds", 3);
	json_set_int(ready, "failureThreshold", 3);
	json_set(container, "startupProbe", probe_tcp(f->public_port, 2, 3, 300)); /* 10 min */
	json_set(container, "readinessProbe", ready);
	json_set(container, "livenessProbe", probe_tcp(f->public_port, 10, 5, 3));
}

static struct json *port(const char *name, int number)
{
	struct json *j = json_new_object();

	json_set_str(j, "name", name);
	json_set_int(j, "containerPort", number);
	json_set_str(j, "protocol", "TCP");
	return j;
}

static void ports(const struct celld_facts *f, struct json *container)
{
	struct json *list = json_array_at(container, "ports");

	json_add(list, port("http", f->public_port));
	if (f->internal_listener)
		json_add(list, port("internal", f->internal_port));
}

/* Memory is what celld sheds by: it gets what it asks for. Its CPU is not capped. */
static void resources(const struct workerapp *app, struct json *container)
{
	cleanup(freep) char *cpu = desired_cpu(app->resources.cpu_millis);
	cleanup(freep) char *memory = desired_gi(app->resources.memory_gi);
	cleanup(freep) char *disk = desired_gi(app->resources.ephemeral_gi);
	struct json *j = json_object_at(container, "resources"), *part;

	part = json_object_at(j, "requests");
	json_set_str(part, "cpu", cpu);
	json_set_str(part, "memory", memory);
	json_set_str(part, "ephemeral-storage", disk);
	part = json_object_at(j, "limits");
	json_set_str(part, "memory", memory);
	json_set_str(part, "ephemeral-storage", disk);
}

static void container_security(struct json *container)
{
	struct json *j = json_object_at(container, "securityContext");

	json_set_bool(j, "allowPrivilegeEscalation", false);
	json_set_bool(j, "readOnlyRootFilesystem", true);
	json_add_str(json_array_at(json_object_at(j, "capabilities"), "drop"), "ALL");
}

static void mount(struct json *container, const char *name, const char *path, bool read_only)
{
	struct json *j = json_new_object();

	json_set_str(j, "name", name);
	json_set_str(j, "mountPath", path);
	if (read_only)
		json_set_bool(j, "readOnly", true);
	json_add(json_array_at(container, "volumeMounts"), j);
}

static bool has_vars(const struct desired_input *in)
{
	return in->app->vars_secret && desired_facts(in)->vars_file;
}

/* The last log lines become the termination message: celld says there which variable it refuses. */
static struct json *container(const struct desired_input *in)
{
	const struct celld_facts *f = desired_facts(in);
	struct json *j = json_new_object();

	json_set_str(j, "name", DESIRED_CONTAINER);
	json_set_str(j, "image", in->app->image);
	json_set_str(j, "imagePullPolicy", in->app->pull_policy);
	json_set_str(j, "terminationMessagePolicy", "FallbackToLogsOnError");
	ports(f, j);
	json_set(j, "env", desired_env(in));
	resources(in->app, j);
	probes(f, j);
	container_security(j);
	mount(j, DESIRED_DATA, DESIRED_DATA_PATH, false);
	mount(j, "tmp", "/tmp", false);
	if (has_vars(in))
		mount(j, "vars", DESIRED_VARS_PATH, true);
	return j;
}

static struct json *volume(struct json *spec, const char *name)
{
	struct json *j = json_new_object();

	json_set_str(j, "name", name);
	json_add(json_array_at(spec, "volumes"), j);
	return j;
}

/* Modes are numbers in the API: 288 is 0440, for the group that fsGroup gives the files to. */
static void volumes(const struct desired_input *in, struct json *spec)
{
	struct json *secret, *items, *item;

	if (!in->app->storage.set)
		json_object_at(volume(spec, DESIRED_DATA), "emptyDir");
	json_object_at(volume(spec, "tmp"), "emptyDir");
	if (!has_vars(in))
		return;
	secret = json_object_at(volume(spec, "vars"), "secret");
	json_set_str(secret, "secretName", in->app->vars_secret);
	json_set_int(secret, "defaultMode", 0440);
	items = json_array_at(secret, "items");
	item = json_new_object();
	json_set_str(item, "key", DESIRED_VARS_KEY);
	json_set_str(item, "path", DESIRED_VARS_KEY);
	json_add(items, item);
}

static void pod_security(struct json *spec)
{
	struct json *j = json_object_at(spec, "securityContext");

	json_set_bool(j, "runAsNonRoot", true);
	json_set_int(j, "runAsUser", CELLD_UID);
	json_set_int(j, "runAsGroup", CELLD_UID);
	json_set_int(j, "fsGroup", CELLD_UID);
	json_set_str(json_object_at(j, "seccompProfile"), "type", "RuntimeDefault");
}

static struct json *apart(const struct workerapp *app, const char *topology_key)
{
	struct json *term = json_new_object();

	json_set(json_object_at(term, "labelSelector"), "matchLabels", desired_match_labels(app));
	json_set_str(term, "topologyKey", topology_key);
	return term;
}

/* A host takes one member's log with it, so that with claims no two may share one; without, it is a
 * wish. */
static void affinity(const struct workerapp *app, struct json *spec)
{
	static const char host[] = "kubernetes.io/hostname";
	static const char required[] = "requiredDuringSchedulingIgnoredDuringExecution";
	struct json *anti = json_object_at(json_object_at(spec, "affinity"), "podAntiAffinity");
	struct json *wish;

	if (app->storage.set)
		json_add(json_array_at(anti, required), apart(app, host));
	if (app->scheduling.spread_zones)
		json_add(json_array_at(anti, required), apart(app, "topology.kubernetes.io/zone"));
	if (app->storage.set)
		return;
	wish = json_new_object();
	json_set_int(wish, "weight", 100);
	json_set(wish, "podAffinityTerm", apart(app, host));
	json_add(json_array_at(anti, "preferredDuringSchedulingIgnoredDuringExecution"), wish);
}

static void scheduling(const struct workerapp *app, struct json *spec)
{
	if (json_len(app->scheduling.node_selector))
		json_set(spec, "nodeSelector", json_dup(app->scheduling.node_selector));
	if (json_len(app->scheduling.tolerations))
		json_set(spec, "tolerations", desired_canonical(app->scheduling.tolerations));
	json_set_str(spec, "priorityClassName", app->scheduling.priority_class);
	affinity(app, spec);
}

static void pull_secrets(const struct workerapp *app, struct json *spec)
{
	for (size_t i = 0; i < app->pull_secrets.n; i++) {
		struct json *j = json_new_object();

		json_set_str(j, "name", app->pull_secrets.v[i]);
		json_add(json_array_at(spec, "imagePullSecrets"), j);
	}
}

/*
 * No service links: the variables that Kubernetes makes of a Service named "celld-var" would stop
 * celld. No token: nothing in the pod talks to the API server, and the clouds' webhooks mount
 * tokens of their own.
 */
struct json *desired_pod_template(const struct desired_input *in)
{
	cleanup(freep) char *name = desired_name(in->app);
	struct json *template = json_new_object(), *spec;

	json_set(template, "metadata", metadata(in));
	spec = json_object_at(template, "spec");
	json_set_str(spec, "serviceAccountName", name);
	json_set_bool(spec, "automountServiceAccountToken", false);
	json_set_bool(spec, "enableServiceLinks", false);
	json_set_int(spec, "terminationGracePeriodSeconds", desired_facts(in)->grace_seconds);
	pod_security(spec);
	pull_secrets(in->app, spec);
	scheduling(in->app, spec);
	json_add(json_array_at(spec, "containers"), container(in));
	volumes(in, spec);
	return template;
}
