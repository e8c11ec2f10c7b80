#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/http.h"
#include "common/json.h"
#include "common/kube/client.h"
#include "common/kube/config.h"
#include "common/kube/wire.h"
#include "test/lib/script.h"

static const struct kube_kind pods = { "", "v1", "pods", "Pod", true };
static const struct kube_kind sets = { "apps", "v1", "statefulsets", "StatefulSet", true };
static const struct kube_kind nodes = { "", "v1", "nodes", "Node", false };

struct fixture {
	struct script *server;
	struct kube_config *config;
	struct kube_client *client;
	struct err e;
	struct json *got;
};

static void start_with(struct fixture *f, const struct script_step *steps, size_t n,
		       struct kube_client_opts o)
{
	*f = (struct fixture){ .server = script_start(steps, n, NULL) };
	f->config = kube_config_plain(script_url(f->server), "T1");
	o.config = f->config;
	f->client = kube_client_new(&o);
}

static void start(struct fixture *f, const struct script_step *steps, size_t n)
{
	start_with(f, steps, n, (struct kube_client_opts){ .user_agent = "test/1" });
}

static void stop(struct fixture *f)
{
	json_free(f->got);
	kube_client_free(f->client);
	kube_config_free(f->config);
	assert_int_equal(script_unexpected(f->server), 0);
	script_stop(f->server);
}

static void expect_json(struct fixture *f, const char *want)
{
	cleanup(freep) char *text = json_text_sorted(f->got);

	assert_string_equal(text, want);
	json_free(take(f->got));
}

static void test_paths(void **state)
{
	struct buf b = BUF_INIT(1000);
	cleanup(freep) char *core = wire_api_version(&pods), *apps = wire_api_version(&sets);

	(void)state;
	assert_string_equal(core, "v1");
	assert_string_equal(apps, "apps/v1");
	wire_path(&sets, "shop", "kv", "status", &b);
	assert_string_equal(buf_str(&b), "/apis/apps/v1/namespaces/shop/statefulsets/kv/status");
	buf_clear(&b);
	wire_path(&pods, NULL, NULL, NULL, &b);
	wire_query(&b, "labelSelector", "a=b,c in (d)");
	wire_query(&b, "continue", NULL);
	wire_query(&b, "limit", "5");
	assert_string_equal(buf_str(&b),
			    "/api/v1/pods?labelSelector=a%3Db%2Cc%20in%20%28d%29&limit=5");
	buf_clear(&b);
	wire_path(&nodes, "ignored", "../x", NULL, &b);
	assert_string_equal(buf_str(&b), "/api/v1/nodes/..%2Fx");
	buf_done(&b);
}

static void test_get(void **state)
{
	static const struct script_step steps[] = {
		{ .want = "GET /api/v1/namespaces/shop/pods/kv-0", .body = "{\"kind\":\"Pod\"}" },
		{ .want = "GET /version", .body = "{\"major\":\"1\"}" },
		{ .want = "GET /api/v1/namespaces/shop/pods/html", .body = "<html>" },
	};
	const struct script_request *r;
	struct fixture f;

	(void)state;
	start(&f, steps, 3);
	assert_int_equal(kube_get(f.client, &pods, "shop", "kv-0", 0, &f.got, &f.e), 0);
	expect_json(&f, "{\"kind\":\"Pod\"}");
	r = script_request(f.server, 0);
	assert_true(script_has_header(r, "Accept: application/json"));
	assert_true(script_has_header(r, "Authorization: Bearer T1"));
	assert_true(script_has_header(r, "User-Agent: test/1"));
	assert_int_equal(kube_raw_get(f.client, "/version", 0, &f.got, &f.e), 0);
	expect_json(&f, "{\"major\":\"1\"}");
	assert_int_equal(kube_get(f.client, &pods, "shop", "html", 0, &f.got, &f.e), -ERR_PROTOCOL);
	assert_null(f.got);
	stop(&f);
}

struct mapping {
	int status;
	const char *headers, *body;
	enum err_code code;
	const char *message;
	int retry_after_ms;
};

