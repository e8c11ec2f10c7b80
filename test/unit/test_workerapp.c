#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "common/buf.h"
#include "common/yaml.h"
#include "test/lib/rules_table.h"

static struct workerapp *parse(const char *text)
{
	struct yaml_doc doc = { 0 };
	struct workerapp *app = NULL;
	struct err e = ERR_INIT;

	if (yaml_parse_one(text, strlen(text), &doc, &e) ||
	    workerapp_parse(json_dup(doc.value), NULL, &app, &e))
		fail_msg("%s", e.message);
	yaml_doc_done(&doc);
	return app;
}

/* What a document without any field means. */
static void test_defaults(void **state)
{
	struct workerapp *app = parse("{apiVersion: celld-operator.io/v1alpha1, kind: WorkerApp}");

	(void)state;
	assert_int_equal(app->type_faults.n, 0);
	assert_null(app->spec);
	assert_null(app->status);
	assert_null(app->name);
	assert_false(app->deleting);
	assert_int_equal(app->hostnames.n, 0);
	assert_null(app->app_version);
	assert_false(app->app_version_auto);
	assert_int_equal(app->policy, POLICY_RESTART);
	assert_null(app->image);
	assert_null(app->pull_policy);
	assert_int_equal(app->strategy, STRATEGY_ROLLING);
	assert_int_equal(app->replicas, 3);
	assert_null(app->bucket.name);
	assert_int_equal(app->bucket.scheme, SCHEME_NONE);
	assert_false(app->bucket.allow_http);
	assert_null(app->store_ref);
	assert_int_equal(app->resources.cpu_millis, 500);
	assert_int_equal(app->resources.memory_gi, 8);
	assert_int_equal(app->resources.ephemeral_gi, 10);
	assert_int_equal(app->resources.max_resident_cells, 1000);
	assert_false(app->resources.idle_evict_seconds.set);
	assert_false(app->storage.set);
	assert_int_equal(app->durability, DURABILITY_BUCKET);
	assert_null(app->scheduling.tolerations);
	assert_string_equal(app->service.type, "ClusterIP");
	assert_int_equal(app->n_env, 0);
	assert_null(app->network_policy.public_from);
	assert_false(app->network_policy.egress);
	assert_false(app->ingress.set);
	assert_string_equal(app->ingress.path, "/");
	assert_string_equal(app->ingress.path_type, "Prefix");
	assert_false(app->autoscaling.enabled);
	assert_int_equal(app->autoscaling.min, 2);
	assert_int_equal(app->autoscaling.max, 10);
	assert_int_equal(app->autoscaling.utilization, 70);
	assert_false(app->autoscaling.p95_ms.set);
	assert_true(app->telemetry.enabled);
	assert_int_equal(app->telemetry.sink, SINK_DEFAULT);
	assert_null(app->telemetry.otlp_endpoint);
	assert_string_equal(app->telemetry.retention, "30d");
	assert_string_equal(app->cluster_domain, "cluster.local");
	assert_false(app->paused);
	assert_null(app->restart_token);
	workerapp_free(app);
}

