#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "common/syntax.h"

struct row {
	const char *text;
	bool legal;
};

static void check(bool (*legal)(const char *), const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (legal(rows[i].text) != rows[i].legal)
			fail_msg("%s is %s", rows[i].text, rows[i].legal ? "legal" : "not legal");
	}
}

#define L61 "a123456789012345678901234567890123456789012345678901234567890"
#define D50 "a23456789.a23456789.a23456789.a23456789.a23456789."

static void test_names(void **state)
{
	static const struct row labels[] = {
		{ "a", true },	  { "a-1", true }, { L61 "xy", true }, { L61 "xyz", false },
		{ "", false },	  { "1a", false }, { "-a", false },    { "a-", false },
		{ "a.b", false }, { "A", false },  { "a_b", false },
	};
	static const struct row objects[] = {
		{ "a.b-c.1", true },
		{ L61 "xyz", true },
		{ "1", true },
		{ "", false },
		{ ".a", false },
		{ "a.", false },
		{ "a..b", false },
		{ "a.-b", false },
		{ "A", false },
		{ D50 D50 D50 D50 D50 "abc", true },
		{ D50 D50 D50 D50 D50 "abcd", false },
	};
	static const struct row domains[] = {
		{ "cluster.local", true },
		{ L61 "xy.a", true },
		{ L61 "xyz.a", false },
		{ "a_b", false },
	};
	static const struct row hosts[] = {
		{ "chat.example.com", true },
		{ "*.example.com", true },
		{ "*.*", false },
		{ "*", false },
		{ "a.*.com", false },
		{ "10.0.0.1", false },
		{ "*.1.2", false },
		{ "1.2.3.4a", true },
		{ "example.com.", false },
		{ "http://a", false },
		{ "a:80", false },
		{ "[::1]", false },
		{ "xn--e1afmkfd.example", true },
		{ "\xd1\x87.example.com", false },
		{ D50 D50 D50 D50 D50 "abc", true },
		{ "*." D50 D50 D50 D50 D50 "ab", false },
	};

	(void)state;
	check(syntax_dns_label, labels, array_len(labels));
	check(syntax_object_name, objects, array_len(objects));
	check(syntax_dns_name, domains, array_len(domains));
	check(syntax_host_name, hosts, array_len(hosts));
}

static void test_words(void **state)
{
	(void)state;
	assert_true(syntax_word("aZ9.", 1, 4, "."));
	assert_false(syntax_word("aZ9.", 1, 3, "."));
	assert_false(syntax_word("aZ9.", 5, 9, "."));
	assert_false(syntax_word("a/", 1, 9, "."));
	assert_false(syntax_word("\xc3\xa4", 1, 9, ""));
	assert_true(syntax_word("", 0, 9, ""));
	assert_int_equal(syntax_length(""), 0);
	assert_int_equal(syntax_length("a\xc3\xa4\xf0\x9f\x98\x80"), 3);
}

static void test_url(void **state)
{
	static const struct row rows[] = {
		{ "https://a", true },
		{ "http://a-b.example:65535/p/q@r", true },
		{ "https://10.0.0.1:1/", true },
		{ "https://[2001:db8::1]:9000", true },
		{ "https://[::1]", true },
		{ "https://", false },
		{ "ftp://a", false },
		{ "HTTPS://a", false },
		{ "a", false },
		{ "https://-a", false },
		{ "https://a-", false },
		{ "https://[]", false },
		{ "https://[::1", false },
		{ "https://[x]", false },
		{ "https://a:", false },
		{ "https://a:0", false },
		{ "https://a:65536", false },
		{ "https://a:1234567", false },
		{ "https://a:80x", false },
		{ "https://u@a", false },
		{ "https://u:p@a", false },
		{ "https://a?q", false },
		{ "https://a/?q", false },
		{ "https://a/#f", false },
		{ "https://a/\x7f", false },
		{ "https://[1.2.3.4]", true },
		{ "https://a/b c", false },
		{ "https://a/\xc3\xa4", false },
	};

	(void)state;
	check(syntax_url, rows, array_len(rows));
}

static void test_path(void **state)
{
	static const struct row rows[] = {
		{ "/", true },		{ "/a", true },	     { "/a/", true },
		{ "/a/b.c/...", true }, { "/.a/..b", true }, { "/%41", true },
		{ "/a:b@c~$", true },	{ "", false },	     { "a", false },
		{ "//", false },	{ "/a//b", false },  { "/.", false },
		{ "/./a", false },	{ "/a/..", false },  { "/a/../b", false },
		{ "/a?b", false },	{ "/a#b", false },   { "/a b", false },
		{ "/%2f", false },	{ "/%2F", false },   { "/%4", false },
		{ "/%2a", true },	{ "/\x01", false },  { "/%zz", false },
		{ "/a|b", false },
	};
	char path[1030];

	(void)state;
	check(syntax_path, rows, array_len(rows));
	memset(path, '/', 1);
	memset(path + 1, 'a', sizeof(path) - 1);
	path[1024] = '\0';
	assert_true(syntax_path(path));
	path[1024] = 'a';
	path[1025] = '\0';
	assert_false(syntax_path(path));
}