static void test_errors(void **state)
{
	static const struct mapping m[] = {
		{ 404, NULL, "{\"message\":\"pods \\\"x\\\" not found\",\"reason\":\"NotFound\"}",
		  ERR_NOT_FOUND, "pods \"x\" not found", 0 },
		{ 409, NULL, "{\"message\":\"m\",\"reason\":\"AlreadyExists\"}", ERR_EXISTS, "m",
		  0 },
		{ 409, NULL, "{\"message\":\"m\",\"reason\":\"Conflict\"}", ERR_CONFLICT, "m", 0 },
		{ 410, NULL, "{\"message\":\"m\",\"reason\":\"Expired\"}", ERR_GONE, "m", 0 },
		{ 403, NULL, "{\"message\":\"m\"}", ERR_FORBIDDEN, "m", 0 },
		{ 401, NULL, "Unauthorized", ERR_UNAUTHORIZED, "HTTP status 401", 0 },
		{ 422, NULL, "{\"message\":\"spec.replicas: bad\"}", ERR_INVALID,
		  "spec.replicas: bad", 0 },
		{ 400, NULL, "{\"message\":\"m\"}", ERR_INVALID, "m", 0 },
		{ 413, NULL, "", ERR_TOO_LARGE, "HTTP status 413", 0 },
		{ 429, "Retry-After: 7\r\n", "Too many requests", ERR_THROTTLED, "HTTP status 429",
		  7000 },
		{ 503, NULL, "{\"message\":\"m\",\"details\":{\"retryAfterSeconds\":3}}",
		  ERR_UNAVAILABLE, "m", 3000 },
		{ 500, NULL, "{\"message\":\"m\"}", ERR_UNAVAILABLE, "m", 0 },
		{ 504, NULL, "{\"message\":\"m\"}", ERR_TIMEOUT, "m", 0 },
		{ 504, NULL,
		  "{\"message\":\"m\",\"details\":{\"causes\":[{\"reason\":"
		  "\"ResourceVersionTooLarge\"}]}}",
		  ERR_GONE, "m", 0 },
		{ 422, NULL,
		  "{\"message\":\"m\",\"details\":{\"causes\":[{\"field\":\"metadata.uid\"}]}}",
		  ERR_CONFLICT, "m", 0 },
		{ 418, NULL, "", ERR_INVALID, "HTTP status 418", 0 },
		{ 599, NULL, "", ERR_UNAVAILABLE, "HTTP status 599", 0 },
		{ 302, "Location: /x\r\n", "", ERR_PROTOCOL, "HTTP status 302", 0 },
	};

	(void)state;
	for (size_t i = 0; i < array_len(m); i++) {
		struct script_step step = { .status = m[i].status,
					    .headers = m[i].headers,
					    .body = m[i].body,
					    .again = true };
		cleanup(freep) char *want =
			xasprintf("GET /api/v1/namespaces/a/pods/x: %s", m[i].message);
		struct fixture f;

		start(&f, &step, 1);
		assert_int_equal(kube_get(f.client, &pods, "a", "x", 0, &f.got, &f.e),
				 -(int)m[i].code);
		assert_string_equal(f.e.message, want);
		assert_int_equal(f.e.http_status, m[i].status);
		assert_int_equal(f.e.retry_after_ms, m[i].retry_after_ms);
		stop(&f);
	}
}

