#include "common/workerapp_defaults_load.h"

#include <stdlib.h>
#include <string.h>

#include "common/workerapp_rules.h"
#include "common/yaml.h"

struct reader {
	const char *origin;
	const struct celld_table *table;
	struct yaml_doc doc;
	struct workerapp_defaults all;
};

static int fail(const struct reader *r, const char *path, const char *what, struct err *e)
{
	struct yaml_place at = { 1, 1 };

	(void)yaml_where(&r->doc, path, &at);
	return err_set(e, ERR_INVALID, "%s:%zu: %s: %s", r->origin, at.line, path, what);
}

/* ---- the values by the rules of an app ------------------------------------------------------- */

/* An app that leaves out what it may, on this kind of storage. */
static struct json *sample(const struct reader *r, const char *bucket)
{
	char version[VERSION_TEXT];
	cleanup(freep) char *image = NULL;
	struct json *doc = json_new_object(), *spec = json_object_at(doc, "spec");

	version_text(r->table->releases[r->table->n_releases - 1], version);
	image = xasprintf("celld:%s", version);
	json_set_str(doc, "apiVersion", WORKERAPP_API);
	json_set_str(doc, "kind", "WorkerApp");
	json_set_str(json_object_at(doc, "metadata"), "name", "sample");
	json_set_str(spec, "appVersion", "v1");
	json_set_str(json_object_at(spec, "bucket"), "name", bucket);
	json_set_int(json_object_at(spec, "storage"), "sizeGi", 1);
	/* A default in this place is judged, too: the rules are asked with the platform's image. */
	json_set_str(json_object_at(spec, "celld"), "image", image);
	return doc;
}

/* The fault is of a field that values hold. */
static const struct fault *fault_of(const struct faults *l, const struct json *values)
{
	for (size_t i = 0; i < l->n; i++) {
		const char *path = l->v[i].path;
		cleanup(freep) char *dotted =
			str_starts(path, "spec.") ? xstrdup(path + strlen("spec.")) : NULL;
		char *end = dotted ? strpbrk(dotted, "[") : NULL;

		if (end)
			*end = '\0';
		if (dotted && json_at_path(values, dotted))
			return &l->v[i];
	}
	return NULL;
}

static int judge_on(const struct reader *r, const char *path, const struct json *values,
		    const char *bucket, struct err *e)
{
	struct rules_facts facts = { .table = r->table };
	struct workerapp_defaults one = { NULL, 0 };
	cleanup_json struct json *doc = sample(r, bucket);
	cleanup_workerapp struct workerapp *app = NULL;
	struct faults faults = FAULTS_INIT;
	const struct fault *bad;
	struct patch p;
	int result;

	if (json_path(values, "celld", "image", NULL))
		json_del(json_get_mutable(json_get_mutable(doc, "spec"), "celld"), "image");
	workerapp_defaults_add(&one, NULL, json_dup(values));
	patch_init(&p, doc);
	workerapp_defaults_patch(&one, "", doc, NULL, &p);
	result = workerapp_parse(take(p.doc), NULL, &app, e);
	if (!result) {
		workerapp_rules(app, NULL, &facts, &faults, NULL);
		workerapp_unknown_fields(app, &faults);
		bad = fault_of(&faults, values);
		if (bad) {
			cleanup(freep) char *at =
				xasprintf("%s.%s", path, bad->path + strlen("spec."));

			result = fail(r, at, bad->message, e);
		}
	}
	faults_done(&faults);
	patch_done(&p);
	workerapp_defaults_done(&one);
	return result;
}

