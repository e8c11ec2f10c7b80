#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/http.h"
#include "common/httpd.h"
#include "common/kube/client.h"
#include "test/lib/fleet_fixture.h"
#include "test/lib/sweep_fixture.h"

/* A celld that answers on 127.0.0.1, and a sweeper. */
struct bench {
	struct sweep_fixture x;
	struct httpd *node;
	struct httpd_route route;
	_Atomic int asked;
	const char *body;
	void (*on_request)(struct bench *b);
};

static const char good[] =
	"{\"ownership\":\"s3\",\"occupied\":250,\"restoring\":2,\"evicting\":1,"
	"\"rss_bytes\":5000,\"shedding\":null,\"deployment\":{\"version\":\"v7\","
	"\"generation\":3,\"swapping\":0,\"draining\":[]}}";

static void answer(void *ctx, const struct httpd_request *req, struct httpd_answer *a)
{
	struct bench *b = ctx;

	(void)req;
	atomic_fetch_add(&b->asked, 1);
	if (b->on_request)
		b->on_request(b);
	buf_puts(&a->body, b->body);
}

static void bench_start(struct bench *b, bool active, int64_t request_ms, int64_t batch_ms)
{
	struct httpd_options h = { .address = "127.0.0.1:0",
				   .n_routes = 1,
				   .max_connections = 1000 };
	struct err e = ERR_INIT;

	*b = (struct bench){ .body = good };
	b->route = (struct httpd_route){ "GET", "/state", answer, b, 0, NULL };
	h.routes = &b->route;
	assert_int_equal(httpd_start(&h, &b->node, &e), 0);
	sweep_fixture_start(&b->x, httpd_port(b->node), active, request_ms, batch_ms);
}

static void bench_stop(struct bench *b)
{
	http_cancel_trigger(b->x.cancel);
	httpd_free(b->node);
	sweep_fixture_stop(&b->x);
}

static void put(struct bench *b, enum cache_kind kind, struct json *object)
{
	sweep_fixture_put(&b->x, kind, object);
}

static void put_shop(struct bench *b, int replicas)
{
	put(b, CACHE_APP, fleet_fixture_app("store", "shop", "Ready"));
	put(b, CACHE_STATEFULSET,
	    fleet_fixture_sts("store", "shop", "s-1", replicas, ROLLOUT_REST));
}

static struct json *terminating(struct json *pod)
{
	json_set_str(json_object_at(pod, "metadata"), "deletionTimestamp", "2026-11-29T10:00:00Z");
	return pod;
}

static struct json *failed(struct json *pod)
{
	json_set_str(json_object_at(pod, "status"), "phase", "Failed");
	return pod;
}

static void test_answers(void **state)
{
	static struct bench b;
	const struct snapshot *s;
	const struct snapshot_pod *p;

	(void)state;
	bench_start(&b, false, 5000, 5000);
	put_shop(&b, 2);
	put(&b, CACHE_POD, fleet_fixture_pod("shop-celld-0", "127.0.0.1"));
	put(&b, CACHE_POD, fleet_fixture_pod("shop-celld-1", "127.0.0.1"));
	sweep_now(b.x.sweeper);
	s = snapshots_get(b.x.snapshots, "store/shop");
	assert_non_null(s);
	assert_true(s->complete);
	assert_int_equal(s->n, 2);
	assert_true(s->sampled_ms > 0);
	p = snapshot_find(s, "uid-store-shop-celld-1");
	assert_non_null(p);
	assert_true(p->state.valid);
	assert_int_equal(p->state.restoring, 2);
	assert_string_equal(p->state.deployment, "v7");
	assert_int_equal(p->celld.occupied.v, 250);
	assert_int_equal(p->max_cells, 1000);
	snapshot_drop(b.x.snapshots, s);
	bench_stop(&b);
}

