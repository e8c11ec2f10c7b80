#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "certs/authority.h"
#include "common/json.h"

#define NOW INT64_C(1795946400000) /* 2026-11-29T10:00:00Z */
#define DAY INT64_C(86400000)

static const struct authority_lives lives = { 365 * DAY, 7 * DAY };
static struct strlist names = STRLIST_INIT;

static int set_up(void **state)
{
	(void)state;
	strlist_add(&names, "hook.ns.svc");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	strlist_done(&names);
	return 0;
}

static struct authority fresh(void)
{
	struct authority s = { .old = NULL };
	struct err e = ERR_INIT;

	assert_int_equal(authority_replace(&s, &names, NOW, &lives, &e), 0);
	return s;
}

static struct plan_facts judged(const struct authority *s, int64_t now)
{
	struct plan_facts f = { .secret = true };

	authority_judge(s, &names, now, &f);
	return f;
}

static struct json *parsed(const char *text)
{
	struct json *j = NULL;
	struct err e = ERR_INIT;

	assert_int_equal(json_parse(text, strlen(text), &j, &e), 0);
	return j;
}

static const char *at(const struct json *j, const char *a, const char *b)
{
	return json_str(json_path(j, a, b, NULL));
}

static void test_a_new_object(void **state)
{
	cleanup_authority struct authority s = fresh(), back = { .old = NULL };
	cleanup_json struct json *o = authority_write(&s, NULL, "ns", "cert");

	(void)state;
	assert_string_equal(json_get_str(o, "apiVersion"), "v1");
	assert_string_equal(json_get_str(o, "kind"), "Secret");
	assert_string_equal(at(o, "metadata", "namespace"), "ns");
	assert_string_equal(at(o, "metadata", "name"), "cert");
	assert_int_equal(json_len(json_get(o, "data")), 4);
	authority_read(o, &back);
	assert_string_equal(back.ca.cert, s.ca.cert);
	assert_string_equal(back.ca.key, s.ca.key);
	assert_string_equal(back.leaf.cert, s.leaf.cert);
	assert_string_equal(back.leaf.key, s.leaf.key);
	assert_null(back.next.cert);
	assert_null(back.old);
	assert_int_equal(back.ask, PLAN_ASK_NOTHING);
}

static void test_what_others_wrote_stays(void **state)
{
	cleanup_authority struct authority s = fresh();
	cleanup_json struct json *before = parsed(
		"{\"metadata\":{\"resourceVersion\":\"7\",\"labels\":{\"a\":\"b\"},"
		"\"managedFields\":[],"
		"\"annotations\":{\"x\":\"y\",\"celld-operator.io/renew\":\"ca\"}},"
		"\"type\":\"Opaque\",\"data\":{\"mine\":\"MQ==\",\"ca-next.crt\":\"MQ==\"}}");
	cleanup_json struct json *o = NULL;
	struct json *notes;

	(void)state;
	o = authority_write(&s, before, "ns", "cert");
	assert_string_equal(at(o, "metadata", "resourceVersion"), "7");
	assert_string_equal(at(o, "data", "mine"), "MQ==");
	assert_null(at(o, "data", "ca-next.crt"));
	assert_null(json_path(o, "metadata", "managedFields", NULL));
	assert_string_equal(json_str(json_path(o, "metadata", "labels", "a", NULL)), "b");
	notes = json_get_mutable(json_get_mutable(o, "metadata"), "annotations");
	assert_int_equal(json_len(notes), 1);
	assert_string_equal(json_get_str(notes, "x"), "y");
}

static void test_what_is_asked(void **state)
{
	static const struct {
		const char *text;
		enum plan_ask ask;
	} cases[] = { { "ca", PLAN_ASK_CA },
		      { "leaf", PLAN_ASK_LEAF },
		      { "now", PLAN_ASK_LEAF },
		      { "", PLAN_ASK_NOTHING } };

	(void)state;
	for (size_t i = 0; i < array_len(cases); i++) {
		cleanup(freep) char *text = xasprintf(
			"{\"metadata\":{\"annotations\":{\"celld-operator.io/renew\":\"%s\"}}}",
			cases[i].text);
		cleanup_json struct json *o = parsed(text);
		cleanup_authority struct authority s = { .old = NULL };

		authority_read(o, &s);
		assert_int_equal(s.ask, cases[i].ask);
	}
}

