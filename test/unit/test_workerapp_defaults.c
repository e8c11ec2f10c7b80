#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "common/buf.h"
#include "common/workerapp_defaults.h"
#include "common/yaml.h"

static struct json *read_yaml(const char *text)
{
	struct yaml_doc doc = { 0 };
	struct err e = ERR_INIT;
	struct json *copy;

	if (yaml_parse_one(text, strlen(text), &doc, &e))
		fail_msg("%s: %s", text, e.message);
	copy = json_dup(doc.value);
	yaml_doc_done(&doc);
	return copy;
}

/* Rules as one YAML list of {pattern, values}. */
static struct workerapp_defaults rules(const char *text)
{
	cleanup_json struct json *list = read_yaml(text);
	struct workerapp_defaults d = { NULL, 0 };

	for (const struct json *c = json_first(list); c; c = json_next(c))
		workerapp_defaults_add(&d, json_get_str(c, "pattern"),
				       json_dup(json_get(c, "values")));
	return d;
}

static const char platform[] =
	"- values:\n"
	"    celld: {image: 'r.io/celld:v0.6.2', imagePullSecrets: [{name: pull}]}\n"
	"    bucket:\n"
	"      endpoint: https://minio.example.com\n"
	"      region: us-east-1\n"
	"      storageAccount: platform\n"
	"      credentialsFrom: {secretRef: cells}\n"
	"    storage: {storageClassName: fast}\n"
	"    resources: {memoryGi: 4}\n"
	"    podLabels: {team: platform, example.com/tier: web}\n"
	"- pattern: eu-*\n"
	"  values:\n"
	"    bucket: {region: eu-central-1}\n"
	"    podLabels: {team: europe}\n";

struct row {
	const char *what, *namespace, *object, *old;
	const char *want; /* a line "OP PATH VALUE" for each operation */
};

static char *lines_of(const struct patch *p)
{
	struct buf b = BUF_INIT(1 << 16);
	char *text;

	for (const struct json *o = json_first(p->ops); o; o = json_next(o)) {
		cleanup(freep) char *value =
			json_get(o, "value") ? json_text_sorted(json_get(o, "value")) : NULL;

		buf_printf(&b, "%s %s%s%s\n", json_get_str(o, "op"), json_get_str(o, "path"),
			   value ? " " : "", value ? value : "");
	}
	text = xstrdup(buf_str(&b));
	buf_done(&b);
	return text;
}

static void check(const struct row *row, const struct workerapp_defaults *d)
{
	cleanup_json struct json *object = read_yaml(row->object),
				 *old = row->old ? read_yaml(row->old) : NULL;
	cleanup(freep) char *got = NULL, *more = NULL;
	struct patch p, again;

	patch_init(&p, object);
	workerapp_defaults_patch(d, row->namespace, object, old, &p);
	got = lines_of(&p);
	if (!str_eq(got, row->want))
		fail_msg("%s:\nwant\n%sgot\n%s", row->what, row->want, got);
	/* A second pass has nothing to add. */
	patch_init(&again, p.doc);
	workerapp_defaults_patch(d, row->namespace, p.doc, old, &again);
	more = lines_of(&again);
	if (*more)
		fail_msg("%s: a second pass adds\n%s", row->what, more);
	patch_done(&p);
	patch_done(&again);
}

#define NOTE	    "/metadata/annotations/celld-operator.io~1defaulted"
#define NOTED(list) "metadata: {annotations: {celld-operator.io/defaulted: '" list "'}}"
#define LABELS	    "spec.podLabels[team],spec.podLabels[example.com/tier]"

