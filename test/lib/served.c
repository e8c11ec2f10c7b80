#include "test/lib/served.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include <string.h>

static void hello(void *ctx, const struct httpd_request *req, struct httpd_answer *a)
{
	(void)ctx;
	assert_int_equal(req->len, 0);
	buf_puts(&a->body, "hello\n");
}

/* Length, and sum of the bytes. The padding is checked too. */
static void sum(void *ctx, const struct httpd_request *req, struct httpd_answer *a)
{
	unsigned long s = 0;

	(void)ctx;
	for (size_t i = 0; i < req->len; i++)
		s += (unsigned char)req->body[i];
	for (size_t i = 0; i < HTTPD_BODY_PAD; i++)
		assert_int_equal(req->body[req->len + i], 0);
	a->content_type = "application/json";
	buf_printf(&a->body, "[%zu,%lu]", req->len, s);
}

static void busy(void *ctx, const struct httpd_request *req, struct httpd_answer *a)
{
	(void)ctx;
	(void)req;
	a->status = 503;
	a->retry_after_s = 7;
}

static const struct httpd_route routes[] = {
	{ "GET", "/hello", hello, NULL, 0, NULL },
	{ "POST", "/sum", sum, NULL, SERVED_MAX_BODY, "application/json" },
	{ "POST", "/busy", busy, NULL, 10, NULL },
	{ "GET", "/busy", busy, NULL, 0, NULL },
};

struct httpd *served_start(struct httpd_options o)
{
	struct httpd *h = NULL;
	struct err e = ERR_INIT;

	o.address = o.address ? o.address : "127.0.0.1:0";
	o.routes = routes;
	o.n_routes = array_len(routes);
	if (httpd_start(&o, &h, &e))
		fail_msg("%s", e.message);
	return h;
}

void served_expect(struct peer *p, int status, const char *body)
{
	struct peer_answer a;

	peer_read(p, &a);
	assert_int_equal(a.status, status);
	if (body)
		assert_string_equal(a.body, body);
	peer_answer_done(&a);
}

void served_expect_header(struct peer *p, int status, const char *header)
{
	struct peer_answer a;

	peer_read(p, &a);
	assert_int_equal(a.status, status);
	if (!strcasestr(a.head, header))
		fail_msg("no '%s' in: %s", header, a.head);
	peer_answer_done(&a);
}
