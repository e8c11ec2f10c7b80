#include "controller/stores.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/kube/client.h"
#include "common/log.h"
#include "common/map.h"
#include "common/store_rules.h"
#include "controller/status_write.h"

/* Many apps change at once; their store's status waits for the last of them. */
enum { CALM_MS = 500 };

struct user {
	char *store; /* "@namespace/name" */
	enum stores_reach reach;
	bool no_secret;
};

struct stores {
	struct stores_opts o;
	struct status_writer *statuses;
	pthread_mutex_t lock;
	struct map *users; /* key of an app -> struct user */
	struct map *
		versions; /* key of a store -> text of its generation and UID, as its apps know it */
};

static void user_free(void *p)
{
	struct user *u = p;

	free(u->store);
	free(u);
}

struct stores *stores_new(const struct stores_opts *o)
{
	struct stores *s = xcalloc(1, sizeof(*s));

	s->o = *o;
	(void)pthread_mutex_init(&s->lock, NULL);
	s->statuses = status_writer_new(o->client, o->cache, CACHE_STORE);
	s->users = map_new(user_free);
	s->versions = map_new(free);
	return s;
}

void stores_free(struct stores *s)
{
	if (!s)
		return;
	status_writer_free(s->statuses);
	map_free(s->users);
	map_free(s->versions);
	(void)pthread_mutex_destroy(&s->lock);
	free(s);
}

bool stores_is_key(const char *key)
{
	return key[0] == '@';
}

void stores_note(struct stores *s, const char *app, const char *store, enum stores_reach reach,
		 bool no_secret)
{
	const char *slash = strchr(app, '/');
	struct user *now = NULL;
	const struct user *was;
	bool same;

	if (store && slash) {
		now = xcalloc(1, sizeof(*now));
		now->store = xasprintf("@%.*s/%s", (int)(slash - app), app, store);
		now->reach = reach;
		now->no_secret = no_secret;
	}
	(void)pthread_mutex_lock(&s->lock);
	was = map_get(s->users, app);
	same = was && now ? str_eq(was->store, now->store) && was->reach == now->reach &&
				    was->no_secret == now->no_secret
			  : !was && !now;
	if (!same && was)
		queue_add_after(s->o.queue, was->store, CALM_MS);
	if (!same && now)
		queue_add_after(s->o.queue, now->store, CALM_MS);
	if (!same && now)
		map_put(s->users, app, take(now));
	else if (!same)
		map_del(s->users, app);
	(void)pthread_mutex_unlock(&s->lock);
	if (now)
		user_free(now);
}

/* --- status ----------------------------------------------------------------------------------- */

struct use {
	const char *store;
	struct strlist apps;
	size_t reached, unreachable, not_asked;
};

static void count(const char *app, void *value, void *ctx)
{
	const struct user *u = value;
	struct use *all = ctx;

	if (!str_eq(u->store, all->store))
		return;
	strlist_add(&all->apps, app);
	all->reached += u->reach == STORES_REACHED;
	all->unreachable += u->reach == STORES_UNREACHABLE;
	all->not_asked += u->reach == STORES_NOT_ASKED;
}

static const struct json *old_condition(const struct json *doc, const char *type)
{
	return json_find(json_path(doc, "status", "conditions", NULL), "type", type);
}

static int64_t generation(const struct json *doc)
{
	int64_t n = 0;

	(void)json_get_int(json_get(doc, "metadata"), "generation", &n);
	return n;
}

static void condition(const struct json *doc, struct json *all, const char *type, bool holds,
		      const char *reason, const char *message)
{
	const struct json *old = old_condition(doc, type);
	const char *status = holds ? "True" : "False", *was = json_get_str(old, "status");
	const char *since = json_get_str(old, "lastTransitionTime");
	struct json *c = json_new_object();
	char now[CLOCK_TEXT];

	clock_text(clock_wall_ms(), now);
	json_set_str(c, "type", type);
	json_set_str(c, "status", status);
	json_set_str(c, "reason", reason);
	json_set_str_always(c, "message", message);
	json_set_int(c, "observedGeneration", generation(doc));
	json_set_str(c, "lastTransitionTime", was && since && str_eq(was, status) ? since : now);
	json_add(all, c);
}

