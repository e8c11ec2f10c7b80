/*
 * endpoints.h - what celld-webhook serves: the four admission paths and the probes over TLS, the
 * probes and the metrics over plain HTTP.
 */
#ifndef WEBHOOK_ENDPOINTS_H
#define WEBHOOK_ENDPOINTS_H

#include <stdatomic.h>

#include "common/httpd.h"
#include "common/metrics.h"
#include "common/settings.h"
#include "webhook/world.h"

enum { ENDPOINT_ROUTES_MAX = 8 };

struct endpoints; /* opaque */

/* Routes that a server needs, for httpd_options. */
struct endpoint_routes {
	struct httpd_route route[ENDPOINT_ROUTES_MAX];
	size_t n;
};

/* NULL: no entropy (e is set). */
struct endpoints *endpoints_new(struct err *e);
void endpoints_free(struct endpoints *p);
define_cleanup(struct endpoints *, endpoints_free);
#define cleanup_endpoints cleanup(endpoints_free_cleanup)

/*
 * The routes of each server; lent by p. Reviews use scratch memory of p, so one server alone may
 * serve them.
 */
const struct endpoint_routes *endpoints_admission(const struct endpoints *p);
const struct endpoint_routes *endpoints_health(const struct endpoints *p);
const struct endpoint_routes *endpoints_metrics(const struct endpoints *p);

/* By what reviews are judged; lent, before the first review. */
void endpoints_judge_by(struct endpoints *p, struct settings *settings, struct world *world);
/* For settings_options.on_reload; ctx is the struct endpoints. */
void endpoints_settings_reloaded(void *ctx, const char *name, const struct err *e);
/* Adds a source of metrics; see metrics_collect. */
void endpoints_collect(struct endpoints *p, metrics_collector f, void *ctx);
/* For httpd_options.on_reload; ctx is the struct endpoints. */
void endpoints_reloaded(void *ctx, const struct err *e);
/*
 * Readiness is: the server (not NULL) serves a certificate that has not run out. Before it is set,
 * and once endpoints_leave was called, /readyz says 503.
 */
void endpoints_serve(struct endpoints *p, const struct httpd *admission);
void endpoints_leave(struct endpoints *p);

#endif
