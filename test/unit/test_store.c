/* The clients against a scripted server; real stores are in test/neighbours. */
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
#include "common/store/store.h"
#include "test/lib/script.h"

struct fixture {
	struct script *script;
	struct store *store;
	struct http_client *client;
	struct http_response response;
	struct store_reply reply;
	struct store_keys keys;
	struct err e;
};

static void give(struct fixture *f, const char *name, const char *value)
{
	secret_set(store_key(&f->keys, name), value, strlen(value));
}

static void begin(struct fixture *f, const struct store_place *place,
		  const struct script_step *steps, size_t n)
{
	struct store_place p = *place;
	char *base;

	f->script = script_start(steps, n, NULL);
	f->client = http_client_new(NULL);
	f->response = (struct http_response)HTTP_RESPONSE_INIT;
	f->reply = (struct store_reply){ .unchanged = false };
	f->e = (struct err)ERR_INIT;
	base = xasprintf("%s%s", script_url(f->script), p.endpoint ? p.endpoint : "");
	p.endpoint = base;
	p.allow_http = true;
	assert_int_equal(store_open(&p, &f->keys, &f->store, &f->e), 0);
	free(base);
}

static int go(struct fixture *f, const struct store_op *op)
{
	f->e = (struct err)ERR_INIT;
	return store_do(f->store, f->client, op, &f->response, &f->reply, &f->e);
}

static void end(struct fixture *f)
{
	store_reply_done(&f->reply);
	http_response_done(&f->response);
	store_free(f->store);
	http_client_free(f->client);
	store_keys_done(&f->keys);
	script_stop(f->script);
}

static void s3(struct fixture *f, const struct script_step *steps, size_t n)
{
	static const struct store_place place = { .scheme = SCHEME_S3,
						  .region = "us-east-1",
						  .container = "cells",
						  .prefix = "apps/chat" };

	*f = (struct fixture){ .script = NULL };
	give(f, "AWS_ACCESS_KEY_ID", "AKIDEXAMPLE");
	give(f, "AWS_SECRET_ACCESS_KEY", "VERYSECRET");
	begin(f, &place, steps, n);
}

static const struct store_op get = { .verb = STORE_GET, .key = "deploy/current.json" };

static void test_s3_get(void **state)
{
	static const struct script_step steps[] = {
		{ .want = "GET /cells/apps/chat/deploy/current.json",
		  .headers = "ETag: \"abc\"\r\n",
		  .body = "{}" },
		{ .want = "GET /cells/apps/chat/deploy/current.json",
		  .status = 304,
		  .headers = "ETag: \"abc\"\r\n" },
	};
	struct store_op again = get;
	struct fixture f;
	const struct script_request *r;

	(void)state;
	s3(&f, steps, 2);
	assert_int_equal(go(&f, &get), 0);
	assert_string_equal(f.reply.tag, "\"abc\"");
	assert_string_equal(f.reply.body, "{}");
	assert_false(f.reply.unchanged);
	r = script_request(f.script, 0);
	assert_non_null(
		strstr(r->headers, "authorization: AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/"));
	assert_non_null(strstr(r->headers,
			       "/us-east-1/s3/aws4_request, "
			       "SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature="));
	assert_null(strstr(r->headers, "VERYSECRET"));
	again.if_not_tag = "\"abc\"";
	assert_int_equal(go(&f, &again), 0);
	assert_true(f.reply.unchanged);
	assert_true(script_has_header(script_request(f.script, 1), "if-none-match: \"abc\""));
	end(&f);
}

static void test_s3_session_token_is_sent(void **state)
{
	static const struct script_step step = { .want = "GET /", .body = "x" };
	static const struct store_place place = { .scheme = SCHEME_S3, .container = "cells" };
	struct fixture f = { .script = NULL };

	(void)state;
	give(&f, "AWS_ACCESS_KEY_ID", "A");
	give(&f, "AWS_SECRET_ACCESS_KEY", "S");
	give(&f, "AWS_SESSION_TOKEN", "SESSION");
	begin(&f, &place, &step, 1);
	assert_int_equal(go(&f, &get), 0);
	assert_true(
		script_has_header(script_request(f.script, 0), "x-amz-security-token: SESSION"));
	/* without a region an endpoint is signed for as auto */
	assert_non_null(
		strstr(script_request(f.script, 0)->headers,
		       "/auto/s3/aws4_request, "
		       "SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token"));
	end(&f);
}

