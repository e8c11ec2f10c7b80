/* celld-controller: starts the threads, waits for the end, ends them. */
#include <pthread.h>
#include <malloc.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/build_version.h"
#include "common/clock.h"
#include "common/http.h"
#include "common/httpd.h"
#include "common/kube/client.h"
#include "common/kube/config.h"
#include "common/kube/event.h"
#include "common/kube/file.h"
#include "common/kube/lease.h"
#include "common/kube/watch.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/secret.h"
#include "controller/around.h"
#include "controller/cache.h"
#include "controller/exclusive.h"
#include "controller/options.h"
#include "controller/presence.h"
#include "controller/queue.h"
#include "controller/reconcile.h"
#include "controller/relist.h"
#include "controller/secrets.h"
#include "controller/slots.h"
#include "controller/snapshot.h"
#include "controller/stores.h"
#include "controller/sweep.h"
#include "controller/telemetry.h"
#include "controller/tell.h"
#include "controller/tracker.h"
#include "controller/watchdog.h"

/* A page is a tree as a whole while it is read, ten times its length: small ones keep a start with many apps small. */
enum { FIRST_RETRY_MS = 200, MOST_RETRY_MS = 60000, EXIT_USAGE = 2, PAGE = 100 };

struct worker {
	struct program *p;
	size_t index;
	pthread_t thread;
};

struct program {
	struct options o;
	char identity[128];
	struct settings *settings;
	struct holdings *holdings;
	struct kube_config *config;
	struct http_cancel *cancel;
	struct kube_client *client;
	struct event_recorder *events;
	struct lease *lease; /* NULL: no election, always the leader */
	struct cache *cache;
	struct queue *queue;
	_Atomic(struct kube_watch *) watch;
	struct around *around;
	struct sweeper *sweeper;
	struct secrets *secrets;
	struct tracker *tracker;
	struct stores *stores;
	struct slots *slots;
	struct reconciler *reconciler;
	struct snapshots *snapshots;
	struct watchdog *watchdog;
	struct telemetry *telemetry;
	struct httpd *health;
	struct worker *workers;
	size_t n_workers;
	_Atomic bool leading, ending;
	_Atomic int kinds_in_sync;
};

/* --- what the threads ask ------------------------------------------------------------------------- */

static bool leads(void *ctx)
{
	struct program *p = ctx;

	return atomic_load(&p->leading);
}

static int64_t may_write(void *ctx)
{
	struct program *p = ctx;

	if (!p->o.leader_elect)
		return INT64_MAX / 2;
	return p->lease ? lease_may_write(p->lease) : 0;
}

static bool in_sync(const struct program *p)
{
	return atomic_load(&p->kinds_in_sync) >= CACHE_OPTIONAL && around_settled(p->around);
}

static void look_at_all(struct program *p)
{
	struct strlist keys = STRLIST_INIT;

	cache_apps(p->cache, &keys);
	for (size_t i = 0; i < keys.n; i++)
		queue_add(p->queue, keys.v[i]);
	strlist_done(&keys);
	cache_names(p->cache, CACHE_STORE, &keys);
	for (size_t i = 0; i < keys.n; i++) {
		cleanup(freep) char *key = xasprintf("@%s", keys.v[i]);

		queue_add(p->queue, key);
	}
	strlist_done(&keys);
}

static void won(void *ctx)
{
	struct program *p = ctx;

	atomic_store(&p->leading, true);
	log_info("leading", "identity", p->identity, NULL);
	look_at_all(p);
}

/* Whoever has lost the Lease must not finish anything: the process ends at once, without clean-up. */
static void lost(void *ctx, const char *why)
{
	struct program *p = ctx;

	if (atomic_load(&p->ending))
		return;
	log_error("no longer leading, ending", "why", why, NULL);
	_exit(EXIT_FAILURE);
}

static void on_event(void *ctx, size_t kind, enum kube_watch_type type, const struct json *object)
{
	struct program *p = ctx;
	char key[512];

	if (type == KUBE_SYNCED) {
		log_info("watch in sync", "kind", cache_kinds[kind].kind, NULL);
		(void)atomic_fetch_add(&p->kinds_in_sync, 1);
		if (in_sync(p) && leads(p))
			look_at_all(p);
		return;
	}
	if (kind == CACHE_APP) {
		around_app(p->around, type, object);
		exclusive_event(p->holdings, p->queue, false, type, object);
	}
	if (kind == CACHE_STORE)
		exclusive_event(p->holdings, p->queue, true, type, object);
	if (type == KUBE_DELETED) {
		if (!cache_gone(p->cache, (enum cache_kind)kind, object, key, sizeof(key)))
			return;
		exclusive_let_go(p->holdings, p->cache, key);
	} else if (!cache_key_of((enum cache_kind)kind, object, key, sizeof(key)) ||
		   !cache_put(p->cache, (enum cache_kind)kind, object)) {
		return; /* nobody's, or the echo of an own write */
	}
	queue_add(p->queue, key);
}

