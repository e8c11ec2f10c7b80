#include "controller/detail.h"

#include <stdio.h>
#include <string.h>

#include "common/buf.h"
#include "common/http.h"
#include "common/kube/client.h"
#include "common/log.h"

enum {
	STARTING_MS = 20000, /* a pod that just starts is not asked about */
	ASK_MS = 5000,
};

static const struct kube_kind nodes = { "", "v1", "nodes", "Node", false };

bool detail_node_ready(const struct json *node)
{
	const struct json *all = json_path(node, "status", "conditions", NULL);

	return json_is(json_find(all, "type", "Ready"), "status", "True");
}

static const char *moment_of(const struct json *event)
{
	const char *last = json_get_str(event, "lastTimestamp");
	const char *micro = json_get_str(event, "eventTime");

	if (last)
		return last;
	return micro ? micro : "";
}

const char *detail_failed_create(const struct json *events)
{
	const char *found = NULL, *newest = "";

	for (const struct json *e = json_first(json_get(events, "items")); e; e = json_next(e)) {
		const char *reason = json_get_str(e, "reason"), *at = moment_of(e);

		if (!reason || !str_eq(reason, "FailedCreate") || strcmp(at, newest) < 0)
			continue;
		newest = at;
		found = json_get_str(e, "message");
	}
	return found;
}

/* Nodes that were asked about in this turn. */
struct asked {
	const char *name; /* of the last one */
	bool lost;
};

static bool node_is_lost(struct turn *t, const char *name, struct asked *last)
{
	cleanup_json struct json *node = NULL;
	struct err e = ERR_INIT;
	int r;

	if (last->name && str_eq(last->name, name))
		return last->lost;
	r = kube_get(t->o->client, &nodes, NULL, name, ASK_MS, &node, &e);
	if (r && r != -ERR_NOT_FOUND)
		log_debug("cannot ask about a node", "node", name, "error", e.message, NULL);
	last->name = name;
	last->lost = r == -ERR_NOT_FOUND || (!r && !detail_node_ready(node));
	return last->lost;
}

static void find_lost_nodes(struct turn *t)
{
	struct asked last = { .name = NULL };

	for (size_t i = 0; i < t->n_pods; i++) {
		struct fleet_pod *p = &t->pods[i];
		struct rollout_pod *seen;

		if (p->ordinal < 0 || p->ordinal >= ROLLOUT_PODS || !p->node[0])
			continue;
		seen = &t->obs->pods[p->ordinal];
		if ((p->ready && !p->terminating) ||
		    (seen->fault != ROLLOUT_FAULT_NONE && seen->fault != ROLLOUT_FAULT_ENDLESS))
			continue;
		if (!node_is_lost(t, p->node, &last))
			continue;
		seen->fault = ROLLOUT_FAULT_NODE_LOST;
		(void)snprintf(p->fault_text, sizeof(p->fault_text), "node %.200s is not Ready",
			       p->node);
		if (p->ordinal == t->decision.ordinal) {
			t->decision.reason = ROLLOUT_STUCK;
			t->decision.fault = ROLLOUT_FAULT_NODE_LOST;
		}
	}
}

static char *find_refusal(struct turn *t)
{
	cleanup_json struct json *events = NULL;
	struct buf path = BUF_INIT(1024);
	struct err e = ERR_INIT;
	const char *why;
	int r;

	buf_puts(&path, "/api/v1/namespaces/");
	http_escape(t->app->namespace, &path);
	buf_puts(&path, "/events?limit=500&fieldSelector=");
	http_escape("reason=FailedCreate,involvedObject.uid=", &path);
	http_escape(t->facts.uid, &path);
	r = kube_raw_get(t->o->client, buf_str(&path), ASK_MS, &events, &e);
	buf_done(&path);
	if (r) {
		log_debug("cannot read events", "app", t->key, "error", e.message, NULL);
		return NULL;
	}
	why = detail_failed_create(events);
	return why ? xstrdup(why) : NULL;
}

void detail_find(struct turn *t, char **ret_refused)
{
	const struct rollout_decision *d = &t->decision;

	*ret_refused = NULL;
	if (d->reason == ROLLOUT_STUCK && d->fault == ROLLOUT_FAULT_REFUSED)
		*ret_refused = find_refusal(t);
	if (t->obs->quiet < STARTING_MS)
		return;
	if (d->reason == ROLLOUT_NOT_READY || d->reason == ROLLOUT_TERMINATING ||
	    d->reason == ROLLOUT_PODS_LEFT ||
	    (d->reason == ROLLOUT_STUCK && d->fault == ROLLOUT_FAULT_ENDLESS))
		find_lost_nodes(t);
}
