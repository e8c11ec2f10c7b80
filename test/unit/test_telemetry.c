#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/http.h"
#include "common/kube/client.h"
#include "common/kube/config.h"
#include "common/kube/event.h"
#include "common/kube/watch.h"
#include "controller/telemetry.h"
#include "test/lib/fleet_fixture.h"
#include "test/lib/peer.h"
#include "test/lib/script.h"

struct world {
	struct kube_config *config;
	struct kube_client *client;
	struct event_recorder *events;
	struct cache *cache;
	struct queue *queue;
	struct snapshots *snapshots;
	struct watchdog *watchdog;
	struct telemetry *telemetry;
	bool leads;
};

static bool leads(void *ctx)
{
	return ((struct world *)ctx)->leads;
}

static void world_start(struct world *w, const char *server)
{
	struct kube_client_opts client = { .qps = 0 };
	struct event_opts events = { .controller = "c", .instance = "i" };
	struct telemetry_opts o = { .leads = leads, .ctx = w };

	*w = (struct world){ .config = kube_config_plain(server, NULL), .leads = true };
	client.config = w->config;
	w->client = kube_client_new(&client);
	events.client = w->client;
	w->events = event_recorder_new(&events);
	w->cache = cache_new();
	w->queue = queue_new(1, 2);
	w->snapshots = snapshots_new();
	w->watchdog = watchdog_new(2);
	o.cache = w->cache;
	o.queue = w->queue;
	o.snapshots = w->snapshots;
	o.watchdog = w->watchdog;
	o.client = w->client;
	o.events = w->events;
	w->telemetry = telemetry_new(&o);
}

static void world_stop(struct world *w)
{
	telemetry_free(w->telemetry);
	watchdog_free(w->watchdog);
	snapshots_free(w->snapshots);
	queue_free(w->queue);
	cache_free(w->cache);
	event_recorder_free(w->events);
	kube_client_free(w->client);
	kube_config_free(w->config);
}

static char *page(struct world *w)
{
	struct buf b = BUF_INIT(1 << 20);

	telemetry_text(w->telemetry, &b);
	return buf_take(&b);
}

static void has(const char *text, const char *line)
{
	cleanup(freep) char *whole = xasprintf("\n%s\n", line);

	if (!strstr(text, whole))
		fail_msg("no line %s in\n%s", line, text);
}

static void put(struct world *w, enum cache_kind kind, struct json *object)
{
	(void)cache_put(w->cache, kind, object);
	json_free(object);
}

static void test_own_series(void **state)
{
	static const struct script_step steps[] = { { .want = "GET /version", .body = "{}" } };
	struct script *s = script_start(steps, 1, NULL);
	struct world w;
	struct json *answer = NULL;
	struct err e = ERR_INIT;
	cleanup(freep) char *text = NULL;

	(void)state;
	world_start(&w, script_url(s));
	assert_int_equal(kube_raw_get(w.client, "/version", 0, &answer, &e), 0);
	json_free(answer);
	telemetry_turn(w.telemetry, true, 2);
	telemetry_turn(w.telemetry, true, 40);
	telemetry_turn(w.telemetry, false, 7000);
	telemetry_swept(w.telemetry, 1500, 12);
	queue_add(w.queue, "a/b");
	queue_add(w.queue, "a/c");
	queue_add_after(w.queue, "a/d", 3600000);
	text = page(&w);
	has(text, "celld_controller_reconcile_total{result=\"success\"} 2");
	has(text, "celld_controller_reconcile_total{result=\"error\"} 1");
	has(text, "celld_controller_reconcile_duration_seconds_bucket{le=\"0.05\"} 2");
	has(text, "celld_controller_reconcile_duration_seconds_count 3");
	has(text, "celld_controller_sweep_duration_seconds_bucket{le=\"2\"} 1");
	has(text, "celld_controller_sweep_pods 12");
	has(text, "celld_controller_queue_depth 2");
	has(text, "celld_controller_queue_delayed 1");
	has(text, "celld_controller_worker_turn_seconds 0");
	has(text, "celld_controller_leader 1");
	has(text, "celld_controller_api_requests_total{verb=\"GET\",code=\"200\"} 1");
	has(text, "celld_controller_events_total{result=\"dropped\"} 0");
	assert_non_null(strstr(text, "\nprocess_resident_memory_bytes "));
	assert_null(strstr(text, "celld_controller_watch"));
	world_stop(&w);
	script_stop(s);
}

