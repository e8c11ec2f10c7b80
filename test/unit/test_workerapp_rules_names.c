#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "test/lib/rules_table.h"

#define V(version) "celld: {image: 'ghcr.io/denoland/celld:v" version "'}"

#define L64 "a23456789a23456789a23456789a23456789a23456789a23456789a234567891"

static void test_name(void **state)
{
	static const struct rules_case rows[] = {
		{ "", "" },
		{ "metadata: {name: a123456789012345678901234567890123456789012345}", "" }, /* 46 */
		{ "metadata: {name: a1234567890123456789012345678901234567890123456}",
		  "name-length metadata.name: has 47 characters, and the names of pods and the "
		  "labels "
		  "of revisions are built from it; write at most 46" },
		{ "metadata: {name: 1chat}",
		  "name-syntax metadata.name: \"1chat\" cannot name a Service; begin with a letter "
		  "and "
		  "write only a-z, 0-9 and dashes, and no dash at the end" },
		{ "metadata: {name: my.app}",
		  "name-syntax metadata.name: \"my.app\" cannot name a Service; begin with a "
		  "letter and "
		  "write only a-z, 0-9 and dashes, and no dash at the end" },
		{ "metadata: {name: chat-}",
		  "name-syntax metadata.name: \"chat-\" cannot name a Service; begin with a letter "
		  "and "
		  "write only a-z, 0-9 and dashes, and no dash at the end" },
		{ "metadata: {name: a--b}", "" },
		/* Too long for any label: one fault is enough. */
		{ "metadata: {name: " L64 "}", "name-length metadata.name: has 64 characters, and "
					       "the names of pods and the labels "
					       "of revisions are built from it; write at most 46" },
		{ "metadata: {name: x}", "" },
		{ "metadata: {name: null}", "name-required metadata.name: there is no name; write "
					    "one of at most 46 characters" },
		{ "metadata: {name: null, generateName: preview-}", "" },
		{ "metadata: {name: null, generateName: "
		  "a23456789012345678901234567890123456789012}",
		  "name-length metadata.generateName: names made from "
		  "\"a23456789012345678901234567890123456789012\" are longer than 46 characters; "
		  "write "
		  "at most 41" },
	};

	(void)state;
	rules_check(rows, array_len(rows));
}

#define HOST                                                                                       \
	" cannot be routed; write a lower-case DNS name such as chat.example.com or "              \
	"*.example.com, without scheme, port or final dot, no IP address"

static void test_hostnames(void **state)
{
	static const struct rules_case rows[] = {
		{ "spec: {hostnames: [chat.example.com, '*.example.com', localhost]}", "" },
		{ "spec: {hostnames: []}", "" },
		{ "spec: {hostnames: [a_b.example.com]}",
		  "hostname-syntax spec.hostnames[0]: \"a_b.example.com\"" HOST },
		{ "spec: {hostnames: [ok.example.com, '*.*', 10.0.0.1]}",
		  "hostname-syntax spec.hostnames[1]: \"*.*\"" HOST "\n"
		  "hostname-syntax spec.hostnames[2]: \"10.0.0.1\"" HOST },
		{ "spec: {hostnames: ['https://a.example.com', 'a.example.com:80', "
		  "a.example.com.]}",
		  "hostname-syntax spec.hostnames[0]: \"https://a.example.com\"" HOST "\n"
		  "hostname-syntax spec.hostnames[1]: \"a.example.com:80\"" HOST "\n"
		  "hostname-syntax spec.hostnames[2]: \"a.example.com.\"" HOST },
		{ "spec: {hostnames: [Chat.example.com, '']}",
		  "hostname-syntax spec.hostnames[0]: \"Chat.example.com\"" HOST "\n"
		  "hostname-syntax spec.hostnames[1]: \"\"" HOST },
		{ "spec: {hostnames: [a.example.com, b.example.com, a.example.com]}",
		  "hostname-twice spec.hostnames[2]: \"a.example.com\" is there twice; leave one "
		  "out" },
		{ "spec: {hostnames: [a, b, c, d, e, f, g, h, i, j, k, l, m, n0, o, p]}", "" },
		{ "spec: {hostnames: [a, b, c, d, e, f, g, h, i, j, k, l, m, n0, o, p, q]}",
		  "hostnames-count spec.hostnames: 17 host names are more than one route takes; "
		  "write "
		  "at most 16" },
	};

	(void)state;
	rules_check(rows, array_len(rows));
}