static const char everything[] =
	"apiVersion: celld-operator.io/v1alpha1\n"
	"kind: WorkerApp\n"
	"metadata:\n"
	"  name: chat\n"
	"  namespace: acme\n"
	"  uid: u-1\n"
	"  resourceVersion: '77'\n"
	"  generation: 9007199254740991\n"
	"  creationTimestamp: '2026-11-29T10:00:00Z'\n"
	"  deletionTimestamp: '2026-11-29T11:00:00Z'\n"
	"  labels: {a: b}\n"
	"  annotations: {celld-operator.io/acknowledge: 'v0.4.1->v0.4.0'}\n"
	"spec:\n"
	"  hostnames: [a.example.com, b.example.com]\n"
	"  appVersion: auto\n"
	"  deploymentPolicy: InPlace\n"
	"  deployTrackingSecretRef: track\n"
	"  celld:\n"
	"    image: celld:v0.6.2\n"
	"    version: v0.6.2\n"
	"    updateStrategy: Recreate\n"
	"    imagePullPolicy: IfNotPresent\n"
	"    imagePullSecrets: [{name: one}, {name: two}]\n"
	"  replicas: 5\n"
	"  bucket:\n"
	"    name: az://cells/apps/chat/\n"
	"    endpoint: https://store\n"
	"    allowHTTP: true\n"
	"    region: r\n"
	"    storageAccount: acc\n"
	"    credentialsFrom: {iamRole: i, secretRef: s, azureClientID: z, gcpServiceAccount: g}\n"
	"  storeRef: {name: shared}\n"
	"  resources: {cpuMillis: 1, memoryGi: 2, ephemeralStorageGi: 3, maxResidentCells: 4,\n"
	"    idleEvictSeconds: 5}\n"
	"  storage: {sizeGi: 6, storageClassName: fast}\n"
	"  durability: fleet\n"
	"  scheduling: {nodeSelector: {k: v}, tolerations: [{key: t}], spreadAcrossZones: true,\n"
	"    priorityClassName: high}\n"
	"  service: {type: NodePort, annotations: {sa: x}}\n"
	"  vars: {secretRef: vars}\n"
	"  env: [{name: RUST_LOG, value: ''}, {name: CELLD_X, secretKeyRef: {name: nn, key: k}}]\n"
	"  podLabels: {pl: x}\n"
	"  podAnnotations: {pa: x}\n"
	"  websockets: true\n"
	"  trustForwardedHeaders: true\n"
	"  networkPolicy: {publicFrom: [], egress: {enabled: true, extra: [{}]}}\n"
	"  ingress: {path: /p, pathType: Exact, stripPrefix: true, gatewayRefs: [{name: gw}],\n"
	"    ingressClass: ic, clusterIssuer: ci, tlsSecretName: tls, annotations: {ia: x}}\n"
	"  autoscaling: {enabled: true, minReplicas: 7, maxReplicas: 8,\n"
	"    targets: {residentCellUtilization: 9, p95LatencyMs: 10}}\n"
	"  telemetry: {enabled: false, sink: otlp, otlpEndpoint: 'http://o', retention: none}\n"
	"  clusterDomain: k8s.example\n"
	"  maintenance: {paused: true, restartToken: again}\n"
	"status:\n"
	"  observedGeneration: 4\n"
	"  phase: Ready\n"
	"  expectedAppVersion: e\n"
	"  rolledOutAppVersion: r\n"
	"  celldVersions: [v0.6.1, v0.6.2, 7]\n";

static void check_head(const struct workerapp *app)
{
	assert_string_equal(app->name, "chat");
	assert_string_equal(app->namespace, "acme");
	assert_string_equal(app->uid, "u-1");
	assert_string_equal(app->resource_version, "77");
	assert_true(app->generation == 9007199254740991);
	assert_string_equal(app->created, "2026-11-29T10:00:00Z");
	assert_true(app->deleting);
	assert_string_equal(json_get_str(app->labels, "a"), "b");
	assert_string_equal(app->acknowledged, "v0.4.1->v0.4.0");
	assert_int_equal(app->hostnames.n, 2);
	assert_string_equal(app->hostnames.v[1], "b.example.com");
	assert_true(app->app_version_auto);
	assert_int_equal(app->policy, POLICY_IN_PLACE);
	assert_string_equal(app->tracking_secret, "track");
	assert_string_equal(app->image, "celld:v0.6.2");
	assert_string_equal(app->celld_version, "v0.6.2");
	assert_int_equal(app->strategy, STRATEGY_RECREATE);
	assert_string_equal(app->pull_policy, "IfNotPresent");
	assert_int_equal(app->pull_secrets.n, 2);
	assert_string_equal(app->pull_secrets.v[1], "two");
	assert_int_equal(app->replicas, 5);
}