/* Only pods that run, do not end and are of this StatefulSet are asked; the others' addresses may be anybody's. */
static void test_foreign_addresses(void **state)
{
	static struct bench b;
	const struct snapshot *s;

	(void)state;
	bench_start(&b, false, 5000, 5000);
	put_shop(&b, 1);
	put(&b, CACHE_POD, fleet_fixture_pod("shop-celld-0", "127.0.0.1"));
	put(&b, CACHE_POD, failed(fleet_fixture_pod("shop-celld-1", "127.0.0.1")));
	put(&b, CACHE_POD, terminating(fleet_fixture_pod("shop-celld-2", "127.0.0.1")));
	put(&b, CACHE_POD,
	    fleet_fixture_pod_of("store", "shop", "another", "shop-celld-3", "127.0.0.1"));
	/* pods of an app that nobody told us to look after */
	put(&b, CACHE_POD,
	    fleet_fixture_pod_of("store", "unselected", "s-9", "unselected-celld-0", "127.0.0.1"));
	sweep_now(b.x.sweeper);
	assert_int_equal(atomic_load(&b.asked), 1);
	s = snapshots_get(b.x.snapshots, "store/shop");
	assert_int_equal(s->n, 1);
	assert_string_equal(s->pods[0].name, "shop-celld-0");
	assert_false(s->complete); /* what it is of the others is not known */
	snapshot_drop(b.x.snapshots, s);
	assert_null(snapshots_get(b.x.snapshots, "store/unselected"));
	bench_stop(&b);
}

/* While the request was under way the pod was replaced by another of its name. */
static void replace_pod(struct bench *b)
{
	struct json *pod = fleet_fixture_version(fleet_fixture_pod("shop-celld-0", "127.0.0.1"), 9);

	json_set_str(json_object_at(pod, "metadata"), "uid", "another");
	put(b, CACHE_POD, pod);
}

static void test_replaced_meanwhile(void **state)
{
	static struct bench b;
	const struct snapshot *s;
	struct pod_state known[1];
	struct fleet_pod *pods;
	size_t n;

	(void)state;
	bench_start(&b, false, 5000, 5000);
	put_shop(&b, 1);
	put(&b, CACHE_POD, fleet_fixture_pod("shop-celld-0", "127.0.0.1"));
	b.on_request = replace_pod;
	sweep_now(b.x.sweeper);
	s = snapshots_get(b.x.snapshots, "store/shop");
	assert_int_equal(s->n, 0);
	assert_false(s->complete);
	snapshot_drop(b.x.snapshots, s);
	pods = cache_pods(b.x.cache, "store/shop", &n);
	sweep_states(b.x.sweeper, "store/shop", pods, n, known);
	assert_false(known[0].asked);
	free(pods);
	bench_stop(&b);
}

static void test_bad_answers(void **state)
{
	static const struct {
		const char *body, *why;
	} cases[] = {
		{ "{}", "no valid state: ownership is no string" },
		{ "<html>", "no valid state: no valid JSON" },
		{ "", "no valid state: an empty body" },
		{ "{\"ownership\":\"s3\",\"occupied\":1}",
		  "no valid state: restoring is no count" },
	};
	static struct bench b;

	(void)state;
	bench_start(&b, false, 5000, 5000);
	put_shop(&b, 1);
	put(&b, CACHE_POD, fleet_fixture_pod("shop-celld-0", "127.0.0.1"));
	for (size_t i = 0; i < array_len(cases); i++) {
		const struct snapshot *s;

		b.body = cases[i].body;
		sweep_now(b.x.sweeper);
		s = snapshots_get(b.x.snapshots, "store/shop");
		assert_false(s->complete);
		assert_false(s->pods[0].state.valid);
		assert_false(s->pods[0].state.silent);
		assert_string_equal(s->pods[0].state.why, cases[i].why);
		snapshot_drop(b.x.snapshots, s);
	}
	bench_stop(&b);
}

