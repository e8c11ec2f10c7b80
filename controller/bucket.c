#include "controller/bucket.h"

#include <stdio.h>
#include <string.h>

#include "common/buf.h"
#include "common/store_rules.h"
#include "controller/stores.h"
#include "controller/tell.h"
#include "controller/tracker.h"

/* --- the store -------------------------------------------------------------------------------- */

static void find_store(struct turn *t)
{
	struct bucket_view *v = &t->bucket;

	if (!t->app->store_ref)
		return;
	v->store_doc = cache_get(t->o->cache, CACHE_STORE, t->app->namespace, t->app->store_ref);
	v->store_missing = !v->store_doc;
	if (v->store_missing)
		return;
	store_read(v->store_doc, &v->store);
	v->store.name = t->app->bucket.name;
	v->store.scheme = t->app->bucket.scheme;
	t->input.store = &v->store;
}

static const struct wa_bucket *connection(const struct turn *t)
{
	return t->input.store ? t->input.store : &t->app->bucket;
}

/* --- Secrets ---------------------------------------------------------------------------------- */

static const char *tracking_secret(const struct turn *t)
{
	if (t->app->tracking_secret)
		return t->app->tracking_secret;
	return connection(t)->credentials.secret_ref;
}

static bool is_tracked(const struct turn *t)
{
	return tracking_secret(t) && !t->bucket.store_missing &&
	       (t->app->app_version_auto || t->app->tracking_secret);
}

static void want_secrets(struct turn *t, const struct json *used)
{
	struct strlist names = STRLIST_INIT;

	for (const struct json *s = json_first(used); s; s = json_next(s))
		strlist_add_once(&names, json_name(s));
	if (is_tracked(t))
		strlist_add_once(&names, tracking_secret(t));
	secrets_want(t->o->secrets, t->key, t->app->namespace, &names);
	strlist_done(&names);
}

static void lacks(struct turn *t, const char *reason, const char *secret, const char *key)
{
	struct status_condition *c = &t->bucket.credentials;

	if (str_eq(c->status, "False"))
		return; /* the first one is enough */
	c->status = "False";
	c->reason = reason;
	if (key)
		(void)snprintf(c->message, sizeof(c->message),
			       "Secret %s has no key %s; the fleet runs on with what it has",
			       secret, key);
	else
		(void)snprintf(c->message, sizeof(c->message),
			       "Secret %s does not exist; the fleet runs on with what it has",
			       secret);
}

/* Digests of one Secret's used keys into sum. False: one is lacking. */
static bool sum_secret(struct turn *t, const struct json *secret, struct buf *sum)
{
	const char *name = json_name(secret);
	enum secret_state state = secrets_state(t->o->secrets, t->app->namespace, name);
	bool whole = state == SECRET_FOUND;

	if (state == SECRET_UNREAD)
		t->bucket.unread = true;
	if (state == SECRET_MISSING)
		lacks(t, "SecretMissing", name, NULL);
	for (const struct json *k = json_first(secret); k && whole; k = json_next(k)) {
		bool optional = false;
		char hex[DIGEST_HEX] = "-";

		(void)json_bool(k, &optional);
		if (!secrets_digest(t->o->secrets, t->app->namespace, name, json_name(k), hex) &&
		    !optional) {
			lacks(t, "SecretKeyMissing", name, json_name(k));
			whole = false;
		}
		buf_printf(sum, "%s/%s=%s\n", name, json_name(k), hex);
	}
	return whole;
}

static const char *live_hash(const struct turn *t)
{
	return json_str(json_path(t->sts, "spec", "template", "metadata", "annotations",
				  ANNOTATION_CONFIG_HASH, NULL));
}

/* Of what the pods use; what is lacking or not read yet leaves the digest of the live template in its place. */
static void hash_secrets(struct turn *t, const struct json *used)
{
	struct buf sum = BUF_INIT(1 << 20);
	const char *live = live_hash(t);
	bool whole = true;

	for (const struct json *s = json_first(used); s; s = json_next(s))
		whole = sum_secret(t, s, &sum) && whole;
	if (whole && json_len(used))
		digest_hex(buf_str(&sum), sum.len, t->bucket.config_hash);
	else if (!whole && live)
		(void)snprintf(t->bucket.config_hash, sizeof(t->bucket.config_hash), "%s", live);
	buf_done(&sum);
	t->bucket.unread = t->bucket.unread && !t->sts;
	t->input.config_hash = t->bucket.config_hash[0] ? t->bucket.config_hash : NULL;
}

static void credentials_condition(struct turn *t)
{
	struct status_condition *c = &t->bucket.credentials;
	const char *role = connection(t)->credentials.iam_role;

	*c = (struct status_condition){ .type = "BucketCredentialsReady",
					.status = "True",
					.reason = "Configured" };
	if (t->bucket.store_missing) {
		c->status = "False";
		c->reason = "StoreMissing";
		(void)snprintf(
			c->message, sizeof(c->message),
			"CelldObjectStore %s does not exist; a fleet that runs is left as it is",
			t->app->store_ref);
	} else if (role && str_eq(role, "auto")) {
		c->status = "False";
		c->reason = "ProvisioningNotImplemented";
		(void)snprintf(
			c->message, sizeof(c->message),
			"iamRole auto: the role is not made here; annotate ServiceAccount %s "
			"with eks.amazonaws.com/role-arn, or name the role",
			t->name);
	}
}

