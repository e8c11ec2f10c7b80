#include "controller/queue.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/map.h"

struct item {
	bool ready, working, again;
	int64_t due;   /* monotonic; 0: not delayed */
	int64_t since; /* monotonic, when it became ready */
	int64_t held;  /* monotonic, not to be had before */
	int failures;
	struct item *next; /* in the list of ready ones */
	char key[];
};

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct map *items;
	struct item *head, **tail;
	int64_t first_ms, most_ms;
	int64_t next_due; /* no delayed item is due before this moment */
	unsigned seed;
	bool closed;
	struct queue_stats stats;
};

struct queue *queue_new(int64_t first_ms, int64_t most_ms)
{
	struct queue *q = xcalloc(1, sizeof(*q));
	pthread_condattr_t attr;

	(void)pthread_condattr_init(&attr);
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&q->wake, &attr);
	(void)pthread_condattr_destroy(&attr);
	(void)pthread_mutex_init(&q->lock, NULL);
	q->items = map_new(free);
	q->tail = &q->head;
	q->first_ms = first_ms;
	q->most_ms = most_ms;
	q->next_due = INT64_MAX;
	q->seed = (unsigned)clock_mono_ms();
	return q;
}

void queue_free(struct queue *q)
{
	if (!q)
		return;
	map_free(q->items);
	(void)pthread_cond_destroy(&q->wake);
	(void)pthread_mutex_destroy(&q->lock);
	free(q);
}

static struct item *item_of(struct queue *q, const char *key)
{
	struct item *i = map_get(q->items, key);

	if (!i) {
		i = xcalloc(1, sizeof(*i) + strlen(key) + 1);
		memcpy(i->key, key, strlen(key) + 1);
		map_put(q->items, key, i);
	}
	return i;
}

static void delay(struct queue *q, struct item *i, int64_t ms);

static void make_ready(struct queue *q, struct item *i)
{
	int64_t wait = i->held ? i->held - clock_mono_ms() : 0;

	if (i->due) {
		i->due = 0;
		q->stats.delayed--;
	}
	if (i->working) {
		i->again = true;
	} else if (wait > 0) {
		delay(q, i, wait);
	} else if (!i->ready) {
		i->held = 0;
		i->ready = true;
		i->since = clock_mono_ms();
		i->next = NULL;
		*q->tail = i;
		q->tail = &i->next;
		q->stats.ready++;
		(void)pthread_cond_signal(&q->wake);
	}
}

static void delay(struct queue *q, struct item *i, int64_t ms)
{
	int64_t due = clock_mono_ms() + ms;

	if (i->ready || i->again || (i->due && i->due <= due))
		return;
	if (!i->due)
		q->stats.delayed++;
	i->due = due;
	if (due < q->next_due) {
		q->next_due = due;
		(void)pthread_cond_broadcast(&q->wake);
	}
}

void queue_add(struct queue *q, const char *key)
{
	(void)pthread_mutex_lock(&q->lock);
	q->stats.adds++;
	make_ready(q, item_of(q, key));
	(void)pthread_mutex_unlock(&q->lock);
}

void queue_add_after(struct queue *q, const char *key, int64_t ms)
{
	(void)pthread_mutex_lock(&q->lock);
	delay(q, item_of(q, key), ms > 0 ? ms : 1);
	(void)pthread_mutex_unlock(&q->lock);
}

void queue_hold(struct queue *q, const char *key, int64_t ms)
{
	struct item *i;

	(void)pthread_mutex_lock(&q->lock);
	i = item_of(q, key);
	i->held = clock_mono_ms() + ms + (int64_t)rand_r(&q->seed) % (ms / 10 + 1);
	(void)pthread_mutex_unlock(&q->lock);
}

struct due_walk {
	struct queue *q;
	int64_t now, next;
};

static void look_at(const char *key, void *value, void *ctx)
{
	struct item *i = value;
	struct due_walk *w = ctx;

	(void)key;
	if (!i->due)
		return;
	if (i->due <= w->now)
		make_ready(w->q, i);
	if (i->due && i->due < w->next)
		w->next = i->due;
}

/* Delayed keys whose moment has come become ready. */
static void move_due(struct queue *q)
{
	struct due_walk w = { .q = q, .now = clock_mono_ms(), .next = INT64_MAX };

	if (w.now < q->next_due)
		return;
	map_each(q->items, look_at, &w);
	q->next_due = w.next;
}

static void wait_until_due(struct queue *q)
{
	struct timespec ts;
	int64_t ms;

	if (q->next_due == INT64_MAX) {
		(void)pthread_cond_wait(&q->wake, &q->lock);
		return;
	}
	ms = q->next_due - clock_mono_ms();
	if (ms <= 0)
		return;
	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	ts.tv_sec += (time_t)(ms / 1000);
	ts.tv_nsec += (long)(ms % 1000) * 1000000L;
	if (ts.tv_nsec >= 1000000000L) {
		ts.tv_nsec -= 1000000000L;
		ts.tv_sec++;
	}
	(void)pthread_cond_timedwait(&q->wake, &q->lock, &ts);
}

char *queue_get(struct queue *q)
{
	char *key = NULL;

	(void)pthread_mutex_lock(&q->lock);
	while (!q->closed) {
		struct item *i;

		move_due(q);
		i = q->head;
		if (!i) {
			wait_until_due(q);
			continue;
		}
		q->head = i->next;
		if (!q->head)
			q->tail = &q->head;
		i->ready = false;
		i->working = true;
		q->stats.ready--;
		q->stats.working++;
		key = xstrdup(i->key);
		break;
	}
	(void)pthread_mutex_unlock(&q->lock);
	return key;
}

/* Doubling from the first pause to the largest, each between a half and the whole of it; no less than it is held. */
static int64_t pause_of(struct queue *q, const struct item *i)
{
	int64_t ms = q->first_ms, held = i->held - clock_mono_ms();

	for (int n = 1; n < i->failures && ms < q->most_ms; n++)
		ms *= 2;
	if (ms > q->most_ms)
		ms = q->most_ms;
	ms = ms / 2 + (int64_t)rand_r(&q->seed) % (ms / 2 + 1);
	return ms > held ? ms : held;
}

void queue_done(struct queue *q, const char *key, bool failed)
{
	struct item *i;

	(void)pthread_mutex_lock(&q->lock);
	i = item_of(q, key);
	i->working = false;
	q->stats.working--;
	i->failures = failed ? i->failures + 1 : 0;
	if (i->again) {
		i->again = false;
		make_ready(q, i);
	} else if (failed) {
		q->stats.retries++;
		delay(q, i, pause_of(q, i));
	} else if (!i->due && !i->ready) {
		map_del(q->items, key);
	}
	(void)pthread_mutex_unlock(&q->lock);
}

void queue_close(struct queue *q)
{
	(void)pthread_mutex_lock(&q->lock);
	q->closed = true;
	(void)pthread_cond_broadcast(&q->wake);
	(void)pthread_mutex_unlock(&q->lock);
}

void queue_stats(struct queue *q, struct queue_stats *ret)
{
	(void)pthread_mutex_lock(&q->lock);
	*ret = q->stats;
	ret->oldest_ms = q->head ? clock_mono_ms() - q->head->since : 0;
	(void)pthread_mutex_unlock(&q->lock);
}