static void check_bucket(const struct workerapp *app)
{
	assert_int_equal(app->bucket.scheme, SCHEME_AZ);
	assert_string_equal(app->bucket.endpoint, "https://store");
	assert_true(app->bucket.allow_http);
	assert_string_equal(app->bucket.region, "r");
	assert_string_equal(app->bucket.storage_account, "acc");
	assert_string_equal(app->bucket.credentials.iam_role, "i");
	assert_string_equal(app->bucket.credentials.secret_ref, "s");
	assert_string_equal(app->bucket.credentials.azure_client_id, "z");
	assert_string_equal(app->bucket.credentials.gcp_service_account, "g");
	assert_string_equal(app->store_ref, "shared");
	assert_int_equal(app->resources.cpu_millis, 1);
	assert_int_equal(app->resources.memory_gi, 2);
	assert_int_equal(app->resources.ephemeral_gi, 3);
	assert_int_equal(app->resources.max_resident_cells, 4);
	assert_true(app->resources.idle_evict_seconds.set);
	assert_int_equal(app->resources.idle_evict_seconds.v, 5);
	assert_true(app->storage.set);
	assert_int_equal(app->storage.size_gi, 6);
	assert_string_equal(app->storage.class_name, "fast");
	assert_int_equal(app->durability, DURABILITY_FLEET);
}

static void check_pod(const struct workerapp *app)
{
	assert_string_equal(json_get_str(app->scheduling.node_selector, "k"), "v");
	assert_int_equal(json_len(app->scheduling.tolerations), 1);
	assert_true(app->scheduling.spread_zones);
	assert_string_equal(app->scheduling.priority_class, "high");
	assert_string_equal(app->service.type, "NodePort");
	assert_string_equal(json_get_str(app->service.annotations, "sa"), "x");
	assert_string_equal(app->vars_secret, "vars");
	assert_int_equal(app->n_env, 2);
	assert_string_equal(app->env[0].name, "RUST_LOG");
	assert_string_equal(app->env[0].value, "");
	assert_null(app->env[0].secret_name);
	assert_int_equal(app->env[1].index, 1);
	assert_null(app->env[1].value);
	assert_string_equal(app->env[1].secret_name, "nn");
	assert_string_equal(app->env[1].secret_key, "k");
	assert_string_equal(json_get_str(app->pod_labels, "pl"), "x");
	assert_string_equal(json_get_str(app->pod_annotations, "pa"), "x");
	assert_true(app->websockets);
	assert_true(app->trust_forwarded);
	assert_non_null(app->network_policy.public_from);
	assert_int_equal(json_len(app->network_policy.public_from), 0);
	assert_true(app->network_policy.egress);
	assert_int_equal(json_len(app->network_policy.egress_extra), 1);
}

static void check_rest(const struct workerapp *app)
{
	assert_true(app->ingress.set);
	assert_string_equal(app->ingress.path, "/p");
	assert_string_equal(app->ingress.path_type, "Exact");
	assert_true(app->ingress.strip_prefix);
	assert_int_equal(json_len(app->ingress.gateway_refs), 1);
	assert_string_equal(app->ingress.ingress_class, "ic");
	assert_string_equal(app->ingress.cluster_issuer, "ci");
	assert_string_equal(app->ingress.tls_secret, "tls");
	assert_string_equal(json_get_str(app->ingress.annotations, "ia"), "x");
	assert_true(app->autoscaling.enabled);
	assert_int_equal(app->autoscaling.min, 7);
	assert_int_equal(app->autoscaling.max, 8);
	assert_int_equal(app->autoscaling.utilization, 9);
	assert_int_equal(app->autoscaling.p95_ms.v, 10);
	assert_false(app->telemetry.enabled);
	assert_int_equal(app->telemetry.sink, SINK_OTLP);
	assert_string_equal(app->telemetry.otlp_endpoint, "http://o");
	assert_string_equal(app->telemetry.retention, "none");
	assert_string_equal(app->cluster_domain, "k8s.example");
	assert_true(app->paused);
	assert_string_equal(app->restart_token, "again");
	assert_int_equal(app->seen.observed_generation, 4);
	assert_string_equal(app->seen.phase, "Ready");
	assert_string_equal(app->seen.expected_app_version, "e");
	assert_string_equal(app->seen.rolled_out_app_version, "r");
	assert_int_equal(app->seen.celld_versions.n, 2);
	assert_string_equal(app->seen.celld_versions.v[1], "v0.6.2");
}

