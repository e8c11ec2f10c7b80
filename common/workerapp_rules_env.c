/* Rules of env, vars, telemetry and forwarded headers: what a celld version reads and refuses. */
#include <stdio.h>
#include <string.h>

#include "common/syntax.h"
#include "common/workerapp_judge.h"

enum { ENV_MAX = 32, ENV_NAME = 128, ENV_VALUE = 32768 };

static bool is_setting(const char *s)
{
	size_t n = strlen(s);

	if (str_eq(s, "RUST_LOG"))
		return true;
	if (n > ENV_NAME || !(str_starts(s, "CELLD_") ? n > 6 : str_starts(s, "OTEL_") && n > 5))
		return false;
	for (; *s; s++) {
		if (!(*s >= 'A' && *s <= 'Z') && !(*s >= '0' && *s <= '9') && *s != '_')
			return false;
	}
	return true;
}

/* Whether a row speaks of name; "CELLD_VAR_*" speaks of all that begin so. */
static bool speaks_of(const struct celld_name *row, const char *name)
{
	size_t len = strlen(row->name);

	if (str_ends(row->name, "*"))
		return strncmp(name, row->name, len - 1) == 0;
	return str_eq(name, row->name);
}

static bool is_owned(const struct celld_table *t, const char *name)
{
	for (size_t i = 0; i < t->n_owned; i++) {
		if (speaks_of(&t->owned[i], name))
			return true;
	}
	return false;
}

static bool is_refused(const struct celld_table *t, const char *name, struct version v)
{
	for (size_t i = 0; i < t->n_refused; i++) {
		if (speaks_of(&t->refused[i], name) && celld_in_range(t->refused[i].range, v))
			return true;
	}
	return false;
}

/* The first version that reads name; 0.0.0 when the table does not tell. */
static struct version first_known(const struct celld_table *t, const char *name)
{
	struct version first = { 0 };
	bool found = false;

	for (size_t i = 0; i < t->n_known; i++) {
		struct version since = t->known[i].range.since;

		if (!speaks_of(&t->known[i], name) || (found && version_cmp(since, first) >= 0))
			continue;
		first = since;
		found = true;
	}
	return first;
}

/* The oldest version that may meet the variable: the target, and what runs besides. */
static struct version oldest(const struct judge *j)
{
	struct version v = j->version;

	for (size_t i = 0; j->running && !j->running->stopped && i < j->running->n; i++) {
		if (version_cmp(j->running->v[i], v) < 0)
			v = j->running->v[i];
	}
	return v;
}

static void env_version(const struct judge *j, const struct wa_env *env, const char *path)
{
	struct version since = first_known(j->table, env->name), least = oldest(j);
	char version[VERSION_TEXT], first[VERSION_TEXT];
	cleanup(freep) char *values = NULL;

	if (is_refused(j->table, env->name, j->version)) {
		version_text(j->version, version);
		values = xasprintf("%s %s", env->name, version);
		fault_add(j->faults, "env-refused", path, values,
			  "celld %s does not start with %s; leave it out", version, env->name);
	} else if (version_cmp(least, since) < 0) {
		version_text(least, version);
		version_text(since, first);
		values = xasprintf("%s %s", env->name, version);
		fault_add(j->faults, "env-too-new", path, values,
			  "celld %s, which the fleet may run, does not know %s; add it once every "
			  "pod runs %s or later",
			  version, env->name, first);
	}
}

static void env_source(const struct judge *j, const struct wa_env *env, const char *at)
{
	bool value = !str_empty(env->value), secret = env->secret_name || env->secret_key;
	cleanup(freep) char *path = xasprintf("%s.%s", at, value ? "value" : "secretKeyRef");

	if (value == secret) {
		fault_add(j->faults, "env-source", at, env->name,
			  value ? "%s has two values; write value or secretKeyRef, not both"
				: "%s has no value, and celld takes an empty one for a mistake; "
				  "write value or secretKeyRef",
			  env->name);
		return;
	}
	if (value && syntax_length(env->value) > ENV_VALUE)
		fault_add(j->faults, "env-value", path, env->name,
			  "is longer than 32768 characters; write a shorter value");
	if (secret && (!env->secret_name || !env->secret_key))
		fault_add(j->faults, "env-secret", path, env->name,
			  "name or key is missing; write both");
	if (secret && env->secret_name)
		judge_object_name(j, path, env->secret_name, "Secret");
	if (secret && env->secret_key && !syntax_word(env->secret_key, 1, 253, "._-"))
		fault_add(j->faults, "env-secret", path, env->secret_key,
			  "key is no key of a Secret; write letters, digits, dots, dashes and "
			  "underscores");
}

static bool is_repeated(const struct workerapp *app, size_t i)
{
	for (size_t k = 0; k < i; k++) {
		if (app->env[k].name && str_eq(app->env[k].name, app->env[i].name))
			return true;
	}
	return false;
}

