#include "certs/keeper.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "certs/hooks.h"
#include "certs/plan.h"
#include "certs/authority.h"
#include "common/clock.h"
#include "common/http.h"
#include "common/json.h"
#include "common/kube/client.h"
#include "common/kube/watch.h"
#include "common/log.h"
#include "common/metrics.h"

static const struct kube_kind secrets = { "", "v1", "secrets", "Secret", true };
static const struct kube_kind hooks[2] = {
	{ "admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations",
	  "MutatingWebhookConfiguration", false },
	{ "admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations",
	  "ValidatingWebhookConfiguration", false },
};

enum {
	LOOK_MS = 60000,
	LOOK_LEAST_MS = 200,
	SETTLE_MS = 60000,
	PAUSE_LEAST_MS = 100,
	PAUSE_MOST_MS = 60000,
	REQUEST_MS = 10000,
	STEPS_IN_A_ROW = 12, /* the longest way there is has seven */
};

struct keeper {
	struct keeper_opts o; /* texts are ours */
	struct strlist names;
	struct hooks_service service;
	struct http_cancel *cancel;
	struct http_client *sleeper;
	struct kube_client *client;
	struct kube_watch *watch;
	pthread_t thread;
	bool running;
	/* Of the thread. */
	struct issue_facts served;   /* the leaf that is served; end_ms 0: none */
	struct authority remembered; /* the Secret as it was when that leaf was taken from it */
	struct json *shape; /* its labels, annotations and type, to make it anew; or NULL */
	int64_t absent_since, named_since; /* monotonic; 0: it is not */
	char trouble[512];		   /* what was logged last; "": nothing is wrong */
	/* For the metrics. */
	_Atomic int64_t ca_end_ms, failures, steps[PLAN_ACTIONS];
};

/* What one turn has seen. */
struct seen {
	int64_t now_ms;
	struct json *object, *configuration[2]; /* NULL: it does not exist */
	struct authority secret;
	struct bundle wanted;
	struct plan_facts facts;
};

static void seen_done(struct seen *s)
{
	json_free(s->object);
	json_free(s->configuration[0]);
	json_free(s->configuration[1]);
	authority_done(&s->secret);
	bundle_done(&s->wanted);
}

/* ---- observing ------------------------------------------------------------------------------- */

static int get(struct keeper *k, const struct kube_kind *kind, const char *ns, const char *name,
	       struct json **ret, struct err *e)
{
	int r = kube_get(k->client, kind, ns, name, REQUEST_MS, ret, e);

	if (r && r != -ERR_NOT_FOUND)
		return err_wrap(e, "reading %s %s", kind->kind, name);
	return 0;
}

static int read_objects(struct keeper *k, struct seen *s, struct err *e)
{
	int r = get(k, &secrets, k->o.ns, k->o.secret, &s->object, e);

	for (size_t i = 0; !r && i < array_len(hooks); i++)
		r = get(k, &hooks[i], NULL, k->o.configuration, &s->configuration[i], e);
	return r;
}

/* How long something has held; *since remembers when it began. */
static int64_t held_ms(int64_t *since, bool holds)
{
	int64_t now = clock_mono_ms();

	if (!holds) {
		*since = 0;
		return 0;
	}
	if (!*since)
		*since = now;
	return now - *since;
}

static void judge_bundles(struct keeper *k, struct seen *s)
{
	struct hooks_state state = { .n = 0 };

	authority_bundle(&s->secret, s->now_ms, &s->wanted);
	for (size_t i = 0; i < array_len(hooks); i++)
		hooks_look(s->configuration[i], &k->service, &s->wanted, &state);
	s->facts.named = !state.missing;
	s->facts.strangers = state.strangers;
}

static void judge_time(const struct keeper *k, int64_t now_ms, struct plan_facts *to)
{
	plan_served(to, now_ms, k->served.begin_ms, issue_due_ms(&k->served), k->served.end_ms);
}

static void judge_served(const struct keeper *k, struct seen *s)
{
	struct issue_facts leaf;

	judge_time(k, s->now_ms, &s->facts);
	s->facts.serving_it = k->served.end_ms && s->secret.leaf.cert &&
			      issue_read(s->secret.leaf.cert, &leaf) &&
			      !memcmp(leaf.id, k->served.id, sizeof(leaf.id));
	s->facts.same_ca = s->secret.ca.cert && k->remembered.ca.cert &&
			   str_eq(s->secret.ca.cert, k->remembered.ca.cert);
}

