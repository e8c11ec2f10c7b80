#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/celld/table_load.h"
#include "common/json.h"
#include "common/kube/file.h"
#include "common/limits.h"
#include "webhook/review.h"

enum { GOLDEN_FILES = 38, BIG = 16 << 20 };

static const char golden[] = "test/golden/review";
static js_ctx scan;

static const struct {
	const char *name;
	enum review_endpoint endpoint;
} endpoints[] = {
	{ "mutate-workerapp", REVIEW_MUTATE_WORKERAPP },
	{ "validate-workerapp", REVIEW_VALIDATE_WORKERAPP },
	{ "validate-workerapp-scale", REVIEW_VALIDATE_SCALE },
	{ "validate-celldobjectstore", REVIEW_VALIDATE_STORE },
};

static struct review_result ask(enum review_endpoint endpoint, const char *body, size_t len,
				struct buf *answer)
{
	struct review_facts facts = { .rules = { .table = celld_table_builtin() } };
	cleanup(freep) char *padded = xcalloc(1, len + JS_PAD);

	memcpy(padded, body, len);
	buf_init(answer, BIG);
	return review_answer(endpoint, &scan, padded, len, &facts, answer);
}

static struct json *parse(const char *text, size_t len)
{
	struct json *j = NULL;
	struct err e = ERR_INIT;

	if (json_parse(text, len, &j, &e))
		fail_msg("%s in: %.300s", e.message, text);
	return j;
}

/* ---- golden reviews -------------------------------------------------------------------------- */

static enum review_endpoint endpoint_named(const char *name)
{
	for (size_t i = 0; i < array_len(endpoints); i++) {
		if (str_eq(endpoints[i].name, name))
			return endpoints[i].endpoint;
	}
	fail_msg("no endpoint %s", name);
	return REVIEW_MUTATE_WORKERAPP;
}

static const char *verdict_text(enum review_verdict v)
{
	return v == REVIEW_ALLOWED ? "allowed" : v == REVIEW_DENIED ? "denied" : "broken";
}

/* The fields that the causes name, in their order. */
static void expect_fields(const char *file, const struct json *answer, const struct json *want)
{
	const struct json *causes =
		json_path(answer, "response", "status", "details", "causes", NULL);
	cleanup_json struct json *got = json_new_array();

	for (const struct json *c = json_first(causes); c; c = json_next(c))
		json_add_str(got, json_get_str(c, "field"));
	if (!json_equal(got, want)) {
		cleanup(freep) char *text = json_text(answer);

		fail_msg("%s: other fields in %s", file, text);
	}
}

static void check_golden(const char *file)
{
	cleanup(freep) char *path = xasprintf("%s/%s", golden, file), *text = NULL, *body = NULL;
	cleanup_json struct json *doc = NULL, *answer = NULL;
	struct err e = ERR_INIT;
	struct review_result r;
	struct buf got;

	if (file_read(path, BIG, &text, &e))
		fail_msg("%s", e.message);
	doc = parse(text, strlen(text));
	body = json_text(json_get(doc, "review"));
	r = ask(endpoint_named(json_get_str(doc, "endpoint")), body, strlen(body), &got);
	if (!str_eq(verdict_text(r.verdict), json_get_str(doc, "verdict")))
		fail_msg("%s: %s: %s", file, verdict_text(r.verdict), buf_str(&got));
	answer = parse(buf_str(&got), got.len);
	if (json_get(doc, "fields"))
		expect_fields(file, answer, json_get(doc, "fields"));
	else if (!json_equal(answer, json_get(doc, "answer")))
		fail_msg("%s: %s", file, buf_str(&got));
	buf_done(&got);
}

static void test_golden(void **state)
{
	DIR *d = opendir(golden);
	struct dirent *entry;
	int n = 0;

	(void)state;
	assert_non_null(d);
	while ((entry = readdir(d)) != NULL) {
		if (!str_ends(entry->d_name, ".json"))
			continue;
		check_golden(entry->d_name);
		n++;
	}
	(void)closedir(d);
	assert_int_equal(n, GOLDEN_FILES);
}

/* ---- bodies that are no review --------------------------------------------------------------- */

