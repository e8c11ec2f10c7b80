#include "certs/authority.h"

#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/codec.h"
#include "common/json.h"

void authority_done(struct authority *s)
{
	issue_pair_done(&s->ca);
	issue_pair_done(&s->next);
	issue_pair_done(&s->leaf);
	free(s->old);
	*s = (struct authority){ .old = NULL };
}

static char *dup_or_null(const char *s)
{
	return s ? xstrdup(s) : NULL;
}

static struct issue_pair copy_pair(const struct issue_pair *p)
{
	return (struct issue_pair){ dup_or_null(p->cert), dup_or_null(p->key) };
}

void authority_copy(struct authority *to, const struct authority *from)
{
	struct authority copy = *from;

	copy.ca = copy_pair(&from->ca);
	copy.next = copy_pair(&from->next);
	copy.leaf = copy_pair(&from->leaf);
	copy.old = dup_or_null(from->old);
	authority_done(to);
	*to = copy;
}

/* ---- the object ------------------------------------------------------------------------------ */

static char *value_of(const struct json *data, const char *key)
{
	const char *text = json_get_str(data, key);
	size_t n = 0;

	return str_empty(text) ? NULL : (char *)codec_base64_decode(text, strlen(text), &n);
}

static enum plan_ask ask_of(const char *text)
{
	if (text && str_eq(text, "ca"))
		return PLAN_ASK_CA;
	return str_empty(text) ? PLAN_ASK_NOTHING : PLAN_ASK_LEAF;
}

void authority_read(const struct json *object, struct authority *ret)
{
	const struct json *data = json_get(object, "data");
	const struct json *notes = json_path(object, "metadata", "annotations", NULL);
	const char *until = json_get_str(notes, SECRET_RETIRE);

	authority_done(ret);
	ret->ca = (struct issue_pair){ value_of(data, "ca.crt"), value_of(data, "ca.key") };
	ret->next =
		(struct issue_pair){ value_of(data, "ca-next.crt"), value_of(data, "ca-next.key") };
	ret->leaf = (struct issue_pair){ value_of(data, "tls.crt"), value_of(data, "tls.key") };
	ret->old = value_of(data, "ca-old.crt");
	ret->old_until_ms = until ? clock_parse(until) : 0;
	ret->ask = ask_of(json_get_str(notes, SECRET_RENEW));
}

static void put_value(struct json *data, const char *key, const char *text)
{
	cleanup(freep) char *encoded = text ? codec_base64_encode(text, strlen(text)) : NULL;

	if (!encoded) {
		json_del(data, key);
		return;
	}
	json_set_str(data, key, encoded);
	OPENSSL_cleanse(encoded, strlen(encoded));
}

static struct json *new_object(const char *ns, const char *name)
{
	struct json *o = json_new_object(), *meta = json_new_object(), *labels = json_new_object();

	json_set_str(o, "apiVersion", "v1");
	json_set_str(o, "kind", "Secret");
	json_set_str(o, "type", "Opaque");
	json_set_str(meta, "name", name);
	json_set_str(meta, "namespace", ns);
	json_set_str(labels, "app.kubernetes.io/name", "celld-operator");
	json_set_str(labels, "app.kubernetes.io/component", "webhook");
	json_set(meta, "labels", labels);
	json_set(o, "metadata", meta);
	return o;
}

struct json *authority_write(const struct authority *s, const struct json *before, const char *ns,
			     const char *name)
{
	struct json *o = before ? json_dup(before) : new_object(ns, name);
	struct json *meta = json_object_at(o, "metadata"), *data = json_object_at(o, "data");
	struct json *notes = json_object_at(meta, "annotations");
	char until[CLOCK_TEXT];

	json_del(meta, "managedFields");
	put_value(data, "ca.crt", s->ca.cert);
	put_value(data, "ca.key", s->ca.key);
	put_value(data, "ca-next.crt", s->next.cert);
	put_value(data, "ca-next.key", s->next.key);
	put_value(data, "tls.crt", s->leaf.cert);
	put_value(data, "tls.key", s->leaf.key);
	put_value(data, "ca-old.crt", s->old);
	json_del(notes, SECRET_RETIRE);
	json_del(notes, SECRET_RENEW);
	if (s->old) {
		clock_text(s->old_until_ms, until);
		json_set_str(notes, SECRET_RETIRE, until);
	}
	if (s->ask != PLAN_ASK_NOTHING)
		json_set_str(notes, SECRET_RENEW, s->ask == PLAN_ASK_CA ? "ca" : "leaf");
	return o;
}

/* ---- judging --------------------------------------------------------------------------------- */

static enum plan_pair by_time(const struct issue_facts *f, int64_t now_ms)
{
	if (now_ms >= f->end_ms)
		return PLAN_ENDED;
	if (now_ms < f->begin_ms)
		return PLAN_EARLY;
	return now_ms >= issue_due_ms(f) ? PLAN_DUE : PLAN_GOOD;
}

