#include "controller/telemetry.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/httpd.h"
#include "common/kube/access.h"
#include "common/kube/client.h"
#include "common/kube/event.h"
#include "common/kube/watch.h"
#include "common/log.h"
#include "common/metrics.h"
#include "common/metrics_process.h"
#include "controller/fleet_metrics.h"

#define NAME(what) "celld_controller_" what

enum row { RECONCILES, RECONCILE_SECONDS, SWEEP_SECONDS, SWEEP_PODS, SETTINGS, ROWS };

static const struct metric table[ROWS] = {
	[RECONCILES] = { .name = NAME("reconcile_total"),
			 .kind = METRIC_COUNTER,
			 .help = "Turns of reconciliation by result",
			 .labels = { "result" } },
	[RECONCILE_SECONDS] = { .name = NAME("reconcile_duration_seconds"),
				.kind = METRIC_HISTOGRAM,
				.help = "How long a turn took",
				.buckets = { 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30 } },
	[SWEEP_SECONDS] = { .name = NAME("sweep_duration_seconds"),
			    .kind = METRIC_HISTOGRAM,
			    .help = "How long a sweep of all pods took",
			    .buckets = { 0.01, 0.05, 0.1, 0.5, 1, 2, 3, 5, 10 } },
	[SWEEP_PODS] = { .name = NAME("sweep_pods"),
			 .kind = METRIC_GAUGE,
			 .help = "Pods that the last sweep asked" },
	[SETTINGS] = { .name = NAME("settings_reloads_total"),
		       .kind = METRIC_COUNTER,
		       .help = "Changes of compatibility table and policy by result (loaded, "
			       "refused: the last good one stays)",
		       .labels = { "file", "result" } },
};

struct telemetry {
	struct telemetry_opts o;
	struct metrics *metrics;
	_Atomic(struct kube_watch *) watch;
	struct httpd *server;
	struct httpd_route route;
	struct kube_access *access; /* NULL: everybody may read */
	char *cert, *key;
};

static void family(struct buf *to, const char *name, enum metric_kind kind, const char *help,
		   double value)
{
	metrics_write_family(to, name, kind, help);
	metrics_write_sample(to, name, NULL, NULL, 0, value);
}

/* --- what is counted elsewhere ---------------------------------------------------------------------- */

static void one_request_count(void *ctx, const char *verb, int code, int64_t count)
{
	static const char *const names[] = { "verb", "code" };
	char text[16];
	const char *values[] = { verb, text };

	(void)snprintf(text, sizeof(text), "%d", code);
	metrics_write_sample(ctx, NAME("api_requests_total"), names, values, 2, (double)count);
}

static void write_queue(const struct telemetry *t, struct buf *to)
{
	struct queue_stats q;

	queue_stats(t->o.queue, &q);
	family(to, NAME("queue_depth"), METRIC_GAUGE, "Apps that wait for a worker",
	       (double)q.ready);
	family(to, NAME("queue_delayed"), METRIC_GAUGE, "Apps that come back later",
	       (double)q.delayed);
	family(to, NAME("queue_oldest_seconds"), METRIC_GAUGE,
	       "How long the app that is next has waited for a worker", (double)q.oldest_ms / 1000);
	family(to, NAME("worker_turn_seconds"), METRIC_GAUGE,
	       "How long the longest turn that goes on has taken",
	       (double)watchdog_longest(t->o.watchdog, clock_mono_ms()) / 1000);
}

static void write_events(const struct telemetry *t, struct buf *to)
{
	static const char *const names[] = { "result" };
	struct event_stats s;

	event_stats(t->o.events, &s);
	metrics_write_family(to, NAME("events_total"), METRIC_COUNTER,
			     "Events about apps: sent, counted as repeats, dropped");
	metrics_write_sample(to, NAME("events_total"), names, (const char *[]){ "sent" }, 1,
			     (double)s.sent);
	metrics_write_sample(to, NAME("events_total"), names, (const char *[]){ "repeated" }, 1,
			     (double)s.repeated);
	metrics_write_sample(to, NAME("events_total"), names, (const char *[]){ "dropped" }, 1,
			     (double)s.dropped);
}

