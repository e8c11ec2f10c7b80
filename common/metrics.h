/*
 * metrics.h - counters, gauges and histograms, and their exposition as Prometheus text (format
 * 0.0.4).
 *
 * Two sources feed one exposition. Metrics of the program itself are rows of a static table,
 * addressed by their index; their series come into being at the first use, or at once when they
 * have no labels. Series whose set changes with the world (one per pod) are written by collectors
 * at the moment of the exposition, out of a snapshot, so that a series whose subject has gone is
 * gone.
 *
 * Every function may be called from any thread. Label values are given as an array in the order of
 * the row's labels: metrics_add(m, REQUESTS, 1, metrics_labels("validate", "allowed")).
 */
#ifndef COMMON_METRICS_H
#define COMMON_METRICS_H

#include "common/base.h"
#include "common/buf.h"

enum metric_kind { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

enum { METRIC_LABELS = 4, METRIC_BUCKETS = 24 };

#define METRICS_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

struct metric {
	const char *name; /* "celld_webhook_requests_total" */
	enum metric_kind kind;
	const char *help;
	const char *labels[METRIC_LABELS + 1]; /* names, ended by NULL */
	double buckets[METRIC_BUCKETS + 1];    /* histograms: upper bounds, ascending, ended by 0 */
};

#define metrics_labels(...) ((const char *const[METRIC_LABELS]){ __VA_ARGS__ })

struct metrics;

/* The table is lent and must outlive the registry. */
struct metrics *metrics_new(const struct metric *table, size_t n) must_use;
void metrics_free(struct metrics *m);
define_cleanup(struct metrics *, metrics_free);
#define cleanup_metrics cleanup(metrics_free_cleanup)

/* Counters (delta >= 0) and gauges. labels may be NULL for a row that has none. */
void metrics_add(struct metrics *m, size_t row, double delta, const char *const *labels);
/* Gauges; also a counter that is counted elsewhere. */
void metrics_set(struct metrics *m, size_t row, double value, const char *const *labels);
/* Histograms. */
void metrics_observe(struct metrics *m, size_t row, double value, const char *const *labels);
/* The series is no longer exposed. */
void metrics_drop(struct metrics *m, size_t row, const char *const *labels);

/*
 * A collector is called by metrics_text, on its thread, and writes whole families with the two
 * functions below. At most 8; none may call back into the registry.
 */
typedef void (*metrics_collector)(void *ctx, struct buf *to);
void metrics_collect(struct metrics *m, metrics_collector f, void *ctx);

/* "# HELP" and "# TYPE"; kind is counter or gauge. Then every sample of the family. */
void metrics_write_family(struct buf *to, const char *name, enum metric_kind kind,
			  const char *help);
/* One sample; names and values are n long; values are escaped. */
void metrics_write_sample(struct buf *to, const char *name, const char *const *names,
			  const char *const *values, size_t n, double value);

/* The whole exposition; rows in the table's order, series in order of their first use. */
void metrics_text(struct metrics *m, struct buf *to);

#endif
