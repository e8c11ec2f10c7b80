/*
 * What nobody should send, against the program itself: each with the answer that is right. The service goes on after
 * each.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "test/lib/peer.h"
#include "test/lib/sanitized.h"
#include "test/lib/webhook_process.h"

static struct webhook_process w;

/* ---- bodies ---------------------------------------------------------------------------------- */

#define REQUEST(members)                                                                           \
	"{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/"                         \
	"v1\",\"request\":{" members "}}"
#define OBJECT(spec)                                                                               \
	"{\"apiVersion\":\"celld-operator.io/"                                                     \
	"v1alpha1\",\"kind\":\"WorkerApp\",\"metadata\":{\"name\":\"chat\"},"                      \
	"\"spec\":{\"appVersion\":\"v1\",\"celld\":{\"image\":\"celld:v0.6.2\"},"                  \
	"\"bucket\":{\"name\":\"s3://cells/chat\"}" spec "}}"
#define CREATE(spec) REQUEST("\"uid\":\"u\",\"operation\":\"CREATE\",\"object\":" OBJECT(spec))
#define UPDATE(object, old)                                                                        \
	REQUEST("\"uid\":\"u\",\"operation\":\"UPDATE\",\"object\":" object ",\"oldObject\":" old)

static const char ok_text[] = "{\"uid\":\"u\",\"allowed\":true";
static const char no_text[] = "{\"uid\":\"u\",\"allowed\":false";

static const struct {
	const char *what, *body;
	int status;
	const char *part; /* of the answer */
} bodies[] = {
	{ "empty", "", 400, "offset 0: " },
	{ "blank", " \n\t", 400, "offset 3: " },
	{ "no JSON", "hello", 400, "offset 0: " },
	{ "cut short", "{\"kind\":\"AdmissionReview\",", 400, "offset 26: " },
	{ "something behind", CREATE("") "x", 400, "bytes after the value" },
	{ "a list", "[]", 400, "the body is not an AdmissionReview" },
	{ "an old version",
	  "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/"
	  "v1beta1\",\"request\":{\"uid\":\"u\"}}",
	  400, "apiVersion is not admission.k8s.io/v1" },
	{ "a version to come",
	  "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/"
	  "v9\",\"request\":{\"uid\":\"u\"}}",
	  400, "apiVersion is not admission.k8s.io/v1" },
	{ "no request", "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1\"}",
	  400, "request is missing" },
	{ "request null",
	  "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1\",\"request\":null}",
	  400, "request is missing" },
	{ "no uid", REQUEST("\"operation\":\"DELETE\""), 400, "request.uid is missing" },
	{ "uid a number", REQUEST("\"uid\":7,\"operation\":\"DELETE\""), 400,
	  "request.uid is missing" },
	{ "quotes, line breaks and Unicode in the uid",
	  REQUEST("\"uid\":\"a\\\"\\n\\u00e9\xc3\xa9\",\"operation\":\"DELETE\""), 200,
	  "{\"uid\":\"a\\\"\\n\\u00e9\xc3\xa9\",\"allowed\":true" },
	{ "a name twice", REQUEST("\"uid\":\"u\",\"uid\":\"v\",\"operation\":\"DELETE\""), 400,
	  "duplicate member name" },
	{ "a name twice, once escaped",
	  REQUEST("\"uid\":\"u\",\"u\\u0069d\":\"v\",\"operation\":\"DELETE\""), 400,
	  "duplicate member name" },
	{ "a lone surrogate", REQUEST("\"uid\":\"\\ud800\",\"operation\":\"DELETE\""), 400,
	  "string" },
	{ "NUL in a string", REQUEST("\"uid\":\"a\\u0000b\",\"operation\":\"DELETE\""), 400,
	  "offset" },
	{ "no UTF-8", REQUEST("\"uid\":\"\xc3(\",\"operation\":\"DELETE\""), 400, "UTF-8" },
	{ "a byte order mark", "\xef\xbb\xbf" CREATE(""), 400, "offset 0: " },
	{ "1e400 where a number is read", CREATE(",\"replicas\":1e400"), 200, no_text },
	{ "1e400 where nobody reads", REQUEST("\"uid\":\"u\",\"operation\":\"DELETE\",\"x\":1e400"),
	  200, ok_text },
	{ "-0", CREATE(",\"replicas\":-0"), 200, no_text },
	{ "2^53 + 1", CREATE(",\"replicas\":9007199254740993"), 200, no_text },
	{ "2^63", CREATE(",\"replicas\":9223372036854775808"), 200, no_text },
	{ "30 digits", CREATE(",\"replicas\":333333333333333333333333333333"), 200, no_text },
	{ "a fraction", CREATE(",\"replicas\":3.5"), 200, no_text },
	{ "3 as a fraction", CREATE(",\"replicas\":3.0"), 200, ok_text },
	{ "object null on CREATE",
	  REQUEST("\"uid\":\"u\",\"operation\":\"CREATE\",\"object\":null"), 200, no_text },
	{ "object null on UPDATE", UPDATE("null", OBJECT("")), 200, no_text },
	{ "oldObject null on UPDATE", UPDATE(OBJECT(""), "null"), 200, no_text },
	{ "DELETE without an object",
	  REQUEST("\"uid\":\"u\",\"operation\":\"DELETE\",\"object\":null,\"oldObject\":null"), 200,
	  ok_text },
	{ "CONNECT", REQUEST("\"uid\":\"u\",\"operation\":\"CONNECT\",\"object\":null"), 200,
	  ok_text },
	{ "an operation to come", REQUEST("\"uid\":\"u\",\"operation\":\"MOVE\",\"object\":null"),
	  200, no_text },
	{ "subresource status",
	  REQUEST("\"uid\":\"u\",\"operation\":\"UPDATE\",\"subResource\":\"status\",\"object\":"
		  "null"),
	  200, ok_text },
	{ "subresource scale",
	  REQUEST("\"uid\":\"u\",\"operation\":\"UPDATE\",\"subResource\":\"scale\",\"object\":{"
		  "\"kind\":\"Scale\",\"spec\":{\"replicas\":4}},\"oldObject\":{\"kind\":\"Scale\","
		  "\"spec\":{\"replicas\":3}}"),
	  200, ok_text },
	{ "subresource to come",
	  REQUEST("\"uid\":\"u\",\"operation\":\"UPDATE\",\"subResource\":\"ephemeral\",\"object\":"
		  "null"),
	  200, no_text },
	{ "dry run",
	  REQUEST("\"uid\":\"u\",\"operation\":\"CREATE\",\"dryRun\":true,\"object\":" OBJECT("")),
	  200, ok_text },
	{ "dryRun absent", CREATE(""), 200, ok_text },
	{ "format strings", CREATE(",\"clusterDomain\":\"%s%n%1000000d\""), 200, no_text },
};

