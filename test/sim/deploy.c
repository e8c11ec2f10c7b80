/*
 * Which deployment the node serves. Up to 0.3 the pointer is read once; from 0.4 it is polled and a
 * new one adopted in place, with generations that count up from 1 in each process. A pointer that
 * is missing at the start ends a node before 0.5.1 (known for 0.1 to 0.3, taken to hold for 0.4 and
 * 0.5.0 too), later ones wait for it.
 */
#include "test/sim/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WAIT_MS 2000 /* between two looks for a first deployment */

static void default_pointer(const char *version, struct sim_pointer *out)
{
	const char *script = env_text("CELLD_SIM_APP_SCRIPT");
	(void)snprintf(out->script, sizeof out->script, "%s", script != NULL ? script : "app");
	(void)snprintf(out->version, sizeof out->version, "%s", version);
	(void)snprintf(out->prefix, sizeof out->prefix, "deploy/%s/%s", out->script, out->version);
}

static void serve(struct sim_deploy *deploy, const struct sim_pointer *pointer, long long now)
{
	if (deploy->serving) {
		if (deploy->olds == SIM_OLD) {
			memmove(deploy->old, deploy->old + 1,
				sizeof deploy->old - sizeof deploy->old[0]);
			deploy->olds--;
		}
		struct sim_generation *old = &deploy->old[deploy->olds++];
		old->number = deploy->generation;
		memcpy(old->version, deploy->now.version, sizeof old->version);
	}
	deploy->serving = true;
	deploy->now = *pointer;
	deploy->generation++;
	deploy->adopted_ms = now;
	sim_event("celld: adopted deployment version=%s prefix=%s generation=%lld",
		  deploy->now.version, deploy->now.prefix, deploy->generation);
}

static void serve_default(struct sim_deploy *deploy, long long now)
{
	struct sim_pointer pointer;
	const char *version = env_text("CELLD_SIM_APP_VERSION");
	default_pointer(version != NULL ? version : "0123456789abcdef", &pointer);
	deploy->source = SOURCE_DEFAULT;
	serve(deploy, &pointer, now);
}

void deploy_init(struct sim *sim)
{
	struct sim_deploy *deploy = &sim->deploy;
	const char *bucket = env_text("CELLD_SIM_BUCKET");
	bool s3 = strcmp(sim->config.ownership, "s3") == 0;
	if (!sim_has_bucket(sim)) {
		deploy->source = SOURCE_NONE;
	} else if (pointer_path() != NULL) {
		deploy->source = SOURCE_FILE;
	} else if (bucket != NULL && strcmp(bucket, "1") == 0) {
		if (!s3)
			sim_die(2, "celld-sim: CELLD_SIM_BUCKET=1 reads S3 buckets only");
		deploy->source = SOURCE_BUCKET;
	} else if (bucket == NULL && s3 && sim->config.endpoint[0] != '\0') {
		deploy->source = SOURCE_TRY_BUCKET;
	} else {
		serve_default(deploy, sim_now());
	}
}

static bool same(const struct sim_pointer *a, const struct sim_pointer *b)
{
	return strcmp(a->version, b->version) == 0 && strcmp(a->prefix, b->prefix) == 0;
}

/* The shape of the answer is known by its words only; they are put into a member "status". */
static void report(struct sim_deploy *deploy, int status, const char *word,
		   const struct sim_pointer *pointer, const char *error)
{
	if (!deploy->forced)
		return;
	cJSON *doc = cJSON_CreateObject();
	cJSON_AddStringToObject(doc, "status", word);
	if (strcmp(word, "adopted") == 0)
		cJSON_AddNumberToObject(doc, "generation", (double)deploy->generation);
	if (pointer != NULL) {
		cJSON_AddStringToObject(doc, "version", pointer->version);
		cJSON_AddStringToObject(doc, "prefix", pointer->prefix);
	}
	if (error != NULL)
		cJSON_AddStringToObject(doc, "error", error);
	(void)cJSON_PrintPreallocated(doc, deploy->reload_body, sizeof deploy->reload_body, 0);
	cJSON_Delete(doc);
	deploy->reload_status = status;
	deploy->reloads++;
	deploy->forced = false;
}

