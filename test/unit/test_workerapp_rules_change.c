#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "test/lib/rules_table.h"

#define V(version) "celld: {image: 'ghcr.io/denoland/celld:v" version "'}"
#define V_RECREATE(version)                                                                        \
	"celld: {image: 'ghcr.io/denoland/celld:v" version "', updateStrategy: Recreate}"
#define RECREATE  "celld: {updateStrategy: Recreate}"
#define ACK(what) "metadata: {annotations: {celld-operator.io/acknowledge: '" what "'}}"

#define IMMUTABLE                                                                                  \
	"bucket-immutable spec.bucket.name: the fleet's cells live in \"s3://cells/apps/chat\" "   \
	"and do not move; write that, or create another WorkerApp"
#define ACCOUNT                                                                                    \
	"storage-account-immutable spec.bucket.storageAccount: another account is another "        \
	"bucket, and the fleet's cells live in the old one; write the old account, or create "     \
	"another WorkerApp"
#define STORE                                                                                      \
	"store-immutable spec.storeRef.name: storeRef cannot change, be added or be removed, "     \
	"because the fleet's cells live in the old store; write the old one, or create another "   \
	"WorkerApp"
#define ENDPOINT                                                                                   \
	"endpoint-change spec.bucket.endpoint: two halves of a fleet on two stores would own the " \
	"same cells; write celld.updateStrategy: Recreate, or the annotation "                     \
	"celld-operator.io/acknowledge: endpoint if the new name reaches the same bucket"

static void test_where_cells_are(void **state)
{
	static const struct rules_update rows[] = {
		{ "", "spec: {bucket: {name: s3://cells/apps/chat/}}", "" },
		{ "spec: {bucket: {name: s3://cells/apps/chat/}}", "", "" },
		{ "", "spec: {bucket: {name: s3://cells/apps/other}}", IMMUTABLE },
		{ "", "spec: {bucket: {name: s3://other/apps/chat}, " RECREATE "}", IMMUTABLE },
		{ "", "spec: {bucket: {name: gs://cells/apps/chat, region: null}}", IMMUTABLE },
		/* A name that was never there did not change. */
		{ "spec: {bucket: {name: null}}", "", "" },
		{ "", "spec: {bucket: {name: null}}",
		  "bucket-required spec.bucket.name: there is none; write the bucket and a prefix "
		  "of "
		  "the app's own, such as s3://cells/apps/chat" },
		{ "spec: {bucket: {name: az://cells/x, region: null, storageAccount: one1}}",
		  "spec: {bucket: {name: az://cells/x, region: null, storageAccount: two2}}",
		  ACCOUNT },
		{ "spec: {bucket: {name: az://cells/x, region: null, storageAccount: one1}}",
		  "spec: {bucket: {name: az://cells/x, region: null, storageAccount: one1}, "
		  "replicas: "
		  "4}",
		  "" },
		{ "spec: {bucket: {name: az://cells/x, region: null}}",
		  "spec: {bucket: {name: az://cells/x, region: null, storageAccount: two2}}", "" },
		{ "", "spec: {storeRef: {name: s}, bucket: {region: null, credentialsFrom: null}}",
		  STORE },
		{ "spec: {storeRef: {name: s}, bucket: {region: null, credentialsFrom: null}}", "",
		  STORE },
		{ "", "spec: {storeRef: {name: ''}, replicas: 4}", "" },
		{ "", "spec: {bucket: {endpoint: 'https://a'}}", ENDPOINT },
		{ "spec: {bucket: {endpoint: 'https://a'}}", "spec: {bucket: {endpoint: ''}}",
		  ENDPOINT },
		{ "spec: {bucket: {endpoint: 'https://a'}}",
		  "spec: {bucket: {endpoint: 'https://b'}, " RECREATE "}", "" },
		{ "spec: {bucket: {endpoint: 'https://a'}}",
		  "spec: {bucket: {endpoint: 'https://b'}}\n" ACK("endpoint"), "" },
		{ "spec: {bucket: {endpoint: 'https://a'}}",
		  "spec: {bucket: {endpoint: 'https://b'}}\n" ACK("v0.4.1->v0.4.0, endpoint"), "" },
		{ "spec: {bucket: {endpoint: 'https://a'}}",
		  "spec: {bucket: {endpoint: 'https://b'}}\n" ACK("endpoints"), ENDPOINT },
		/* Region, allowHTTP and credentials may change. */
		{ "",
		  "spec: {bucket: {region: eu-west-1, allowHTTP: true, credentialsFrom: "
		  "{secretRef: "
		  "other}}}",
		  "" },
	};

	(void)state;
	rules_check_updates(rows, array_len(rows));
}

