/*
 * desired_env.c - the environment of the container. celld takes an empty value of a typed variable
 * for a wrong one and stops at names that its version no longer knows, so nothing is set that is
 * empty or that the table does not have.
 */
#include "controller/desired.h"

static struct json *named(const char *name)
{
	struct json *j = json_new_object();

	json_set_str(j, "name", name);
	return j;
}

static bool has(const struct json *env, const char *name)
{
	for (const struct json *c = json_first(env); c; c = json_next(c))
		if (str_eq(json_get_str(c, "name"), name))
			return true;
	return false;
}

static void put(struct json *env, const char *name, const char *value)
{
	struct json *j;

	if (str_empty(value))
		return;
	j = named(name);
	json_set_str(j, "value", value);
	json_add(env, j);
}

static void put_int(struct json *env, const char *name, int64_t value)
{
	cleanup(freep) char *text = xasprintf("%lld", (long long)value);

	put(env, name, text);
}

static void put_pod_name(struct json *env, const char *name)
{
	struct json *j = named(name);

	json_set_str(json_object_at(json_object_at(j, "valueFrom"), "fieldRef"), "fieldPath",
		     "metadata.name");
	json_add(env, j);
}

enum need { NEEDED, OPTIONAL };

static void put_secret(struct json *env, const char *name, const char *secret, const char *key,
		       enum need need)
{
	struct json *j, *ref;

	if (str_empty(secret) || str_empty(key))
		return;
	j = named(name);
	ref = json_object_at(json_object_at(j, "valueFrom"), "secretKeyRef");
	json_set_str(ref, "name", secret);
	json_set_str(ref, "key", key);
	if (need == OPTIONAL)
		json_set_bool(ref, "optional", true);
	json_add(env, j);
}

/* Listeners are addresses with a port; the wildcard of IPv6 takes IPv4 as well. */
static void put_listener(struct json *env, const char *name, bool ipv6, int port)
{
	cleanup(freep) char *text = xasprintf("%s:%d", ipv6 ? "[::]" : "0.0.0.0", port);

	put(env, name, text);
}

/* POD_NAME comes first: $(POD_NAME) stands for what is set above it. */
static void node(const struct desired_input *in, const struct celld_facts *f, struct json *env)
{
	const struct workerapp *app = in->app;
	cleanup(freep) char *bucket = desired_bucket(app);
	cleanup(freep) char *internal = desired_internal_name(app);
	cleanup(freep) char *advertise =
		xasprintf("$(POD_NAME).%s.%s.svc.%s:%d", internal, desired_namespace(app),
			  app->cluster_domain, f->internal_port);

	put_pod_name(env, "POD_NAME");
	put_pod_name(env, "CELLD_NODE");
	put(env, "CELLD_BUCKET", bucket);
	put_listener(env, "CELLD_ADDR", in->ipv6, f->public_port);
	if (f->internal_listener)
		put_listener(env, "CELLD_INTERNAL_ADDR", in->ipv6, f->internal_port);
	put(env, "CELLD_ADVERTISE", advertise);
	put(env, "CELLD_WATCH", DESIRED_DATA_PATH);
	/* 80 % of the limit, in MiB: below celld's own hard cap of 95 %, so that shedding has room
	 * to work. */
	put_int(env, "CELLD_MAX_RSS_MB", app->resources.memory_gi * 1024 * 8 / 10);
	put_int(env, "CELLD_MAX_RESIDENT_CELLS", app->resources.max_resident_cells);
	if (f->durability)
		put(env, "CELLD_DURABILITY",
		    app->durability == DURABILITY_FLEET ? "fleet" : "bucket");
	if (app->resources.idle_evict_seconds.set)
		put_int(env, "CELLD_IDLE_EVICT_S", app->resources.idle_evict_seconds.v);
	if (app->trust_forwarded && f->forwarded_headers)
		put(env, "CELLD_TRUST_FORWARDED_HEADERS", "1");
	if (app->vars_secret && f->vars_file)
		put(env, "CELLD_VARS_FILE", DESIRED_VARS_PATH "/" DESIRED_VARS_KEY);
}

/* The presence of S3_ENDPOINT stops a gs or az fleet at its start. */
static void storage_s3(const struct wa_bucket *store, struct json *env)
{
	const char *secret = store->credentials.secret_ref;

	put(env, "S3_ENDPOINT", store->endpoint);
	put(env, "AWS_REGION", store->region);
	put_secret(env, "AWS_ACCESS_KEY_ID", secret, "AWS_ACCESS_KEY_ID", NEEDED);
	put_secret(env, "AWS_SECRET_ACCESS_KEY", secret, "AWS_SECRET_ACCESS_KEY", NEEDED);
	put_secret(env, "AWS_SESSION_TOKEN", secret, "AWS_SESSION_TOKEN", OPTIONAL);
}

