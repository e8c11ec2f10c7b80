#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/url.h"

static void test_plain(void **state)
{
	static const struct {
		const char *url, *plain, *host;
	} rows[] = {
		{ "https://minio.example.com", "https://minio.example.com", "minio.example.com" },
		{ "HTTPS://MinIO.Example.COM./", "https://minio.example.com", "minio.example.com" },
		{ "https://a:443/x//", "https://a/x", "a" },
		{ "http://a:80", "http://a", "a" },
		{ "http://a:443", "http://a:443", "a:443" },
		{ "https://a:9000/Path", "https://a:9000/Path", "a:9000" },
		{ "https://[2001:DB8::1]:9000", "https://[2001:db8::1]:9000",
		  "[2001:db8::1]:9000" },
		{ "https://[2001:db8::1]", "https://[2001:db8::1]", "[2001:db8::1]" },
		{ "https://[2001", "https://[2001", "[2001" },
		{ "ftp://A", "ftp://A", "" },
		{ "", "", "" },
		{ "https://", "https://", "" },
	};

	(void)state;
	for (size_t i = 0; i < array_len(rows); i++) {
		cleanup(freep) char *plain = url_plain(rows[i].url), *host = url_host(rows[i].url);

		assert_string_equal(plain, rows[i].plain);
		assert_string_equal(host, rows[i].host);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_plain) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
