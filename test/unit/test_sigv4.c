/* Vectors: the examples of the S3 documentation, and AWS's aws-sig-v4-test-suite. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/buf.h"
#include "common/digest.h"
#include "common/sigv4.h"

#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static const char *const s3_key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
static const char *const suite_key = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";

static void expect(const struct sigv4_request *r, const char *access, const char *secret,
		   const char *names, const char *signature)
{
	char *got = sigv4_authorization(r, access, secret);
	char want[512];

	(void)snprintf(want, sizeof(want),
		       "AWS4-HMAC-SHA256 Credential=%s/%.8s/%s/%s/aws4_request, SignedHeaders=%s, "
		       "Signature=%s",
		       access, r->date, r->region, r->service, names, signature);
	assert_string_equal(got, want);
	free(got);
}

static void s3(const char *method, const char *path, const char *query, const char *payload,
	       const struct sigv4_pair *more, size_t n, const char *names, const char *signature)
{
	struct sigv4_pair headers[8] = {
		{ "host", "examplebucket.s3.amazonaws.com" },
		{ "x-amz-content-sha256", payload },
		{ "x-amz-date", "20130524T000000Z" },
	};
	struct sigv4_request r = { .method = method,
				   .path = path,
				   .query = query,
				   .headers = headers,
				   .n_headers = 3 + n,
				   .payload = payload,
				   .date = "20130524T000000Z",
				   .region = "us-east-1",
				   .service = "s3" };

	for (size_t i = 0; i < n; i++)
		headers[3 + i] = more[i];
	expect(&r, "AKIAIOSFODNN7EXAMPLE", s3_key, names, signature);
}

static void test_s3_get(void **state)
{
	static const struct sigv4_pair range = { "range", "bytes=0-9" };

	(void)state;
	s3("GET", "/test.txt", "", EMPTY, &range, 1, "host;range;x-amz-content-sha256;x-amz-date",
	   "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

static void test_s3_put(void **state)
{
	static const struct sigv4_pair more[] = {
		{ "date", "Fri, 24 May 2013 00:00:00 GMT" },
		{ "x-amz-storage-class", "REDUCED_REDUNDANCY" },
	};
	struct buf path = BUF_INIT(100);

	(void)state;
	sigv4_path("/test$file.text", &path);
	assert_string_equal(buf_str(&path), "/test%24file.text");
	s3("PUT", buf_str(&path), NULL,
	   "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072", more, 2,
	   "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
	   "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
	buf_done(&path);
}

static void test_s3_subresource(void **state)
{
	static const struct sigv4_pair pair = { "lifecycle", "" };
	char *query = sigv4_query(&pair, 1);

	(void)state;
	assert_string_equal(query, "lifecycle=");
	s3("GET", "/", query, EMPTY, NULL, 0, "host;x-amz-content-sha256;x-amz-date",
	   "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
	free(query);
}

static void test_s3_list(void **state)
{
	static const struct sigv4_pair pairs[] = { { "prefix", "J" }, { "max-keys", "2" } };
	char *query = sigv4_query(pairs, 2);

	(void)state;
	assert_string_equal(query, "max-keys=2&prefix=J");
	s3("GET", "/", query, EMPTY, NULL, 0, "host;x-amz-content-sha256;x-amz-date",
	   "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
	free(query);
}

static void suite(const char *method, const char *path, const char *query,
		  const struct sigv4_pair *more, size_t n, const char *names, const char *signature)
{
	struct sigv4_pair headers[8] = {
		{ "host", "example.amazonaws.com" },
		{ "x-amz-date", "20150830T123600Z" },
	};
	struct sigv4_request r = { .method = method,
				   .path = path,
				   .query = query,
				   .headers = headers,
				   .n_headers = 2 + n,
				   .payload = EMPTY,
				   .date = "20150830T123600Z",
				   .region = "us-east-1",
				   .service = "service" };

	for (size_t i = 0; i < n; i++)
		headers[2 + i] = more[i];
	expect(&r, "AKIDEXAMPLE", suite_key, names, signature);
}

static void test_suite_vanilla(void **state)
{
	(void)state;
	suite("GET", "/", "", NULL, 0, "host;x-amz-date",
	      "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
	suite("POST", "/", "", NULL, 0, "host;x-amz-date",
	      "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b");
}

static void test_suite_query(void **state)
{
	static const struct sigv4_pair order[] = { { "Param2", "value2" }, { "Param1", "value1" } };
	static const struct sigv4_pair utf8 = { "ሴ", "bar" };
	char *a = sigv4_query(order, 2), *b = sigv4_query(&utf8, 1);

	(void)state;
	suite("GET", "/", a, NULL, 0, "host;x-amz-date",
	      "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500");
	assert_string_equal(b, "%E1%88%B4=bar");
	suite("GET", "/", b, NULL, 0, "host;x-amz-date",
	      "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04");
	free(a);
	free(b);
}

static void test_suite_paths(void **state)
{
	struct buf utf8 = BUF_INIT(100);

	(void)state;
	sigv4_path("/ሴ", &utf8);
	assert_string_equal(buf_str(&utf8), "/%E1%88%B4");
	suite("GET", buf_str(&utf8), "", NULL, 0, "host;x-amz-date",
	      "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85");
	suite("GET", "/-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", "",
	      NULL, 0, "host;x-amz-date",
	      "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f");
	buf_done(&utf8);
}

static void test_suite_header_values(void **state)
{
	static const struct sigv4_pair trim[] = { { "my-header1", " value1" },
						  { "my-header2", " \"a   b   c\"" } };

	(void)state;
	suite("GET", "/", "", trim, 2, "host;my-header1;my-header2;x-amz-date",
	      "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736");
}

/* The order of names is that of the encoded names, not that of whole pairs. */
static void test_query_order(void **state)
{
	static const struct sigv4_pair pairs[] = {
		{ "a-b", "1" }, { "a", "2" }, { "a", "1" }, { "a.b", "/ +" }, { "A", "" },
	};
	char *query = sigv4_query(pairs, 5);

	(void)state;
	assert_string_equal(query, "A=&a=1&a=2&a-b=1&a.b=%2F%20%2B");
	free(query);
	query = sigv4_query(NULL, 0);
	assert_string_equal(query, "");
	free(query);
}

