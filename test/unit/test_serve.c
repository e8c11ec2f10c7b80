#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "test/lib/served.h"

static void test_routes(void **state)
{
	cleanup_httpd struct httpd *h = served_start((struct httpd_options){ 0 });
	struct peer *p = peer_open(httpd_port(h), false);
	struct peer_answer a;

	(void)state;
	/* one connection: none of these ends it */
	peer_get(p, "/hello");
	served_expect(p, 200, "hello\n");
	peer_get(p, "/hello?timeout=5s");
	served_expect(p, 200, "hello\n");
	peer_get(p, "/nowhere");
	served_expect(p, 404, "not found\n");
	peer_get(p, "/hello/");
	served_expect(p, 404, NULL);
	peer_get(p, "/sum");
	served_expect_header(p, 405, "\r\nAllow: POST\r\n");
	peer_puts(p, "DELETE /busy HTTP/1.1\r\nHost: x\r\n\r\n");
	served_expect_header(p, 405, "\r\nAllow: POST, GET, HEAD\r\n");
	peer_puts(p, "HEAD /hello HTTP/1.1\r\nHost: x\r\n\r\n");
	peer_read_head(p, &a);
	assert_int_equal(a.status, 200);
	assert_non_null(strcasestr(a.head, "Content-Length: 6\r\n"));
	peer_answer_done(&a);
	peer_get(p, "/busy");
	served_expect_header(p, 503, "\r\nRetry-After: 7\r\n");
	peer_post(p, "/sum", "", 0);
	served_expect(p, 200, "[0,0]");
	peer_close(p);
}

static void test_bodies(void **state)
{
	static const size_t sizes[] = { 1,     15,    16,     17,     65519,  65520,
					65521, 65536, 131056, 131072, 199999, SERVED_MAX_BODY };
	cleanup_httpd struct httpd *h = served_start((struct httpd_options){ 0 });
	struct peer *p = peer_open(httpd_port(h), false);
	cleanup(freep) char *body = xmalloc(SERVED_MAX_BODY);
	char want[64];

	(void)state;
	memset(body, 1, SERVED_MAX_BODY);
	for (size_t i = 0; i < array_len(sizes); i++) {
		peer_post(p, "/sum", body, sizes[i]);
		(void)snprintf(want, sizeof(want), "[%zu,%zu]", sizes[i], sizes[i]);
		served_expect(p, 200, want);
	}
	peer_close(p);
}

static void test_chunked_and_expect(void **state)
{
	cleanup_httpd struct httpd *h = served_start((struct httpd_options){ 0 });
	struct peer *p = peer_open(httpd_port(h), false);

	(void)state;
	peer_puts(p, "POST /sum HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
		     "Transfer-Encoding: chunked\r\n\r\n");
	for (int i = 0; i < 50; i++)
		peer_puts(p, "1\r\n\x02\r\n");
	peer_puts(p, "0\r\n\r\n");
	served_expect(p, 200, "[50,100]");
	peer_puts(p, "POST /sum HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
		     "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n\x01\x01");
	served_expect(p, 200, "[2,2]");
	/* two requests in one write */
	peer_puts(p,
		  "GET /hello HTTP/1.1\r\nHost: x\r\n\r\nGET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n");
	served_expect(p, 200, "hello\n");
	served_expect(p, 404, NULL);
	peer_puts(p, "GET /hello HTTP/1.0\r\n\r\n");
	served_expect(p, 200, "hello\n");
	assert_true(peer_at_end(p));
	peer_close(p);
}

