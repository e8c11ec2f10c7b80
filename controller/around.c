#include "controller/around.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/kube/client.h"
#include "common/log.h"
#include "controller/compare.h"
#include "controller/desired_route.h"
#include "controller/discovery.h"
#include "controller/hosts.h"
#include "controller/relist.h"
#include "controller/route_status.h"
#include "controller/turn.h"

/*
 * What the server refused, or could not do, is tried again after so long; whatever changes brings the app back
 * before.
 */
enum { REFUSED_MS = 60000, FAILED_MS = 5000 };

struct around {
	struct around_opts o;
	struct discovery *discovery;
	struct hosts *hosts;
};

/* --- events --------------------------------------------------------------------------------------- */

static void add_all(struct around *a)
{
	struct strlist keys = STRLIST_INIT;

	cache_apps(a->o.cache, &keys);
	for (size_t i = 0; i < keys.n; i++)
		queue_add(a->o.queue, keys.v[i]);
	strlist_done(&keys);
}

static void on_event(void *ctx, size_t kind, enum kube_watch_type type, const struct json *object)
{
	struct around *a = ctx;
	char key[512];

	if (type == KUBE_DELETED)
		cache_remove(a->o.cache, (enum cache_kind)kind, object);
	else if (!cache_put(a->o.cache, (enum cache_kind)kind, object))
		return; /* the echo of an own write */
	if (cache_key_of((enum cache_kind)kind, object, key, sizeof(key)))
		queue_add(a->o.queue, key);
	else if (type == KUBE_DELETED && !json_get(object, "spec"))
		add_all(a); /* a deletion that was missed does not say whose it was */
}

static void on_relist(void *ctx, size_t kind, const struct kube_relist *r)
{
	const struct around *a = ctx;

	relist_step(a->o.cache, a->o.queue, (enum cache_kind)kind, r);
}

void around_app(struct around *a, enum kube_watch_type type, const struct json *app)
{
	struct strlist touched = STRLIST_INIT;

	if (!a)
		return;
	if (type == KUBE_DELETED)
		hosts_remove(a->hosts, app, &touched);
	else
		hosts_put(a->hosts, app, &touched);
	for (size_t i = 0; i < touched.n; i++)
		queue_add(a->o.queue, touched.v[i]);
	strlist_done(&touched);
}

static void on_changed(void *ctx)
{
	struct around *a = ctx;

	a->o.changed(a->o.ctx);
}

struct around *around_new(const struct around_opts *o)
{
	struct around *a = xcalloc(1, sizeof(*a));
	struct discovery_opts d = { .config = o->config,
				    .client = o->client,
				    .cache = o->cache,
				    .namespaces = o->namespaces,
				    .interval_ms = o->discovery_ms,
				    .look_for_retry = o->flags->httproute_retries,
				    .event = on_event,
				    .relist = on_relist,
				    .changed = on_changed,
				    .ctx = a };

	a->o = *o;
	a->hosts = hosts_new();
	a->discovery = discovery_new(&d);
	return a;
}

void around_run(struct around *a)
{
	discovery_run(a->discovery);
}

void around_free(struct around *a)
{
	if (!a)
		return;
	discovery_free(a->discovery);
	hosts_free(a->hosts);
	free(a);
}

bool around_settled(struct around *a)
{
	return discovery_settled(a->discovery);
}

/* --- what is there -------------------------------------------------------------------------------- */

static void forget(struct around_view *v)
{
	strlist_done(&v->hostnames);
	free(take(v->lost));
	free(take(v->winner));
	json_free(take(v->scaled_object));
}

void around_view_done(struct around_view *v)
{
	forget(v);
	free(take(v->url));
}

static void observe_scaling(struct turn *t)
{
	struct around_view *v = &t->around;
	cleanup_json struct json *all = cache_list(t->o->cache, CACHE_HPA, t->app->namespace);
	struct scaling_input in = { .name = t->name, .autoscalers = all };
	struct json *live = cache_get(t->o->cache, CACHE_SCALED_OBJECT, t->app->namespace, t->name);

	if (live && children_is_ours(t, live))
		v->scaled_object = live;
	else
		json_free(live);
	in.scaled_object = v->scaled_object;
	scaling_read(&in, &v->scaling);
}

void around_observe(struct turn *t)
{
	struct around *a = t->o->around;
	struct around_view *v = &t->around;

	forget(v); /* what was said of this turn stays */
	(void)hosts_of(a->hosts, t->app->doc, &v->hostnames, &v->lost, &v->winner);
	t->input.flags = a->o.flags;
	t->input.retry_served = discovery_retry_served(a->discovery);
	t->input.hostnames = &v->hostnames;
	observe_scaling(t);
}

/* --- conditions ----------------------------------------------------------------------------------- */