/* Who does not lead has only second-hand news of the fleets. */
static void test_follower(void **state)
{
	struct world w;
	cleanup(freep) char *leader = NULL, *follower = NULL;

	(void)state;
	world_start(&w, "http://127.0.0.1:1");
	put(&w, CACHE_APP, fleet_fixture_app("store", "shop", "Ready"));
	put(&w, CACHE_POD, fleet_fixture_pod("shop-celld-0", "10.0.0.1"));
	leader = page(&w);
	assert_non_null(strstr(leader, "celld_container_restarts{"));
	w.leads = false;
	follower = page(&w);
	has(follower, "celld_controller_leader 0");
	assert_null(strstr(follower, "celld_container_restarts"));
	assert_null(strstr(follower, "celld_fleet_"));
	world_stop(&w);
}

/* A thousand apps that come and go leave a page of the same size. */
static void test_size_is_flat(void **state)
{
	struct world w;
	size_t before = 0;

	(void)state;
	world_start(&w, "http://127.0.0.1:1");
	for (int i = 0; i < 1000; i++) {
		cleanup(freep) char *app = xasprintf("p%d", i), *name = xasprintf("p%d-celld-0", i);
		cleanup_json struct json *a = fleet_fixture_app("pre", app, "Ready");
		cleanup_json struct json *p =
			fleet_fixture_pod_of("pre", app, app, name, "10.0.0.1");
		cleanup(freep) char *text = NULL;
		char key[64];

		(void)cache_put(w.cache, CACHE_APP, a);
		(void)cache_put(w.cache, CACHE_POD, p);
		(void)cache_gone(w.cache, CACHE_POD, p, key, sizeof(key));
		(void)cache_gone(w.cache, CACHE_APP, a, key, sizeof(key));
		if (i % 500)
			continue;
		text = page(&w);
		assert_null(strstr(text, "namespace="));
		before = before ? before : strlen(text);
		assert_in_range(strlen(text), before - 64, before + 64); /* digits of CPU time */
	}
	world_stop(&w);
}

static void heard(void *ctx, size_t kind, enum kube_watch_type type, const struct json *object)
{
	(void)ctx;
	(void)kind;
	(void)type;
	(void)object;
}

static void test_watch_series(void **state)
{
	static const struct script_step steps[] = {
		{ .want = "GET /apis/celld-operator.io",
		  .status = 403,
		  .body = "{}",
		  .again = true },
		{ .status = 403, .body = "{}", .again = true },
	};
	struct script *s = script_start(steps, 2, NULL);
	struct kube_watch_kind kinds[CACHE_KINDS];
	struct kube_watch_opts o = { .kinds = kinds, .n = CACHE_KINDS, .handler = heard };
	struct kube_watch *watch;
	struct world w;
	struct err e = ERR_INIT;
	cleanup(freep) char *text = NULL;

	(void)state;
	world_start(&w, script_url(s));
	for (size_t i = 0; i < CACHE_KINDS; i++)
		kinds[i] = (struct kube_watch_kind){ .kind = &cache_kinds[i] };
	o.config = w.config;
	assert_int_equal(kube_watch_start(&o, &watch, &e), 0);
	telemetry_watch(w.telemetry, watch);
	assert_true(kube_watch_beat_ms(watch) > 0);
	assert_true(script_wait(s, CACHE_KINDS));
	text = page(&w);
	has(text, "celld_controller_watch_connected{kind=\"Pod\"} 0");
	has(text, "celld_controller_watch_restarts_total{kind=\"WorkerApp\"} 0");
	assert_non_null(strstr(text, "celld_controller_watch_lists_total{kind=\"StatefulSet\"} "));
	kube_watch_stop(watch); /* it reads the world's configuration until then */
	world_stop(&w);
	script_stop(s);
}