static void judge(struct keeper *k, struct seen *s)
{
	struct plan_facts *f = &s->facts;

	f->secret = s->object != NULL;
	f->settle_ms = k->o.ca_ms / 100 < SETTLE_MS ? k->o.ca_ms / 100 : SETTLE_MS;
	f->absent_ms = held_ms(&k->absent_since, !f->secret);
	judge_served(k, s);
	if (!f->secret)
		return;
	authority_read(s->object, &s->secret);
	judge_served(k, s);
	authority_judge(&s->secret, &k->names, s->now_ms, f);
	judge_bundles(k, s);
	f->named_ms = held_ms(&k->named_since, f->named);
}

static void note_ca(struct keeper *k, const struct seen *s)
{
	struct issue_facts ca;

	if (s->secret.ca.cert && issue_read(s->secret.ca.cert, &ca))
		atomic_store(&k->ca_end_ms, ca.end_ms);
}

/* ---- acting ---------------------------------------------------------------------------------- */

/* Whose it is stands in labels and annotations: Helm removes only what is marked as its own. */
static struct json *shape_of(const struct json *object)
{
	static const char *const kept[] = { "name", "namespace", "labels", "annotations" };
	struct json *o = json_new_object(), *meta = json_object_at(o, "metadata");

	json_set_str(o, "apiVersion", "v1");
	json_set_str(o, "kind", secrets.kind);
	json_set_str(o, "type", json_get_str(object, "type"));
	for (size_t i = 0; i < array_len(kept); i++) {
		const struct json *v = json_path(object, "metadata", kept[i], NULL);

		json_set(meta, kept[i], v ? json_dup(v) : NULL);
	}
	return o;
}

static int put_secret(struct keeper *k, struct seen *s, struct err *e)
{
	const struct json *before = s->object ? s->object : k->shape;
	cleanup_json struct json *o = authority_write(&s->secret, before, k->o.ns, k->o.secret);
	int r;

	if (s->object)
		r = kube_replace(k->client, &secrets, k->o.ns, k->o.secret, NULL, o, REQUEST_MS,
				 NULL, e);
	else
		r = kube_create(k->client, &secrets, k->o.ns, o, REQUEST_MS, NULL, e);
	return r ? err_wrap(e, "writing Secret %s", k->o.secret) : 0;
}

/*
 * What this replica took its leaf from, while an authority of it is any good, since the bundles name
 * that; a leaf that is not follows. Else new.
 */
static int begin_anew(struct keeper *k, struct seen *s, struct err *e)
{
	struct authority_lives lives = { k->o.ca_ms, k->o.leaf_ms };
	struct plan_facts f = { .secret = true };

	authority_judge(&k->remembered, &k->names, s->now_ms, &f);
	if (f.ca == PLAN_GOOD || f.ca == PLAN_DUE) {
		authority_copy(&s->secret, &k->remembered);
		return 0;
	}
	return authority_replace(&s->secret, &k->names, s->now_ms, &lives, e);
}

static int change_secret(struct keeper *k, struct seen *s, enum plan_action a, struct err *e)
{
	struct authority_lives lives = { k->o.ca_ms, k->o.leaf_ms };
	int r = 0;

	if (a == PLAN_CREATE || a == PLAN_REPLACE)
		r = begin_anew(k, s, e);
	else if (a == PLAN_RENEW)
		r = authority_renew(&s->secret, &k->names, s->now_ms, &lives, e);
	else if (a == PLAN_STAGE)
		r = authority_stage(&s->secret, s->now_ms, &lives, e);
	else if (a == PLAN_PROMOTE)
		r = authority_promote(&s->secret, &k->names, s->now_ms, &lives, e);
	else
		authority_retire(&s->secret);
	return r ? r : put_secret(k, s, e);
}

static int patch_bundles(struct keeper *k, struct seen *s, bool keep_strangers, struct err *e)
{
	for (size_t i = 0; i < array_len(hooks); i++) {
		cleanup_json struct json *patch = hooks_patch(
			s->configuration[i], &k->service, &s->wanted, keep_strangers, s->now_ms);
		int r = 0;

		if (patch)
			r = kube_patch(k->client, &hooks[i], NULL, k->o.configuration, NULL,
				       KUBE_PATCH_JSON, patch, REQUEST_MS, NULL, e);
		if (r == -ERR_INVALID &&
		    e->http_status == 422) /* a test of the patch did not hold */
			e->code = ERR_CONFLICT;
		if (r)
			return err_wrap(e, "writing caBundle of %s %s", hooks[i].kind,
					k->o.configuration);
	}
	return 0;
}

