#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "common/buf.h"
#include "common/store_rules.h"
#include "common/yaml.h"

static struct json *store(const char *metadata, const char *spec)
{
	cleanup(freep) char *text =
		xasprintf("{metadata: {namespace: acme%s}, spec: {%s}}", metadata, spec);
	struct yaml_doc doc = { 0 };
	struct err e = ERR_INIT;
	struct json *copy;

	if (yaml_parse_one(text, strlen(text), &doc, &e))
		fail_msg("%s: %s", text, e.message);
	copy = json_dup(doc.value);
	yaml_doc_done(&doc);
	return copy;
}

static void check(const char *metadata, const char *spec, const char *old_spec,
		  const struct strlist *users, const char *said)
{
	cleanup_json struct json *new = store(metadata, spec);
	cleanup_json struct json *old = old_spec ? store("", old_spec) : NULL;
	struct faults l = FAULTS_INIT;
	struct buf b = BUF_INIT(1 << 16);

	store_rules(new, old, NULL, users, &l);
	for (size_t i = 0; i < l.n; i++)
		buf_printf(&b, "%s%s %s: %s", i ? "\n" : "", l.v[i].rule, l.v[i].path,
			   l.v[i].message);
	if (!str_eq(buf_str(&b), said))
		fail_msg("%s\nwant %s\ngot  %s", spec, said, buf_str(&b));
	buf_done(&b);
	faults_done(&l);
}

static void test_alone(void **state)
{
	static const struct {
		const char *spec, *said;
	} rows[] = {
		{ "", "" },
		{ "endpoint: 'https://minio:9000', region: auto, allowHTTP: false, "
		  "credentialsFrom: {secretRef: keys}",
		  "" },
		{ "endpoint: '', storageAccount: '', credentialsFrom: {iamRole: auto}", "" },
		{ "storageAccount: cells1, credentialsFrom: {azureClientID: "
		  "11111111-2222-3333-4444-555555555555}",
		  "" },
		{ "credentialsSecretRef: {name: keys}", "" },
		{ "endpoint: minio",
		  "endpoint-syntax spec.endpoint: \"minio\" is no URL of a store; write "
		  "https://HOST "
		  "or https://HOST:PORT, without user, password, query or fragment" },
		{ "endpoint: 'http://minio'", "endpoint-http spec.endpoint: \"http://minio\" is "
					      "not encrypted; write an https:// "
					      "URL, or allowHTTP: true if the network is trusted" },
		{ "endpoint: 'http://minio', allowHTTP: true", "" },
		{ "region: a b", "region-syntax spec.region: \"a b\" is no region; write one such "
				 "as eu-central-1, or "
				 "auto" },
		{ "storageAccount: Cells", "storage-account-syntax spec.storageAccount: \"Cells\" "
					   "is no storage account; write "
					   "3 to 24 lower-case letters and digits" },
		{ "storageAccount: cells, endpoint: 'https://minio'",
		  "store-one-kind spec.storageAccount: one store is either S3-compatible or Azure; "
		  "write endpoint for the one or storageAccount for the other" },
		{ "endpoint: 7, allowHTTP: 'true', credentialsFrom: [], credentialsSecretRef: "
		  "{name: "
		  "[]}",
		  "wrong-type spec.endpoint: is a number; write one text\n"
		  "wrong-type spec.allowHTTP: is a string; write true or false, without "
		  "quotes\n"
		  "wrong-type spec.credentialsFrom: is a list; write names with values, or "
		  "leave it out\n"
		  "wrong-type spec.credentialsSecretRef.name: is a list; write one text" },
		{ "credentialsFrom: {iamRole: admin, secretRef: A B}",
		  "credential-syntax spec.credentialsFrom.iamRole: \"admin\" is none; write the "
		  "ARN of "
		  "a role, such as arn:aws:iam::123456789012:role/chat, or auto\n"
		  "credential-syntax spec.credentialsFrom.secretRef: \"A B\" is none; write the "
		  "name "
		  "of a Secret: lower-case letters, digits, dashes and dots\n"
		  "credentials-one spec.credentialsFrom: 2 credentials are written, and celld uses "
		  "one; write one of iamRole, secretRef, azureClientID and gcpServiceAccount" },
		{ "credentialsFrom: {secretRef: a}, credentialsSecretRef: {name: b}",
		  "credentials-alias spec.credentialsSecretRef: is secretRef by another name; "
		  "write "
		  "either credentialsFrom or credentialsSecretRef" },
		{ "storageAccount: cells, credentialsFrom: {iamRole: auto}",
		  "credential-scheme spec.credentialsFrom.iamRole: is not for Azure; write "
		  "azureClientID or secretRef, or leave storageAccount out" },
		{ "credentialsFrom: {azureClientID: x}",
		  "credential-syntax spec.credentialsFrom.azureClientID: \"x\" is none; write a "
		  "client "
		  "ID, such as 11111111-2222-3333-4444-555555555555\n"
		  "credential-scheme spec.credentialsFrom.azureClientID: is for Azure only; write "
		  "storageAccount too, or another credential" },
		{ "endpoint: 'https://minio', credentialsFrom: {gcpServiceAccount: x}",
		  "credential-syntax spec.credentialsFrom.gcpServiceAccount: \"x\" is none; write "
		  "an "
		  "e-mail, such as chat@project.iam.gserviceaccount.com\n"
		  "credential-scheme spec.credentialsFrom.gcpServiceAccount: is for gs:// only; "
		  "leave "
		  "endpoint and storageAccount out, or write another credential" },
	};
	struct strlist none = STRLIST_INIT;

	(void)state;
	for (size_t i = 0; i < array_len(rows); i++)
		check("", rows[i].spec, NULL, &none, rows[i].said);
}

static void test_changes(void **state)
{
	static const char change[] =
		"endpoint-change spec.endpoint: 1 apps that roll use it (acme/chat is one), and "
		"two "
		"halves of a fleet on two stores own the same cells; set their updateStrategy to "
		"Recreate, or, if the new name reaches the same buckets, annotate this store with "
		"celld-operator.io/acknowledge: endpoint";
	struct strlist none = STRLIST_INIT, users = STRLIST_INIT;

	(void)state;
	strlist_add(&users, "acme/chat");
	check("", "endpoint: 'https://b'", "endpoint: 'https://a'", &none, "");
	check("", "endpoint: 'https://b'", "endpoint: 'https://a'", &users, change);
	check("", "region: x", "endpoint: 'https://a'", &users, change);
	check(", annotations: {celld-operator.io/acknowledge: 'v1->v2, endpoint'}",
	      "endpoint: 'https://b'", "endpoint: 'https://a'", &users, "");
	check(", annotations: {celld-operator.io/acknowledge: 'endpoints'}",
	      "endpoint: 'https://b'", "endpoint: 'https://a'", &users, change);
	check("", "region: x, credentialsFrom: {secretRef: b}", "region: y", &users, "");
	check("", "storageAccount: other", "storageAccount: cells", &none,
	      "storage-account-immutable spec.storageAccount: another account is another bucket, "
	      "and cells live in this one; write cells, or create another CelldObjectStore");
	check("", "", "storageAccount: cells", &none,
	      "storage-account-immutable spec.storageAccount: another account is another bucket, "
	      "and cells live in this one; write cells, or create another CelldObjectStore");
	check("", "storageAccount: cells", "", &none, "");
	/* Faults that the stored one has are forgiven. */
	check("", "endpoint: minio, region: b", "endpoint: minio, region: a", &none, "");
	strlist_done(&users);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_alone),
					    cmocka_unit_test(test_changes) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