/* A version that failed is left alone until the pointer changes or a reload asks for it. */
static void consider(struct sim *sim, const struct sim_pointer *pointer, long long now)
{
	struct sim_deploy *deploy = &sim->deploy;
	if (same(pointer, &deploy->now)) {
		deploy->failed.version[0] = '\0';
		report(deploy, 200, "unchanged", NULL, NULL);
		return;
	}
	if (same(pointer, &deploy->failed) && !deploy->forced)
		return;
	if (sim->faults.adopt_fail) {
		deploy->failed = *pointer;
		sim_event("celld: deployment %s failed: scripted failure", pointer->version);
		report(deploy, 422, "failed", pointer, "scripted failure");
		return;
	}
	if (sim_swapping(sim, now) == 0)
		deploy->olds = 0;
	deploy->failed.version[0] = '\0';
	sim->publishes += (unsigned long long)sim_occupied(sim, now);
	sim->stops += (unsigned long long)sim_occupied(sim, now);
	serve(deploy, pointer, now);
	report(deploy, 200, "adopted", &deploy->now, NULL);
}

static void take_first(struct sim *sim, enum sim_fetch fetch, long long now)
{
	struct sim_deploy *deploy = &sim->deploy;
	bool attempt = deploy->source == SOURCE_TRY_BUCKET;
	if (fetch == FETCH_FAILED && attempt) {
		sim_event("celld-sim: no object store (%s), serving the default deployment",
			  deploy->problem);
		serve_default(deploy, now);
		return;
	}
	if (attempt)
		deploy->source = SOURCE_BUCKET;
	if (fetch == FETCH_FOUND) {
		serve(deploy, &deploy->seen, now);
		return;
	}
	if (fetch != FETCH_MISSING || sim->config.release < V(0, 5, 1))
		sim_die(1, "celld: loading the deployment: %s",
			fetch == FETCH_MISSING ? "no such key: deploy/current.json"
					       : deploy->problem);
	if (deploy->next_ms == 0)
		sim_event("celld: awaiting_initial_deployment");
	deploy->next_ms = now + (sim->set.poll_ms < WAIT_MS ? sim->set.poll_ms : WAIT_MS);
}

static void take(struct sim *sim, long long now)
{
	struct sim_deploy *deploy = &sim->deploy;
	enum sim_fetch fetch = deploy->fetch;
	deploy->fetch = FETCH_IDLE;
	if (!deploy->serving) {
		take_first(sim, fetch, now);
		return;
	}
	deploy->next_ms = now + sim->set.poll_ms;
	if (fetch == FETCH_FOUND) {
		consider(sim, &deploy->seen, now);
		return;
	}
	sim_event("celld: reading the deployment: %s, the old one stays", deploy->problem);
	report(deploy, 503, "unavailable", NULL, deploy->problem);
}

/* Whether it is time to look: at the start always, later from 0.4 and while not draining. */
static bool due(const struct sim *sim, long long now)
{
	const struct sim_deploy *deploy = &sim->deploy;
	if (deploy->source == SOURCE_NONE || deploy->source == SOURCE_DEFAULT ||
	    deploy->fetch != FETCH_IDLE || now < deploy->next_ms)
		return false;
	if (!deploy->serving)
		return true;
	return sim->phase == SIM_READY && sim->config.release >= V(0, 4, 0);
}

void deploy_tick(struct sim *sim, long long now)
{
	if (sim->deploy.fetch == FETCH_BUSY)
		pointer_poll(sim);
	if (due(sim, now))
		pointer_begin(sim);
	if (sim->deploy.fetch > FETCH_BUSY)
		take(sim, now);
}

bool deploy_reload(struct sim *sim, long long now)
{
	struct sim_deploy *deploy = &sim->deploy;
	if (!deploy->serving || sim->phase != SIM_READY)
		return false;
	deploy->forced = true;
	if (deploy->source == SOURCE_DEFAULT)
		consider(sim, &deploy->now, now);
	else if (deploy->fetch == FETCH_IDLE)
		pointer_begin(sim);
	if (deploy->fetch > FETCH_BUSY)
		take(sim, now);
	return true;
}

bool deploy_set(struct sim *sim, const char *version, long long now)
{
	struct sim_pointer pointer;
	char text[512], problem[128];
	if (!sim->deploy.serving || sim->config.release < V(0, 4, 0) || strlen(version) > 128)
		return false;
	default_pointer(version, &pointer);
	(void)snprintf(text, sizeof text, "{\"version\":\"%s\",\"prefix\":\"%s\"}", version,
		       pointer.prefix);
	if (!pointer_parse(text, &sim->deploy.seen, problem, sizeof problem))
		return false;
	consider(sim, &pointer, now);
	return true;
}

void deploy_done(struct sim *sim)
{
	if (sim->deploy.easy == NULL)
		return;
	curl_multi_remove_handle(sim->multi, sim->deploy.easy);
	curl_easy_cleanup(sim->deploy.easy);
	curl_slist_free_all(sim->deploy.headers);
}