#define ADD_OR_REMOVE                                                                              \
	"storage-recreate spec.storage: storage cannot be added or removed pod by pod; write "     \
	"celld.updateStrategy: Recreate in the same change"

#define COPIES                                                                                     \
	"warning: spec.storage: durability bucket keeps every write in the bucket; the volumes "   \
	"only hold copies"

static void test_storage(void **state)
{
	static const struct rules_update rows[] = {
		{ "", "spec: {storage: {sizeGi: 10}}", ADD_OR_REMOVE "\n" COPIES },
		{ "", "spec: {storage: {sizeGi: 10}, " RECREATE "}", COPIES },
		{ "spec: {storage: {sizeGi: 10}}", "", ADD_OR_REMOVE },
		{ "spec: {storage: {sizeGi: 10}}", "spec: {" RECREATE "}", "" },
		{ "spec: {storage: {sizeGi: 10}, durability: fleet}", "spec: {" RECREATE "}",
		  "storage-unsealed spec.storage: the volumes may hold writes that are not yet in "
		  "the "
		  "bucket; write durability: bucket first, let it roll out, then remove storage" },
		{ "spec: {storage: {sizeGi: 10}}", "spec: {storage: {sizeGi: 11}}", COPIES },
		{ "spec: {storage: {sizeGi: 10}}", "spec: {storage: {sizeGi: 9}, " RECREATE "}",
		  "storage-shrinks spec.storage.sizeGi: claims cannot shrink; write 10 or "
		  "more\n" COPIES },
		{ "spec: {storage: {sizeGi: 10}}",
		  "spec: {storage: {sizeGi: 10, storageClassName: fast}}",
		  "storage-class-immutable spec.storage.storageClassName: the class of claims that "
		  "exist cannot change; write the old one\n" COPIES },
		{ "spec: {storage: {sizeGi: 10}, durability: fleet}",
		  "spec: {storage: {sizeGi: 10}}",
		  "durability-recreate spec.durability: pods may still hold writes for each other, "
		  "so "
		  "durability cannot leave fleet pod by pod; write celld.updateStrategy: Recreate "
		  "in "
		  "the same change\n" COPIES },
		{ "spec: {storage: {sizeGi: 10}, durability: fleet}",
		  "spec: {storage: {sizeGi: 10}, " RECREATE "}", COPIES },
		{ "spec: {storage: {sizeGi: 10}}",
		  "spec: {storage: {sizeGi: 10}, durability: fleet}", "" },
	};

	(void)state;
	rules_check_updates(rows, array_len(rows));
}

/* The words of a refusal are compat's; here it matters which path and which pair of versions is judged. */
#define GOING                                                                                      \
	"; set spec.celld.updateStrategy to Recreate, which stops all pods before the first new "  \
	"one starts"
#define PEERS_3_4                                                                                  \
	"celld-recreate spec.celld.image: celld v0.3.0 to v0.4.0 cannot roll (between v0.3.0 and " \
	"v0.4.0): the peer protocol and its paths change, so v0.3 and v0.4 nodes cannot talk to "  \
	"each other" GOING
#define BLOCKED_3_2                                                                                \
	"celld-blocked spec.celld.image: celld v0.3.0 to v0.2.1 is refused, also with Recreate "   \
	"(between v0.3.0 and v0.2.1): v0.2 cannot read the log bundles and unsealed node logs of " \
	"v0.3, so writes that v0.3 acknowledged could be lost; no update strategy makes this "     \
	"safe: stay on v0.3.0 or go to a later version"
#define STOPPED "status: {celldVersions: []}\n"