#define REVIEW(request)                                                                            \
	"{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/"                         \
	"v1\",\"request\":" request "}"

static void expect_broken(const char *body, size_t len, const char *why)
{
	for (size_t i = 0; i < array_len(endpoints); i++) {
		struct buf got;

		assert_int_equal(ask(endpoints[i].endpoint, body, len, &got).verdict,
				 REVIEW_BROKEN);
		if (!strstr(buf_str(&got), why))
			fail_msg("%.100s: %s", body, buf_str(&got));
		assert_true(got.len < 256);
		buf_done(&got);
	}
}

static void test_broken_reviews(void **state)
{
	static const struct {
		const char *body, *why;
	} cases[] = {
		{ "", "offset 0: not JSON" },
		{ "{", "not JSON" },
		{ "[]", "the body is not an AdmissionReview" },
		{ "null", "the body is not an AdmissionReview" },
		{ "{}", "the body is not an AdmissionReview" },
		{ "{\"kind\":\"AdmissionReview\",\"request\":{\"uid\":\"a\"}}",
		  "apiVersion is not" },
		{ "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1beta1\","
		  "\"request\":{\"uid\":\"a\",\"operation\":\"CREATE\"}}",
		  "apiVersion is not admission.k8s.io/v1, the only one" },
		{ "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"v9\",\"request\":{}}",
		  "apiVersion is not" },
		{ "{\"kind\":\"admissionReview\",\"apiVersion\":\"admission.k8s.io/v1\"}",
		  "the body is not an AdmissionReview" },
		{ "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1\"}",
		  "request is missing" },
		{ REVIEW("null"), "request is missing or not an object" },
		{ REVIEW("[]"), "request is missing or not an object" },
		{ REVIEW("{}"), "request.uid is missing" },
		{ REVIEW("{\"uid\":\"\",\"operation\":\"CREATE\"}"), "request.uid is missing" },
		{ REVIEW("{\"uid\":7,\"operation\":\"CREATE\"}"), "request.uid is missing" },
		{ REVIEW("{\"UID\":\"a\",\"operation\":\"CREATE\"}"), "request.uid is missing" },
		{ REVIEW("{\"uid\":\"a\"}"), "request.operation is missing" },
		{ REVIEW("{\"uid\":\"a\",\"operation\":null}"), "request.operation is missing" },
		{ REVIEW("{\"uid\":\"a\",\"operation\":\"CREATE\",\"subResource\":[]}"),
		  "request.subResource is not a string" },
		{ REVIEW("{\"uid\":\"a\",\"operation\":\"DELETE\"}") "x", "bytes after the value" },
		{ "\xef\xbb\xbf" REVIEW("{\"uid\":\"a\",\"operation\":\"DELETE\"}"), "not JSON" },
		{ REVIEW("{\"uid\":\"a\",\"operation\":\"DELETE\",\"name\":\"\xff\"}"),
		  "bad UTF-8" },
		{ REVIEW("{\"uid\":\"a\",\"operation\":\"DELETE\",\"name\":\"\\ud800\"}"),
		  "bad string or escape" },
		{ REVIEW("{\"uid\":\"a\",\"operation\":\"DELETE\",\"name\":\"a\\u0000b\"}"),
		  "\\u0000 in a string" },
		{ REVIEW("{\"uid\":\"a\",\"operation\":\"DELETE\",\"name\":01}"), "not JSON" },
		{ REVIEW("{\"uid\":\"a\",\"operation\":\"CREATE\",\"object\":{\"spec\":{"
			 "\"replicas\":3,\"replicas\":300}}}"),
		  "duplicate member name" },
		{ REVIEW("{\"uid\":\"a\",\"operation\":\"CREATE\",\"object\":{\"spec\":{},"
			 "\"sp\\u0065c\":{}}}"),
		  "duplicate member name" },
	};

	(void)state;
	for (size_t i = 0; i < array_len(cases); i++)
		expect_broken(cases[i].body, strlen(cases[i].body), cases[i].why);
}