static void test_date(void **state)
{
	char date[SIGV4_DATE];

	(void)state;
	sigv4_date("2013-05-24T00:00:00Z", date);
	assert_string_equal(date, "20130524T000000Z");
}

/* Google's own names in the same construction. */
static void test_google(void **state)
{
	static const struct sigv4_pair headers[] = { { "host", "storage.googleapis.com" },
						     { "x-goog-date", "20191201T190859Z" } };
	struct sigv4_request r = { .method = "GET",
				   .path = "/example-bucket/cat.jpeg",
				   .headers = headers,
				   .n_headers = 2,
				   .payload = SIGV4_UNSIGNED,
				   .date = "20191201T190859Z",
				   .region = "auto",
				   .service = "storage",
				   .google = true };
	char *got = sigv4_authorization(&r, "GOOGTEST", "key");

	(void)state;
	assert_true(str_starts(got, "GOOG4-HMAC-SHA256 Credential=GOOGTEST/20191201/auto/storage/"
				    "goog4_request, SignedHeaders=host;x-goog-date, Signature="));
	free(got);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_s3_get),	       cmocka_unit_test(test_s3_put),
		cmocka_unit_test(test_s3_subresource), cmocka_unit_test(test_s3_list),
		cmocka_unit_test(test_suite_vanilla),  cmocka_unit_test(test_suite_query),
		cmocka_unit_test(test_suite_paths),    cmocka_unit_test(test_suite_header_values),
		cmocka_unit_test(test_query_order),    cmocka_unit_test(test_date),
		cmocka_unit_test(test_google),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
