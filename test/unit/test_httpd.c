#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <openssl/ssl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "test/lib/served.h"

enum { DAY = 86400 };

static char folder[] = "/tmp/test_httpd.XXXXXX";
static char cert[64], key[64];

/* ---- TLS ------------------------------------------------------------------------------------- */

static struct httpd *start_tls(struct httpd_options o)
{
	o.cert_file = cert;
	o.key_file = key;
	o.reload_ms = o.reload_ms ? o.reload_ms : 20;
	return served_start(o);
}

/* A client that writes first and reads then gets its answer, and may go on. */
static void test_refused_bodies_are_read_to_their_end(void **state)
{
	static const size_t large = 9000000;
	cleanup_httpd struct httpd *h = NULL;
	cleanup(freep) char *body = xcalloc(1, large);
	struct peer *p;

	(void)state;
	peer_write_pair(cert, key, "one", DAY);
	h = served_start((struct httpd_options){ .cert_file = cert, .key_file = key });
	p = peer_open(httpd_port(h), true);
	peer_post(p, "/sum", body, large);
	served_expect(p, 413, "the body is too large\n");
	peer_post(p, "/nowhere", body, 100000);
	served_expect(p, 404, NULL);
	peer_post(p, "/hello", body, 100000);
	served_expect_header(p, 405, "\r\nAllow: GET, HEAD\r\n");
	peer_post(p, "/sum", body, 3);
	served_expect(p, 200, "[3,0]");
	peer_close(p);
}

static void test_tls_versions(void **state)
{
	cleanup_httpd struct httpd *h = NULL;
	static const struct {
		int version;
		bool ok;
	} cases[] = { { TLS1_3_VERSION, true },
		      { TLS1_2_VERSION, true },
		      { TLS1_1_VERSION, false },
		      { TLS1_VERSION, false } };

	(void)state;
	peer_write_pair(cert, key, "one", DAY);
	h = start_tls((struct httpd_options){ 0 });
	for (size_t i = 0; i < array_len(cases); i++) {
		struct peer *p = peer_try_tls(httpd_port(h), cases[i].version);

		assert_int_equal(p != NULL, cases[i].ok);
		if (!p)
			continue;
		peer_get(p, "/hello");
		served_expect(p, 200, "hello\n");
		peer_close(p);
	}
	assert_true(httpd_certificate_expiry(h) > time(NULL) + DAY - 60);
	assert_true(httpd_certificate_expiry(h) <= time(NULL) + DAY);
	assert_true(httpd_certificate_begin(h) <= time(NULL) - 3600);
	assert_true(httpd_certificate_begin(h) > time(NULL) - 3600 - 60);
}

static void test_tls_bodies_and_plain_text(void **state)
{
	cleanup_httpd struct httpd *h = NULL;
	cleanup(freep) char *body = xmalloc(SERVED_MAX_BODY);
	struct peer *p;

	(void)state;
	peer_write_pair(cert, key, "one", DAY);
	h = start_tls((struct httpd_options){ 0 });
	memset(body, 3, SERVED_MAX_BODY);
	p = peer_open(httpd_port(h), true);
	peer_post(p, "/sum", body, SERVED_MAX_BODY);
	served_expect(p, 200, "[200000,600000]");
	peer_post(p, "/sum", body, 70000);
	served_expect(p, 200, "[70000,210000]");
	peer_close(p);
	p = peer_open(httpd_port(h), false);
	peer_get(p, "/hello");
	struct peer_answer a;
	peer_read(p, &a);
	assert_int_equal(a.status, 0);
	peer_close(p);
}

struct reloads {
	sem_t changed;
	atomic_int good, bad;
	char message[512];
};

static void on_reload(void *ctx, const struct err *e)
{
	struct reloads *r = ctx;

	if (e)
		(void)snprintf(r->message, sizeof(r->message), "%s", e->message);
	r->good += !e;
	r->bad += e != NULL;
	(void)sem_post(&r->changed);
}

static void await(struct reloads *r)
{
	while (sem_wait(&r->changed)) {
	}
}

static bool serves(int port, const char *want)
{
	struct peer *p = peer_open(port, true);
	char name[64];

	peer_server_name(p, name, sizeof(name));
	peer_close(p);
	return str_eq(name, want);
}

static void expect_name(int port, const char *want)
{
	assert_true(serves(port, want));
}