static void test_depth_and_length(void **state)
{
	cleanup(freep) char *deep = xmalloc(100001), *uid = NULL, *body = NULL;

	(void)state;
	memset(deep, '[', 100000);
	deep[100000] = '\0';
	expect_broken(deep, 100000, "nested too deeply");
	memset(deep, 'u', 100000);
	uid = xstrndup(deep, 100000);
	body = xasprintf(REVIEW("{\"uid\":\"%s\",\"operation\":\"DELETE\"}"), uid);
	expect_broken(body, strlen(body), "request.uid is too long");
}

/* ---- answers --------------------------------------------------------------------------------- */

static void test_uid_goes_back_byte_for_byte(void **state)
{
	static const char *const uids[] = { "\"a7aa4dca-6f37-4e74-9041-c7de0a120c23\"",
					    "\"x\\\"y\"", "\"\\u00e9\xc3\xa9\\n\\/\"", "\" \"" };

	(void)state;
	for (size_t i = 0; i < array_len(uids); i++) {
		cleanup(freep) char *body =
			xasprintf(REVIEW("{ \"operation\":\"DELETE\", \"uid\" : %s }"), uids[i]);
		cleanup(freep) char *want = xasprintf(
			"{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\","
			"\"response\":{\"uid\":%s,\"allowed\":true}}\n",
			uids[i]);
		struct buf got;

		assert_int_equal(ask(REVIEW_VALIDATE_WORKERAPP, body, strlen(body), &got).verdict,
				 REVIEW_ALLOWED);
		assert_string_equal(buf_str(&got), want);
		buf_done(&got);
	}
}

#define APP(spec)                                                                                  \
	"{\"apiVersion\":\"celld-operator.io/v1alpha1\",\"kind\":\"WorkerApp\",\"metadata\":{"     \
	"\"name\":\"chat\",\"namespace\":\"shop\"},\"spec\":" spec "}"
#define CREATE(object)                                                                             \
	REVIEW("{\"uid\":\"u\",\"operation\":\"CREATE\",\"name\":\"chat\",\"namespace\":\"shop\"," \
	       "\"object\":" object ",\"oldObject\":null}")

/* Allowed or denied, in valid JSON of a bounded size; never broken. */
static struct json *judged(const char *body, enum review_verdict *ret)
{
	struct buf got;
	struct review_result r = ask(REVIEW_VALIDATE_WORKERAPP, body, strlen(body), &got);
	struct json *answer;
	const struct json *warnings;

	if (r.verdict == REVIEW_BROKEN)
		fail_msg("broken: %s: %.600s", buf_str(&got), body);
	answer = parse(buf_str(&got), got.len);
	assert_true(got.len < (size_t)4 * LIMIT_MESSAGE);
	if (r.verdict == REVIEW_DENIED) {
		const char *m =
			json_get_str(json_path(answer, "response", "status", NULL), "message");

		assert_non_null(m);
		assert_true(strlen(m) > 0 && strlen(m) <= LIMIT_MESSAGE);
		assert_true(json_len(json_path(answer, "response", "status", "details", "causes",
					       NULL)) > 0);
	}
	warnings = json_path(answer, "response", "warnings", NULL);
	for (const struct json *w = json_first(warnings); w; w = json_next(w))
		assert_true(strlen(json_str(w)) <= (size_t)4 * LIMIT_WARNING && *json_str(w));
	*ret = r.verdict;
	buf_done(&got);
	return answer;
}

static bool names_field(const struct json *answer, const char *field)
{
	const struct json *causes =
		json_path(answer, "response", "status", "details", "causes", NULL);

	for (const struct json *c = json_first(causes); c; c = json_next(c)) {
		if (str_eq(json_get_str(c, "field"), field))
			return true;
	}
	return false;
}

static void expect_denied(const char *body, const char *field)
{
	enum review_verdict verdict;
	cleanup_json struct json *answer = judged(body, &verdict);

	if (verdict != REVIEW_DENIED || !names_field(answer, field)) {
		cleanup(freep) char *text = json_text(answer);

		fail_msg("%s not named: %s", field, text);
	}
}

static void expect_denied_spec(const char *spec_members, const char *field)
{
	cleanup(freep) char *body = xasprintf(
		CREATE(APP("{\"appVersion\":\"v1\",\"celld\":{\"image\":\"celld:v0.6.2\"},"
			   "\"bucket\":{\"name\":\"s3://cells/chat\"},%s}")),
		spec_members);

	expect_denied(body, field);
}

