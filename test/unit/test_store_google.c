/* Google's dialect against a scripted server; real stores are in test/neighbours. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include "common/clock.h"
#include "common/codec.h"
#include "common/json.h"
#include "test/lib/store_fixture.h"

static const struct store_op get = { .verb = STORE_GET, .key = "deploy/current.json" };

static EVP_PKEY *new_key(char **ret_pem)
{
	EVP_PKEY *k = EVP_RSA_gen(2048);
	BIO *b = BIO_new(BIO_s_mem());
	char *text;
	long n;

	assert_non_null(k);
	assert_int_equal(PEM_write_bio_PrivateKey(b, k, NULL, NULL, 0, NULL, NULL), 1);
	n = BIO_get_mem_data(b, &text);
	*ret_pem = xstrndup(text, (size_t)n);
	BIO_free(b);
	return k;
}

static unsigned char *unbase64url(const char *text, size_t len, size_t *n)
{
	char *s = xasprintf("%.*s%s", (int)len, text, &"==="[3 - (4 - len % 4) % 4]);
	unsigned char *raw;

	for (char *c = s; *c; c++)
		*c = (char)(*c == '-' ? '+' : *c == '_' ? '/' : *c);
	raw = codec_base64_decode(s, strlen(s), n);
	free(s);
	assert_non_null(raw);
	return raw;
}

/* The token request holds a JWT that OpenSSL verifies with the public key. */
static void verify(const char *body, EVP_PKEY *key, const char *url)
{
	static const char head[] = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-"
				   "bearer&assertion=";
	const char *jwt, *dot, *last;
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	unsigned char *signature, *claims;
	struct json *j = NULL;
	struct err e = ERR_INIT;
	int64_t iat = 0, exp = 0;
	size_t n;

	assert_true(str_starts(body, head));
	jwt = body + strlen(head);
	dot = strchr(jwt, '.');
	assert_non_null(dot);
	last = strrchr(jwt, '.');
	signature = unbase64url(last + 1, strlen(last + 1), &n);
	assert_int_equal(EVP_DigestVerifyInit(ctx, NULL, EVP_sha256(), NULL, key), 1);
	assert_int_equal(EVP_DigestVerify(ctx, signature, n, (const unsigned char *)jwt,
					  (size_t)(last - jwt)),
			 1);
	free(signature);
	EVP_MD_CTX_free(ctx);
	claims = unbase64url(dot + 1, (size_t)(last - dot - 1), &n);
	assert_int_equal(json_parse((const char *)claims, n, &j, &e), 0);
	assert_string_equal(json_get_str(j, "iss"), "robot@example.iam.gserviceaccount.com");
	assert_string_equal(json_get_str(j, "aud"), url);
	assert_true(json_get_int(j, "iat", &iat) && json_get_int(j, "exp", &exp));
	assert_int_equal(exp - iat, 3600);
	json_free(j);
	free(claims);
}