static void test_media_types(void **state)
{
	static const struct {
		const char *header;
		int status;
	} cases[] = {
		{ "Content-Type: application/json\r\n", 200 },
		{ "Content-Type: Application/JSON; charset=utf-8\r\n", 200 },
		{ "Content-Type: application/json ;charset=utf-8\r\n", 200 },
		{ "Content-Type: application/jsonp\r\n", 415 },
		{ "Content-Type: text/plain\r\n", 415 },
		{ "Content-Type: \r\n", 415 },
		{ "", 415 },
	};
	cleanup_httpd struct httpd *h = served_start((struct httpd_options){ 0 });

	(void)state;
	for (size_t i = 0; i < array_len(cases); i++) {
		struct peer *p = peer_open(httpd_port(h), false);
		char text[256];

		(void)snprintf(
			text, sizeof(text),
			"POST /sum HTTP/1.1\r\nHost: x\r\n%sContent-Length: 2\r\n\r\n\x01\x01",
			cases[i].header);
		peer_puts(p, text);
		served_expect(p, cases[i].status, NULL);
		peer_close(p);
	}
}

/* The answer comes before the body does: the client waits for leave, or claims the absurd. */
static void test_too_large_is_said_early(void **state)
{
	static const char *const headers[] = {
		"Expect: 100-continue\r\nContent-Length: 200001",
		"Content-Length: 99999999999",
		"Content-Length: 18446744073709551615",
	};
	cleanup_httpd struct httpd *h = served_start((struct httpd_options){ 0 });

	(void)state;
	for (size_t i = 0; i < array_len(headers); i++) {
		struct peer *p = peer_open(httpd_port(h), false);
		char text[256];

		(void)snprintf(text, sizeof(text),
			       "POST /sum HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
			       "%s\r\n\r\n",
			       headers[i]);
		peer_puts(p, text);
		served_expect(p, 413, "the body is too large\n");
		assert_true(peer_at_end(p));
		peer_close(p);
	}
}

static void test_too_large_without_a_length(void **state)
{
	cleanup_httpd struct httpd *h = served_start((struct httpd_options){ 0 });
	struct peer *p = peer_open(httpd_port(h), false);
	struct buf piece = BUF_INIT(20000);

	(void)state;
	buf_puts(&piece, "2710\r\n"); /* 10000 */
	for (int i = 0; i < 10000; i++)
		buf_putc(&piece, 'x');
	buf_puts(&piece, "\r\n");
	peer_puts(p, "POST /sum HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
		     "Transfer-Encoding: chunked\r\n\r\n");
	for (int i = 0; i < 21; i++)
		peer_puts(p, buf_str(&piece));
	buf_done(&piece);
	peer_puts(p, "0\r\n\r\n");
	served_expect(p, 413, NULL);
	peer_close(p);
}

/*
 * Five clients claim 200,000 bytes each, two and a half times what may be held at once; they are
 * charged for what they have sent. Once they do send it, some are told to come again.
 */
static void test_claimed_lengths_are_not_charged(void **state)
{
	cleanup_httpd struct httpd *h =
		served_start((struct httpd_options){ .max_in_flight = 400000 });
	cleanup(freep) char *body = xcalloc(1, SERVED_MAX_BODY);
	struct peer *liar[5], *p;
	struct peer_answer a;
	char want[64];
	int refused = 0;

	(void)state;
	memset(body, 1, SERVED_MAX_BODY);
	for (size_t i = 0; i < array_len(liar); i++) {
		liar[i] = peer_open(httpd_port(h), false);
		peer_puts(liar[i],
			  "POST /sum HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
			  "Content-Length: 200000\r\n\r\n");
	}
	p = peer_open(httpd_port(h), false);
	peer_post(p, "/sum", body, SERVED_MAX_BODY);
	served_expect(p, 200, "[200000,200000]");
	for (size_t i = 0; i < array_len(liar); i++)
		peer_send(liar[i], body, SERVED_MAX_BODY - 1);
	for (size_t i = 0; i < array_len(liar); i++)
		peer_send(liar[i], body, 1);
	(void)snprintf(want, sizeof(want), "[%d,%d]", SERVED_MAX_BODY, SERVED_MAX_BODY);
	for (size_t i = 0; i < array_len(liar); i++) {
		peer_read(liar[i], &a);
		if (a.status == 503) {
			refused++;
			assert_non_null(strcasestr(a.head, "\r\nRetry-After: 1\r\n"));
		} else {
			assert_int_equal(a.status, 200);
			assert_string_equal(a.body, want);
		}
		peer_answer_done(&a);
	}
	assert_true(refused >= 1);
	/* the connection is still good, and nothing stays charged */
	for (size_t i = 0; i < array_len(liar); i++) {
		peer_post(liar[i], "/sum", body, SERVED_MAX_BODY);
		served_expect(liar[i], 200, want);
		peer_close(liar[i]);
	}
	peer_close(p);
}