static void test_reload_keeps_connections(void **state)
{
	struct reloads r = { .good = 0 };
	cleanup_httpd struct httpd *h = NULL;
	struct peer *p, *half;
	cleanup(freep) char *body = xmalloc(SERVED_MAX_BODY);

	(void)state;
	memset(body, 1, SERVED_MAX_BODY);
	(void)sem_init(&r.changed, 0, 0);
	peer_write_pair(cert, key, "one", DAY);
	h = start_tls((struct httpd_options){ .on_reload = on_reload, .reload_ctx = &r });
	p = peer_open(httpd_port(h), true);
	peer_get(p, "/hello");
	served_expect(p, 200, "hello\n");
	half = peer_open(httpd_port(h), true); /* a swap in the middle of its request */
	peer_puts(half, "POST /sum HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
			"Content-Length: 1000\r\n\r\n");
	peer_send(half, body, 500);
	for (int i = 0; i < 10; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "swap-%d", i);
		peer_write_pair(cert, key, name, 2L * DAY);
		/* one pair may be told of more than once: certificate and key are two files */
		do
			await(&r);
		while (!serves(httpd_port(h), name));
		assert_true(httpd_certificate_expiry(h) > time(NULL) + DAY);
		peer_get(p, "/hello");
		served_expect(p, 200, "hello\n");
	}
	peer_send(half, body, 500);
	served_expect(half, 200, "[1000,1000]");
	peer_close(half);
	peer_close(p);
	(void)sem_destroy(&r.changed);
}

/* In one step, so that nobody sees it half-written. */
static void put_text(const char *path, const char *text)
{
	char fresh[96];
	FILE *f;

	(void)snprintf(fresh, sizeof(fresh), "%s.fresh", path);
	f = fopen(fresh, "we");
	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(rename(fresh, path), 0);
}

static void test_a_broken_pair_keeps_the_last_good_one(void **state)
{
	struct reloads r = { .good = 0 };
	cleanup_httpd struct httpd *h = NULL;
	char other_cert[80], other_key[80], aside[80];
	int bad;

	(void)state;
	(void)sem_init(&r.changed, 0, 0);
	(void)snprintf(other_cert, sizeof(other_cert), "%s.other", cert);
	(void)snprintf(other_key, sizeof(other_key), "%s.other", key);
	peer_write_pair(cert, key, "good", DAY);
	h = start_tls((struct httpd_options){ .on_reload = on_reload, .reload_ctx = &r });

	/* half an update: the new certificate with the old key */
	peer_write_pair(other_cert, other_key, "next", DAY);
	assert_int_equal(rename(other_cert, cert), 0);
	await(&r);
	assert_int_equal(r.bad, 1);
	assert_non_null(strstr(r.message, cert));
	expect_name(httpd_port(h), "good");

	/* the other half */
	assert_int_equal(rename(other_key, key), 0);
	await(&r);
	assert_int_equal(r.good, 1);
	expect_name(httpd_port(h), "next");

	put_text(cert, "-----BEGIN CERTIFICATE-----\nAAAA\n");
	await(&r);
	assert_int_equal(r.bad, 2);
	expect_name(httpd_port(h), "next");
	assert_int_equal(unlink(cert), 0);
	await(&r);
	assert_int_equal(r.bad, 3);
	expect_name(httpd_port(h), "next");

	peer_write_pair(cert, key, "last", DAY);
	do
		await(&r);
	while (r.good < 2);
	expect_name(httpd_port(h), "last");

	/* the good files come back as they were: nothing is refused any more */
	(void)snprintf(aside, sizeof(aside), "%s.aside", cert);
	bad = r.bad;
	assert_int_equal(rename(cert, aside), 0);
	await(&r);
	assert_int_equal(r.bad, bad + 1);
	assert_int_equal(rename(aside, cert), 0);
	await(&r);
	assert_int_equal(r.good, 3);
	(void)sem_destroy(&r.changed);
}

static void test_a_bad_pair_at_start(void **state)
{
	struct httpd *h = NULL;
	struct err e = ERR_INIT;
	char absent[80], want[160];
	struct httpd_options o = { .address = "127.0.0.1:0", .cert_file = absent, .key_file = key };

	(void)state;
	(void)snprintf(absent, sizeof(absent), "%s/absent.crt", folder);
	(void)snprintf(want, sizeof(want), "certificate: %s: No such file or directory", absent);
	peer_write_pair(cert, key, "one", DAY);
	assert_int_equal(httpd_start(&o, &h, &e), -ERR_NOT_FOUND);
	assert_string_equal(e.message, want);
	o.cert_file = key;
	assert_int_equal(httpd_start(&o, &h, &e), -ERR_INVALID);
	o.cert_file = folder;
	assert_int_equal(httpd_start(&o, &h, &e), -ERR_INVALID);
	assert_null(h);
}