/* The cluster has other kinds than before: every app is looked at again. */
static void on_changed(void *ctx)
{
	struct program *p = ctx;

	if (in_sync(p) && leads(p))
		look_at_all(p);
}

static void on_relist(void *ctx, size_t kind, const struct kube_relist *r)
{
	const struct program *p = ctx;

	relist_step(p->cache, p->queue, (enum cache_kind)kind, r);
}

static bool one_turn(struct program *p, size_t worker, const char *key)
{
	int64_t begun = clock_mono_ms();
	bool ok;

	watchdog_begin(p->watchdog, worker, begun);
	ok = reconcile(p->reconciler, key);
	watchdog_end(p->watchdog, worker);
	telemetry_turn(p->telemetry, ok, clock_mono_ms() - begun);
	return ok;
}

static void *work(void *ctx)
{
	const struct worker *w = ctx;
	struct program *p = w->p;
	char *key;

	while ((key = queue_get(p->queue))) {
		bool ok = true;

		if (leads(p) && in_sync(p))
			ok = one_turn(p, w->index, key);
		queue_done(p->queue, key, !ok);
		free(key);
	}
	return NULL;
}

/* --- HTTP ----------------------------------------------------------------------------------------- */

/* Alive: no thread is stuck. An API server that is away is nothing that a restart would cure. */
static void healthz(void *ctx, const struct httpd_request *req, struct httpd_answer *a)
{
	struct program *p = ctx;
	struct kube_watch *w = atomic_load(&p->watch);
	const char *why = NULL;

	(void)req;
	if (watchdog_fine(p->watchdog, w ? kube_watch_beat_ms(w) : 0, clock_mono_ms(), &why)) {
		buf_puts(&a->body, "ok\n");
		return;
	}
	a->status = 503;
	buf_printf(&a->body, "%s\n", why);
}

/* Ready: the caches are in sync. A follower is ready too, it takes over at any time. */
static void readyz(void *ctx, const struct httpd_request *req, struct httpd_answer *a)
{
	struct program *p = ctx;

	(void)req;
	if (in_sync(p)) {
		buf_puts(&a->body, "ok\n");
		return;
	}
	a->status = 503;
	buf_puts(&a->body, "waiting for the API server\n");
}

static int serve(struct program *p, struct err *e)
{
	static struct httpd_route health[2];
	struct httpd_options h = { .address = p->o.health_address,
				   .routes = health,
				   .n_routes = array_len(health) };
	const struct telemetry_server m = { .address = p->o.metrics_address,
					    .secure = p->o.metrics_secure,
					    .cert_dir = p->o.metrics_cert_dir,
					    .config = p->config,
					    .cancel = p->cancel };
	int r;

	health[0] = (struct httpd_route){ "GET", "/healthz", healthz, p, 0, NULL };
	health[1] = (struct httpd_route){ "GET", "/readyz", readyz, p, 0, NULL };
	r = httpd_start(&h, &p->health, e);
	if (r)
		return err_wrap(e, "--health-probe-bind-address");
	r = telemetry_serve(p->telemetry, &m, e);
	return r ? err_wrap(e, "--metrics-bind-address") : 0;
}

/* --- start and end -------------------------------------------------------------------------------- */

/* Every app is looked at again: it may be judged otherwise now. */
static void reloaded(void *ctx, const char *name, const struct err *e)
{
	struct program *p = ctx;

	telemetry_reloaded(p->telemetry, name, !e);
	if (e) {
		log_error("new settings refused, the last good ones stay", "file", name, "error",
			  e->message, NULL);
		if (leads(p) && p->lease)
			tell_settings_refused(p->events, p->o.operator_namespace, p->lease, name,
					      e->message);
		return;
	}
	log_info("new settings in use", "file", name, NULL);
	if (leads(p))
		look_at_all(p);
}

static int start_settings(struct program *p, struct err *e)
{
	p->o.settings.on_reload = reloaded;
	p->o.settings.ctx = p;
	return settings_start(&p->o.settings, &p->settings, e);
}

static void make_identity(struct program *p)
{
	char host[64] = "";

	(void)gethostname(host, sizeof(host) - 1);
	(void)snprintf(p->identity, sizeof(p->identity), "%s_%d_%llx", host, (int)getpid(),
		       (unsigned long long)clock_wall_ms());
}

