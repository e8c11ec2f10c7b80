#include "common/metrics.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/map.h"

enum { COLLECTORS = 8 };

struct series {
	char *labels; /* `endpoint="validate",verdict="allowed"`, or "" */
	double value; /* histograms: the sum */
	uint64_t count;
	uint64_t *buckets; /* histograms: observations per bucket, not cumulated */
};

struct metrics {
	pthread_mutex_t lock;
	const struct metric *table;
	size_t n;
	struct family {
		struct map *series; /* label text -> struct series */
	} * row;
	struct {
		metrics_collector f;
		void *ctx;
	} collector[COLLECTORS];
	size_t n_collectors;
};

static size_t count_labels(const struct metric *row)
{
	size_t n = 0;

	while (n < METRIC_LABELS && row->labels[n])
		n++;
	return n;
}

static size_t count_buckets(const struct metric *row)
{
	size_t n = 0;

	while (n < METRIC_BUCKETS && row->buckets[n] > 0)
		n++;
	return n;
}

/* ---- text ------------------------------------------------------------------------------------ */

/* A label's value escapes backslash, quote and line feed; help text the first and the last. */
static void write_escaped(struct buf *to, const char *s, bool quote)
{
	const char *special = quote ? "\n\\\"" : "\n\\";

	for (;;) {
		size_t n = strcspn(s, special);

		buf_add(to, s, n);
		s += n;
		if (!*s)
			return;
		buf_putc(to, '\\');
		if (*s == '\n')
			buf_putc(to, 'n');
		else
			buf_putc(to, *s);
		s++;
	}
}

/* Whole numbers as such, exact up to 2^53; others in the fewest digits that read back the same. */
static void write_value(struct buf *to, double v)
{
	char text[40];

	if (isnan(v)) {
		buf_puts(to, "NaN");
		return;
	}
	if (isinf(v)) {
		buf_puts(to, v > 0 ? "+Inf" : "-Inf");
		return;
	}
	if (fabs(v) <= 9007199254740992.0 && v == floor(v)) {
		buf_printf(to, "%lld", (long long)v);
		return;
	}
	for (int digits = 6; digits <= 17; digits++) {
		(void)snprintf(text, sizeof(text), "%.*g", digits, v);
		if (strtod(text, NULL) == v)
			break;
	}
	buf_puts(to, text);
}

static void write_labels(struct buf *to, const char *const *names, const char *const *values,
			 size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (i)
			buf_putc(to, ',');
		buf_puts(to, names[i]);
		buf_puts(to, "=\"");
		write_escaped(to, values[i] ? values[i] : "", true);
		buf_putc(to, '"');
	}
}

static const char *kind_text(enum metric_kind kind)
{
	switch (kind) {
	case METRIC_COUNTER:
		return "counter";
	case METRIC_GAUGE:
		return "gauge";
	case METRIC_HISTOGRAM:
		return "histogram";
	}
	return "untyped";
}

void metrics_write_family(struct buf *to, const char *name, enum metric_kind kind, const char *help)
{
	buf_printf(to, "# HELP %s ", name);
	write_escaped(to, help, false);
	buf_printf(to, "\n# TYPE %s %s\n", name, kind_text(kind));
}

static void write_line(struct buf *to, const char *name, const char *suffix, const char *labels,
		       double value)
{
	buf_puts(to, name);
	buf_puts(to, suffix);
	if (*labels)
		buf_printf(to, "{%s}", labels);
	buf_putc(to, ' ');
	write_value(to, value);
	buf_putc(to, '\n');
}

void metrics_write_sample(struct buf *to, const char *name, const char *const *names,
			  const char *const *values, size_t n, double value)
{
	struct buf labels;

	buf_init(&labels, to->max);
	write_labels(&labels, names, values, n);
	write_line(to, name, "", buf_str(&labels), value);
	buf_done(&labels);
}

/* ---- series ---------------------------------------------------------------------------------- */

static void series_free(void *p)
{
	struct series *s = p;

	free(s->labels);
	free(s->buckets);
	free(s);
}

static char *label_text(const struct metric *row, const char *const *labels)
{
	struct buf b;
	char *text;

	buf_init(&b, 1 << 16);
	write_labels(&b, row->labels, labels, labels ? count_labels(row) : 0);
	text = buf_take(&b);
	return text ? text : xstrdup("");
}

/* Under the lock; made when absent. */
static struct series *series_at(struct metrics *m, size_t row, const char *const *labels)
{
	cleanup(freep) char *key = label_text(&m->table[row], labels);
	struct series *s = map_get(m->row[row].series, key);