static void test_versions(void **state)
{
	static const struct rules_update rows[] = {
		{ "spec: {" V("0.3.0") "}", "spec: {" V("0.4.0") "}", PEERS_3_4 },
		{ "spec: {" V("0.3.0") "}", "spec: {" V_RECREATE("0.4.0") "}", "" },
		{ "spec: {" V("0.3.0") "}", "spec: {" V_RECREATE("0.2.1") "}", BLOCKED_3_2 },
		{ "spec: {" V("0.2.1") "}", "spec: {" V("0.3.0") "}", "" },
		{ "spec: {" V("0.6.0") "}", "spec: {" V("0.6.2") "}", "" },
		/* The version alone, behind a digest. */
		{ "spec: {celld: {image: 'celld:x', version: v0.3.0}}",
		  "spec: {celld: {image: 'celld:x', version: v0.2.1, updateStrategy: Recreate}}",
		  "celld-blocked spec.celld.version: celld v0.3.0 to v0.2.1 is refused, also with "
		  "Recreate (between v0.3.0 and v0.2.1): v0.2 cannot read the log bundles and "
		  "unsealed "
		  "node logs of v0.3, so writes that v0.3 acknowledged could be lost; no update "
		  "strategy "
		  "makes this safe: stay on v0.3.0 or go to a later version\n"
		  "warning: spec.celld.image: tag x may move; a node can pull another celld than "
		  "celld.version says" },
		/* The same image is no upgrade, whatever runs. */
		{ "spec: {" V("0.4.0") "}\nstatus: {celldVersions: [v0.3.0]}",
		  "spec: {" V("0.4.0") ", replicas: 4}", "" },
		/* What really runs counts, also after a change of mind. */
		{ "spec: {" V("0.4.0") "}\nstatus: {celldVersions: [v0.3.0]}",
		  "spec: {" V("0.4.1") "}",
		  "celld-recreate spec.celld.image: celld v0.3.0 to v0.4.1 cannot roll (between "
		  "v0.3.0 "
		  "and v0.4.0): the peer protocol and its paths change, so v0.3 and v0.4 nodes "
		  "cannot "
		  "talk to each other" GOING },
		{ "spec: {" V("0.2.1") "}\nstatus: {celldVersions: [v0.2.1, v0.3.0]}",
		  "spec: {" V_RECREATE("0.2.0") "}",
		  "celld-blocked spec.celld.image: celld v0.3.0 to v0.2.0 is refused, also with "
		  "Recreate "
		  "(between v0.3.0 and v0.2.1): v0.2 cannot read the log bundles and unsealed node "
		  "logs "
		  "of v0.3, so writes that v0.3 acknowledged could be lost; no update strategy "
		  "makes "
		  "this safe: stay on v0.3.0 or go to a later version" },
		/* The way up warns of nothing that the way down would. */
		{ "spec: {" V("0.6.0") "}", "spec: {" V("0.6.1") "}", "" },
		/* What cannot be read may be anything. */
		{ "spec: {celld: {image: null}}", "spec: {" V("0.6.2") "}",
		  "celld-recreate spec.celld.image: celld of unknown version to v0.6.2 cannot "
		  "roll: what "
		  "runs now cannot be told, so old and new must not meet" GOING },
		{ "spec: {celld: {image: 'celld:x'}}", "spec: {" V("0.6.2") "}",
		  "celld-recreate spec.celld.image: celld of unknown version to v0.6.2 cannot "
		  "roll: what "
		  "runs now cannot be told, so old and new must not meet" GOING },
		{ "spec: {" V("0.6.1") "}\nstatus: {celldVersions: [v0.6.1, what]}",
		  "spec: {" V("0.6.2") "}",
		  "celld-recreate spec.celld.image: celld of unknown version to v0.6.2 cannot "
		  "roll: what "
		  "runs now cannot be told, so old and new must not meet" GOING },
		{ "spec: {" V("0.3.0") "}\nstatus: {celldVersions: [what]}",
		  "spec: {" V_RECREATE("0.2.1") "}", BLOCKED_3_2 },
		/* Bucket durability on both sides. */
		{ "spec: {" V("0.5.1") "}", "spec: {" V("0.6.0") "}", "" },
		{ "spec: {" V("0.5.1") ", durability: fleet, storage: {sizeGi: 1}}",
		  "spec: {" V("0.6.0") ", durability: fleet, storage: {sizeGi: 1}}",
		  "celld-recreate spec.celld.image: celld v0.5.1 to v0.6.0 cannot roll (between "
		  "v0.5.1 "
		  "and v0.6.0): with fleet durability a v0.6 node recovers from its followers' "
		  "logs in a "
		  "format that v0.5 followers cannot send" GOING },
		{ "spec: {" V("0.5.1") ", storage: {sizeGi: 1}}",
		  "spec: {" V("0.6.0") ", durability: fleet, storage: {sizeGi: 1}}",
		  "celld-recreate spec.celld.image: celld v0.5.1 to v0.6.0 cannot roll (between "
		  "v0.5.1 "
		  "and v0.6.0): with fleet durability a v0.6 node recovers from its followers' "
		  "logs in a "
		  "format that v0.5 followers cannot send" GOING },
		/* Acknowledged ways back. */
		{ "spec: {" V("0.4.1") "}", "spec: {" V("0.4.0") "}",
		  "celld-blocked spec.celld.image: celld v0.4.1 to v0.4.0 needs an acknowledgement "
		  "(between v0.4.1 and v0.4.0): once v0.4.0 has been gone for a lease lifetime, "
		  "v0.4.1 "
		  "pages cells, and v0.4.0 must not come back to a bucket that holds paged cells; "
		  "to do "
		  "it knowingly, add \"v0.4.1->v0.4.0\" to the annotation "
		  "celld-operator.io/acknowledge" },
		{ "spec: {" V("0.4.1") "}", "spec: {" V("0.4.0") "}\n" ACK("v0.4.1->v0.4.0"), "" },
		/* Warnings of a way that passes. */
		{ "spec: {" V("0.6.1") "}", "spec: {" V("0.6.0") "}",
		  "warning: spec.celld.image: v0.6.0 refuses Python deployments; unset "
		  "CELLD_LTX_RETENTION_SECS before going back" },
		/* A stopped fleet has no mixture to fear, but cannot go where nothing goes. */
		{ "spec: {" V("0.3.0") ", maintenance: {paused: true}}\n" STOPPED,
		  "spec: {" V("0.4.0") "}", "" },
		{ "spec: {" V("0.3.0") ", maintenance: {paused: true}}\n" STOPPED,
		  "spec: {" V("0.2.1") "}", BLOCKED_3_2 },
		{ "spec: {" V("0.3.0") ", maintenance: {paused: true}}\nstatus: {celldVersions: "
				       "[v0.3.0]}",
		  "spec: {" V("0.4.0") "}", PEERS_3_4 },
		{ "spec: {" V("0.3.0") ", maintenance: {paused: true}}", "spec: {" V("0.4.0") "}",
		  PEERS_3_4 },
		{ "spec: {" V("0.3.0") "}\n" STOPPED, "spec: {" V("0.4.0") "}", PEERS_3_4 },
		/* Without a version there is one fault, not two. */
		{ "",
		  "spec: {celld: {image: 'celld@sha256:"
		  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef'}}",
		  "image-version spec.celld.image: "
		  "\"celld@sha256:"
		  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\" "
		  "does not tell its celld version; write a tag such as v0.6.2, or celld.version" },
	};

	(void)state;
	rules_check_updates(rows, array_len(rows));
}

