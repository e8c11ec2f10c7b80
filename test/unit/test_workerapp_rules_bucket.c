#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "test/lib/rules_table.h"

#define V(version) "celld: {image: 'ghcr.io/denoland/celld:v" version "'}"
#define PREFIX                                                                                     \
	" has no legal prefix; write segments of letters, digits, dots, dashes and underscores "   \
	"with one / between them, and no two dots in a row"
#define CONTAINER                                                                                  \
	" is no container name; write 3 to 63 lower-case letters, digits, dots and dashes after "  \
	"the ://"

static void test_bucket_name(void **state)
{
	static const struct rules_case rows[] = {
		{ "spec: {bucket: {name: s3://cells}}", "" },
		{ "spec: {bucket: {name: s3://cells/}}", "" },
		{ "spec: {bucket: {name: s3://cells.eu-1/a_b/C.d-9/}}", "" },
		{ "spec: {bucket: {name: gs://cells/apps/chat, region: null}}", "" },
		{ "spec: {bucket: {name: null}}", "bucket-required spec.bucket.name: there is "
						  "none; write the bucket and a prefix of "
						  "the app's own, such as s3://cells/apps/chat" },
		{ "spec: {bucket: null}", "bucket-required spec.bucket.name: there is none; write "
					  "the bucket and a prefix of "
					  "the app's own, such as s3://cells/apps/chat" },
		{ "spec: {bucket: {name: cells/apps/chat}}",
		  "bucket-scheme spec.bucket.name: \"cells/apps/chat\" does not tell the kind of "
		  "storage; begin with s3://, gs:// or az://" },
		{ "spec: {bucket: {name: s3://ab}}",
		  "bucket-container spec.bucket.name: \"ab\"" CONTAINER },
		{ "spec: {bucket: {name: s3://Cells/x}}",
		  "bucket-container spec.bucket.name: \"Cells\"" CONTAINER },
		{ "spec: {bucket: {name: s3://a..b/x}}",
		  "bucket-container spec.bucket.name: \"a..b\"" CONTAINER },
		{ "spec: {bucket: {name: s3://cells//x}}",
		  "bucket-prefix spec.bucket.name: \"s3://cells//x\"" PREFIX },
		{ "spec: {bucket: {name: s3://cells/a/../b}}",
		  "bucket-prefix spec.bucket.name: \"s3://cells/a/../b\"" PREFIX },
		{ "spec: {bucket: {name: s3://cells/a//b}}",
		  "bucket-prefix spec.bucket.name: \"s3://cells/a//b\"" PREFIX },
		{ "spec: {bucket: {name: 's3://cells/a b'}}",
		  "bucket-prefix spec.bucket.name: \"s3://cells/a b\"" PREFIX },
		/* What older versions do not know. */
		{ "spec: {" V("0.1.0") ", bucket: {name: s3://cells}}", "" },
		{ "spec: {" V("0.1.0") ", bucket: {name: s3://cells/}}", "" },
		{ "spec: {" V("0.1.0") "}",
		  "bucket-prefix-version spec.bucket.name: celld v0.1.0 knows no prefix in a "
		  "bucket; "
		  "write celld v0.2.0 or later, or a bucket of its own without a prefix" },
		{ "spec: {" V("0.1.0") ", bucket: {name: gs://cells, region: null}}",
		  "bucket-gs-version spec.bucket.name: celld v0.1.0 knows no gs:// buckets; write "
		  "celld "
		  "v0.2.0 or later, or an s3:// name" },
		{ "spec: {" V("0.2.1") ", bucket: {name: gs://cells/x, region: null}}", "" },
		{ "spec: {" V(
			  "0.2.1") ", bucket: {name: az://cells/x, region: null, storageAccount: "
				   "cells}}",
		  "bucket-az-version spec.bucket.name: celld v0.2.1 knows no az:// buckets; write "
		  "celld "
		  "v0.3.0 or later, or an s3:// name" },
		{ "spec: {" V(
			  "0.3.0") ", bucket: {name: az://cells/x, region: null, storageAccount: "
				   "cells}}",
		  "" },
		/* Without a version nothing is said that needs one. */
		{ "spec: {celld: {image: 'celld:x'}, bucket: {name: az://cells/x, region: null, "
		  "storageAccount: cells}}",
		  "image-version spec.celld.image: \"celld:x\" does not tell its celld version; "
		  "write a "
		  "tag such as v0.6.2, or celld.version\n"
		  "warning: spec.celld.image: tag x may move; a node can pull another celld than "
		  "celld.version says" },
	};
	char text[1200], said[1200];
	const struct rules_case longest = { text, "" }, longer = { text, said };

	(void)state;
	rules_check(rows, array_len(rows));
	(void)snprintf(text, sizeof(text), "spec: {bucket: {name: 's3://cells/%01013d'}}", 0);
	rules_check(&longest, 1); /* 1024 */
	(void)snprintf(text, sizeof(text), "spec: {bucket: {name: 's3://cells/%01014d'}}", 0);
	(void)snprintf(said, sizeof(said),
		       "bucket-prefix spec.bucket.name: \"s3://cells/%077d...\"%s", 0, PREFIX);
	rules_check(&longer, 1);
}