static void credentials(struct stores *s, const struct json *doc, const char *ns, struct json *all)
{
	struct wa_bucket b;
	char message[320];

	store_read(doc, &b);
	if (b.credentials.secret_ref &&
	    secrets_state(s->o.secrets, ns, b.credentials.secret_ref) == SECRET_MISSING) {
		(void)snprintf(message, sizeof(message), "Secret %s does not exist",
			       b.credentials.secret_ref);
		condition(doc, all, "CredentialsReady", false, "SecretMissing", message);
		return;
	}
	condition(doc, all, "CredentialsReady", true, "Configured", "");
}

static struct json *make_status(struct stores *s, const struct json *doc, const char *ns,
				const struct use *use)
{
	struct json *status = json_new_object(), *all = json_new_array();
	const struct json *old = old_condition(doc, "Reachable");
	char message[160];

	json_set_int(status, "observedGeneration", generation(doc));
	json_set_int(status, "apps", (int64_t)use->apps.n);
	credentials(s, doc, ns, all);
	if (use->unreachable) {
		(void)snprintf(message, sizeof(message), "%zu of %zu tracked apps cannot read it",
			       use->unreachable, use->reached + use->unreachable);
		condition(doc, all, "Reachable", use->reached > 0, "BucketUnreachable", message);
	} else if (use->reached) {
		condition(doc, all, "Reachable", true, "Reached", "");
	} else if (use->not_asked && old) {
		json_add(all, json_dup(old)); /* as it was, until somebody asks again */
	}
	json_set(status, "conditions", all);
	return status;
}

static int write_status(struct stores *s, const struct json *doc, struct json *status,
			struct err *e)
{
	const struct json *meta = json_get(doc, "metadata");
	const struct status_target to = {
		json_get_str(meta, "namespace"), json_get_str(meta, "name"),
		json_get_str(meta, "uid"),	 json_get_str(meta, "resourceVersion"),
		json_get(doc, "status"),	 clock_mono_ms()
	};
	struct status_outcome done;
	int r = status_write(s->statuses, &to, status, &done, e);

	if (done.lacking)
		log_warn("the definition of CelldObjectStore in the cluster is not that of this "
			 "operator; apply the definitions that come with it",
			 "lacking", done.lacking, NULL);
	free(done.lacking);
	return r;
}

/* Its apps look at it again when the spec is another one, or when it has come or gone. */
static void tell_apps(struct stores *s, const char *key, const struct json *doc,
		      const struct use *use)
{
	const char *uid = json_str(json_path(doc, "metadata", "uid", NULL));
	const char *ack = json_str(json_path(doc, "metadata", "annotations", ANNOTATION_ACK, NULL));
	char *now =
		xasprintf("%lld %s %s", (long long)generation(doc), uid ? uid : "", ack ? ack : "");
	const char *was;
	bool news;

	(void)pthread_mutex_lock(&s->lock);
	was = map_get(s->versions, key);
	news = !was || !str_eq(was, now);
	if (news && doc)
		map_put(s->versions, key, take(now));
	else if (news)
		map_del(s->versions, key);
	(void)pthread_mutex_unlock(&s->lock);
	free(now);
	for (size_t i = 0; news && i < use->apps.n; i++)
		queue_add(s->o.queue, use->apps.v[i]);
}

static int one_turn(struct stores *s, const char *key, struct err *e)
{
	const char *slash = strchr(key, '/');
	cleanup(freep) char *ns = xstrndup(key + 1, slash ? (size_t)(slash - key - 1) : 0);
	cleanup_json struct json *doc =
		cache_get(s->o.cache, CACHE_STORE, ns, slash ? slash + 1 : "");
	struct use use = { .store = key, .apps = STRLIST_INIT };
	cleanup_json struct json *status = NULL;
	int r = 0;

	(void)pthread_mutex_lock(&s->lock);
	map_each(s->users, count, &use);
	(void)pthread_mutex_unlock(&s->lock);
	tell_apps(s, key, doc, &use);
	if (doc && !json_path(doc, "metadata", "deletionTimestamp", NULL)) {
		status = make_status(s, doc, ns, &use);
		r = write_status(s, doc, status, e);
	}
	strlist_done(&use.apps);
	return r;
}

bool stores_reconcile(struct stores *s, const char *key)
{
	struct err e = ERR_INIT;
	int r = one_turn(s, key, &e);

	if (r && r != -ERR_CONFLICT && r != -ERR_NOT_FOUND && r != -ERR_CANCELED)
		log_warn("CelldObjectStore", "store", key + 1, "error", e.message, NULL);
	if (r && e.retry_after_ms > 0)
		queue_hold(s->o.queue, key, e.retry_after_ms);
	return r == 0 || r == -ERR_NOT_FOUND;
}