static void look_at_secrets(struct turn *t)
{
	cleanup_json struct json *used = NULL;

	credentials_condition(t);
	if (t->bucket.store_missing) {
		/* the Secrets of before stay wanted; there is nothing to compare them with */
		const char *live = live_hash(t);

		(void)snprintf(t->bucket.config_hash, sizeof(t->bucket.config_hash), "%s",
			       live ? live : "");
		t->input.config_hash = t->bucket.config_hash[0] ? t->bucket.config_hash : NULL;
		return;
	}
	used = t->version_known ? desired_secrets(&t->input) : json_new_object();
	want_secrets(t, used);
	hash_secrets(t, used);
}

/* --- the pointer ------------------------------------------------------------------------------ */

static void want_pointer(struct turn *t)
{
	cleanup(freep) char *container = workerapp_bucket_name(t->app);
	cleanup(freep) char *prefix = workerapp_bucket_prefix(t->app);
	const struct wa_bucket *b = connection(t);
	const struct store_place place = { .scheme = t->app->bucket.scheme,
					   .endpoint = b->endpoint,
					   .region = b->region,
					   .account = b->storage_account,
					   .container = container,
					   .prefix = prefix,
					   .allow_http = b->allow_http };

	tracker_want(t->o->tracker, t->key, &place, t->app->namespace, tracking_secret(t),
		     !t->sts || t->app->status == NULL);
}

/* The version that the status tells of: what was expected, unless the bucket was known to be at odds with it. */
static const char *of_status(const struct turn *t)
{
	const struct json *all = json_get(t->app->status, "conditions");

	return json_find(all, "reason", "VersionMismatch") ? t->app->seen.rolled_out_app_version
							   : t->app->seen.expected_app_version;
}

/* What `auto` means: the pointer; what it was when this process began; what the live fleet runs. */
static void choose(struct turn *t, const struct track_facts *f)
{
	const char *live = t->facts.app_version[0] ? t->facts.app_version : NULL;
	const char *before = t->sts ? of_status(t) : NULL;
	const char *v = f->version[0] ? f->version : before ? before : live;

	(void)snprintf(t->bucket.pointer, sizeof(t->bucket.pointer), "%s", f->version);
	if (v && celld_version_id(v))
		(void)snprintf(t->bucket.version, sizeof(t->bucket.version), "%s", v);
}

static void say(struct status_condition *c, const char *status, const char *reason)
{
	c->type = "DeployTrackingReady";
	c->status = status;
	c->reason = reason;
}

/* What goes on when the bucket tells nothing. */
static void holding(const struct turn *t, const char *why, struct status_condition *c)
{
	const char *v = t->bucket.version;

	if (!t->app->app_version_auto)
		(void)snprintf(c->message, sizeof(c->message), "cannot be compared: %s", why);
	else if (v[0])
		(void)snprintf(c->message, sizeof(c->message), "holding last known version %s: %s",
			       v, why);
	else
		(void)snprintf(c->message, sizeof(c->message), "no version is known yet: %s", why);
}

static void fresh(const struct turn *t, const struct track_facts *f, struct status_condition *c)
{
	bool same = t->app->app_version && str_eq(t->app->app_version, f->version);

	if (t->app->app_version_auto) {
		say(c, "True", "Tracking");
		(void)snprintf(c->message, sizeof(c->message), "following %s", f->version);
	} else if (same) {
		say(c, "True", "InSync");
		(void)snprintf(c->message, sizeof(c->message), "the bucket's deployment is %s",
			       f->version);
	} else {
		say(c, "False", "VersionMismatch");
		(void)snprintf(
			c->message, sizeof(c->message),
			"spec.appVersion is %s, the bucket's deployment is %s; deploy the one "
			"or write the other",
			t->app->app_version, f->version);
	}
}

static void tracking_condition(struct turn *t, const struct track_facts *f)
{
	struct status_condition *c = &t->bucket.tracking;

	switch (f->state) {
	case TRACK_READ:
		fresh(t, f, c);
		return;
	case TRACK_NEVER:
		say(c, "Unknown", "BucketUnreachable");
		holding(t, "the bucket was not read yet", c);
		return;
	case TRACK_NO_POINTER:
		say(c, "False", "NoDeployment");
		holding(t, f->why, c);
		return;
	case TRACK_BAD_POINTER:
		say(c, "False", "InvalidPointer");
		holding(t, f->why, c);
		return;
	case TRACK_FAILED:
		say(c, "False", "BucketUnreachable");
		holding(t, f->why, c);
		return;
	}
}