static void env_entry(const struct judge *j, size_t i)
{
	const struct wa_env *env = &j->app->env[i];
	cleanup(freep) char *at = xasprintf("spec.env[%zu]", env->index);
	cleanup(freep) char *path = xasprintf("%s.name", at);
	struct fault_value shown;

	if (!env->name || !is_setting(env->name)) {
		fault_add(j->faults, "env-name", path, env->name ? env->name : "",
			  "%s is no setting of celld; write a name that begins with CELLD_ or "
			  "OTEL_, or RUST_LOG, in capitals",
			  fault_value(&shown, env->name));
		return;
	}
	if (is_repeated(j->app, i))
		fault_add(j->faults, "env-twice", path, env->name,
			  "%s is there twice; leave one out", env->name);
	if (is_owned(j->table, env->name))
		fault_add(j->faults, "env-owned", path, env->name,
			  "the operator sets %s itself; leave it out, and write the field of spec "
			  "that governs it, if there is one",
			  env->name);
	else if (j->has_version)
		env_version(j, env, path);
	env_source(j, env, at);
}

static void env(const struct judge *j)
{
	size_t n = json_len(json_get(j->app->spec, "env"));
	char count[24];

	if (n > ENV_MAX) {
		(void)snprintf(count, sizeof(count), "%zu", n);
		fault_add(j->faults, "env-count", "spec.env", count,
			  "%s variables are too many; write at most 32", count);
	}
	for (size_t i = 0; i < j->app->n_env && i < ENV_MAX; i++)
		env_entry(j, i);
}

static void vars(const struct judge *j)
{
	char version[VERSION_TEXT];

	judge_object_name(j, "spec.vars.secretRef", j->app->vars_secret, "Secret");
	if (!j->app->vars_secret || !j->facts || j->facts->vars_file)
		return;
	version_text(j->version, version);
	fault_add(j->faults, "vars-version", "spec.vars.secretRef", version,
		  "celld %s takes no variables from outside; move them to the vars of the "
		  "deployment's Wrangler configuration, and leave vars out",
		  version);
}

static void forwarded(const struct judge *j)
{
	char version[VERSION_TEXT], since[VERSION_TEXT];

	if (!j->app->trust_forwarded || !j->facts || j->facts->forwarded_headers)
		return;
	version_text(j->version, version);
	judge_since(j, offsetof(struct celld_facts, forwarded_headers), since);
	fault_add(j->faults, "forwarded-version", "spec.trustForwardedHeaders", version,
		  "celld %s does not read forwarded headers; write celld %s, or false", version,
		  since);
}

/* --- telemetry --- */

static bool is_retention(const char *s)
{
	size_t n = strlen(s);

	if (str_eq(s, "none"))
		return true;
	if (n < 2 || n > 8 || s[n - 1] != 'd' || s[0] == '0')
		return false;
	for (size_t i = 0; i + 1 < n; i++) {
		if (s[i] < '0' || s[i] > '9')
			return false;
	}
	return true;
}

static void telemetry_version(const struct judge *j)
{
	char version[VERSION_TEXT], since[VERSION_TEXT];

	/* Telemetry is on by default: only who asks for it is told that it is not there. */
	if (!json_get(j->app->spec, "telemetry") || !j->facts || j->facts->telemetry)
		return;
	version_text(j->version, version);
	judge_since(j, offsetof(struct celld_facts, telemetry), since);
	fault_add(j->faults, "telemetry-version", "spec.telemetry", version,
		  "celld %s has no telemetry; write celld %s, or enabled: false", version, since);
}

static void telemetry(const struct judge *j)
{
	const struct workerapp *app = j->app;
	const char *url = app->telemetry.otlp_endpoint, *retention = app->telemetry.retention;
	bool otlp =
		app->telemetry.sink == SINK_OTLP || (app->telemetry.sink == SINK_DEFAULT && url);
	struct fault_value shown;

	if (url && (!syntax_url(url) || strlen(url) > 2048))
		fault_add(j->faults, "telemetry-endpoint", "spec.telemetry.otlpEndpoint", url,
			  "%s is no URL of a collector; write http://HOST:PORT or "
			  "https://HOST:PORT, without user, password, query or fragment",
			  fault_value(&shown, url));
	if (!is_retention(retention))
		fault_add(j->faults, "telemetry-retention", "spec.telemetry.retention", retention,
			  "%s is no retention; write days such as 30d, or none",
			  fault_value(&shown, retention));
	if (!app->telemetry.enabled)
		return;
	telemetry_version(j);
	if (url && !otlp)
		judge_warn(j, "spec.telemetry.otlpEndpoint: plays no part with sink bucket");
	if (otlp && !str_eq(retention, "30d"))
		judge_warn(j, "spec.telemetry.retention: plays no part with sink otlp");
}

void workerapp_rules_env(const struct judge *j)
{
	env(j);
	vars(j);
	forwarded(j);
	telemetry(j);
}