static void test_app_version(void **state)
{
	static const struct rules_case rows[] = {
		{ "spec: {appVersion: a.B_c-9}", "" },
		{ "spec: {appVersion: null}",
		  "app-version-required spec.appVersion: there is none; write the Version ID that "
		  "`celld deploy` prints, or auto" },
		{ "spec: {appVersion: ''}",
		  "app-version-required spec.appVersion: there is none; write the Version ID that "
		  "`celld deploy` prints, or auto" },
		{ "spec: {appVersion: a/b}",
		  "app-version-syntax spec.appVersion: \"a/b\" is no Version ID; write what `celld "
		  "deploy` prints (1 to 128 letters, digits, dots, underscores and dashes), or "
		  "auto" },
		{ "spec: {appVersion: auto}", "" }, /* the bucket's Secret serves */
		{ "spec: {appVersion: auto, deployTrackingSecretRef: track, bucket: "
		  "{credentialsFrom: {secretRef: null, iamRole: auto}}}",
		  "" },
		{ "spec: {appVersion: auto, bucket: {credentialsFrom: {secretRef: null, iamRole: "
		  "'arn:aws:iam::123456789012:role/x'}}}",
		  "tracking-secret-required spec.deployTrackingSecretRef: appVersion auto needs a "
		  "Secret to read the bucket with; write one here (or "
		  "bucket.credentialsFrom.secretRef "
		  "or storeRef), or pin appVersion" },
		{ "spec: {appVersion: auto, storeRef: {name: s}, bucket: {region: null, "
		  "credentialsFrom: null}}",
		  "" },
		{ "spec: {deployTrackingSecretRef: My_Secret}",
		  "object-name spec.deployTrackingSecretRef: \"My_Secret\" cannot be the name of a "
		  "Secret; write lower-case letters, digits, dashes and dots, at most 253" },
		{ "spec: {deploymentPolicy: InPlace}", "" },
		{ "spec: {deploymentPolicy: InPlace, " V("0.4.0") "}", "" },
		{ "spec: {deploymentPolicy: InPlace, " V("0.3.0") "}",
		  "in-place-version spec.deploymentPolicy: celld v0.3.0 takes a deployment up only "
		  "when "
		  "it starts; write Restart, or celld v0.4.0 or later" },
		{ "spec: {deploymentPolicy: Inplace}",
		  "unknown-value spec.deploymentPolicy: \"Inplace\" is not a value of it; write "
		  "InPlace "
		  "(the values are Restart or InPlace)" },
	};

	(void)state;
	rules_check(rows, array_len(rows));
}