static void test_list_pages(void **state)
{
	static const struct script_step steps[] = {
		{ .want = "GET /api/v1/pods?limit=500&labelSelector=app%3Dkv",
		  .body = "{\"metadata\":{\"resourceVersion\":\"7\",\"continue\":\"C/"
			  "1\"},\"items\":[1]}" },
		{ .want = "GET /api/v1/pods?limit=500&labelSelector=app%3Dkv&continue=C%2F1",
		  .body = "{\"metadata\":{\"resourceVersion\":\"7\",\"continue\":\"\"},\"items\":["
			  "2,3]}" },
	};
	static const struct script_step reversed[] = {
		{ .want = "GET /api/v1/pods?limit=500&continue=A",
		  .status = 410,
		  .body = "{\"reason\":\"Expired\",\"metadata\":{\"continue\":\"B\"}}" },
		{ .want = "GET /api/v1/pods?limit=500&continue=D",
		  .body = "{\"metadata\":{\"resourceVersion\":\"9\"},\"items\":[5]}" },
		{ .want = "GET /api/v1/pods?limit=500",
		  .body = "{\"metadata\":{\"resourceVersion\":\"8\",\"continue\":\"A\"},\"items\":["
			  "1]}" },
		{ .want = "GET /api/v1/pods?limit=500",
		  .body = "{\"metadata\":{\"resourceVersion\":\"9\",\"continue\":\"D\"},\"items\":["
			  "4]}" },
	};
	struct fixture f;

	(void)state;
	/* The second is given first: its `want` is the longer one. */
	{
		const struct script_step ordered[] = { steps[1], steps[0] };

		start(&f, ordered, 2);
		assert_int_equal(kube_list(f.client, &pods, NULL, "app=kv", 0, &f.got, &f.e), 0);
		expect_json(&f, "{\"items\":[1,2,3],\"metadata\":{\"resourceVersion\":\"7\"}}");
		stop(&f);
	}
	/* 410 on the second page: nothing of the first try is left in the result. */
	start(&f, reversed, 4);
	assert_int_equal(kube_list(f.client, &pods, NULL, NULL, 0, &f.got, &f.e), 0);
	expect_json(&f, "{\"items\":[4,5],\"metadata\":{\"resourceVersion\":\"9\"}}");
	assert_int_equal(script_count(f.server), 4);
	stop(&f);
}

static void test_list_gone_for_ever(void **state)
{
	static const struct script_step step = { .status = 410, .body = "{}", .again = true };
	struct fixture f;

	(void)state;
	start(&f, &step, 1);
	assert_int_equal(kube_list(f.client, &pods, "a", NULL, 0, &f.got, &f.e), -ERR_GONE);
	assert_int_equal(script_count(f.server), 3);
	stop(&f);
}

static struct json *parse(const char *text)
{
	struct json *j = NULL;
	struct err e = ERR_INIT;

	assert_int_equal(json_parse(text, strlen(text), &j, &e), 0);
	return j;
}

static void test_writes(void **state)
{
	static const struct script_step steps[] = {
		{ .want = "POST /api/v1/namespaces/a/pods", .status = 201, .body = "{\"a\":1}" },
		{ .want = "PUT /apis/apps/v1/namespaces/a/statefulsets/kv/status", .body = "{}" },
		{ .want = "PATCH "
			  "/apis/apps/v1/namespaces/a/statefulsets/"
			  "kv?fieldManager=celld%2Fx&force=true",
		  .body = "{\"b\":2}" },
		{ .want = "PATCH "
			  "/apis/apps/v1/namespaces/a/statefulsets/kv/"
			  "status?fieldManager=s&dryRun=All",
		  .body = "{}" },
		{ .want = "PATCH /api/v1/namespaces/a/pods/p", .body = "{}" },
		{ .want = "PATCH /api/v1/namespaces/a/pods/p", .body = "{}" },
		{ .want = "DELETE /api/v1/namespaces/a/pods/p", .body = "{}" },
		{ .want = "DELETE /api/v1/nodes/n", .body = "not even JSON" },
	};
	struct fixture f;
	cleanup_json struct json *object = parse("{\"metadata\":{\"name\":\"kv\"},\"zero\":0}");
	cleanup_json struct json *patch = parse("[]");
	struct kube_apply_opts apply = { .field_manager = "celld/x", .force = true };
	struct kube_apply_opts status = { .field_manager = "s",
					  .subresource = "status",
					  .dry_run = true };
	struct kube_delete_opts del = {
		.uid = "U", .resource_version = "5", .propagation = "Foreground", .grace_seconds = 0
	};
	struct kube_delete_opts plain = { .grace_seconds = -1 };

	(void)state;
	start(&f, steps, array_len(steps));
	assert_int_equal(kube_create(f.client, &pods, "a", object, 0, &f.got, &f.e), 0);
	expect_json(&f, "{\"a\":1}");
	assert_int_equal(kube_replace(f.client, &sets, "a", "kv", "status", object, 0, NULL, &f.e),
			 0);
	assert_int_equal(kube_apply(f.client, &sets, "a", object, &apply, &f.got, &f.e), 0);
	expect_json(&f, "{\"b\":2}");
	assert_int_equal(kube_apply(f.client, &sets, "a", object, &status, NULL, &f.e), 0);
	assert_int_equal(kube_patch(f.client, &pods, "a", "p", NULL, KUBE_PATCH_MERGE, object, 0,
				    NULL, &f.e),
			 0);
	assert_int_equal(
		kube_patch(f.client, &pods, "a", "p", NULL, KUBE_PATCH_JSON, patch, 0, NULL, &f.e),
		0);
	assert_int_equal(kube_delete(f.client, &pods, "a", "p", &del, &f.e), 0);
	assert_int_equal(kube_delete(f.client, &nodes, NULL, "n", &plain, &f.e), 0);
	assert_string_equal(script_request(f.server, 0)->body,
			    "{\"metadata\":{\"name\":\"kv\"},\"zero\":0}");
	assert_true(script_has_header(script_request(f.server, 2),
				      "Content-Type: application/apply-patch+yaml"));
	assert_true(script_has_header(script_request(f.server, 4),
				      "Content-Type: application/merge-patch+json"));
	assert_true(script_has_header(script_request(f.server, 5),
				      "Content-Type: application/json-patch+json"));
	assert_string_equal(script_request(f.server, 6)->body,
			    "{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\",\"preconditions\":{"
			    "\"uid\":\"U\","
			    "\"resourceVersion\":\"5\"},\"propagationPolicy\":\"Foreground\","
			    "\"gracePeriodSeconds\":0}");
	assert_string_equal(script_request(f.server, 7)->body,
			    "{\"apiVersion\":\"v1\",\"kind\":\"DeleteOptions\"}");
	stop(&f);
}

