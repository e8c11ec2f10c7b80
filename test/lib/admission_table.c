#include "test/lib/admission_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ctype.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#include "common/kube/file.h"
#include "test/lib/rules_table.h"

enum { FILE_MAX = 1 << 20 };

static const char *const members[] = {
	"name",	    "kind",    "operation", "subResource", "old",    "object",	"metadata",
	"spec",	    "status",  "others",    "policy",	   "table",  "verdict", "faults",
	"warnings", "accepts", "defaults",  "schema",	   "review", "answer",	NULL,
};

static void read_doc(const char *path, struct yaml_doc *ret)
{
	cleanup(freep) char *text = NULL;
	struct err e = ERR_INIT;

	if (file_read(path, FILE_MAX, &text, &e) || yaml_parse_one(text, strlen(text), ret, &e))
		fail_msg("%s: %s", path, e.message);
}

static struct json *base_of(const char *folder, const char *kind)
{
	cleanup(freep) char *path = xasprintf("%s/base/%s.yaml", folder, kind);
	struct yaml_doc doc = { 0 };
	struct json *copy;

	for (char *p = strrchr(path, '/'); *p; p++)
		*p = (char)tolower((unsigned char)*p);
	read_doc(path, &doc);
	copy = json_dup(doc.value);
	yaml_doc_done(&doc);
	return copy;
}

/* metadata, spec and status of the row itself, then what `object` says. */
static void lay_row_over(struct json *to, const struct json *row)
{
	static const char *const parts[] = { "metadata", "spec", "status" };

	for (size_t i = 0; i < array_len(parts); i++) {
		cleanup_json struct json *part = json_new_object();

		json_set(part, parts[i],
			 json_get(row, parts[i]) ? json_dup(json_get(row, parts[i])) : NULL);
		rules_lay_over(to, part);
	}
	rules_lay_over(to, json_get(row, "object"));
}

static bool is_among(const char *s, const char *const *list)
{
	while (*list && !str_eq(*list, s))
		list++;
	return *list != NULL;
}

static const char *text_or(const struct json *row, const char *member, const char *fallback)
{
	const char *s = json_get_str(row, member);

	return s ? s : fallback;
}

static void check_row(const char *file, const struct json *row)
{
	const char *name = json_get_str(row, "name"), *verdict = json_get_str(row, "verdict");
	bool allowed = verdict && str_eq(verdict, "allowed");
	bool broken = verdict && str_eq(verdict, "broken");

	if (!name || !verdict || (!allowed && !broken && !str_eq(verdict, "refused")))
		fail_msg("%s: a case without name or verdict, after %s", file, name ? name : "?");
	for (const struct json *c = json_first(row); c; c = json_next(c)) {
		if (!is_among(json_name(c), members))
			fail_msg("%s: %s: unknown member %s", file, name, json_name(c));
	}
	if (broken != (json_get_str(row, "answer") != NULL))
		fail_msg("%s: %s: broken cases have an answer, others none", file, name);
	if ((allowed || broken) != (json_len(json_get(row, "faults")) == 0))
		fail_msg("%s: %s: refused cases have faults, allowed ones have none", file, name);
}

static void add_case(const char *folder, const char *file, const struct json *row,
		     struct admission_cases *l)
{
	struct admission_case *c;

	check_row(file, row);
	l->v = xrealloc(l->v, (l->n + 1) * sizeof(*l->v));
	c = &l->v[l->n++];
	*c = (struct admission_case){
		.id = xasprintf("%s: %s", file, json_get_str(row, "name")),
		.kind = text_or(row, "kind", "WorkerApp"),
		.operation = text_or(row, "operation", json_get(row, "old") ? "UPDATE" : "CREATE"),
		.subresource = text_or(row, "subResource", ""),
		.allowed = str_eq(json_get_str(row, "verdict"), "allowed"),
		.broken = json_get(row, "answer") != NULL,
		.row = row,
	};
	c->everywhere = !str_eq(c->kind, "Scale") && !json_get(row, "operation") &&
			!json_get(row, "subResource") && !json_get(row, "others") &&
			!json_get(row, "review");
	c->object = base_of(folder, c->kind);
	if (json_get(row, "old")) {
		c->old = base_of(folder, c->kind);
		rules_lay_over(c->old, json_get(row, "old"));
		rules_lay_over(c->object, json_get(row, "old"));
	}
	lay_row_over(c->object, row);
	for (size_t i = 0; i + 1 < l->n; i++) {
		if (str_eq(l->v[i].id, l->v[l->n - 1].id))
			fail_msg("%s: is there twice", l->v[i].id);
	}
}