static void test_everything(void **state)
{
	struct workerapp *app = parse(everything);
	struct faults unknown = FAULTS_INIT;

	(void)state;
	if (app->type_faults.n)
		fail_msg("%s: %s", app->type_faults.v[0].path, app->type_faults.v[0].message);
	check_head(app);
	check_bucket(app);
	check_pod(app);
	check_rest(app);
	workerapp_unknown_fields(app, &unknown);
	assert_int_equal(unknown.n, 0);
	workerapp_free(app);
}

/* An empty optional text is absent, and so is null. */
static void test_empty_is_absent(void **state)
{
	struct workerapp *app = rules_app(
		"metadata: {annotations: {celld-operator.io/acknowledge: ''}}\n"
		"spec: {appVersion: '', deploymentPolicy: '', durability: '', telemetry: {sink: "
		"'', "
		"retention: ''}, service: {type: ''}, ingress: {path: '', pathType: ''}, storeRef: "
		"{name: ''}, clusterDomain: '', celld: {imagePullPolicy: ''}}");
	struct json *nulls = rules_overlay("");
	struct workerapp *app2 = NULL;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(app->type_faults.n, 0);
	assert_null(app->acknowledged);
	assert_null(app->app_version);
	assert_int_equal(app->policy, POLICY_RESTART);
	assert_int_equal(app->telemetry.sink, SINK_DEFAULT);
	assert_string_equal(app->telemetry.retention, "30d");
	assert_string_equal(app->service.type, "ClusterIP");
	assert_true(app->ingress.set);
	assert_string_equal(app->ingress.path, "/");
	assert_null(app->store_ref);
	assert_string_equal(app->cluster_domain, "cluster.local");
	assert_null(app->pull_policy);
	workerapp_free(app);
	json_set(json_get_mutable(nulls, "spec"), "replicas", json_new_null());
	json_set(json_get_mutable(nulls, "spec"), "storage", json_new_null());
	json_set(json_get_mutable(nulls, "spec"), "hostnames", json_new_null());
	assert_int_equal(workerapp_parse(nulls, NULL, &app2, &e), 0);
	assert_int_equal(app2->type_faults.n, 0);
	assert_int_equal(app2->replicas, 3);
	assert_false(app2->storage.set);
	workerapp_free(app2);
}

static void check_types(const char *change, const char *want)
{
	struct faults faults = FAULTS_INIT;
	struct workerapp *app = NULL;
	struct err e = ERR_INIT;
	struct buf b = BUF_INIT(1 << 16);

	assert_int_equal(workerapp_parse(rules_overlay(change), &faults, &app, &e), 0);
	faults_text(&faults, "\n", 1 << 16, &b);
	if (!str_eq(buf_str(&b), want))
		fail_msg("\nchange:   %s\nexpected: %s\nsaid:     %s", change, want, buf_str(&b));
	buf_done(&b);
	faults_done(&faults);
	workerapp_free(app);
}

#define OBJECT(found) ": must be an object, is " found "; write names with values, or leave it out"

