#include "common/workerapp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/workerapp_fields.h"

/* --- what is wrong with a value's type --- */

static const char *const a_kind[] = {
	[JSON_ABSENT] = "absent",    [JSON_NULL] = "null",	 [JSON_BOOL] = "a boolean",
	[JSON_NUMBER] = "a number",  [JSON_STRING] = "a string", [JSON_ARRAY] = "an array",
	[JSON_OBJECT] = "an object",
};

static const char *remedy(enum json_kind wanted, enum json_kind found)
{
	static const char *const remedies[] = {
		[JSON_BOOL] = "write true or false, without quotes",
		[JSON_NUMBER] = "write a whole number, without quotes",
		[JSON_STRING] = "write one text",
		[JSON_ARRAY] = "write a list",
		[JSON_OBJECT] = "write names with values, or leave it out",
	};

	if (wanted == JSON_STRING && (found == JSON_NUMBER || found == JSON_BOOL))
		return "put it in quotes";
	return remedies[wanted];
}

static void kind_fault(const struct json *j, enum json_kind wanted, const char *path,
		       struct faults *faults)
{
	enum json_kind found = json_kind(j);
	cleanup(freep) char *text = json_text(j);

	fault_add(faults, "wrong-type", path, text, "must be %s, is %s; %s",
		  wanted == JSON_NUMBER ? "an integer" : a_kind[wanted], a_kind[found],
		  remedy(wanted, found));
}

/* Absent and null are the same. Otherwise j has the wanted kind, or there is one fault more. */
static bool is_kind(const struct json *j, enum json_kind wanted, const char *path,
		    struct faults *faults)
{
	enum json_kind found;

	if (!j) /* as most fields */
		return false;
	found = json_kind(j);
	if (found != wanted && found != JSON_NULL)
		kind_fault(j, wanted, path, faults);
	return found == wanted;
}

static bool read_int(const struct json *j, const char *path, struct faults *faults, int64_t *ret)
{
	cleanup(freep) char *text = NULL;
	int64_t v = 0;
	bool whole;

	if (!is_kind(j, JSON_NUMBER, path, faults))
		return false;
	whole = json_int(j, &v);
	if (whole && v >= INT32_MIN && v <= INT32_MAX) {
		*ret = v;
		return true;
	}
	text = json_text(j);
	if (whole)
		fault_add(faults, "number-range", path, text,
			  "%s is out of range; write a number of at most 2147483647", text);
	else
		fault_add(faults, "wrong-type", path, text,
			  "must be an integer, is %.64s; write a whole number", text);
	return false;
}

/* An empty string is absent. */
static const char *read_str(const struct json *j, const char *path, struct faults *faults)
{
	const char *s = is_kind(j, JSON_STRING, path, faults) ? json_str(j) : NULL;

	return str_empty(s) ? NULL : s;
}

static void choice_fault(const char *s, const struct workerapp_field *f, struct faults *faults)
{
	const char *near = workerapp_near_miss(s, f->choices);
	struct fault_value shown;
	char all[128] = "";
	size_t n = 0;

	for (int i = 0; f->choices[i]; i++) {
		if (f->choices[i][0])
			n += (size_t)snprintf(all + n, sizeof(all) - n, "%s%s",
					      n == 0 ? "" : " or ", f->choices[i]);
	}
	if (near)
		fault_add(faults, "unknown-value", f->path, s,
			  "%s is not a value of it; write %s (the values are %s)",
			  fault_value(&shown, s), near, all);
	else
		fault_add(faults, "unknown-value", f->path, s, "%s is not a value of it; write %s",
			  fault_value(&shown, s), all);
}

/* The index of the choice, or -1. */
static int read_choice(const struct json *j, const struct workerapp_field *f, struct faults *faults)
{
	const char *s = read_str(j, f->path, faults);

	if (!s)
		return -1;
	for (int i = 0; f->choices[i]; i++) {
		if (str_eq(s, f->choices[i]))
			return i;
	}
	choice_fault(s, f, faults);
	return -1;
}

/* --- lists --- */

static void read_strings(const struct json *j, const struct workerapp_field *f,
			 struct faults *faults, struct strlist *to)
{
	size_t i = 0;