void admission_read(const char *folder, struct admission_cases *ret)
{
	cleanup(freep) char *pattern = xasprintf("%s/*.yaml", folder);
	glob_t files;

	*ret = (struct admission_cases){ .n = 0 };
	assert_int_equal(glob(pattern, 0, NULL, &files), 0);
	ret->docs = xcalloc(files.gl_pathc, sizeof(*ret->docs));
	for (; ret->n_docs < files.gl_pathc; ret->n_docs++) {
		const char *path = files.gl_pathv[ret->n_docs];
		struct yaml_doc *doc = &ret->docs[ret->n_docs];

		read_doc(path, doc);
		for (const struct json *row = json_first(doc->value); row; row = json_next(row))
			add_case(folder, strrchr(path, '/') + 1, row, ret);
	}
	globfree(&files);
}

void admission_done(struct admission_cases *l)
{
	for (size_t i = 0; i < l->n; i++) {
		free(l->v[i].id);
		json_free(l->v[i].object);
		json_free(l->v[i].old);
	}
	for (size_t i = 0; i < l->n_docs; i++)
		yaml_doc_done(&l->docs[i]);
	free(l->v);
	free(l->docs);
}

/* ---- as requests ----------------------------------------------------------------------------- */

static struct json *or_null(const struct json *j)
{
	return j ? json_dup(j) : json_new_null();
}

char *admission_review(const struct admission_case *c)
{
	cleanup_json struct json *review = json_new_object();
	const struct json *meta = json_get(c->object ? c->object : c->old, "metadata");
	struct json *request, *kind;
	bool scale = str_eq(c->kind, "Scale"), gone = str_eq(c->operation, "DELETE");

	json_set_str(review, "apiVersion", "admission.k8s.io/v1");
	json_set_str(review, "kind", "AdmissionReview");
	request = json_object_at(review, "request");
	json_set_str(request, "uid", "705ab4f5-6393-11e8-b7cc-42010a800002");
	kind = json_object_at(request, "kind");
	json_set_str(kind, "group", scale ? "autoscaling" : "celld-operator.io");
	json_set_str(kind, "version", scale ? "v1" : "v1alpha1");
	json_set_str(kind, "kind", c->kind);
	json_set_str(request, "subResource", scale ? "scale" : c->subresource);
	json_set_str(request, "name", json_get_str(meta, "name"));
	json_set_str(request, "namespace", json_get_str(meta, "namespace"));
	json_set_str_always(request, "operation", c->operation);
	json_set(request, "object", or_null(gone ? NULL : c->object));
	json_set(request, "oldObject", or_null(gone ? c->object : c->old));
	json_set_bool(request, "dryRun", false);
	rules_lay_over(review, json_get(c->row, "review"));
	return json_text(review);
}

char *admission_text(const struct admission_case *c, const char *member)
{
	const struct json *j = json_get(c->row, member);

	return j ? json_text(j) : xstrdup("");
}

bool admission_says(const char *wanted, const char *said)
{
	static const char gap[] = " ... ";

	for (bool first = true;; first = false) {
		const char *end = strstr(wanted, gap), *at;
		size_t n = end ? (size_t)(end - wanted) : strlen(wanted);

		at = memmem(said, strlen(said), wanted, n);
		if (!at || (first && at != said))
			return false;
		if (!end)
			return true;
		said = at + n;
		wanted = end + strlen(gap);
	}
}
