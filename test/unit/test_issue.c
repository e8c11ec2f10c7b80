#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <openssl/pem.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <string.h>

#include "certs/issue.h"

/* 2026-11-29T10:00:00Z */
#define NOW  INT64_C(1795946400000)
#define DAY  INT64_C(86400000)
#define HOUR INT64_C(3600000)

static struct issue_pair ca, leaf;
static struct strlist names = STRLIST_INIT;

static int set_up(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	strlist_add(&names, "hook.ns.svc");
	strlist_add(&names, "hook");
	assert_int_equal(issue_ca(NOW, 365 * DAY, &ca, &e), 0);
	assert_int_equal(issue_leaf(&ca, &names, NOW, 7 * DAY, &leaf, &e), 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	issue_pair_done(&ca);
	issue_pair_done(&leaf);
	strlist_done(&names);
	return 0;
}

static void test_lives_are_back_dated(void **state)
{
	struct issue_facts a, l;

	(void)state;
	assert_true(issue_read(ca.cert, &a));
	assert_true(issue_read(leaf.cert, &l));
	assert_true(a.begin_ms == NOW - HOUR && a.end_ms == NOW + 365 * DAY);
	assert_true(l.begin_ms == NOW - HOUR && l.end_ms == NOW + 7 * DAY);
	assert_memory_not_equal(a.id, l.id, sizeof(a.id));
	/* a third of seven days before the end */
	assert_true(issue_due_ms(&l) == NOW + 7 * DAY - 7 * DAY / 3);
}

static void test_due_of_a_foreign_life(void **state)
{
	struct issue_facts f = { .begin_ms = 0, .end_ms = INT64_C(1800000) };

	(void)state;
	assert_true(issue_due_ms(&f) == INT64_C(1200000));
}

static X509 *parse(const char *pem)
{
	BIO *b = BIO_new_mem_buf(pem, -1);
	X509 *x = PEM_read_bio_X509(b, NULL, NULL, NULL);

	BIO_free(b);
	assert_non_null(x);
	return x;
}

/* As a client does it, at that moment; the reason, or X509_V_OK. */
static int verify(const char *host, int64_t at_ms)
{
	X509_STORE *store = X509_STORE_new();
	X509_STORE_CTX *ctx = X509_STORE_CTX_new();
	X509 *x = parse(leaf.cert), *a = parse(ca.cert);
	int r;

	assert_int_equal(X509_STORE_add_cert(store, a), 1);
	assert_int_equal(X509_STORE_CTX_init(ctx, store, x, NULL), 1);
	X509_VERIFY_PARAM *p = X509_STORE_CTX_get0_param(ctx);
	X509_VERIFY_PARAM_set_time(p, at_ms / 1000);
	assert_int_equal(X509_VERIFY_PARAM_set1_host(p, host, 0), 1);
	assert_int_equal(X509_VERIFY_PARAM_set_purpose(p, X509_PURPOSE_SSL_SERVER), 1);
	X509_VERIFY_PARAM_set_flags(p, X509_V_FLAG_X509_STRICT);
	r = X509_verify_cert(ctx) == 1 ? X509_V_OK : X509_STORE_CTX_get_error(ctx);
	X509_STORE_CTX_free(ctx);
	X509_STORE_free(store);
	X509_free(x);
	X509_free(a);
	return r;
}

static void test_a_client_accepts_it(void **state)
{
	(void)state;
	assert_int_equal(verify("hook.ns.svc", NOW), X509_V_OK);
	assert_int_equal(verify("hook", NOW), X509_V_OK);
	/* clocks that are off */
	assert_int_equal(verify("hook", NOW - 5 * INT64_C(60000)), X509_V_OK);
	assert_int_equal(verify("hook", NOW + 5 * INT64_C(60000)), X509_V_OK);
	assert_int_equal(verify("hook", NOW - 2 * HOUR), X509_V_ERR_CERT_NOT_YET_VALID);
	assert_int_equal(verify("hook", NOW + 8 * DAY), X509_V_ERR_CERT_HAS_EXPIRED);
	assert_int_equal(verify("other.ns.svc", NOW), X509_V_ERR_HOSTNAME_MISMATCH);
	/* the common name is no name */
	assert_int_equal(verify("celld-operator-webhook", NOW), X509_V_ERR_HOSTNAME_MISMATCH);
}

static void test_keys_are_p256_and_not_shared(void **state)
{
	X509 *x = parse(leaf.cert);
	EVP_PKEY *k = X509_get_pubkey(x);
	char group[32];
	size_t n;

	(void)state;
	assert_int_equal(EVP_PKEY_get_group_name(k, group, sizeof(group), &n), 1);
	assert_string_equal(group, "prime256v1");
	EVP_PKEY_free(k);
	X509_free(x);
	assert_true(str_starts(leaf.key, "-----BEGIN PRIVATE KEY-----\n"));
	assert_string_not_equal(leaf.key, ca.key);
}

static void test_fitting_and_signing(void **state)
{
	struct issue_pair mixed = { leaf.cert, ca.key }, half = { leaf.cert, NULL };
	struct issue_pair other = { NULL, NULL };
	struct err e = ERR_INIT;

	(void)state;
	assert_true(issue_pair_fits(&ca));
	assert_true(issue_pair_fits(&leaf));
	assert_false(issue_pair_fits(&mixed));
	assert_false(issue_pair_fits(&half));
	assert_true(issue_signed_by(leaf.cert, ca.cert));
	assert_true(issue_signed_by(ca.cert, ca.cert));
	assert_false(issue_signed_by(leaf.cert, leaf.cert));
	assert_int_equal(issue_ca(NOW, DAY, &other, &e), 0);
	assert_false(issue_signed_by(leaf.cert, other.cert));
	issue_pair_done(&other);
	assert_null(other.key);
}

static void test_names(void **state)
{
	struct strlist more = STRLIST_INIT;

	(void)state;
	assert_true(issue_has_names(leaf.cert, &names));
	strlist_add(&more, "hook");
	strlist_add(&more, "hook.other.svc");
	assert_false(issue_has_names(leaf.cert, &more));
	assert_false(issue_has_names("text", &more));
	strlist_done(&more);
}

static void test_a_leaf_ends_with_its_authority(void **state)
{
	struct issue_pair l = { NULL, NULL };
	struct issue_facts f;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(issue_leaf(&ca, &names, NOW + 364 * DAY, 7 * DAY, &l, &e), 0);
	assert_true(issue_read(l.cert, &f));
	assert_true(f.end_ms == NOW + 365 * DAY);
	issue_pair_done(&l);
}

static void test_broken_texts(void **state)
{
	struct issue_pair bad = { leaf.cert, ca.key }, l = { NULL, NULL };
	struct issue_facts f;
	struct err e = ERR_INIT;

	(void)state;
	assert_false(issue_read("", &f));
	assert_false(
		issue_read("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", &f));
	assert_int_equal(issue_leaf(&bad, &names, NOW, DAY, &l, &e), -ERR_INVALID);
	assert_string_equal(e.message, "the authority cannot sign: no certificate with its key");
	bad = (struct issue_pair){ NULL, NULL };
	assert_int_equal(issue_leaf(&bad, &names, NOW, DAY, &l, &e), -ERR_INVALID);
	assert_null(l.cert);
}

static void test_moving(void **state)
{
	struct issue_pair from = { xstrdup("c"), xstrdup("k") };
	struct issue_pair to = { xstrdup("x"), NULL };

	(void)state;
	issue_pair_move(&to, &from);
	assert_string_equal(to.cert, "c");
	assert_string_equal(to.key, "k");
	assert_null(from.cert);
	assert_null(from.key);
	issue_pair_done(&to);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lives_are_back_dated),
		cmocka_unit_test(test_due_of_a_foreign_life),
		cmocka_unit_test(test_a_client_accepts_it),
		cmocka_unit_test(test_keys_are_p256_and_not_shared),
		cmocka_unit_test(test_fitting_and_signing),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_a_leaf_ends_with_its_authority),
		cmocka_unit_test(test_broken_texts),
		cmocka_unit_test(test_moving),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
