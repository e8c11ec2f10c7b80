/*
 * Random WorkerApps near the rules' edges through the nets that an object passes: webhook, offline check, controller.
 * They never contradict each other. SEED=N takes another seed, SOAK=1 a hundred times as many, NETS_OUT=FILE writes
 * the first 500 with their verdicts, for a fourth net, the schema (test/e2e/more/26-admission-table.sh).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/validate.h"
#include "common/celld/table_load.h"
#include "controller/verdict.h"
#include "test/lib/random_app.h"
#include "webhook/review.h"

enum { APPS = 10000, SOAK = 100, WRITTEN = 500, BIG = 1 << 20 };

static js_ctx scan;
static uint64_t seed = 20261130;
static uint64_t count = APPS;

static int set_up(void **state)
{
	const char *s = getenv("SEED");

	(void)state;
	if (s)
		seed = strtoull(s, NULL, 10);
	if (getenv("SOAK"))
		count = (uint64_t)APPS * SOAK;
	print_message("SEED=%" PRIu64 ", %" PRIu64 " apps\n", seed, count);
	return js_ctx_init(&scan, BIG);
}

static int tear_down(void **state)
{
	(void)state;
	js_ctx_free(&scan);
	return 0;
}

static bool webhook_allows(const char *object, const char *old)
{
	struct review_facts facts = { .rules = { .table = celld_table_builtin() } };
	cleanup(freep) char *body = xasprintf(
		"{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":{"
		"\"uid\":\"u\",\"operation\":\"%s\",\"name\":\"chat\",\"namespace\":\"acme\","
		"\"object\":%s,\"oldObject\":%s}}%*s",
		old ? "UPDATE" : "CREATE", object, old ? old : "null", JS_PAD, "");
	size_t len = strlen(body) - JS_PAD;
	struct review_result r;
	struct buf answer;

	memset(body + len, 0, JS_PAD);
	buf_init(&answer, BIG);
	r = review_answer(REVIEW_VALIDATE_WORKERAPP, &scan, body, len, &facts, &answer);
	if (r.verdict == REVIEW_BROKEN)
		fail_msg("%s: %s", buf_str(&answer), object);
	buf_done(&answer);
	return r.verdict == REVIEW_ALLOWED;
}

static bool validate_allows(const char *object)
{
	char *argv[] = { (char *)(uintptr_t) "validate", (char *)(uintptr_t) "-q",
			 (char *)(uintptr_t) "-", NULL };
	cleanup(freep) char *out = NULL, *err = NULL;
	size_t out_len = 0, err_len = 0;
	FILE *in = fmemopen((void *)(uintptr_t)object, strlen(object), "r");
	FILE *to = open_memstream(&out, &out_len), *log = open_memstream(&err, &err_len);
	int status = validate_run(3, argv, in, to, log);

	(void)fclose(in);
	(void)fclose(to);
	(void)fclose(log);
	if (status != 0 && status != 1)
		fail_msg("%d %s: %s", status, err, object);
	return status == 0;
}

static bool controller_allows(const struct json *object)
{
	struct verdict_input in = { .table = celld_table_builtin() };
	struct verdict v = { .spec_valid = false };
	struct faults faults = FAULTS_INIT;
	struct workerapp *app = NULL;
	struct err e = ERR_INIT;

	if (workerapp_parse(json_dup(object), &faults, &app, &e))
		fail_msg("%s", e.message);
	in.app = app;
	in.parse_faults = &faults;
	verdict_of_spec(&in, &v);
	workerapp_free(app);
	faults_done(&faults);
	return v.spec_valid;
}

static void test_creation(void **state)
{
	const char *file = getenv("NETS_OUT");
	FILE *to = file ? fopen(file, "we") : NULL;
	uint64_t allowed = 0;

	(void)state;
	assert_true(!file || to);
	for (uint64_t i = 0; i < count; i++) {
		cleanup_json struct json *app = random_app(seed, i);
		cleanup(freep) char *text = json_text(app);
		bool passes = webhook_allows(text, NULL);

		if (validate_allows(text) != passes)
			fail_msg("SEED=%" PRIu64 " %" PRIu64
				 ": the webhook %s, validate does not: %s",
				 seed, i, passes ? "allows" : "refuses", text);
		if (controller_allows(app) != passes)
			fail_msg("SEED=%" PRIu64 " %" PRIu64
				 ": the webhook %s, the controller does not: %s",
				 seed, i, passes ? "allows" : "refuses", text);
		if (to && i < WRITTEN)
			fprintf(to, "%s %s\n", passes ? "allowed" : "refused", text);
		allowed += passes;
	}
	if (to)
		assert_int_equal(fclose(to), 0);
	print_message("%" PRIu64 " allowed\n", allowed);
	/* Neither side is empty: the values lie near the edges. */
	assert_in_range(allowed, count / 20, count - count / 20);
}

/*
 * An update that is allowed from a sound object leaves a sound one: what it stores, the controller calls valid. And
 * an object is never refused as an update of itself.
 */
static void test_update(void **state)
{
	(void)state;
	for (uint64_t i = 0; i + 1 < count; i++) {
		cleanup_json struct json *old = random_app(seed, i), *app = random_app(seed, i + 1);
		cleanup(freep) char *old_text = NULL, *text = NULL;

		json_set(json_object_at(app, "metadata"), "name",
			 json_dup(json_path(old, "metadata", "name", NULL)));
		old_text = json_text(old);
		text = json_text(app);
		if (!webhook_allows(old_text, old_text))
			fail_msg("SEED=%" PRIu64 " %" PRIu64 ": refused as it stands: %s", seed, i,
				 old_text);
		if (controller_allows(old) && webhook_allows(text, old_text) &&
		    !controller_allows(app))
			fail_msg("SEED=%" PRIu64 " %" PRIu64 ": stored and invalid: %s", seed, i,
				 text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_creation),
		cmocka_unit_test(test_update),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
