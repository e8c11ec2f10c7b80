/*
 * store_fixture.h - a store's client before a scripted server.
 */
#ifndef TEST_LIB_STORE_FIXTURE_H
#define TEST_LIB_STORE_FIXTURE_H

#include "common/store/store.h"
#include "test/lib/script.h"

struct store_fixture {
	struct script *script;
	struct store *store;
	struct http_client *client;
	struct http_response response;
	struct store_reply reply;
	struct store_keys keys;
	struct err e;
};

/* A key of the client's, before it begins. */
void store_fixture_give(struct store_fixture *f, const char *name, const char *value);
/* The place's endpoint is a path of the server's. */
void store_fixture_begin(struct store_fixture *f, const struct store_place *place,
			 const struct script_step *steps, size_t n);
int store_fixture_go(struct store_fixture *f, const struct store_op *op);
void store_fixture_end(struct store_fixture *f);

#endif