static void test_identities(void **state)
{
	static const struct row uuids[] = {
		{ "11111111-2222-3333-4444-555555555555", true },
		{ "aAbBcCdD-2222-3333-4444-555555555555", true },
		{ "11111111-2222-3333-4444-55555555555", false },
		{ "11111111-2222-3333-4444-5555555555555", false },
		{ "11111111-2222-3333-444-5555555555555", false },
		{ "g1111111-2222-3333-4444-555555555555", false },
		{ "", false },
	};
	static const struct row emails[] = {
		{ "a.b+c_d-e@p.iam.gserviceaccount.com", true },
		{ "a@b", true },
		{ "a", false },
		{ "@b", false },
		{ "a@", false },
		{ "a b@c", false },
		{ "a@b@c", false },
		{ "a@[::1]", false },
		{ "a@b/", false },
		{ D50 D50 D50 D50 D50 "a@bc", true },
		{ D50 D50 D50 D50 D50 "a@bcd", false },
	};
	static const struct row roles[] = {
		{ "arn:aws:iam::123456789012:role/chat", true },
		{ "arn:aws-cn:iam::123456789012:role/path/chat", true },
		{ "arn:aws:iam::12345678901:role/chat", false },
		{ "arn:aws:iam::1234567890123:role/chat", false },
		{ "arn:aws:iam::123456789012:user/chat", false },
		{ "arn:aws:iam::123456789012:role/", false },
		{ "arn:aws:iam::123456789012:role/a b", false },
		{ "arn:aws:s3::123456789012:role/a", false },
		{ "arn:aws:iam::123456789012:role/a\x7f", false },
		{ "arn:gcp:iam::123456789012:role/a", false },
	};

	(void)state;
	check(syntax_uuid, uuids, array_len(uuids));
	check(syntax_email, emails, array_len(emails));
	check(syntax_role_arn, roles, array_len(roles));
}

static void test_labels(void **state)
{
	static const struct row keys[] = {
		{ "a", true },	      { "A.b_c-9", true }, { "example.com/A", true },
		{ "", false },	      { "-a", false },	   { "a-", false },
		{ "/a", false },      { "a/", false },	   { "a/b/c", false },
		{ "A.com/b", false }, { L61 "xy", true },  { L61 "xyz", false },
	};
	static const struct row values[] = {
		{ "", true },	  { "A.b_c-9", true }, { "-", false },
		{ "a b", false }, { "a/b", false },
	};

	(void)state;
	check(syntax_key, keys, array_len(keys));
	check(syntax_label_value, values, array_len(values));
}

static void test_cidr(void **state)
{
	static const struct row rows[] = {
		{ "10.0.0.0/8", true },
		{ "0.0.0.0/0", true },
		{ "255.255.255.255/32", true },
		{ "10.0.0.0", false },
		{ "10.0.0/8", false },
		{ "10.0.0.0/33", false },
		{ "256.0.0.0/8", false },
		{ "10.00.0.0/8", false },
		{ "10.0.0.0/08", false },
		{ "10.0.0.0/8x", false },
		{ "10.0.0.0/", false },
		{ "10-0.0.0/8", false },
		{ "", false },
		{ "x/8", false },
		{ "99999999999.0.0.0/8", false },
		{ "2001:db8::/64", true },
		{ "::/0", true },
		{ "::1/128", true },
		{ "1:2:3:4:5:6:7:8/128", true },
		{ "1:2:3:4:5:6:7::/64", true },
		{ "2001:db8::", false },
		{ "::/129", false },
		{ "1::2::3/64", false },
		{ "1:2:3:4:5:6:7/64", false },
		{ "1:2:3:4:5:6:7:8:9/64", false },
		{ "1:2:3:4:5:6:7:8::/64", false },
		{ ":1::/64", false },
		{ "1:/64", false },
		{ "12345::/64", false },
		{ "123456::/64", false },
		{ "g::/64", false },
		{ ":::1/64", false },
		{ "1:::2/64", false },
		{ "1::2/64", true },
	};

	(void)state;
	check(syntax_cidr, rows, array_len(rows));
}

static void test_cidr_holds(void **state)
{
	static const struct {
		const char *range, *part;
		bool holds;
	} rows[] = {
		{ "10.0.0.0/8", "10.255.0.0/16", true },
		{ "10.0.0.0/8", "10.0.0.0/8", false },
		{ "10.0.0.0/9", "10.128.0.0/16", false },
		{ "10.1.2.3/8", "10.9.9.9/32", true },
		{ "10.1.0.0/16", "10.0.0.0/8", false },
		{ "0.0.0.0/0", "192.168.255.1/32", true },
		{ "0.0.0.0/0", "::/1", false },
		{ "192.168.100.0/22", "192.168.103.0/24", true },
		{ "192.168.100.0/22", "192.168.104.0/24", false },
		{ "2001:db8::/32", "2001:DB8:ffff::1/128", true },
		{ "2001:db8::/32", "2001:db9::/48", false },
		{ "1:2:3:4:5:6:7::/112", "1:2:3:4:5:6:7:8/128", true },
		{ "::ab:0/112", "::ab:1/128", true },
		{ "::ab:0/112", "::ac:1/128", false },
		{ "10.0.0.0/8", "x", false },
		{ "x", "10.0.0.0/8", false },
	};

	(void)state;
	for (size_t i = 0; i < array_len(rows); i++) {
		if (syntax_cidr_holds(rows[i].range, rows[i].part) != rows[i].holds)
			fail_msg("%s in %s", rows[i].part, rows[i].range);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),	   cmocka_unit_test(test_words),
		cmocka_unit_test(test_url),	   cmocka_unit_test(test_path),
		cmocka_unit_test(test_identities), cmocka_unit_test(test_labels),
		cmocka_unit_test(test_cidr),	   cmocka_unit_test(test_cidr_holds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