static const struct row creates[] = {
	{ "all that an s3 app leaves out", "shop",
	  "{metadata: {name: a}, spec: {bucket: {name: 's3://b'}}}", NULL,
	  "add /spec/celld {}\n"
	  "add /spec/celld/image \"r.io/celld:v0.6.2\"\n"
	  "add /spec/celld/imagePullSecrets [{\"name\":\"pull\"}]\n"
	  "add /spec/bucket/endpoint \"https://minio.example.com\"\n"
	  "add /spec/bucket/region \"us-east-1\"\n"
	  "add /spec/bucket/credentialsFrom {\"secretRef\":\"cells\"}\n"
	  "add /spec/resources {\"memoryGi\":4}\n"
	  "add /spec/podLabels {}\n"
	  "add /spec/podLabels/team \"platform\"\n"
	  "add /spec/podLabels/example.com~1tier \"web\"\n"
	  "add /metadata/annotations {}\n"
	  "add " NOTE " \"spec.celld.image,spec.celld.imagePullSecrets,spec.bucket.endpoint,"
	  "spec.bucket.region,spec.bucket.credentialsFrom,spec.resources," LABELS "\"\n" },
	{ "nothing, where everything is there; empty strings are absent", "shop",
	  "{metadata: {annotations: {a/b: c}}, spec: {celld: {image: i, "
	  "imagePullSecrets: []}, "
	  "bucket: {name: 's3://b', endpoint: 'https://MINIO.example.com/', "
	  "region: '', "
	  "credentialsFrom: {}}, resources: {}, podLabels: {team: x, "
	  "example.com/tier: z}}}",
	  NULL,
	  "replace /spec/bucket/region \"us-east-1\"\n"
	  "add " NOTE " \"spec.bucket.region\"\n" },
	{ "another endpoint gets neither region nor credentials", "shop",
	  "{spec: {celld: {image: i, imagePullSecrets: []}, resources: {}, bucket: "
	  "{name: 's3://b', "
	  "endpoint: 'https://own'}, podLabels: {team: x, example.com/tier: z}}}",
	  NULL, "" },
	{ "a namespace of its own, an account for az only, no secret for what "
	  "storeRef says",
	  "eu-1",
	  "{spec: {celld: {image: i, imagePullSecrets: []}, resources: {}, "
	  "storage: {sizeGi: 1}, "
	  "bucket: {name: 'az://b'}}}",
	  NULL,
	  "add /spec/bucket/storageAccount \"platform\"\n"
	  "add /spec/bucket/credentialsFrom {\"secretRef\":\"cells\"}\n"
	  "add /spec/storage/storageClassName \"fast\"\n"
	  "add /spec/podLabels {}\n"
	  "add /spec/podLabels/team \"europe\"\n"
	  "add /spec/podLabels/example.com~1tier \"web\"\n"
	  "add /metadata {}\n"
	  "add /metadata/annotations {}\n"
	  "add " NOTE " \"spec.bucket.storageAccount,spec.bucket.credentialsFrom,"
	  "spec.storage.storageClassName," LABELS "\"\n" },
	{ "a store says all about the bucket", "eu-1",
	  "{spec: {celld: {image: i, imagePullSecrets: []}, resources: {}, "
	  "storeRef: {name: s}, "
	  "bucket: {name: 's3://b'}, podLabels: {team: x, example.com/tier: z}}}",
	  NULL, "" },
	{ "the region of the namespace", "eu-1",
	  "{spec: {celld: {image: i, imagePullSecrets: []}, resources: {}, bucket: "
	  "{name: 's3://b', "
	  "endpoint: 'https://minio.example.com', credentialsFrom: {secretRef: "
	  "s}}, "
	  "podLabels: {team: x, example.com/tier: z}}}",
	  NULL,
	  "add /spec/bucket/region \"eu-central-1\"\n"
	  "add /metadata {}\n"
	  "add /metadata/annotations {}\n"
	  "add " NOTE " \"spec.bucket.region\"\n" },
	{ "a backup keeps its list, and what in it is wrong is dropped", "shop",
	  "{" NOTED("spec.celld.image,spec.replicas,spec.podLabels[team],spec."
		    "podLabels[x]") ", spec: {celld: {image: i, imagePullSecrets: "
				    "[]}, resources: {}, bucket: {name: 'x', credentialsFrom: {}}, "
				    "podLabels: {team: x, example.com/tier: z}}}",
	  NULL, "replace " NOTE " \"spec.celld.image,spec.podLabels[team]\"\n" },
	{ "a wrong type is left to the rules", "shop",
	  "{metadata: {annotations: 7}, spec: {celld: 7, bucket: [], resources: 7, "
	  "podLabels: 7}}",
	  NULL, "" },
	{ "no spec", "shop", "{metadata: {name: a}}", NULL, "" },
	{ "going away", "shop",
	  "{metadata: {deletionTimestamp: '2026-01-01T00:00:00Z'}, spec: {bucket: "
	  "{name: 's3://b'}}}",
	  NULL, "" },
};

