#include "test/lib/random_app.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

enum { CHANGES = 5, VALUES = 12 };

#define T16	      "aaaaaaaaaaaaaaaa"
#define T63	      T16 T16 T16 "aaaaaaaaaaaaaaa"
#define SHA	      T16 T16 T16 T16
#define ARN	      "arn:aws:iam::123456789012:role/chat"
#define PEER(block)   "[{\"ipBlock\":{" block "}}]"
#define EGRESS(port)  "{\"enabled\":true,\"extra\":[{\"ports\":[{" port "}]}]}"
#define EXPRESSION(x) "[{\"podSelector\":{\"matchExpressions\":[{" x "}]}}]"

/* JSON texts; a NULL ends the list. */
static const struct {
	const char *path;
	const char *values[VALUES + 1];
} edges[] = {
	{ "metadata.name",
	  { ("\"" T16 T16 "aaaaaaaaaaaaaa\""), ("\"" T16 T16 "aaaaaaaaaaaaaaa\""), "\"1a\"",
	    "\"a.b\"", "\"a-\"", "\"x\"" } },
	{ "spec.hostnames",
	  { "[]", "[\"a.example.com\"]", "[\"*.a.io\"]", "[\"*\"]", "[\"A.io\"]", "[\"a.io.\"]",
	    "[\"1.2.3.4\"]", "[\"a.io\",\"a.io\"]", ("[\"" T63 ".io\"]"), ("[\"a" T63 ".io\"]"),
	    "[\"\"]", "[5]" } },
	{ "spec.appVersion",
	  { "\"auto\"", "\"a/b\"", "\"\"", "\"" T63 T63 "aa\"", "\"" T63 T63 "aaa\"", "null",
	    "7" } },
	{ "spec.deploymentPolicy", { "\"InPlace\"", "\"Restart\"", "\"inplace\"", "\"\"" } },
	{ "spec.deployTrackingSecretRef", { "\"reader\"", "\"Reader\"", "\"\"" } },
	{ "spec.celld", { "null", "{\"image\":\"celld:v0.5.0\"}", "\"x\"", "[]" } },
	{ "spec.celld.image",
	  { "\"celld:v0.1.0\"", "\"celld:v0.2.0\"", "\"celld:v0.2.1\"", "\"celld:v0.3.0\"",
	    "\"celld:0.4.0\"", "\"celld:v0.5.0-alpine\"", "\"celld:v0.6\"", "\"celld:latest\"",
	    "\"celld\"", "\"celld:v0.6.2@sha256:" SHA "\"", "\"celld@sha256:" SHA "\"", "\"\"" } },
	{ "spec.celld.version",
	  { "\"v0.6.2\"", "\"v0.3.0\"", "\"0.6.2\"", "\"v0.6.2-x\"", "\"v0.06.2\"", "\"\"" } },
	{ "spec.celld.updateStrategy", { "\"Recreate\"", "\"recreate\"", "\"\"" } },
	{ "spec.celld.imagePullPolicy", { "\"Always\"", "\"Sometimes\"", "\"\"" } },
	{ "spec.celld.imagePullSecrets",
	  { "[{\"name\":\"a\"}]", "[{\"name\":\"A\"}]", "[{}]", "[\"a\"]" } },
	{ "spec.replicas",
	  { "1", "2", "3", "1000", "1001", "0", "-1", "2.5", "\"3\"", "2147483648" } },
	{ "spec.bucket.name",
	  { "\"s3://abc\"", "\"s3://ab/x\"", "\"s3://Abc/x\"", "\"s3://abc/x/\"",
	    "\"s3://abc/x//\"", "\"s3://abc//x\"", "\"s3://abc/a..b\"", "\"gs://abc/x\"",
	    "\"az://abc/x\"", "\"file:///x\"", "\"\"", "null" } },
	{ "spec.bucket.endpoint",
	  { "\"https://a.io\"", "\"http://a.io\"", "\"a.io\"", "\"https://u@a.io\"",
	    "\"https://a.io/?q\"", "\"https://[::1]:9\"", "\"https://a.io:70000\"",
	    "\"https://a.io:0\"", "\"https://-a.io\"", "\"\"" } },
	{ "spec.bucket.allowHTTP", { "true", "false", "\"true\"" } },
	{ "spec.bucket.region", { "\"auto\"", "\"\"", "\"eu/west\"", "\"eu west\"", "null" } },
	{ "spec.bucket.storageAccount",
	  { "\"acme\"", "\"ab\"", "\"Acme\"", "\"abcdefghijklmnopqrstuvwx\"",
	    "\"abcdefghijklmnopqrstuvwxy\"", "\"\"" } },
	{ "spec.bucket.credentialsFrom",
	  { "null", "{}", "{\"iamRole\":\"auto\"}", ("{\"iamRole\":\"" ARN "\"}"),
	    "{\"gcpServiceAccount\":\"a@b.io\"}",
	    "{\"azureClientID\":\"11111111-2222-3333-4444-555555555555\"}", "{\"secretRef\":\"\"}",
	    "{\"secretRef\":\"a_b\"}", "{\"iamRole\":\"auto\",\"secretRef\":\"k\"}" } },
	{ "spec.bucket.credentialsFrom.iamRole",
	  { "\"auto\"", ("\"" ARN "\""), "\"arn:aws:iam::1:role/x\"",
	    "\"arn:aws:iam::123456789012:role/\"", "\"\"" } },
	{ "spec.storeRef", { "{\"name\":\"s\"}", "{\"name\":\"S\"}", "{\"name\":\"\"}", "{}" } },
	{ "spec.resources",
	  { "{}", "{\"memoryGi\":0}", "{\"memoryGi\":65536}", "{\"memoryGi\":65537}",
	    "{\"cpuMillis\":0}", "{\"cpuMillis\":1000001}", "{\"ephemeralStorageGi\":0}",
	    "{\"maxResidentCells\":0}", "{\"idleEvictSeconds\":0}", "{\"idleEvictSeconds\":1}" } },
	{ "spec.storage",
	  { "{\"sizeGi\":1}", "{\"sizeGi\":0}", "{\"sizeGi\":65536}", "{\"sizeGi\":65537}", "{}",
	    "{\"sizeGi\":5,\"storageClassName\":\"Fast\"}",
	    "{\"sizeGi\":5,\"storageClassName\":\"\"}", "null" } },
	{ "spec.durability", { "\"fleet\"", "\"bucket\"", "\"Fleet\"", "\"\"" } },
	{ "spec.scheduling.nodeSelector",
	  { "{\"a\":\"b\"}", "{\"a b\":\"c\"}", "{\"a\":\"b c\"}", "{\"a.io/b\":\"\"}",
	    "{\"/b\":\"\"}" } },
	{ "spec.scheduling.priorityClassName", { "\"high\"", "\"High\"", "\"\"" } },
	{ "spec.scheduling.tolerations",
	  { "[{\"operator\":\"Exists\"}]", "[{}]", "[{\"key\":\"a\",\"operator\":\"In\"}]",
	    "[{\"key\":\"a\",\"operator\":\"Exists\",\"value\":\"b\"}]",
	    "[{\"key\":\"a\",\"effect\":\"Never\"}]", "[{\"key\":\"a\",\"tolerationSeconds\":5}]",
	    "[{\"key\":\"a\",\"effect\":\"NoExecute\",\"tolerationSeconds\":5}]",
	    "[{\"value\":\"b\"}]", "[{\"key\":\"a\",\"operator\":\"\"}]", "[null]" } },
	{ "spec.service",
	  { "{\"type\":\"NodePort\"}", "{\"type\":\"Nodeport\"}",
	    "{\"annotations\":{\"a b\":\"c\"}}", "{\"annotations\":{\"a\":5}}", "{}" } },
	{ "spec.vars",
	  { "{\"secretRef\":\"v\"}", "{\"secretRef\":\"V\"}", "{\"secretRef\":\"\"}", "{}" } },
	{ "spec.env",
	  { "[{\"name\":\"RUST_LOG\",\"value\":\"a\"}]", "[{\"name\":\"RUST_LOG\"}]",
	    "[{\"name\":\"RUST_LOG\",\"value\":\"\"}]",
	    "[{\"name\":\"CELLD_BUCKET\",\"value\":\"a\"}]",
	    "[{\"name\":\"CELLD_VARS_FILE\",\"value\":\"a\"}]",
	    "[{\"name\":\"PATH\",\"value\":\"a\"}]",
	    "[{\"name\":\"CELLD_LTX_PAGED\",\"value\":\"a\"}]",
	    "[{\"name\":\"RUST_LOG\",\"secretKeyRef\":{\"name\":\"a\",\"key\":\"b\"}}]",
	    "[{\"name\":\"RUST_LOG\",\"secretKeyRef\":{\"name\":\"a\"}}]",
	    "[{\"name\":\"RUST_LOG\",\"secretKeyRef\":{\"name\":\"A\",\"key\":\"b/c\"}}]",
	    "[{\"name\":\"RUST_LOG\",\"value\":\"a\"},{\"name\":\"RUST_LOG\",\"value\":\"b\"}]",
	    "[null]" } },
	{ "spec.podLabels",
	  { "{\"a\":\"b\"}", "{\"celld-operator.io/x\":\"b\"}",
	    "{\"app.kubernetes.io/name\":\"b\"}", "{\"a\":\"b c\"}", "{\"a\":\"" T63 "\"}",
	    "{\"a\":\"a" T63 "\"}", "{\"a b\":\"c\"}", "{\"\":\"c\"}" } },
	{ "spec.podAnnotations",
	  { "{\"a\":\"b c\"}", "{\"celld-operator.io/x\":\"b\"}", "{\"a b\":\"c\"}" } },
	{ "spec.websockets", { "true", "1", "\"true\"" } },
	{ "spec.trustForwardedHeaders", { "true", "false" } },
	{ "spec.networkPolicy.publicFrom",
	  { "[]", "[{}]", PEER("\"cidr\":\"10.0.0.0/8\""), PEER("\"cidr\":\"10.0.0.0\""),
	    PEER("\"cidr\":\"10.0.0.0/33\""),
	    PEER("\"cidr\":\"10.0.0.0/8\",\"except\":[\"10.1.0.0/16\"]"),
	    PEER("\"cidr\":\"10.0.0.0/8\",\"except\":[\"11.0.0.0/16\"]"),
	    PEER("\"cidr\":\"10.0.0.0/8\",\"except\":[\"10.0.0.0/8\"]"),
	    PEER("\"cidr\":\"1::2/64\",\"except\":[\"1::/63\"]"), PEER("\"cidr\":\"1:::2/64\""),
	    PEER("\"cidr\":\"::/0\",\"except\":[\"10.0.0.0/8\"]"), PEER("\"cidr\":\"\"") } },
	{ "spec.networkPolicy.publicFrom",
	  { EXPRESSION("\"key\":\"a\",\"operator\":\"In\",\"values\":[\"b\"]"),
	    EXPRESSION("\"key\":\"a\",\"operator\":\"In\""),
	    EXPRESSION("\"key\":\"a\",\"operator\":\"Exists\",\"values\":[\"b\"]"),
	    EXPRESSION("\"key\":\"a\",\"operator\":\"in\",\"values\":[\"b\"]"),
	    EXPRESSION("\"key\":\"\",\"operator\":\"Exists\""),
	    EXPRESSION("\"operator\":\"Exists\""),
	    EXPRESSION("\"key\":\"a\",\"operator\":\"NotIn\",\"values\":[]"),
	    "[{\"podSelector\":{\"matchLabels\":{\"a\":\"b\"}}}]",
	    "[{\"podSelector\":{\"matchLabels\":{\"a\":\"a" T63 "\"}}}]",
	    "[{\"podSelector\":{},\"ipBlock\":{\"cidr\":\"10.0.0.0/8\"}}]" } },
	{ "spec.networkPolicy.egress",
	  { EGRESS("\"port\":443"), EGRESS("\"port\":0"), EGRESS("\"port\":65536"),
	    EGRESS("\"port\":\"dns\""), EGRESS("\"port\":\"" T16 "\""),
	    EGRESS("\"port\":9,\"endPort\":9"), EGRESS("\"port\":9,\"endPort\":8"),
	    EGRESS("\"endPort\":8"), EGRESS("\"port\":\"dns\",\"endPort\":8"),
	    EGRESS("\"protocol\":\"tcp\""), EGRESS("\"protocol\":\"SCTP\""),
	    EGRESS("\"port\":9,\"endPort\":65536") } },
	{ "spec.ingress",
	  { "{\"path\":\"/a\"}", "{\"path\":\"a\"}", "{\"path\":\"/a/../b\"}",
	    "{\"path\":\"/a//b\"}", "{\"path\":\"/a?b\"}", "{\"path\":\"/a%2fb\"}",
	    "{\"path\":\"/a%2\"}", "{\"pathType\":\"exact\"}",
	    "{\"gatewayRefs\":[{\"name\":\"g\"}],\"ingressClass\":\"c\"}",
	    "{\"gatewayRefs\":[{\"namespace\":\"n\"}]}", "{\"ingressClass\":\"C\"}",
	    "{\"path\":\"/.\"}" } },
	{ "spec.autoscaling",
	  { "{\"enabled\":true}", "{\"enabled\":true,\"minReplicas\":3,\"maxReplicas\":3}",
	    "{\"enabled\":true,\"minReplicas\":4,\"maxReplicas\":3}",
	    "{\"enabled\":false,\"minReplicas\":4,\"maxReplicas\":3}",
	    "{\"enabled\":true,\"minReplicas\":0}", "{\"minReplicas\":0}", "{\"maxReplicas\":0}",
	    "{\"maxReplicas\":1001}", "{\"targets\":{\"residentCellUtilization\":0}}",
	    "{\"targets\":{\"residentCellUtilization\":101}}", "{\"targets\":{\"p95LatencyMs\":0}}",
	    "{\"enabled\":true,\"minReplicas\":3}" } },
	{ "spec.telemetry",
	  { "{\"enabled\":true}", "{\"enabled\":false}",
	    "{\"sink\":\"otlp\",\"otlpEndpoint\":\"http://o:1\"}", "{\"sink\":\"s3\"}",
	    "{\"otlpEndpoint\":\"o:1\"}", "{\"otlpEndpoint\":\"http://o/?q\"}",
	    "{\"retention\":\"1d\"}", "{\"retention\":\"0d\"}", "{\"retention\":\"none\"}",
	    "{\"retention\":\"1h\"}", "{\"retention\":\"12345678d\"}", "{\"retention\":\"\"}" } },
	{ "spec.clusterDomain",
	  { "\"k.io\"", "\".k\"", "\"K.io\"", "\"\"", "\"a" T63 "\"", "\"k.io.\"" } },
	{ "spec.maintenance",
	  { "{\"paused\":true}", "{\"restartToken\":\"" T63 T63 "aa\"}",
	    "{\"restartToken\":\"" T63 T63 "aaa\"}", "{\"paused\":\"no\"}" } },
};