static void test_an_empty_or_broken_object(void **state)
{
	cleanup_json struct json *o = parsed("{\"data\":{\"ca.crt\":\"%%\",\"tls.crt\":\"MQ==\"}}");
	cleanup_authority struct authority s = { .old = NULL };
	struct plan_facts f;

	(void)state;
	authority_read(o, &s);
	assert_null(s.ca.cert);
	f = judged(&s, NOW);
	assert_int_equal(f.ca, PLAN_NONE);
	assert_int_equal(f.next, PLAN_NONE);
	assert_int_equal(f.leaf, PLAN_BROKEN);
	assert_false(f.old);
}

static void test_lives(void **state)
{
	cleanup_authority struct authority s = fresh();
	/* leaf: 7 d, due at 4 d 16 h; authority: 365 d, due at 243 d 8 h */
	static const struct {
		int64_t at;
		enum plan_pair ca, leaf;
	} cases[] = {
		{ NOW, PLAN_GOOD, PLAN_GOOD },
		{ NOW - DAY, PLAN_EARLY, PLAN_EARLY },
		{ NOW + 112 * INT64_C(3600000) - 1000, PLAN_GOOD, PLAN_GOOD },
		{ NOW + 112 * INT64_C(3600000), PLAN_GOOD, PLAN_DUE },
		{ NOW + 7 * DAY - 1000, PLAN_GOOD, PLAN_DUE },
		{ NOW + 7 * DAY, PLAN_GOOD, PLAN_ENDED },
		{ NOW + 243 * DAY, PLAN_GOOD, PLAN_ENDED },
		{ NOW + 244 * DAY, PLAN_DUE, PLAN_ENDED },
		{ NOW + 365 * DAY, PLAN_ENDED, PLAN_ENDED },
	};

	(void)state;
	for (size_t i = 0; i < array_len(cases); i++) {
		struct plan_facts f = judged(&s, cases[i].at);

		assert_int_equal(f.ca, cases[i].ca);
		assert_int_equal(f.leaf, cases[i].leaf);
	}
}

static void test_what_does_not_go_together(void **state)
{
	cleanup_authority struct authority s = fresh(), other = fresh();
	struct strlist more = STRLIST_INIT;
	struct plan_facts f;
	char *key;

	(void)state;
	key = s.leaf.key;
	s.leaf.key = other.leaf.key; /* half an update */
	assert_int_equal(judged(&s, NOW).leaf, PLAN_BROKEN);
	s.leaf.key = key;
	key = s.ca.key;
	s.ca.key = other.ca.key;
	f = judged(&s, NOW);
	assert_int_equal(f.ca, PLAN_KEYLESS);
	assert_int_equal(f.leaf, PLAN_GOOD);
	s.ca.key = key;
	s.ca.cert[strlen(s.ca.cert) / 2] = '\0'; /* cut off */
	f = judged(&s, NOW);
	assert_int_equal(f.ca, PLAN_BROKEN);
	assert_int_equal(f.leaf, PLAN_BROKEN);
	strlist_add(&more, "renamed.ns.svc");
	authority_judge(&other, &more, NOW, &f);
	assert_int_equal(f.leaf, PLAN_BROKEN);
	strlist_done(&more);
}