static void test_a_silent_connection_is_cut(void **state)
{
	cleanup_httpd struct httpd *h =
		served_start((struct httpd_options){ .first_request_s = 1 });
	struct peer *silent = peer_open(httpd_port(h), false);
	struct peer *half = peer_open(httpd_port(h), false);
	struct peer *p = peer_open(httpd_port(h), false);

	(void)state;
	peer_puts(half, "POST /su");
	peer_get(p, "/hello");
	served_expect(p, 200, "hello\n");
	assert_true(peer_at_end(silent));
	assert_true(peer_at_end(half));
	/* one that has asked is kept */
	peer_get(p, "/hello");
	served_expect(p, 200, "hello\n");
	peer_close(silent);
	peer_close(half);
	peer_close(p);
}

static void test_headers_over_the_limit(void **state)
{
	cleanup_httpd struct httpd *h = served_start((struct httpd_options){ 0 });
	struct peer *p = peer_open(httpd_port(h), false);
	struct peer_answer a;
	static char big[100000];

	(void)state;
	memset(big, 'x', sizeof(big));
	peer_puts(p, "GET /hello HTTP/1.1\r\nHost: x\r\nX-Big: ");
	peer_send(p, big, sizeof(big));
	peer_puts(p, "\r\n\r\n");
	peer_read(p, &a);
	assert_true(a.status == 431 || a.status == 0);
	peer_answer_done(&a);
	peer_close(p);
	p = peer_open(httpd_port(h), false);
	peer_puts(p, "\x16\x03\x01 no HTTP at all\r\n\r\n");
	peer_read(p, &a);
	assert_true(a.status == 400 || a.status == 0);
	peer_answer_done(&a);
	peer_close(p);
	p = peer_open(httpd_port(h), false);
	peer_get(p, "/hello");
	served_expect(p, 200, "hello\n");
	peer_close(p);
}

/* ---- whoever takes for ever ------------------------------------------------------------------ */

/* Sends the text again and again, a moment after the other, until the server ends the connection. */
static void drip(struct peer *p, const char *text)
{
	while (!peer_ends_within(p, 100))
		peer_puts(p, text);
}

/* A header line now and then: the first request's headers have a time in all. */
static void test_headers_that_trickle(void **state)
{
	cleanup_httpd struct httpd *h =
		served_start((struct httpd_options){ .first_request_s = 1 });
	struct peer *p = peer_open(httpd_port(h), false);

	(void)state;
	peer_puts(p, "POST /sum HTTP/1.1\r\nHost: x\r\n");
	drip(p, "X-Slow: 1\r\n");
	peer_close(p);
}

/* The same between requests, where more time is left. */
static void test_later_headers_that_trickle(void **state)
{
	cleanup_httpd struct httpd *h =
		served_start((struct httpd_options){ .request_s = 1, .idle_s = 1 });
	struct peer *p = peer_open(httpd_port(h), false);

	(void)state;
	peer_get(p, "/hello");
	served_expect(p, 200, "hello\n");
	drip(p, "\r\n"); /* blank lines before a request are no request */
	peer_close(p);
}

static void test_bodies_that_trickle(void **state)
{
	cleanup_httpd struct httpd *h = served_start((struct httpd_options){ .request_s = 1 });
	struct peer *p = peer_open(httpd_port(h), false);

	(void)state;
	peer_puts(p, "POST /sum HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
		     "Transfer-Encoding: chunked\r\n\r\n");
	drip(p, "1\r\nx\r\n");
	peer_close(p);
}