	if (s)
		return s;
	s = xcalloc(1, sizeof(*s));
	s->labels = xstrdup(key);
	if (m->table[row].kind == METRIC_HISTOGRAM)
		s->buckets = xcalloc(count_buckets(&m->table[row]) + 1, sizeof(*s->buckets));
	map_put(m->row[row].series, key, s);
	return s;
}

struct metrics *metrics_new(const struct metric *table, size_t n)
{
	struct metrics *m = xcalloc(1, sizeof(*m));

	(void)pthread_mutex_init(&m->lock, NULL);
	m->table = table;
	m->n = n;
	m->row = xcalloc(n, sizeof(*m->row));
	for (size_t i = 0; i < n; i++) {
		m->row[i].series = map_new(series_free);
		if (!count_labels(&table[i]))
			(void)series_at(m, i, NULL);
	}
	return m;
}

void metrics_free(struct metrics *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->n; i++)
		map_free(m->row[i].series);
	free(m->row);
	(void)pthread_mutex_destroy(&m->lock);
	free(m);
}

void metrics_add(struct metrics *m, size_t row, double delta, const char *const *labels)
{
	(void)pthread_mutex_lock(&m->lock);
	series_at(m, row, labels)->value += delta;
	(void)pthread_mutex_unlock(&m->lock);
}

void metrics_set(struct metrics *m, size_t row, double value, const char *const *labels)
{
	(void)pthread_mutex_lock(&m->lock);
	series_at(m, row, labels)->value = value;
	(void)pthread_mutex_unlock(&m->lock);
}

void metrics_observe(struct metrics *m, size_t row, double value, const char *const *labels)
{
	const struct metric *r = &m->table[row];
	size_t n = count_buckets(r), i = 0;
	struct series *s;

	while (i < n && value > r->buckets[i])
		i++;
	(void)pthread_mutex_lock(&m->lock);
	s = series_at(m, row, labels);
	s->buckets[i]++;
	s->count++;
	s->value += value;
	(void)pthread_mutex_unlock(&m->lock);
}

void metrics_drop(struct metrics *m, size_t row, const char *const *labels)
{
	cleanup(freep) char *key = label_text(&m->table[row], labels);

	(void)pthread_mutex_lock(&m->lock);
	map_del(m->row[row].series, key);
	(void)pthread_mutex_unlock(&m->lock);
}

void metrics_collect(struct metrics *m, metrics_collector f, void *ctx)
{
	(void)pthread_mutex_lock(&m->lock);
	if (m->n_collectors < COLLECTORS) {
		m->collector[m->n_collectors].f = f;
		m->collector[m->n_collectors++].ctx = ctx;
	}
	(void)pthread_mutex_unlock(&m->lock);
}

/* ---- exposition ------------------------------------------------------------------------------ */

struct writer {
	struct buf *to;
	const struct metric *row;
};

static void write_histogram(struct buf *to, const struct metric *row, const struct series *s)
{
	size_t n = count_buckets(row);
	uint64_t sum = 0;

	for (size_t i = 0; i <= n; i++) {
		sum += s->buckets[i];
		buf_printf(to, "%s_bucket{%s%sle=\"", row->name, s->labels, *s->labels ? "," : "");
		write_value(to, i < n ? row->buckets[i] : (double)INFINITY);
		buf_printf(to, "\"} %llu\n", (unsigned long long)sum);
	}
	write_line(to, row->name, "_sum", s->labels, s->value);
	write_line(to, row->name, "_count", s->labels, (double)s->count);
}

static void write_series(const char *key, void *value, void *ctx)
{
	const struct series *s = value;
	const struct writer *w = ctx;

	(void)key;
	if (w->row->kind == METRIC_HISTOGRAM)
		write_histogram(w->to, w->row, s);
	else
		write_line(w->to, w->row->name, "", s->labels, s->value);
}

void metrics_text(struct metrics *m, struct buf *to)
{
	size_t n;

	(void)pthread_mutex_lock(&m->lock);
	for (size_t i = 0; i < m->n; i++) {
		struct writer w = { .to = to, .row = &m->table[i] };

		if (!map_len(m->row[i].series))
			continue;
		metrics_write_family(to, w.row->name, w.row->kind, w.row->help);
		map_each(m->row[i].series, write_series, &w);
	}
	n = m->n_collectors;
	(void)pthread_mutex_unlock(&m->lock);
	for (size_t i = 0; i < n; i++)
		m->collector[i].f(m->collector[i].ctx, to);
}
