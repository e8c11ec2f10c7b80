#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/kube/client.h"
#include "common/kube/config.h"
#include "common/kube/event.h"
#include "test/lib/script.h"

#define POST  "POST /apis/events.k8s.io/v1/namespaces/shop/events"
#define PATCH "PATCH /apis/events.k8s.io/v1/namespaces/shop/events/kv."

struct fixture {
	struct script *server;
	struct kube_config *config;
	struct kube_client *client;
	struct event_recorder *r;
};

static const struct event_about kv = { "celld.dev/v1", "WorkerApp", "shop", "kv", "U1", "7" };

static void start(struct fixture *f, const struct script_step *steps, size_t n)
{
	struct event_opts o = { .controller = "celld.dev/controller", .instance = "pod-1" };

	f->server = script_start(steps, n, NULL);
	f->config = kube_config_plain(script_url(f->server), NULL);
	f->client = kube_client_new(&(struct kube_client_opts){ .config = f->config });
	o.client = f->client;
	f->r = event_recorder_new(&o);
}

static void stop(struct fixture *f)
{
	event_recorder_free(f->r);
	kube_client_free(f->client);
	kube_config_free(f->config);
	assert_int_equal(script_unexpected(f->server), 0);
	script_stop(f->server);
}

static struct json *sent(struct fixture *f, size_t i)
{
	const char *body = script_request(f->server, i)->body;
	struct json *j = NULL;
	struct err e = ERR_INIT;

	assert_int_equal(json_parse(body, strlen(body), &j, &e), 0);
	return j;
}

static void expect_stats(struct fixture *f, int64_t sent_n, int64_t repeated, int64_t dropped)
{
	struct event_stats st;

	event_stats(f->r, &st);
	assert_int_equal(st.sent, sent_n);
	assert_int_equal(st.repeated, repeated);
	assert_int_equal(st.dropped, dropped);
}

static void test_one(void **state)
{
	static const struct script_step step = { .want = POST, .status = 201 };
	struct fixture f;
	struct json *j;

	(void)state;
	start(&f, &step, 1);
	event_emit(f.r, &kv, true, "Stuck", "Rollout", "pod kv-0 is not Ready");
	assert_int_equal(script_count(f.server), 0);
	assert_int_equal(event_flush(f.r, 10), 0);
	j = sent(&f, 0);
	assert_string_equal(json_get_str(j, "type"), "Warning");
	assert_string_equal(json_get_str(j, "reason"), "Stuck");
	assert_string_equal(json_get_str(j, "action"), "Rollout");
	assert_string_equal(json_get_str(j, "note"), "pod kv-0 is not Ready");
	assert_string_equal(json_get_str(j, "reportingController"), "celld.dev/controller");
	assert_string_equal(json_get_str(j, "reportingInstance"), "pod-1");
	assert_int_equal(strlen(json_get_str(j, "eventTime")),
			 strlen("2026-01-01T00:00:00.000000Z"));
	assert_string_equal(json_get_str(json_get(j, "regarding"), "uid"), "U1");
	assert_string_equal(json_get_str(json_get(j, "metadata"), "namespace"), "shop");
	assert_true(str_starts(json_get_str(json_get(j, "metadata"), "name"), "kv."));
	json_free(j);
	expect_stats(&f, 1, 0, 0);
	stop(&f);
}

