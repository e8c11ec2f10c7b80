#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/celld/table_load.h"
#include "common/policy.h"
#include "common/workerapp_rules.h"
#include "test/lib/rules_table.h"

#define ROLE "arn:aws:iam::123456789012:role/"

static void test_allows(void **state)
{
	static const struct {
		enum policy_kind kind;
		const char *entry, *namespace, *value;
		bool allowed;
	} rows[] = {
		{ POLICY_IMAGE, "ghcr.io/denoland/celld", "a", "ghcr.io/denoland/celld:v0.6.2",
		  true },
		{ POLICY_IMAGE, "ghcr.io/denoland/celld", "a", "ghcr.io/denoland/celld@sha256:00",
		  true },
		{ POLICY_IMAGE, "ghcr.io/denoland/celld", "a", "ghcr.io/denoland/celld/x:v1",
		  true },
		{ POLICY_IMAGE, "ghcr.io/denoland/celld", "a", "ghcr.io/denoland/celld", true },
		{ POLICY_IMAGE, "ghcr.io/denoland/celld", "a", "ghcr.io/denoland/celld-fork:v1",
		  false },
		{ POLICY_IMAGE, "ghcr.io/denoland/celld", "a", "evil.io/ghcr.io/denoland/celld:v1",
		  false },
		{ POLICY_IMAGE, "ghcr.io/", "a", "ghcr.io/other/celld:v0.6.2", true },
		{ POLICY_IMAGE, "ghcr.io/", "a", "ghcr.io.evil/celld:v0.6.2", false },
		{ POLICY_IMAGE, "ghcr.io/denoland/celld:v0.6", "a", "ghcr.io/denoland/celld:v0.6.2",
		  false },
		{ POLICY_IMAGE, "team-a=ghcr.io/", "team-a", "ghcr.io/x:v1", true },
		{ POLICY_IMAGE, "team-a=ghcr.io/", "team-ab", "ghcr.io/x:v1", false },
		{ POLICY_IMAGE, "team-a=ghcr.io/", NULL, "ghcr.io/x:v1", false },
		{ POLICY_IMAGE, "team-*=ghcr.io/", "team-ab", "ghcr.io/x:v1", true },
		{ POLICY_IMAGE, "*-prod=ghcr.io/", "a-prod-prod", "ghcr.io/x:v1", true },
		{ POLICY_IMAGE, "*-prod=ghcr.io/", "a-prod-x", "ghcr.io/x:v1", false },
		{ POLICY_IMAGE, "ghcr.io/", "a", "", true },
		{ POLICY_IMAGE, "ghcr.io/", "a", NULL, true },
		{ POLICY_IAM_ROLE, ROLE "chat", "a", ROLE "chat", true },
		{ POLICY_IAM_ROLE, ROLE "chat", "a", ROLE "chat2", false },
		{ POLICY_IAM_ROLE, ROLE "chat*", "a", ROLE "chat-2", true },
		{ POLICY_IAM_ROLE, ROLE "chat*", "a", ROLE "chat/admin", false },
		{ POLICY_IAM_ROLE, ROLE "a=b", "a", ROLE "a=b", true },
		{ POLICY_IAM_ROLE, "a=" ROLE "a=b", "a", ROLE "a=b", true },
		{ POLICY_IAM_ROLE, "arn:aws:iam::*:role/x", "a", "arn:aws:iam::1:role/x", true },
		{ POLICY_IAM_ROLE, "arn:aws:iam::*:role/x", "a", "arn:aws:iam::1:user:role/x",
		  false },
		{ POLICY_AZURE_CLIENT_ID, "aaaaaaaa-2222-3333-4444-555555555555", "a",
		  "AAAAAAAA-2222-3333-4444-555555555555", true },
		{ POLICY_AZURE_CLIENT_ID, "aaaaaaaa-2222-3333-4444-555555555555", "a",
		  "aaaaaaaa-2222-3333-4444-555555555556", false },
		{ POLICY_GCP_SERVICE_ACCOUNT, "*@prod.iam.gserviceaccount.com", "a",
		  "chat@prod.iam.gserviceaccount.com", true },
		{ POLICY_GCP_SERVICE_ACCOUNT, "*@prod.iam.gserviceaccount.com", "a",
		  "chat@other@prod.iam.gserviceaccount.com", false },
		{ POLICY_ENDPOINT, "https://minio.example.com", "a",
		  "HTTPS://Minio.example.com:443/", true },
		{ POLICY_ENDPOINT, "https://minio.example.com:443/", "a",
		  "https://minio.example.com", true },
		{ POLICY_ENDPOINT, "https://minio.example.com", "a", "http://minio.example.com",
		  false },
		{ POLICY_ENDPOINT, "https://minio.example.com", "a",
		  "https://minio.example.com:9000", false },
		{ POLICY_ENDPOINT, "https://minio.example.com", "a",
		  "https://minio.example.com.evil", false },
	};

	(void)state;
	for (size_t i = 0; i < array_len(rows); i++) {
		struct policy p = { 0 };
		struct err e = ERR_INIT;

		assert_int_equal(policy_add(&p, rows[i].kind, rows[i].entry, &e), 0);
		if (policy_allows(&p, rows[i].kind, rows[i].namespace, rows[i].value) !=
		    rows[i].allowed)
			fail_msg("row %zu: %s: %s", i, rows[i].entry, rows[i].value);
		/* A kind without an entry is not checked. */
		assert_true(policy_allows(
			&p, rows[i].kind == POLICY_IMAGE ? POLICY_ENDPOINT : POLICY_IMAGE, "a",
			"anything"));
		policy_done(&p);
	}
	assert_true(policy_allows(NULL, POLICY_IMAGE, "a", "anything"));
}