static void expect(struct peer *c, const char *what, int status, const char *part)
{
	struct peer_answer a;

	peer_read(c, &a);
	if (a.status != status || (!strstr(a.body, part) && !strcasestr(a.head, part)))
		fail_msg("%s: not %d with '%s' but %s%s", what, status, part, a.head,
			 a.body ? a.body : "");
	peer_answer_done(&a);
}

static void ask(struct peer *c, const char *what, const char *body, size_t n, int status,
		const char *part)
{
	peer_post(c, "/validate-workerapp", body, n);
	expect(c, what, status, part);
}

static void expect_service(struct peer *c)
{
	ask(c, "a good review", CREATE(""), sizeof(CREATE("")) - 1, 200, ok_text);
}

/* All on one connection: none of them ends it. */
static void test_bodies(void **state)
{
	struct peer *c = peer_open(w.port, true);

	(void)state;
	for (size_t i = 0; i < array_len(bodies); i++)
		ask(c, bodies[i].what, bodies[i].body, strlen(bodies[i].body), bodies[i].status,
		    bodies[i].part);
	peer_close(c);
}

/* ---- large ones ------------------------------------------------------------------------------ */

static void repeat(struct buf *to, const char *text, int n)
{
	for (int i = 0; i < n; i++)
		buf_puts(to, text);
}

static void expect_of(struct peer *c, const char *what, const struct buf *b, int status,
		      const char *part)
{
	assert_true(buf_ok(b));
	ask(c, what, b->data, b->len, status, part);
}

