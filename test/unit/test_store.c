/* The clients against a scripted server; real stores are in test/neighbours. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test/lib/store_fixture.h"

static void s3(struct store_fixture *f, const struct script_step *steps, size_t n)
{
	static const struct store_place place = { .scheme = SCHEME_S3,
						  .region = "us-east-1",
						  .container = "cells",
						  .prefix = "apps/chat" };

	*f = (struct store_fixture){ .script = NULL };
	store_fixture_give(f, "AWS_ACCESS_KEY_ID", "AKIDEXAMPLE");
	store_fixture_give(f, "AWS_SECRET_ACCESS_KEY", "VERYSECRET");
	store_fixture_begin(f, &place, steps, n);
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
	struct store_fixture f;
	const struct script_request *r;

	(void)state;
	s3(&f, steps, 2);
	assert_int_equal(store_fixture_go(&f, &get), 0);
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
	assert_int_equal(store_fixture_go(&f, &again), 0);
	assert_true(f.reply.unchanged);
	assert_true(script_has_header(script_request(f.script, 1), "if-none-match: \"abc\""));
	store_fixture_end(&f);
}

static void test_s3_session_token_is_sent(void **state)
{
	static const struct script_step step = { .want = "GET /", .body = "x" };
	static const struct store_place place = { .scheme = SCHEME_S3, .container = "cells" };
	struct store_fixture f = { .script = NULL };

	(void)state;
	store_fixture_give(&f, "AWS_ACCESS_KEY_ID", "A");
	store_fixture_give(&f, "AWS_SECRET_ACCESS_KEY", "S");
	store_fixture_give(&f, "AWS_SESSION_TOKEN", "SESSION");
	store_fixture_begin(&f, &place, &step, 1);
	assert_int_equal(store_fixture_go(&f, &get), 0);
	assert_true(
		script_has_header(script_request(f.script, 0), "x-amz-security-token: SESSION"));
	/* without a region an endpoint is signed for as auto */
	assert_non_null(
		strstr(script_request(f.script, 0)->headers,
		       "/auto/s3/aws4_request, "
		       "SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token"));
	store_fixture_end(&f);
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
	struct store_fixture f;

	(void)state;
	s3(&f, steps, 4);
	assert_int_equal(store_fixture_go(&f, &op), 0);
	assert_string_equal(f.reply.tag, "\"1\"");
	assert_string_equal(script_request(f.script, 0)->body, "one");
	assert_true(script_has_header(script_request(f.script, 0), "if-none-match: *"));
	op.if_absent = false;
	op.if_tag = "\"0\"";
	assert_int_equal(store_fixture_go(&f, &op), -ERR_CONFLICT);
	assert_true(script_has_header(script_request(f.script, 1), "if-match: \"0\""));
	assert_int_equal(store_fixture_go(&f, &op), -ERR_CONFLICT);
	op = (struct store_op){ .verb = STORE_DELETE, .key = "probe/a b" };
	assert_int_equal(store_fixture_go(&f, &op), 0);
	store_fixture_end(&f);
}