static int serve(struct keeper *k, struct seen *s, struct err *e)
{
	struct issue_facts leaf;
	int r;

	if (!issue_read(s->secret.leaf.cert, &leaf))
		return err_set(e, ERR_INTERNAL, "the certificate was readable a moment ago");
	r = k->o.serve(k->o.ctx, s->secret.leaf.cert, s->secret.leaf.key, e);
	if (r)
		return r;
	k->served = leaf;
	return 0;
}

static int act(struct keeper *k, struct seen *s, enum plan_action a, struct err *e)
{
	switch (a) {
	case PLAN_WAIT:
		return 0;
	case PLAN_ADD:
	case PLAN_TRIM:
		return patch_bundles(k, s, a == PLAN_ADD, e);
	case PLAN_SERVE:
		return serve(k, s, e);
	case PLAN_CREATE:
	case PLAN_REPLACE:
	case PLAN_RENEW:
	case PLAN_STAGE:
	case PLAN_PROMOTE:
	case PLAN_RETIRE:
		return change_secret(k, s, a, e);
	}
	return 0;
}

/* ---- turns ----------------------------------------------------------------------------------- */

/* How long nothing is due when nothing changes. */
static int64_t rest_ms(const struct keeper *k, const struct plan_facts *f)
{
	int64_t ms = k->o.leaf_ms / 30;

	if (ms > LOOK_MS)
		ms = LOOK_MS;
	if (ms < LOOK_LEAST_MS)
		ms = LOOK_LEAST_MS;
	return plan_rest_ms(f, ms);
}

/* One look and one step. *ret_rest: how long to rest after it. */
static int turn(struct keeper *k, int64_t *ret_rest, struct err *e)
{
	cleanup(seen_done) struct seen s = { .now_ms = clock_wall_ms() };
	enum plan_action a;
	int r = read_objects(k, &s, e);

	if (r)
		return r;
	judge(k, &s);
	a = plan_next(&s.facts);
	r = act(k, &s, a, e);
	if (r)
		return r;
	if (s.facts.serving_it || a == PLAN_SERVE) {
		authority_copy(&k->remembered, &s.secret);
		json_free(k->shape);
		k->shape = shape_of(s.object);
	}
	note_ca(k, &s);
	*ret_rest = a == PLAN_WAIT ? rest_ms(k, &s.facts) : 0;
	if (a == PLAN_WAIT)
		return 0;
	atomic_fetch_add(&k->steps[a], 1);
	log_info("certificates", "step", plan_action_text(a), NULL);
	return 0;
}

/* Losing a race is no trouble: the winner's work is looked at next. */
static bool raced(int r)
{
	return r == -ERR_CONFLICT || r == -ERR_EXISTS;
}

static void tell(struct keeper *k, int r, const struct err *e)
{
	if (raced(r) || r == -ERR_CANCELED)
		return;
	atomic_fetch_add(&k->failures, 1);
	if (!str_eq(k->trouble, e->message))
		log_warn("certificates", "error", e->message, NULL);
	(void)snprintf(k->trouble, sizeof(k->trouble), "%s", e->message);
}

/* After a failure: somewhere in the upper half of the pause, so that replicas do not try in step. */
static int64_t pause_ms(const struct keeper *k, int64_t pause)
{
	struct plan_facts f = { .serving = false };

	judge_time(k, clock_wall_ms(), &f);
	return plan_patience_ms(&f, pause / 2 + random() % (pause / 2));
}

static void *run(void *arg)
{
	struct keeper *k = arg;
	int64_t pause = PAUSE_LEAST_MS;
	int in_a_row = 0;

	while (!http_cancel_triggered(k->cancel)) {
		struct err e = ERR_INIT;
		int64_t rest = 0;
		int r = turn(k, &rest, &e);

		if (r) {
			tell(k, r, &e);
			rest = pause_ms(k, pause);
			pause = pause * 2 < PAUSE_MOST_MS ? pause * 2 : PAUSE_MOST_MS;
		} else {
			pause = PAUSE_LEAST_MS;
			k->trouble[0] = '\0';
		}
		in_a_row = rest ? 0 : in_a_row + 1;
		if (in_a_row == STEPS_IN_A_ROW)
			rest = LOOK_LEAST_MS;
		if (rest)
			(void)http_client_sleep(k->sleeper, rest);
	}
	return NULL;
}

static void on_change(void *ctx, size_t kind, enum kube_watch_type type, const struct json *object)
{
	struct keeper *k = ctx;

	(void)kind;
	(void)object;
	if (type != KUBE_SYNCED)
		http_client_wake(k->sleeper);
}