static char *text_of_app(const char *pad, int replicas)
{
	struct buf b;

	buf_init(&b, BIG);
	buf_puts(&b, "{\"apiVersion\":\"celld-operator.io/v1alpha1\",\"kind\":\"WorkerApp\","
		     "\"metadata\":{\"name\":\"chat\",\"annotations\":{\"a\":\"");
	buf_puts(&b, pad);
	buf_puts(&b, "\"}},\"spec\":{\"appVersion\":\"v1\",\"celld\":{\"image\":\"celld:v0.6.2\"},"
		     "\"bucket\":{\"name\":\"s3://cells/chat\"},\"replicas\":");
	buf_printf(&b, "%d}}", replicas);
	return buf_take(&b);
}

static char *text_of_update(const char *object, const char *old)
{
	struct buf b;

	buf_init(&b, BIG);
	buf_puts(&b, "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1\","
		     "\"request\":{\"uid\":\"u\",\"operation\":\"UPDATE\",\"object\":");
	buf_puts(&b, object);
	buf_puts(&b, ",\"oldObject\":");
	buf_puts(&b, old);
	buf_puts(&b, "}}");
	return buf_take(&b);
}

/* Two objects of 3 MiB each, the most that the API server sends. */
static void test_two_large_objects(void **state)
{
	cleanup(freep) char *pad = xcalloc(1, (3 << 20) + 1), *old = NULL, *app = NULL,
			    *body = NULL;
	enum review_verdict verdict;
	cleanup_json struct json *answer = NULL;

	(void)state;
	memset(pad, 'x', 3 << 20);
	old = text_of_app(pad, 3);
	app = text_of_app(pad, 0);
	body = text_of_update(app, old);
	answer = judged(body, &verdict);
	assert_int_equal(verdict, REVIEW_DENIED);
	assert_true(names_field(answer, "spec.replicas"));
}

static void test_wrong_types_are_denied_with_their_path(void **state)
{
	(void)state;
	expect_denied(
		CREATE("{\"apiVersion\":\"celld-operator.io/v1alpha1\",\"kind\":\"WorkerApp\","
		       "\"metadata\":{\"name\":\"chat\"}}"),
		"spec.appVersion");
	expect_denied(CREATE(APP("null")), "spec.appVersion");
	expect_denied(CREATE(APP("[]")), "spec");
	expect_denied(CREATE(APP("\"x\"")), "spec");
	expect_denied_spec("\"hostnames\":{}", "spec.hostnames");
	expect_denied_spec("\"autoscaling\":true", "spec.autoscaling");
	expect_denied_spec("\"service\":{\"annotations\":{\"a\":1}}",
			   "spec.service.annotations[a]");
	expect_denied(CREATE("[]"), "object");
	expect_denied(CREATE("\"x\""), "object");
	expect_denied(CREATE("null"), "object");
}

static void test_numbers(void **state)
{
	static const char *const bad[] = {
		"2147483648", "4294967299", "9007199254740993",
		"3.5",	      "-0.5",	    "\"3\"",
		"0",	      "-1",	    "999999999999999999999999999999"
	};

	(void)state;
	for (size_t i = 0; i < array_len(bad); i++) {
		cleanup(freep) char *member = xasprintf("\"replicas\":%s", bad[i]);

		expect_denied_spec(member, "spec.replicas");
	}
	/* no number at all in the one representation that there is */
	expect_denied_spec("\"replicas\":1E400", "object");
	expect_denied_spec("\"resources\":{\"memoryGi\":2097152}", "spec.resources.memoryGi");
}

static void test_hostile_text_stays_text(void **state)
{
	struct buf member = BUF_INIT(4096);

	(void)state;
	buf_puts(&member, "\"clusterDomain\":\"");
	for (int i = 0; i < 300; i++)
		buf_puts(&member, "\xf0\x9f\x98\x80");
	buf_putc(&member, '"');
	expect_denied_spec(buf_str(&member), "spec.clusterDomain");
	buf_done(&member);
	expect_denied_spec("\"clusterDomain\":\"%s%n%s%n\\\"\\n\\u001b[31m\"",
			   "spec.clusterDomain");
	expect_denied_spec("\"hostnames\":[\"\xd1\x87\xd0\xb0\xd1\x82.example.com\"]",
			   "spec.hostnames[0]");
}