#define HEX64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void test_image(void **state)
{
	static const struct rules_case rows[] = {
		{ "spec: {celld: {image: 'registry:5000/celld:0.6.2-alpine'}}", "" },
		{ "spec: {celld: {image: 'celld:v0.6.2@sha256:" HEX64 "'}}", "" },
		{ "spec: {celld: {image: 'celld@sha256:" HEX64 "', version: v0.6.2}}", "" },
		{ "spec: {celld: {image: 'celld:v0.6.2', version: v0.6.2}}", "" },
		{ "spec: {celld: {image: null}}",
		  "image-required spec.celld.image: there is none; write one such as "
		  "ghcr.io/denoland/celld:v0.6.2" },
		{ "spec: {celld: null}",
		  "image-required spec.celld.image: there is none; write one such as "
		  "ghcr.io/denoland/celld:v0.6.2" },
		{ "spec: {celld: {image: 'Not an image'}}",
		  "image-syntax spec.celld.image: \"Not an image\" is no image reference; write "
		  "REGISTRY/NAME:TAG or REGISTRY/NAME@sha256: and 64 hexadecimal digits" },
		{ "spec: {celld: {image: 'celld@sha256:" HEX64 "'}}",
		  "image-version spec.celld.image: \"celld@sha256:" HEX64
		  "\" does not tell its celld version; write a tag such as v0.6.2, or "
		  "celld.version" },
		{ "spec: {celld: {image: 'celld:latest'}}",
		  "image-version spec.celld.image: \"celld:latest\" does not tell its celld "
		  "version; "
		  "write a tag such as v0.6.2, or celld.version\n"
		  "warning: spec.celld.image: tag latest may move; a node can pull another celld "
		  "than "
		  "celld.version says" },
		{ "spec: {celld: {image: celld, version: v0.6.2}}",
		  "warning: spec.celld.image: no tag is the tag latest, which moves; write one or "
		  "a "
		  "digest" },
		{ "spec: {celld: {image: 'celld:stable', version: v0.6.2}}",
		  "warning: spec.celld.image: tag stable may move; a node can pull another celld "
		  "than "
		  "celld.version says" },
		{ "spec: {celld: {image: 'celld:a-tag-of-twenty-five-char', version: v0.6.2}}",
		  "warning: spec.celld.image: tag a-tag-of-twenty-five-cha may move; a node can "
		  "pull "
		  "another celld than celld.version says" },
		/* Without a version nothing is said that needs one. */
		{ "spec: {deploymentPolicy: InPlace, trustForwardedHeaders: true, vars: "
		  "{secretRef: "
		  "v}, telemetry: {}, durability: fleet, storage: {sizeGi: 1}, celld: {image: "
		  "'celld@sha256:" HEX64 "'}, bucket: {credentialsFrom: {secretRef: ''}}}",
		  "image-version spec.celld.image: \"celld@sha256:" HEX64
		  "\" does not tell its celld version; write a tag such as v0.6.2, or "
		  "celld.version" },
		{ "spec: {celld: {image: 'celld:v0.6.2', version: v0.6.1}}",
		  "image-version-conflict spec.celld.version: \"v0.6.1\" is another version than "
		  "the "
		  "tag of \"celld:v0.6.2\" says; write the tag's, or leave version out" },
		{ "spec: {celld: {image: 'celld:v0.6.2', version: '0.6.2'}}",
		  "celld-version-syntax spec.celld.version: \"0.6.2\" is no version; write vX.Y.Z, "
		  "such "
		  "as v0.6.2" },
		{ "spec: {celld: {image: 'celld:v0.6.2', version: latest}}",
		  "celld-version-syntax spec.celld.version: \"latest\" is no version; write "
		  "vX.Y.Z, "
		  "such as v0.6.2" },
		{ "spec: {celld: {imagePullPolicy: always}}",
		  "unknown-value spec.celld.imagePullPolicy: \"always\" is not a value of it; "
		  "write "
		  "Always (the values are Always or IfNotPresent or Never)" },
		{ "spec: {celld: {imagePullSecrets: [{name: registry}, {name: Bad}]}}",
		  "object-name spec.celld.imagePullSecrets[1].name: \"Bad\" cannot be the name of "
		  "a "
		  "Secret; write lower-case letters, digits, dashes and dots, at most 253" },
		{ "spec: {celld: {imagePullSecrets: [{name: a}, {name: b}, {name: c}, {name: d}, "
		  "{name: "
		  "e}, {name: f}, {name: g}, {name: h}, {name: i}, {name: j}, {name: k}, {name: "
		  "l}, "
		  "{name: m}, {name: n0}, {name: o}, {name: p}, {name: q}]}}",
		  "list-length spec.celld.imagePullSecrets: 17 are too many; write at most 16" },
	};

	char text[700], said[700];
	const struct rules_case longest = { text, "" }, longer = { text, said };

	(void)state;
	rules_check(rows, array_len(rows));
	(void)snprintf(text, sizeof(text), "spec: {celld: {image: '%0505d:v0.6.2'}}", 0);
	rules_check(&longest, 1); /* 512 */
	(void)snprintf(text, sizeof(text), "spec: {celld: {image: '%0506d:v0.6.2'}}", 0);
	(void)snprintf(said, sizeof(said),
		       "image-syntax spec.celld.image: \"%088d...\" is no image reference; write "
		       "REGISTRY/NAME:TAG or REGISTRY/NAME@sha256: and 64 hexadecimal digits",
		       0);
	rules_check(&longer, 1);
}

#define ROUTED "hostnames: [a.example.com], "
#define PATH                                                                                       \
	" is no path that every route takes; begin with /, and write no empty, . or .. segments, " \
	"query, fragment or spaces"

