#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "controller/queue.h"

static void expect_next(struct queue *q, const char *want)
{
	cleanup(freep) char *key = queue_get(q);

	assert_non_null(key);
	assert_string_equal(key, want);
}

static void expect_stats(struct queue *q, int64_t ready, int64_t delayed, int64_t working)
{
	struct queue_stats s;

	queue_stats(q, &s);
	assert_int_equal(s.ready, ready);
	assert_int_equal(s.delayed, delayed);
	assert_int_equal(s.working, working);
}

static void keys_that_wait_merge_and_keep_their_order(void **state)
{
	struct queue *q = queue_new(10, 100);
	struct queue_stats s;

	(void)state;
	queue_add(q, "ns/a");
	queue_add(q, "ns/b");
	queue_add(q, "ns/a");
	expect_stats(q, 2, 0, 0);
	queue_stats(q, &s);
	assert_int_equal(s.adds, 3);
	expect_next(q, "ns/a");
	expect_next(q, "ns/b");
	expect_stats(q, 0, 0, 2);
	queue_done(q, "ns/a", false);
	queue_done(q, "ns/b", false);
	expect_stats(q, 0, 0, 0);
	queue_free(q);
}

static void a_key_is_with_one_worker_and_comes_back_once(void **state)
{
	struct queue *q = queue_new(10, 100);

	(void)state;
	queue_add(q, "ns/a");
	expect_next(q, "ns/a");
	queue_add(q, "ns/a");
	queue_add(q, "ns/a");
	queue_add(q, "ns/b");
	/* a is in work: b is the only one to be had */
	expect_stats(q, 1, 0, 1);
	expect_next(q, "ns/b");
	queue_done(q, "ns/a", false);
	expect_stats(q, 1, 0, 1);
	expect_next(q, "ns/a");
	queue_done(q, "ns/a", false);
	queue_done(q, "ns/b", false);
	expect_stats(q, 0, 0, 0);
	queue_free(q);
}

/* A key that was added while it was in work comes at once, even when its turn has failed. */
static void news_go_before_the_back_off(void **state)
{
	struct queue *q = queue_new(3600000, 3600000);

	(void)state;
	queue_add(q, "ns/a");
	expect_next(q, "ns/a");
	queue_add(q, "ns/a");
	queue_done(q, "ns/a", true);
	expect_next(q, "ns/a");
	queue_done(q, "ns/a", false);
	queue_free(q);
}

/* No pause is below half of what doubling gives, and none above it by more than the time that passes here. */
static void the_back_off_doubles_within_its_jitter(void **state)
{
	static const int64_t whole[] = { 20, 40, 80, 100, 100 };
	struct queue *q = queue_new(20, 100);
	struct queue_stats s;

	(void)state;
	queue_add(q, "ns/a");
	expect_next(q, "ns/a");
	for (size_t i = 0; i < array_len(whole); i++) {
		int64_t before = clock_mono_ms();

		queue_done(q, "ns/a", true);
		expect_stats(q, 0, 1, 0);
		expect_next(q, "ns/a");
		assert_true(clock_mono_ms() - before >= whole[i] / 2);
	}
	queue_stats(q, &s);
	assert_int_equal(s.retries, 5);
	queue_done(q, "ns/a", false);
	expect_stats(q, 0, 0, 0);
	queue_free(q);
}

/* The longest pause is an hour: whoever waits for it would never end. */
static void an_app_that_always_fails_delays_no_other(void **state)
{
	struct queue *q = queue_new(3600000, 3600000);
	char name[32];

	(void)state;
	queue_add(q, "ns/broken");
	expect_next(q, "ns/broken");
	queue_done(q, "ns/broken", true);
	for (int i = 0; i < 1000; i++) {
		(void)snprintf(name, sizeof(name), "ns/good-%d", i);
		queue_add(q, name);
		expect_next(q, name);
		queue_done(q, name, false);
	}
	expect_stats(q, 0, 1, 0);
	queue_free(q);
}

static void a_success_starts_the_back_off_anew(void **state)
{
	struct queue *q = queue_new(1, 3600000);

	(void)state;
	for (int i = 0; i < 40; i++) {
		/* without the reset the pauses would soon be longer than any test */
		queue_add(q, "ns/a");
		expect_next(q, "ns/a");
		queue_done(q, "ns/a", true);
		expect_next(q, "ns/a");
		queue_done(q, "ns/a", false);
	}
	queue_free(q);
}

static void the_earlier_moment_stays(void **state)
{
	struct queue *q = queue_new(10, 100);
	int64_t before = clock_mono_ms();

	(void)state;
	queue_add_after(q, "ns/a", 20);
	queue_add_after(q, "ns/a", 3600000);
	expect_stats(q, 0, 1, 0);
	expect_next(q, "ns/a");
	assert_true(clock_mono_ms() - before >= 20);
	queue_done(q, "ns/a", false);
	/* and a later one makes way for an earlier one, or for now */
	queue_add_after(q, "ns/a", 3600000);
	queue_add_after(q, "ns/a", 1);
	expect_next(q, "ns/a");
	queue_add_after(q, "ns/a", 3600000);
	queue_done(q, "ns/a", false);
	expect_stats(q, 0, 1, 0);
	queue_add(q, "ns/a");
	expect_stats(q, 1, 0, 0);
	expect_next(q, "ns/a");
	queue_done(q, "ns/a", false);
	expect_stats(q, 0, 0, 0);
	queue_free(q);
}