static void test_s3_conditions(void **state)
{
	static const struct script_step steps[] = {
		{ .want = "PUT /cells/apps/chat/probe/a%20b", .headers = "ETag: \"1\"\r\n" },
		{ .want = "PUT /cells/apps/chat/probe/a%20b", .status = 412 },
		{ .want = "PUT /cells/apps/chat/probe/a%20b", .status = 409 },
		{ .want = "DELETE /cells/apps/chat/probe/a%20b", .status = 204 },
	};
	struct store_op op = { .verb = STORE_PUT,
			       .key = "probe/a b",
			       .body = "one",
			       .body_len = 3,
			       .if_absent = true };
	struct fixture f;

	(void)state;
	s3(&f, steps, 4);
	assert_int_equal(go(&f, &op), 0);
	assert_string_equal(f.reply.tag, "\"1\"");
	assert_string_equal(script_request(f.script, 0)->body, "one");
	assert_true(script_has_header(script_request(f.script, 0), "if-none-match: *"));
	op.if_absent = false;
	op.if_tag = "\"0\"";
	assert_int_equal(go(&f, &op), -ERR_CONFLICT);
	assert_true(script_has_header(script_request(f.script, 1), "if-match: \"0\""));
	assert_int_equal(go(&f, &op), -ERR_CONFLICT);
	op = (struct store_op){ .verb = STORE_DELETE, .key = "probe/a b" };
	assert_int_equal(go(&f, &op), 0);
	end(&f);
}

static void test_s3_list(void **state)
{
	static const struct script_step step = {
		.want = "GET /cells?list-type=2&prefix=apps%2Fchat%2Fprobe%2F",
		.body = "<ListBucketResult><Contents><Key>apps/chat/probe/a&amp;b</Key></Contents>"
			"<Contents><Key>apps/chat/probe/c</Key></Contents></ListBucketResult>",
	};
	const struct store_op op = { .verb = STORE_LIST, .key = "probe/" };
	struct fixture f;

	(void)state;
	s3(&f, &step, 1);
	assert_int_equal(go(&f, &op), 0);
	assert_int_equal(f.reply.keys.n, 2);
	assert_string_equal(f.reply.keys.v[0], "probe/a&b");
	assert_string_equal(f.reply.keys.v[1], "probe/c");
	end(&f);
}

/* What a store says when it refuses, and what is made of it. */
static void test_s3_failures(void **state)
{
	static const struct {
		struct script_step step;
		int result;
		const char *message;
	} cases[] = {
		{ { .status = 404, .body = "<Error><Code>NoSuchKey</Code></Error>" },
		  -ERR_NOT_FOUND,
		  "no such object" },
		{ { .status = 404, .body = "<Error><Code>NoSuchBucket</Code></Error>" },
		  -ERR_PROTOCOL,
		  "the store says that there is no such bucket" },
		{ { .status = 403, .body = "<Error><Code>SignatureDoesNotMatch</Code></Error>" },
		  -ERR_FORBIDDEN,
		  "the store refuses: status 403 SignatureDoesNotMatch" },
		{ { .status = 403, .body = "<Error><Code>a b\n</Code></Error>" },
		  -ERR_FORBIDDEN,
		  "the store refuses: status 403" },
		{ { .status = 301, .headers = "x-amz-bucket-region: eu-west-1\r\n" },
		  -ERR_PROTOCOL,
		  "the store redirects, which is not followed: status 301, the bucket is in region "
		  "eu-west-1" },
		{ { .status = 307, .headers = "Location: http://169.254.169.254/\r\n" },
		  -ERR_PROTOCOL,
		  "the store redirects, which is not followed: status 307" },
		{ { .status = 400,
		    .body = "<Error><Code>AuthorizationHeaderMalformed</Code>"
			    "<Region>eu-west-1</Region></Error>" },
		  -ERR_PROTOCOL,
		  "the store answers status 400 AuthorizationHeaderMalformed, the bucket is in "
		  "region "
		  "eu-west-1" },
		{ { .status = 503, .headers = "Retry-After: 7\r\n" },
		  -ERR_THROTTLED,
		  "the store asks for a pause: status 503" },
		{ { .status = 500 }, -ERR_UNAVAILABLE, "the store answers status 500" },
	};

	(void)state;
	for (size_t i = 0; i < array_len(cases); i++) {
		struct fixture f;

		s3(&f, &cases[i].step, 1);
		assert_int_equal(go(&f, &get), cases[i].result);
		assert_string_equal(f.e.message, cases[i].message);
		assert_int_equal(script_count(f.script), 1);
		if (cases[i].result == -ERR_THROTTLED && cases[i].step.headers)
			assert_int_equal(f.e.retry_after_ms, 7000);
		end(&f);
	}
}

