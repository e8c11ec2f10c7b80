#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "certs/bundle.h"

#define NOW INT64_C(1795946400000)
#define DAY INT64_C(86400000)

static struct issue_pair a, b;

static int set_up(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(issue_ca(NOW, 10 * DAY, &a, &e), 0);
	assert_int_equal(issue_ca(NOW, 20 * DAY, &b, &e), 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	issue_pair_done(&a);
	issue_pair_done(&b);
	return 0;
}

static void test_a_set_of_certificates(void **state)
{
	cleanup_bundle struct bundle l = BUNDLE_INIT, part = BUNDLE_INIT;
	cleanup(freep) char *twice = xasprintf("# note\n%s\r\n%s%s", a.cert, b.cert, a.cert);
	cleanup(freep) char *text = NULL;

	(void)state;
	bundle_add(&l, twice);
	assert_int_equal(l.n, 2);
	bundle_add(&l, NULL);
	bundle_add(&l, "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----");
	bundle_add(&l, "-----BEGIN CERTIFICATE-----\ncut");
	assert_int_equal(l.n, 2);
	bundle_add(&part, b.cert);
	assert_true(bundle_covers(&l, &part));
	assert_false(bundle_covers(&part, &l));
	assert_true(bundle_has(&part, l.cert[1].facts.id));
	assert_false(bundle_has(&part, l.cert[0].facts.id));
	text = bundle_text(&l);
	bundle_done(&part);
	bundle_add(&part, text);
	assert_true(bundle_covers(&part, &l));
	assert_null(strstr(text, "note"));
}

static void test_an_empty_bundle(void **state)
{
	cleanup_bundle struct bundle l = BUNDLE_INIT;
	cleanup(freep) char *text = bundle_text(&l);

	(void)state;
	assert_string_equal(text, "");
	assert_true(bundle_covers(&l, &l));
}

static void test_what_has_ended_is_dropped(void **state)
{
	cleanup_bundle struct bundle l = BUNDLE_INIT;

	(void)state;
	bundle_add(&l, a.cert);
	bundle_add(&l, b.cert);
	bundle_drop_ended(&l, NOW + 10 * DAY - 1000);
	assert_int_equal(l.n, 2);
	bundle_drop_ended(&l, NOW + 10 * DAY);
	assert_int_equal(l.n, 1);
	assert_true(l.cert[0].facts.end_ms == NOW + 20 * DAY);
	bundle_drop_ended(&l, NOW + 20 * DAY);
	assert_int_equal(l.n, 0);
}

static void test_the_maximum(void **state)
{
	cleanup_bundle struct bundle l = BUNDLE_INIT;

	(void)state;
	for (int i = 0; i < BUNDLE_MAX + 2; i++) {
		struct issue_pair p = { NULL, NULL };
		struct err e = ERR_INIT;

		assert_int_equal(issue_ca(NOW, DAY, &p, &e), 0);
		bundle_add(&l, p.cert);
		issue_pair_done(&p);
	}
	assert_int_equal(l.n, BUNDLE_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_set_of_certificates),
		cmocka_unit_test(test_an_empty_bundle),
		cmocka_unit_test(test_what_has_ended_is_dropped),
		cmocka_unit_test(test_the_maximum),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