static int judge(const struct reader *r, const char *path, const struct json *values, struct err *e)
{
	static const char *const buckets[] = { "s3://cells/x", "gs://cells/x", "az://cells/x" };
	const char *endpoint = json_str(json_path(values, "bucket", "endpoint", NULL));
	cleanup(freep) char *unknown = NULL;

	if (json_kind(values) != JSON_OBJECT)
		return fail(r, path, "write names with values, as in the spec of a WorkerApp", e);
	unknown = workerapp_defaults_unknown(values);
	if (unknown) {
		cleanup(freep) char *at = xasprintf("%s.%s", path, unknown);

		return fail(r, at, "has no default of the platform; leave it out", e);
	}
	if (endpoint && str_starts(endpoint, "http://")) {
		cleanup(freep) char *at = xasprintf("%s.bucket.endpoint", path);

		return fail(r, at,
			    "only an app itself may allow an endpoint that is not encrypted; write "
			    "https://, or a CelldObjectStore that apps name by storeRef",
			    e);
	}
	for (size_t i = 0; i < array_len(buckets); i++) {
		int bad = judge_on(r, path, values, buckets[i], e);

		if (bad)
			return bad;
	}
	return 0;
}

/* ---- the file -------------------------------------------------------------------------------- */

static int read_rule(struct reader *r, const char *path, const char *pattern,
		     const struct json *values, struct err *e)
{
	int bad = judge(r, path, values, e);

	if (!bad)
		workerapp_defaults_add(&r->all, pattern, json_dup(values));
	return bad;
}

static int read_namespace(struct reader *r, size_t i, const struct json *rule, struct err *e)
{
	cleanup(freep) char *path = xasprintf("namespaces[%zu]", i);
	cleanup(freep) char *below = xasprintf("%s.defaults", path);
	const char *pattern = json_get_str(rule, "pattern");

	for (const struct json *c = json_first(rule); c; c = json_next(c)) {
		cleanup(freep) char *at =
			xasprintf("%s.%s", path, json_name(c) ? json_name(c) : "");

		if (json_kind(rule) == JSON_OBJECT && !str_eq(json_name(c), "pattern") &&
		    !str_eq(json_name(c), "defaults"))
			return fail(r, at, "there is no such member; write pattern and defaults",
				    e);
	}
	if (str_empty(pattern))
		return fail(r, path, "names no namespaces; write pattern, such as team-*", e);
	if (!json_get(rule, "defaults"))
		return fail(r, path, "holds no defaults; write some", e);
	return read_rule(r, below, pattern, json_get(rule, "defaults"), e);
}

static int read_namespaces(struct reader *r, const struct json *list, struct err *e)
{
	size_t i = 0;

	if (json_kind(list) != JSON_ARRAY)
		return fail(r, "namespaces", "write a list", e);
	for (const struct json *c = json_first(list); c; c = json_next(c), i++) {
		int bad = read_namespace(r, i, c, e);

		if (bad)
			return bad;
	}
	return 0;
}

static int read_file(struct reader *r, struct err *e)
{
	const struct json *all = json_get(r->doc.value, "defaults");
	const struct json *some = json_get(r->doc.value, "namespaces");
	int bad = 0;

	if (json_kind(r->doc.value) != JSON_OBJECT)
		return fail(r, "defaults", "write an object with defaults and namespaces", e);
	for (const struct json *c = json_first(r->doc.value); c; c = json_next(c)) {
		if (!str_eq(json_name(c), "defaults") && !str_eq(json_name(c), "namespaces"))
			return fail(r, json_name(c),
				    "there is no such member; write defaults and namespaces", e);
	}
	if (all && json_kind(all) != JSON_NULL)
		bad = read_rule(r, "defaults", NULL, all, e);
	if (!bad && some && json_kind(some) != JSON_NULL)
		bad = read_namespaces(r, some, e);
	return bad;
}

int workerapp_defaults_load(const char *text, size_t len, const char *origin,
			    const struct celld_table *table, struct workerapp_defaults *ret,
			    struct err *e)
{
	struct reader r = { .origin = origin, .table = table };
	int bad = yaml_parse_one(text, len, &r.doc, e);

	if (bad)
		return err_wrap(e, "%s", origin);
	bad = read_file(&r, e);
	yaml_doc_done(&r.doc);
	if (bad) {
		workerapp_defaults_done(&r.all);
		return bad;
	}
	*ret = r.all;
	return 0;
}
