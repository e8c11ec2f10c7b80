#include "common/workerapp_defaults.h"

#include <stdlib.h>
#include <string.h>

#include "common/strlist.h"
#include "common/url.h"
#include "common/workerapp.h"

enum field {
	IMAGE,
	VERSION,
	PULL_POLICY,
	PULL_SECRETS,
	ENDPOINT,
	REGION,
	ACCOUNT,
	CREDENTIALS,
	CLASS,
	RESOURCES,
	SCHEDULING,
	SERVICE,
	INGRESS,
	TELEMETRY,
	FIELDS,
};

/*
 * Member below spec, and one below that. The order is that of filling: VERSION asks for IMAGE, REGION and CREDENTIALS
 * for ENDPOINT.
 */
static const struct {
	const char *name, *below;
} fields[FIELDS] = {
	[IMAGE] = { "celld", "image" },
	[VERSION] = { "celld", "version" },
	[PULL_POLICY] = { "celld", "imagePullPolicy" },
	[PULL_SECRETS] = { "celld", "imagePullSecrets" },
	[ENDPOINT] = { "bucket", "endpoint" },
	[REGION] = { "bucket", "region" },
	[ACCOUNT] = { "bucket", "storageAccount" },
	[CREDENTIALS] = { "bucket", "credentialsFrom" },
	[CLASS] = { "storage", "storageClassName" },
	[RESOURCES] = { "resources", NULL },
	[SCHEDULING] = { "scheduling", NULL },
	[SERVICE] = { "service", NULL },
	[INGRESS] = { "ingress", NULL },
	[TELEMETRY] = { "telemetry", NULL },
};

static const char labels[] = "podLabels";

/* ---- rules ----------------------------------------------------------------------------------- */

void workerapp_defaults_add(struct workerapp_defaults *d, const char *pattern, struct json *values)
{
	d->v = xrealloc(d->v, (d->n + 1) * sizeof(*d->v));
	d->v[d->n++] = (struct defaults_rule){ .pattern = pattern ? xstrdup(pattern) : NULL,
					       .values = values };
}

void workerapp_defaults_done(struct workerapp_defaults *d)
{
	for (size_t i = 0; i < d->n; i++) {
		free(d->v[i].pattern);
		json_free(d->v[i].values);
	}
	free(d->v);
	*d = (struct workerapp_defaults){ NULL, 0 };
}