static void test_apply_needs_name(void **state)
{
	static const struct script_step none = { .want = "never" };
	struct kube_apply_opts o = { .field_manager = "x" };
	cleanup_json struct json *object = parse("{}");
	struct fixture f;

	(void)state;
	start(&f, &none, 1);
	assert_int_equal(kube_apply(f.client, &sets, "a", object, &o, NULL, &f.e), -ERR_INTERNAL);
	assert_int_equal(script_count(f.server), 0);
	stop(&f);
}

/* --- the fence and the rate limit ------------------------------------------------------------- */

static int64_t fence(void *ms)
{
	return *(const int64_t *)ms;
}

static void test_fence(void **state)
{
	static const struct script_step steps[] = {
		{ .want = "GET ", .body = "{}" },
		{ .want = "POST ", .end = SCRIPT_SILENT },
		{ .want = "POST ", .body = "{}" },
	};
	int64_t ms = 0;
	cleanup_json struct json *object = parse("{}");
	struct fixture f;

	(void)state;
	start_with(&f, steps, 3,
		   (struct kube_client_opts){ .may_write = fence, .may_write_ctx = &ms });
	/* Closed: reading goes on, writing does not reach the server. */
	assert_int_equal(kube_create(f.client, &pods, "a", object, 0, NULL, &f.e), -ERR_CANCELED);
	ms = -5;
	assert_int_equal(kube_create(f.client, &pods, "a", object, 0, NULL, &f.e), -ERR_CANCELED);
	assert_int_equal(script_count(f.server), 0);
	assert_int_equal(kube_get(f.client, &pods, "a", "x", 0, &f.got, &f.e), 0);
	/* What is left of the lease is all the time that a write gets. */
	ms = 40;
	assert_int_equal(kube_create(f.client, &pods, "a", object, 600000, NULL, &f.e),
			 -ERR_TIMEOUT);
	ms = 600000;
	assert_int_equal(kube_create(f.client, &pods, "a", object, 0, NULL, &f.e), 0);
	stop(&f);
}

static void test_rate_limit(void **state)
{
	static const struct script_step step = { .body = "{}", .again = true };
	struct fixture f;
	int64_t begin;

	(void)state;
	start_with(&f, &step, 1, (struct kube_client_opts){ .qps = 20, .burst = 2 });
	begin = clock_mono_ms();
	for (int i = 0; i < 6; i++) {
		json_free(take(f.got));
		assert_int_equal(kube_get(f.client, &pods, "a", "x", 0, &f.got, &f.e), 0);
	}
	/* Two at once, four more at 20 per second: never quicker than 200 ms. */
	assert_true(clock_mono_ms() - begin >= 199);
	stop(&f);
	/* No time to wait for its turn: nothing is sent. */
	start_with(&f, &step, 1, (struct kube_client_opts){ .qps = 0.001, .burst = 1 });
	assert_int_equal(kube_get(f.client, &pods, "a", "x", 0, &f.got, &f.e), 0);
	json_free(take(f.got));
	assert_int_equal(kube_get(f.client, &pods, "a", "x", 5000, &f.got, &f.e), -ERR_THROTTLED);
	assert_int_equal(script_count(f.server), 1);
	stop(&f);
}