static void test_repeats(void **state)
{
	static const struct script_step steps[] = {
		{ .want = POST, .status = 201 }, { .want = PATCH },
		{ .want = POST, .status = 201 }, { .want = PATCH, .status = 404 },
		{ .want = POST, .status = 201 },
	};
	struct fixture f;
	struct json *j;
	int64_t count = 0;

	(void)state;
	start(&f, steps, 5);
	for (int i = 0; i < 5; i++)
		event_emit(f.r, &kv, false, "Rolled", "Rollout", "kv-0");
	assert_int_equal(event_flush(f.r, 1), 4);
	assert_int_equal(event_flush(f.r, 10), 0);
	/* Created, the first repeat written, the others only counted. */
	assert_int_equal(script_count(f.server), 2);
	j = sent(&f, 1);
	assert_true(json_get_int(json_get(j, "series"), "count", &count));
	assert_int_equal(count, 2);
	json_free(j);
	expect_stats(&f, 1, 4, 0);
	/* Another note is another Event; one that the server has let expire is made again. */
	event_emit(f.r, &kv, false, "Rolled", "Rollout", "kv-1");
	event_emit(f.r, &kv, false, "Rolled", "Rollout", "kv-1");
	assert_int_equal(event_flush(f.r, 10), 0);
	assert_int_equal(script_count(f.server), 5);
	stop(&f);
}

static void test_bounds(void **state)
{
	static const struct script_step steps[] = {
		{ .want = "POST /apis/events.k8s.io/v1/namespaces/default/events", .status = 201 },
		{ .want = POST, .status = 201, .again = true },
	};
	static const struct event_about node = { "v1", "Node", NULL, "n", "U2", NULL };
	struct fixture f;
	struct json *j;
	char note[1100], text[16];

	(void)state;
	start(&f, steps, 2);
	memset(note, 'x', sizeof(note) - 1);
	note[sizeof(note) - 1] = '\0';
	memcpy(note + 1023, "\xc3\xbc", 2); /* its border is at 1023 */
	event_emit(f.r, &node, false, "A", "B", note);
	assert_int_equal(event_flush(f.r, 10), 0);
	j = sent(&f, 0);
	assert_int_equal(strlen(json_get_str(j, "note")), 1023);
	json_free(j);
	/* One object: 25 at once. The queue: 256. */
	for (int i = 0; i < 300; i++) {
		(void)snprintf(text, sizeof(text), "%d", i);
		event_emit(f.r, &kv, false, "A", "B", text);
	}
	expect_stats(&f, 1, 0, 44);
	assert_int_equal(event_flush(f.r, 1000), 0);
	expect_stats(&f, 26, 0, 275);
	stop(&f);
}

static void test_failure(void **state)
{
	static const struct script_step steps[] = { { .want = POST, .status = 500 },
						    { .want = POST, .status = 201 } };
	struct fixture f;

	(void)state;
	start(&f, steps, 2);
	event_emit(f.r, &kv, false, "A", "B", "c");
	event_emit(f.r, &kv, false, "A", "B", "c");
	assert_int_equal(event_flush(f.r, 10), 0);
	/* The first was not stored: the second is not its repeat. */
	expect_stats(&f, 1, 0, 1);
	event_emit(f.r, &kv, false, "left", "in", "queue"); /* freed with the recorder */
	stop(&f);
}

static int64_t never(void *ctx)
{
	(void)ctx;
	return 0;
}

/* Where one request finds no way out, the next ones need not try: they stay for later. */
static void test_no_way_out(void **state)
{
	struct fixture f = { .server = script_start(NULL, 0, NULL) };
	struct event_opts o = { .controller = "celld.dev/controller", .instance = "pod-1" };
	struct kube_client_opts client = { .may_write = never };

	(void)state;
	client.config = f.config = kube_config_plain(script_url(f.server), NULL);
	o.client = f.client = kube_client_new(&client);
	f.r = event_recorder_new(&o);
	event_emit(f.r, &kv, false, "A", "B", "c");
	event_emit(f.r, &kv, false, "A", "B", "d");
	event_emit(f.r, &kv, false, "A", "B", "e");
	assert_int_equal(event_flush(f.r, 10), 2);
	expect_stats(&f, 0, 0, 1);
	stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one),	   cmocka_unit_test(test_repeats),
		cmocka_unit_test(test_bounds),	   cmocka_unit_test(test_failure),
		cmocka_unit_test(test_no_way_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
