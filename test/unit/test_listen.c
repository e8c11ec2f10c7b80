#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "test/lib/served.h"

static void test_addresses(void **state)
{
	static const struct {
		const char *text, *host;
		int port;
	} good[] = {
		{ ":8443", "", 8443 },
		{ "0.0.0.0:8443", "0.0.0.0", 8443 },
		{ "[::]:1", "::", 1 },
		{ "[::1]:65535", "::1", 65535 },
		{ "127.0.0.1:0", "127.0.0.1", 0 },
	};
	static const char *const bad[] = { "",	      "8443",	      ":",	  ":65536",
					   ":-1",     ":8443x",	      "[]:1",	  "::1:80",
					   "host:80", "[1.2.3.4]:80", "[::]8080", "1.2.3:80",
					   ":0080443" };
	struct httpd_address a;
	struct err e = ERR_INIT;

	(void)state;
	for (size_t i = 0; i < array_len(good); i++) {
		assert_int_equal(httpd_address_read(good[i].text, &a, &e), 0);
		assert_string_equal(a.host, good[i].host);
		assert_int_equal(a.port, good[i].port);
	}
	for (size_t i = 0; i < array_len(bad); i++) {
		if (httpd_address_read(bad[i], &a, &e) != -ERR_INVALID)
			fail_msg("'%s' was taken", bad[i]);
		assert_non_null(strstr(e.message, bad[i]));
	}
}

static void test_port_in_use_is_one_clear_line(void **state)
{
	cleanup_httpd struct httpd *h = served_start((struct httpd_options){ 0 });
	char address[32], want[128];
	struct httpd *second = NULL;
	struct err e = ERR_INIT;
	struct httpd_options o = { .address = address };

	(void)state;
	(void)snprintf(address, sizeof(address), "127.0.0.1:%d", httpd_port(h));
	(void)snprintf(want, sizeof(want), "cannot listen on %s: Address already in use", address);
	assert_int_equal(httpd_start(&o, &second, &e), -ERR_UNAVAILABLE);
	assert_string_equal(e.message, want);
	assert_null(second);
}

static void test_every_address_reaches_ipv4(void **state)
{
	cleanup_httpd struct httpd *h = served_start((struct httpd_options){ .address = ":0" });
	struct peer *p = peer_open(httpd_port(h), false);

	(void)state;
	peer_get(p, "/hello");
	served_expect(p, 200, "hello\n");
	peer_close(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_port_in_use_is_one_clear_line),
		cmocka_unit_test(test_every_address_reaches_ipv4),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