static void look_at_pointer(struct turn *t)
{
	struct track_facts f = { .state = TRACK_NEVER };

	if (is_tracked(t)) {
		want_pointer(t);
		tracker_facts(t->o->tracker, t->key, &f);
	} else if (!t->bucket.store_missing) {
		tracker_forget(t->o->tracker, t->key);
	}
	choose(t, &f);
	if (is_tracked(t))
		tracking_condition(t, &f);
}

void bucket_look(struct turn *t)
{
	bucket_view_done(&t->bucket);
	t->input.store = NULL;
	find_store(t);
	look_at_secrets(t);
	look_at_pointer(t);
}

/* --- what follows ----------------------------------------------------------------------------- */

static bool lists_endpoint(const char *acknowledged)
{
	struct strlist l = STRLIST_INIT;
	bool yes;

	if (!acknowledged)
		return false;
	strlist_split(&l, acknowledged, ',');
	yes = strlist_has(&l, "endpoint");
	strlist_done(&l);
	return yes;
}

static const char *live_endpoint(const struct turn *t)
{
	const struct json *all = json_path(t->sts, "spec", "template", "spec", "containers", NULL);
	const struct json *v = json_find(json_get(json_first(all), "env"), "name", "S3_ENDPOINT");

	return v ? json_get_str(v, "value") : "";
}

void bucket_judge(struct turn *t, bool due)
{
	const char *now = connection(t)->endpoint ? connection(t)->endpoint : "";
	const char *was = live_endpoint(t);
	const char *ack = json_str(
		json_path(t->bucket.store_doc, "metadata", "annotations", ANNOTATION_ACK, NULL));
	bool stopped = t->n_pods == 0 && t->facts.replicas == 0;

	if (!due || !t->sts || t->verdict.refusal.reason || !was || str_eq(was, now) || stopped ||
	    t->app->bucket.scheme != SCHEME_S3 || lists_endpoint(t->app->acknowledged) ||
	    lists_endpoint(ack))
		return;
	if (t->app->strategy == STRATEGY_RECREATE) {
		t->verdict.stop_all = true;
		return;
	}
	t->verdict.refusal.reason = "EndpointChange";
	(void)snprintf(
		t->verdict.refusal.message, sizeof(t->verdict.refusal.message),
		"the endpoint changes from %s to %s: two halves of a fleet on two stores own "
		"the same cells; set spec.celld.updateStrategy to Recreate, or, when both names "
		"reach the same bucket, the annotation " ANNOTATION_ACK ": endpoint",
		was[0] ? was : "none", now[0] ? now : "none");
}

static bool renders(enum rollout_write w)
{
	return w == ROLLOUT_WRITE_CREATE || w == ROLLOUT_WRITE_FREEZE || w == ROLLOUT_WRITE_RENEW ||
	       w == ROLLOUT_WRITE_START;
}

void bucket_hold(struct turn *t)
{
	if (!renders(t->decision.write))
		return;
	if (t->bucket.store_missing)
		t->decision.reason = ROLLOUT_STORE_MISSING;
	else if (t->bucket.unread)
		t->decision.reason = ROLLOUT_SECRETS_UNREAD;
	else
		return;
	t->decision.write = ROLLOUT_WRITE_NONE;
	t->decision.ordinal = -1;
	t->decision.requeue = t->o->recheck_ms;
}

size_t bucket_conditions(const struct turn *t, struct status_condition *to)
{
	size_t n = 0;

	if (t->bucket.credentials.type)
		to[n++] = t->bucket.credentials;
	if (t->bucket.tracking.type)
		to[n++] = t->bucket.tracking;
	return n;
}

void bucket_tell(struct turn *t)
{
	const struct tell what = {
		false, "DeploymentRepublished", "Track",
		"the bucket's deploy pointer was written again with the same version; "
		"schedules that changed are taken up when pods restart (restartToken)"
	};
	const struct status_condition *c = &t->bucket.tracking;
	const char *secret = t->bucket.store_doc ? t->bucket.store.credentials.secret_ref : NULL;
	enum stores_reach reach = STORES_NOT_ASKED;

	if (c->type && !str_eq(c->status, "Unknown"))
		reach = str_eq(c->reason, "BucketUnreachable") ? STORES_UNREACHABLE
							       : STORES_REACHED;
	stores_note(t->o->stores, t->key, t->app->store_ref, reach,
		    secret && secrets_state(t->o->secrets, t->app->namespace, secret) ==
				      SECRET_MISSING);
	if (tracker_republished(t->o->tracker, t->key))
		tell_app(t, &what);
}

void bucket_view_done(struct bucket_view *v)
{
	json_free(v->store_doc);
	*v = (struct bucket_view){ .store_doc = NULL };
}

void bucket_forget(const struct reconcile_opts *o, const char *key)
{
	const struct strlist none = STRLIST_INIT;

	secrets_want(o->secrets, key, "", &none);
	tracker_forget(o->tracker, key);
	stores_note(o->stores, key, NULL, STORES_NOT_ASKED, false);
}