#define TOO_NEW                                                                                    \
	"env-too-new spec.env[0].name: celld v0.6.0, which the fleet may run, does not know "      \
	"CELLD_LTX_RETENTION_SECS; add it once every pod runs v0.6.1 or later"
#define RETENTION ", env: [{name: CELLD_LTX_RETENTION_SECS, value: '9'}]}"

static void test_settings_of_later_versions(void **state)
{
	static const struct rules_update rows[] = {
		{ "spec: {" V("0.6.1") "}\nstatus: {celldVersions: [v0.6.1]}",
		  "spec: {" V("0.6.1") RETENTION, "" },
		{ "spec: {" V("0.6.1") "}\nstatus: {celldVersions: [v0.6.0, v0.6.1]}",
		  "spec: {" V("0.6.1") RETENTION, TOO_NEW },
		{ "spec: {" V("0.6.0") "}", "spec: {" V("0.6.1") RETENTION, TOO_NEW },
		{ "spec: {" V("0.6.0") ", maintenance: {paused: true}}\n" STOPPED,
		  "spec: {" V("0.6.1") RETENTION, "" },
		{ "spec: {" V("0.6.1") RETENTION, "spec: {" V("0.6.0") RETENTION,
		  TOO_NEW "\n"
			  "warning: spec.celld.image: v0.6.0 refuses Python deployments; unset "
			  "CELLD_LTX_RETENTION_SECS before going back" },
		/* What is there already is not refused again. */
		{ "spec: {" V("0.6.1") RETENTION "\nstatus: {celldVersions: [v0.6.0]}",
		  "spec: {" V("0.6.1") ", replicas: 4" RETENTION, "" },
	};

	(void)state;
	rules_check_updates(rows, array_len(rows));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_where_cells_are),
		cmocka_unit_test(test_storage),
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_settings_of_later_versions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
