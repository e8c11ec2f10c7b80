/* What a review answers where a platform has defaults and a policy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "common/celld/table_load.h"
#include "common/codec.h"
#include "common/json.h"
#include "common/workerapp_defaults_load.h"
#include "webhook/review.h"

static js_ctx scan;
static struct workerapp_defaults defaults;
static struct policy policy;

static int set_up(void **state)
{
	static const char text[] = "defaults: {celld: {image: 'r.io/celld:v0.6.2'}, podLabels: "
				   "{a.b/c: d}}";
	struct err e = ERR_INIT;

	(void)state;
	return js_ctx_init(&scan, 1 << 20) ||
	       workerapp_defaults_load(text, strlen(text), "d", celld_table_builtin(), &defaults,
				       &e) ||
	       policy_add(&policy, POLICY_IMAGE, "r.io/", &e);
}

static int tear_down(void **state)
{
	(void)state;
	js_ctx_free(&scan);
	workerapp_defaults_done(&defaults);
	policy_done(&policy);
	return 0;
}

/* request: members behind the uid, with ' in the place of ". */
static struct json *ask(enum review_endpoint endpoint, const struct workerapp_defaults *d,
			const char *request)
{
	struct review_facts facts = {
		.rules = { .table = celld_table_builtin(), .policy = &policy }, .defaults = d
	};
	cleanup(freep) char *body = xasprintf(
		"{'kind':'AdmissionReview','apiVersion':'admission.k8s.io/v1','request':{'uid':'u',"
		"'name':'chat','namespace':'shop',%s}}%*s",
		request, JS_PAD, "");
	size_t len = strlen(body) - JS_PAD;
	struct json *answer = NULL;
	struct err e = ERR_INIT;
	struct buf text;

	for (char *c = body; *c; c++) {
		if (*c == '\'')
			*c = '"';
	}
	memset(body + len, 0, JS_PAD);
	buf_init(&text, 1 << 20);
	(void)review_answer(endpoint, &scan, body, len, &facts, &text);
	if (json_parse(buf_str(&text), text.len, &answer, &e))
		fail_msg("%s: %s", e.message, buf_str(&text));
	buf_done(&text);
	return answer;
}

#define APP(metadata, spec)                                                                        \
	"{'apiVersion':'celld-operator.io/v1alpha1','kind':'WorkerApp','metadata':{'name':'chat'"  \
	"," metadata "'x':1},'spec':{" spec                                                        \
	"'appVersion':'v1','bucket':{'name':'s3://cells/chat'}}}"
#define FILLED                                                                                     \
	"'annotations':{'celld-operator.io/defaulted':'spec.celld.image,spec.podLabels[a.b/c]'},"

#define LABELLED "'podLabels':{'a.b/c':'d'},"

static void patch_is(const char *request, const struct workerapp_defaults *d, const char *want)
{
	cleanup_json struct json *answer = ask(REVIEW_MUTATE_WORKERAPP, d, request);
	const struct json *response = json_get(answer, "response");
	const char *patch = json_get_str(response, "patch");
	cleanup(freep) char *ops = NULL;
	size_t n = 0;

	assert_true(json_get_bool(response, "allowed", false));
	if (!want) {
		assert_null(json_get(response, "patch"));
		assert_null(json_get(response, "patchType"));
		return;
	}
	assert_string_equal(json_get_str(response, "patchType"), "JSONPatch");
	ops = (char *)codec_base64_decode(patch, strlen(patch), &n);
	assert_non_null(ops);
	assert_string_equal(ops, want);
}