/* A refusal with a Date far from ours is tried once more by the store's clock, and not a third time. */
static void test_clock_is_mended_once(void **state)
{
	static const struct script_step steps[] = {
		{ .status = 403,
		  .headers = "Date: Fri, 24 May 2013 00:00:00 GMT\r\n",
		  .body = "<Error><Code>RequestTimeTooSkewed</Code></Error>" },
		{ .status = 200, .headers = "Date: Fri, 24 May 2013 00:00:00 GMT\r\n" },
		{ .status = 403,
		  .headers = "Date: Fri, 24 May 2013 12:00:00 GMT\r\n",
		  .body = "<Error><Code>RequestTimeTooSkewed</Code></Error>" },
		{ .status = 403,
		  .headers = "Date: Fri, 24 May 2013 18:00:00 GMT\r\n",
		  .body = "<Error><Code>RequestTimeTooSkewed</Code></Error>" },
		{ .status = 403,
		  .headers = "Date: Fri, 24 May 2013 23:00:00 GMT\r\n",
		  .body = "<Error><Code>RequestTimeTooSkewed</Code></Error>" },
	};
	struct fixture f;

	(void)state;
	s3(&f, steps, 5);
	assert_int_equal(go(&f, &get), 0);
	assert_int_equal(script_count(f.script), 2);
	assert_non_null(strstr(script_request(f.script, 1)->headers, "x-amz-date: 20130524T0000"));
	assert_int_equal(go(&f, &get), -ERR_UNAUTHORIZED);
	assert_int_equal(script_count(f.script), 4);
	assert_string_equal(f.e.message,
			    "the store refuses: our clock and its clock differ by more "
			    "than 5 minutes");
	assert_int_equal(go(&f, &get), -ERR_UNAUTHORIZED);
	assert_int_equal(script_count(f.script), 5);
	end(&f);
}

static void test_places(void **state)
{
	static const struct {
		struct store_place place;
		const char *host;
	} good[] = {
		{ { .scheme = SCHEME_S3, .container = "cells" },
		  "cells.s3.us-east-1.amazonaws.com" },
		{ { .scheme = SCHEME_S3, .container = "ce.lls", .region = "eu-west-1" },
		  "s3.eu-west-1.amazonaws.com" },
		{ { .scheme = SCHEME_S3, .container = "cells", .region = "cn-north-1" },
		  "cells.s3.cn-north-1.amazonaws.com.cn" },
		{ { .scheme = SCHEME_S3, .container = "c", .endpoint = "https://R2.Example:443/" },
		  "r2.example" },
		{ { .scheme = SCHEME_S3,
		    .container = "c",
		    .endpoint = "http://minio:9000",
		    .allow_http = true,
		    .no_local = true },
		  "minio:9000" },
		{ { .scheme = SCHEME_GS, .container = "c" }, "storage.googleapis.com" },
		{ { .scheme = SCHEME_AZ, .container = "c", .account = "acc" },
		  "acc.blob.core.windows.net" },
	};
	static const struct {
		struct store_place place;
		const char *message;
	} bad[] = {
		{ { .scheme = SCHEME_S3, .container = "c", .endpoint = "http://minio" },
		  "endpoint: http:// needs allowHTTP" },
		{ { .scheme = SCHEME_S3, .container = "c", .endpoint = "ftp://minio" },
		  "endpoint: no URL of a store" },
		{ { .scheme = SCHEME_S3, .container = "c", .endpoint = "https://a@b/" },
		  "endpoint: no URL of a store" },
		{ { .scheme = SCHEME_S3,
		    .container = "c",
		    .endpoint = "https://169.254.169.254",
		    .no_local = true },
		  "the host is at a loopback, link-local or metadata address" },
		{ { .scheme = SCHEME_S3,
		    .container = "c",
		    .endpoint = "https://[::1]:9000",
		    .no_local = true },
		  "the host is at a loopback, link-local or metadata address" },
		{ { .scheme = SCHEME_NONE, .container = "c" }, "no bucket" },
		{ { .scheme = SCHEME_AZ, .container = "c" }, "no storage account" },
	};
	struct fixture f = { .script = NULL };
	struct store *s;

	(void)state;
	give(&f, "AWS_ACCESS_KEY_ID", "A");
	give(&f, "AWS_SECRET_ACCESS_KEY", "S");
	give(&f, "AZURE_STORAGE_ACCOUNT_KEY", "S2V5");
	for (size_t i = 0; i < array_len(good); i++) {
		assert_int_equal(store_open(&good[i].place, &f.keys, &s, &f.e), 0);
		assert_string_equal(store_host(s), good[i].host);
		store_free(s);
	}
	for (size_t i = 0; i < array_len(bad); i++) {
		assert_true(store_open(&bad[i].place, &f.keys, &s, &f.e) < 0);
		assert_string_equal(f.e.message, bad[i].message);
	}
	store_keys_done(&f.keys);
	assert_int_equal(store_open(&good[0].place, &f.keys, &s, &f.e), -ERR_INVALID);
	assert_string_equal(f.e.message, "AWS_ACCESS_KEY_ID is missing");
	assert_int_equal(store_open(&good[5].place, &f.keys, &s, &f.e), -ERR_INVALID);
	assert_string_equal(f.e.message, "GOOGLE_SERVICE_ACCOUNT_KEY is missing");
	assert_null(store_key(&f.keys, "aws_access_key_id"));
}

