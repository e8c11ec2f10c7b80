#include "test/lib/sweep_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "test/lib/fleet_fixture.h"

static bool is_active(void *ctx)
{
	return atomic_load(&((struct sweep_fixture *)ctx)->active);
}

void sweep_fixture_start(struct sweep_fixture *x, int port, bool active, int64_t request_ms,
			 int64_t batch_ms)
{
	struct sweep_opts o = { .interval_ms = 3600000,
				.request_ms = request_ms,
				.batch_ms = batch_ms };
	struct settings_options s = { .poll_ms = -1 };
	struct err e = ERR_INIT;

	*x = (struct sweep_fixture){ .active = active };
	x->cache = cache_new();
	x->queue = queue_new(1, 2);
	x->snapshots = snapshots_new();
	x->cancel = http_cancel_new();
	x->table.n_releases = x->table.n_facts = 1;
	x->table.facts[0].internal_port = port;
	x->table.facts[0].state_restoring = x->table.facts[0].state_deployment = true;
	s.table = &x->table;
	assert_int_equal(settings_start(&s, &x->settings, &e), 0);
	o.cache = x->cache;
	o.queue = x->queue;
	o.snapshots = x->snapshots;
	o.settings = x->settings;
	o.cancel = x->cancel;
	o.active = is_active;
	o.ctx = x;
	x->sweeper = sweep_start(&o);
}

void sweep_fixture_stop(struct sweep_fixture *x)
{
	http_cancel_trigger(x->cancel);
	sweep_stop(x->sweeper);
	settings_stop(x->settings);
	snapshots_free(x->snapshots);
	queue_free(x->queue);
	cache_free(x->cache);
	http_cancel_free(x->cancel);
}

void sweep_fixture_put(struct sweep_fixture *x, enum cache_kind kind, struct json *object)
{
	(void)cache_put(x->cache, kind, object);
	json_free(object);
}

void sweep_fixture_app(struct sweep_fixture *x, const char *app, int n)
{
	sweep_fixture_put(x, CACHE_APP, fleet_fixture_app("many", app, "Ready"));
	sweep_fixture_put(x, CACHE_STATEFULSET,
			  fleet_fixture_sts("many", app, app, n, ROLLOUT_REST));
}

void sweep_fixture_pod(struct sweep_fixture *x, const char *app, int i, const char *ip)
{
	cleanup(freep) char *name = xasprintf("%s-celld-%d", app, i);

	sweep_fixture_put(x, CACHE_POD, fleet_fixture_pod_of("many", app, app, name, ip));
}

bool sweep_fixture_complete(struct sweep_fixture *x, const char *key)
{
	const struct snapshot *s = snapshots_get(x->snapshots, key);
	bool complete = s && s->complete;

	snapshot_drop(x->snapshots, s);
	return complete;
}