#define URL                                                                                        \
	" is no URL of a store; write https://HOST or https://HOST:PORT, without user, password, " \
	"query or fragment"

static void test_endpoint(void **state)
{
	static const struct rules_case rows[] = {
		{ "spec: {bucket: {endpoint: 'https://x.r2.cloudflarestorage.com'}}", "" },
		{ "spec: {bucket: {endpoint: 'https://store:9000/path'}}", "" },
		{ "spec: {bucket: {endpoint: ''}}", "" },
		{ "spec: {bucket: {endpoint: 'http://store:9000', allowHTTP: true}}", "" },
		{ "spec: {bucket: {endpoint: 'http://store:9000'}}",
		  "endpoint-http spec.bucket.endpoint: \"http://store:9000\" is not encrypted; "
		  "write an "
		  "https:// URL, or allowHTTP: true if the network is trusted" },
		{ "spec: {bucket: {endpoint: store}}",
		  "endpoint-syntax spec.bucket.endpoint: \"store\"" URL },
		{ "spec: {bucket: {endpoint: 'https://user:secret@store'}}",
		  "endpoint-syntax spec.bucket.endpoint: \"https://user:secret@store\"" URL },
		{ "spec: {bucket: {endpoint: 'https://store/?x'}}",
		  "endpoint-syntax spec.bucket.endpoint: \"https://store/?x\"" URL },
		{ "spec: {bucket: {name: gs://cells/x, region: null, endpoint: 'https://store'}}",
		  "endpoint-scheme spec.bucket.endpoint: celld takes an endpoint for s3:// only; "
		  "leave "
		  "it out, or write an s3:// name" },
		{ "spec: {bucket: {name: az://cells/x, region: null, storageAccount: cells, "
		  "endpoint: "
		  "'https://store'}}",
		  "endpoint-scheme spec.bucket.endpoint: celld takes an endpoint for s3:// only; "
		  "leave "
		  "it out, or write an s3:// name" },
	};
	static char text[2200];
	char said[400];
	const struct rules_case longest = { text, "" }, longer = { text, said };

	(void)state;
	rules_check(rows, array_len(rows));
	(void)snprintf(text, sizeof(text), "spec: {bucket: {endpoint: 'https://a/%02038d'}}", 0);
	rules_check(&longest, 1); /* 2048 */
	(void)snprintf(text, sizeof(text), "spec: {bucket: {endpoint: 'https://a/%02039d'}}", 0);
	(void)snprintf(said, sizeof(said),
		       "endpoint-syntax spec.bucket.endpoint: \"https://a/%078d...\"%s", 0, URL);
	rules_check(&longer, 1);
}