/* ---- start and end --------------------------------------------------------------------------- */

static int start_watch(struct keeper *k, struct err *e)
{
	cleanup(freep) char *secret = xasprintf("metadata.name=%s", k->o.secret);
	cleanup(freep) char *hook = xasprintf("metadata.name=%s", k->o.configuration);
	const struct kube_watch_kind kinds[] = {
		{ .kind = &secrets, .field_selector = secret, .namespace = k->o.ns },
		{ .kind = &hooks[0], .field_selector = hook },
		{ .kind = &hooks[1], .field_selector = hook },
	};
	const struct kube_watch_opts o = { .config = k->o.config,
					   .user_agent = k->o.user_agent,
					   .kinds = kinds,
					   .n = array_len(kinds),
					   .handler = on_change,
					   .ctx = k };

	return kube_watch_start(&o, &k->watch, e);
}

static int start_thread(struct keeper *k, struct err *e)
{
	sigset_t all, before;
	int r;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&k->thread, NULL, run, k);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r)
		return err_errno(e, r, "thread of the certificates");
	k->running = true;
	return 0;
}

int keeper_start(const struct keeper_opts *o, struct keeper **ret, struct err *e)
{
	cleanup(keeper_free_cleanup) struct keeper *k = xcalloc(1, sizeof(*k));
	struct kube_client_opts c = { .config = o->config, .user_agent = o->user_agent };
	int r;

	k->o = *o;
	k->o.ns = xstrdup(o->ns);
	k->o.secret = xstrdup(o->secret);
	k->o.service = xstrdup(o->service);
	k->o.configuration = xstrdup(o->configuration);
	k->service = (struct hooks_service){ k->o.ns, k->o.service };
	strlist_add_take(&k->names, xasprintf("%s.%s.svc", o->service, o->ns));
	strlist_add_take(&k->names, xasprintf("%s.%s", o->service, o->ns));
	strlist_add(&k->names, o->service);
	k->cancel = http_cancel_new();
	k->sleeper = http_client_new(k->cancel);
	c.cancel = k->cancel;
	k->client = kube_client_new(&c);
	r = start_watch(k, e);
	if (!r)
		r = start_thread(k, e);
	if (r)
		return r;
	*ret = take(k);
	return 0;
}

void keeper_stop(struct keeper *k)
{
	http_cancel_trigger(k->cancel);
	if (k->running)
		(void)pthread_join(k->thread, NULL);
	k->running = false;
	if (k->watch)
		kube_watch_stop(take(k->watch));
}

void keeper_free(struct keeper *k)
{
	if (!k)
		return;
	keeper_stop(k);
	kube_client_free(k->client);
	http_client_free(k->sleeper);
	http_cancel_free(k->cancel);
	authority_done(&k->remembered);
	json_free(k->shape);
	strlist_done(&k->names);
	free((void *)(uintptr_t)k->o.ns);
	free((void *)(uintptr_t)k->o.secret);
	free((void *)(uintptr_t)k->o.service);
	free((void *)(uintptr_t)k->o.configuration);
	free(k);
}

void keeper_metrics(void *keeper, struct buf *to)
{
	struct keeper *k = keeper;
	const char *const name[] = { "step" };

	metrics_write_family(
		to, "celld_webhook_ca_expiry_timestamp_seconds", METRIC_GAUGE,
		"When the authority of the serving certificate runs out, seconds since "
		"1970; 0: there is none yet");
	metrics_write_sample(to, "celld_webhook_ca_expiry_timestamp_seconds", NULL, NULL, 0,
			     (double)(atomic_load(&k->ca_end_ms) / 1000));
	metrics_write_family(to, "celld_webhook_certificate_steps_total", METRIC_COUNTER,
			     "Steps of this replica in the care of certificates");
	for (int a = PLAN_CREATE; a < PLAN_ACTIONS; a++) {
		const char *const value[] = { plan_action_text((enum plan_action)a) };

		metrics_write_sample(to, "celld_webhook_certificate_steps_total", name, value, 1,
				     (double)atomic_load(&k->steps[a]));
	}
	metrics_write_family(to, "celld_webhook_certificate_failures_total", METRIC_COUNTER,
			     "Steps that failed, lost races not counted; the last good certificate "
			     "stays in service");
	metrics_write_sample(to, "celld_webhook_certificate_failures_total", NULL, NULL, 0,
			     (double)atomic_load(&k->failures));
}