#define STORED                                                                                     \
	"spec: {celld: {image: old, version: v0.6.1}, bucket: {name: 's3://b', region: r}, "       \
	"resources: {memoryGi: 2}, storage: {sizeGi: 1, storageClassName: slow}, podLabels: "      \
	"{team: t, own: o}}"
#define LIST                                                                                       \
	"spec.celld.image,spec.celld.version,spec.bucket.region,spec.storage.storageClassName,"    \
	"spec.resources,spec.podLabels[team]"

static const struct row updates[] = {
	{ "the platform's change moves no app", "shop", "{" NOTED(LIST) ", " STORED "}",
	  "{" NOTED(LIST) ", " STORED "}", "" },
	{ "what is absent again keeps its value", "shop",
	  "{spec: {bucket: {name: 's3://b'}, storage: {sizeGi: 2}}}",
	  "{" NOTED(LIST) ", " STORED "}",
	  "add /spec/celld {}\n"
	  "add /spec/celld/image \"old\"\n"
	  "add /spec/celld/version \"v0.6.1\"\n"
	  "add /spec/bucket/region \"r\"\n"
	  "add /spec/storage/storageClassName \"slow\"\n"
	  "add /spec/resources {\"memoryGi\":2}\n"
	  "add /spec/podLabels {}\n"
	  "add /spec/podLabels/team \"t\"\n"
	  "add /metadata {}\n"
	  "add /metadata/annotations {}\n"
	  "add " NOTE " \"" LIST "\"\n" },
	{ "what somebody writes himself leaves the list, and a version with its image", "shop",
	  "{" NOTED(LIST) ", spec: {celld: {image: mine}, bucket: {name: 's3://b', region: r}, "
			  "resources: {memoryGi: 3}, storage: {sizeGi: 1, storageClassName: slow}, "
			  "podLabels: {team: mine}}}",
	  "{" NOTED(LIST) ", " STORED "}",
	  "replace " NOTE " \"spec.bucket.region,spec.storage.storageClassName\"\n" },
	{ "the last one takes the list with it", "shop",
	  "{" NOTED("spec.celld.image") ", spec: {celld: {image: mine}}}",
	  "{" NOTED("spec.celld.image") ", " STORED "}", "remove " NOTE "\n" },
	{ "taking the annotation away takes today's defaults", "shop", "{" STORED "}",
	  "{" NOTED(LIST) ", " STORED "}",
	  "replace /spec/celld/image \"r.io/celld:v0.6.2\"\n"
	  "remove /spec/celld/version\n"
	  "replace /spec/resources {\"memoryGi\":4}\n"
	  "replace /spec/podLabels/team \"platform\"\n"
	  "add /metadata {}\n"
	  "add /metadata/annotations {}\n"
	  "add " NOTE
	  " \"spec.celld.image,spec.bucket.region,spec.storage.storageClassName,spec.resources,"
	  "spec.podLabels[team]\"\n" },
	{ "an app from before the defaults gets none", "shop",
	  "{spec: {bucket: {name: 's3://b'}, replicas: 4}}", "{spec: {bucket: {name: 's3://b'}}}",
	  "" },
	{ "a store takes the bucket's place", "shop",
	  "{spec: {storeRef: {name: s}, bucket: {name: 's3://b'}}}",
	  "{" NOTED("spec.bucket.region") ", " STORED "}", "" },
	{ "going away", "shop", "{metadata: {deletionTimestamp: '2026-01-01T00:00:00Z'}, spec: {}}",
	  "{" NOTED(LIST) ", " STORED "}", "" },
};

