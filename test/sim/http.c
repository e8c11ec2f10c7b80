/*
 * Both celld listeners on libmicrohttpd, driven from outside: a listener that hangs is one that is
 * not run. Requests that shall wait (slow, silent, reload) are suspended and kept in a list.
 */
#include "test/sim/sim.h"

#include <stdlib.h>
#include <string.h>

/* A silent connection is dropped after this time, so that probes of a long test do not use up
 * descriptors. */
#define SILENT_MS 60000

enum wait { WAIT_NONE, WAIT_SLOW, WAIT_SILENT, WAIT_RELOAD };

struct sim_request {
	struct sim_request *next;
	struct MHD_Connection *connection;
	enum sim_listener listener;
	enum wait wait;
	bool slowed, dropped;
	long long until; /* of WAIT_SLOW and WAIT_SILENT */
	unsigned reloads;
};

struct port {
	struct sim *sim;
	enum sim_listener listener;
};

static enum MHD_Result suspend(struct sim *sim, struct sim_request *request, enum wait wait,
			       long long until)
{
	request->wait = wait;
	request->until = until;
	request->next = sim->waiting;
	sim->waiting = request;
	MHD_suspend_connection(request->connection);
	return MHD_YES;
}

/* Every answer tells what the node saw and who it is: what stands between may have changed the path. */
static enum MHD_Result send_answer(const struct sim *sim, struct MHD_Connection *connection,
				   const char *path, struct answer *answer)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(
		strlen(answer->body), answer->body, MHD_RESPMEM_MUST_FREE);
	if (response == NULL) {
		free(answer->body);
		return MHD_NO;
	}
	MHD_add_response_header(response, "Content-Type", answer->type);
	MHD_add_response_header(response, "Celld-Sim-Path", path);
	MHD_add_response_header(response, "Celld-Sim-Node", sim->config.node);
	if (answer->extra) {
		MHD_add_response_header(response, "Retry-After", "1");
		MHD_add_response_header(response, "Connection", "close");
	}
	enum MHD_Result result = MHD_queue_response(connection, (unsigned)answer->status, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result respond(struct sim *sim, struct sim_request *request, const char *method,
			       const char *path)
{
	struct answer answer = { 0 };
	if (request->wait == WAIT_RELOAD) {
		answer.status = sim->deploy.reload_status;
		answer.body = strdup(sim->deploy.reload_body);
		answer.type = "application/json";
		return send_answer(sim, request->connection, path, &answer);
	}
	const char *key = websocket_key(request->connection);
	if (key != NULL && request->listener == SIM_PUBLIC && sim->phase == SIM_READY &&
	    sim->deploy.serving)
		return websocket_accept(request->connection, key);
	unsigned reloads = sim->deploy.reloads;
	routes_answer(
		sim, request->listener, method, path,
		MHD_lookup_connection_value(request->connection, MHD_GET_ARGUMENT_KIND, "handoff"),
		&answer);
	if (!answer.wait_reload)
		return send_answer(sim, request->connection, path, &answer);
	request->reloads = reloads;
	return suspend(sim, request, WAIT_RELOAD, 0);
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *path,
				  const char *method, const char *version, const char *data,
				  size_t *size, void **state)
{
	const struct port *port = arg;
	struct sim *sim = port->sim;
	struct sim_request *request = *state;
	(void)version;
	(void)data;
	if (request == NULL) {
		request = calloc(1, sizeof *request);
		if (request == NULL)
			return MHD_NO;
		request->connection = connection;
		request->listener = port->listener;
		*state = request;
		return MHD_YES;
	}
	if (*size > 0) {
		*size = 0;
		return MHD_YES;
	}
	if (request->dropped)
		return MHD_NO;
	if (sim->faults.silent & SIM_MASK(port->listener))
		return suspend(sim, request, WAIT_SILENT, sim_now() + SILENT_MS);
	if (!request->slowed && sim->faults.slow > 0 &&
	    (sim->faults.slow_on & SIM_MASK(port->listener))) {
		request->slowed = true;
		return suspend(sim, request, WAIT_SLOW, sim_now() + sim->faults.slow);
	}
	return respond(sim, request, method, path);
}

static void on_end(void *arg, struct MHD_Connection *connection, void **state,
		   enum MHD_RequestTerminationCode code)
{
	(void)arg;
	(void)connection;
	(void)code;
	free(*state);
	*state = NULL;
}

bool http_start(struct sim *sim, enum sim_listener listener)
{
	static struct port ports[SIM_LISTENERS];
	ports[listener] = (struct port){ sim, listener };
	sim->daemon[listener] =
		MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_ALLOW_UPGRADE, 0,
				 NULL, NULL, on_request, &ports[listener], MHD_OPTION_LISTEN_SOCKET,
				 sim->fd[listener], MHD_OPTION_NOTIFY_COMPLETED, on_end, NULL,
				 MHD_OPTION_CONNECTION_LIMIT, 4000U, MHD_OPTION_END);
	return sim->daemon[listener] != NULL;
}

static bool over(const struct sim *sim, struct sim_request *request, long long now)
{
	switch (request->wait) {
	case WAIT_SLOW:
		return now >= request->until;
	case WAIT_SILENT:
		request->dropped = now >= request->until;
		return request->dropped || !(sim->faults.silent & SIM_MASK(request->listener));
	case WAIT_RELOAD:
		return sim->deploy.reloads != request->reloads;
	case WAIT_NONE:
		break;
	}
	return true;
}

long long http_tick(struct sim *sim, long long now)
{
	long long soonest = -1;
	for (struct sim_request **at = &sim->waiting; *at != NULL;) {
		struct sim_request *request = *at;
		if (over(sim, request, now)) {
			*at = request->next;
			MHD_resume_connection(request->connection);
			/* Driven from outside, the server does not wake anybody: run it at once. */
			soonest = 0;
			continue;
		}
		long long left = request->until - now;
		if (request->wait != WAIT_RELOAD && (soonest < 0 || left < soonest))
			soonest = left;
		at = &request->next;
	}
	return soonest;
}

void http_stop(struct sim *sim)
{
	websocket_stop();
	while (sim->waiting != NULL) {
		struct sim_request *request = sim->waiting;
		sim->waiting = request->next;
		request->dropped = true;
		MHD_resume_connection(request->connection);
	}
	for (int i = 0; i < SIM_LISTENERS; i++) {
		if (sim->daemon[i] == NULL)
			continue;
		MHD_run(sim->daemon[i]);
		MHD_stop_daemon(sim->daemon[i]);
		sim->daemon[i] = NULL;
	}
}
