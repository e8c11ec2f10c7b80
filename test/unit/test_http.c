#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/http.h"
#include "test/lib/script.h"

/* One request to a server of the given steps. */
struct one {
	struct http_client *client;
	struct script *server;
	struct http_response r;
	struct err e;
	int result;
};

static void one_start(struct one *o, const struct script_step *steps, size_t n, const char *pem)
{
	*o = (struct one){ .client = http_client_new(NULL),
			   .server = script_start(steps, n, pem),
			   .r = HTTP_RESPONSE_INIT };
}

static void one_do(struct one *o, struct http_request r, const char *path)
{
	cleanup(freep) char *url = xasprintf("%s%s", script_url(o->server), path);

	r.url = url;
	if (!r.timeout_ms) /* valgrind reads all the system's authorities slowly */
		r.timeout_ms = r.connect_timeout_ms = 120000;
	o->e.code = ERR_NONE;
	o->result = http_do(o->client, &r, &o->r, &o->e);
}

static void one_stop(struct one *o)
{
	http_response_done(&o->r);
	http_client_free(o->client);
	script_stop(o->server);
}

static void test_get(void **state)
{
	static const struct script_step steps[] = {
		{ .want = "GET /a?b=c",
		  .headers = "ETag: \"v1\"\r\netag:  \"v2\" \r\nDate: Sun, 06 Nov 1994 08:49:37 "
			     "GMT\r\n",
		  .body = "hello" },
		{ .want = "GET /b", .status = 404, .body = "nothing" },
	};
	const char *headers[] = { "Accept: application/json", NULL };
	struct one o;
	char value[8];

	(void)state;
	one_start(&o, steps, 2, NULL);
	one_do(&o, (struct http_request){ .plain_ok = true, .headers = headers, .bearer = "T" },
	       "/a?b=c");
	assert_int_equal(o.result, 0);
	assert_int_equal(o.r.status, 200);
	assert_string_equal(buf_str(&o.r.body), "hello");
	assert_true(o.r.date_ms == 784111777000);
	assert_true(http_response_header(&o.r, "ETAG", value, sizeof(value)));
	assert_string_equal(value, "\"v2\"");
	assert_true(http_response_header(&o.r, "content-length", value, sizeof(value)));
	assert_string_equal(value, "5");
	assert_false(http_response_header(&o.r, "Retry-After", value, sizeof(value)));
	assert_true(http_response_header(&o.r, "Date", value, sizeof(value)));
	assert_string_equal(value, "Sun, 06"); /* cut to the room */
	assert_true(script_has_header(script_request(o.server, 0), "Authorization: Bearer T"));
	assert_true(script_has_header(script_request(o.server, 0), "Accept: application/json"));
	/* Another answer on the same connection, nothing left of the first. */
	one_do(&o, (struct http_request){ .plain_ok = true }, "/b");
	assert_int_equal(o.result, 0);
	assert_int_equal(o.r.status, 404);
	assert_string_equal(buf_str(&o.r.body), "nothing");
	assert_false(http_response_header(&o.r, "ETag", value, sizeof(value)));
	assert_true(o.r.date_ms == -1);
	assert_int_equal(script_connections(o.server), 1);
	one_stop(&o);
}

static void test_methods(void **state)
{
	static const struct script_step steps[] = { { .want = "PATCH /p" },
						    { .want = "DELETE /d" },
						    { .want = "PUT /u" } };
	const char *headers[] = { "Content-Type: x/y", NULL };
	struct one o;

	(void)state;
	one_start(&o, steps, 3, NULL);
	one_do(&o,
	       (struct http_request){ .method = "PATCH",
				      .plain_ok = true,
				      .headers = headers,
				      .body = "{}tail",
				      .body_len = 2 },
	       "/p");
	assert_string_equal(script_request(o.server, 0)->body, "{}");
	assert_true(script_has_header(script_request(o.server, 0), "Content-Type: x/y"));
	one_do(&o, (struct http_request){ .method = "DELETE", .plain_ok = true }, "/d");
	one_do(&o,
	       (struct http_request){
		       .method = "PUT", .plain_ok = true, .body = "", .body_len = 0 },
	       "/u");
	assert_int_equal(o.result, 0);
	assert_int_equal(o.r.status, 200);
	assert_int_equal(script_unexpected(o.server), 0);
	one_stop(&o);
}

