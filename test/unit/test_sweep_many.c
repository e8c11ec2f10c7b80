/*
 * Sweeps of many pods at as many addresses, silent and hostile ones among them. What a sweep costs is printed, not
 * judged; SOAK=1 (`make bench-sweep`) takes 3,000 pods instead of 300.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/limits.h"
#include "test/lib/field.h"
#include "test/lib/sanitized.h"
#include "test/lib/sweep_fixture.h"

enum { SMALL = 10, NAME = 32 };

static struct field *field;
static struct sweep_fixture x;
static int pods, large; /* all pods; of them in one fleet, the others in fleets of ten */

/* --- what it costs -------------------------------------------------------------------------------- */

struct cost {
	int64_t began_ms, cpu_us;
	long rss_kb;
};

static long status_kb(const char *name)
{
	FILE *f = fopen("/proc/self/status", "re");
	char line[256];
	long kb = -1;

	assert_non_null(f);
	while (kb < 0 && fgets(line, sizeof(line), f)) {
		if (strncmp(line, name, strlen(name)) == 0)
			kb = strtol(line + strlen(name) + 1, NULL, 10);
	}
	assert_int_equal(fclose(f), 0);
	return kb;
}

/* The kernel's high-water mark starts anew. */
static void forget_peak(void)
{
	int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "5", 1), 1);
	assert_int_equal(close(fd), 0);
}