static void test_creates(void **state)
{
	struct workerapp_defaults d = rules(platform);

	(void)state;
	for (size_t i = 0; i < array_len(creates); i++)
		check(&creates[i], &d);
	workerapp_defaults_done(&d);
}

static void test_updates(void **state)
{
	struct workerapp_defaults d = rules(platform);

	(void)state;
	for (size_t i = 0; i < array_len(updates); i++)
		check(&updates[i], &d);
	workerapp_defaults_done(&d);
}

/* Without defaults of today a stored app keeps those of yesterday; nothing else happens. */
static void test_none(void **state)
{
	static const struct row kept = {
		"kept", "shop", "{metadata: {}, spec: {storage: {}}}",
		"{" NOTED("spec.celld.image") ", spec: {celld: {image: old}}}",
		"add /spec/celld {}\nadd /spec/celld/image \"old\"\nadd /metadata/annotations {}\n"
		"add " NOTE " \"spec.celld.image\"\n"
	};
	static const struct row none = { "none", "shop", "{spec: {bucket: {name: 's3://b'}}}", NULL,
					 "" };

	(void)state;
	check(&kept, NULL);
	check(&none, NULL);
}

/* Which credential goes with which kind of bucket. */
static void test_credentials(void **state)
{
	static const struct {
		const char *values, *bucket;
		bool filled;
	} table[] = {
		{ "{iamRole: auto}", "s3://b", true },
		{ "{iamRole: auto}", "gs://b", false },
		{ "{gcpServiceAccount: a}", "gs://b", true },
		{ "{gcpServiceAccount: a}", "az://b", false },
		{ "{azureClientID: a}", "az://b", true },
		{ "{azureClientID: a}", "s3://b", false },
		{ "{secretRef: a}", "gs://b", true },
		{ "{secretRef: a}", "x", true },
	};

	(void)state;
	for (size_t i = 0; i < array_len(table); i++) {
		cleanup(freep) char *rule =
			xasprintf("- values: {bucket: {credentialsFrom: %s}}", table[i].values);
		cleanup(freep) char *app =
			xasprintf("{spec: {bucket: {name: '%s'}}}", table[i].bucket);
		cleanup_json struct json *object = read_yaml(app);
		struct workerapp_defaults d = rules(rule);
		struct patch p;

		patch_init(&p, object);
		workerapp_defaults_patch(&d, NULL, object, NULL, &p);
		if (patch_empty(&p) == table[i].filled)
			fail_msg("%s %s", table[i].values, table[i].bucket);
		patch_done(&p);
		workerapp_defaults_done(&d);
	}
}

static void test_unknown(void **state)
{
	static const struct {
		const char *values, *unknown;
	} table[] = {
		{ "{celld: {image: i, version: v}, bucket: {region: r}, resources: {x: 1}, "
		  "podLabels: "
		  "{a: b}, service: {}, ingress: {}, telemetry: {}, scheduling: {}, storage: "
		  "{storageClassName: c}}",
		  NULL },
		{ "{replicas: 3}", "replicas" },
		{ "{celld: {updateStrategy: Recreate}}", "celld.updateStrategy" },
		{ "{bucket: {name: b}}", "bucket.name" },
		{ "{storage: {sizeGi: 3}}", "storage.sizeGi" },
	};

	(void)state;
	for (size_t i = 0; i < array_len(table); i++) {
		cleanup_json struct json *values = read_yaml(table[i].values);
		cleanup(freep) char *unknown = workerapp_defaults_unknown(values);

		if (table[i].unknown)
			assert_string_equal(unknown, table[i].unknown);
		else
			assert_null(unknown);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_creates), cmocka_unit_test(test_updates),
		cmocka_unit_test(test_none),	cmocka_unit_test(test_credentials),
		cmocka_unit_test(test_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