/* A listener that takes connections and never says a word, on the node's port of another loopback address. */
static int silent_listener(const char *ip, int port)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };

	assert_true(fd >= 0);
	assert_int_equal(inet_pton(AF_INET, ip, &at.sin_addr), 1);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(fd, 4096), 0);
	return fd;
}

static void add_fleet(struct bench *b, const char *app, int n, const char *ip)
{
	sweep_fixture_app(&b->x, app, n);
	for (int i = 0; i < n; i++)
		sweep_fixture_pod(&b->x, app, i, ip);
}

static bool is_complete(struct bench *b, const char *key)
{
	return sweep_fixture_complete(&b->x, key);
}

/* Who is silent holds up nobody but himself: fleets of pods that answer are there before the silent one is given up. */
static void test_silent_pods(void **state)
{
	static struct bench b;
	const struct snapshot *s;
	int fd;

	(void)state;
	bench_start(&b, false, 500, 5000);
	fd = silent_listener("127.0.0.2", httpd_port(b.node));
	add_fleet(&b, "deaf", 3, "127.0.0.2");
	add_fleet(&b, "well", 3, "127.0.0.1");
	for (int round = 0; round < 2; round++) {
		cleanup(freep) char *first = NULL, *second = NULL;

		sweep_now(b.x.sweeper);
		if (round)
			continue; /* nothing new, so nobody is told */
		first = queue_get(b.x.queue);
		second = queue_get(b.x.queue);
		assert_string_equal(first, "many/well");
		assert_string_equal(second, "many/deaf");
	}
	assert_true(is_complete(&b, "many/well"));
	s = snapshots_get(b.x.snapshots, "many/deaf");
	assert_int_equal(s->n, 3);
	assert_false(s->complete);
	assert_true(s->pods[2].state.silent);
	assert_string_equal(s->pods[2].state.why, "timed out");
	snapshot_drop(b.x.snapshots, s);
	bench_stop(&b);
	assert_int_equal(close(fd), 0);
}

/* A deleted app leaves nothing behind; one that has gone while it was asked neither. */
static void test_gone(void **state)
{
	static struct bench b;
	char key[64];
	cleanup_json struct json *app = fleet_fixture_app("store", "shop", "Ready");

	(void)state;
	bench_start(&b, false, 5000, 5000);
	put_shop(&b, 1);
	put(&b, CACHE_POD, fleet_fixture_pod("shop-celld-0", "127.0.0.1"));
	sweep_now(b.x.sweeper);
	assert_int_equal(snapshots_count(b.x.snapshots), 1);
	assert_true(cache_gone(b.x.cache, CACHE_APP, app, key, sizeof(key)));
	sweep_now(b.x.sweeper);
	assert_int_equal(snapshots_count(b.x.snapshots), 0);
	bench_stop(&b);
}

/* A sweep that was asked for is made although the next full one is an hour away, and brings the key back. */
static void test_request(void **state)
{
	static struct bench b;

	(void)state;
	bench_start(&b, true, 5000, 5000);
	put_shop(&b, 1);
	put(&b, CACHE_POD, fleet_fixture_pod("shop-celld-0", "127.0.0.1"));
	sweep_request(b.x.sweeper, "store/shop");
	/* news of a pod brings the key back as well, maybe before the fleet is published */
	for (int turns = 0; turns < 100 && !is_complete(&b, "store/shop"); turns++) {
		cleanup(freep) char *key = queue_get(b.x.queue);

		assert_string_equal(key, "store/shop");
		queue_done(b.x.queue, key, false);
		sweep_request(b.x.sweeper, "store/shop");
	}
	assert_true(is_complete(&b, "store/shop"));
	bench_stop(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_foreign_addresses),
		cmocka_unit_test(test_replaced_meanwhile),
		cmocka_unit_test(test_bad_answers),
		cmocka_unit_test(test_silent_pods),
		cmocka_unit_test(test_gone),
		cmocka_unit_test(test_request),
	};
	struct err e = ERR_INIT;

	if (http_global_init(&e))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