static int64_t thread_us(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* One sweep, told in a line; returns by how much memory has grown at its peak, in kB. */
static long sweep_measured(const char *what)
{
	struct cost c;
	long peak;

	forget_peak();
	c.rss_kb = status_kb("VmRSS");
	c.began_ms = clock_mono_ms();
	c.cpu_us = thread_us();
	sweep_now(x.sweeper);
	c.cpu_us = thread_us() - c.cpu_us;
	peak = status_kb("VmHWM") - c.rss_kb;
	print_message(
		"%s: %lld ms, %lld ms of processor, memory grows by %ld kB, %ld kB of it stay\n",
		what, (long long)(clock_mono_ms() - c.began_ms), (long long)c.cpu_us / 1000, peak,
		status_kb("VmRSS") - c.rss_kb);
	return peak;
}

/* --- fleets --------------------------------------------------------------------------------------- */

static void start(int64_t request_ms, int64_t batch_ms)
{
	field = field_start();
	sweep_fixture_start(&x, field_port(field), false, request_ms, batch_ms);
}

static void stop(void)
{
	sweep_fixture_stop(&x);
	field_stop(field);
}

/* A fleet of n nodes of a kind, numbered from first on. */
static void add_fleet(const char *app, enum field_kind kind, int first, int n)
{
	char ip[FIELD_IP];

	sweep_fixture_app(&x, app, n);
	for (int i = 0; i < n; i++) {
		field_ip(kind, first + i, ip);
		sweep_fixture_pod(&x, app, i, ip);
	}
}

/* The large fleet, then small ones up to so many pods; every tenth of them is silent where that is asked for. */
static void add_all(bool silent)
{
	char app[NAME];

	add_fleet("large", FIELD_WELL, 0, large);
	for (int i = large; i < pods; i += SMALL) {
		int fleet = i / SMALL;

		(void)snprintf(app, sizeof(app), "f%d", fleet);
		/* of all pods, so more often of these */
		add_fleet(app, silent && fleet % 20 < 3 ? FIELD_SILENT : FIELD_WELL, i, SMALL);
	}
}

static bool complete(const char *app)
{
	char key[NAME + 8];

	(void)snprintf(key, sizeof(key), "many/%s", app);
	return sweep_fixture_complete(&x, key);
}

/* Fleets that are complete. */
static int count_complete(void)
{
	char app[NAME];
	int n = complete("large");

	for (int i = large; i < pods; i += SMALL) {
		(void)snprintf(app, sizeof(app), "f%d", i / SMALL);
		n += complete(app);
	}
	return n;
}

static void expect_why(const char *app, const char *why)
{
	char key[NAME + 8];
	const struct snapshot *s;

	(void)snprintf(key, sizeof(key), "many/%s", app);
	s = snapshots_get(x.snapshots, key);
	assert_non_null(s);
	assert_false(s->complete);
	for (size_t i = 0; i < s->n; i++) {
		assert_false(s->pods[i].state.valid);
		assert_string_equal(s->pods[i].state.why, why);
	}
	snapshot_drop(x.snapshots, s);
}

/* --- tests ---------------------------------------------------------------------------------------- */

static void test_all_well(void **state)
{
	(void)state;
	start(60000, 60000);
	add_all(false);
	(void)sweep_measured("all answer, first sweep");
	assert_int_equal(count_complete(), 1 + (pods - large) / SMALL);
	for (int i = 0; i < pods; i++)
		assert_int_equal(field_asked(field, FIELD_WELL, i), 1);
	(void)sweep_measured("all answer, second sweep");
	assert_int_equal(field_asked_all(field, FIELD_WELL), 2 * pods);
	stop();
}

/*
 * The silent ones stay so until each of the others has been answered: a sweep that waits for a silent pod before it
 * asks all others comes to its end without them.
 */
static void test_tenth_silent(void **state)
{
	int silent = pods / 10;

	(void)state;
	start(60000, 60000);
	add_all(true);
	field_release_after(field, pods - silent);
	(void)sweep_measured("one in ten silent");
	assert_int_equal(field_asked_all(field, FIELD_WELL), pods - silent);
	assert_int_equal(field_asked_all(field, FIELD_SILENT), silent);
	assert_int_equal(count_complete(), 1 + (pods - large - silent) / SMALL);
	stop();
}

/* Pods whose turn came in the last sweep, as it says itself, one turn more. */
static void count_turns(const char *key, int *turns)
{
	const struct snapshot *s = snapshots_get(x.snapshots, key);

	for (size_t i = 0; i < s->n; i++)
		turns[i] += s->pods[i].asked_ms == s->begun_ms;
	snapshot_drop(x.snapshots, s);
}

/*
 * More silent pods than a sweep has places for: each is asked in its turn, and none is forgotten. The sweeps are cut
 * by their own end while all that they asked are still silent.
 */
static void test_more_silent_than_places(void **state)
{
	enum { ALL = 150 };
	int turns[ALL] = { 0 }, least = 100, most = 0, all = 0;

	(void)state;
	start(60000, 1000);
	add_fleet("large", FIELD_SILENT, 0, ALL);
	for (int sweep = 0; sweep < 4; sweep++) {
		sweep_now(x.sweeper);
		expect_why("large", "timed out"); /* of all: who was not asked is what he was */
		count_turns("many/large", turns);
	}
	/* nobody a second time more than another, however far a sweep came */
	for (int i = 0; i < ALL; i++) {
		least = turns[i] < least ? turns[i] : least;
		most = turns[i] > most ? turns[i] : most;
		all += turns[i];
		assert_true(field_asked(field, FIELD_SILENT, i) <= turns[i]);
	}
	assert_in_range(most - least, 0, 1);
	/* and none of them but from the lane of the silent, once they were known for it */
	assert_true(all <= ALL + 3 * SWEEP_SLOW_IN_FLIGHT);
	stop();
}

/* What does not end by itself ends by its size. */
static void test_floods(void **state)
{
	(void)state;
	start(60000, 60000);
	add_fleet("flood", FIELD_FLOOD, 0, 1);
	add_fleet("long", FIELD_LONG, 0, 1);
	add_fleet("endless", FIELD_ENDLESS, 0, 1);
	add_fleet("large", FIELD_WELL, 0, SMALL);
	(void)sweep_measured("three floods of 1 GiB");
	expect_why("flood", "too large");
	expect_why("long", "too large");
	expect_why("endless", "too large");
	assert_true(complete("large"));
	assert_in_range(field_sent(field, FIELD_FLOOD), 4 << 20,
			64 << 20); /* and sockets' buffers */
	assert_in_range(field_sent(field, FIELD_LONG), 0, 64 << 20);
	assert_in_range(field_sent(field, FIELD_ENDLESS), 0, 64 << 20);
	stop();
}

/* And by its time, however busy it keeps. */
static void test_trickle(void **state)
{
	(void)state;
	start(1500, 60000);
	add_fleet("slow", FIELD_TRICKLE, 0, 3);
	(void)sweep_measured("a byte a second");
	expect_why("slow", "timed out");
	assert_int_equal(field_asked_all(field, FIELD_TRICKLE), 3);
	stop();
}

/* A whole fleet that floods: its bodies wait for each other. */
static void test_many_floods(void **state)
{
	long peak;

	(void)state;
	start(60000, 60000);
	add_fleet("flood", FIELD_FLOOD, 0, 100);
	add_fleet("large", FIELD_WELL, 0, SMALL);
	peak = sweep_measured("many floods of 1 GiB");
	if (!SANITIZED && !getenv("VALGRIND")) /* they take memory of their own */
		assert_in_range(peak, 0, 96 << 10);
	expect_why("flood", "too large");
	assert_true(complete("large"));
	stop();
}

/*
 * Pods that hold what they have got of our memory, and send no more: whoever has less to say is not kept waiting.
 * They go when he has been answered, not before.
 */
static void test_hoarders(void **state)
{
	enum { HOARDERS = 16, BIG = 4 };

	(void)state;
	start(60000, 60000);
	add_fleet("hoard", FIELD_HOARD, 0, HOARDERS);
	add_fleet("large", FIELD_BIG, 0, BIG);
	field_release_after(field, BIG);
	(void)sweep_measured("hoarders");
	assert_true(complete("large"));
	assert_false(complete("hoard"));
	assert_true(field_sent(field, FIELD_HOARD) > LIMIT_STATES);
	stop();
}

/* With the waits as they are: when the last well fleet was complete, and when the sweep ended. */
static void test_true_waits(void **state)
{
	int64_t last = 0, began;

	(void)state;
	start(0, 0);
	add_all(true);
	for (int sweep = 0; sweep < 2; sweep++) {
		began = clock_wall_ms();
		(void)sweep_measured("one in ten silent, 3 s each, 10 s in all");
		for (int i = large; i < pods; i += SMALL) {
			cleanup(freep) char *key = xasprintf("many/f%d", i / SMALL);
			const struct snapshot *s = snapshots_get(x.snapshots, key);

			if (s->complete && s->sampled_ms > last)
				last = s->sampled_ms;
			snapshot_drop(x.snapshots, s);
		}
		print_message("all others were there after %lld ms\n", (long long)(last - began));
		assert_int_equal(count_complete(), 1 + (pods - large - pods / 10) / SMALL);
	}
	stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_well),
		cmocka_unit_test(test_tenth_silent),
		cmocka_unit_test(test_more_silent_than_places),
		cmocka_unit_test(test_floods),
		cmocka_unit_test(test_trickle),
		cmocka_unit_test(test_many_floods),
		cmocka_unit_test(test_hoarders),
	};
	const struct CMUnitTest long_ones[] = { cmocka_unit_test(test_true_waits) };
	struct err e = ERR_INIT;

	pods = getenv("SOAK") ? 3000 : 300;
	large = pods / 3;
	if (http_global_init(&e))
		return 1;
	if (getenv("SOAK") && cmocka_run_group_tests(long_ones, NULL, NULL))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