/* Everything at once; for promtool it goes to the file that METRICS_PAGE names. */
static void write_page(struct world *w)
{
	cleanup(freep) char *text = page(w);
	const char *path = getenv("METRICS_PAGE");
	FILE *f = path ? fopen(path, "we") : NULL;

	if (!path)
		return;
	assert_non_null(f);
	(void)fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static struct snapshot *full(void)
{
	static const struct celld_count n = { true, 1500000000 };
	struct snapshot *s = snapshot_new(1);
	struct snapshot_pod *p = &s->pods[0];

	(void)snprintf(p->uid, sizeof(p->uid), "uid-store-shop-celld-0");
	s->sampled_ms = 1700000000500;
	p->max_cells = 1000;
	p->state.valid = true;
	p->celld = (struct celld_state){ .occupied = n,
					 .restoring = n,
					 .evicting = n,
					 .rss_bytes = n,
					 .in_use_bytes = n,
					 .cgroup_working_set_bytes = n,
					 .cgroup_current_bytes = n,
					 .shedding = CELLD_YES };
	return s;
}

static void test_everything(void **state)
{
	static const struct script_step steps[] = {
		{ .status = 403, .body = "{}", .again = true }
	};
	const char *cert = "build/test_telemetry.d/tls.crt",
		   *key = "build/test_telemetry.d/tls.key";
	struct script *s = script_start(steps, 1, NULL);
	struct kube_watch_kind kinds[CACHE_KINDS];
	struct kube_watch_opts o = { .kinds = kinds, .n = CACHE_KINDS, .handler = heard };
	struct telemetry_server server = { .address = "127.0.0.1:0",
					   .secure = true,
					   .cert_dir = "build/test_telemetry.d" };
	struct kube_watch *watch;
	struct world w;
	struct err e = ERR_INIT;
	cleanup(freep) char *text = NULL;

	(void)state;
	(void)mkdir("build", 0755);
	(void)mkdir("build/test_telemetry.d", 0755);
	peer_write_pair(cert, key, "metrics", 3600);
	world_start(&w, script_url(s));
	for (size_t i = 0; i < CACHE_KINDS; i++)
		kinds[i] = (struct kube_watch_kind){ .kind = &cache_kinds[i] };
	o.config = server.config = w.config;
	assert_int_equal(kube_watch_start(&o, &watch, &e), 0);
	assert_true(script_wait(s, CACHE_KINDS));
	telemetry_watch(w.telemetry, watch);
	telemetry_turn(w.telemetry, true, 2);
	telemetry_swept(w.telemetry, 20, 1);
	(void)kube_raw_get(w.client, "/version", 0, NULL, &e);
	put(&w, CACHE_APP, fleet_fixture_app("store", "shop", "RollingOut"));
	put(&w, CACHE_STATEFULSET, fleet_fixture_sts("store", "shop", "s-1", 2, 1));
	put(&w, CACHE_POD, fleet_fixture_pod("shop-celld-0", "10.0.0.1"));
	(void)snapshots_put(w.snapshots, "store/shop", full());
	assert_int_equal(telemetry_serve(w.telemetry, &server, &e), 0);
	text = page(&w);
	assert_non_null(strstr(text, "celld_fleet_rollout_partition{"));
	assert_non_null(strstr(text, "celld_cgroup_current_bytes{"));
	assert_non_null(strstr(text, "celld_controller_certificate_expiry_timestamp_seconds "));
	write_page(&w);
	kube_watch_stop(watch); /* it reads the world's configuration until then */
	world_stop(&w);
	script_stop(s);
}

/* Over TLS, and only for those whom the cluster's rules let read it. */
static void test_guarded_page(void **state)
{
	static const struct script_step steps[] = {
		{ .want = "POST /apis/authentication.k8s.io/v1/tokenreviews",
		  .status = 201,
		  .body = "{\"status\":{\"authenticated\":true,\"user\":{\"username\":\"prom\"}}"
			  "}" },
		{ .want = "POST /apis/authorization.k8s.io/v1/subjectaccessreviews",
		  .status = 201,
		  .body = "{\"status\":{\"allowed\":true}}" },
	};
	struct script *s = script_start(steps, 2, NULL);
	struct telemetry_server server = { .address = "127.0.0.1:0",
					   .secure = true,
					   .cert_dir = "build/test_telemetry.d" };
	struct world w;
	struct peer *p;
	struct peer_answer a;
	struct err e = ERR_INIT;

	(void)state;
	world_start(&w, script_url(s));
	server.config = w.config;
	assert_int_equal(telemetry_serve(w.telemetry, &server, &e), 0);
	p = peer_open(telemetry_port(w.telemetry), true);
	peer_get(p, "/metrics");
	peer_read(p, &a);
	assert_int_equal(a.status, 401);
	peer_answer_done(&a);
	for (int i = 0; i < 2; i++) {
		peer_puts(p, "GET /metrics HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer t\r\n\r\n");
		peer_read(p, &a);
		assert_int_equal(a.status, 200);
		assert_non_null(strstr(a.body, "celld_controller_leader 1"));
		peer_answer_done(&a);
	}
	assert_int_equal(script_count(s), 2);
	peer_close(p);
	world_stop(&w);
	script_stop(s);
}

static void test_secure_needs_a_certificate(void **state)
{
	struct world w;
	struct telemetry_server o = { .address = "127.0.0.1:0", .secure = true };
	struct err e = ERR_INIT;

	(void)state;
	world_start(&w, "http://127.0.0.1:1");
	o.config = w.config;
	assert_int_equal(telemetry_serve(w.telemetry, &o, &e), -ERR_INVALID);
	assert_non_null(strstr(e.message, "--metrics-cert-dir"));
	world_stop(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own_series),
		cmocka_unit_test(test_follower),
		cmocka_unit_test(test_size_is_flat),
		cmocka_unit_test(test_watch_series),
		cmocka_unit_test(test_everything),
		cmocka_unit_test(test_guarded_page),
		cmocka_unit_test(test_secure_needs_a_certificate),
	};
	struct err e = ERR_INIT;

	if (http_global_init(&e))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