static bool matches(const char *pattern, const char *s)
{
	const char *star = NULL, *from = NULL;

	while (*s) {
		if (*pattern == '*') {
			star = pattern++;
			from = s;
		} else if (*pattern == *s) {
			pattern++;
			s++;
		} else if (star) {
			pattern = star + 1;
			s = ++from;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

static const struct json *value_in(const struct json *spec, enum field f)
{
	const struct json *j = json_get(spec, fields[f].name);

	if (fields[f].below)
		j = json_get(j, fields[f].below);
	if (json_kind(j) == JSON_NULL || (json_str(j) && !*json_str(j)))
		return NULL;
	return j;
}

static bool is_for(const struct defaults_rule *r, const char *namespace)
{
	return !r->pattern || matches(r->pattern, namespace);
}

static const struct json *default_of(const struct workerapp_defaults *d, const char *namespace,
				     enum field f)
{
	const struct json *last = NULL;

	for (size_t i = 0; d && i < d->n; i++) {
		const struct json *v = value_in(d->v[i].values, f);

		if (v && is_for(&d->v[i], namespace))
			last = v;
	}
	return last;
}

static bool is_field(const char *name, const char *below)
{
	for (int f = 0; f < FIELDS; f++) {
		if (str_eq(fields[f].name, name) &&
		    (!fields[f].below || (below && str_eq(fields[f].below, below))))
			return true;
	}
	return false;
}

static bool has_below(const char *name)
{
	for (int f = 0; f < FIELDS; f++) {
		if (str_eq(fields[f].name, name) && fields[f].below)
			return true;
	}
	return false;
}

char *workerapp_defaults_unknown(const struct json *values)
{
	for (const struct json *c = json_first(values); c; c = json_next(c)) {
		const char *name = json_name(c);

		if (str_eq(name, labels))
			continue;
		if (!has_below(name) && !is_field(name, NULL))
			return xstrdup(name);
		if (!has_below(name))
			continue;
		for (const struct json *b = json_first(c); b; b = json_next(b)) {
			if (!is_field(name, json_name(b)))
				return xasprintf("%s.%s", name, json_name(b));
		}
	}
	return NULL;
}

/* ---- one object ------------------------------------------------------------------------------ */

struct work {
	const struct workerapp_defaults *d;
	const char *namespace;
	const struct json *object, *old, *spec, *old_spec;
	bool create;
	bool anew; /* the annotation was taken away, and nothing else */
	struct strlist was, said, listed;
	struct patch *p;
};

static char *path_of(enum field f)
{
	return fields[f].below ? xasprintf("spec.%s.%s", fields[f].name, fields[f].below)
			       : xasprintf("spec.%s", fields[f].name);
}

static void read_list(const struct json *object, struct strlist *to)
{
	const char *s =
		json_str(json_path(object, "metadata", "annotations", ANNOTATION_DEFAULTED, NULL));

	if (s)
		strlist_split(to, s, ',');
}

static bool lists(const struct strlist *l, enum field f)
{
	cleanup(freep) char *path = path_of(f);

	return strlist_has(l, path);
}

static void list(struct work *w, enum field f)
{
	strlist_add_take(&w->listed, path_of(f));
}

/* The member as the operations so far have left it. */
static const struct json *now(const struct work *w, enum field f)
{
	return value_in(json_get(w->p->doc, "spec"), f);
}

static void put(struct work *w, enum field f, const struct json *value)
{
	struct err e = ERR_INIT;
	cleanup(freep) char *path = path_of(f);
	int r;

	if (fields[f].below)
		r = patch_set(w->p, patch_path("spec", fields[f].name, fields[f].below),
			      json_dup(value), &e);
	else
		r = patch_set(w->p, patch_path("spec", fields[f].name), json_dup(value), &e);
	if (!r)
		strlist_add(&w->listed, path);
}

static const char *bucket_scheme(const struct work *w)
{
	const char *name = json_get_str(json_get(w->spec, "bucket"), "name");

	if (!name)
		return "";
	if (str_starts(name, "s3://"))
		return "s3";
	if (str_starts(name, "gs://"))
		return "gs";
	return str_starts(name, "az://") ? "az" : "";
}

static bool fits(const struct json *credentials, const char *scheme)
{
	static const char *const only[][2] = {
		{ "iamRole", "s3" },
		{ "gcpServiceAccount", "gs" },
		{ "azureClientID", "az" },
	};

	for (size_t i = 0; i < array_len(only); i++) {
		if (!str_empty(json_get_str(credentials, only[i][0])) &&
		    !str_eq(scheme, only[i][1]))
			return false;
	}
	return true;
}

/* The app's endpoint is the one that the platform's region and credentials are for. */
static bool is_our_endpoint(const struct work *w)
{
	const char *has = json_str(now(w, ENDPOINT));
	const char *ours = json_str(default_of(w->d, w->namespace, ENDPOINT));
	cleanup(freep) char *a = NULL, *b = NULL;

	if (!has || !ours)
		return !has && !ours;
	a = url_plain(has);
	b = url_plain(ours);
	return str_eq(a, b);
}

/* Whether the field of this app may hold a value that it did not bring. */
static bool applies(const struct work *w, enum field f, const struct json *value)
{
	const char *scheme = bucket_scheme(w);
	bool fresh = w->create || w->anew;
	bool inline_bucket = str_empty(json_get_str(json_get(w->spec, "storeRef"), "name")) &&
			     json_kind(json_get(w->spec, "bucket")) == JSON_OBJECT;

	switch (f) {
	case VERSION:
		return fresh ? lists(&w->listed, IMAGE)
			     : json_equal(now(w, IMAGE), value_in(w->old_spec, IMAGE));
	case ENDPOINT:
		return inline_bucket && str_eq(scheme, "s3");
	case REGION:
		return inline_bucket && str_eq(scheme, "s3") && (!fresh || is_our_endpoint(w));
	case ACCOUNT:
		return inline_bucket && str_eq(scheme, "az");
	case CREDENTIALS:
		return inline_bucket && fits(value, scheme) &&
		       (!fresh || !str_eq(scheme, "s3") || is_our_endpoint(w));
	case CLASS:
		return json_kind(json_get(w->spec, "storage")) == JSON_OBJECT;
	case IMAGE:
	case PULL_POLICY:
	case PULL_SECRETS:
	case RESOURCES:
	case SCHEDULING:
	case SERVICE:
	case INGRESS:
	case TELEMETRY:
	case FIELDS:
		break;
	}
	return true;
}

static void create(struct work *w, enum field f)
{
	const struct json *value = default_of(w->d, w->namespace, f);

	if (value_in(w->spec, f)) {
		/* A backup brings what was filled, and the list of it. */
		if (lists(&w->said, f))
			list(w, f);
	} else if (value && applies(w, f, value)) {
		put(w, f, value);
	}
}

/* What cannot change in a running fleet. */
static bool is_fixed(enum field f)
{
	return f == ENDPOINT || f == ACCOUNT || f == CLASS;
}

/* Today's default in the place of an earlier one; a version that went with another image goes. */
static void renew(struct work *w, enum field f, const struct json *value)
{
	if (value && applies(w, f, value))
		put(w, f, value);
	else if (f == VERSION && !json_equal(now(w, IMAGE), value_in(w->old_spec, IMAGE)))
		patch_remove(w->p, patch_path("spec", fields[f].name, fields[f].below));
	else
		list(w, f);
}

static void update(struct work *w, enum field f)
{
	const struct json *is = value_in(w->spec, f), *had = value_in(w->old_spec, f);
	const struct json *ours = default_of(w->d, w->namespace, f);

	if (!lists(&w->was, f))
		return;
	if (!is) {
		if (had && applies(w, f, had))
			put(w, f, had);
	} else if (w->anew && !is_fixed(f)) {
		renew(w, f, ours);
	} else if (json_equal(is, had) || (lists(&w->said, f) && json_equal(is, ours))) {
		list(w, f);
	}
}

/* ---- labels of the pods ---------------------------------------------------------------------- */

static void label(struct work *w, const char *key, const char *value)
{
	struct err e = ERR_INIT;

	if (value && !patch_set(w->p, patch_path("spec", labels, key), json_new_str(value), &e))
		strlist_add_take(&w->listed, xasprintf("spec.%s[%s]", labels, key));
}

/* A stored app's label that was filled once. */
static void old_label(struct work *w, const char *key, const char *path, const char *ours)
{
	const struct json *is = json_get(json_get(w->spec, labels), key);
	const struct json *had = json_get(json_get(w->old_spec, labels), key);
	bool said = strlist_has(&w->said, path);

	if (!is)
		label(w, key, json_str(had));
	else if (w->anew && ours)
		label(w, key, ours);
	else if (json_equal(is, had) ||
		 (said && ours && json_str(is) && str_eq(json_str(is), ours)))
		strlist_add(&w->listed, path);
}

static void one_label(struct work *w, const char *key, const char *ours)
{
	cleanup(freep) char *path = xasprintf("spec.%s[%s]", labels, key);

	if (strlist_has(&w->listed, path))
		return;
	if (!w->create)
		old_label(w, key, path, ours);
	else if (!json_get(json_get(w->spec, labels), key))
		label(w, key, ours);
	else if (strlist_has(&w->said, path))
		strlist_add(&w->listed, path);
}

/* A listed label's key; NULL: the path is none of a label. The caller's. */
static char *label_key(const char *path)
{
	size_t n = strlen("spec.podLabels[");

	if (!str_starts(path, "spec.podLabels[") || !str_ends(path, "]"))
		return NULL;
	return xstrndup(path + n, strlen(path) - n - 1);
}

static const char *default_label(const struct work *w, const char *key)
{
	const char *last = NULL;

	for (size_t i = 0; w->d && i < w->d->n; i++) {
		const char *v = json_get_str(json_get(w->d->v[i].values, labels), key);

		if (v && is_for(&w->d->v[i], w->namespace))
			last = v;
	}
	return last;
}

static void all_labels(struct work *w)
{
	const struct strlist *known = w->create ? &w->said : &w->was;

	for (size_t i = 0; i < known->n; i++) {
		cleanup(freep) char *key = label_key(known->v[i]);

		if (key)
			one_label(w, key, default_label(w, key));
	}
	for (size_t i = 0; w->create && w->d && i < w->d->n; i++) {
		const struct json *all = json_get(w->d->v[i].values, labels);

		if (!is_for(&w->d->v[i], w->namespace))
			continue;
		for (const struct json *c = json_first(all); c; c = json_next(c))
			one_label(w, json_name(c), default_label(w, json_name(c)));
	}
}

/* ---- the patch ------------------------------------------------------------------------------- */

static void annotate(struct work *w)
{
	const char *const *path = patch_path("metadata", "annotations", ANNOTATION_DEFAULTED);
	struct err e = ERR_INIT;
	cleanup(freep) char *text = NULL;

	if (!w->listed.n) {
		patch_remove(w->p, path);
		return;
	}
	text = strlist_join(&w->listed, ",");
	(void)patch_set(w->p, path, json_new_str(text), &e);
}

static bool is_being_deleted(const struct json *object)
{
	return !str_empty(json_get_str(json_get(object, "metadata"), "deletionTimestamp"));
}

void workerapp_defaults_patch(const struct workerapp_defaults *d, const char *namespace,
			      const struct json *object, const struct json *old, struct patch *p)
{
	struct work w = { .d = d,
			  .namespace = namespace ? namespace : "",
			  .object = object,
			  .old = old,
			  .spec = json_get(object, "spec"),
			  .old_spec = json_get(old, "spec"),
			  .create = !old,
			  .was = STRLIST_INIT,
			  .said = STRLIST_INIT,
			  .listed = STRLIST_INIT,
			  .p = p };

	if (json_kind(w.spec) != JSON_OBJECT || is_being_deleted(object))
		return;
	read_list(object, &w.said);
	read_list(old, &w.was);
	w.anew = w.was.n && !w.said.n && json_equal(w.spec, w.old_spec);
	for (int f = 0; f < FIELDS; f++) {
		if (w.create)
			create(&w, (enum field)f);
		else
			update(&w, (enum field)f);
	}
	all_labels(&w);
	annotate(&w);
	strlist_done(&w.was);
	strlist_done(&w.said);
	strlist_done(&w.listed);
}