static double restarts(const struct kube_watch_stats *s)
{
	return s->watches > 0 ? (double)(s->watches - 1) : 0;
}

static double lists(const struct kube_watch_stats *s)
{
	return (double)s->lists;
}

static double failures(const struct kube_watch_stats *s)
{
	return (double)s->failures;
}

static double connected(const struct kube_watch_stats *s)
{
	return s->connected;
}

static double age(const struct kube_watch_stats *s)
{
	return s->last_heard_ms ? (double)(clock_mono_ms() - s->last_heard_ms) / 1000 : -1;
}

static const struct {
	const char *name, *help;
	enum metric_kind kind;
	double (*value)(const struct kube_watch_stats *s); /* negative: no sample */
} watch_table[] = {
	{ NAME("watch_restarts_total"), "Watches begun after the first", METRIC_COUNTER, restarts },
	{ NAME("watch_lists_total"), "Lists of all objects", METRIC_COUNTER, lists },
	{ NAME("watch_failures_total"), "Lists and watches that ended in an error", METRIC_COUNTER,
	  failures },
	{ NAME("watch_connected"), "1 while the API server has accepted the watch", METRIC_GAUGE,
	  connected },
	{ NAME("watch_age_seconds"), "Since the API server was last heard on the watch",
	  METRIC_GAUGE, age },
};

static void write_watches(struct kube_watch *w, struct buf *to)
{
	static const char *const names[] = { "kind" };
	struct kube_watch_stats s[CACHE_KINDS];
	size_t n = kube_watch_kinds(w);
	int64_t away = kube_watch_away_ms(w);

	family(to, NAME("apiserver_away_seconds"), METRIC_GAUGE,
	       "For how long the API server has been away; 0: it is there",
	       away ? (double)(clock_mono_ms() - away + 1) / 1000 : 0);
	for (size_t k = 0; k < n; k++)
		kube_watch_stats(w, k, &s[k]);
	for (size_t i = 0; i < array_len(watch_table); i++) {
		metrics_write_family(to, watch_table[i].name, watch_table[i].kind,
				     watch_table[i].help);
		for (size_t k = 0; k < n; k++) {
			double v = watch_table[i].value(&s[k]);

			if (v >= 0)
				metrics_write_sample(to, watch_table[i].name, names,
						     (const char *[]){ cache_kinds[k].kind }, 1, v);
		}
	}
}

static void collect(void *ctx, struct buf *to)
{
	struct telemetry *t = ctx;
	struct kube_watch *w = atomic_load(&t->watch);
	bool leading = t->o.leads(t->o.ctx);

	write_queue(t, to);
	family(to, NAME("leader"), METRIC_GAUGE, "1 while this process leads", leading);
	metrics_write_family(to, NAME("api_requests_total"), METRIC_COUNTER,
			     "Requests to the API server");
	kube_client_counts(t->o.client, one_request_count, to);
	write_events(t, to);
	if (w)
		write_watches(w, to);
	if (t->server && httpd_certificate_expiry(t->server)) {
		family(to, NAME("certificate_start_timestamp_seconds"), METRIC_GAUGE,
		       "From when on the certificate of /metrics is valid",
		       (double)httpd_certificate_begin(t->server));
		family(to, NAME("certificate_expiry_timestamp_seconds"), METRIC_GAUGE,
		       "Until when the certificate of /metrics is valid",
		       (double)httpd_certificate_expiry(t->server));
	}
	metrics_write_process(to);
	/* a follower's view of the fleets would be second-hand */
	if (leading)
		fleet_metrics_write(t->o.cache, t->o.snapshots, to);
}

/* --- counting --------------------------------------------------------------------------------------- */