static void test_patch(void **state)
{
	(void)state;
	patch_is("'operation':'CREATE','object':" APP("", ""), &defaults,
		 "[{\"op\":\"add\",\"path\":\"/spec/celld\",\"value\":{}},"
		 "{\"op\":\"add\",\"path\":\"/spec/celld/image\",\"value\":\"r.io/celld:v0.6.2\"},"
		 "{\"op\":\"add\",\"path\":\"/spec/podLabels\",\"value\":{}},"
		 "{\"op\":\"add\",\"path\":\"/spec/podLabels/a.b~1c\",\"value\":\"d\"},"
		 "{\"op\":\"add\",\"path\":\"/metadata/annotations\",\"value\":{}},"
		 "{\"op\":\"add\",\"path\":\"/metadata/annotations/celld-operator.io~1defaulted\","
		 "\"value\":\"spec.celld.image,spec.podLabels[a.b/c]\"}]");
	/* A stored app keeps its value, with or without defaults of today. */
	patch_is(
		"'operation':'UPDATE','object':" APP(FILLED, LABELLED) ",'oldObject':" APP(
			FILLED, "'celld':{'image':'r.io/celld:v0.6.1'}," LABELLED),
		NULL,
		"[{\"op\":\"add\",\"path\":\"/spec/celld\",\"value\":{}},"
		"{\"op\":\"add\",\"path\":\"/spec/celld/image\",\"value\":\"r.io/celld:v0.6.1\"}]");
}

static void test_no_patch(void **state)
{
	static const char app[] = "'object':" APP("", "");
	static const struct {
		const char *before, *after;
	} others[] = {
		{ "'operation':'CREATE','subResource':'status',", "" },
		{ "'operation':'CREATE','subResource':'scale',", "" },
		{ "'operation':'DELETE',", "" },
		{ "'operation':'CONNECT',", "" },
		{ "'operation':'FOO',", "" },
		{ "'operation':'UPDATE',", ",'oldObject':" APP("", "'replicas':3,") },
	};

	(void)state;
	for (size_t i = 0; i < array_len(others); i++) {
		cleanup(freep) char *request =
			xasprintf("%s%s%s", others[i].before, app, others[i].after);

		patch_is(request, &defaults, NULL);
	}
	patch_is("'operation':'CREATE','object':" APP("", ""), NULL, NULL);
	patch_is("'operation':'CREATE','object':null", &defaults, NULL);
	patch_is("'operation':'CREATE','object':{'spec':7}", &defaults, NULL);
	patch_is("'operation':'UPDATE','oldObject':null,'object':" APP(FILLED, ""), &defaults,
		 NULL);
	patch_is("'operation':'UPDATE','object':" APP(
			 "'deletionTimestamp':'2026-01-01T00:00:00Z'," FILLED,
			 "") ",'oldObject':" APP(FILLED, "'celld':{'image':'i'},"),
		 &defaults, NULL);
}

static int64_t code_of(const char *request)
{
	cleanup_json struct json *answer = ask(REVIEW_VALIDATE_WORKERAPP, NULL, request);
	int64_t code = 0;

	(void)json_get_int(json_path(answer, "response", "status", NULL), "code", &code);
	return code;
}

/* What policy forbids is 403; with any other fault it is 422, and a stored app's own is forgiven. */
static void test_policy(void **state)
{
	(void)state;
	assert_int_equal(code_of("'operation':'CREATE','object':" APP(
				 "", "'celld':{'image':'r.io/celld:v0.6.2'},")),
			 0);
	assert_int_equal(code_of("'operation':'CREATE','object':" APP(
				 "", "'celld':{'image':'q.io/celld:v0.6.2'},")),
			 403);
	assert_int_equal(code_of("'operation':'CREATE','object':" APP(
				 "", "'replicas':0,'celld':{'image':'q.io/celld:v0.6.2'},")),
			 422);
	assert_int_equal(
		code_of("'operation':'UPDATE','object':" APP(
			"",
			"'replicas':4,'celld':{'image':'q.io/celld:v0.6.2'},") ",'oldObject'"
									       ":" APP("",
										       "'celld':{'"
										       "image':'q."
										       "io/"
										       "celld:v0.6."
										       "2'},")),
		0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_patch),
		cmocka_unit_test(test_no_patch),
		cmocka_unit_test(test_policy),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