static int start_watch(struct program *p, struct err *e)
{
	static struct kube_watch_kind kinds[CACHE_OPTIONAL];
	struct kube_watch_opts o = { .config = p->config,
				     .kinds = kinds,
				     .n = CACHE_OPTIONAL,
				     .namespaces = &p->o.namespaces,
				     .handler = on_event,
				     .relist = on_relist,
				     .presence = presence_log,
				     .page = PAGE,
				     .ctx = p };
	struct kube_watch *w;
	int r;

	for (size_t i = 0; i < CACHE_OPTIONAL; i++)
		kinds[i] = (struct kube_watch_kind){
			.kind = &cache_kinds[i],
			.label_selector = i == CACHE_APP     ? p->o.selector
					  : i == CACHE_STORE ? NULL
							     : WORKERAPP_LABEL,
			.unremembered = i != CACHE_APP && i != CACHE_STORE,
		};
	r = kube_watch_start(&o, &w, e);
	if (r)
		return r;
	atomic_store(&p->watch, w);
	telemetry_watch(p->telemetry, w);
	return 0;
}

static int start_lease(struct program *p, struct err *e)
{
	struct lease_opts o = { .config = p->config,
				.namespace = p->o.operator_namespace,
				.name = CONTROLLER_LEASE,
				.identity = p->identity,
				.duration_ms = p->o.lease_ms,
				.renew_ms = p->o.renew_ms,
				.retry_ms = p->o.retry_ms,
				.won = won,
				.lost = lost,
				.ctx = p };

	if (!p->o.leader_elect) {
		won(p);
		return 0;
	}
	return lease_start(&o, &p->lease, e);
}

static void make_parts(struct program *p)
{
	struct kube_client_opts client = { .config = p->config,
					   .cancel = p->cancel,
					   .user_agent = "celld-controller",
					   .qps = (double)p->o.qps,
					   .may_write = may_write,
					   .may_write_ctx = p };
	struct around_opts around = { .config = p->config,
				      .namespaces = &p->o.namespaces,
				      .flags = &p->o.around,
				      .discovery_ms = p->o.discovery_ms,
				      .changed = on_changed,
				      .ctx = p };
	struct event_opts events = { .controller = "celld-operator.io/controller",
				     .instance = p->identity };
	struct telemetry_opts telemetry;

	p->client = kube_client_new(&client);
	events.client = p->client;
	p->events = event_recorder_new(&events);
	p->cache = cache_new();
	p->queue = queue_new(FIRST_RETRY_MS, MOST_RETRY_MS);
	p->holdings = holdings_new();
	around.client = p->client;
	around.cache = p->cache;
	around.queue = p->queue;
	p->around = around_new(&around);
	p->snapshots = snapshots_new();
	p->watchdog = watchdog_new((size_t)p->o.workers);
	telemetry = (struct telemetry_opts){ .cache = p->cache,
					     .queue = p->queue,
					     .snapshots = p->snapshots,
					     .watchdog = p->watchdog,
					     .client = p->client,
					     .events = p->events,
					     .leads = leads,
					     .ctx = p };
	p->telemetry = telemetry_new(&telemetry);
}

static void swept(void *ctx, int64_t ms, size_t pods)
{
	struct program *p = ctx;

	telemetry_swept(p->telemetry, ms, pods);
}

static void start_bucket(struct program *p)
{
	const struct secrets_opts secrets = { .client = p->client,
					      .queue = p->queue,
					      .interval_ms = p->o.secret_poll_ms,
					      .active = leads,
					      .ctx = p };
	struct tracker_opts tracker = { .queue = p->queue,
					.cancel = p->cancel,
					.settings = p->settings,
					.interval_ms = p->o.deploy_poll_ms,
					.gs_endpoint = p->o.gs_endpoint,
					.az_endpoint = p->o.az_endpoint,
					.ca_file = p->o.store_ca_file,
					.active = leads,
					.ctx = p };
	struct stores_opts stores = { .client = p->client, .cache = p->cache, .queue = p->queue };

	p->secrets = secrets_start(&secrets);
	tracker.secrets = stores.secrets = p->secrets;
	p->tracker = tracker_start(&tracker);
	p->stores = stores_new(&stores);
	p->slots = slots_new(p->cache, p->o.max_rollouts);
}

/* Our own pod tells of which families pods are here: POD_IPS comes from its status.podIPs. */
static bool pods_have_ipv6(void)
{
	const char *own = getenv("POD_IPS");

	return own && strchr(own, ':');
}

