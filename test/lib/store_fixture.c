#include "test/lib/store_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

void store_fixture_give(struct store_fixture *f, const char *name, const char *value)
{
	secret_set(store_key(&f->keys, name), value, strlen(value));
}

void store_fixture_begin(struct store_fixture *f, const struct store_place *place,
			 const struct script_step *steps, size_t n)
{
	struct store_place p = *place;
	char *base;

	f->script = script_start(steps, n, NULL);
	f->client = http_client_new(NULL);
	f->response = (struct http_response)HTTP_RESPONSE_INIT;
	f->reply = (struct store_reply){ .unchanged = false };
	f->e = (struct err)ERR_INIT;
	base = xasprintf("%s%s", script_url(f->script), p.endpoint ? p.endpoint : "");
	p.endpoint = base;
	p.allow_http = true;
	assert_int_equal(store_open(&p, &f->keys, &f->store, &f->e), 0);
	free(base);
}

int store_fixture_go(struct store_fixture *f, const struct store_op *op)
{
	f->e = (struct err)ERR_INIT;
	return store_do(f->store, f->client, op, &f->response, &f->reply, &f->e);
}

void store_fixture_end(struct store_fixture *f)
{
	store_reply_done(&f->reply);
	http_response_done(&f->response);
	store_free(f->store);
	http_client_free(f->client);
	store_keys_done(&f->keys);
	script_stop(f->script);
}