static void test_bounds(void **state)
{
	static const struct script_step steps[] = {
		{ .want = "GET /ten", .body = "0123456789", .again = true },
		{ .want = "GET /chunked", .body = "0123456789", .end = SCRIPT_STREAM, .piece = 3 },
		{ .want = "GET /moved", .status = 302, .headers = "Location: /ten\r\n" },
	};
	struct one o;

	(void)state;
	one_start(&o, steps, 3, NULL);
	one_do(&o, (struct http_request){ .plain_ok = true, .max_response = 10 }, "/ten");
	assert_int_equal(o.result, 0);
	one_do(&o, (struct http_request){ .plain_ok = true, .max_response = 9 }, "/ten");
	assert_int_equal(o.result, -ERR_TOO_LARGE);
	assert_string_equal(o.e.message, "answer is longer than 9 bytes");
	one_do(&o, (struct http_request){ .plain_ok = true, .max_response = 9 }, "/chunked");
	assert_int_equal(o.result, -ERR_TOO_LARGE);
	one_do(&o, (struct http_request){ .plain_ok = true }, "/moved");
	assert_int_equal(o.result, 0);
	assert_int_equal(o.r.status, 302);
	one_do(&o, (struct http_request){ .plain_ok = false }, "/ten");
	assert_int_equal(o.result, -ERR_INVALID);
	assert_int_equal(o.e.code, ERR_INVALID);
	one_stop(&o);
}

static void test_retry_after(void **state)
{
	static const struct script_step steps[] = {
		{ .status = 429, .headers = "Retry-After: 7\r\n", .body = "slow down" },
		{ .status = 503, .headers = "Retry-After: 99999\r\n" },
	};
	struct one o;

	(void)state;
	one_start(&o, steps, 2, NULL);
	one_do(&o, (struct http_request){ .plain_ok = true }, "/");
	assert_int_equal(o.r.status, 429);
	assert_true(o.r.retry_after_ms == 7000);
	assert_string_equal(buf_str(&o.r.body), "slow down");
	one_do(&o, (struct http_request){ .plain_ok = true }, "/");
	assert_true(o.r.retry_after_ms == 600000);
	one_stop(&o);
}

static void test_failures(void **state)
{
	static const struct script_step steps[] = {
		{ .want = "GET /silent", .end = SCRIPT_SILENT },
		{ .want = "GET /cut", .body = "half", .end = SCRIPT_CUT },
		{ .want = "GET /reset", .body = "half", .end = SCRIPT_RESET },
	};
	struct one o;
	struct http_request r = { .url = "http://127.0.0.1:1/", .plain_ok = true };

	(void)state;
	one_start(&o, steps, 3, NULL);
	one_do(&o, (struct http_request){ .plain_ok = true }, "/reset");
	assert_true(o.result == -ERR_UNAVAILABLE || o.result == -ERR_PROTOCOL);
	one_do(&o, (struct http_request){ .plain_ok = true, .timeout_ms = 50 }, "/silent");
	assert_int_equal(o.result, -ERR_TIMEOUT);
	one_do(&o, (struct http_request){ .plain_ok = true }, "/cut");
	assert_true(o.result == -ERR_UNAVAILABLE || o.result == -ERR_PROTOCOL);
	assert_int_equal(http_do(o.client, &r, &o.r, &o.e), -ERR_UNAVAILABLE);
	r.url = "http://[";
	assert_int_equal(http_do(o.client, &r, &o.r, &o.e), -ERR_INVALID);
	one_do(&o, (struct http_request){ .plain_ok = true, .timeout_ms = -1 }, "/silent");
	assert_int_equal(o.result, -ERR_TIMEOUT);
	one_stop(&o);
}

static void test_no_proxy(void **state)
{
	static const struct script_step steps[] = { { .body = "direct", .again = true } };
	static const char *const names[] = { "http_proxy", "HTTPS_PROXY", "https_proxy",
					     "ALL_PROXY" };
	struct one o;

	(void)state;
	for (size_t i = 0; i < array_len(names); i++)
		assert_int_equal(setenv(names[i], "http://127.0.0.1:1", 1), 0);
	one_start(&o, steps, 1, NULL);
	one_do(&o, (struct http_request){ .plain_ok = true }, "/");
	assert_int_equal(o.result, 0);
	assert_string_equal(buf_str(&o.r.body), "direct");
	one_do(&o, (struct http_request){ .plain_ok = true, .proxy_env = true }, "/");
	assert_int_equal(o.result, -ERR_UNAVAILABLE);
	one_stop(&o);
	for (size_t i = 0; i < array_len(names); i++)
		assert_int_equal(unsetenv(names[i]), 0);
}