static void test_a_rotation(void **state)
{
	cleanup_authority struct authority s = fresh(), first = { .old = NULL };
	cleanup_bundle struct bundle b = BUNDLE_INIT, one = BUNDLE_INIT;
	struct err e = ERR_INIT;
	int64_t later = NOW + DAY;
	struct plan_facts f;

	(void)state;
	s.ask = PLAN_ASK_CA;
	authority_copy(&first, &s);
	assert_int_equal(authority_stage(&s, later, &lives, &e), 0);
	assert_int_equal(s.ask, PLAN_ASK_NOTHING);
	assert_string_equal(s.ca.cert, first.ca.cert);
	assert_string_equal(s.leaf.cert, first.leaf.cert);
	authority_bundle(&s, later, &b);
	assert_int_equal(b.n, 2);

	assert_int_equal(authority_promote(&s, &names, later, &lives, &e), 0);
	f = judged(&s, later);
	assert_int_equal(f.ca, PLAN_GOOD);
	assert_int_equal(f.next, PLAN_NONE);
	assert_int_equal(f.leaf, PLAN_GOOD);
	assert_true(f.old && !f.old_over);
	assert_string_not_equal(s.ca.cert, first.ca.cert);
	bundle_add(&one, first.ca.cert);
	bundle_done(&b);
	authority_bundle(&s, later, &b);
	assert_int_equal(b.n, 2);
	assert_true(bundle_covers(&b, &one));
	/* kept until the last leaf that the old one signed has ended */
	assert_true(s.old_until_ms == NOW + 7 * DAY);
	assert_false(judged(&s, NOW + 7 * DAY - 1000).old_over);
	assert_true(judged(&s, NOW + 7 * DAY).old_over);

	cleanup_json struct json *o = authority_write(&s, NULL, "ns", "cert");
	cleanup_authority struct authority back = { .old = NULL };

	assert_string_equal(json_str(json_path(o, "metadata", "annotations",
					       "celld-operator.io/retire-old-ca-after", NULL)),
			    "2026-12-06T10:00:00Z");
	authority_read(o, &back);
	assert_true(back.old_until_ms == s.old_until_ms);
	assert_string_equal(back.old, s.old);

	authority_retire(&s);
	assert_false(judged(&s, later).old);
}

/* Two rotations before the first old authority may go. */
static void test_rotations_in_a_hurry(void **state)
{
	cleanup_authority struct authority s = fresh();
	cleanup_bundle struct bundle b = BUNDLE_INIT;
	struct err e = ERR_INIT;

	(void)state;
	for (int i = 1; i <= 2; i++) {
		assert_int_equal(authority_stage(&s, NOW + i, &lives, &e), 0);
		assert_int_equal(authority_promote(&s, &names, NOW + i, &lives, &e), 0);
	}
	authority_bundle(&s, NOW, &b);
	assert_int_equal(b.n, 3);
}

static void test_renewing(void **state)
{
	cleanup_authority struct authority s = fresh(), first = { .old = NULL };
	struct err e = ERR_INIT;

	(void)state;
	authority_copy(&first, &s);
	s.ask = PLAN_ASK_LEAF;
	assert_int_equal(authority_renew(&s, &names, NOW + 5 * DAY, &lives, &e), 0);
	assert_string_equal(s.ca.cert, first.ca.cert);
	assert_string_not_equal(s.leaf.cert, first.leaf.cert);
	assert_int_equal(s.ask, PLAN_ASK_NOTHING);
	assert_int_equal(judged(&s, NOW + 5 * DAY).leaf, PLAN_GOOD);
	free(take(s.ca.key));
	assert_int_equal(authority_renew(&s, &names, NOW, &lives, &e), -ERR_INVALID);
	assert_int_equal(authority_promote(&s, &names, NOW, &lives, &e), -ERR_INVALID);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_new_object),
		cmocka_unit_test(test_what_others_wrote_stays),
		cmocka_unit_test(test_what_is_asked),
		cmocka_unit_test(test_an_empty_or_broken_object),
		cmocka_unit_test(test_lives),
		cmocka_unit_test(test_what_does_not_go_together),
		cmocka_unit_test(test_a_rotation),
		cmocka_unit_test(test_rotations_in_a_hurry),
		cmocka_unit_test(test_renewing),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