struct telemetry *telemetry_new(const struct telemetry_opts *o)
{
	struct telemetry *t = xcalloc(1, sizeof(*t));

	t->o = *o;
	t->metrics = metrics_new(table, ROWS);
	metrics_collect(t->metrics, collect, t);
	return t;
}

void telemetry_free(struct telemetry *t)
{
	if (!t)
		return;
	httpd_free(t->server);
	kube_access_free(t->access);
	metrics_free(t->metrics);
	free(t->cert);
	free(t->key);
	free(t);
}

void telemetry_watch(struct telemetry *t, struct kube_watch *w)
{
	atomic_store(&t->watch, w);
}

void telemetry_turn(struct telemetry *t, bool ok, int64_t ms)
{
	metrics_add(t->metrics, RECONCILES, 1, metrics_labels(ok ? "success" : "error"));
	metrics_observe(t->metrics, RECONCILE_SECONDS, (double)ms / 1000, NULL);
}

void telemetry_reloaded(struct telemetry *t, const char *file, bool loaded)
{
	metrics_add(t->metrics, SETTINGS, 1, metrics_labels(file, loaded ? "loaded" : "refused"));
}

void telemetry_swept(struct telemetry *t, int64_t ms, size_t pods)
{
	metrics_observe(t->metrics, SWEEP_SECONDS, (double)ms / 1000, NULL);
	metrics_set(t->metrics, SWEEP_PODS, (double)pods, NULL);
}

void telemetry_text(struct telemetry *t, struct buf *to)
{
	metrics_text(t->metrics, to);
}

/* --- the page --------------------------------------------------------------------------------------- */

/* False: refused, and answered. */
static bool may_read(struct telemetry *t, const struct httpd_request *req, struct httpd_answer *a)
{
	struct err e = ERR_INIT;
	int r;

	if (!t->access)
		return true;
	r = kube_access_check(t->access, req->authorization, "get", req->path, &e);
	if (!r)
		return true;
	if (r == -ERR_UNAUTHORIZED) {
		a->status = 401;
	} else if (r == -ERR_FORBIDDEN) {
		a->status = 403;
	} else {
		a->status = 503;
		log_warn("cannot ask who may read the metrics", "error", e.message, NULL);
	}
	buf_printf(&a->body, "%s\n", err_text(e.code));
	return false;
}

static void page(void *ctx, const struct httpd_request *req, struct httpd_answer *a)
{
	struct telemetry *t = ctx;

	if (!may_read(t, req, a))
		return;
	a->content_type = METRICS_CONTENT_TYPE;
	telemetry_text(t, &a->body);
}

static void on_reload(void *ctx, const struct err *e)
{
	(void)ctx;
	if (e)
		log_warn("the certificate of /metrics on disk is not used", "error", e->message,
			 NULL);
	else
		log_info("the certificate of /metrics was renewed", NULL);
}

int telemetry_serve(struct telemetry *t, const struct telemetry_server *o, struct err *e)
{
	struct httpd_options h = { .address = o->address, .routes = &t->route, .n_routes = 1 };

	if (str_eq(o->address, "0"))
		return 0;
	if (o->secure) {
		if (str_empty(o->cert_dir))
			return err_set(e, ERR_INVALID,
				       "--metrics-secure needs --metrics-cert-dir with tls.crt and "
				       "tls.key");
		t->cert = xasprintf("%s/tls.crt", o->cert_dir);
		t->key = xasprintf("%s/tls.key", o->cert_dir);
		t->access = kube_access_new(o->config, o->cancel);
		h.cert_file = t->cert;
		h.key_file = t->key;
		h.on_reload = on_reload;
	}
	t->route = (struct httpd_route){ "GET", "/metrics", page, t, 0, NULL };
	return httpd_start(&h, &t->server, e);
}

int telemetry_port(const struct telemetry *t)
{
	return t->server ? httpd_port(t->server) : 0;
}
