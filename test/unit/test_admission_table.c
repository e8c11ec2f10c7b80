/* The cases of test/admission/: as whole AdmissionReviews, and as files of `kubectl celld validate`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/validate.h"
#include "common/celld/table_load.h"
#include "common/codec.h"
#include "common/holdings.h"
#include "common/policy_load.h"
#include "common/workerapp_defaults_load.h"
#include "test/lib/admission_table.h"
#include "webhook/review.h"

enum { BIG = 16 << 20, LEAST = 250 };

static js_ctx scan;
static struct admission_cases cases;
static size_t wrong; /* cases of the running test that are not as they say */
static char dir[] = "/tmp/admission.XXXXXX";

static int set_up(void **state)
{
	(void)state;
	admission_read("test/admission", &cases);
	return js_ctx_init(&scan, BIG) || !mkdtemp(dir) ? -1 : 0;
}

static int tear_down(void **state)
{
	(void)state;
	js_ctx_free(&scan);
	admission_done(&cases);
	return rmdir(dir);
}

/* ---- what a case is judged by ---------------------------------------------------------------- */

/* The cluster of a case: holdings made from its `others`. */
static void exclusive(void *ctx, const struct workerapp *app, const struct workerapp *old,
		      struct faults *faults, struct strlist *warnings)
{
	struct faults found = FAULTS_INIT, before = FAULTS_INIT;

	(void)warnings;
	(void)holdings_judge(ctx, app, false, &found);
	if (old)
		(void)holdings_judge(ctx, old, false, &before);
	faults_ratchet(&found, &before);
	faults_add_all(faults, &found);
	faults_done(&found);
	faults_done(&before);
}

static bool durability(void *ctx, const char *namespace, const char *name, bool *ret_fleet)
{
	return holdings_app(ctx, namespace, name, ret_fleet);
}

static void users(void *ctx, const char *namespace, const char *store, struct strlist *ret)
{
	holdings_users(ctx, namespace, store, true, ret);
}

struct facts {
	struct review_facts facts;
	struct review_world world;
	struct policy policy;
	struct workerapp_defaults defaults;
	struct celld_table *table;
};

static void facts_of(const struct admission_case *c, struct facts *f)
{
	cleanup(freep) char *policy = admission_text(c, "policy"),
			    *table = admission_text(c, "table");
	cleanup(freep) char *defaults = admission_text(c, "defaults");
	const struct json *others = json_get(c->row, "others");
	struct err e = ERR_INIT;
	int bad = 0;

	*f = (struct facts){ .facts.rules.table = celld_table_builtin() };
	f->facts.rules.policy = &f->policy;
	if (*policy)
		bad = policy_load(policy, strlen(policy), "policy", &f->policy, &e);
	if (!bad && *table) {
		f->table = xcalloc(1, sizeof(*f->table));
		bad = celld_table_load(table, strlen(table), "table", f->table, &e);
		f->facts.rules.table = f->table;
	}
	if (!bad && *defaults) {
		bad = workerapp_defaults_load(defaults, strlen(defaults), "defaults",
					      f->facts.rules.table, &f->defaults, &e);
		f->facts.defaults = &f->defaults;
	}
	if (bad)
		fail_msg("%s: %s", c->id, e.message);
	if (!others)
		return;
	f->world = (struct review_world){ holdings_new(), exclusive, durability, users };
	f->facts.world = &f->world;
	for (const struct json *o = json_first(others); o; o = json_next(o)) {
		if (str_eq(json_get_str(o, "kind"), "WorkerApp"))
			holdings_put_app(f->world.ctx, o);
		else
			holdings_put_store(f->world.ctx, o);
	}
}

static void facts_done(struct facts *f)
{
	policy_done(&f->policy);
	if (f->facts.defaults)
		workerapp_defaults_done(&f->defaults);
	if (f->world.ctx)
		holdings_free(f->world.ctx);
	free(f->table);
}

/* ---- as reviews ------------------------------------------------------------------------------ */

