#include "cli/qualify_race.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base.h"

enum answer { WON, LOST, UNCLEAR };

struct writer {
	struct race *race;
	int64_t index;
	pthread_t thread;
	struct store *store;
	struct http_client *client;
	enum answer answer;
	char tag[STORE_TAG];
	struct err e;
};

struct race {
	const struct race_opts *o;
	struct writer *writers;
	pthread_barrier_t start, end;
	char key[64], tag[STORE_TAG]; /* of the round; tag "": create */
	bool over;
};

static char *body_of(const struct writer *w)
{
	return xasprintf("%s writer %lld%s\n", w->race->key, (long long)w->index,
			 w->race->tag[0] ? " again" : "");
}

static void attempt(struct writer *w)
{
	cleanup(freep) char *body = body_of(w);
	const struct store_op op = { .verb = STORE_PUT,
				     .key = w->race->key,
				     .body = body,
				     .body_len = strlen(body),
				     .if_absent = !w->race->tag[0],
				     .if_tag = w->race->tag[0] ? w->race->tag : NULL };
	struct http_response r = HTTP_RESPONSE_INIT;
	struct store_reply reply = { .unchanged = false };
	int rc = store_do(w->store, w->client, &op, &r, &reply, &w->e);

	w->answer = !rc ? WON : rc == -ERR_CONFLICT ? LOST : UNCLEAR;
	/* a store that has lost its object under a condition may say so */
	if (rc == -ERR_NOT_FOUND && op.if_tag)
		w->answer = LOST;
	memcpy(w->tag, reply.tag, sizeof(w->tag));
	store_reply_done(&reply);
	http_response_done(&r);
}

static void *work(void *p)
{
	struct writer *w = p;

	for (;;) {
		(void)pthread_barrier_wait(&w->race->start);
		if (w->race->over)
			return NULL;
		attempt(w);
		(void)pthread_barrier_wait(&w->race->end);
	}
}

/* One heat; the winner, NULL when nobody won. */
static struct writer *heat(struct race *race, struct race_result *ret, int64_t *ret_lost)
{
	struct writer *winner = NULL;
	int64_t winners = 0;

	(void)pthread_barrier_wait(&race->start);
	(void)pthread_barrier_wait(&race->end);
	for (int64_t i = 0; i < race->o->writers; i++) {
		struct writer *w = &race->writers[i];

		if (w->answer == WON) {
			winners++;
			winner = w;
		} else if (w->answer == UNCLEAR) {
			ret->unclear++;
			ret->last = w->e;
		}
	}
	*ret_lost += winners > 1;
	ret->nobody += winners == 0;
	return winner;
}

/* What lies there is what the winner has written. */
static void verify(struct writer *w, struct race_result *ret)
{
	cleanup(freep) char *body = body_of(w);
	const struct store_op op = { .verb = STORE_GET, .key = w->race->key };
	struct http_response r = HTTP_RESPONSE_INIT;
	struct store_reply reply = { .unchanged = false };
	int rc = store_do(w->store, w->client, &op, &r, &reply, &w->e);

	if (rc && rc != -ERR_NOT_FOUND) {
		ret->unclear++;
		ret->last = w->e;
	} else if (rc || reply.body_len != strlen(body) ||
		   memcmp(reply.body, body, reply.body_len) != 0) {
		ret->torn++;
	}
	store_reply_done(&reply);
	http_response_done(&r);
}

static void clean(struct race *race)
{
	struct writer *w = &race->writers[0];
	const struct store_op op = { .verb = STORE_DELETE, .key = race->key };
	struct http_response r = HTTP_RESPONSE_INIT;
	struct store_reply reply = { .unchanged = false };

	(void)store_do(w->store, w->client, &op, &r, &reply, &w->e);
	store_reply_done(&reply);
	http_response_done(&r);
}

static void round_of(struct race *race, struct race_result *ret)
{
	struct writer *winner;
	int64_t unclear = ret->unclear;

	race->tag[0] = '\0';
	winner = heat(race, ret, &ret->creates_lost);
	if (winner && ret->unclear == unclear)
		verify(winner, ret);
	if (winner && winner->tag[0]) {
		memcpy(race->tag, winner->tag, sizeof(race->tag));
		winner = heat(race, ret, &ret->replaces_lost);
		if (winner && ret->unclear == unclear)
			verify(winner, ret);
	}
	clean(race);
}

static void done(struct race *race, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		store_free(race->writers[i].store);
		http_client_free(race->writers[i].client);
	}
	free(race->writers);
}

static int open_all(struct race *race, struct err *e)
{
	for (int64_t i = 0; i < race->o->writers; i++) {
		struct writer *w = &race->writers[i];
		int r = store_open(race->o->place, race->o->keys, &w->store, e);

		if (r) {
			done(race, i);
			return r;
		}
		w->race = race;
		w->index = i;
		w->client = http_client_new(NULL);
	}
	return 0;
}

int race_run(const struct race_opts *o, struct race_result *ret, struct err *e)
{
	struct race race = { .o = o,
			     .writers = xcalloc((size_t)o->writers, sizeof(struct writer)) };
	int r = open_all(&race, e);

	*ret = (struct race_result){ .rounds = 0 };
	if (r)
		return r;
	(void)pthread_barrier_init(&race.start, NULL, (unsigned)o->writers + 1);
	(void)pthread_barrier_init(&race.end, NULL, (unsigned)o->writers + 1);
	for (int64_t i = 0; i < o->writers; i++) {
		if (pthread_create(&race.writers[i].thread, NULL, work, &race.writers[i]))
			abort();
	}
	for (; ret->rounds < o->rounds; ret->rounds++) {
		(void)snprintf(race.key, sizeof(race.key), "race-%lld", (long long)ret->rounds);
		round_of(&race, ret);
		if (o->progress)
			o->progress(o->ctx, ret->rounds + 1);
	}
	race.over = true;
	(void)pthread_barrier_wait(&race.start);
	for (int64_t i = 0; i < o->writers; i++)
		(void)pthread_join(race.writers[i].thread, NULL);
	(void)pthread_barrier_destroy(&race.start);
	(void)pthread_barrier_destroy(&race.end);
	done(&race, o->writers);
	return 0;
}
