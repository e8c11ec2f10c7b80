/*
 * Many apps at one endpoint: it gets one request an app and interval, a start makes no burst, memory is flat. SOAK=1:
 * 1,000 apps, 10 s, for two minutes; else 300 and 1 s. QUICK=1 (valgrind, TSan): 60.
 *
 * Waits are for requests, never for time. A machine that stands still for a moment makes them late: so the steady
 * rate may be taken up to three times, and of the start only what is too early is wrong.
 */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "common/clock.h"
#include "test/lib/sick.h"
#include "test/lib/tracker_fixture.h"

static const struct script_step secret_step = { .want = TRACKER_GET_SECRET,
						.body = TRACKER_SECRET("1"),
						.again = true };

struct run {
	struct tracker_fixture t;
	struct sick *store;
	size_t apps, intervals;
	int64_t interval_ms;
	size_t floor; /* least memory in use while calls were waited for; requests under way come and go */
};

static void follow_all(struct run *r)
{
	for (size_t i = 0; i < r->apps; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "app-%zu", i);
		tracker_follow(&r->t, name, sick_url(r->store), false);
	}
}

static size_t memory(void)
{
	const struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

static void wait_calls(struct run *r, size_t n)
{
	for (size_t step = r->apps / 20, at = sick_calls(r->store); at < n;) {
		at = n - at > step ? at + step : n;
		assert_true(sick_wait(r->store, at));
		if (memory() < r->floor)
			r->floor = memory();
	}
}

/* The apps' first reads, in tenths: none is much before its time. */
static void check_start(struct run *r)
{
	int64_t begin;
	size_t most = 0;
	int64_t least = r->interval_ms;

	sick_switch(r->store, SICK_FINE, TRACKER_POINTER("v1"));
	begin = clock_mono_ms();
	follow_all(r);
	for (size_t k = 1; k <= 10; k++) {
		int64_t before = clock_mono_ms(), after;

		wait_calls(r, r->apps * k / 10);
		after = clock_mono_ms();
		assert_true(after - begin >= (int64_t)(10 * k - 25) * r->interval_ms / 100 ||
			    k < 3);
		if (k < 10 && after - before < least) {
			least = after - before;
			most = k;
		}
	}
	printf("        start: the first %zu requests took %.2f intervals; the quickest tenth "
	       "(%zu.) %.3f\n",
	       r->apps, (double)(clock_mono_ms() - begin) / (double)r->interval_ms, most,
	       (double)least / (double)r->interval_ms);
}

static double processor_ms(void)
{
	struct rusage u;

	(void)getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000 +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1000;
}

/* Requests of whole intervals against apps x intervals, in per cent. */
static double rate(struct run *r)
{
	size_t from = sick_calls(r->store), n = r->apps * r->intervals;
	int64_t begin = clock_mono_ms(), ms;
	double cpu = processor_ms(), percent;

	wait_calls(r, from + n);
	ms = clock_mono_ms() - begin;
	percent = 100.0 * (double)n * (double)r->interval_ms / ((double)ms * (double)r->apps);
	printf("        %zu apps, interval %lld ms: %zu requests in %lld ms, %.1f %% of apps / "
	       "interval; "
	       "%.2f ms of processor a request, the store's part included\n",
	       r->apps, (long long)r->interval_ms, n, (long long)ms, percent,
	       (processor_ms() - cpu) / (double)n);
	return percent;
}

static void check_steady(struct run *r)
{
	double percent = 0;
	size_t before;

	r->floor = SIZE_MAX;
	wait_calls(r, sick_calls(r->store) + r->apps);
	before = r->floor;
	for (int tries = 0; tries < 3 && (percent < 95 || percent > 105); tries++)
		percent = rate(r);
	assert_true(percent >= 95 && percent <= 105);
	r->floor = SIZE_MAX;
	wait_calls(r, sick_calls(r->store) + r->apps);
	printf("        memory in use, at least: %zu bytes before, %zu after\n", before, r->floor);
	assert_true(r->floor < before + (256 << 10));
}

static void test_rate(void **state)
{
	const bool soak = getenv("SOAK") != NULL, quick = getenv("QUICK") != NULL;
	struct run r = { .apps = soak	 ? 1000
				 : quick ? 60
					 : 300,
			 .interval_ms = soak ? 10000 : 1000,
			 .intervals = soak ? 5 : 2 };
	struct tracker_opts o = { .interval_ms = r.interval_ms };
	struct strlist local = STRLIST_INIT;
	struct track_facts facts;

	(void)state;
	r.store = sick_start(false, NULL);
	strlist_add(&local, sick_url(r.store));
	tracker_begin(&r.t, &secret_step, 1, &local, &o, 3600000);
	check_start(&r);
	check_steady(&r);
	/* dies in the midst of it; the next one knows nothing */
	tracker_die(&r.t);
	tracker_rise(&r.t);
	check_start(&r);
	check_steady(&r);
	tracker_facts(r.t.tracker, "shop/app-0", &facts);
	assert_string_equal(facts.version, "v1");
	tracker_end(&r.t);
	strlist_done(&local);
	sick_stop(r.store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rate),
	};
	struct err e = ERR_INIT;

	if (http_global_init(&e))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
