/* Rules of env, vars, telemetry and forwarded headers: what a celld version reads and refuses. */
#include <stdio.h>
#include <string.h>

#include "common/celld/env.h"
#include "common/syntax.h"
#include "common/workerapp_judge.h"

enum { ENV_MAX = 32, ENV_NAME = 128, ENV_VALUE = 4096 };

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

static void env_version(const struct judge *j, const struct wa_env *env, const char *path,
			enum env_verdict verdict)
{
	struct version since, least = oldest(j);
	char version[VERSION_TEXT], first[VERSION_TEXT];
	cleanup(freep) char *values = NULL;

	if (verdict == ENV_REFUSED) {
		version_text(j->version, version);
		values = xasprintf("%s %s", env->name, version);
		fault_add(j->faults, "env-refused", path, values,
			  "celld %s does not start with %s; leave it out", version, env->name);
	} else if (celld_env_since(j->table, env->name, &since) && version_cmp(least, since) < 0) {
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
	cleanup(freep) char *path = NULL;

	if (value && !secret && strlen(env->value) <= ENV_VALUE)
		return; /* not longer in characters either */
	path = xasprintf("%s.%s", at, value ? "value" : "secretKeyRef");

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
			  "is longer than 4096 characters; write a shorter value");
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
	char at[40], path[48];
	/* without a version: 0.0.0, for which names are judged all the same */
	enum env_verdict verdict = env->name
					   ? celld_env_check(j->table, j->version, env->name, false)
					   : ENV_NOT_ALLOWED;
	struct fault_value shown;

	(void)snprintf(at, sizeof(at), "spec.env[%zu]", env->index);
	(void)snprintf(path, sizeof(path), "%s.name", at);
	if (verdict == ENV_NOT_ALLOWED || strlen(env->name) > ENV_NAME) {
		fault_add(j->faults, "env-name", path, env->name ? env->name : "",
			  "%s is no setting of celld; write a name that begins with CELLD_ or "
			  "OTEL_, or RUST_LOG, in capitals",
			  fault_value(&shown, env->name));
		return;
	}
	if (is_repeated(j->app, i))
		fault_add(j->faults, "env-twice", path, env->name,
			  "%s is there twice; leave one out", env->name);
	if (verdict == ENV_OWNED)
		fault_add(j->faults, "env-owned", path, env->name,
			  "the operator sets %s itself; leave it out, and write the field of spec "
			  "that governs it, if there is one",
			  env->name);
	else if (j->has_version)
		env_version(j, env, path, verdict);
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
