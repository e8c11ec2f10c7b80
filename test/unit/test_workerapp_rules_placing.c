#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "test/lib/rules_table.h"

#define OWNED " is set by the operator or by Kubernetes; write a key of your own"
#define KEY                                                                                        \
	" is no key; write letters, digits, dots, dashes and underscores, with a DNS name and / "  \
	"in front if you like"
#define LABEL                                                                                      \
	" is no value of a label; write at most 63 letters, digits, dots, dashes and "             \
	"underscores, the first and the last a letter or a digit"

static void test_maps(void **state)
{
	static const struct rules_case rows[] = {
		{ "spec: {podLabels: {team: a, example.com/tier: ''}, podAnnotations: "
		  "{example.com/note: 'any text at all'}}",
		  "" },
		{ "spec: {podLabels: {app.kubernetes.io/name: x}}",
		  "key-owned spec.podLabels[app.kubernetes.io/name]: "
		  "\"app.kubernetes.io/name\"" OWNED },
		{ "spec: {podLabels: {controller-revision-hash: x, azure.workload.identity/use: "
		  "x}}",
		  "key-owned spec.podLabels[controller-revision-hash]: "
		  "\"controller-revision-hash\"" OWNED "\n"
		  "key-owned spec.podLabels[azure.workload.identity/use]: "
		  "\"azure.workload.identity/use\"" OWNED },
		{ "spec: {podLabels: {celld-operator.io/workerapp: x}, podAnnotations: "
		  "{celld-operator.io/x: x}}",
		  "key-owned spec.podLabels[celld-operator.io/workerapp]: "
		  "\"celld-operator.io/workerapp\"" OWNED "\n"
		  "key-owned spec.podAnnotations[celld-operator.io/x]: "
		  "\"celld-operator.io/x\"" OWNED },
		{ "spec: {podAnnotations: {app.kubernetes.io/name: x}}", "" },
		{ "spec: {podLabels: {'a b': x, /a: x, Example.com/a: x, a/: x}}",
		  "key-syntax spec.podLabels[a b]: \"a b\"" KEY "\n"
		  "key-syntax spec.podLabels[/a]: \"/a\"" KEY "\n"
		  "key-syntax spec.podLabels[Example.com/a]: \"Example.com/a\"" KEY "\n"
		  "key-syntax spec.podLabels[a/]: \"a/\"" KEY },
		{ "spec: {podLabels: {a: 'not a label', b: -x}}",
		  "label-value spec.podLabels[a]: \"not a label\"" LABEL "\n"
		  "label-value spec.podLabels[b]: \"-x\"" LABEL },
		{ "spec: {podLabels: {a: 1}}",
		  "wrong-type spec.podLabels[a]: must be a string, is a number; put it in quotes" },
		{ "spec: {service: {type: LoadBalancer, annotations: {example.com/x: z}}}", "" },
		{ "spec: {service: {annotations: {'x y': z}}}",
		  "key-syntax spec.service.annotations[x y]: \"x y\"" KEY },
		{ "spec: {service: {type: loadbalancer}}",
		  "unknown-value spec.service.type: \"loadbalancer\" is not a value of it; write "
		  "LoadBalancer (the values are ClusterIP or LoadBalancer or NodePort)" },
		{ "spec: {hostnames: [a.example.com], ingress: {annotations: {'x y': z}}}",
		  "key-syntax spec.ingress.annotations[x y]: \"x y\"" KEY },
	};
	char text[4096];
	size_t n = (size_t)snprintf(text, sizeof(text), "spec: {podAnnotations: {");
	struct rules_case row = { text, "" };

	(void)state;
	rules_check(rows, array_len(rows));
	for (int i = 0; i < 64; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "a%d: x, ", i);
	(void)snprintf(text + n, sizeof(text) - n, "}}");
	rules_check(&row, 1);
	(void)snprintf(text + n, sizeof(text) - n, "b: x}}");
	row.said = "list-length spec.podAnnotations: 65 are too many; write at most 64";
	rules_check(&row, 1);
}

static void test_scheduling(void **state)
{
	static const struct rules_case rows[] = {
		{ "spec: {scheduling: {nodeSelector: {disk: ssd}, spreadAcrossZones: true, "
		  "priorityClassName: high, tolerations: [{key: a, operator: Exists}, {key: a, "
		  "value: "
		  "b}, {operator: Exists}, {key: a, operator: Equal, effect: NoExecute, "
		  "tolerationSeconds: 30}]}}",
		  "" },
		{ "spec: {scheduling: {nodeSelector: {disk: 'a b'}, priorityClassName: High}}",
		  "label-value spec.scheduling.nodeSelector[disk]: \"a b\"" LABEL "\n"
		  "object-name spec.scheduling.priorityClassName: \"High\" cannot be the name of a "
		  "PriorityClass; write lower-case letters, digits, dashes and dots, at most 253" },
		{ "spec: {scheduling: {tolerations: [{key: a, operator: In}]}}",
		  "toleration-operator spec.scheduling.tolerations[0]: its operator is unknown; "
		  "write "
		  "Equal or Exists" },
		{ "spec: {scheduling: {tolerations: [{key: a, effect: Never}]}}",
		  "toleration-effect spec.scheduling.tolerations[0]: its effect is unknown; write "
		  "NoSchedule, PreferNoSchedule or NoExecute" },
		{ "spec: {scheduling: {tolerations: [{key: a, operator: Exists, value: b}]}}",
		  "toleration-value spec.scheduling.tolerations[0]: operator Exists takes no "
		  "value; "
		  "leave value out, or write operator Equal" },
		{ "spec: {scheduling: {tolerations: [{value: b}]}}",
		  "toleration-key spec.scheduling.tolerations[0]: without a key it is for every "
		  "taint; "
		  "write operator Exists, or the key" },
		{ "spec: {scheduling: {tolerations: [{key: a, tolerationSeconds: 3}]}}",
		  "toleration-seconds spec.scheduling.tolerations[0]: tolerationSeconds delays an "
		  "eviction; write effect NoExecute, or leave it out" },
		{ "spec: {scheduling: {tolerations: [x, null]}}",
		  "wrong-type spec.scheduling.tolerations[0]: must be an object, is a string; "
		  "write "
		  "names with values, or leave it out\n"
		  "wrong-type spec.scheduling.tolerations[1]: is empty; write names with values, "
		  "or "
		  "leave it out" },
	};
	char text[4096];
	size_t n = (size_t)snprintf(text, sizeof(text), "spec: {scheduling: {tolerations: [");
	struct rules_case row = {
		text, "list-length spec.scheduling.tolerations: 65 are too many; write at most 64"
	};

	(void)state;
	rules_check(rows, array_len(rows));
	for (int i = 0; i < 65; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "{key: a}, ");
	(void)snprintf(text + n, sizeof(text) - n, "]}}");
	rules_check(&row, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_maps),
		cmocka_unit_test(test_scheduling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
