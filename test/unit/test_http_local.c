#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "common/http.h"

static bool is_local(const char *text)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };

	if (inet_pton(AF_INET, text, &v4.sin_addr) == 1)
		return http_is_local((const struct sockaddr *)&v4);
	assert_int_equal(inet_pton(AF_INET6, text, &v6.sin6_addr), 1);
	return http_is_local((const struct sockaddr *)&v6);
}

static void test_local(void **state)
{
	static const char *const all[] = {
		"127.0.0.1",
		"127.9.9.9",
		"0.0.0.0",
		"169.254.169.254",
		"169.254.0.1",
		"100.100.100.200",
		"168.63.129.16",
		"224.0.0.1",
		"255.255.255.255",
		"::",
		"::1",
		"fe80::1",
		"ff02::1",
		"fd00:ec2::254",
		"::ffff:127.0.0.1",
		"::ffff:169.254.169.254",
		"64:ff9b::7f00:1",
		"64:ff9b::a9fe:a9fe",
	};
	const struct sockaddr_un file = { .sun_family = AF_UNIX };

	(void)state;
	for (size_t i = 0; i < array_len(all); i++) {
		if (!is_local(all[i]))
			fail_msg("%s is taken for a public address", all[i]);
	}
	assert_true(http_is_local((const struct sockaddr *)&file));
}

static void test_not_local(void **state)
{
	static const char *const all[] = {
		"10.0.0.1",	   "172.16.0.1",      "192.168.1.1",	 "52.216.1.1",
		"100.100.100.201", "168.63.129.17",   "169.253.255.255", "fd00:1::1",
		"2001:db8::1",	   "::ffff:10.0.0.1", "64:ff9b::a00:1",
	};

	(void)state;
	for (size_t i = 0; i < array_len(all); i++) {
		if (is_local(all[i]))
			fail_msg("%s is taken for a local address", all[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_local),
		cmocka_unit_test(test_not_local),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