/* 429 holds back everything that this process sends, for as long as the server says; not for less. */
static void test_throttled(void **state)
{
	static const struct script_step steps[] = {
		{ .status = 429, .headers = "Retry-After: 1\r\n", .body = "Too many requests" },
		{ .body = "{}", .again = true },
	};
	struct fixture f;
	int64_t begin;

	(void)state;
	start(&f, steps, 2);
	begin = clock_mono_ms();
	assert_int_equal(kube_get(f.client, &pods, "a", "x", 0, &f.got, &f.e), -ERR_THROTTLED);
	/* no time to wait for it: not sent, and it says when to come back */
	assert_int_equal(kube_get(f.client, &nodes, NULL, "n", 100, &f.got, &f.e), -ERR_THROTTLED);
	assert_int_equal(script_count(f.server), 1);
	assert_in_range(f.e.retry_after_ms, 1, 1101);
	assert_int_equal(kube_get(f.client, &nodes, NULL, "n", 0, &f.got, &f.e), 0);
	assert_true(clock_mono_ms() - begin >= 1000);
	assert_int_equal(script_count(f.server), 2);
	stop(&f);
}

/* 503 is the one server's trouble, unless it says when to come back. */
static void test_unavailable(void **state)
{
	static const struct script_step steps[] = {
		{ .status = 503, .body = "starting" },
		{ .status = 503, .headers = "Retry-After: 600\r\n", .body = "going down" },
		{ .body = "{}", .again = true },
	};
	struct fixture f;

	(void)state;
	start(&f, steps, 3);
	assert_int_equal(kube_get(f.client, &pods, "a", "x", 0, &f.got, &f.e), -ERR_UNAVAILABLE);
	assert_int_equal(f.e.retry_after_ms, 0);
	assert_int_equal(kube_get(f.client, &pods, "a", "x", 0, &f.got, &f.e), -ERR_UNAVAILABLE);
	assert_int_equal(f.e.retry_after_ms, 600000);
	assert_int_equal(kube_get(f.client, &nodes, NULL, "n", 0, &f.got, &f.e), -ERR_THROTTLED);
	assert_in_range(f.e.retry_after_ms, 500000, 660000);
	assert_int_equal(script_count(f.server), 2);
	stop(&f);
}

/* --- credentials, counters, cancelling -------------------------------------------------------- */

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(close(fd), 0);
}

