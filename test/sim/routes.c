/*
 * What each path answers. 0.1 has one listener for everything; from 0.2 the public one keeps only
 * the health path for itself and gives the rest to the Worker, so that a wrong health path may well
 * answer 200. The status of an unsigned call to a peer path is not known: 403.
 */
#include "test/sim/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JSON "application/json"

static void say(struct answer *out, int status, const char *json)
{
	out->status = status;
	out->body = strdup(json);
	out->type = JSON;
}

static bool starts(const char *path, const char *with)
{
	return strncmp(path, with, strlen(with)) == 0;
}

const char *routes_health_path(int release)
{
	return release < V(0, 4, 0) ? "/__celld/health" : "/.well-known/celld/health";
}

bool routes_healthy(const struct sim *sim, long long now)
{
	if (sim->phase != SIM_READY || sim->faults.unready)
		return false;
	/* The fleet gate: it opens once, after a time that a test chooses. */
	return sim->config.release < V(0, 4, 0) || now >= sim->ready_ms + sim->set.gate_ms;
}

static void say_health(const struct sim *sim, struct answer *out)
{
	bool good = routes_healthy(sim, sim_now());
	say(out, good ? 200 : 503, good ? "{\"ok\":true}" : "{\"ok\":false}");
}

static void say_draining(struct answer *out)
{
	say(out, 503, "{\"ok\":false,\"draining\":true}");
	out->extra = true;
}

static void say_worker(const struct sim *sim, struct answer *out)
{
	if (!sim->deploy.serving || sim->worker_status == 0) {
		say(out, 404, "{\"error\":\"not_found\"}");
		return;
	}
	say(out, sim->worker_status, sim->worker_body);
	out->type = "text/plain; charset=utf-8";
}

/* Kinds of a wrong /state that change the document; false when the kind is another. */
static bool spoil(cJSON *doc, const char *kind)
{
	static const char name[] = "occupied";
	if (strcmp(kind, "string") == 0)
		cJSON_ReplaceItemInObjectCaseSensitive(doc, name, cJSON_CreateString("many"));
	else if (strcmp(kind, "null") == 0)
		cJSON_ReplaceItemInObjectCaseSensitive(doc, name, cJSON_CreateNull());
	else if (strcmp(kind, "fraction") == 0)
		cJSON_ReplaceItemInObjectCaseSensitive(doc, name, cJSON_CreateNumber(2.75));
	else if (strcmp(kind, "negative") == 0)
		cJSON_ReplaceItemInObjectCaseSensitive(doc, name, cJSON_CreateNumber(-1));
	else if (strcmp(kind, "missing") == 0)
		cJSON_DeleteItemFromObjectCaseSensitive(doc, "restoring");
	else if (strcmp(kind, "dup") == 0)
		cJSON_AddNumberToObject(doc, "restoring", 3);
	else
		return false;
	return true;
}

static void say_garbage(cJSON *doc, const char *kind, struct answer *out)
{
	say(out, 200, "");
	if (strcmp(kind, "empty") == 0)
		return;
	free(out->body);
	out->body = NULL;
	if (strcmp(kind, "html") == 0) {
		out->body = strdup("<!doctype html><title>Bad gateway</title>\n");
		out->type = "text/html";
	} else if (strcmp(kind, "array") == 0) {
		out->body = strdup("[1,2,3]");
	} else if (strcmp(kind, "utf8") == 0) {
		out->body = strdup("{\"ownership\":\"s3\xff\xfe\",\"restoring\":0}");
	} else if (strcmp(kind, "stopped") == 0) {
		out->body = strdup("{\"error\":\"actor_stopped\"}");
	} else if (strcmp(kind, "500") == 0 || strcmp(kind, "503") == 0) {
		out->status = kind[2] == '0' ? 500 : 503;
		out->body = strdup("{\"error\":\"scripted\"}");
	} else if (spoil(doc, kind)) {
		out->body = cJSON_PrintUnformatted(doc);
	} else {
		out->body = cJSON_PrintUnformatted(doc);
		out->body[strlen(out->body) / 2] = '\0';
	}
}

static void say_state(const struct sim *sim, struct answer *out)
{
	cJSON *doc = sim_state(sim, sim_now());
	if (sim->faults.garbage[0] != '\0') {
		say_garbage(doc, sim->faults.garbage, out);
	} else {
		out->status = 200;
		out->body = cJSON_PrintUnformatted(doc);
		out->type = JSON;
	}
	cJSON_Delete(doc);
}

static bool is_resident(const struct sim *sim, const char *scope)
{
	long long count = sim_occupied(sim, sim_now());
	for (long long i = 0; i < count; i++) {
		char name[40];
		sim_scope(i, name);
		if (strcmp(name, scope) == 0)
			return true;
	}
	return false;
}