	if (!is_kind(j, JSON_ARRAY, f->path, faults))
		return;
	for (const struct json *c = json_first(j); c && i < WORKERAPP_LIST; c = json_next(c), i++) {
		bool named = f->kind == F_NAMES && json_kind(c) == JSON_OBJECT;
		const struct json *s = named ? json_get(c, "name") : c;
		cleanup(freep) char *path = NULL;

		if (json_kind(s) == JSON_STRING && (named || f->kind != F_NAMES)) {
			strlist_add(to, json_str(s));
			continue;
		}
		path = xasprintf("%s[%zu]%s", f->path, i, named ? ".name" : "");
		if (is_kind(s, f->kind == F_NAMES && !named ? JSON_OBJECT : JSON_STRING, path,
			    faults))
			strlist_add(to, json_str(s));
		else if (json_kind(s) == JSON_NULL || json_kind(s) == JSON_ABSENT)
			fault_add(faults, "wrong-type", path, "", "is empty; write a text");
	}
}

static const struct json *read_list(const struct json *j, const char *at, struct faults *faults)
{
	size_t i = 0;

	if (!is_kind(j, JSON_ARRAY, at, faults))
		return NULL;
	for (const struct json *c = json_first(j); c && i < WORKERAPP_LIST; c = json_next(c), i++) {
		cleanup(freep) char *path = NULL;

		if (json_kind(c) == JSON_OBJECT)
			continue;
		path = xasprintf("%s[%zu]", at, i);
		if (json_kind(c) == JSON_NULL)
			fault_add(faults, "wrong-type", path, "null",
				  "is empty; write names with values, or leave it out");
		else
			(void)is_kind(c, JSON_OBJECT, path, faults);
	}
	return j;
}

static const struct json *read_map(const struct json *j, const char *at, struct faults *faults)
{
	if (!is_kind(j, JSON_OBJECT, at, faults))
		return NULL;
	for (const struct json *c = json_first(j); c; c = json_next(c)) {
		cleanup(freep) char *path = NULL;

		if (json_kind(c) == JSON_STRING)
			continue;
		path = xasprintf("%s[%.128s]", at, json_name(c));
		(void)is_kind(c, JSON_STRING, path, faults);
	}
	return j;
}

/* is_kind of a part of spec.env[i]; its path is only written down when it is told of. */
static bool is_env_kind(const struct json *j, enum json_kind wanted, size_t i, const char *below,
			struct faults *faults)
{
	cleanup(freep) char *path = NULL;

	if (json_kind(j) == wanted)
		return true;
	path = xasprintf("spec.env[%zu]%s", i, below);
	return is_kind(j, wanted, path, faults);
}

static const char *env_str(const struct json *j, size_t i, const char *below, struct faults *faults)
{
	const char *s = is_env_kind(j, JSON_STRING, i, below, faults) ? json_str(j) : NULL;

	return str_empty(s) ? NULL : s;
}

/* One element of spec.env; its parts keep "" apart from absent where a rule asks. */
static void read_env_entry(const struct json *c, struct faults *faults, struct wa_env *to)
{
	const struct json *r = json_get(c, "secretKeyRef");
	size_t i = to->index;

	to->name = env_str(json_get(c, "name"), i, ".name", faults);
	if (is_env_kind(json_get(c, "value"), JSON_STRING, i, ".value", faults))
		to->value = json_get_str(c, "value");
	if (!is_env_kind(r, JSON_OBJECT, i, ".secretKeyRef", faults))
		return;
	to->secret_name = env_str(json_get(r, "name"), i, ".secretKeyRef.name", faults);
	to->secret_key = env_str(json_get(r, "key"), i, ".secretKeyRef.key", faults);
}

static void read_env(const struct json *j, const char *at, struct workerapp *app)
{
	size_t i = 0;

	if (!is_kind(j, JSON_ARRAY, at, &app->type_faults))
		return;
	i = json_len(j);
	app->env = xcalloc(i < WORKERAPP_LIST ? i + 1 : WORKERAPP_LIST, sizeof(*app->env));
	i = 0;
	for (const struct json *c = json_first(j); c && i < WORKERAPP_LIST; c = json_next(c), i++) {
		if (is_env_kind(c, JSON_OBJECT, i, "", &app->type_faults)) {
			app->env[app->n_env].index = i;
			read_env_entry(c, &app->type_faults, &app->env[app->n_env++]);
		} else if (json_kind(c) == JSON_NULL) {
			cleanup(freep) char *path = xasprintf("spec.env[%zu]", i);

			fault_add(&app->type_faults, "wrong-type", path, "null",
				  "is empty; write name and value, or leave it out");
		}
	}
}

