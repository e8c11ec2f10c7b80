#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "controller/fleet_metrics.h"
#include "test/lib/app_fixture.h"
#include "test/lib/fleet_fixture.h"

struct world {
	struct cache *cache;
	struct snapshots *snapshots;
};

static void put(struct world *w, enum cache_kind kind, struct json *object)
{
	(void)cache_put(w->cache, kind, object);
	json_free(object);
}

static void world_start(struct world *w)
{
	w->cache = cache_new();
	w->snapshots = snapshots_new();
	put(w, CACHE_APP, fleet_fixture_app("store", "shop", "Ready"));
	put(w, CACHE_STATEFULSET, fleet_fixture_sts("store", "shop", "s-1", 1, ROLLOUT_REST));
	put(w, CACHE_POD, fleet_fixture_pod("shop-celld-0", "10.0.0.1"));
}

static void world_stop(struct world *w)
{
	cache_free(w->cache);
	snapshots_free(w->snapshots);
}

/* One pod with every member known. */
static struct snapshot *full(void)
{
	struct snapshot *s = snapshot_new(1);
	struct snapshot_pod *p = &s->pods[0];

	s->sampled_ms = 1700000000500;
	s->complete = true;
	(void)snprintf(p->uid, sizeof(p->uid), "uid-store-shop-celld-0");
	p->max_cells = 1000;
	p->state.asked = p->state.valid = true;
	p->celld = (struct celld_state){
		.valid = true,
		.occupied = { true, 250 },
		.restoring = { true, 0 },
		.evicting = { true, 3 },
		.rss_bytes = { true, 1000 },
		.in_use_bytes = { true, 900 },
		.cgroup_working_set_bytes = { true, 800 },
		.cgroup_current_bytes = { true, 1200 },
		.shedding = CELLD_NO,
	};
	return s;
}

static char *page(struct world *w)
{
	struct buf b = BUF_INIT(1 << 20);

	fleet_metrics_write(w->cache, w->snapshots, &b);
	return b.data ? buf_take(&b) : xstrdup("");
}

static void has(const char *text, const char *line)
{
	cleanup(freep) char *whole = xasprintf("\n%s\n", line);

	if (!strstr(text, whole))
		fail_msg("no line %s in\n%s", line, text);
}

static void has_not(const char *text, const char *part)
{
	if (strstr(text, part))
		fail_msg("%s in\n%s", part, text);
}

#define POD "{namespace=\"store\",workerapp=\"shop\",pod=\"shop-celld-0\"}"
#define APP "{namespace=\"store\",workerapp=\"shop\"}"

static void test_every_series(void **state)
{
	static const char *const lines[] = {
		"celld_resident_cells" POD " 250",
		"celld_resident_cell_utilization" POD " 0.25",
		"celld_restoring" POD " 0",
		"celld_evicting" POD " 3",
		"celld_shedding" POD " 0",
		"celld_rss_bytes" POD " 1000",
		"celld_in_use_bytes" POD " 900",
		"celld_cgroup_working_set_bytes" POD " 800",
		"celld_cgroup_current_bytes" POD " 1200",
		"celld_container_restarts" POD " 0",
		"celld_self_fenced" POD " 0",
		"celld_state_up" POD " 1",
		"celld_fleet_complete" APP " 1",
		"celld_fleet_sample_timestamp_seconds" APP " 1700000000.5",
		"celld_fleet_phase{namespace=\"store\",workerapp=\"shop\",phase=\"Ready\"} 1",
		"# TYPE celld_state_up gauge",
	};
	struct world w;
	cleanup(freep) char *text = NULL;

	(void)state;
	world_start(&w);
	(void)snapshots_put(w.snapshots, "store/shop", full());
	text = page(&w);
	for (size_t i = 0; i < array_len(lines); i++)
		has(text, lines[i]);
	has_not(text, "celld_fleet_rollout_partition"); /* at rest */
	world_stop(&w);
}

/* What is not known is absent, and never 0. */
static void test_unknown_is_absent(void **state)
{
	struct world w;
	struct snapshot *s = full();
	cleanup(freep) char *text = NULL;

	(void)state;
	world_start(&w);
	s->pods[0].celld = (struct celld_state){ .valid = true, .occupied = { true, 7 } };
	s->pods[0].max_cells = 0;
	(void)snapshots_put(w.snapshots, "store/shop", s);
	text = page(&w);
	has(text, "celld_resident_cells" POD " 7");
	has(text, "celld_state_up" POD " 1");
	has_not(text, "celld_resident_cell_utilization");
	has_not(text, "celld_restoring");
	has_not(text, "celld_evicting");
	has_not(text, "celld_shedding");
	has_not(text, "bytes");
	world_stop(&w);
}

