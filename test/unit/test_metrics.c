#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <pthread.h>

#include "common/metrics.h"

enum { REQUESTS, OPEN, SECONDS, N };

static const struct metric rows[N] = {
	[REQUESTS] = { .name = "requests_total",
		       .kind = METRIC_COUNTER,
		       .help = "Requests; a\\b\nc \"d\"",
		       .labels = { "endpoint", "verdict" } },
	[OPEN] = { .name = "open", .kind = METRIC_GAUGE, .help = "Open connections" },
	[SECONDS] = { .name = "seconds",
		      .kind = METRIC_HISTOGRAM,
		      .help = "Duration",
		      .labels = { "endpoint" },
		      .buckets = { 0.005, 0.1, 1 } },
};

static void expect_text(struct metrics *m, const char *want)
{
	struct buf b;

	buf_init(&b, 1 << 20);
	metrics_text(m, &b);
	assert_string_equal(buf_str(&b), want);
	buf_done(&b);
}

static void test_rows_without_labels_are_there_from_the_start(void **state)
{
	cleanup_metrics struct metrics *m = metrics_new(rows, N);

	(void)state;
	expect_text(m, "# HELP open Open connections\n# TYPE open gauge\nopen 0\n");
}

static void test_counters_and_escapes(void **state)
{
	cleanup_metrics struct metrics *m = metrics_new(rows, N);

	(void)state;
	metrics_add(m, REQUESTS, 1, metrics_labels("validate", "allowed"));
	metrics_add(m, REQUESTS, 2, metrics_labels("validate", "allowed"));
	metrics_add(m, REQUESTS, 1, metrics_labels("a\\b\"c\nd", ""));
	metrics_set(m, OPEN, -2.5, NULL);
	expect_text(m, "# HELP requests_total Requests; a\\\\b\\nc \"d\"\n"
		       "# TYPE requests_total counter\n"
		       "requests_total{endpoint=\"validate\",verdict=\"allowed\"} 3\n"
		       "requests_total{endpoint=\"a\\\\b\\\"c\\nd\",verdict=\"\"} 1\n"
		       "# HELP open Open connections\n# TYPE open gauge\nopen -2.5\n");
}

static void test_a_dropped_series_is_gone(void **state)
{
	cleanup_metrics struct metrics *m = metrics_new(rows, N);

	(void)state;
	metrics_add(m, REQUESTS, 1, metrics_labels("validate", "allowed"));
	metrics_drop(m, REQUESTS, metrics_labels("validate", "allowed"));
	metrics_drop(m, OPEN, NULL);
	expect_text(m, "");
}

static void test_histogram(void **state)
{
	cleanup_metrics struct metrics *m = metrics_new(rows, N);

	(void)state;
	metrics_drop(m, OPEN, NULL);
	metrics_observe(m, SECONDS, 0.005, metrics_labels("v")); /* a bound belongs to its bucket */
	metrics_observe(m, SECONDS, 0.5, metrics_labels("v"));
	metrics_observe(m, SECONDS, 2, metrics_labels("v"));
	expect_text(m, "# HELP seconds Duration\n# TYPE seconds histogram\n"
		       "seconds_bucket{endpoint=\"v\",le=\"0.005\"} 1\n"
		       "seconds_bucket{endpoint=\"v\",le=\"0.1\"} 1\n"
		       "seconds_bucket{endpoint=\"v\",le=\"1\"} 2\n"
		       "seconds_bucket{endpoint=\"v\",le=\"+Inf\"} 3\n"
		       "seconds_sum{endpoint=\"v\"} 2.505\n"
		       "seconds_count{endpoint=\"v\"} 3\n");
}

static void test_values(void **state)
{
	static const struct {
		double v;
		const char *want;
	} cases[] = {
		{ 9007199254740991.0, "x 9007199254740991\n" },
		{ 1e15 + 60, "x 1000000000000060\n" },
		{ 0.1, "x 0.1\n" },
		{ 1.0 / 3, "x 0.3333333333333333\n" },
		{ 1e300, "x 1e+300\n" },
		{ (double)NAN, "x NaN\n" },
		{ (double)INFINITY, "x +Inf\n" },
		{ -(double)INFINITY, "x -Inf\n" },
	};

	(void)state;
	for (size_t i = 0; i < array_len(cases); i++) {
		struct buf b;

		buf_init(&b, 1024);
		metrics_write_sample(&b, "x", NULL, NULL, 0, cases[i].v);
		assert_string_equal(buf_str(&b), cases[i].want);
		buf_done(&b);
	}
}

static void collect_pods(void *ctx, struct buf *to)
{
	const char *const names[] = { "namespace", "pod" };
	const char *const *pods = ctx;

	metrics_write_family(to, "celld_restoring", METRIC_GAUGE, "Cells being restored");
	for (size_t i = 0; pods[i]; i++) {
		const char *values[] = { "shop", pods[i] };

		metrics_write_sample(to, "celld_restoring", names, values, 2, (double)i);
	}
}

static void test_collectors_come_after_the_rows(void **state)
{
	cleanup_metrics struct metrics *m = metrics_new(&rows[OPEN], 1);
	const char *pods[] = { "chat-celld-0", "chat-celld-1", NULL };

	(void)state;
	metrics_collect(m, collect_pods, pods);
	expect_text(m, "# HELP open Open connections\n# TYPE open gauge\nopen 0\n"
		       "# HELP celld_restoring Cells being restored\n"
		       "# TYPE celld_restoring gauge\n"
		       "celld_restoring{namespace=\"shop\",pod=\"chat-celld-0\"} 0\n"
		       "celld_restoring{namespace=\"shop\",pod=\"chat-celld-1\"} 1\n");
}

enum { THREADS = 4, ROUNDS = 2000 };

static void *count(void *arg)
{
	struct metrics *m = arg;

	for (int i = 0; i < ROUNDS; i++)
		metrics_add(m, OPEN, 1, NULL);
	return NULL;
}

static void test_threads_lose_no_count(void **state)
{
	cleanup_metrics struct metrics *m = metrics_new(rows, N);
	pthread_t t[THREADS];

	(void)state;
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&t[i], NULL, count, m), 0);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(t[i], NULL), 0);
	expect_text(m, "# HELP open Open connections\n# TYPE open gauge\nopen 8000\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows_without_labels_are_there_from_the_start),
		cmocka_unit_test(test_counters_and_escapes),
		cmocka_unit_test(test_a_dropped_series_is_gone),
		cmocka_unit_test(test_histogram),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_collectors_come_after_the_rows),
		cmocka_unit_test(test_threads_lose_no_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
