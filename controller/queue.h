/*
 * queue.h - the keyed work queue: which apps are to be looked at, by whom, when.
 *
 * A key is in the hands of one worker at a time. Keys that are added while they wait merge; a key that is added while a
 * worker has it comes back once afterwards. First come, first served, so that no app starves another. An app that
 * fails is retried with a back-off of its own (doubling, jittered), which delays nobody else.
 */
#ifndef CONTROLLER_QUEUE_H
#define CONTROLLER_QUEUE_H

#include "common/base.h"

struct queue;

/* The first and the largest pause of a key that fails, milliseconds. */
struct queue *queue_new(int64_t first_ms, int64_t most_ms) must_use;
void queue_free(struct queue *q);

void queue_add(struct queue *q, const char *key);
/* Not before ms have passed; an earlier moment that was asked for before stays. */
void queue_add_after(struct queue *q, const char *key, int64_t ms);
/* Not before ms, and up to a tenth more, have passed, whoever adds it meanwhile: the server has asked for it. */
void queue_hold(struct queue *q, const char *key, int64_t ms);
/* Waits for a key; the caller's text, or NULL when the queue has been closed. */
char *queue_get(struct queue *q) must_use;
/* The worker is done with key. failed: come back after its back-off; else the back-off starts anew next time. */
void queue_done(struct queue *q, const char *key, bool failed);
/* Ends every queue_get with NULL. */
void queue_close(struct queue *q);

struct queue_stats {
	int64_t ready, delayed, working, adds, retries;
	int64_t oldest_ms; /* how long the one that is next has been ready; 0: none is */
};
void queue_stats(struct queue *q, struct queue_stats *ret);

#endif