static void test_s3_list(void **state)
{
	static const struct script_step step = {
		.want = "GET /cells?list-type=2&prefix=apps%2Fchat%2Fprobe%2F",
		.body = "<ListBucketResult><Contents><Key>apps/chat/probe/a&amp;b</Key></Contents>"
			"<Contents><Key>apps/chat/probe/c</Key></Contents></ListBucketResult>",
	};
	const struct store_op op = { .verb = STORE_LIST, .key = "probe/" };
	struct store_fixture f;

	(void)state;
	s3(&f, &step, 1);
	assert_int_equal(store_fixture_go(&f, &op), 0);
	assert_int_equal(f.reply.keys.n, 2);
	assert_string_equal(f.reply.keys.v[0], "probe/a&b");
	assert_string_equal(f.reply.keys.v[1], "probe/c");
	store_fixture_end(&f);
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
		/* our own words, said back, whole or in part */
		{ { .status = 403,
		    .body = "<Error><Code>AKIDEXAMPLE</Code><Region>VERYSECRET</Region></Error>" },
		  -ERR_FORBIDDEN,
		  "the store refuses: status 403" },
		{ { .status = 400, .body = "<Error><Code>RYSEC</Code></Error>" },
		  -ERR_PROTOCOL,
		  "the store answers status 400" },
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
		struct store_fixture f;

		s3(&f, &cases[i].step, 1);
		assert_int_equal(store_fixture_go(&f, &get), cases[i].result);
		assert_string_equal(f.e.message, cases[i].message);
		assert_int_equal(script_count(f.script), 1);
		if (cases[i].result == -ERR_THROTTLED && cases[i].step.headers)
			assert_int_equal(f.e.retry_after_ms, 7000);
		store_fixture_end(&f);
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
	struct store_fixture f;

	(void)state;
	s3(&f, steps, 5);
	assert_int_equal(store_fixture_go(&f, &get), 0);
	assert_int_equal(script_count(f.script), 2);
	assert_non_null(strstr(script_request(f.script, 1)->headers, "x-amz-date: 20130524T0000"));
	assert_int_equal(store_fixture_go(&f, &get), -ERR_UNAUTHORIZED);
	assert_int_equal(script_count(f.script), 4);
	assert_string_equal(f.e.message,
			    "the store refuses: our clock and its clock differ by more "
			    "than 5 minutes");
	assert_int_equal(store_fixture_go(&f, &get), -ERR_UNAUTHORIZED);
	assert_int_equal(script_count(f.script), 5);
	store_fixture_end(&f);
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
	struct store_fixture f = { .script = NULL };
	struct store *s;

	(void)state;
	store_fixture_give(&f, "AWS_ACCESS_KEY_ID", "A");
	store_fixture_give(&f, "AWS_SECRET_ACCESS_KEY", "S");
	store_fixture_give(&f, "AZURE_STORAGE_ACCOUNT_KEY", "S2V5");
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
	struct store_fixture f = { .script = NULL };
	const struct script_request *r;

	(void)state;
	store_fixture_give(&f, "AZURE_STORAGE_ACCOUNT_KEY", "S2V5");
	store_fixture_begin(&f, &place, steps, 4);
	assert_int_equal(store_fixture_go(&f, &op), 0);
	assert_string_equal(f.reply.tag, "\"0x1\"");
	r = script_request(f.script, 0);
	assert_non_null(strstr(r->headers, "Authorization: SharedKey acc:"));
	assert_true(script_has_header(r, "x-ms-blob-type: BlockBlob"));
	assert_true(script_has_header(r, "If-None-Match: *"));
	assert_int_equal(store_fixture_go(&f, &op), -ERR_CONFLICT);
	op = (struct store_op){ .verb = STORE_LIST, .key = "" };
	assert_int_equal(store_fixture_go(&f, &op), 0);
	assert_int_equal(f.reply.keys.n, 1);
	assert_string_equal(f.reply.keys.v[0], "probe/x");
	assert_int_equal(store_fixture_go(&f, &get), -ERR_FORBIDDEN);
	assert_string_equal(f.e.message, "the store refuses: status 403 AuthenticationFailed");
	store_fixture_end(&f);
}

static void test_azure_sas(void **state)
{
	static const struct script_step step = {
		.want = "GET /cells/deploy/current.json?sv=2023-11-03&sig=abc%3D", .body = "{}"
	};
	static const struct store_place place = { .scheme = SCHEME_AZ,
						  .account = "acc",
						  .container = "cells" };
	struct store_fixture f = { .script = NULL };

	(void)state;
	store_fixture_give(&f, "AZURE_STORAGE_SAS_TOKEN", "?sv=2023-11-03&sig=abc%3D");
	store_fixture_begin(&f, &place, &step, 1);
	assert_int_equal(store_fixture_go(&f, &get), 0);
	assert_null(strstr(script_request(f.script, 0)->headers, "Authorization"));
	store_fixture_end(&f);
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
	struct store_fixture f = { .script = script };

	(void)state;
	store_fixture_give(&f, "AWS_ACCESS_KEY_ID", "A");
	store_fixture_give(&f, "AWS_SECRET_ACCESS_KEY", "S");
	f.client = http_client_new(NULL);
	f.response = (struct http_response)HTTP_RESPONSE_INIT;
	assert_int_equal(store_open(&place, &f.keys, &f.store, &f.e), 0);
	assert_int_equal(store_fixture_go(&f, &get), -ERR_FORBIDDEN);
	assert_int_equal(script_connections(script), 0);
	free(url);
	store_fixture_end(&f);
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
		cmocka_unit_test(test_no_local),
	};
	struct err e = ERR_INIT;

	if (http_global_init(&e))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
