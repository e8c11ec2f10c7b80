/*
 * sweep_fixture.h - a sweeper with all that it needs, its table saying that every node has that internal port; its own
 * sweeps are an hour apart, so that only the test's take place.
 */
#ifndef TEST_LIB_SWEEP_FIXTURE_H
#define TEST_LIB_SWEEP_FIXTURE_H

#include <stdatomic.h>

#include "common/http.h"
#include "controller/sweep.h"

struct sweep_fixture {
	struct cache *cache;
	struct queue *queue;
	struct snapshots *snapshots;
	struct celld_table table;
	struct settings *settings;
	struct http_cancel *cancel;
	struct sweeper *sweeper;
	_Atomic bool active;
};

/* active: does it lead? Only then are requested sweeps made. */
void sweep_fixture_start(struct sweep_fixture *x, int port, bool active, int64_t request_ms,
			 int64_t batch_ms);
void sweep_fixture_stop(struct sweep_fixture *x);
/* Into the cache; frees it. */
void sweep_fixture_put(struct sweep_fixture *x, enum cache_kind kind, struct json *object);
/* App many/APP with a StatefulSet of n; the pods are the caller's. */
void sweep_fixture_app(struct sweep_fixture *x, const char *app, int n);
/* Pod many/APP-celld-I of it at ip. */
void sweep_fixture_pod(struct sweep_fixture *x, const char *app, int i, const char *ip);
/* The app's snapshot is there and complete. */
bool sweep_fixture_complete(struct sweep_fixture *x, const char *key);

#endif