static void test_depth(void **state)
{
	static const int depths[] = { 1000, 100000 };
	struct peer *c = peer_open(w.port, true);

	(void)state;
	for (size_t i = 0; i < array_len(depths); i++) {
		struct buf b = BUF_INIT(8 << 20);

		buf_puts(&b, "{\"x\":");
		repeat(&b, "[", depths[i]);
		repeat(&b, "]", depths[i]);
		buf_puts(&b, "}");
		expect_of(c, "depth", &b, 400, "nest");
		buf_done(&b);
	}
	expect_service(c);
	peer_close(c);
}

static void test_a_long_uid(void **state)
{
	struct peer *c = peer_open(w.port, true);
	struct buf b = BUF_INIT(8 << 20);

	(void)state;
	buf_puts(&b, "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/"
		     "v1\",\"request\":{\"uid\":\"");
	repeat(&b, "0123456789abcdef", 65536);
	buf_puts(&b, "\"}}");
	expect_of(c, "uid of 1 MiB", &b, 400, "request.uid is too long");
	buf_done(&b);
	expect_service(c);
	peer_close(c);
}

/* More values than a tree is made of; and names that a hash without a seed would put into one place. */
static void test_many_values(void **state)
{
	struct peer *c = peer_open(w.port, true);
	struct buf b = BUF_INIT(8 << 20), names = BUF_INIT(8 << 20);

	(void)state;
	buf_puts(&b, "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/"
		     "v1\",\"request\":{\"uid\":\"u\",\"operation\":\"CREATE\",\"object\":"
		     "{\"apiVersion\":\"celld-operator.io/"
		     "v1alpha1\",\"kind\":\"WorkerApp\",\"spec\":{\"env\":[0");
	repeat(&b, ",0", 1 << 20);
	buf_puts(&b, "]}}}}");
	expect_of(c, "a million numbers", &b, 200, "more values than are read at once");
	buf_puts(&names, "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/"
			 "v1\",\"request\":{\"uid\":\"u\",\"operation\":\"DELETE\",\"x\":{\"\":0");
	for (int i = 0; i < 10000; i++) { /* multiply-and-add hashes call these pairs equal */
		char name[32];
		int n = 0;

		for (int bit = 0; bit < 14; bit++)
			n += snprintf(name + n, sizeof(name) - (size_t)n, "%s",
				      i >> bit & 1 ? "Aa" : "BB");
		buf_printf(&names, ",\"%s\":0", name);
	}
	buf_puts(&names, "}}}");
	expect_of(c, "ten thousand names", &names, 200, ok_text);
	buf_done(&b);
	buf_done(&names);
	peer_close(c);
}

static void put_large_object(struct buf *to, int replicas)
{
	size_t begun = to->len;

	buf_printf(to, "{\"apiVersion\":\"celld-operator.io/"
		       "v1alpha1\",\"kind\":\"WorkerApp\",\"metadata\":{\"name\":\"chat\","
		       "\"managedFields\":[{\"x\":{");
	for (int i = 0; to->len - begun < 1 << 20; i++)
		buf_printf(to, "%s\"k:{\\\"name\\\":\\\"%d\\\"}\":{\"f:x\":{}}", i ? "," : "", i);
	buf_printf(to,
		   "}}]},\"spec\":{\"appVersion\":\"v1\",\"celld\":{\"image\":\"celld:v0.6.2\"},"
		   "\"bucket\":{\"name\":\"s3://cells/chat\"},"
		   "\"replicas\":%d,\"podAnnotations\":{\"x\":\"",
		   replicas);
	repeat(to, "0123456789\\n", 1 << 16);
	buf_puts(to, "\"}},\"status\":{\"conditions\":[0");
	while (to->len - begun < 3 << 20)
		buf_puts(to, ",{\"type\":\"Ready\",\"status\":\"True\"}");
	buf_puts(to, "]}}");
}

