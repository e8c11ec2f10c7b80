/*
 * telemetry.h - what the controller tells of itself: the page /metrics, open or guarded, and the counters behind it.
 *
 * Series: celld_controller_reconcile_total{result}, _reconcile_duration_seconds, _sweep_duration_seconds,
 * _sweep_pods, _queue_depth, _queue_delayed, _queue_oldest_seconds, _worker_turn_seconds, _leader,
 * _api_requests_total{verb,code}, _watch_restarts_total{kind}, _watch_lists_total{kind}, _watch_failures_total{kind},
 * _watch_connected{kind}, _watch_age_seconds{kind}, _apiserver_away_seconds, _events_total{result},
 * _certificate_{start,expiry}_timestamp_seconds (TLS), those of metrics_process.h, and while this process leads those
 * of fleet_metrics.h.
 */
#ifndef CONTROLLER_TELEMETRY_H
#define CONTROLLER_TELEMETRY_H

#include "common/err.h"
#include "controller/cache.h"
#include "controller/queue.h"
#include "controller/snapshot.h"
#include "controller/watchdog.h"

struct event_recorder;
struct http_cancel;
struct kube_config;
struct kube_watch;
struct telemetry;

struct telemetry_opts {
	struct cache *cache; /* lent, like all below */
	struct queue *queue;
	struct snapshots *snapshots;
	struct watchdog *watchdog;
	struct kube_client *client;
	struct event_recorder *events;
	bool (*leads)(void *ctx);
	void *ctx;
};

struct telemetry *telemetry_new(const struct telemetry_opts *o) must_use;
void telemetry_free(struct telemetry *t);
/* From here on the watch's series are there too. */
void telemetry_watch(struct telemetry *t, struct kube_watch *w);
void telemetry_turn(struct telemetry *t, bool ok, int64_t ms);
void telemetry_swept(struct telemetry *t, int64_t ms, size_t pods);
/* A settings file has changed. */
void telemetry_reloaded(struct telemetry *t, const char *file, bool loaded);
/* The whole page. */
void telemetry_text(struct telemetry *t, struct buf *to);

struct telemetry_server {
	const char *address;  /* HOST:PORT; "0": no server */
	bool secure;	      /* TLS, and only for those whom the API server lets GET /metrics */
	const char *cert_dir; /* tls.crt and tls.key; needed when secure */
	struct kube_config *config;
	struct http_cancel *cancel;
};

/* Starts the server. ERR_INVALID, ERR_NOT_FOUND, ERR_UNAVAILABLE as httpd_start. */
int telemetry_serve(struct telemetry *t, const struct telemetry_server *o, struct err *e);
/* The port that the server has; 0: there is none. */
int telemetry_port(const struct telemetry *t);

#endif