static void say(struct status_condition *c, const char *type, const char *status,
		const char *reason, const char *message)
{
	c->type = type;
	c->status = status;
	c->reason = reason;
	(void)snprintf(c->message, sizeof(c->message), "%s", message);
}

/* Somebody was faster, or we may not write (any more): the whole turn begins anew. */
static bool begins_anew(int r)
{
	return r == -ERR_CONFLICT || r == -ERR_CANCELED;
}

static bool refused(int r)
{
	return r == -ERR_INVALID || r == -ERR_FORBIDDEN || r == -ERR_EXISTS || r == -ERR_NOT_FOUND;
}

/* The fleet goes on without what cannot be made around it. */
static int trouble(struct turn *t, struct status_condition *c, const char *type, const char *reason,
		   int r, const struct err *why, struct err *e)
{
	if (begins_anew(r)) {
		*e = *why;
		return r;
	}
	say(c, type, "False", reason, why->message);
	queue_add_after(t->o->queue, t->key, refused(r) ? REFUSED_MS : FAILED_MS);
	return 0;
}

/* --- one optional object -------------------------------------------------------------------------- */

/* Deletes what is not wanted (any more), where we can see it. */
static int drop(struct turn *t, enum cache_kind kind, const char *name, struct err *e)
{
	struct err why = ERR_INIT;
	char text[2];
	int r;

	if (discovery_state(t->o->around->discovery, kind, text, sizeof(text)) != DISCOVERY_READY)
		return 0;
	r = children_drop(t, kind, name, &why);
	if (!r)
		return 0;
	if (begins_anew(r)) {
		*e = why;
		return r;
	}
	log_warn("not deleted", "app", t->key, "why", why.message, NULL);
	queue_add_after(t->o->queue, t->key, refused(r) ? REFUSED_MS : FAILED_MS);
	return 0;
}

/* How a condition calls what goes wrong. */
struct names {
	const char *type, *absent, *error;
	const char *absent_text;
};

/*
 * False: the kind is not there or cannot be read; the condition says so. What is unreadable is not written either:
 * nobody could tell whose object it is.
 */
static bool available(struct turn *t, enum cache_kind kind, const struct names *n,
		      struct status_condition *c)
{
	char why[256];

	switch (discovery_state(t->o->around->discovery, kind, why, sizeof(why))) {
	case DISCOVERY_READY:
		return true;
	case DISCOVERY_ABSENT:
		say(c, n->type, "False", n->absent, n->absent_text);
		return false;
	case DISCOVERY_UNREADABLE:
		break;
	}
	{
		cleanup(freep) char *text =
			xasprintf("%s cannot be read: %s", cache_kinds[kind].plural, why);

		say(c, n->type, "False", n->error, text);
	}
	return false;
}

/* --- the route ------------------------------------------------------------------------------------ */

static enum cache_kind kind_of_mode(enum route_mode mode)
{
	switch (mode) {
	case ROUTE_HTTPROUTE:
		return CACHE_HTTPROUTE;
	case ROUTE_INGRESS:
		return CACHE_INGRESS;
	case ROUTE_VIRTUALSERVICE:
		return CACHE_VIRTUALSERVICE;
	case ROUTE_NONE:
		break;
	}
	return CACHE_KINDS;
}

static int drop_other_routes(struct turn *t, enum cache_kind but, struct err *e)
{
	static const enum cache_kind kinds[] = { CACHE_HTTPROUTE, CACHE_INGRESS,
						 CACHE_VIRTUALSERVICE };
	int r = 0;

	for (size_t i = 0; i < array_len(kinds) && !r; i++) {
		if (kinds[i] != but)
			r = drop(t, kinds[i], t->name, e);
	}
	return r;
}

/* Of another namespace's app no more is said than that it is there. */
static void say_lost(struct turn *t)
{
	const struct around_view *v = &t->around;
	size_t n = strlen(t->app->namespace);
	bool own = str_starts(v->winner, t->app->namespace) && v->winner[n] == '/';
	cleanup(freep) char *text =
		own ? xasprintf("%s: WorkerApp %s, which is older, has it at the same path",
				v->lost, v->winner + n + 1)
		    : xasprintf("%s: an older WorkerApp of another namespace has it", v->lost);

	say(&t->around.ingress, "IngressReady", "False", "HostnameConflict", text);
}

static void say_httproute(struct turn *t, const struct json *live)
{
	struct status_condition *c = &t->around.ingress;
	char text[512];

	switch (route_status_of(live, text, sizeof(text))) {
	case ROUTE_OBSERVED:
		if (t->input.flags->httproute_retries && !t->input.retry_served)
			say(c, "IngressReady", "True", "RouteReconciledRetryDropped",
			    "routed without retries: the installed HTTPRoute has none (they are in "
			    "Gateway API's experimental channel)");
		else
			say(c, "IngressReady", "True", "RouteObserved", "");
		break;
	case ROUTE_UNSEEN:
		say(c, "IngressReady", "Unknown", "RouteError", text);
		break;
	case ROUTE_REFUSED:
		say(c, "IngressReady", "False", "RouteError", text);
		break;
	}
}

