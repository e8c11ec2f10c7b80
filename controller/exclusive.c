#include "controller/exclusive.h"

#include <stdio.h>
#include <string.h>

static void queue_all(struct queue *q, const struct strlist *keys)
{
	for (size_t i = 0; i < keys->n; i++)
		queue_add(q, keys->v[i]);
}

static void of_app(struct holdings *h, bool gone, const struct json *object, struct strlist *keys)
{
	const struct json *m = json_get(object, "metadata");
	const char *ns = json_get_str(m, "namespace"), *name = json_get_str(m, "name");
	cleanup(freep) char *key = xasprintf("%s/%s", ns ? ns : "", name ? name : "");

	/* Those that it stood in the way of, and those that it does now. */
	holdings_rivals(h, key, keys);
	if (gone)
		holdings_bury(h, object);
	else
		holdings_put_app(h, object);
	holdings_rivals(h, key, keys);
}

static void of_store(struct holdings *h, bool gone, const struct json *object, struct strlist *keys)
{
	const struct json *m = json_get(object, "metadata");
	const char *ns = json_get_str(m, "namespace"), *name = json_get_str(m, "name");
	struct strlist users = STRLIST_INIT;

	holdings_users(h, ns ? ns : "", name ? name : "", false, &users);
	for (size_t i = 0; i < users.n; i++)
		holdings_rivals(h, users.v[i], keys);
	if (gone)
		holdings_remove_store(h, object);
	else
		holdings_put_store(h, object);
	for (size_t i = 0; i < users.n; i++) {
		strlist_add_once(keys, users.v[i]);
		holdings_rivals(h, users.v[i], keys);
	}
	strlist_done(&users);
}

void exclusive_event(struct holdings *h, struct queue *q, bool store, enum kube_watch_type type,
		     const struct json *object)
{
	struct strlist keys = STRLIST_INIT;

	if (store)
		of_store(h, type == KUBE_DELETED, object, &keys);
	else
		of_app(h, type == KUBE_DELETED, object, &keys);
	queue_all(q, &keys);
	strlist_done(&keys);
}

static bool has_workload(struct cache *c, const char *key)
{
	const char *slash = strchr(key, '/');
	cleanup(freep) char *ns = xstrndup(key, (size_t)(slash - key));
	cleanup(freep) char *sts = xasprintf("%s-celld", slash + 1);
	cleanup_json struct json *there = cache_get(c, CACHE_STATEFULSET, ns, sts);

	return there != NULL;
}

/* The app on an overlapping prefix whose fleet is there already; the caller's, NULL: none. */
static char *running_rival(const struct reconcile_opts *o, const struct workerapp *app)
{
	cleanup(freep) char *key = xasprintf("%s/%s", app->namespace, app->name);
	struct strlist rivals = STRLIST_INIT;
	char *found = NULL;

	holdings_rivals(o->holdings, key, &rivals);
	for (size_t i = 0; i < rivals.n && !found; i++) {
		if (has_workload(o->cache, rivals.v[i]))
			found = xstrdup(rivals.v[i]);
	}
	strlist_done(&rivals);
	return found;
}

/* Whether anything of a fleet is left. */
static bool is_left(struct cache *c, const char *key)
{
	size_t n = 0;
	cleanup(freep) struct fleet_pod *pods = cache_pods(c, key, &n);

	(void)pods; /* their number is enough */
	return n > 0 || has_workload(c, key);
}

void exclusive_let_go(struct holdings *h, struct cache *c, const char *key)
{
	struct cache_brief app;

	if (!cache_brief(c, key, &app) && !is_left(c, key))
		holdings_let_go(h, key);
}

/*
 * An app that is gone and whose pods are not, quite; the caller's, NULL: none. Its last pod's end brings
 * nobody back, so the key comes back by itself.
 */
static char *ghost_of(const struct reconcile_opts *o, const struct workerapp *app)
{
	cleanup(freep) char *key = xasprintf("%s/%s", app->namespace, app->name);
	struct strlist ghosts = STRLIST_INIT;
	char *found = NULL;

	holdings_ghosts(o->holdings, app, &ghosts);
	for (size_t i = 0; i < ghosts.n; i++) {
		if (!is_left(o->cache, ghosts.v[i]))
			holdings_let_go(o->holdings, ghosts.v[i]);
		else if (!found)
			found = xstrdup(ghosts.v[i]);
	}
	if (found)
		queue_add_after(o->queue, key, o->recheck_ms);
	strlist_done(&ghosts);
	return found;
}

static void condition(struct status_condition *c, const char *status, const char *reason)
{
	*c = (struct status_condition){ .type = "BucketExclusive",
					.status = status,
					.reason = reason };
}

/* lost: to whom; NULL: to nobody who is known. */
static void tell(struct status_condition *c, const struct fault *lost, bool known)
{
	condition(c,
		  lost	  ? "False"
		  : known ? "True"
			  : "Unknown",
		  lost	  ? "BucketPrefixShared"
		  : known ? "Exclusive"
			  : "StoreMissing");
	if (lost)
		(void)snprintf(c->message, sizeof(c->message), "%s %s", lost->path, lost->message);
}

/* By age: false, and the condition says who came before. */
static bool came_first(const struct reconcile_opts *o, const struct workerapp *app,
		       struct status_condition *ret)
{
	struct faults found = FAULTS_INIT;
	bool known = holdings_judge(o->holdings, app, true, &found);
	const struct fault *lost = NULL;

	for (size_t i = 0; i < found.n && !lost; i++) {
		if (str_eq(found.v[i].rule, EXCLUSIVE_BUCKET))
			lost = &found.v[i];
	}
	tell(ret, lost, known);
	faults_done(&found);
	return !lost;
}

/* An older one has come to be known since: it may start now. */
static void give_back(const struct reconcile_opts *o, const struct workerapp *app)
{
	cleanup(freep) char *key = xasprintf("%s/%s", app->namespace, app->name);
	struct strlist rivals = STRLIST_INIT;

	if (!holdings_unclaim(o->holdings, app))
		return;
	holdings_rivals(o->holdings, key, &rivals);
	queue_all(o->queue, &rivals);
	strlist_done(&rivals);
}

/*
 * Its fleet runs, and the one that came before has none and will not get one beside it: told that it has the prefix, or
 * both were told that they do not.
 */
static bool keeps(const struct reconcile_opts *o, const struct workerapp *app)
{
	cleanup(freep) char *rival = running_rival(o, app);

	return !rival && holdings_claim(o->holdings, app, false);
}

bool exclusive_condition(const struct reconcile_opts *o, const struct workerapp *app, bool runs,
			 struct status_condition *ret)
{
	cleanup(freep) char *rival = NULL;

	if (!came_first(o, app, ret)) {
		if (runs && keeps(o, app)) {
			tell(ret, NULL, true);
			return true;
		}
		if (!runs)
			give_back(o, app);
		return false;
	}
	if (!runs)
		rival = running_rival(o, app);
	if (!runs && !rival)
		rival = ghost_of(o, app);
	if (!rival && holdings_claim(o->holdings, app, runs))
		return true;
	condition(ret, "False", "BucketPrefixShared");
	(void)snprintf(
		ret->message, sizeof(ret->message),
		"spec.bucket.name overlaps the prefix of WorkerApp %s, whose fleet was there "
		"first; delete one of the two apps, or give one a prefix of its own",
		rival ? rival : "that is being started");
	return false;
}