/* The most that an API server sends: two objects of 3 MiB. */
static void test_the_largest_review(void **state)
{
	struct webhook_process p = { 0 };
	struct peer *c;
	struct buf b = BUF_INIT(8 << 20);
	long before, after;

	(void)state;
	webhook_serve(&p, "--lame-duck 0s");
	c = peer_open(p.port, true);
	expect_service(c);
	before = webhook_memory(&p, "VmHWM:");
	buf_puts(&b, "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/"
		     "v1\",\"request\":{\"uid\":\"u\",\"operation\":\"UPDATE\",\"object\":");
	put_large_object(&b, 4);
	buf_puts(&b, ",\"oldObject\":");
	put_large_object(&b, 3);
	buf_puts(&b, "}}");
	expect_of(c, "6 MiB", &b, 200, ok_text);
	after = webhook_memory(&p, "VmHWM:");
	/* a sanitizer's own memory says nothing */
	assert_true(SANITIZED || after - before <= 3 * (long)(b.len >> 10));
	buf_done(&b);
	peer_close(c);
	webhook_stop(&p);
}

/* What large reviews take is given back when no more come. */
static void test_memory_after_large_reviews(void **state)
{
	enum { PEERS = 6, OF_CONNECTIONS_KB = 64 * PEERS };
	struct webhook_process p = { 0 };
	struct peer *c[PEERS];
	struct buf b = BUF_INIT(2 << 20);
	long at_rest;

	(void)state;
	buf_puts(&b, "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1\","
		     "\"request\":{\"uid\":\"u\",\"operation\":\"CREATE\",\"object\":"
		     "{\"apiVersion\":\"celld-operator.io/v1alpha1\",\"kind\":\"WorkerApp\","
		     "\"metadata\":{\"name\":\"chat\"},\"spec\":{\"env\":[0");
	for (int i = 0; i < 12000; i++)
		buf_printf(&b, ",{\"name\":\"NAME_%d\",\"value\":\"some words\"}", i);
	buf_puts(&b, "]}}}}");
	webhook_serve(&p, "--lame-duck 0s");
	at_rest = webhook_memory(&p, "RssAnon:");
	for (int i = 0; i < PEERS; i++) {
		c[i] = peer_open(p.port, true);
		expect_of(c[i], "a large review", &b, 200, "spec.env");
		expect_service(c[i]);
	}
	for (int i = 0; !SANITIZED; i++) {
		if (webhook_memory(&p, "RssAnon:") <= at_rest + OF_CONNECTIONS_KB)
			break;
		assert_in_range(i, 0, 3000);
		(void)usleep(10000);
	}
	buf_done(&b);
	for (int i = 0; i < PEERS; i++)
		peer_close(c[i]);
	webhook_stop(&p);
}

/* ---- HTTP ------------------------------------------------------------------------------------ */

#define POST "POST /validate-workerapp HTTP/1.1\r\nHost: x\r\n"
#define JSON "Content-Type: application/json\r\n"