/* --- Azure ------------------------------------------------------------------------------------ */

static void test_azure(void **state)
{
	static const struct script_step steps[] = {
		{ .want = "PUT /acc/cells/apps/chat/probe/x",
		  .status = 201,
		  .headers = "ETag: \"0x1\"\r\n" },
		{ .want = "PUT /acc/cells/apps/chat/probe/x",
		  .status = 409,
		  .headers = "x-ms-error-code: BlobAlreadyExists\r\n" },
		{ .want = "GET /acc/cells?comp=list&prefix=apps%2Fchat%2F&restype=container",
		  .body = "<Blobs><Blob><Name>apps/chat/probe/x</Name></Blob></Blobs>" },
		{ .want = "GET /",
		  .status = 403,
		  .headers = "x-ms-error-code: AuthenticationFailed\r\n" },
	};
	static const struct store_place place = { .scheme = SCHEME_AZ,
						  .endpoint = "/acc",
						  .account = "acc",
						  .container = "cells",
						  .prefix = "apps/chat" };
	struct store_op op = {
		.verb = STORE_PUT, .key = "probe/x", .body = "1", .body_len = 1, .if_absent = true
	};
	struct fixture f = { .script = NULL };
	const struct script_request *r;

	(void)state;
	give(&f, "AZURE_STORAGE_ACCOUNT_KEY", "S2V5");
	begin(&f, &place, steps, 4);
	assert_int_equal(go(&f, &op), 0);
	assert_string_equal(f.reply.tag, "\"0x1\"");
	r = script_request(f.script, 0);
	assert_non_null(strstr(r->headers, "Authorization: SharedKey acc:"));
	assert_true(script_has_header(r, "x-ms-blob-type: BlockBlob"));
	assert_true(script_has_header(r, "If-None-Match: *"));
	assert_int_equal(go(&f, &op), -ERR_CONFLICT);
	op = (struct store_op){ .verb = STORE_LIST, .key = "" };
	assert_int_equal(go(&f, &op), 0);
	assert_int_equal(f.reply.keys.n, 1);
	assert_string_equal(f.reply.keys.v[0], "probe/x");
	assert_int_equal(go(&f, &get), -ERR_FORBIDDEN);
	assert_string_equal(f.e.message, "the store refuses: status 403 AuthenticationFailed");
	end(&f);
}

static void test_azure_sas(void **state)
{
	static const struct script_step step = {
		.want = "GET /cells/deploy/current.json?sv=2023-11-03&sig=abc%3D", .body = "{}"
	};
	static const struct store_place place = { .scheme = SCHEME_AZ,
						  .account = "acc",
						  .container = "cells" };
	struct fixture f = { .script = NULL };

	(void)state;
	give(&f, "AZURE_STORAGE_SAS_TOKEN", "?sv=2023-11-03&sig=abc%3D");
	begin(&f, &place, &step, 1);
	assert_int_equal(go(&f, &get), 0);
	assert_null(strstr(script_request(f.script, 0)->headers, "Authorization"));
	end(&f);
}