static void say_routed(struct turn *t, enum route_mode mode, const struct json *live)
{
	struct around_view *v = &t->around;

	switch (mode) {
	case ROUTE_HTTPROUTE:
		say_httproute(t, live);
		break;
	case ROUTE_INGRESS:
		say(&v->ingress, "IngressReady", "True", "IngressReconciled", "");
		break;
	case ROUTE_VIRTUALSERVICE:
		say(&v->ingress, "IngressReady", "True", "VirtualServiceReconciled", "");
		break;
	case ROUTE_NONE:
		return;
	}
	if (str_eq(v->ingress.status, "True"))
		v->url = route_url(&t->input);
	if (v->lost)
		say_lost(t);
}

static int make_route(struct turn *t, enum route_mode mode, struct err *e)
{
	static const struct names gateway = {
		"IngressReady", "GatewayAPIUnavailable", "RouteError",
		"the cluster has no HTTPRoute of Gateway API v1; hostnames are not routed"
	};
	static const struct names istio = {
		"IngressReady", "IstioUnavailable", "RouteError",
		"the cluster has no VirtualService of Istio v1; hostnames are not routed"
	};
	static const struct names ingress = { "IngressReady", "RouteError", "RouteError",
					      "the cluster has no Ingress v1" };
	struct status_condition *c = &t->around.ingress;
	const struct names *n = mode == ROUTE_HTTPROUTE ? &gateway
				: mode == ROUTE_INGRESS ? &ingress
							: &istio;
	cleanup_json struct json *live = NULL;
	struct err why = ERR_INIT;
	struct json *want;
	int r;

	if (!available(t, kind_of_mode(mode), n, c))
		return 0;
	want = desired_route(&t->input);
	if (!want) {
		if (route_refusal(&t->input))
			say(c, n->type, "False", n->error, route_refusal(&t->input));
		else
			say_lost(t); /* no hostname is left */
		return drop(t, kind_of_mode(mode), t->name, e);
	}
	r = children_put(t, kind_of_mode(mode), want, &live, &why);
	if (r)
		return trouble(t, c, n->type, n->error, r, &why, e);
	say_routed(t, mode, live);
	return 0;
}

/* The new one first, so that a switch of modes leaves no gap. */
static int apply_route(struct turn *t, struct err *e)
{
	enum route_mode mode = route_mode_of(&t->input);
	int r = mode == ROUTE_NONE ? 0 : make_route(t, mode, e);

	return r ? r : drop_other_routes(t, kind_of_mode(mode), e);
}

/* --- the mesh ------------------------------------------------------------------------------------- */

static int apply_mesh(struct turn *t, struct err *e)
{
	static const struct names n = { "MeshPolicyReady", "IstioUnavailable", "PolicyError",
					"the cluster has no AuthorizationPolicy of Istio v1; "
					"NetworkPolicy alone guards the "
					"internal port" };
	struct status_condition *c = &t->around.mesh;
	cleanup(freep) char *name = desired_internal_name(t->app);
	struct json *want;
	struct err why = ERR_INIT;
	int r;

	if (!available(t, CACHE_AUTHORIZATION_POLICY, &n, c))
		return 0;
	want = desired_authorization_policy(&t->input);
	if (!want)
		return drop(t, CACHE_AUTHORIZATION_POLICY, name, e);
	r = children_put(t, CACHE_AUTHORIZATION_POLICY, want, NULL, &why);
	if (r)
		return trouble(t, c, n.type, n.error, r, &why, e);
	say(c, n.type, "True", "PolicyReconciled", "");
	return 0;
}

/* --- the autoscaler ------------------------------------------------------------------------------- */

static const char autoscaling_type[] = "AutoscalingReady";

/* What KEDA itself says of the ScaledObject. */
static void say_scaled(struct turn *t, const struct json *live, bool pause)
{
	const struct json *all = json_path(live, "status", "conditions", NULL);
	struct status_condition *to = &t->around.autoscaling;

	const struct json *c = json_find(all, "type", "Ready");
	const char *message = json_get_str(c, "message");

	if (json_is(c, "status", "False")) {
		say(to, autoscaling_type, "False", "ScaledObjectError",
		    message ? message : "KEDA says that it is not Ready");
		return;
	}
	if (pause)
		say(to, autoscaling_type, "True", "ScaledObjectReconciled",
		    "paused until the fleet is Ready");
	else if (t->around.scaling.paused && t->around.scaled_object &&
		 !compare_owns(t->around.scaled_object, DESIRED_MANAGER, ANNOTATION_KEDA_PAUSED))
		say(to, autoscaling_type, "True", "ScaledObjectReconciled",
		    "paused by its own annotation " ANNOTATION_KEDA_PAUSED);
	else
		say(to, autoscaling_type, "True", "ScaledObjectReconciled", "");
}