static void a_delay_of_a_key_that_waits_means_nothing(void **state)
{
	struct queue *q = queue_new(10, 100);

	(void)state;
	queue_add(q, "ns/a");
	queue_add_after(q, "ns/a", 3600000);
	expect_stats(q, 1, 0, 0);
	expect_next(q, "ns/a");
	queue_done(q, "ns/a", false);
	expect_stats(q, 0, 0, 0);
	queue_free(q);
}

static void *get_one(void *q)
{
	return queue_get(q);
}

static void closing_wakes_everybody(void **state)
{
	struct queue *q = queue_new(10, 100);
	pthread_t threads[3];

	(void)state;
	for (size_t i = 0; i < array_len(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, get_one, q), 0);
	queue_close(q);
	for (size_t i = 0; i < array_len(threads); i++) {
		void *key;

		assert_int_equal(pthread_join(threads[i], &key), 0);
		assert_null(key);
	}
	queue_add(q, "ns/late");
	assert_null(queue_get(q));
	queue_free(q);
	queue_free(NULL);
}

/* Many workers, few keys: `in_work` would be above one if two had the same key at a time. */
struct load {
	struct queue *q;
	_Atomic int in_work[4], turns, overlaps;
};

enum { TURNS = 2000 };

static void *work(void *p)
{
	struct load *l = p;
	char *key;

	while ((key = queue_get(l->q))) {
		int n = key[0] - '0';

		if (l->in_work[n]++)
			l->overlaps++;
		l->in_work[n]--;
		if (l->turns++ < TURNS)
			queue_add(l->q, key);
		else
			queue_close(l->q);
		queue_done(l->q, key, l->turns % 7 == 0);
		free(key);
	}
	return NULL;
}

static void no_key_is_with_two_workers(void **state)
{
	static struct load l;
	pthread_t threads[8];

	(void)state;
	l.q = queue_new(1, 2);
	for (int i = 0; i < 4; i++)
		queue_add(l.q, (const char *[]){ "0", "1", "2", "3" }[i]);
	for (size_t i = 0; i < array_len(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, work, &l), 0);
	for (size_t i = 0; i < array_len(threads); i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(l.overlaps, 0);
	assert_true(l.turns >= TURNS);
	queue_free(l.q);
}

/* The server has asked for a pause: neither events nor the key's own back-off bring it back before. */
static void a_key_that_is_held_waits(void **state)
{
	struct queue *q = queue_new(1, 2);

	(void)state;
	queue_add(q, "ns/a");
	expect_next(q, "ns/a");
	queue_hold(q, "ns/a", 3600000);
	queue_add(q, "ns/a");
	queue_done(q, "ns/a", true);
	expect_stats(q, 0, 1, 0);
	queue_add(q, "ns/a");
	expect_stats(q, 0, 1, 0);
	queue_add_after(q, "ns/a", 1);
	/* b comes after the moment that was asked for a */
	queue_add_after(q, "ns/b", 20);
	expect_next(q, "ns/b");
	expect_stats(q, 0, 1, 1);
	queue_free(q);
}

static void a_key_that_was_held_comes_back(void **state)
{
	struct queue *q = queue_new(1, 2);
	int64_t begun = clock_mono_ms();

	(void)state;
	queue_add(q, "ns/a");
	expect_next(q, "ns/a");
	queue_hold(q, "ns/a", 30);
	queue_done(q, "ns/a", true);
	expect_next(q, "ns/a");
	assert_true(clock_mono_ms() - begun >= 30);
	/* and then it is like any other */
	queue_add(q, "ns/a");
	queue_done(q, "ns/a", false);
	expect_stats(q, 1, 0, 0);
	queue_free(q);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_that_wait_merge_and_keep_their_order),
		cmocka_unit_test(a_key_is_with_one_worker_and_comes_back_once),
		cmocka_unit_test(news_go_before_the_back_off),
		cmocka_unit_test(the_back_off_doubles_within_its_jitter),
		cmocka_unit_test(an_app_that_always_fails_delays_no_other),
		cmocka_unit_test(a_success_starts_the_back_off_anew),
		cmocka_unit_test(the_earlier_moment_stays),
		cmocka_unit_test(a_delay_of_a_key_that_waits_means_nothing),
		cmocka_unit_test(closing_wakes_everybody),
		cmocka_unit_test(no_key_is_with_two_workers),
		cmocka_unit_test(a_key_that_is_held_waits),
		cmocka_unit_test(a_key_that_was_held_comes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