/* Asks for more than the sockets hold and reads nothing of it. */
static void test_answers_that_nobody_reads(void **state)
{
	cleanup_httpd struct httpd *h = served_start((struct httpd_options){ .request_s = 1 });
	struct peer *p = peer_open(httpd_port(h), false), *other = peer_open(httpd_port(h), false);
	struct buf many = BUF_INIT(1 << 20);

	(void)state;
	for (int i = 0; i < 10000; i++)
		buf_puts(&many, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
	peer_get(other, "/hello");
	served_expect(other, 200, "hello\n");
	while (httpd_connections(h) == 2)
		peer_send(p, buf_str(&many), many.len);
	peer_get(other, "/hello");
	served_expect(other, 200, "hello\n");
	buf_done(&many);
	peer_reset(p);
	peer_close(other);
}

/* The end comes together with the request: answered, and not kept until the pause is over. */
static void test_an_end_behind_the_request(void **state)
{
	cleanup_httpd struct httpd *h = served_start((struct httpd_options){ 0 });
	struct peer *p = peer_open(httpd_port(h), false);

	(void)state;
	peer_puts_last(
		p, "GET /hello HTTP/1.1\r\nHost: x\r\n\r\nGET /busy HTTP/1.1\r\nHost: x\r\n\r\n");
	served_expect(p, 200, "hello\n");
	served_expect(p, 503, NULL);
	assert_true(peer_at_end(p));
	peer_close(p);
}

/* All places are taken by connections that ask nothing: new ones get theirs, and those that work are kept. */
static void test_places_for_who_asks(void **state)
{
	cleanup_httpd struct httpd *h =
		served_start((struct httpd_options){ .max_connections = 8 });
	struct peer *silent[40], *works = peer_open(httpd_port(h), false), *idle[8], *last;

	(void)state;
	peer_get(works, "/hello");
	served_expect(works, 200, "hello\n");
	for (size_t i = 0; i < array_len(silent); i++) {
		silent[i] = peer_open(httpd_port(h), false);
		peer_get(works, "/hello");
		served_expect(works, 200, "hello\n");
	}
	for (size_t i = 0; i < array_len(silent); i++) {
		if (i + 7 < array_len(silent))
			assert_true(peer_at_end(silent[i]));
		peer_close(silent[i]);
	}
	/* nobody is silent: the one that has been idle for the longest time goes */
	for (size_t i = 0; i < array_len(idle); i++) {
		idle[i] = peer_open(httpd_port(h), false);
		peer_get(idle[i], "/hello");
		served_expect(idle[i], 200, "hello\n");
	}
	assert_true(peer_at_end(works));
	last = peer_open(httpd_port(h), false);
	peer_get(last, "/hello");
	served_expect(last, 200, "hello\n");
	assert_true(peer_at_end(idle[0]));
	peer_get(idle[7], "/hello");
	served_expect(idle[7], 200, "hello\n");
	for (size_t i = 0; i < array_len(idle); i++)
		peer_close(idle[i]);
	peer_close(works);
	peer_close(last);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_routes),
		cmocka_unit_test(test_bodies),
		cmocka_unit_test(test_chunked_and_expect),
		cmocka_unit_test(test_media_types),
		cmocka_unit_test(test_too_large_is_said_early),
		cmocka_unit_test(test_too_large_without_a_length),
		cmocka_unit_test(test_claimed_lengths_are_not_charged),
		cmocka_unit_test(test_a_silent_connection_is_cut),
		cmocka_unit_test(test_headers_over_the_limit),
		cmocka_unit_test(test_headers_that_trickle),
		cmocka_unit_test(test_later_headers_that_trickle),
		cmocka_unit_test(test_bodies_that_trickle),
		cmocka_unit_test(test_answers_that_nobody_reads),
		cmocka_unit_test(test_an_end_behind_the_request),
		cmocka_unit_test(test_places_for_who_asks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