static enum review_endpoint endpoint_of(const struct admission_case *c)
{
	if (str_eq(c->kind, "CelldObjectStore"))
		return REVIEW_VALIDATE_STORE;
	return str_eq(c->kind, "Scale") ? REVIEW_VALIDATE_SCALE : REVIEW_VALIDATE_WORKERAPP;
}

/* Appends the answer to a review. */
static enum review_verdict answer(const char *review, enum review_endpoint endpoint,
				  const struct review_facts *facts, struct buf *to)
{
	size_t len = strlen(review);
	cleanup(freep) char *padded = xcalloc(1, len + JS_PAD);

	memcpy(padded, review, len + 1);
	return review_answer(endpoint, &scan, padded, len, facts, to).verdict;
}

/* A dry run is answered in the very same bytes. */
static void check_dry_run(const struct admission_case *c, enum review_endpoint endpoint,
			  const struct review_facts *facts, const struct json *review,
			  const struct buf *said)
{
	cleanup_json struct json *dry = json_dup(review);
	cleanup(freep) char *body = NULL;
	struct buf text;

	json_set_bool(json_get_mutable(dry, "request"), "dryRun", true);
	body = json_text(dry);
	buf_init(&text, BIG);
	(void)answer(body, endpoint, facts, &text);
	if (!str_eq(buf_str(&text), buf_str(said)))
		fail_msg("%s: a dry run is answered %s", c->id, buf_str(&text));
	buf_done(&text);
}

/* The answer's `response`, which names the review that it answers; the caller's. */
static struct json *ask(const struct admission_case *c, enum review_endpoint endpoint,
			const struct review_facts *facts)
{
	cleanup(freep) char *body = admission_review(c);
	cleanup_json struct json *review = NULL, *whole = NULL;
	struct json *response;
	struct err e = ERR_INIT;
	struct buf text;

	buf_init(&text, BIG);
	(void)answer(body, endpoint, facts, &text);
	if (json_parse(buf_str(&text), text.len, &whole, &e) ||
	    json_parse(body, strlen(body), &review, &e))
		fail_msg("%s: %s in %s", c->id, e.message, buf_str(&text));
	check_dry_run(c, endpoint, facts, review, &text);
	buf_done(&text);
	assert_string_equal(json_get_str(whole, "apiVersion"), "admission.k8s.io/v1");
	assert_string_equal(json_get_str(whole, "kind"), "AdmissionReview");
	response = json_take(whole, "response");
	assert_string_equal(json_get_str(response, "uid"),
			    json_str(json_path(review, "request", "uid", NULL)));
	return response;
}

/* What is no review gets HTTP 400 and a line that says why. */
static void check_broken(const struct admission_case *c)
{
	cleanup(freep) char *body = admission_review(c);
	struct review_facts facts = { .rules.table = celld_table_builtin() };
	struct buf text;

	buf_init(&text, BIG);
	if (answer(body, endpoint_of(c), &facts, &text) != REVIEW_BROKEN ||
	    !admission_says(json_get_str(c->row, "answer"), buf_str(&text))) {
		print_error("%s: answered %s\n", c->id, buf_str(&text));
		wrong++;
	}
	buf_done(&text);
}

/* Lets the platform's defaults fill what they fill; the patch adds members and nothing else. */
static void mutate(const struct admission_case *c, const struct review_facts *facts)
{
	cleanup_json struct json *response = ask(c, REVIEW_MUTATE_WORKERAPP, facts), *ops = NULL;
	const char *patch = json_get_str(response, "patch");
	cleanup(freep) char *text = NULL;
	struct err e = ERR_INIT;
	size_t n = 0;

	if (!patch)
		return;
	text = (char *)codec_base64_decode(patch, strlen(patch), &n);
	assert_int_equal(json_parse(text, n, &ops, &e), 0);
	for (const struct json *op = json_first(ops); op; op = json_next(op)) {
		cleanup(freep) char *path = xstrdup(json_get_str(op, "path") + 1);
		struct json *at = c->object;
		char *name = path, *slash;

		assert_string_equal(json_get_str(op, "op"), "add");
		for (; (slash = strchr(name, '/')); name = slash + 1) {
			*slash = '\0';
			at = json_get_mutable(at, name);
		}
		json_set(at, name, json_dup(json_get(op, "value")));
	}
}