static int apply_scaling(struct turn *t, struct err *e)
{
	static const struct names n = {
		autoscaling_type, "KEDAUnavailable", "ScaledObjectError",
		"the cluster has no ScaledObject of KEDA; the number of pods stays"
	};
	static const struct names others = { autoscaling_type, "ScaledObjectError",
					     "ScaledObjectError",
					     "the cluster has no HorizontalPodAutoscaler v2" };
	struct around_view *v = &t->around;
	bool pause = scaling_must_pause(t->obs, &t->decision);
	cleanup_json struct json *live = NULL;
	struct err why = ERR_INIT;
	int r;

	if (!t->app->autoscaling.enabled) {
		r = drop(t, CACHE_SCALED_OBJECT, t->name, e);
		if (r)
			return r;
	} else if (available(t, CACHE_SCALED_OBJECT, &n, &v->autoscaling)) {
		r = children_put(t, CACHE_SCALED_OBJECT, desired_scaled_object(&t->input, pause),
				 &live, &why);
		if (r)
			return trouble(t, &v->autoscaling, n.type, n.error, r, &why, e);
		say_scaled(t, live, pause);
		/* where they cannot be read, a foreign one would not be seen */
		if (str_eq(v->autoscaling.status, "True"))
			(void)available(t, CACHE_HPA, &others, &v->autoscaling);
	}
	if (v->scaling.foreign[0]) {
		cleanup(freep) char *text = xasprintf(
			"HorizontalPodAutoscaler %s scales the StatefulSet too; delete it",
			v->scaling.foreign);

		say(&v->autoscaling, autoscaling_type, "False", "ForeignAutoscaler", text);
	}
	return 0;
}

/* For a spec that is not acted on: our own pause alone, and only to lift it. */
static int lift_pause(struct turn *t, struct err *e)
{
	const struct json *live = t->around.scaled_object;
	struct err why = ERR_INIT;
	struct json *body;
	int r;

	if (!live || scaling_must_pause(t->obs, &t->decision) ||
	    !compare_owns(live, DESIRED_MANAGER, ANNOTATION_KEDA_PAUSED))
		return 0;
	body = compare_owned(live, DESIRED_MANAGER);
	json_del(json_get_mutable(json_get_mutable(body, "metadata"), "annotations"),
		 ANNOTATION_KEDA_PAUSED);
	r = children_put(t, CACHE_SCALED_OBJECT, body, NULL, &why);
	if (!r)
		say(&t->around.autoscaling, autoscaling_type, "True", "ScaledObjectReconciled", "");
	if (!begins_anew(r))
		return 0;
	*e = why;
	return r;
}

/* What stays as it is keeps what was said of it. */
static void keep_said(struct turn *t)
{
	struct around_view *v = &t->around;
	const struct json *all = json_get(t->app->status, "conditions");
	const char *url = json_get_str(t->app->status, "url");
	struct {
		const char *type;
		struct status_condition *to;
	} kept[] = { { "IngressReady", &v->ingress },
		     { "MeshPolicyReady", &v->mesh },
		     { autoscaling_type, &v->autoscaling } };

	if (url && !v->url)
		v->url = xstrdup(url);
	for (size_t i = 0; i < array_len(kept); i++) {
		const struct json *c = json_find(all, "type", kept[i].type);
		const char *status = json_get_str(c, "status"), *reason = json_get_str(c, "reason");
		const char *message = json_get_str(c, "message");

		if (status && reason && !kept[i].to->type)
			say(kept[i].to, kept[i].type, status, reason, message ? message : "");
	}
}

int around_apply(struct turn *t, struct err *e)
{
	int r;

	if (!turn_acts(t)) {
		r = lift_pause(t, e);
		keep_said(t);
		return r;
	}
	if (t->obs->no_workload)
		return 0;
	r = apply_scaling(t, e);
	if (!r)
		r = apply_mesh(t, e);
	return r ? r : apply_route(t, e);
}

size_t around_conditions(const struct turn *t, struct status_condition *to)
{
	const struct status_condition *all[] = { &t->around.ingress, &t->around.mesh,
						 &t->around.autoscaling };
	size_t n = 0;

	for (size_t i = 0; i < array_len(all); i++) {
		if (all[i]->type)
			to[n++] = *all[i];
	}
	return n;
}