static void test_google(void **state)
{
	static const struct script_step steps[] = {
		{ .want = "POST /token",
		  .body = "{\"access_token\":\"ya29.x\",\"expires_in\":3599,\"token_type\":"
			  "\"Bearer\"}" },
		{ .want = "GET "
			  "/storage/v1/b/cells/o/apps%2Fchat%2Fdeploy%2Fcurrent.json?alt=media",
		  .headers = "x-goog-generation: 17\r\n",
		  .body = "{}" },
		{ .want = "GET /storage/v1/b/cells/o/apps%2Fchat%2Fdeploy%2Fcurrent.json?alt=media&"
			  "ifGenerationNotMatch=17",
		  .status = 304 },
		{ .want = "GET /", .status = 401 },
		{ .want = "POST /token",
		  .body = "{\"access_token\":\"ya29.y\",\"expires_in\":3599}" },
		{ .want = "GET /", .status = 401 },
		{ .want = "POST /token", .status = 400 },
	};
	static const struct store_place place = { .scheme = SCHEME_GS,
						  .container = "cells",
						  .prefix = "apps/chat" };
	struct store_op again = get;
	struct json *j = json_new_object();
	struct store_fixture f = { .script = script_start(steps, array_len(steps), NULL) };
	char *url = xasprintf("%s/token", script_url(f.script)), *pem, *text;
	EVP_PKEY *key = new_key(&pem);
	struct store_place p = place;

	(void)state;
	json_set_str(j, "client_email", "robot@example.iam.gserviceaccount.com");
	json_set_str(j, "private_key", pem);
	json_set_str(j, "token_uri", url);
	text = json_text(j);
	store_fixture_give(&f, "GOOGLE_SERVICE_ACCOUNT_KEY", text);
	p.endpoint = script_url(f.script);
	p.allow_http = true;
	f.client = http_client_new(NULL);
	f.response = (struct http_response)HTTP_RESPONSE_INIT;
	assert_int_equal(store_open(&p, &f.keys, &f.store, &f.e), 0);
	assert_int_equal(store_fixture_go(&f, &get), 0);
	verify(script_request(f.script, 0)->body, key, url);
	assert_true(script_has_header(script_request(f.script, 1), "Authorization: Bearer ya29.x"));
	assert_string_equal(f.reply.tag, "17");
	/* the token is kept */
	again.if_not_tag = "17";
	assert_int_equal(store_fixture_go(&f, &again), 0);
	assert_true(f.reply.unchanged);
	assert_int_equal(script_count(f.script), 3);
	/* one that is refused is fetched anew, once */
	assert_int_equal(store_fixture_go(&f, &get), -ERR_UNAUTHORIZED);
	assert_int_equal(script_count(f.script), 6);
	assert_int_equal(store_fixture_go(&f, &get), -ERR_UNAUTHORIZED);
	assert_string_equal(f.e.message, "no token for the service account: status 400");
	assert_int_equal(script_count(f.script), 7);
	EVP_PKEY_free(key);
	json_free(j);
	free(url);
	free(text);
	free(pem);
	store_fixture_end(&f);
}

static void test_google_bad_keys(void **state)
{
	static const struct {
		const char *key, *message;
	} cases[] = {
		{ "no json", "GOOGLE_SERVICE_ACCOUNT_KEY is no JSON" },
		{ "{}", "GOOGLE_SERVICE_ACCOUNT_KEY has no client_email or private_key" },
	};
	static const struct store_place place = { .scheme = SCHEME_GS, .container = "cells" };
	struct store_fixture f = { .script = NULL };
	struct store_call call;
	struct store *s;

	(void)state;
	for (size_t i = 0; i < array_len(cases); i++) {
		store_fixture_give(&f, "GOOGLE_SERVICE_ACCOUNT_KEY", cases[i].key);
		assert_int_equal(store_open(&place, &f.keys, &s, &f.e), -ERR_INVALID);
		assert_string_equal(f.e.message, cases[i].message);
	}
	store_fixture_give(&f, "GOOGLE_SERVICE_ACCOUNT_KEY",
			   "{\"client_email\":\"a\",\"private_key\":\"SECRET\"}");
	assert_int_equal(store_open(&place, &f.keys, &s, &f.e), 0);
	assert_int_equal(store_token_call(s, clock_wall_ms(), &call, &f.e), -ERR_INVALID);
	assert_string_equal(f.e.message,
			    "private_key: no RSA private key in PEM without a passphrase");
	store_free(s);
	store_keys_done(&f.keys);
}

static void test_google_hmac(void **state)
{
	static const struct script_step step = { .want = "GET /cells/deploy/current.json",
						 .headers = "x-goog-generation: 5\r\n",
						 .body = "{}" };
	static const struct store_place place = { .scheme = SCHEME_GS, .container = "cells" };
	struct store_fixture f = { .script = NULL };

	(void)state;
	store_fixture_give(&f, "AWS_ACCESS_KEY_ID", "GOOG1E");
	store_fixture_give(&f, "AWS_SECRET_ACCESS_KEY", "S");
	store_fixture_begin(&f, &place, &step, 1);
	assert_int_equal(store_fixture_go(&f, &get), 0);
	assert_string_equal(f.reply.tag, "5");
	assert_non_null(strstr(script_request(f.script, 0)->headers,
			       "authorization: GOOG4-HMAC-SHA256 Credential=GOOG1E/"));
	store_fixture_end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_google),
		cmocka_unit_test(test_google_bad_keys),
		cmocka_unit_test(test_google_hmac),
	};
	struct err e = ERR_INIT;

	if (http_global_init(&e))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
