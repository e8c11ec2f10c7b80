/*
 * turn_fixture.h - a turn about the WorkerApp of app_fixture.h ("store/shop", UID u-1), an empty cache, and a client
 * whose server is a script.
 */
#ifndef TEST_LIB_TURN_FIXTURE_H
#define TEST_LIB_TURN_FIXTURE_H

#include "controller/turn.h"
#include "test/lib/app_fixture.h"
#include "test/lib/script.h"

struct turn_fixture {
	struct script *server;
	struct kube_config *config;
	struct reconcile_opts opts;
	struct app_fixture app;
	struct turn turn;
	struct err e;
	int64_t allowed_ms; /* the fence of the client: a minute */
};

void turn_fixture_start(struct turn_fixture *f, const struct script_step *steps, size_t n);
/* Fails when the server was asked for what its script does not say. */
void turn_fixture_stop(struct turn_fixture *f);
/* Into the cache. */
void turn_fixture_knows(struct turn_fixture *f, enum cache_kind kind, const char *text);

#endif