static const struct {
	const char *what, *text;
	int status;
	const char *part;
	bool ends; /* the server closes after it */
} requests[] = {
	{ "a charset",
	  POST "Content-Type: application/json; charset=utf-8\r\nContent-Length: 2\r\n\r\n{}", 400,
	  "not an AdmissionReview", false },
	{ "no media type", POST "Content-Length: 2\r\n\r\n{}", 415, "media type", false },
	{ "another media type", POST "Content-Type: text/yaml\r\nContent-Length: 2\r\n\r\n{}", 415,
	  "media type", false },
	{ "a length that is too short",
	  POST JSON "Content-Length: 1\r\nConnection: close\r\n\r\n{}", 400, "offset 1: ", true },
	{ "no length", POST JSON "\r\n", 400, "offset 0: ", false },
	{ "a negative length", POST JSON "Content-Length: -1\r\n\r\n{}", 400, "", true },
	{ "two lengths", POST JSON "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}", 400,
	  "more than once", true },
	{ "two lengths that differ", POST JSON "Content-Length: 2\r\ncontent-length: 90\r\n\r\n{}",
	  400, "more than once", true },
	{ "a length and pieces",
	  POST JSON "Content-Length: 7\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
	  400, "more than once", true },
	{ "two lengths before a body that waits for leave",
	  POST JSON "Expect: 100-continue\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n", 400,
	  "more than once", true },
	{ "a length that is none", POST JSON "Content-Length: 2x\r\n\r\n{}", 400, "", true },
	{ "more than is read", POST JSON "Content-Length: 99999999\r\n\r\n", 413, "too large",
	  true },
	{ "pieces", POST JSON "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n",
	  400, "not an AdmissionReview", false },
	{ "pieces that are none", POST JSON "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n", 400,
	  "", true },
	{ "Expect", POST JSON "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n{}", 400,
	  "not an AdmissionReview", false },
	{ "Expect of something else", POST JSON "Expect: a miracle\r\nContent-Length: 2\r\n\r\n{}",
	  400, "not an AdmissionReview", false },
	{ "HTTP/1.0", "POST /validate-workerapp HTTP/1.0\r\n" JSON "Content-Length: 2\r\n\r\n{}",
	  400, "not an AdmissionReview", true },
	{ "no Host, which plays no part", "GET /healthz HTTP/1.1\r\n\r\n", 200, "ok", false },
	{ "GET", "GET /validate-workerapp HTTP/1.1\r\nHost: x\r\n\r\n", 405, "\r\nAllow: POST\r\n",
	  false },
	{ "PUT",
	  "PUT /validate-workerapp HTTP/1.1\r\nHost: x\r\n" JSON "Content-Length: 2\r\n\r\n{}", 405,
	  "\r\nAllow: POST\r\n", false },
	{ "DELETE", "DELETE /validate-workerapp HTTP/1.1\r\nHost: x\r\n\r\n", 405,
	  "\r\nAllow: POST\r\n", false },
	{ "a method that is none", "BREW /validate-workerapp HTTP/1.1\r\nHost: x\r\n\r\n", 405,
	  "\r\nAllow: POST\r\n", false },
	{ "an unknown path",
	  "POST /validate HTTP/1.1\r\nHost: x\r\n" JSON "Content-Length: 2\r\n\r\n{}", 404,
	  "not found", false },
	{ "a path with dots", "GET /../../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n", 404, "not found",
	  false },
	{ "a path with NUL", "GET /healthz%00x HTTP/1.1\r\nHost: x\r\n\r\n", 404, "", false },
	{ "a query", "GET /healthz?timeout=10s HTTP/1.1\r\nHost: x\r\n\r\n", 200, "ok", false },
};

static void test_requests(void **state)
{
	(void)state;
	for (size_t i = 0; i < array_len(requests); i++) {
		struct peer *c = peer_open(w.port, true);

		peer_puts(c, requests[i].text);
		expect(c, requests[i].what, requests[i].status, requests[i].part);
		if (requests[i].ends && !peer_ends_within(c, 30000))
			fail_msg("%s: the connection goes on", requests[i].what);
		if (!requests[i].ends)
			expect_service(c);
		peer_close(c);
	}
}

static void test_pipelined_reviews(void **state)
{
	struct peer *c = peer_open(w.port, true);

	(void)state;
	for (int i = 0; i < 20; i++)
		peer_post(c, "/validate-workerapp", CREATE(""), sizeof(CREATE("")) - 1);
	for (int i = 0; i < 20; i++)
		expect(c, "one of twenty", 200, ok_text);
	peer_close(c);
}

/* Refused or cut, and nothing but this connection ends. */
static void test_lines_over_the_limit(void **state)
{
	static const char *const heads[] = { "GET /", "GET /healthz HTTP/1.1\r\nHost: x\r\nX: " };
	struct peer *other = peer_open(w.port, true);
	struct peer_answer a;

	(void)state;
	for (size_t i = 0; i < array_len(heads); i++) {
		struct peer *c = peer_open(w.port, true);
		struct buf b = BUF_INIT(1 << 20);

		buf_puts(&b, heads[i]);
		repeat(&b, "0123456789", 20000);
		peer_send(c, b.data, b.len);
		peer_read(c, &a);
		assert_true(a.status == 0 || a.status == 414 || a.status == 431 || a.status == 413);
		peer_answer_done(&a);
		peer_close(c);
		buf_done(&b);
		expect_service(other);
	}
	peer_close(other);
}