/* Either Azure key will do, so that neither is needed. */
static void storage(const struct desired_input *in, struct json *env)
{
	const struct wa_bucket *store = desired_store(in);
	const char *secret = store->credentials.secret_ref;

	if (in->app->bucket.scheme == SCHEME_GS) {
		put_secret(env, "GOOGLE_SERVICE_ACCOUNT_KEY", secret, "GOOGLE_SERVICE_ACCOUNT_KEY",
			   NEEDED);
	} else if (in->app->bucket.scheme == SCHEME_AZ) {
		put(env, "AZURE_STORAGE_ACCOUNT_NAME", store->storage_account);
		put_secret(env, "AZURE_STORAGE_ACCOUNT_KEY", secret, "AZURE_STORAGE_ACCOUNT_KEY",
			   OPTIONAL);
		put_secret(env, "AZURE_STORAGE_SAS_TOKEN", secret, "AZURE_STORAGE_SAS_TOKEN",
			   OPTIONAL);
	} else {
		storage_s3(store, env);
	}
}

static bool user_names_service(const struct workerapp *app)
{
	for (size_t i = 0; i < app->n_env; i++)
		if (str_eq(app->env[i].name, "OTEL_SERVICE_NAME"))
			return true;
	return false;
}

/* Where CELLD_OTEL_SINK is no more, the collector's URL goes into CELLD_OTEL itself. */
static void telemetry(const struct desired_input *in, const struct celld_facts *f, struct json *env)
{
	const struct workerapp *app = in->app;
	const char *endpoint;
	bool otlp = desired_otlp(app, &endpoint);

	if (!app->telemetry.enabled || !f->telemetry)
		return;
	put(env, "CELLD_OTEL", otlp && !f->telemetry_sink ? endpoint : "1");
	if (f->telemetry_sink) {
		put(env, "CELLD_OTEL_SINK", otlp ? "otlp" : "bucket");
		if (otlp)
			put(env, "OTEL_EXPORTER_OTLP_ENDPOINT", endpoint);
	}
	if (!otlp)
		put(env, "CELLD_OTEL_RETENTION", app->telemetry.retention);
	if (!user_names_service(app))
		put(env, "OTEL_SERVICE_NAME", app->name);
}

/*
 * The bound of the whole shutdown and, where they are variables of their own, its parts in the
 * proportions that later versions derive themselves: 3/4 for the drain token (more is refused at
 * start), 5/8 without progress.
 */
static void shutdown_bounds(const struct celld_facts *f, struct json *env)
{
	if (f->shutdown_total)
		put_int(env, "CELLD_SHUTDOWN_TOTAL_MS", f->shutdown_ms);
	if (f->shutdown_drain)
		put_int(env, "CELLD_SHUTDOWN_DRAIN_MS",
			f->shutdown_total ? f->shutdown_ms * 5 / 8 : f->shutdown_ms);
	if (f->drain_token_wait)
		put_int(env, "CELLD_DRAIN_TOKEN_WAIT_MS", f->shutdown_ms * 3 / 4);
}

/* In the user's order, since a value may refer to an earlier one. A name is set once: the list is
 * merged by name. */
static void user(const struct workerapp *app, struct json *env)
{
	for (size_t i = 0; i < app->n_env; i++) {
		const struct wa_env *e = &app->env[i];

		if (str_empty(e->name) || has(env, e->name))
			continue;
		if (e->secret_name)
			put_secret(env, e->name, e->secret_name, e->secret_key, NEEDED);
		else
			put(env, e->name, e->value);
	}
}

struct json *desired_env(const struct desired_input *in)
{
	const struct celld_facts *f = desired_facts(in);
	struct json *env = json_new_array();

	node(in, f, env);
	storage(in, env);
	telemetry(in, f, env);
	shutdown_bounds(f, env);
	user(in->app, env);
	return env;
}

static void use(struct json *secrets, const char *secret, const char *key, bool optional)
{
	json_set_bool(json_object_at(secrets, secret), key, optional);
}

struct json *desired_secrets(const struct desired_input *in)
{
	struct json *secrets = json_new_object();
	cleanup_json struct json *env = desired_env(in);

	for (const struct json *c = json_first(env); c; c = json_next(c)) {
		const struct json *ref = json_path(c, "valueFrom", "secretKeyRef", NULL);

		if (ref)
			use(secrets, json_get_str(ref, "name"), json_get_str(ref, "key"),
			    json_get_bool(ref, "optional", false));
	}
	if (in->app->vars_secret && desired_facts(in)->vars_file)
		use(secrets, in->app->vars_secret, DESIRED_VARS_KEY, false);
	return secrets;
}
