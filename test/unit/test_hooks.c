#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "certs/hooks.h"
#include "common/codec.h"
#include "common/json.h"

#define NOW INT64_C(1795946400000)
#define DAY INT64_C(86400000)

static const struct hooks_service service = { "ns", "hook" };
static struct issue_pair mine, stranger, ended;
static struct bundle wanted;
static char *mine64, *stranger64, *ended64;

static char *encoded(const char *pem)
{
	return codec_base64_encode(pem, strlen(pem));
}

static int set_up(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(issue_ca(NOW, 10 * DAY, &mine, &e), 0);
	assert_int_equal(issue_ca(NOW, 10 * DAY, &stranger, &e), 0);
	assert_int_equal(issue_ca(NOW - 10 * DAY, 5 * DAY, &ended, &e), 0);
	bundle_add(&wanted, mine.cert);
	mine64 = encoded(mine.cert);
	stranger64 = encoded(stranger.cert);
	ended64 = encoded(ended.cert);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	issue_pair_done(&mine);
	issue_pair_done(&stranger);
	issue_pair_done(&ended);
	bundle_done(&wanted);
	free(mine64);
	free(stranger64);
	free(ended64);
	return 0;
}

#define SERVICE(ns, name) "\"service\":{\"namespace\":\"" ns "\",\"name\":\"" name "\"}"

/* Two webhooks of ours around one of another Service and one with a URL. bundles: base64, of ours. */
static struct json *configuration(const char *first, const char *second)
{
	cleanup(freep) char *text = xasprintf(
		"{\"metadata\":{\"resourceVersion\":\"12\"},\"webhooks\":["
		"{\"name\":\"a.ours\",\"clientConfig\":{" SERVICE(
			"ns",
			"hook") "%s%s%s}},"
				"{\"name\":\"b.other\",\"clientConfig\":{" SERVICE(
					"ns",
					"other") ",\"caBundle\":\"\"}},"
						 "{\"name\":\"c.other\",\"clientConfig\":{" SERVICE(
							 "other",
							 "hook") "}},"
								 "{\"name\":\"d.url\","
								 "\"clientConfig\":{\"url\":"
								 "\"https://x\"}},"
								 "{\"name\":\"e.ours\","
								 "\"clientConfig\":{" SERVICE(
									 "ns",
									 "hook") ",\"caBundle\":\"%"
										 "s\"}}]}",
		first ? ",\"caBundle\":\"" : "", first ? first : "", first ? "\"" : "", second);
	struct json *j = NULL;
	struct err e = ERR_INIT;

	assert_int_equal(json_parse(text, strlen(text), &j, &e), 0);
	return j;
}

static struct hooks_state looked(const struct json *c)
{
	struct hooks_state s = { .n = 0 };

	hooks_look(c, &service, &wanted, &s);
	return s;
}

static void test_in_order(void **state)
{
	cleanup_json struct json *c = configuration(mine64, mine64);
	struct hooks_state s = looked(c);

	(void)state;
	assert_int_equal(s.n, 2);
	assert_false(s.missing);
	assert_false(s.strangers);
	assert_null(hooks_patch(c, &service, &wanted, false, NOW));
	assert_null(hooks_patch(c, &service, &wanted, true, NOW));
}

static void test_no_configuration(void **state)
{
	struct hooks_state s = looked(NULL);

	(void)state;
	assert_int_equal(s.n, 0);
	assert_false(s.missing);
	assert_null(hooks_patch(NULL, &service, &wanted, false, NOW));
}

static void expect_op(const struct json *patch, size_t i, const char *op, const char *path,
		      const char *value)
{
	const struct json *o = json_item(patch, i);

	assert_string_equal(json_get_str(o, "op"), op);
	assert_string_equal(json_get_str(o, "path"), path);
	if (value)
		assert_string_equal(json_get_str(o, "value"), value);
}

/* The certificates of the i-th operation's value. */
static struct bundle value_of(const struct json *patch, size_t i)
{
	const char *text = json_get_str(json_item(patch, i), "value");
	struct bundle b = BUNDLE_INIT;
	size_t n;
	cleanup(freep) unsigned char *pem = codec_base64_decode(text, strlen(text), &n);

	bundle_add(&b, (char *)pem);
	return b;
}

static void test_emptied_bundles_are_filled(void **state)
{
	cleanup_json struct json *c = configuration(NULL, "");
	cleanup_json struct json *patch = hooks_patch(c, &service, &wanted, true, NOW);
	cleanup_bundle struct bundle b = value_of(patch, 2);

	(void)state;
	assert_true(looked(c).missing);
	assert_int_equal(json_len(patch), 5);
	expect_op(patch, 0, "test", "/metadata/resourceVersion", "12");
	expect_op(patch, 1, "test", "/webhooks/0/name", "a.ours");
	expect_op(patch, 2, "add", "/webhooks/0/clientConfig/caBundle", NULL);
	expect_op(patch, 3, "test", "/webhooks/4/name", "e.ours");
	expect_op(patch, 4, "add", "/webhooks/4/clientConfig/caBundle", NULL);
	assert_int_equal(b.n, 1);
	assert_true(bundle_covers(&b, &wanted));
}

static void test_strangers(void **state)
{
	cleanup_json struct json *c = configuration(mine64, stranger64);
	cleanup_json struct json *keep = hooks_patch(c, &service, &wanted, true, NOW);
	cleanup_json struct json *drop = hooks_patch(c, &service, &wanted, false, NOW);
	cleanup_bundle struct bundle kept = value_of(keep, 2), left = value_of(drop, 2);
	struct hooks_state s = looked(c);

	(void)state;
	assert_true(s.missing);
	assert_true(s.strangers);
	assert_int_equal(json_len(keep), 3); /* the first is in order */
	expect_op(keep, 1, "test", "/webhooks/4/name", "e.ours");
	assert_int_equal(kept.n, 2);
	assert_int_equal(left.n, 1);
	assert_true(bundle_covers(&left, &wanted));
}

static void test_what_has_ended_is_not_kept(void **state)
{
	cleanup_json struct json *c = configuration(mine64, ended64);
	cleanup_json struct json *keep = hooks_patch(c, &service, &wanted, true, NOW);
	cleanup_bundle struct bundle kept = value_of(keep, 2);

	(void)state;
	assert_int_equal(kept.n, 1);
	assert_true(bundle_covers(&kept, &wanted));
}

static void test_nonsense_is_replaced(void **state)
{
	cleanup_json struct json *c =
		configuration(mine64, "Cg=="); /* a newline: Helm's empty value */
	cleanup_json struct json *patch = hooks_patch(c, &service, &wanted, true, NOW);

	(void)state;
	assert_true(looked(c).missing);
	assert_int_equal(json_len(patch), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_order),
		cmocka_unit_test(test_no_configuration),
		cmocka_unit_test(test_emptied_bundles_are_filled),
		cmocka_unit_test(test_strangers),
		cmocka_unit_test(test_what_has_ended_is_not_kept),
		cmocka_unit_test(test_nonsense_is_replaced),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