static const char sound[] = "{\"apiVersion\":\"celld-operator.io/v1alpha1\",\"kind\":\"WorkerApp\","
			    "\"metadata\":{\"name\":\"chat\",\"namespace\":\"acme\"},\"spec\":{"
			    "\"appVersion\":\"v1\",\"celld\":{\"image\":\"celld:v0.6.2\"},"
			    "\"bucket\":{\"name\":\"s3://cells/chat\","
			    "\"credentialsFrom\":{\"secretRef\":\"keys\"}}}}";

/* splitmix64 */
static uint64_t next(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static size_t below(uint64_t *state, size_t n)
{
	return (size_t)(next(state) % n);
}

static struct json *parse(const char *text)
{
	struct json *j = NULL;
	struct err e = ERR_INIT;

	if (json_parse(text, strlen(text), &j, &e))
		fail_msg("%s: %s", text, e.message);
	return j;
}

/* Puts the value at the path, unless something on the way is no object. */
static void put(struct json *to, const char *path, struct json *value)
{
	const char *dot;

	for (; (dot = strchr(path, '.')); path = dot + 1) {
		cleanup(freep) char *name = xstrndup(path, (size_t)(dot - path));

		if (json_get(to, name) && json_kind(json_get(to, name)) != JSON_OBJECT) {
			json_free(value);
			return;
		}
		to = json_object_at(to, name);
	}
	if (json_kind(value) == JSON_NULL) {
		json_del(to, path);
		json_free(value);
	} else {
		json_set(to, path, value);
	}
}

struct json *random_app(uint64_t seed, uint64_t n)
{
	uint64_t state = seed ^ (n * 0xd1342543de82ef95);
	size_t changes = 1 + below(&state, CHANGES);
	struct json *app = parse(sound);

	while (changes--) {
		size_t at = below(&state, array_len(edges)), values = 1;

		while (edges[at].values[values])
			values++;
		put(app, edges[at].path, parse(edges[at].values[below(&state, values)]));
	}
	return app;
}