/* "PATH: MESSAGE" of each fault. */
static void faults_of(const struct json *response, struct strlist *ret)
{
	const struct json *causes = json_path(response, "status", "details", "causes", NULL);

	for (const struct json *c = json_first(causes); c; c = json_next(c)) {
		cleanup(freep) char *text =
			xasprintf("%s: %s", json_get_str(c, "field"), json_get_str(c, "message"));

		strlist_add(ret, text);
	}
}

/* Every line of wanted is said by another of said, and nothing else is said. */
static void compare(const struct admission_case *c, const char *what, const struct json *wanted,
		    const struct strlist *said)
{
	bool same = json_len(wanted) == said->n;
	struct buf text = BUF_INIT(BIG);
	size_t i = 0;

	for (const struct json *w = json_first(wanted); w && same; w = json_next(w), i++)
		same = i < said->n && said->v && admission_says(json_str(w), said->v[i]);
	if (same)
		return;
	for (i = 0; said->v && i < said->n; i++)
		buf_printf(&text, "\n    %s", said->v[i]);
	print_error("%s: other %s are said:%s\n", c->id, what, buf_str(&text));
	buf_done(&text);
	wrong++;
}

static void check_review(const struct admission_case *c)
{
	struct strlist faults = STRLIST_INIT, warnings = STRLIST_INIT;
	const struct json *rules = json_get(c->row, "faults");
	cleanup_json struct json *response = NULL, *paths = json_new_array();
	struct facts f;

	facts_of(c, &f);
	if (f.facts.defaults)
		mutate(c, &f.facts);
	response = ask(c, endpoint_of(c), &f.facts);
	/* Rule and text; a review tells the text alone. */
	for (const struct json *r = json_first(rules); r; r = json_next(r))
		json_add_str(paths, strchr(json_str(r), ' ') + 1);
	faults_of(response, &faults);
	compare(c, "faults", paths, &faults);
	for (const struct json *w = json_first(json_get(response, "warnings")); w; w = json_next(w))
		strlist_add(&warnings, json_str(w));
	compare(c, "warnings", json_get(c->row, "warnings"), &warnings);
	if (json_get_bool(response, "allowed", !c->allowed) != c->allowed) {
		print_error("%s: not %s\n", c->id, json_get_str(c->row, "verdict"));
		wrong++;
	}
	facts_done(&f);
	strlist_done(&faults);
	strlist_done(&warnings);
}

static void test_reviews(void **state)
{
	(void)state;
	wrong = 0;
	for (size_t i = 0; i < cases.n; i++) {
		if (cases.v[i].broken)
			check_broken(&cases.v[i]);
		else
			check_review(&cases.v[i]);
	}
	assert_int_equal(wrong, 0);
	assert_true(cases.n >= LEAST);
}

/* ---- on the command line --------------------------------------------------------------------- */

static char *write_file(const char *name, const char *text)
{
	char *path = xasprintf("%s/%s", dir, name);
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
	return path;
}

struct arguments {
	char *v[16];
	int n;
};

static void add_argument(struct arguments *a, const char *flag, const char *name, const char *text)
{
	if (!*text)
		return;
	a->v[a->n++] = xstrdup(flag);
	a->v[a->n++] = write_file(name, text);
}

/* The findings of level, as "RULE PATH: MESSAGE". */
static void findings_of(const struct json *found, const char *level, struct strlist *ret)
{
	for (const struct json *f = json_first(found); f; f = json_next(f)) {
		const char *rule = json_get_str(f, "rule"), *path = json_get_str(f, "path");
		cleanup(freep) char *text =
			xasprintf("%s%s%s%s%s", rule ? rule : "", rule ? " " : "", path,
				  *path ? ": " : "", json_get_str(f, "message"));

		if (str_eq(json_get_str(f, "level"), level))
			strlist_add(ret, text);
	}
}