static void test_tls(void **state)
{
	static const struct script_step steps[] = { { .body = "secret", .again = true } };
	char *cert, *other_cert;
	char *pem = script_pem("kubernetes.test", &cert);
	char *other = script_pem("kubernetes.test", &other_cert);
	struct http_tls tls = { .ca_pem = cert };
	struct one o;

	(void)state;
	one_start(&o, steps, 1, pem);
	one_do(&o, (struct http_request){ .tls = &tls }, "/");
	assert_int_equal(o.result, 0);
	assert_string_equal(buf_str(&o.r.body), "secret");
	/* A name to verify that is not the URL's. */
	tls.server_name = "kubernetes.test";
	one_do(&o, (struct http_request){ .tls = &tls }, "/path?q");
	assert_int_equal(o.result, 0);
	assert_string_equal(script_request(o.server, 1)->line, "GET /path?q");
	tls.server_name = "wrong.test";
	one_do(&o, (struct http_request){ .tls = &tls }, "/");
	assert_int_equal(o.result, -ERR_PROTOCOL);
	/* Another authority: not trusted, although a connection to this host is open. */
	tls = (struct http_tls){ .ca_pem = other_cert };
	one_do(&o, (struct http_request){ .tls = &tls }, "/");
	assert_int_equal(o.result, -ERR_PROTOCOL);
	one_do(&o, (struct http_request){ .tls = NULL }, "/");
	assert_int_equal(o.result, -ERR_PROTOCOL);
	tls = (struct http_tls){ .insecure = true };
	one_do(&o, (struct http_request){ .tls = &tls }, "/");
	assert_int_equal(o.result, 0);
	one_stop(&o);
	free(cert);
	free(pem);
	free(other_cert);
	free(other);
}

/* --- cancelling ------------------------------------------------------------------------------- */

struct canceled {
	struct http_cancel *cancel;
	struct script *server;
	int result;
	bool sleep;
};

static void *wait_for_cancel(void *ctx)
{
	struct canceled *c = ctx;
	cleanup(http_client_free_cleanup) struct http_client *client = http_client_new(c->cancel);
	cleanup_http_response struct http_response r = HTTP_RESPONSE_INIT;
	struct err e = ERR_INIT;
	struct http_request req = { .url = script_url(c->server), .plain_ok = true };

	c->result = c->sleep ? http_client_sleep(client, 3600000) : http_do(client, &req, &r, &e);
	return NULL;
}

static void test_cancel(void **state)
{
	static const struct script_step steps[] = { { .end = SCRIPT_SILENT, .again = true } };
	struct script *server = script_start(steps, 1, NULL);
	struct http_cancel *cancel = http_cancel_new();
	struct canceled c[3] = { { cancel, server, 1, false },
				 { cancel, server, 1, true },
				 { cancel, server, 1, false } };
	pthread_t t[3];

	(void)state;
	assert_false(http_cancel_triggered(cancel));
	assert_false(http_cancel_triggered(NULL));
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&t[i], NULL, wait_for_cancel, &c[i]), 0);
	assert_true(script_wait(server, 2));
	http_cancel_trigger(cancel);
	for (int i = 0; i < 3; i++) {
		(void)pthread_join(t[i], NULL);
		assert_int_equal(c[i].result, -ERR_CANCELED);
	}
	script_stop(server);
	http_cancel_free(cancel);
}

static void *wake(void *client)
{
	http_client_wake(client);
	return NULL;
}

static void test_wake(void **state)
{
	struct http_client *c = http_client_new(NULL);
	pthread_t t;

	(void)state;
	assert_int_equal(pthread_create(&t, NULL, wake, c), 0);
	assert_int_equal(http_client_sleep(c, 3600000), 0);
	(void)pthread_join(t, NULL);
	assert_int_equal(http_client_sleep(c, 1), 0);
	http_client_free(c);
}

static void test_pool(void **state)
{
	struct http_pool *p = http_pool_new(NULL);
	struct http_client *a = http_pool_get(p), *b = http_pool_get(p);

	(void)state;
	assert_ptr_not_equal(a, b);
	http_pool_put(p, a);
	http_pool_put(p, b);
	assert_ptr_equal(http_pool_get(p), b); /* the one used last */
	assert_ptr_equal(http_pool_get(p), a);
	http_pool_put(p, a);
	http_pool_put(p, b);
	http_pool_free(p);
}