static void test_wrong_types(void **state)
{
	static const struct {
		const char *change, *said;
	} rows[] = {
		{ "spec: []", "spec" OBJECT("an array") },
		{ "spec: x", "spec" OBJECT("a string") },
		{ "spec: {celld: celld}", "spec.celld" OBJECT("a string") },
		{ "spec: {bucket: []}", "spec.bucket" OBJECT("an array") },
		{ "spec: {bucket: {credentialsFrom: keys}}",
		  "spec.bucket.credentialsFrom" OBJECT("a string") },
		{ "spec: {autoscaling: true}", "spec.autoscaling" OBJECT("a boolean") },
		{ "spec: {storage: 10}", "spec.storage" OBJECT("a number") },
		{ "spec: {hostnames: {}}",
		  "spec.hostnames: must be an array, is an object; write a list" },
		{ "spec: {hostnames: [null, 5]}",
		  "spec.hostnames[0]: is empty; write a text\n"
		  "spec.hostnames[1]: must be a string, is a number; put it in quotes" },
		{ "spec: {service: {annotations: {a: 1, b: x, c: true}}}",
		  "spec.service.annotations[a]: must be a string, is a number; put it in quotes\n"
		  "spec.service.annotations[c]: must be a string, is a boolean; put it in quotes" },
		{ "spec: {podLabels: [a]}", "spec.podLabels" OBJECT("an array") },
		{ "spec: {appVersion: 5}",
		  "spec.appVersion: must be a string, is a number; put it in quotes" },
		{ "spec: {appVersion: [5]}",
		  "spec.appVersion: must be a string, is an array; write one text" },
		{ "spec: {durability: 1}",
		  "spec.durability: must be a string, is a number; put it in quotes" },
		{ "spec: {websockets: 'true'}",
		  "spec.websockets: must be a boolean, is a string; write true or false, without "
		  "quotes" },
		{ "spec: {celld: {imagePullSecrets: [a, {name: 5}, {}, {name: b}]}}",
		  "spec.celld.imagePullSecrets[0]" OBJECT(
			  "a string") "\n"
				      "spec.celld.imagePullSecrets[1].name: must be a string, is a "
				      "number; put it in "
				      "quotes\n"
				      "spec.celld.imagePullSecrets[2].name: is empty; write a "
				      "text" },
		{ "spec: {env: {}}", "spec.env: must be an array, is an object; write a list" },
		{ "spec: {env: [{name: 1, value: 2, secretKeyRef: x}]}",
		  "spec.env[0].name: must be a string, is a number; put it in quotes\n"
		  "spec.env[0].value: must be a string, is a number; put it in quotes\n"
		  "spec.env[0].secretKeyRef" OBJECT("a string") },
		{ "spec: {env: [{name: a, secretKeyRef: {name: 1, key: 2}}]}",
		  "spec.env[0].secretKeyRef.name: must be a string, is a number; put it in quotes\n"
		  "spec.env[0].secretKeyRef.key: must be a string, is a number; put it in quotes" },
		{ "spec: {networkPolicy: {publicFrom: anyone}}",
		  "spec.networkPolicy.publicFrom: must be an array, is a string; write a list" },
		{ "metadata: {labels: {a: 1}}",
		  "metadata.labels[a]: must be a string, is a number; put it in quotes" },
		{ "status: []", "" },
		{ "status: {celldVersions: x, phase: 7}", "" },
	};

	(void)state;
	for (size_t i = 0; i < array_len(rows); i++)
		check_types(rows[i].change, rows[i].said);
}

#define WHOLE(text) "spec.replicas: must be an integer, is " text "; write a whole number"
#define RANGE(text) "spec.replicas: " text " is out of range; write a number of at most 2147483647"

static void test_integers(void **state)
{
	static const struct {
		const char *change, *said;
	} rows[] = {
		{ "spec: {replicas: 2147483647}", "" },
		{ "spec: {replicas: 3.0}", "" },
		{ "spec: {replicas: 1e2}", "" },
		{ "spec: {replicas: -0}", "" },
		{ "spec: {replicas: 2147483648}", RANGE("2147483648") },
		{ "spec: {replicas: 4294967299}", RANGE("4294967299") },
		{ "spec: {replicas: -2147483649}", RANGE("-2147483649") },
		{ "spec: {replicas: 3.5}", WHOLE("3.5") },
		{ "spec: {replicas: '3'}",
		  "spec.replicas: must be an integer, is a string; write a whole number, without "
		  "quotes" },
		{ "spec: {resources: {memoryGi: 2097152, idleEvictSeconds: 9999999999}}",
		  "spec.resources.idleEvictSeconds: 9999999999 is out of range; write a number of "
		  "at "
		  "most 2147483647" },
	};
	struct workerapp *app = rules_app("spec: {replicas: 1e2}");

	(void)state;
	for (size_t i = 0; i < array_len(rows); i++)
		check_types(rows[i].change, rows[i].said);
	assert_int_equal(app->replicas, 100);
	workerapp_free(app);
	/* A wrong one leaves the default. */
	app = rules_app("spec: {replicas: 4294967299, resources: {idleEvictSeconds: 1.5}}");
	assert_int_equal(app->replicas, 3);
	assert_false(app->resources.idle_evict_seconds.set);
	workerapp_free(app);
}