static void check_findings(const struct admission_case *c, const char *out)
{
	struct strlist faults = STRLIST_INIT, warnings = STRLIST_INIT;
	cleanup_json struct json *found = NULL;
	struct err e = ERR_INIT;

	if (json_parse(out, strlen(out), &found, &e))
		fail_msg("%s: %s in %s", c->id, e.message, out);
	findings_of(found, "error", &faults);
	findings_of(found, "warning", &warnings);
	compare(c, "faults of validate", json_get(c->row, "faults"), &faults);
	compare(c, "warnings of validate", json_get(c->row, "warnings"), &warnings);
	strlist_done(&faults);
	strlist_done(&warnings);
}

static void check_validate(const struct admission_case *c)
{
	cleanup(freep) char *object = json_text(c->object), *out = NULL, *err = NULL;
	cleanup(freep) char *old = c->old ? json_text(c->old) : xstrdup("");
	cleanup(freep) char *policy = admission_text(c, "policy"),
			    *table = admission_text(c, "table"),
			    *defaults = admission_text(c, "defaults");
	struct arguments a = { .v = { xstrdup("validate"), xstrdup("-o"), xstrdup("json") },
			       .n = 3 };
	size_t out_len = 0, err_len = 0;
	FILE *to = open_memstream(&out, &out_len), *log = open_memstream(&err, &err_len);
	int status;

	add_argument(&a, "-f", "app.json", object);
	add_argument(&a, "--old", "old.json", old);
	add_argument(&a, "--policy", "policy.yaml", policy);
	add_argument(&a, "--compat-table", "table.yaml", table);
	add_argument(&a, "--defaults", "defaults.yaml", defaults);
	status = validate_run(a.n, a.v, stdin, to, log);
	(void)fclose(to);
	(void)fclose(log);
	for (int i = 0; i < a.n; i++) {
		if (a.v[i][0] == '/')
			(void)unlink(a.v[i]);
		free(a.v[i]);
	}
	if (status != (c->allowed ? 0 : 1)) {
		print_error("%s: exit status %d: %s%s\n", c->id, status, err, out);
		wrong++;
	} else {
		check_findings(c, out);
	}
}

static void test_validate(void **state)
{
	size_t n = 0;

	(void)state;
	wrong = 0;
	for (size_t i = 0; i < cases.n; i++) {
		if (cases.v[i].everywhere) {
			check_validate(&cases.v[i]);
			n++;
		}
	}
	assert_int_equal(wrong, 0);
	assert_true(n >= LEAST);
}

/* ---- the table itself ------------------------------------------------------------------------ */

/* Each rule that a case is refused by has an accepted case that comes near to it, and the other way round. */
static void test_both_sides(void **state)
{
	struct strlist refused = STRLIST_INIT, accepted = STRLIST_INIT;

	(void)state;
	for (size_t i = 0; i < cases.n; i++) {
		const struct json *row = cases.v[i].row;

		for (const struct json *f = json_first(json_get(row, "faults")); f;
		     f = json_next(f)) {
			cleanup(freep) char *rule = xstrdup(json_str(f));

			rule[strcspn(rule, " ")] = '\0';
			strlist_add_once(&refused, rule);
		}
		for (const struct json *a = json_first(json_get(row, "accepts")); a;
		     a = json_next(a)) {
			if (!cases.v[i].allowed)
				fail_msg("%s: a refused case accepts nothing", cases.v[i].id);
			strlist_add_once(&accepted, json_str(a));
		}
	}
	for (size_t i = 0; i < refused.n; i++) {
		if (!strlist_has(&accepted, refused.v[i]))
			fail_msg("no accepted case comes near to %s", refused.v[i]);
	}
	for (size_t i = 0; i < accepted.n; i++) {
		if (!strlist_has(&refused, accepted.v[i]))
			fail_msg("no case is refused by %s", accepted.v[i]);
	}
	strlist_done(&refused);
	strlist_done(&accepted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_sides), cmocka_unit_test(test_validate),
		cmocka_unit_test(test_reviews), /* last: it fills the cases' defaults in */
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