/* --- batch ------------------------------------------------------------------------------------ */

enum { GETS = 100, WIDE = 80 };

struct tally {
	int calls[GETS]; /* by tag */
	int status[GETS];
	enum err_code code[GETS];
	struct http_cancel *cancel; /* to trigger ... */
	int answers;		    /* ... after as many more */
};

static void tally_done(void *ctx, void *tag, const struct http_response *r, const struct err *e)
{
	struct tally *t = ctx;
	size_t i = (size_t)(uintptr_t)tag;

	t->calls[i]++;
	t->status[i] = r->status;
	t->code[i] = e ? e->code : ERR_NONE;
	if (t->cancel && --t->answers <= 0)
		http_cancel_trigger(t->cancel);
}

static void add_gets(struct http_batch *b, const struct script *s, const char *path, size_t from,
		     size_t to)
{
	for (size_t i = from; i < to; i++) {
		cleanup(freep) char *url = xasprintf("%s%s", script_url(s), path);

		http_batch_add(b, url, (void *)(uintptr_t)i);
	}
}

static void test_batch(void **state)
{
	static const struct script_step steps[] = {
		{ .want = "GET /state", .body = "{}", .again = true },
		{ .want = "GET /big", .body = "0123456789", .again = true },
		{ .want = "GET /silent", .end = SCRIPT_SILENT, .again = true },
	};
	struct script *s = script_start(steps, 3, NULL);
	struct http_batch *b = http_batch_new(NULL);
	struct http_batch_limits limits = {
		.in_flight = 3, .request_ms = 10000, .batch_ms = 20000, .max_response = 9
	};
	struct tally t = { .cancel = NULL };

	(void)state;
	add_gets(b, s, "/state", 0, 10);
	add_gets(b, s, "/big", 10, 12);
	http_batch_add(b, "http://127.0.0.1:1/state", (void *)(uintptr_t)12);
	http_batch_add(b, "nonsense://x", (void *)(uintptr_t)13);
	assert_int_equal(http_batch_run(b, &limits, tally_done, &t), 0);
	for (size_t i = 0; i < 14; i++)
		assert_int_equal(t.calls[i], 1);
	for (size_t i = 0; i < 10; i++)
		assert_int_equal(t.status[i], 200);
	assert_int_equal(t.code[10], ERR_TOO_LARGE);
	assert_int_equal(t.code[12], ERR_UNAVAILABLE);
	assert_int_equal(t.code[13], ERR_INVALID);
	/* Again, with requests and then the batch itself running out of time. */
	t = (struct tally){ .cancel = NULL };
	limits.request_ms = 2000;
	add_gets(b, s, "/silent", 0, 2);
	add_gets(b, s, "/state", 2, 4);
	assert_int_equal(http_batch_run(b, &limits, tally_done, &t), 0);
	assert_int_equal(t.code[0], ERR_TIMEOUT);
	assert_int_equal(t.status[3], 200);
	t = (struct tally){ .cancel = NULL };
	limits.request_ms = 60000;
	limits.batch_ms = 60;
	add_gets(b, s, "/silent", 0, 8);
	assert_int_equal(http_batch_run(b, &limits, tally_done, &t), 0);
	for (size_t i = 0; i < 8; i++) {
		assert_int_equal(t.calls[i], 1);
		assert_int_equal(t.code[i], i < 3 ? ERR_TIMEOUT : ERR_THROTTLED);
	}
	http_batch_free(b);
	script_stop(s);
}

/* The places of the slow lane are its own: what is silent there holds up none of the others. */
static void test_batch_slow_lane(void **state)
{
	static const struct script_step steps[] = {
		{ .want = "GET /state", .body = "{}", .again = true },
		{ .want = "GET /silent", .end = SCRIPT_SILENT, .again = true },
	};
	struct script *s = script_start(steps, 2, NULL);
	struct http_cancel *cancel = http_cancel_new();
	struct http_batch *b = http_batch_new(cancel);
	struct http_batch_limits limits = { .in_flight = 1,
					    .slow_in_flight = 2,
					    .request_ms = 60000,
					    .batch_ms = 60000,
					    .max_response = 9 };
	struct tally t = { .cancel = cancel, .answers = 15 };

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		cleanup(freep) char *url = xasprintf("%s/silent", script_url(s));

		http_batch_add_slow(b, url, (void *)(uintptr_t)i);
	}
	add_gets(b, s, "/state", 5, 20);
	assert_int_equal(http_batch_run(b, &limits, tally_done, &t), -ERR_CANCELED);
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(t.calls[i], 1);
		assert_int_equal(t.code[i], ERR_CANCELED);
	}
	for (size_t i = 5; i < 20; i++)
		assert_int_equal(t.status[i], 200);
	assert_in_range(script_count(s), 15, 17); /* of the silent ones two at most were asked */
	http_batch_free(b);
	http_cancel_free(cancel);
	script_stop(s);
}

