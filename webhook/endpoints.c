#include "webhook/endpoints.h"

#include <stdlib.h>
#include <time.h>

#include "common/clock.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/metrics.h"
#include "webhook/review.h"

/* ---- metrics --------------------------------------------------------------------------------- */

enum metric_row {
	REQUESTS,
	SECONDS,
	BEGIN,
	EXPIRY,
	BROKEN,
	RELOADS,
	SETTINGS,
	CURRENT,
	CONNECTIONS,
	ROWS
};

static const struct metric rows[ROWS] = {
	[REQUESTS] = { .name = "celld_webhook_requests_total",
		       .kind = METRIC_COUNTER,
		       .help = "Admission reviews by endpoint and verdict (allowed, denied, "
			       "invalid: no review at all)",
		       .labels = { "endpoint", "verdict" } },
	[SECONDS] = { .name = "celld_webhook_request_duration_seconds",
		      .kind = METRIC_HISTOGRAM,
		      .help = "Time from the last byte of a review to its verdict",
		      .labels = { "endpoint" },
		      .buckets = { 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01,
				   0.025, 0.05, 0.1, 0.25, 0.5, 1 } },
	[EXPIRY] = { .name = "celld_webhook_certificate_expiry_timestamp_seconds",
		     .kind = METRIC_GAUGE,
		     .help = "When the serving certificate runs out, seconds since 1970" },
	[BEGIN] = { .name = "celld_webhook_certificate_start_timestamp_seconds",
		    .kind = METRIC_GAUGE,
		    .help = "From when on the serving certificate is valid, seconds since 1970" },
	[BROKEN] = { .name = "celld_webhook_certificate_files_refused",
		     .kind = METRIC_GAUGE,
		     .help = "1 while the certificate files are refused and the last good pair "
			     "serves on" },
	[RELOADS] = { .name = "celld_webhook_certificate_reloads_total",
		      .kind = METRIC_COUNTER,
		      .help = "Changes of the certificate files by result (loaded, refused: the "
			      "last good pair stays)",
		      .labels = { "result" } },
	[SETTINGS] = { .name = "celld_webhook_settings_reloads_total",
		       .kind = METRIC_COUNTER,
		       .help = "Changes of compatibility table, policy and defaults by result "
			       "(loaded, refused: the last good one stays)",
		       .labels = { "file", "result" } },
	[CURRENT] = { .name = "celld_webhook_cluster_known",
		      .kind = METRIC_GAUGE,
		      .help = "1 while the other apps of the cluster are known; 0: rules between "
			      "apps "
			      "only warn" },
	[CONNECTIONS] = { .name = "celld_webhook_connections",
			  .kind = METRIC_GAUGE,
			  .help = "Connections that are open" },
};

static const char *verdict_text(enum review_verdict v)
{
	switch (v) {
	case REVIEW_ALLOWED:
		return "allowed";
	case REVIEW_DENIED:
		return "denied";
	case REVIEW_BROKEN:
		return "invalid";
	}
	return "invalid";
}

/* ---- state ----------------------------------------------------------------------------------- */

static const struct {
	const char *path;
	enum review_endpoint endpoint;
} admission_paths[] = {
	{ "/mutate-workerapp", REVIEW_MUTATE_WORKERAPP },
	{ "/validate-workerapp", REVIEW_VALIDATE_WORKERAPP },
	{ "/validate-workerapp-scale", REVIEW_VALIDATE_SCALE },
	{ "/validate-celldobjectstore", REVIEW_VALIDATE_STORE },
};

struct admission_path {
	struct endpoints *p;
	const char *name; /* the path without its slash: the metric's label */
	enum review_endpoint endpoint;
};

struct endpoints {
	struct settings *settings;
	struct world *world;
	js_ctx scan; /* of the admission server's thread */
	struct metrics *metrics;
	struct admission_path path[array_len(admission_paths)];
	struct endpoint_routes admission, health, metrics_routes;
	const struct httpd *_Atomic server;
	atomic_bool leaving;
};

/* ---- handlers -------------------------------------------------------------------------------- */

static double seconds_now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void log_outcome(const struct admission_path *a, const struct review_result *r,
			const struct httpd_answer *answer)
{
	if (r->verdict == REVIEW_DENIED)
		log_info("review denied", "endpoint", a->name, "object", r->subject, NULL);
	else if (r->verdict == REVIEW_BROKEN)
		log_warn("review refused", "endpoint", a->name, "error", buf_str(&answer->body),
			 NULL);
}

static void serve_review(void *ctx, const struct httpd_request *req, struct httpd_answer *answer)
{
	const struct admission_path *a = ctx;
	struct endpoints *p = a->p;
	double begun = seconds_now();
	const struct settings_view *v = settings_get(p->settings);
	const struct review_facts facts = { .rules = { .table = v->table, .policy = v->policy },
					    .defaults = v->defaults,
					    .world = world_view(p->world) };
	struct review_result r =
		review_answer(a->endpoint, &p->scan, req->body, req->len, &facts, &answer->body);

	settings_release(p->settings, v);

	if (r.verdict == REVIEW_BROKEN)
		answer->status = 400;
	else
		answer->content_type = "application/json";
	metrics_add(p->metrics, REQUESTS, 1, metrics_labels(a->name, verdict_text(r.verdict)));
	metrics_observe(p->metrics, SECONDS, seconds_now() - begun, metrics_labels(a->name));
	log_outcome(a, &r, answer);
}