static void test_ingress(void **state)
{
	static const struct rules_case rows[] = {
		{ "spec: {" ROUTED "ingress: {path: /chat/v1, pathType: Exact, stripPrefix: true}}",
		  "" },
		{ "spec: {ingress: {}}",
		  "warning: spec.ingress: nothing is routed without hostnames" },
		{ "spec: {" ROUTED "ingress: {path: chat}}",
		  "ingress-path spec.ingress.path: \"chat\"" PATH },
		{ "spec: {" ROUTED "ingress: {path: /a//b}}",
		  "ingress-path spec.ingress.path: \"/a//b\"" PATH },
		{ "spec: {" ROUTED "ingress: {path: '/a?b'}}",
		  "ingress-path spec.ingress.path: \"/a?b\"" PATH },
		{ "spec: {" ROUTED
		  "ingress: {gatewayRefs: [{name: edge, namespace: infra, sectionName: "
		  "https}]}}",
		  "" },
		{ "spec: {" ROUTED "ingress: {gatewayRefs: [{name: edge}], ingressClass: nginx}}",
		  "ingress-one-way spec.ingress.ingressClass: gatewayRefs and ingressClass are two "
		  "ways "
		  "to route one app; write one of them" },
		{ "spec: {" ROUTED
		  "ingress: {gatewayRefs: [], ingressClass: nginx, clusterIssuer: le, "
		  "tlsSecretName: tls}}",
		  "" },
		{ "spec: {" ROUTED "ingress: {gatewayRefs: [{namespace: infra}, {name: UP}]}}",
		  "gateway-name spec.ingress.gatewayRefs[0].name: there is none; write the name of "
		  "a "
		  "Gateway\n"
		  "object-name spec.ingress.gatewayRefs[1].name: \"UP\" cannot be the name of a "
		  "Gateway; write lower-case letters, digits, dashes and dots, at most 253" },
		{ "spec: {" ROUTED
		  "ingress: {gatewayRefs: [{name: a, namespace: '', sectionName: A_b}]}}",
		  "object-name spec.ingress.gatewayRefs[0].sectionName: \"A_b\" cannot be the name "
		  "of a "
		  "listener; write lower-case letters, digits, dashes and dots, at most 253" },
		{ "spec: {" ROUTED "ingress: {gatewayRefs: [" /* 33 */
		  "{name: a}, {name: a}, {name: a}, {name: a}, {name: a}, {name: a}, {name: a}, "
		  "{name: a}, {name: a}, {name: a}, {name: a}, {name: a}, {name: a}, {name: a}, "
		  "{name: a}, {name: a}, {name: a}, {name: a}, {name: a}, {name: a}, {name: a}, "
		  "{name: a}, {name: a}, {name: a}, {name: a}, {name: a}, {name: a}, {name: a}, "
		  "{name: a}, {name: a}, {name: a}, {name: a}, {name: a}]}}",
		  "list-length spec.ingress.gatewayRefs: 33 are too many; write at most 32" },
	};

	(void)state;
	rules_check(rows, array_len(rows));
}

#define FACES                                                                                      \
	"\U0001F600\U0001F600\U0001F600\U0001F600\U0001F600\U0001F600\U0001F600\U0001F600"         \
	"\U0001F600\U0001F600\U0001F600\U0001F600\U0001F600\U0001F600\U0001F600\U0001F600"         \
	"\U0001F600\U0001F600\U0001F600\U0001F600\U0001F600\U0001F600\U0001F600\U0001F600"         \
	"\U0001F600\U0001F600\U0001F600\U0001F600\U0001F600\U0001F600\U0001F600\U0001F600"

static void test_others(void **state)
{
	char token[200];
	struct rules_case rows[] = {
		{ "spec: {clusterDomain: k8s.example}", "" },
		{ "spec: {clusterDomain: ''}", "" },
		{ "spec: {clusterDomain: .local}",
		  "cluster-domain spec.clusterDomain: \".local\" is no DNS name; write one such as "
		  "cluster.local" },
		{ "spec: {maintenance: {restartToken: '2026-11-29'}}", "" },
		/* 32 characters of four bytes each, four times. */
		{ "spec: {maintenance: {restartToken: '" FACES FACES FACES FACES "'}}", "" },
		{ token,
		  "restart-token spec.maintenance.restartToken: is longer than 128 characters; "
		  "write a short text" },
	};

	(void)state;
	(void)snprintf(token, sizeof(token), "spec: {maintenance: {restartToken: '%0129d'}}", 0);
	rules_check(rows, array_len(rows));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_name),	    cmocka_unit_test(test_hostnames),
		cmocka_unit_test(test_app_version), cmocka_unit_test(test_image),
		cmocka_unit_test(test_ingress),	    cmocka_unit_test(test_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
