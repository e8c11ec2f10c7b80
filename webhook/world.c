#include "webhook/world.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/http.h"
#include "common/kube/client.h"
#include "common/kube/config.h"
#include "common/kube/watch.h"
#include "common/log.h"

enum kind { APPS, STORES, KINDS };
enum { SILENCE_MS = 30000 };

static const struct kube_kind kinds[KINDS] = {
	[APPS] = WORKERAPP_KIND,
	[STORES] = OBJECT_STORE_KIND,
};

struct world {
	struct review_world view;
	struct holdings *holdings;
	struct kube_config *config;	  /* NULL: no API server */
	struct kube_watch *_Atomic watch; /* NULL: not yet, or no API server */
};

static void on_event(void *ctx, size_t kind, enum kube_watch_type type, const struct json *object)
{
	struct world *w = ctx;

	if (type == KUBE_SYNCED)
		log_info("watch in sync", "kind", kinds[kind].kind, NULL);
	else if (kind == APPS && type == KUBE_DELETED)
		holdings_remove_app(w->holdings, object);
	else if (kind == APPS)
		holdings_put_app(w->holdings, object);
	else if (type == KUBE_DELETED)
		holdings_remove_store(w->holdings, object);
	else
		holdings_put_store(w->holdings, object);
}

bool world_is_current(struct world *w)
{
	struct kube_watch *watch = atomic_load(&w->watch);
	struct kube_watch_stats s;

	if (!watch || !kube_watch_synced(watch, APPS))
		return false;
	kube_watch_stats(watch, APPS, &s);
	return s.connected || clock_mono_ms() - s.last_heard_ms < SILENCE_MS;
}

/* ---- what reviews ask ------------------------------------------------------------------------ */

static bool same_text(const char *a, const char *b)
{
	return str_eq(a ? a : "", b ? b : "");
}

/* The change leaves alone what apps may take from each other. */
static bool is_beside_the_point(const struct workerapp *a, const struct workerapp *b)
{
	return same_text(a->bucket.name, b->bucket.name) &&
	       same_text(a->bucket.endpoint, b->bucket.endpoint) &&
	       same_text(a->bucket.storage_account, b->bucket.storage_account) &&
	       same_text(a->store_ref, b->store_ref) &&
	       same_text(a->ingress.path, b->ingress.path) &&
	       strlist_equal(&a->hostnames, &b->hostnames);
}

static void exclusive(void *ctx, const struct workerapp *app, const struct workerapp *old,
		      struct faults *faults, struct strlist *warnings)
{
	struct world *w = ctx;
	struct faults found = FAULTS_INIT, before = FAULTS_INIT;

	if (app->deleting || (old && is_beside_the_point(app, old)))
		return;
	if (!world_is_current(w)) {
		strlist_add_once(
			warnings,
			"the other WorkerApps are not known at the moment; bucket prefix and "
			"host names are compared later");
		return;
	}
	if (!holdings_judge(w->holdings, app, false, &found))
		strlist_add_once(warnings, "spec.storeRef.name: there is no such CelldObjectStore "
					   "yet; the bucket prefix is compared later");
	if (old)
		(void)holdings_judge(w->holdings, old, false, &before);
	faults_ratchet(&found, &before);
	faults_add_all(faults, &found);
	faults_done(&found);
	faults_done(&before);
}

static bool durability(void *ctx, const char *namespace, const char *name, bool *ret_fleet)
{
	struct world *w = ctx;

	return holdings_app(w->holdings, namespace, name, ret_fleet);
}

static void users(void *ctx, const char *namespace, const char *store, struct strlist *ret)
{
	struct world *w = ctx;

	holdings_users(w->holdings, namespace ? namespace : "", store, true, ret);
}

const struct review_world *world_view(const struct world *w)
{
	return &w->view;
}

/* ---- start and end --------------------------------------------------------------------------- */

static int start_watch(struct world *w, struct err *e)
{
	const struct kube_watch_kind watched[KINDS] = {
		[APPS] = { .kind = &kinds[APPS] }, [STORES] = { .kind = &kinds[STORES] }
	};
	const struct kube_watch_opts o = { .config = w->config,
					   .user_agent = "celld-webhook",
					   .kinds = watched,
					   .n = KINDS,
					   .handler = on_event,
					   .ctx = w };
	struct kube_watch *watch = NULL;
	int r = kube_watch_start(&o, &watch, e);

	atomic_store(&w->watch, watch);
	return r;
}

int world_watch(struct world *w, const char *kubeconfig, struct err *e)
{
	struct err why = ERR_INIT;
	int r = http_global_init(e);

	if (r)
		return r;
	r = kube_config_load(kubeconfig, &w->config, &why);
	if (!r)
		return start_watch(w, e);
	if (!str_empty(kubeconfig)) {
		*e = why;
		return err_wrap(e, "--kubeconfig");
	}
	log_warn("no API server is known, rules between apps only warn", "error", why.message,
		 NULL);
	return 0;
}

struct world *world_new(void)
{
	struct world *w = xcalloc(1, sizeof(*w));

	w->view = (struct review_world){
		.ctx = w, .exclusive = exclusive, .durability = durability, .users = users
	};
	w->holdings = holdings_new();
	return w;
}

void world_free(struct world *w)
{
	if (!w)
		return;
	if (atomic_load(&w->watch))
		kube_watch_stop(atomic_load(&w->watch));
	kube_config_free(w->config);
	holdings_free(w->holdings);
	free(w);
}