/* --- Google ----------------------------------------------------------------------------------- */

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
	struct fixture f = { .script = script_start(steps, array_len(steps), NULL) };
	char *url = xasprintf("%s/token", script_url(f.script)), *pem, *text;
	EVP_PKEY *key = new_key(&pem);
	struct store_place p = place;

	(void)state;
	json_set_str(j, "client_email", "robot@example.iam.gserviceaccount.com");
	json_set_str(j, "private_key", pem);
	json_set_str(j, "token_uri", url);
	text = json_text(j);
	give(&f, "GOOGLE_SERVICE_ACCOUNT_KEY", text);
	p.endpoint = script_url(f.script);
	p.allow_http = true;
	f.client = http_client_new(NULL);
	f.response = (struct http_response)HTTP_RESPONSE_INIT;
	assert_int_equal(store_open(&p, &f.keys, &f.store, &f.e), 0);
	assert_int_equal(go(&f, &get), 0);
	verify(script_request(f.script, 0)->body, key, url);
	assert_true(script_has_header(script_request(f.script, 1), "Authorization: Bearer ya29.x"));
	assert_string_equal(f.reply.tag, "17");
	/* the token is kept */
	again.if_not_tag = "17";
	assert_int_equal(go(&f, &again), 0);
	assert_true(f.reply.unchanged);
	assert_int_equal(script_count(f.script), 3);
	/* one that is refused is fetched anew, once */
	assert_int_equal(go(&f, &get), -ERR_UNAUTHORIZED);
	assert_int_equal(script_count(f.script), 6);
	assert_int_equal(go(&f, &get), -ERR_UNAUTHORIZED);
	assert_string_equal(f.e.message, "no token for the service account: status 400");
	assert_int_equal(script_count(f.script), 7);
	EVP_PKEY_free(key);
	json_free(j);
	free(url);
	free(text);
	free(pem);
	end(&f);
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
	struct fixture f = { .script = NULL };
	struct store_call call;
	struct store *s;

	(void)state;
	for (size_t i = 0; i < array_len(cases); i++) {
		give(&f, "GOOGLE_SERVICE_ACCOUNT_KEY", cases[i].key);
		assert_int_equal(store_open(&place, &f.keys, &s, &f.e), -ERR_INVALID);
		assert_string_equal(f.e.message, cases[i].message);
	}
	give(&f, "GOOGLE_SERVICE_ACCOUNT_KEY",
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
	struct fixture f = { .script = NULL };

	(void)state;
	give(&f, "AWS_ACCESS_KEY_ID", "GOOG1E");
	give(&f, "AWS_SECRET_ACCESS_KEY", "S");
	begin(&f, &place, &step, 1);
	assert_int_equal(go(&f, &get), 0);
	assert_string_equal(f.reply.tag, "5");
	assert_non_null(strstr(script_request(f.script, 0)->headers,
			       "authorization: GOOG4-HMAC-SHA256 Credential=GOOG1E/"));
	end(&f);
}

/* A name that resolves to the loopback address is found out when it connects. */
static void test_no_local(void **state)
{
	static const struct script_step step = { .want = "GET /" };
	struct script *script = script_start(&step, 1, NULL);
	char *url = xasprintf("http://localhost:%d", script_port(script));
	struct store_place place = { .scheme = SCHEME_S3,
				     .endpoint = url,
				     .container = "cells",
				     .allow_http = true,
				     .no_local = true };
	struct fixture f = { .script = script };

	(void)state;
	give(&f, "AWS_ACCESS_KEY_ID", "A");
	give(&f, "AWS_SECRET_ACCESS_KEY", "S");
	f.client = http_client_new(NULL);
	f.response = (struct http_response)HTTP_RESPONSE_INIT;
	assert_int_equal(store_open(&place, &f.keys, &f.store, &f.e), 0);
	assert_int_equal(go(&f, &get), -ERR_FORBIDDEN);
	assert_int_equal(script_connections(script), 0);
	free(url);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_s3_get),
		cmocka_unit_test(test_s3_session_token_is_sent),
		cmocka_unit_test(test_s3_conditions),
		cmocka_unit_test(test_s3_list),
		cmocka_unit_test(test_s3_failures),
		cmocka_unit_test(test_clock_is_mended_once),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_azure),
		cmocka_unit_test(test_azure_sas),
		cmocka_unit_test(test_google),
		cmocka_unit_test(test_google_bad_keys),
		cmocka_unit_test(test_google_hmac),
		cmocka_unit_test(test_no_local),
	};
	struct err e = ERR_INIT;

	if (http_global_init(&e))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