static void say_evict(const struct sim *sim, const char *scope, struct answer *out)
{
	const char *colon = strchr(scope, ':');
	bool formed = colon != NULL && colon != scope && colon[1] != '\0';
	if (sim->config.release >= V(0, 3, 0) && !formed)
		say(out, 400, "{\"error\":\"malformed scope\"}");
	else if (sim->config.release >= V(0, 5, 1) && !is_resident(sim, scope))
		say(out, 409,
		    "{\"ok\":false,\"error\":{\"kind\":\"refused\",\"reason\":\"not resident\"}}");
	else
		say(out, 200, "{\"ok\":true}");
}

static void say_cell(const char *scope, struct answer *out)
{
	cJSON *doc = cJSON_CreateObject();
	cJSON_AddStringToObject(doc, "route", "local");
	cJSON_AddStringToObject(doc, "cell", scope);
	out->status = 200;
	out->body = cJSON_PrintUnformatted(doc);
	out->type = JSON;
	cJSON_Delete(doc);
}

static void say_method(struct answer *out)
{
	say(out, 405, "{\"error\":\"method_not_allowed\"}");
}

/* Asynchronous: the answer says that the drain has been asked for. */
static void say_shutdown(struct sim *sim, const char *method, const char *handoff,
			 struct answer *out)
{
	if (sim->config.release >= V(0, 2, 0) && strcmp(method, "POST") != 0) {
		say_method(out);
		return;
	}
	sim->preserve = handoff != NULL && strcmp(handoff, "preserve") == 0;
	sim->stop = true;
	say(out, 200, "{\"ok\":true}");
}

static void say_reload(struct sim *sim, const char *method, struct answer *out)
{
	if (strcmp(method, "POST") != 0)
		say_method(out);
	else if (!deploy_reload(sim, sim_now()))
		say(out, 503, "{\"status\":\"unavailable\"}");
	else
		out->wait_reload = true;
}

static void say_rebalance(struct sim *sim, const char *method, bool pause, struct answer *out)
{
	if (strcmp(method, "POST") != 0) {
		say_method(out);
	} else if (!sim_has_bucket(sim)) {
		say(out, 409, "{\"error\":\"no lease\"}");
	} else {
		sim->paused = pause;
		say(out, 200,
		    pause ? "{\"rebalance_paused\":true}" : "{\"rebalance_paused\":false}");
	}
}

/* Paths of other nodes: signed, so nobody else gets in. */
static bool is_peer(int release, const char *path)
{
	if (release >= V(0, 4, 0))
		return starts(path, "/peer/") || starts(path, "/runtime/");
	return starts(path, "/__do") || starts(path, "/__rpc") || starts(path, "/__ws") ||
	       starts(path, "/__abort") || strcmp(path, "/__celld/probe") == 0 ||
	       (release >= V(0, 3, 0) && (starts(path, "/__log/") || starts(path, "/__d1/")));
}

/* Operator paths that all releases have; false when the path is another. */
static bool say_operator(struct sim *sim, const char *method, const char *path, const char *handoff,
			 struct answer *out)
{
	if (strcmp(path, "/state") == 0)
		say_state(sim, out);
	else if (strcmp(path, "/shutdown") == 0)
		say_shutdown(sim, method, handoff, out);
	else if (starts(path, "/evict/"))
		say_evict(sim, path + 7, out);
	else if (starts(path, "/cell/"))
		say_cell(path + 6, out);
	else if (starts(path, "/do/"))
		say_worker(sim, out);
	else if (is_peer(sim->config.release, path))
		say(out, 403, "{\"error\":\"unsigned\"}");
	else
		return false;
	return true;
}

static void say_internal(struct sim *sim, const char *method, const char *path, const char *handoff,
			 struct answer *out)
{
	int release = sim->config.release;
	if (sim->phase == SIM_DRAINING && release < V(0, 4, 0) && strcmp(path, "/state") != 0 &&
	    strcmp(path, "/__celld/probe") != 0)
		say_draining(out);
	else if (release >= V(0, 4, 0) && strcmp(path, "/reload") == 0)
		say_reload(sim, method, out);
	else if (release >= V(0, 4, 1) && strcmp(path, "/rebalance/pause") == 0)
		say_rebalance(sim, method, true, out);
	else if (release >= V(0, 4, 1) && strcmp(path, "/rebalance/resume") == 0)
		say_rebalance(sim, method, false, out);
	else if (!say_operator(sim, method, path, handoff, out))
		say(out, 404, "{\"error\":\"not_found\"}");
}

static void say_public(struct sim *sim, const char *method, const char *path, const char *handoff,
		       struct answer *out)
{
	if (strcmp(path, routes_health_path(sim->config.release)) == 0)
		say_health(sim, out);
	else if (sim->config.release < V(0, 2, 0) && say_operator(sim, method, path, handoff, out))
		return;
	else if (sim->phase == SIM_DRAINING)
		say_draining(out);
	else
		say_worker(sim, out);
}

void routes_answer(struct sim *sim, enum sim_listener listener, const char *method,
		   const char *path, const char *handoff, struct answer *out)
{
	memset(out, 0, sizeof *out);
	if (listener == SIM_PUBLIC)
		say_public(sim, method, path, handoff, out);
	else
		say_internal(sim, method, path, handoff, out);
}