/* Every fault is told, and still the answer is bounded. */
static void test_many_faults_are_bounded(void **state)
{
	struct buf spec;
	enum review_verdict verdict;
	cleanup(freep) char *body = NULL;
	cleanup_json struct json *answer = NULL;

	(void)state;
	buf_init(&spec, BIG);
	for (int i = 0; i < 2000; i++)
		buf_printf(&spec, "%s\"BAD_\xc3\xa9_%d\"", i ? "," : "", i);
	body = xasprintf(CREATE(APP("{\"hostnames\":[%s],\"replicas\":0}")), buf_str(&spec));
	answer = judged(body, &verdict);
	assert_int_equal(verdict, REVIEW_DENIED);
	assert_true(names_field(answer, "spec.hostnames"));
	buf_done(&spec);
}

/* managedFields may hold anything, and is not even built; metadata around it is. */
static void test_managed_fields_are_left_out(void **state)
{
	struct buf body;
	struct buf got;

	(void)state;
	buf_init(&body, BIG);
	buf_puts(&body, "{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1\","
			"\"request\":{\"uid\":\"u\",\"operation\":\"CREATE\",\"object\":{"
			"\"apiVersion\":\"celld-operator.io/v1alpha1\",\"kind\":\"WorkerApp\","
			"\"metadata\":{\"namespace\":\"shop\",\"managedFields\":[{");
	for (int i = 0; i < 50000; i++)
		buf_printf(&body, "%s\"k:{\\\"name\\\":\\\"%d\\\"}\":{\"f:x\":{}}", i ? "," : "",
			   i);
	buf_puts(&body,
		 "}],\"name\":\"1chat\"},\"spec\":{\"appVersion\":\"v1\",\"celld\":{"
		 "\"image\":\"celld:v0.6.2\"},\"bucket\":{\"name\":\"s3://cells/chat\"}}}}}");
	assert_true(buf_ok(&body));
	assert_int_equal(ask(REVIEW_VALIDATE_WORKERAPP, buf_str(&body), body.len, &got).verdict,
			 REVIEW_DENIED);
	assert_non_null(strstr(buf_str(&got), "\"field\":\"metadata.name\""));
	buf_done(&got);
	buf_done(&body);
}

/* ---- a thousand swaps of types --------------------------------------------------------------- */

static uint32_t seed;

static uint32_t next_random(uint32_t below)
{
	seed = seed * 1664525U + 1013904223U;
	return (seed >> 8) % below;
}

static struct json *odd_value(void)
{
	switch (next_random(9)) {
	case 0:
		return json_new_null();
	case 1:
		return json_new_bool(next_random(2));
	case 2:
		return json_new_number(-2.5);
	case 3:
		return json_new_int(9007199254740991);
	case 4:
		return json_new_str("");
	case 5:
		return json_new_str("%s%n\xf0\x9f\x98\x80\"\n");
	case 6:
		return json_new_array();
	case 7:
		return json_new_object();
	default: {
		struct json *a = json_new_array();

		json_add(a, json_new_null());
		json_add(a, json_new_int(5));
		return a;
	}
	}
}

/* Puts an odd value somewhere at or below a member of obj. */
static void swap_one(struct json *obj)
{
	for (;;) {
		const struct json *member = json_item(obj, next_random((uint32_t)json_len(obj)));
		cleanup(freep) char *name = xstrdup(json_name(member)); /* outlives the member */
		struct json *child = json_get_mutable(obj, name);

		if (json_kind(child) == JSON_OBJECT && json_len(child) && next_random(4)) {
			obj = child;
			continue;
		}
		json_set(obj, name, odd_value());
		return;
	}
}