static void check_no_app(const char *text, const char *field, const char *message)
{
	struct workerapp *app = NULL;
	struct err e = ERR_INIT;
	struct json *doc = NULL;

	assert_int_equal(json_parse(text, strlen(text), &doc, &e), 0);
	assert_int_equal(workerapp_parse(doc, NULL, &app, &e), -ERR_INVALID);
	assert_null(app);
	assert_string_equal(e.field, field);
	assert_string_equal(e.message, message);
}

static void test_no_workerapp(void **state)
{
	struct workerapp *app = NULL;
	struct err e = ERR_INIT;

	(void)state;
	check_no_app("[]", "", "a WorkerApp is an object, this is an array");
	assert_int_equal(workerapp_parse(NULL, NULL, &app, &e), -ERR_INVALID);
	assert_string_equal(e.message, "a WorkerApp is an object, this is absent");
	workerapp_free(NULL);
	check_no_app("null", "", "a WorkerApp is an object, this is null");
	check_no_app("7", "", "a WorkerApp is an object, this is a number");
	check_no_app("{}", "kind", "is nothing, not WorkerApp");
	check_no_app("{\"kind\":\"Pod\"}", "kind", "is \"Pod\", not WorkerApp");
	check_no_app("{\"kind\":\"WorkerApp\"}", "apiVersion",
		     "is nothing, not celld-operator.io/v1alpha1");
	check_no_app("{\"kind\":\"WorkerApp\",\"apiVersion\":\"celld-operator.io/v1\"}",
		     "apiVersion", "is \"celld-operator.io/v1\", not celld-operator.io/v1alpha1");
}

/* What a list may hold is bounded by the reader, whatever the document says. */
static void test_long_lists(void **state)
{
	struct json *doc = rules_overlay("");
	struct json *spec = json_get_mutable(doc, "spec");
	struct json *hosts = json_array_at(spec, "hostnames"), *env = json_array_at(spec, "env");
	struct json *status = json_object_at(doc, "status");
	struct json *tolerations = json_array_at(json_object_at(spec, "scheduling"), "tolerations");
	struct json *versions = json_array_at(status, "celldVersions");
	struct workerapp *app = NULL;
	struct err e = ERR_INIT;

	(void)state;
	for (int i = 0; i < 2000; i++) {
		json_add_str(hosts, "a");
		json_add(env, json_new_object());
		json_add_str(versions, "v0.6.2");
		json_add_str(tolerations, "not an object");
	}
	assert_int_equal(workerapp_parse(doc, NULL, &app, &e), 0);
	assert_int_equal(app->hostnames.n, WORKERAPP_LIST);
	assert_int_equal(app->n_env, WORKERAPP_LIST);
	assert_int_equal(app->type_faults.n, FAULTS_MAX + 1);
	assert_int_equal(app->seen.celld_versions.n, WORKERAPP_LIST);
	workerapp_free(app);
}

static void check_bucket_parts(const char *name, const char *bucket, const char *prefix)
{
	struct workerapp app = { .bucket = { .name = name } };
	char *b = workerapp_bucket_name(&app), *p = workerapp_bucket_prefix(&app);

	assert_string_equal(b, bucket);
	assert_string_equal(p, prefix);
	freep(&b);
	freep(&p);
}

static void test_bucket_parts(void **state)
{
	(void)state;
	check_bucket_parts("s3://cells/apps/chat/", "cells", "apps/chat");
	check_bucket_parts("gs://cells/a", "cells", "a");
	check_bucket_parts("az://cells", "cells", "");
	check_bucket_parts("az://cells/", "cells", "");
	check_bucket_parts("s3://cells//a//", "cells", "a");
	check_bucket_parts("cells/a", "cells", "a");
	check_bucket_parts("a:b/c", "a:b", "c");
	check_bucket_parts(NULL, "", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),	cmocka_unit_test(test_everything),
		cmocka_unit_test(test_empty_is_absent), cmocka_unit_test(test_wrong_types),
		cmocka_unit_test(test_integers),	cmocka_unit_test(test_no_workerapp),
		cmocka_unit_test(test_long_lists),	cmocka_unit_test(test_bucket_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