static void test_connections_that_break_off(void **state)
{
	static const char *const parts[] = {
		"",
		"P",
		"POST /validate-workerapp HTTP/1.1\r\n",
		POST JSON "Content-Length: 100\r\n\r\n",
		POST JSON "Content-Length: 100\r\n\r\n{\"kind\":",
		POST JSON "Transfer-Encoding: chunked\r\n\r\n5\r\n{",
		POST JSON "Content-Length: 2\r\n\r\n{}",
	};
	struct peer *other = peer_open(w.port, true);

	(void)state;
	for (size_t i = 0; i < 2 * array_len(parts); i++) {
		struct peer *c = peer_open(w.port, true);

		peer_puts(c, parts[i / 2]);
		if (i % 2)
			peer_reset(c);
		else
			peer_close(c);
		expect_service(other);
	}
	peer_close(other);
}

/* ---- floods ---------------------------------------------------------------------------------- */

/* The beginning of a ClientHello, after which nothing comes. */
static const char half_hello[] = "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03";

/*
 * More silent connections and half handshakes than there are places: reviews are answered, on old connections and
 * new.
 */
static void test_a_thousand_idle_connections(void **state)
{
	enum { IDLE = 1100 };
	static struct peer *idle[IDLE];
	struct peer *old = peer_open(w.port, true);
	struct rlimit files;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	files.rlim_cur = files.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
	for (int i = 0; i < IDLE; i++) {
		idle[i] = peer_open(w.port, false);
		if (i % 2)
			peer_send(idle[i], half_hello, sizeof(half_hello) - 1);
		if (i % 100 == 0) {
			struct peer *fresh = peer_open(w.port, true);

			expect_service(fresh);
			peer_close(fresh);
			expect_service(old);
		}
	}
	expect_service(old);
	for (int i = 0; i < IDLE; i++)
		peer_close(idle[i]);
	expect_service(old);
	peer_close(old);
}

/* Descriptors for a few connections only, and ten times as many connect: who asks is served, before and after. */
static void test_few_descriptors(void **state)
{
	enum { FILES = 72, MANY = 240 };
	struct webhook_process p = { .files = FILES };
	struct peer *many[MANY], *old, *fresh;

	(void)state;
	webhook_serve(&p, "--lame-duck 0s");
	old = peer_open(p.port, true);
	expect_service(old);
	for (int i = 0; i < MANY; i++)
		many[i] = peer_open(p.port, false);
	expect_service(old);
	fresh = peer_open(p.port, true);
	expect_service(fresh);
	for (int i = 0; i < MANY; i++)
		peer_close(many[i]);
	expect_service(old);
	expect_service(fresh);
	peer_close(old);
	peer_close(fresh);
	fresh = peer_open(p.port, true);
	expect_service(fresh);
	peer_close(fresh);
	webhook_stop(&p);
}

/* Nobody reads what it logs: a pipe without a reader, as good as a full disk. */
static void test_logs_that_cannot_be_written(void **state)
{
	struct webhook_process p = { 0 };
	struct peer *c;

	(void)state;
	webhook_serve(&p, "--lame-duck 0s --log-level debug");
	(void)close(p.err);
	p.err = -1;
	c = peer_open(p.port, true);
	ask(c, "one to log", "{}", 2, 400, "not an AdmissionReview");
	expect_service(c);
	peer_close(c);
	webhook_stop(&p);
}

static int setup(void **state)
{
	if (webhook_setup(state))
		return -1;
	webhook_serve(&w, "--lame-duck 0s");
	return 0;
}

static int teardown(void **state)
{
	webhook_stop(&w);
	return webhook_teardown(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bodies),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_a_long_uid),
		cmocka_unit_test(test_many_values),
		cmocka_unit_test(test_the_largest_review),
		cmocka_unit_test(test_memory_after_large_reviews),
		cmocka_unit_test(test_requests),
		cmocka_unit_test(test_pipelined_reviews),
		cmocka_unit_test(test_lines_over_the_limit),
		cmocka_unit_test(test_connections_that_break_off),
		cmocka_unit_test(test_a_thousand_idle_connections),
		cmocka_unit_test(test_few_descriptors),
		cmocka_unit_test(test_logs_that_cannot_be_written),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