/* Clients that reset at every stage; the server goes on and lets go of every connection. */
static void test_resets_and_broken_handshakes(void **state)
{
	cleanup_httpd struct httpd *h = NULL;
	struct peer *p;

	(void)state;
	peer_write_pair(cert, key, "one", DAY);
	h = start_tls((struct httpd_options){ 0 });
	for (int i = 0; i < 60; i++) {
		p = peer_open(httpd_port(h), i % 3 != 0);
		if (i % 3 == 0)
			peer_puts(p, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03");
		else
			peer_post(p, "/sum", "xxxx", i % 3 == 1 ? 2 : 4);
		peer_reset(p);
	}
	p = peer_open(httpd_port(h), true);
	peer_post(p, "/sum", "\x01\x01", 2);
	served_expect(p, 200, "[2,2]");
	peer_close(p);
	assert_int_equal(httpd_drain(h, 0, 20000), 0);
	assert_int_equal(httpd_connections(h), 0);
}

/* ---- drain ----------------------------------------------------------------------------------- */

struct drainer {
	struct httpd *h;
	int64_t lame_ms;
	unsigned cut;
};

static void *drain(void *arg)
{
	struct drainer *d = arg;

	d->cut = httpd_drain(d->h, d->lame_ms, 30000);
	return NULL;
}

/* Waits for an answer that carries Connection: close, asking anew on fresh connections. */
static void wait_for_closing(int port)
{
	struct peer_answer a;
	bool closing;

	do {
		struct peer *p = peer_open(port, true);

		peer_get(p, "/hello");
		peer_read(p, &a);
		assert_int_equal(a.status, 200);
		closing = strcasestr(a.head, "\r\nConnection: close\r\n") != NULL;
		peer_answer_done(&a);
		peer_close(p);
	} while (!closing);
}

static void test_drain_answers_everything_first(void **state)
{
	cleanup_httpd struct httpd *h = NULL;
	struct drainer d = { .lame_ms = 2000 };
	struct peer *keep, *half;
	pthread_t t;
	int port;

	(void)state;
	peer_write_pair(cert, key, "one", DAY);
	d.h = h = start_tls((struct httpd_options){ 0 });
	port = httpd_port(h);
	keep = peer_open(port, true);
	peer_get(keep, "/hello");
	served_expect(keep, 200, "hello\n");
	half = peer_open(port, true);
	peer_puts(half, "POST /sum HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
			"Content-Length: 4\r\n\r\n\x01\x01");

	assert_int_equal(pthread_create(&t, NULL, drain, &d), 0);
	wait_for_closing(port); /* new connections are served meanwhile */
	assert_true(httpd_draining(h));
	peer_get(keep, "/hello"); /* the one that was open: answered, then closed */
	served_expect_header(keep, 200, "\r\nConnection: close\r\n");
	assert_true(peer_at_end(keep));
	peer_close(keep);
	peer_puts(half, "\x01\x01"); /* the request that was under way */
	served_expect(half, 200, "[4,4]");
	assert_true(peer_at_end(half));
	peer_close(half);
	assert_int_equal(pthread_join(t, NULL), 0);
	assert_int_equal(d.cut, 0);
}

/* A request in progress outlives the lame duck time. */
static void test_drain_waits_for_a_request_in_progress(void **state)
{
	cleanup_httpd struct httpd *h = NULL;
	struct drainer d = { .lame_ms = 0 };
	struct peer *half;
	struct httpd *probe = NULL;
	pthread_t t;
	char address[32];

	(void)state;
	peer_write_pair(cert, key, "one", DAY);
	d.h = h = start_tls((struct httpd_options){ 0 });
	half = peer_open(httpd_port(h), true);
	peer_puts(half, "POST /sum HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
			"Expect: 100-continue\r\nContent-Length: 4\r\n\r\n\x01\x01");
	assert_int_equal(pthread_create(&t, NULL, drain, &d), 0);
	/* the port can be bound again once the listener is closed */
	(void)snprintf(address, sizeof(address), "127.0.0.1:%d", httpd_port(h));
	for (;;) {
		struct err e = ERR_INIT;
		struct httpd_options o = { .address = address };

		if (!httpd_start(&o, &probe, &e))
			break;
		assert_int_equal(e.code, ERR_UNAVAILABLE);
	}
	httpd_free(probe);
	peer_puts(half, "\x01\x01");
	served_expect(half, 200, "[4,4]");
	peer_close(half);
	assert_int_equal(pthread_join(t, NULL), 0);
	assert_int_equal(d.cut, 0);
}

static void test_drain_has_a_deadline(void **state)
{
	cleanup_httpd struct httpd *h = served_start((struct httpd_options){ 0 });
	struct peer *p = peer_open(httpd_port(h), false);

	(void)state;
	peer_puts(p, "POST /sum HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
		     "Content-Length: 4\r\n\r\n\x01");
	assert_int_equal(httpd_drain(h, 0, 50), 1);
	assert_true(peer_at_end(p));
	peer_close(p);
}

static int setup(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	(void)snprintf(cert, sizeof(cert), "%s/tls.crt", folder);
	(void)snprintf(key, sizeof(key), "%s/tls.key", folder);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	(void)unlink(cert);
	(void)unlink(key);
	return rmdir(folder);
}

static char *text_of(const char *path)
{
	cleanup(freep) char *text = xcalloc(1, 65536);
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	assert_true(fread(text, 1, 65535, f) > 0);
	assert_int_equal(fclose(f), 0);
	return take(text);
}

/* Until the server's loop has taken the pair, new connections get what was there before. */
static void await_name(int port, const char *want)
{
	char name[64] = "";

	while (!str_eq(name, want)) {
		struct peer *p = peer_try_tls(port, 0);

		if (!p)
			continue;
		peer_server_name(p, name, sizeof(name));
		peer_close(p);
	}
}

static int hand_over(struct httpd *h, const char *name, long seconds)
{
	cleanup(freep) char *c = NULL, *k = NULL;
	struct err e = ERR_INIT;

	peer_write_pair(cert, key, name, seconds);
	c = text_of(cert);
	k = text_of(key);
	return httpd_set_pair(h, c, k, &e);
}

static void test_pairs_that_are_handed_over(void **state)
{
	cleanup_httpd struct httpd *h = NULL;
	cleanup(freep) char *stale = NULL, *mixed = NULL;
	struct err e = ERR_INIT;
	struct peer *p;

	(void)state;
	h = served_start((struct httpd_options){ .pair_later = true });
	assert_null(peer_try_tls(httpd_port(h), 0));
	assert_int_equal(httpd_certificate_expiry(h), 0);
	assert_int_equal(httpd_set_pair(h, "no", "pair", &e), -ERR_INVALID);
	assert_null(peer_try_tls(httpd_port(h), 0));

	assert_int_equal(hand_over(h, "one", DAY), 0);
	await_name(httpd_port(h), "one");
	assert_true(httpd_certificate_expiry(h) > time(NULL));
	p = peer_open(httpd_port(h), true);
	peer_get(p, "/hello");
	served_expect(p, 200, "hello\n");

	stale = text_of(key);
	assert_int_equal(hand_over(h, "two", 2L * DAY), 0);
	await_name(httpd_port(h), "two");
	peer_get(p, "/hello"); /* the connection of the first pair goes on */
	served_expect(p, 200, "hello\n");
	peer_close(p);

	mixed = text_of(cert);
	assert_int_equal(httpd_set_pair(h, mixed, stale, &e), -ERR_INVALID);
	expect_name(httpd_port(h), "two");
	/* one that the loop may not have taken before it ends */
	assert_int_equal(hand_over(h, "three", DAY), 0);
	assert_int_equal(hand_over(h, "four", DAY), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused_bodies_are_read_to_their_end),
		cmocka_unit_test(test_tls_versions),
		cmocka_unit_test(test_tls_bodies_and_plain_text),
		cmocka_unit_test(test_pairs_that_are_handed_over),
		cmocka_unit_test(test_reload_keeps_connections),
		cmocka_unit_test(test_a_broken_pair_keeps_the_last_good_one),
		cmocka_unit_test(test_a_bad_pair_at_start),
		cmocka_unit_test(test_resets_and_broken_handshakes),
		cmocka_unit_test(test_drain_answers_everything_first),
		cmocka_unit_test(test_drain_waits_for_a_request_in_progress),
		cmocka_unit_test(test_drain_has_a_deadline),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