static void test_account_and_region(void **state)
{
	static const struct rules_case rows[] = {
		{ "spec: {bucket: {name: az://cells/x, region: null, storageAccount: cells9}}",
		  "" },
		{ "spec: {bucket: {name: az://cells/x, region: null}}",
		  "storage-account-required spec.bucket.storageAccount: an az:// name is only the "
		  "container; write the storage account too" },
		{ "spec: {bucket: {name: az://cells/x, region: null, storageAccount: Cells}}",
		  "storage-account-syntax spec.bucket.storageAccount: \"Cells\" is no storage "
		  "account; "
		  "write 3 to 24 lower-case letters and digits" },
		{ "spec: {bucket: {name: az://cells/x, region: null, storageAccount: ab}}",
		  "storage-account-syntax spec.bucket.storageAccount: \"ab\" is no storage "
		  "account; "
		  "write 3 to 24 lower-case letters and digits" },
		{ "spec: {bucket: {storageAccount: cells}}",
		  "storage-account-scheme spec.bucket.storageAccount: only Azure has storage "
		  "accounts; "
		  "leave it out, or write an az:// name" },
		{ "spec: {bucket: {name: gs://cells/x, region: null, storageAccount: cells}}",
		  "storage-account-scheme spec.bucket.storageAccount: only Azure has storage "
		  "accounts; "
		  "leave it out, or write an az:// name" },
		{ "spec: {bucket: {region: 'eu central'}}",
		  "region-syntax spec.bucket.region: \"eu central\" is no region; write one such "
		  "as "
		  "eu-central-1, or auto" },
		{ "spec: {bucket: {name: gs://cells/x}}",
		  "warning: spec.bucket.region: plays no part with gs:// and az://" },
		{ "spec: {bucket: {name: az://cells/x, storageAccount: cells}}",
		  "warning: spec.bucket.region: plays no part with gs:// and az://" },
	};

	(void)state;
	rules_check(rows, array_len(rows));
}

#define ROLE "'arn:aws:iam::123456789012:role/chat'"
#define REGION_WARNING                                                                             \
	"warning: spec.bucket.region: iamRole needs the real region, because AWS's token service " \
	"has no `auto`"

static void test_credentials(void **state)
{
	static const struct rules_case rows[] = {
		{ "spec: {bucket: {credentialsFrom: {secretRef: null, iamRole: " ROLE "}}}", "" },
		{ "spec: {bucket: {credentialsFrom: {secretRef: null, iamRole: auto}}}", "" },
		{ "spec: {bucket: {region: auto, credentialsFrom: {secretRef: '', iamRole: " ROLE
		  "}}}",
		  REGION_WARNING },
		{ "spec: {bucket: {region: null, credentialsFrom: {secretRef: null, iamRole: " ROLE
		  "}}}",
		  REGION_WARNING },
		{ "spec: {bucket: {credentialsFrom: {secretRef: null, iamRole: chat}}}",
		  "credential-syntax spec.bucket.credentialsFrom.iamRole: \"chat\" is none; write "
		  "the "
		  "ARN of a role, such as arn:aws:iam::123456789012:role/chat, or auto" },
		{ "spec: {bucket: {credentialsFrom: {secretRef: A_B}}}",
		  "credential-syntax spec.bucket.credentialsFrom.secretRef: \"A_B\" is none; write "
		  "the "
		  "name of a Secret: lower-case letters, digits, dashes and dots" },
		{ "spec: {bucket: {credentialsFrom: {iamRole: " ROLE "}}}",
		  "credentials-one spec.bucket.credentialsFrom: iamRole and secretRef are 2 "
		  "credentials, and celld uses one; write one of them" },
		{ "spec: {bucket: {name: gs://cells/x, region: null, credentialsFrom: {secretRef: "
		  "null, gcpServiceAccount: chat@project.iam.gserviceaccount.com}}}",
		  "" },
		{ "spec: {bucket: {name: gs://cells/x, region: null, credentialsFrom: {secretRef: "
		  "null, gcpServiceAccount: chat}}}",
		  "credential-syntax spec.bucket.credentialsFrom.gcpServiceAccount: \"chat\" is "
		  "none; "
		  "write an e-mail, such as chat@project.iam.gserviceaccount.com" },
		{ "spec: {bucket: {name: gs://cells/x, region: null, credentialsFrom: {secretRef: "
		  "null, iamRole: " ROLE "}}}",
		  "credential-scheme spec.bucket.credentialsFrom.iamRole: is for s3:// only; write "
		  "gcpServiceAccount or secretRef for gs://" },
		{ "spec: {bucket: {name: az://cells/x, region: null, storageAccount: cells, "
		  "credentialsFrom: {secretRef: null, azureClientID: "
		  "11111111-2222-3333-4444-555555555555}}}",
		  "" },
		{ "spec: {bucket: {name: az://cells/x, region: null, storageAccount: cells, "
		  "credentialsFrom: {secretRef: null, azureClientID: x}}}",
		  "credential-syntax spec.bucket.credentialsFrom.azureClientID: \"x\" is none; "
		  "write a "
		  "client ID, such as 11111111-2222-3333-4444-555555555555" },
		{ "spec: {bucket: {name: az://cells/x, region: null, storageAccount: cells, "
		  "credentialsFrom: {secretRef: null, iamRole: auto}}}",
		  "credential-scheme spec.bucket.credentialsFrom.iamRole: is for s3:// only; write "
		  "azureClientID or secretRef for az://" },
		{ "spec: {bucket: {credentialsFrom: {secretRef: null, azureClientID: "
		  "11111111-2222-3333-4444-555555555555}}}",
		  "credential-scheme spec.bucket.credentialsFrom.azureClientID: is for az:// only; "
		  "write iamRole or secretRef for s3://" },
		{ "spec: {bucket: {credentialsFrom: {secretRef: null, gcpServiceAccount: "
		  "a@b.example}}}",
		  "credential-scheme spec.bucket.credentialsFrom.gcpServiceAccount: is for gs:// "
		  "only; "
		  "write iamRole or secretRef for s3://" },
		/* Which one is right cannot be told of a bucket without a scheme. */
		{ "spec: {bucket: {name: cells/x, credentialsFrom: {secretRef: null, "
		  "azureClientID: "
		  "11111111-2222-3333-4444-555555555555}}}",
		  "bucket-scheme spec.bucket.name: \"cells/x\" does not tell the kind of storage; "
		  "begin with s3://, gs:// or az://" },
		/* None: the platform's own. */
		{ "spec: {bucket: {credentialsFrom: null}}", "" },
		{ "spec: {" V("0.3.0") ", bucket: {credentialsFrom: {}}}", "" },
		{ "spec: {" V("0.3.0") ", bucket: {credentialsFrom: {secretRef: null}}}",
		  "warning: spec.bucket.credentialsFrom: this celld does not read EKS Pod "
		  "Identity; "
		  "write iamRole or secretRef" },
	};

	(void)state;
	rules_check(rows, array_len(rows));
}