/* --- all fields --- */

/* Fields that fill one value with a default. */
static void read_scalar(const struct json *j, const struct workerapp_field *f,
			struct faults *faults, void *to)
{
	int64_t n = f->number;
	const char *s;
	bool b = f->number != 0;
	int choice;

	if (f->kind == F_STRING) {
		s = read_str(j, f->path, faults);
		*(const char **)to = s ? s : f->text;
	} else if (f->kind == F_CHOICE) {
		choice = read_choice(j, f, faults);
		*(const char **)to = choice < 0 ? f->text : f->choices[choice];
	} else if (f->kind == F_ENUM) {
		choice = read_choice(j, f, faults);
		*(int *)to = choice < 0 ? (int)f->number : choice;
	} else if (f->kind == F_BOOL) {
		if (is_kind(j, JSON_BOOL, f->path, faults))
			(void)json_bool(j, &b);
		*(bool *)to = b;
	} else {
		(void)read_int(j, f->path, faults, &n);
		*(int64_t *)to = n;
	}
}

static void read_field(struct workerapp *app, const struct workerapp_field *f, const struct json *j)
{
	struct faults *faults = &app->type_faults;
	void *to = (char *)app + f->at;
	struct opt_int *opt = to;

	switch (f->kind) {
	case F_STRING:
	case F_CHOICE:
	case F_ENUM:
	case F_BOOL:
	case F_INT:
		read_scalar(j, f, faults, to);
		break;
	case F_OPT_INT:
		opt->set = read_int(j, f->path, faults, &opt->v);
		break;
	case F_OBJECT:
		(void)is_kind(j, JSON_OBJECT, f->path, faults);
		break;
	case F_SET:
		*(bool *)to = is_kind(j, JSON_OBJECT, f->path, faults);
		break;
	case F_MAP:
		*(const struct json **)to = read_map(j, f->path, faults);
		break;
	case F_LIST:
		*(const struct json **)to = read_list(j, f->path, faults);
		break;
	case F_STRINGS:
	case F_NAMES:
		read_strings(j, f, faults, to);
		break;
	case F_ENV:
		read_env(j, f->path, app);
		break;
	}
}

/* The objects that the fields at hand lie in, spec first. */
struct way {
	struct {
		const struct json *j; /* NULL: absent */
		size_t len;	      /* of its path */
	} at[8];
	size_t n;
};

/* Members follow their object, so what lies deeper than the parent is done with. */
static const struct json *find(struct way *way, const struct workerapp_field *f)
{
	while (way->at[way->n - 1].len != f->under)
		way->n--;
	return json_get(way->at[way->n - 1].j, workerapp_field_name(f));
}

static void read_fields(struct workerapp *app)
{
	struct way way = { .at = { { app->spec, strlen("spec") } }, .n = 1 };

	for (size_t i = 0; i < workerapp_n_fields; i++) {
		const struct workerapp_field *f = &workerapp_fields[i];
		const struct json *j = find(&way, f);

		read_field(app, f, j);
		if (f->kind != F_OBJECT && f->kind != F_SET)
			continue;
		way.at[way.n].j = j;
		way.at[way.n++].len = strlen(f->path);
	}
}

static const char *get_str(const struct json *j, const char *name)
{
	const char *s = json_get_str(j, name);

	return str_empty(s) ? NULL : s;
}

static void read_metadata(struct workerapp *app)
{
	const struct json *m = json_get(app->doc, "metadata");
	struct faults *faults = &app->type_faults;

	(void)is_kind(m, JSON_OBJECT, "metadata", faults);
	app->namespace = read_str(json_get(m, "namespace"), "metadata.namespace", faults);
	app->name = read_str(json_get(m, "name"), "metadata.name", faults);
	app->uid = get_str(m, "uid");
	app->resource_version = get_str(m, "resourceVersion");
	(void)json_get_int(m, "generation", &app->generation);
	app->created = get_str(m, "creationTimestamp");
	app->deleting = get_str(m, "deletionTimestamp") != NULL;
	app->annotations = read_map(json_get(m, "annotations"), "metadata.annotations", faults);
	app->labels = read_map(json_get(m, "labels"), "metadata.labels", faults);
	app->acknowledged = get_str(app->annotations, ANNOTATION_ACK);
}