static void test_token_rotation(void **state)
{
	static const struct script_step steps[] = {
		{ .want = "GET /api/v1/nodes/a", .body = "{}" },
		{ .want = "GET /api/v1/nodes/b", .status = 401 },
		{ .want = "GET /api/v1/nodes/b", .body = "{}" },
		{ .want = "GET /api/v1/nodes/c", .status = 401, .again = true },
	};
	char dir[] = "/tmp/test-kube-XXXXXX", *cert;
	cleanup(freep) char *pem = script_pem("localhost", &cert), *token = NULL, *ca = NULL;
	struct fixture f = { .server = script_start(steps, 4, pem) };
	char port[16];

	(void)state;
	assert_non_null(mkdtemp(dir));
	token = xasprintf("%s/token", dir);
	ca = xasprintf("%s/ca.crt", dir);
	write_file(token, "T1\n");
	write_file(ca, cert);
	(void)snprintf(port, sizeof(port), "%d", script_port(f.server));
	assert_int_equal(setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1", 1), 0);
	assert_int_equal(setenv("KUBERNETES_SERVICE_PORT", port, 1), 0);
	assert_int_equal(kube_config_in_cluster(dir, &f.config, &f.e), 0);
	f.client = kube_client_new(&(struct kube_client_opts){ .config = f.config });
	assert_int_equal(kube_get(f.client, &nodes, NULL, "a", 0, &f.got, &f.e), 0);
	json_free(take(f.got));
	/* The token is swapped; 401 makes the client look again. */
	write_file(token, "T2\n");
	assert_int_equal(kube_get(f.client, &nodes, NULL, "b", 0, &f.got, &f.e), 0);
	assert_true(script_has_header(script_request(f.server, 0), "Authorization: Bearer T1"));
	assert_true(script_has_header(script_request(f.server, 1), "Authorization: Bearer T1"));
	assert_true(script_has_header(script_request(f.server, 2), "Authorization: Bearer T2"));
	json_free(take(f.got));
	/* Once, not for ever; and with the file away the last token stays. */
	assert_int_equal(unlink(token), 0);
	assert_int_equal(kube_get(f.client, &nodes, NULL, "c", 0, &f.got, &f.e), -ERR_UNAUTHORIZED);
	assert_int_equal(script_count(f.server), 4);
	write_file(token, "T3");
	assert_int_equal(kube_get(f.client, &nodes, NULL, "c", 0, &f.got, &f.e), -ERR_UNAUTHORIZED);
	assert_int_equal(script_count(f.server), 6);
	assert_true(script_has_header(script_request(f.server, 5), "Authorization: Bearer T3"));
	stop(&f);
	(void)unlink(token);
	(void)unlink(ca);
	(void)rmdir(dir);
	free(cert);
}

struct counted {
	char text[512];
};

static void print_count(void *ctx, const char *verb, int code, int64_t n)
{
	struct counted *c = ctx;
	size_t len = strlen(c->text);

	(void)snprintf(c->text + len, sizeof(c->text) - len, "%s %d %d;", verb, code, (int)n);
}

static void test_counts(void **state)
{
	static const struct script_step steps[] = {
		{ .want = "GET /api/v1/nodes/a", .body = "{}", .again = true },
		{ .want = "GET /api/v1/nodes/b", .status = 404 },
		{ .want = "PATCH ", .body = "{}" },
		{ .want = "GET /api/v1/nodes?",
		  .body = "{\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[]}" },
		{ .want = "GET /api/v1/nodes/silent", .end = SCRIPT_SILENT },
	};
	cleanup_json struct json *object = parse("{\"metadata\":{\"name\":\"a\"}}");
	struct kube_apply_opts o = { .field_manager = "x" };
	struct counted c = { "" };
	struct fixture f;

	(void)state;
	start(&f, steps, 5);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(kube_get(f.client, &nodes, NULL, "a", 0, &f.got, &f.e), 0);
		json_free(take(f.got));
	}
	assert_int_equal(kube_get(f.client, &nodes, NULL, "b", 0, &f.got, &f.e), -ERR_NOT_FOUND);
	assert_int_equal(kube_apply(f.client, &nodes, NULL, object, &o, NULL, &f.e), 0);
	assert_int_equal(kube_list(f.client, &nodes, NULL, NULL, 0, &f.got, &f.e), 0);
	json_free(take(f.got));
	assert_int_equal(kube_get(f.client, &nodes, NULL, "silent", 30, &f.got, &f.e),
			 -ERR_TIMEOUT);
	kube_client_counts(f.client, print_count, &c);
	assert_string_equal(c.text, "GET 200 2;GET 404 1;APPLY 200 1;LIST 200 1;GET 0 1;");
	stop(&f);
}

static void test_cancel(void **state)
{
	static const struct script_step none = { .want = "never" };
	struct http_cancel *cancel = http_cancel_new();
	struct fixture f;

	(void)state;
	start_with(&f, &none, 1, (struct kube_client_opts){ .cancel = cancel });
	http_cancel_trigger(cancel);
	assert_int_equal(kube_get(f.client, &pods, "a", "x", 0, &f.got, &f.e), -ERR_CANCELED);
	assert_int_equal(script_count(f.server), 0);
	stop(&f);
	http_cancel_free(cancel);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_get),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_list_pages),
		cmocka_unit_test(test_list_gone_for_ever),
		cmocka_unit_test(test_writes),
		cmocka_unit_test(test_apply_needs_name),
		cmocka_unit_test(test_fence),
		cmocka_unit_test(test_rate_limit),
		cmocka_unit_test(test_throttled),
		cmocka_unit_test(test_unavailable),
		cmocka_unit_test(test_token_rotation),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_cancel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