#define TWICE "the store of storeRef says this already; leave it out, or leave storeRef out"

static void test_store(void **state)
{
	static const struct rules_case rows[] = {
		{ "spec: {storeRef: {name: shared}, bucket: {region: null, credentialsFrom: null}}",
		  "" },
		{ "spec: {storeRef: {name: shared}, bucket: {name: az://cells/x, region: null, "
		  "credentialsFrom: {secretRef: ''}}}",
		  "" },
		{ "spec: {storeRef: {name: ''}}", "" },
		{ "spec: {storeRef: {name: shared}, bucket: {endpoint: 'https://store', allowHTTP: "
		  "true}}",
		  "store-exclusive spec.bucket.endpoint: " TWICE "\n"
		  "store-exclusive spec.bucket.allowHTTP: " TWICE "\n"
		  "store-exclusive spec.bucket.region: " TWICE "\n"
		  "store-exclusive spec.bucket.credentialsFrom: " TWICE },
		{ "spec: {storeRef: {name: shared}, bucket: {name: az://cells/x, region: null, "
		  "storageAccount: cells, credentialsFrom: null}}",
		  "store-exclusive spec.bucket.storageAccount: " TWICE },
		{ "spec: {storeRef: {name: S}, bucket: {region: null, credentialsFrom: null}}",
		  "object-name spec.storeRef.name: \"S\" cannot be the name of a CelldObjectStore; "
		  "write lower-case letters, digits, dashes and dots, at most 253" },
	};

	(void)state;
	rules_check(rows, array_len(rows));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bucket_name),
		cmocka_unit_test(test_endpoint),
		cmocka_unit_test(test_account_and_region),
		cmocka_unit_test(test_credentials),
		cmocka_unit_test(test_store),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