static void serve_healthz(void *ctx, const struct httpd_request *req, struct httpd_answer *answer)
{
	(void)ctx;
	(void)req;
	buf_puts(&answer->body, "ok\n");
}

static void serve_readyz(void *ctx, const struct httpd_request *req, struct httpd_answer *answer)
{
	struct endpoints *p = ctx;
	const struct httpd *server = atomic_load(&p->server);
	const char *why = "ok\n";

	(void)req;
	if (atomic_load(&p->leaving))
		why = "shutting down\n";
	else if (!server)
		why = "starting\n";
	else if (!httpd_certificate_expiry(server))
		why = "there is no serving certificate yet\n";
	else if (httpd_certificate_expiry(server) <= clock_wall_ms() / 1000)
		why = "the serving certificate has expired\n";
	if (!str_eq(why, "ok\n"))
		answer->status = 503;
	buf_puts(&answer->body, why);
}

static void serve_metrics(void *ctx, const struct httpd_request *req, struct httpd_answer *answer)
{
	struct endpoints *p = ctx;
	const struct httpd *server = atomic_load(&p->server);

	(void)req;
	if (server) {
		metrics_set(p->metrics, BEGIN, (double)httpd_certificate_begin(server), NULL);
		metrics_set(p->metrics, EXPIRY, (double)httpd_certificate_expiry(server), NULL);
		metrics_set(p->metrics, CONNECTIONS, (double)httpd_connections(server), NULL);
	}
	if (p->world)
		metrics_set(p->metrics, CURRENT, world_is_current(p->world), NULL);
	answer->content_type = METRICS_CONTENT_TYPE;
	metrics_text(p->metrics, &answer->body);
}

/* ---- routes ---------------------------------------------------------------------------------- */

static void add_route(struct endpoint_routes *l, struct httpd_route route)
{
	l->route[l->n++] = route;
}

static void add_probes(struct endpoint_routes *l, struct endpoints *p)
{
	add_route(l, (struct httpd_route){ "GET", "/healthz", serve_healthz, p, 0, NULL });
	add_route(l, (struct httpd_route){ "GET", "/readyz", serve_readyz, p, 0, NULL });
}

struct endpoints *endpoints_new(struct err *e)
{
	struct endpoints *p = xcalloc(1, sizeof(*p));

	if (js_ctx_init(&p->scan, LIMIT_JSON_KEYS)) {
		free(p);
		(void)err_set(e, ERR_INTERNAL, "no entropy for the JSON scanner");
		return NULL;
	}
	p->metrics = metrics_new(rows, ROWS);
	for (size_t i = 0; i < array_len(admission_paths); i++) {
		const char *path = admission_paths[i].path;

		p->path[i] = (struct admission_path){ p, path + 1, admission_paths[i].endpoint };
		add_route(&p->admission,
			  (struct httpd_route){ "POST", path, serve_review, &p->path[i],
						LIMIT_REVIEW, "application/json" });
	}
	add_probes(&p->admission, p);
	add_probes(&p->health, p);
	add_route(&p->metrics_routes,
		  (struct httpd_route){ "GET", "/metrics", serve_metrics, p, 0, NULL });
	return p;
}

void endpoints_free(struct endpoints *p)
{
	if (!p)
		return;
	metrics_free(p->metrics);
	js_ctx_free(&p->scan);
	free(p);
}

const struct endpoint_routes *endpoints_admission(const struct endpoints *p)
{
	return &p->admission;
}

const struct endpoint_routes *endpoints_health(const struct endpoints *p)
{
	return &p->health;
}

const struct endpoint_routes *endpoints_metrics(const struct endpoints *p)
{
	return &p->metrics_routes;
}

void endpoints_judge_by(struct endpoints *p, struct settings *settings, struct world *world)
{
	p->world = world;
	p->settings = settings;
}

void endpoints_settings_reloaded(void *ctx, const char *name, const struct err *e)
{
	struct endpoints *p = ctx;

	metrics_add(p->metrics, SETTINGS, 1, metrics_labels(name, e ? "refused" : "loaded"));
	if (e)
		log_error("new settings refused, the last good ones stay", "file", name, "error",
			  e->message, NULL);
	else
		log_info("new settings in use", "file", name, NULL);
}

void endpoints_collect(struct endpoints *p, metrics_collector f, void *ctx)
{
	metrics_collect(p->metrics, f, ctx);
}

void endpoints_reloaded(void *ctx, const struct err *e)
{
	struct endpoints *p = ctx;

	metrics_add(p->metrics, RELOADS, 1, metrics_labels(e ? "refused" : "loaded"));
	metrics_set(p->metrics, BROKEN, e != NULL, NULL);
	if (e)
		log_error("new certificate refused, the last good one stays", "error", e->message,
			  NULL);
	else
		log_info("new certificate in use", NULL);
}

void endpoints_serve(struct endpoints *p, const struct httpd *admission)
{
	atomic_store(&p->server, admission);
}

void endpoints_leave(struct endpoints *p)
{
	atomic_store(&p->leaving, true);
}