static void start_workers(struct program *p)
{
	const struct sweep_opts sweep = { .cache = p->cache,
					  .queue = p->queue,
					  .settings = p->settings,
					  .cancel = p->cancel,
					  .snapshots = p->snapshots,
					  .interval_ms = p->o.state_poll_ms,
					  .active = leads,
					  .swept = swept,
					  .ctx = p };
	struct reconcile_opts o = { .client = p->client,
				    .cache = p->cache,
				    .queue = p->queue,
				    .events = p->events,
				    .around = p->around,
				    .settings = p->settings,
				    .holdings = p->holdings,
				    .operator_namespace = p->o.operator_namespace,
				    .ipv6 = pods_have_ipv6(),
				    .settle_ms = p->o.settle_ms,
				    .hold_ms = p->o.hold_ms,
				    .recheck_ms = p->o.recheck_ms };

	p->sweeper = sweep_start(&sweep);
	o.sweeper = p->sweeper;
	start_bucket(p);
	o.secrets = p->secrets;
	o.tracker = p->tracker;
	o.stores = p->stores;
	o.slots = p->slots;
	p->reconciler = reconcile_new(&o);
	p->workers = xcalloc((size_t)p->o.workers, sizeof(*p->workers));
	for (; p->n_workers < (size_t)p->o.workers; p->n_workers++) {
		struct worker *w = &p->workers[p->n_workers];

		*w = (struct worker){ .p = p, .index = p->n_workers };
		if (pthread_create(&w->thread, NULL, work, w))
			abort();
	}
}

static int start(struct program *p, struct err *e)
{
	int r = start_settings(p, e);

	if (!r)
		r = kube_config_load(p->o.kubeconfig, &p->config, e);
	if (r)
		return r;
	make_identity(p);
	p->cancel = http_cancel_new();
	make_parts(p);
	r = serve(p, e);
	if (!r)
		r = start_watch(p, e);
	if (r)
		return r;
	around_run(p->around);
	start_workers(p);
	return start_lease(p, e);
}

/* Workers first, the Lease after the last write has ended. */
static void stop(struct program *p)
{
	atomic_store(&p->ending, true);
	atomic_store(&p->leading, false);
	if (p->queue)
		queue_close(p->queue);
	if (p->cancel)
		http_cancel_trigger(p->cancel);
	for (size_t i = 0; i < p->n_workers; i++)
		(void)pthread_join(p->workers[i].thread, NULL);
	sweep_stop(p->sweeper);
	tracker_stop(p->tracker);
	secrets_stop(p->secrets);
	settings_stop(p->settings); /* nobody has a view of them any more */
	if (p->lease)
		lease_stop(p->lease, true);
	httpd_free(p->health); /* the servers look at the watch and at all that follows */
	telemetry_free(p->telemetry);
	if (p->watch)
		kube_watch_stop(p->watch);
	around_free(p->around); /* the watch tells it of apps, the servers ask it */
	reconcile_free(p->reconciler);
	stores_free(p->stores);
	slots_free(p->slots);
	event_recorder_free(p->events);
	kube_client_free(p->client);
	cache_free(p->cache);
	queue_free(p->queue);
	holdings_free(p->holdings);
	snapshots_free(p->snapshots);
	watchdog_free(p->watchdog);
	http_cancel_free(p->cancel);
	kube_config_free(p->config);
	free(p->workers);
	options_done(&p->o);
}

/* Meanwhile what lists and bursts of work have freed goes back to the system: the allocator keeps it, in pieces. */
static int wait_for_end(void)
{
	static const struct timespec pause = { .tv_sec = 20 };
	sigset_t set;
	int sig;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	while ((sig = sigtimedwait(&set, NULL, &pause)) < 0)
		(void)malloc_trim(0);
	return sig;
}

static void block_signals(void)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	(void)pthread_sigmask(SIG_BLOCK, &set, NULL);
}

int main(int argc, char **argv)
{
	static struct program p;
	struct err e = ERR_INIT;

	if (options_read(argc, argv, &p.o, &e)) {
		(void)fprintf(stderr, "celld-controller: %s\n", e.message);
		return EXIT_USAGE;
	}
	if (p.o.help || p.o.version) {
		if (p.o.help)
			options_help();
		else
			(void)printf("celld-controller %s\n", build_version);
		options_done(&p.o);
		return EXIT_SUCCESS;
	}
	/* Threads hand each other what they allocate, which leaves arenas of their own half empty. */
	(void)mallopt(M_ARENA_MAX, 1);
	options_set_log(&p.o);
	secret_protect();
	block_signals();
	if (http_global_init(&e) || start(&p, &e)) {
		(void)fprintf(stderr, "celld-controller: %s\n", e.message);
		stop(&p);
		return EXIT_FAILURE;
	}
	log_info("started", "version", build_version, "identity", p.identity, NULL);
	log_info("ending", "signal", strsignal(wait_for_end()), NULL);
	stop(&p);
	return EXIT_SUCCESS;
}