static void test_entries(void **state)
{
	static const struct {
		enum policy_kind kind;
		const char *entry, *message;
	} rows[] = {
		{ POLICY_IMAGE, "", "'' allows nothing; write VALUE or NAMESPACE=VALUE" },
		{ POLICY_IMAGE,
		  "team-a=", "'team-a=' allows nothing; write VALUE or NAMESPACE=VALUE" },
		{ POLICY_IAM_ROLE, "a b", "'a b' holds a blank or control character" },
		{ POLICY_IMAGE, "ghcr.io/*",
		  "'ghcr.io/*': here * stands for itself; write the prefix alone" },
		{ POLICY_ENDPOINT, "https://*.example.com",
		  "'https://*.example.com': here * stands for itself; write each value in full" },
	};

	(void)state;
	for (size_t i = 0; i < array_len(rows); i++) {
		struct policy p = { 0 };
		struct err e = ERR_INIT;

		assert_int_equal(policy_add(&p, rows[i].kind, rows[i].entry, &e), -ERR_INVALID);
		assert_string_equal(e.message, rows[i].message);
		assert_int_equal(p.list[rows[i].kind].n, 0);
		policy_done(&p);
	}
}

static void add(struct policy *p, enum policy_kind kind, const char *entry)
{
	struct err e = ERR_INIT;

	assert_int_equal(policy_add(p, kind, entry, &e), 0);
}

static void judge(const struct policy *p, const char *old, const char *change, struct faults *to)
{
	cleanup_workerapp struct workerapp *app = rules_app(change);
	cleanup_workerapp struct workerapp *before = old ? rules_app(old) : NULL;
	struct rules_facts facts = { .table = celld_table_builtin(), .policy = p };

	workerapp_rules(app, before, &facts, to, NULL);
}

static void is(struct faults *l, size_t i, const char *path, const char *message)
{
	assert_true(l->n > i);
	assert_string_equal(l->v[i].rule, "policy");
	assert_string_equal(l->v[i].path, path);
	assert_string_equal(l->v[i].message, message);
	assert_true(l->v[i].forbidden);
}

/* All rules of an app, the old object's faults forgiven. */
static void test_judge(void **state)
{
	static const char role[] =
		"spec: {bucket: {credentialsFrom: {secretRef: null, iamRole: 'arn:aws:iam::"
		"123456789012:role/root'}}}";
	struct policy p = { 0 };
	struct faults l = FAULTS_INIT;

	(void)state;
	add(&p, POLICY_IMAGE, "registry.example.com/");
	add(&p, POLICY_IMAGE, "other=ghcr.io/");
	judge(&p, NULL, "", &l);
	assert_int_equal(l.n, 1);
	is(&l, 0, "spec.celld.image",
	   "the platform's policy does not allow image \"ghcr.io/denoland/celld:v0.6.2\" here; "
	   "write "
	   "an image that begins with registry.example.com/, or ask the platform's owners to allow "
	   "it");
	faults_done(&l);
	judge(&p, "", "spec: {replicas: 5}", &l);
	assert_int_equal(l.n, 0);
	judge(&p, "", "spec: {celld: {image: 'ghcr.io/denoland/celld:v0.6.3'}}", &l);
	assert_int_equal(l.n, 1);
	faults_done(&l);
	policy_done(&p);

	p = (struct policy){ 0 };
	add(&p, POLICY_IAM_ROLE, "other=" ROLE "x");
	judge(&p, NULL, role, &l);
	assert_int_equal(l.n, 1);
	is(&l, 0, "spec.bucket.credentialsFrom.iamRole",
	   "the platform's policy allows no role in this namespace, so not \"" ROLE
	   "root\"; ask the platform's owners to allow it");
	faults_done(&l);
	judge(&p, NULL, "spec: {bucket: {credentialsFrom: {secretRef: null, iamRole: auto}}}", &l);
	assert_int_equal(l.n, 0);
	policy_done(&p);
}

static void test_store(void **state)
{
	struct policy p = { 0 };
	struct faults l = FAULTS_INIT;
	struct wa_bucket b = {
		.endpoint = "https://a.example.com",
		.credentials = { .gcp_service_account = "x@y.iam.gserviceaccount.com",
				 .azure_client_id = "11111111-2222-3333-4444-555555555555" }
	};

	(void)state;
	add(&p, POLICY_ENDPOINT, "https://b.example.com");
	add(&p, POLICY_GCP_SERVICE_ACCOUNT, "z@y.iam.gserviceaccount.com");
	add(&p, POLICY_AZURE_CLIENT_ID, "11111111-2222-3333-4444-555555555550");
	policy_judge_store(&p, "shop", &b, &l);
	assert_int_equal(l.n, 3);
	is(&l, 0, "spec.endpoint",
	   "the platform's policy does not allow endpoint \"https://a.example.com\" here; write "
	   "https://b.example.com, or ask the platform's owners to allow it");
	assert_string_equal(l.v[1].path, "spec.credentialsFrom.azureClientID");
	assert_string_equal(l.v[2].path, "spec.credentialsFrom.gcpServiceAccount");
	faults_done(&l);
	policy_judge_store(NULL, "shop", &b, &l);
	assert_int_equal(l.n, 0);
	policy_done(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_allows),
		cmocka_unit_test(test_entries),
		cmocka_unit_test(test_judge),
		cmocka_unit_test(test_store),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