static const char full_app[] = APP(
	"{\"hostnames\":[\"a.example.com\"],\"appVersion\":\"v1\",\"deploymentPolicy\":\"Restart\","
	"\"deployTrackingSecretRef\":\"t\",\"celld\":{\"image\":\"celld:v0.6.2\",\"version\":"
	"\"v0.6.2\",\"updateStrategy\":\"Rolling\",\"imagePullPolicy\":\"Always\","
	"\"imagePullSecrets\":[\"s\"]},\"replicas\":3,\"bucket\":{\"name\":\"s3://cells/chat\","
	"\"endpoint\":\"https://s3:9000\",\"allowHTTP\":false,\"region\":\"r\","
	"\"credentialsFrom\":{\"secretRef\":\"x\"}},\"resources\":{\"cpuMillis\":1,\"memoryGi\":1,"
	"\"ephemeralStorageGi\":1,\"maxResidentCells\":1,\"idleEvictSeconds\":1},\"storage\":{"
	"\"sizeGi\":1,\"storageClassName\":\"c\"},\"durability\":\"fleet\",\"scheduling\":{"
	"\"nodeSelector\":{\"a\":\"b\"},\"tolerations\":[{\"key\":\"k\"}],\"spreadAcrossZones\":"
	"true,\"priorityClassName\":\"p\"},\"service\":{\"type\":\"ClusterIP\",\"annotations\":{"
	"\"a\":\"b\"}},\"env\":[{\"name\":\"RUST_LOG\",\"value\":\"info\"},{\"name\":\"CELLD_X\","
	"\"secretKeyRef\":{\"name\":\"n\",\"key\":\"k\"}}],\"podLabels\":{\"a\":\"b\"},"
	"\"podAnnotations\":{\"a\":\"b\"},\"websockets\":true,\"trustForwardedHeaders\":true,"
	"\"networkPolicy\":{\"publicFrom\":[{\"podSelector\":{}}],\"egress\":{\"enabled\":true,"
	"\"extra\":[{}]}},\"ingress\":{\"path\":\"/\",\"pathType\":\"Prefix\",\"gatewayRefs\":[{"
	"\"name\":\"g\"}],\"annotations\":{\"a\":\"b\"}},\"autoscaling\":{\"enabled\":true,"
	"\"minReplicas\":3,\"maxReplicas\":5,\"targets\":{\"residentCellUtilization\":70,"
	"\"p95LatencyMs\":100}},\"telemetry\":{\"enabled\":true,\"sink\":\"otlp\","
	"\"otlpEndpoint\":\"http://x:4318\",\"retention\":\"30d\"},\"clusterDomain\":"
	"\"cluster.local\",\"maintenance\":{\"paused\":false,\"restartToken\":\"x\"}}");

static void test_random_type_swaps(void **state)
{
	int denied = 0;

	(void)state;
	for (uint32_t i = 0; i < 1000; i++) {
		cleanup_json struct json *app = parse(full_app, strlen(full_app));
		cleanup_json struct json *old = json_dup(app), *answer = NULL;
		cleanup(freep) char *body = NULL, *a = NULL, *o = NULL;
		enum review_verdict verdict;

		seed = i;
		swap_one(app);
		if (i % 3 == 0)
			swap_one(old);
		a = json_text(app);
		o = json_text(old);
		body = xasprintf(REVIEW("{\"uid\":\"u\",\"operation\":\"%s\",\"object\":%s,"
					"\"oldObject\":%s}"),
				 i % 2 ? "CREATE" : "UPDATE", a, o);
		answer = judged(body, &verdict);
		denied += !json_get_bool(json_get(answer, "response"), "allowed", true);
		assert_true(verdict == REVIEW_ALLOWED || verdict == REVIEW_DENIED);
	}
	assert_true(denied > 300);
}

static int setup(void **state)
{
	(void)state;
	return js_ctx_init(&scan, LIMIT_JSON_KEYS);
}

static int teardown(void **state)
{
	(void)state;
	js_ctx_free(&scan);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_broken_reviews),
		cmocka_unit_test(test_depth_and_length),
		cmocka_unit_test(test_uid_goes_back_byte_for_byte),
		cmocka_unit_test(test_wrong_types_are_denied_with_their_path),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_hostile_text_stays_text),
		cmocka_unit_test(test_many_faults_are_bounded),
		cmocka_unit_test(test_managed_fields_are_left_out),
		cmocka_unit_test(test_two_large_objects),
		cmocka_unit_test(test_random_type_swaps),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