struct wide {
	struct script *s;
	struct http_cancel *cancel;
	bool seen;
};

static void *cancel_when_wide(void *p)
{
	struct wide *w = p;

	w->seen = script_wait(w->s, WIDE);
	http_cancel_trigger(w->cancel);
	return NULL;
}

/* A lane begins with a few places, but peers that take their time get all of them. */
static void test_batch_widens(void **state)
{
	static const struct script_step steps[] = {
		{ .want = "GET /silent", .end = SCRIPT_SILENT, .again = true },
	};
	struct wide w = { .s = script_start(steps, 1, NULL), .cancel = http_cancel_new() };
	struct http_batch *b = http_batch_new(w.cancel);
	struct http_batch_limits limits = {
		.in_flight = WIDE, .request_ms = 60000, .batch_ms = 60000, .max_response = 9
	};
	struct tally t = { .cancel = NULL };
	pthread_t thread;

	(void)state;
	add_gets(b, w.s, "/silent", 0, GETS);
	assert_int_equal(pthread_create(&thread, NULL, cancel_when_wide, &w), 0);
	assert_int_equal(http_batch_run(b, &limits, tally_done, &t), -ERR_CANCELED);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(w.seen);
	assert_int_equal(script_count(w.s), WIDE);
	http_batch_free(b);
	http_cancel_free(w.cancel);
	script_stop(w.s);
}

static void test_batch_cancel(void **state)
{
	static const struct script_step steps[] = {
		{ .want = "GET /state", .body = "{}", .again = true },
		{ .want = "GET /silent", .end = SCRIPT_SILENT, .again = true },
	};
	struct script *s = script_start(steps, 2, NULL);
	struct http_cancel *cancel = http_cancel_new();
	struct http_batch *b = http_batch_new(cancel);
	struct http_batch_limits limits = {
		.in_flight = 3, .request_ms = 60000, .batch_ms = 60000, .max_response = 9
	};
	struct tally t = { .cancel = cancel };

	(void)state;
	add_gets(b, s, "/state", 0, 1);
	add_gets(b, s, "/silent", 1, 6);
	assert_int_equal(http_batch_run(b, &limits, tally_done, &t), -ERR_CANCELED);
	assert_int_equal(t.status[0], 200);
	for (size_t i = 1; i < 6; i++) {
		assert_int_equal(t.calls[i], 1);
		assert_int_equal(t.code[i], ERR_CANCELED);
	}
	http_batch_free(b);
	http_cancel_free(cancel);
	script_stop(s);
}

/* --- texts ------------------------------------------------------------------------------------ */

static void test_texts(void **state)
{
	struct buf b = BUF_INIT(1000);

	(void)state;
	http_authority("fd00::1", 8081, &b);
	buf_putc(&b, ' ');
	http_authority("[fd00::1]", 8081, &b);
	buf_putc(&b, ' ');
	http_authority("10.0.0.1", 8081, &b);
	buf_putc(&b, ' ');
	http_authority("example.com", 0, &b);
	assert_string_equal(buf_str(&b), "[fd00::1]:8081 [fd00::1]:8081 10.0.0.1:8081 example.com");
	buf_clear(&b);
	http_escape("a/b c?%\xc3\xbc-._~=,", &b);
	assert_string_equal(buf_str(&b), "a%2Fb%20c%3F%25%C3%BC-._~%3D%2C");
	buf_done(&b);
}

static int setup(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	return http_global_init(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_get),	     cmocka_unit_test(test_methods),
		cmocka_unit_test(test_bounds),	     cmocka_unit_test(test_retry_after),
		cmocka_unit_test(test_failures),     cmocka_unit_test(test_no_proxy),
		cmocka_unit_test(test_tls),	     cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_wake),	     cmocka_unit_test(test_pool),
		cmocka_unit_test(test_batch),	     cmocka_unit_test(test_batch_slow_lane),
		cmocka_unit_test(test_batch_widens), cmocka_unit_test(test_batch_cancel),
		cmocka_unit_test(test_texts),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