static void read_status(struct workerapp *app)
{
	const struct json *s = json_get(app->doc, "status");
	const struct json *versions = json_get(s, "celldVersions");

	if (json_kind(s) == JSON_OBJECT)
		app->status = s;
	(void)json_get_int(s, "observedGeneration", &app->seen.observed_generation);
	app->seen.phase = get_str(s, "phase");
	app->seen.expected_app_version = get_str(s, "expectedAppVersion");
	app->seen.rolled_out_app_version = get_str(s, "rolledOutAppVersion");
	if (json_kind(versions) != JSON_ARRAY)
		return;
	for (const struct json *c = json_first(versions); c; c = json_next(c)) {
		if (json_str(c) && app->seen.celld_versions.n < WORKERAPP_LIST)
			strlist_add(&app->seen.celld_versions, json_str(c));
	}
}

static enum bucket_scheme scheme_of(const char *name)
{
	if (!name)
		return SCHEME_NONE;
	if (str_starts(name, "s3://"))
		return SCHEME_S3;
	if (str_starts(name, "gs://"))
		return SCHEME_GS;
	return str_starts(name, "az://") ? SCHEME_AZ : SCHEME_NONE;
}

int workerapp_parse(struct json *doc, struct faults *faults, struct workerapp **ret, struct err *e)
{
	cleanup_json struct json *mine = doc;
	const char *kind = json_get_str(doc, "kind"), *api = json_get_str(doc, "apiVersion");
	struct fault_value shown;
	struct workerapp *app;

	if (json_kind(doc) != JSON_OBJECT)
		return err_set(e, ERR_INVALID, "a WorkerApp is an object, this is %s",
			       a_kind[json_kind(doc)]);
	if (!kind || !str_eq(kind, "WorkerApp"))
		return err_field(e, ERR_INVALID, "kind", "is %s, not WorkerApp",
				 fault_value(&shown, kind));
	if (!api || !str_eq(api, WORKERAPP_API))
		return err_field(e, ERR_INVALID, "apiVersion", "is %s, not " WORKERAPP_API,
				 fault_value(&shown, api));
	app = xcalloc(1, sizeof(*app));
	app->doc = take(mine);
	read_metadata(app);
	if (is_kind(json_get(doc, "spec"), JSON_OBJECT, "spec", &app->type_faults))
		app->spec = json_get(doc, "spec");
	read_fields(app);
	app->app_version_auto = app->app_version && str_eq(app->app_version, "auto");
	app->bucket.scheme = scheme_of(app->bucket.name);
	read_status(app);
	if (faults)
		faults_add_all(faults, &app->type_faults);
	*ret = app;
	return 0;
}

void workerapp_free(struct workerapp *app)
{
	if (!app)
		return;
	faults_done(&app->type_faults);
	strlist_done(&app->hostnames);
	strlist_done(&app->pull_secrets);
	strlist_done(&app->seen.celld_versions);
	free(app->env);
	json_free(app->doc);
	free(app);
}

/* --- bucket names --- */

/* Behind "s3://", or all of it. */
static const char *after_scheme(const struct workerapp *app)
{
	const char *name = app->bucket.name ? app->bucket.name : "";
	const char *colon = strchr(name, ':');

	return colon && str_starts(colon, "://") ? colon + 3 : name;
}

char *workerapp_bucket_name(const struct workerapp *app)
{
	const char *s = after_scheme(app), *slash = strchr(s, '/');

	return xstrndup(s, slash ? (size_t)(slash - s) : strlen(s));
}

char *workerapp_bucket_prefix(const struct workerapp *app)
{
	const char *s = strchr(after_scheme(app), '/');
	size_t n;

	while (s && *s == '/')
		s++;
	n = s ? strlen(s) : 0;
	while (n && s[n - 1] == '/')
		n--;
	return xstrndup(s ? s : "", n);
}