static enum plan_pair judge_ca(const struct issue_pair *p, int64_t now_ms)
{
	struct issue_facts f;
	enum plan_pair how;

	if (!p->cert)
		return PLAN_NONE;
	if (!issue_read(p->cert, &f) || !issue_signed_by(p->cert, p->cert))
		return PLAN_BROKEN;
	how = by_time(&f, now_ms);
	return (how == PLAN_GOOD || how == PLAN_DUE) && !issue_pair_fits(p) ? PLAN_KEYLESS : how;
}

static enum plan_pair judge_leaf(const struct authority *s, const struct strlist *names,
				 int64_t now_ms)
{
	struct issue_facts f;

	if (!s->leaf.cert)
		return PLAN_NONE;
	if (!issue_read(s->leaf.cert, &f) || !issue_pair_fits(&s->leaf) || !s->ca.cert ||
	    !issue_signed_by(s->leaf.cert, s->ca.cert) || !issue_has_names(s->leaf.cert, names))
		return PLAN_BROKEN;
	return by_time(&f, now_ms);
}

static bool ca_outlasts_leaf(const struct authority *s)
{
	struct issue_facts ca, leaf;

	return s->ca.cert && s->leaf.cert && issue_read(s->ca.cert, &ca) &&
	       issue_read(s->leaf.cert, &leaf) && ca.end_ms > leaf.end_ms;
}

void authority_judge(const struct authority *s, const struct strlist *names, int64_t now_ms,
		     struct plan_facts *to)
{
	to->ca = judge_ca(&s->ca, now_ms);
	to->next = judge_ca(&s->next, now_ms);
	to->leaf = judge_leaf(s, names, now_ms);
	to->ca_longer = ca_outlasts_leaf(s);
	to->old = s->old != NULL;
	to->old_over = s->old_until_ms <= now_ms;
	to->ask = s->ask;
}

void authority_bundle(const struct authority *s, int64_t now_ms, struct bundle *to)
{
	bundle_add(to, s->ca.cert);
	bundle_add(to, s->next.cert);
	bundle_add(to, s->old);
	bundle_drop_ended(to, now_ms);
}

/* ---- steps ----------------------------------------------------------------------------------- */

int authority_replace(struct authority *s, const struct strlist *names, int64_t now_ms,
		      const struct authority_lives *lives, struct err *e)
{
	struct authority fresh = { .old = NULL };
	int r = issue_ca(now_ms, lives->ca_ms, &fresh.ca, e);

	if (!r)
		r = issue_leaf(&fresh.ca, names, now_ms, lives->leaf_ms, &fresh.leaf, e);
	if (r) {
		authority_done(&fresh);
		return r;
	}
	authority_done(s);
	*s = fresh;
	return 0;
}

int authority_renew(struct authority *s, const struct strlist *names, int64_t now_ms,
		    const struct authority_lives *lives, struct err *e)
{
	cleanup_issue_pair struct issue_pair leaf = { NULL, NULL };
	int r = issue_leaf(&s->ca, names, now_ms, lives->leaf_ms, &leaf, e);

	if (r)
		return r;
	issue_pair_move(&s->leaf, &leaf);
	if (s->ask == PLAN_ASK_LEAF)
		s->ask = PLAN_ASK_NOTHING;
	return 0;
}

int authority_stage(struct authority *s, int64_t now_ms, const struct authority_lives *lives,
		    struct err *e)
{
	cleanup_issue_pair struct issue_pair next = { NULL, NULL };
	int r = issue_ca(now_ms, lives->ca_ms, &next, e);

	if (r)
		return r;
	issue_pair_move(&s->next, &next);
	s->ask = PLAN_ASK_NOTHING;
	return 0;
}

/* The authority that was in use joins the earlier ones; they stay as long as its last leaf. */
static void keep_old(struct authority *s, int64_t now_ms)
{
	cleanup_bundle struct bundle all = BUNDLE_INIT;
	struct issue_facts leaf;

	bundle_add(&all, s->ca.cert);
	bundle_add(&all, s->old);
	bundle_drop_ended(&all, now_ms);
	free(take(s->old));
	if (!all.n)
		return;
	s->old = bundle_text(&all);
	if (s->leaf.cert && issue_read(s->leaf.cert, &leaf) && leaf.end_ms > s->old_until_ms)
		s->old_until_ms = leaf.end_ms;
}

int authority_promote(struct authority *s, const struct strlist *names, int64_t now_ms,
		      const struct authority_lives *lives, struct err *e)
{
	cleanup_issue_pair struct issue_pair leaf = { NULL, NULL };
	int r = issue_leaf(&s->next, names, now_ms, lives->leaf_ms, &leaf, e);

	if (r)
		return r;
	keep_old(s, now_ms);
	issue_pair_move(&s->ca, &s->next);
	issue_pair_move(&s->leaf, &leaf);
	s->ask = PLAN_ASK_NOTHING;
	return 0;
}

void authority_retire(struct authority *s)
{
	free(take(s->old));
	s->old_until_ms = 0;
}
