#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "common/policy_load.h"

static int load(const char *text, struct policy *p, struct err *e)
{
	return policy_load(text, strlen(text), "policy.yaml", p, e);
}

static void test_good(void **state)
{
	struct policy p = { 0 };
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(load("allowedImagePrefixes:\n- ghcr.io/denoland/celld\n- team-a=r.io/\n"
			      "allowedIAMRoles: []\n"
			      "allowedAzureClientIDs:\n"
			      "allowedGCPServiceAccounts: [x@y.iam.gserviceaccount.com]\n"
			      "allowedBucketEndpoints: ['https://a']\n",
			      &p, &e),
			 0);
	assert_int_equal(p.list[POLICY_IMAGE].n, 2);
	assert_string_equal(p.list[POLICY_IMAGE].v[1], "team-a=r.io/");
	assert_int_equal(p.list[POLICY_IAM_ROLE].n, 0);
	assert_int_equal(p.list[POLICY_AZURE_CLIENT_ID].n, 0);
	assert_int_equal(p.list[POLICY_GCP_SERVICE_ACCOUNT].n, 1);
	assert_string_equal(p.list[POLICY_ENDPOINT].v[0], "https://a");
	policy_done(&p);
}

static void test_bad(void **state)
{
	static const struct {
		const char *text, *message;
	} rows[] = {
		{ "a: [", "policy.yaml: " },
		{ "- a\n", "policy.yaml:1: policy: write the lists as members of one object" },
		{ "allowedIAMRoles: []\nallowedRoles: []\n",
		  "policy.yaml:2: allowedRoles: there is no such list; the lists are "
		  "allowedImagePrefixes, allowedIAMRoles, allowedAzureClientIDs, "
		  "allowedGCPServiceAccounts and allowedBucketEndpoints" },
		{ "allowedIAMRoles: a\n", "policy.yaml:1: allowedIAMRoles: write a list" },
		{ "allowedIAMRoles:\n- a\n- 7\n",
		  "policy.yaml:3: allowedIAMRoles[1]: write a text" },
		{ "allowedImagePrefixes:\n- 'x*'\n",
		  "policy.yaml:2: allowedImagePrefixes[0]: 'x*': here * stands for itself; write "
		  "the prefix alone" },
	};

	(void)state;
	for (size_t i = 0; i < array_len(rows); i++) {
		struct policy p = { 0 };
		struct err e = ERR_INIT;

		assert_int_equal(load(rows[i].text, &p, &e), -ERR_INVALID);
		if (i)
			assert_string_equal(e.message, rows[i].message);
		else
			assert_true(str_starts(e.message, rows[i].message));
		policy_done(&p);
	}
}

static void test_flags(void **state)
{
	struct strlist given[POLICY_KINDS] = { 0 };
	struct flag rows[POLICY_KINDS];
	char *argv[] = { (char *)(uintptr_t) "x",
			 (char *)(uintptr_t) "--allowed-image-prefixes=r.io/,a=q.io/",
			 (char *)(uintptr_t) "--allowed-iam-roles=r",
			 (char *)(uintptr_t) "--allowed-azure-client-ids=c",
			 (char *)(uintptr_t) "--allowed-gcp-service-accounts=s",
			 (char *)(uintptr_t) "--allowed-bucket-endpoints=https://e" };
	static const char *const want[POLICY_KINDS] = {
		[POLICY_IMAGE] = "r.io/",	 [POLICY_IAM_ROLE] = "r",
		[POLICY_AZURE_CLIENT_ID] = "c",	 [POLICY_GCP_SERVICE_ACCOUNT] = "s",
		[POLICY_ENDPOINT] = "https://e",
	};
	struct policy p = { 0 };
	struct err e = ERR_INIT;
	int rest;

	(void)state;
	policy_flags(given, rows);
	assert_int_equal(flags_parse(rows, POLICY_KINDS, array_len(argv), argv, &rest, &e), 0);
	assert_int_equal(policy_add_flags(given, &p, &e), 0);
	for (int i = 0; i < POLICY_KINDS; i++)
		assert_string_equal(p.list[i].v[0], want[i]);
	assert_int_equal(p.list[POLICY_IMAGE].n, 2);
	policy_done(&p);
	strlist_add(&given[POLICY_ENDPOINT], "https://*");
	assert_int_equal(policy_add_flags(given, &p, &e), -ERR_INVALID);
	assert_string_equal(e.message, "--allowed-bucket-endpoints: 'https://*': here * stands for "
				       "itself; write each value in full");
	policy_done(&p);
	for (int i = 0; i < POLICY_KINDS; i++)
		strlist_done(&given[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_flags),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