static void test_unreachable(void **state)
{
	struct world w;
	struct snapshot *s = full();
	cleanup(freep) char *text = NULL;

	(void)state;
	world_start(&w);
	s->complete = s->pods[0].state.valid = false;
	(void)snapshots_put(w.snapshots, "store/shop", s);
	text = page(&w);
	has(text, "celld_state_up" POD " 0");
	has(text, "celld_fleet_complete" APP " 0");
	has_not(text, "celld_resident_cells");
	world_stop(&w);
}

/* Nothing was swept yet: what the kubelet says is known all the same. */
static void test_never_swept(void **state)
{
	struct world w;
	cleanup(freep) char *text = NULL;

	(void)state;
	world_start(&w);
	text = page(&w);
	has(text, "celld_container_restarts" POD " 0");
	has_not(text, "celld_state_up");
	has_not(text, "celld_fleet_complete");
	world_stop(&w);
}

/* A pod that has gone takes its series along at once, and the census is not complete any more. */
static void test_gone_pod(void **state)
{
	struct world w;
	cleanup_json struct json *pod = fleet_fixture_pod("shop-celld-0", "10.0.0.1");
	cleanup_json struct json *app = fleet_fixture_app("store", "shop", "Ready");
	cleanup(freep) char *before = NULL, *after = NULL, *end = NULL;
	char key[64];

	(void)state;
	world_start(&w);
	(void)snapshots_put(w.snapshots, "store/shop", full());
	before = page(&w);
	has(before, "celld_state_up" POD " 1");
	(void)cache_gone(w.cache, CACHE_POD, pod, key, sizeof(key));
	after = page(&w);
	has_not(after, "shop-celld-0");
	has(after, "celld_fleet_complete" APP " 0");
	(void)cache_gone(w.cache, CACHE_APP, app, key, sizeof(key));
	end = page(&w);
	assert_string_equal(end, "");
	world_stop(&w);
}

static struct json *restarted(struct json *pod, int exit_code)
{
	cleanup(freep) char *text = xasprintf(
		"[{'name':'celld','restartCount':4,'lastState':{'terminated':{'exitCode':%d}}}]",
		exit_code);

	json_set(json_get_mutable(pod, "status"), "containerStatuses", app_fixture_json(text));
	return fleet_fixture_version(pod, 2);
}

static void test_restarts_of_a_ready_pod(void **state)
{
	struct world w;
	cleanup(freep) char *fenced = NULL, *crashed = NULL;

	(void)state;
	world_start(&w);
	put(&w, CACHE_POD, restarted(fleet_fixture_pod("shop-celld-0", "10.0.0.1"), 3));
	fenced = page(&w);
	has(fenced, "celld_container_restarts" POD " 4");
	has(fenced, "celld_self_fenced" POD " 1");
	put(&w, CACHE_POD,
	    fleet_fixture_version(restarted(fleet_fixture_pod("shop-celld-0", "10.0.0.1"), 1), 3));
	crashed = page(&w);
	has(crashed, "celld_self_fenced" POD " 0");
	world_stop(&w);
}

static void test_rolling(void **state)
{
	struct world w;
	cleanup(freep) char *text = NULL;

	(void)state;
	world_start(&w);
	put(&w, CACHE_STATEFULSET,
	    fleet_fixture_version(fleet_fixture_sts("store", "shop", "s-1", 3, 2), 5));
	put(&w, CACHE_APP,
	    fleet_fixture_version(fleet_fixture_app("store", "shop", "RollingOut"), 5));
	text = page(&w);
	has(text, "celld_fleet_rollout_partition" APP " 2");
	has(text,
	    "celld_fleet_phase{namespace=\"store\",workerapp=\"shop\",phase=\"RollingOut\"} 1");
	has_not(text, "phase=\"Ready\"");
	world_stop(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_series), cmocka_unit_test(test_unknown_is_absent),
		cmocka_unit_test(test_unreachable),  cmocka_unit_test(test_never_swept),
		cmocka_unit_test(test_gone_pod),     cmocka_unit_test(test_restarts_of_a_ready_pod),
		cmocka_unit_test(test_rolling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
