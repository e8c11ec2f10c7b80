#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "test/lib/rules_table.h"

#define PEER                                                                                       \
	"a peer is either addresses or pods; write ipBlock alone, or podSelector and "             \
	"namespaceSelector or one of them"
#define FROM  "spec.networkPolicy.publicFrom"
#define EXTRA "spec.networkPolicy.egress.extra"

#define C4 "10.1.0.0/16, 10.1.0.0/16, 10.1.0.0/16, 10.1.0.0/16, "
#define P8                                                                                         \
	"{port: 1}, {port: 1}, {port: 1}, {port: 1}, {port: 1}, {port: 1}, {port: 1}, {port: 1}, "

static void test_network_policy(void **state)
{
	static const struct rules_case rows[] = {
		{ "spec: {networkPolicy: {publicFrom: [{ipBlock: {cidr: 10.0.0.0/8, except: "
		  "[10.1.0.0/16]}}, {podSelector: {}}, {podSelector: {}, namespaceSelector: {}}]}}",
		  "" },
		{ "spec: {networkPolicy: {publicFrom: []}}",
		  "public-from-empty " FROM ": an empty list can be read as anyone and as nobody; "
		  "leave it out for anyone, or "
		  "write who may come" },
		{ "spec: {networkPolicy: {publicFrom: [{}]}}", "peer " FROM "[0]: " PEER },
		{ "spec: {networkPolicy: {publicFrom: [{ipBlock: {cidr: '2001:db8::/64'}, "
		  "podSelector: "
		  "{}}]}}",
		  "peer " FROM "[0]: " PEER },
		{ "spec: {networkPolicy: {publicFrom: [{ipBlock: {cidr: 10.0.0.0}}]}}",
		  "cidr " FROM
		  "[0].ipBlock: \"10.0.0.0\" is no range of addresses; write one such as "
		  "10.0.0.0/8 or 2001:db8::/64" },
		{ "spec: {networkPolicy: {publicFrom: [{ipBlock: {cidr: 10.0.0.0/8, except: [x, "
		  "5]}}]}}",
		  "cidr " FROM
		  "[0].ipBlock: \"x\", an exception, is no range of addresses; write one "
		  "such as 10.1.0.0/16\n"
		  "cidr " FROM
		  "[0].ipBlock: \"\", an exception, is no range of addresses; write one "
		  "such as 10.1.0.0/16" },
		{ "spec: {networkPolicy: {publicFrom: [7]}}",
		  "wrong-type " FROM
		  "[0]: must be an object, is a number; write names with values, or "
		  "leave it out" },
		{ "spec: {networkPolicy: {egress: {enabled: true, extra: [{to: [{ipBlock: {cidr: "
		  "10.0.0.0/8}}], ports: [{port: 443}, {port: dns, protocol: UDP}, {port: 1, "
		  "endPort: "
		  "9}, {}]}, {}]}}}",
		  "" },
		{ "spec: {networkPolicy: {egress: {enabled: true, extra: [{to: [{}]}]}}}",
		  "peer " EXTRA "[0].to[0]: " PEER },
		{ "spec: {networkPolicy: {egress: {enabled: true, extra: [{ports: [{protocol: "
		  "tcp}, "
		  "{port: 0}, {port: 65536}, {port: 'a name too long'}, {port: 'a name too "
		  "long.'}]}]}}}",
		  "port-protocol " EXTRA
		  "[0].ports[0]: its protocol is unknown; write TCP, UDP or SCTP\n"
		  "port-number " EXTRA
		  "[0].ports[1]: its port is none; write a number from 1 to 65535, "
		  "or a port's name\n"
		  "port-number " EXTRA
		  "[0].ports[2]: its port is none; write a number from 1 to 65535, "
		  "or a port's name\n"
		  "port-number " EXTRA
		  "[0].ports[3]: its port is none; write a number from 1 to 65535, "
		  "or a port's name\n"
		  "port-number " EXTRA
		  "[0].ports[4]: its port is none; write a number from 1 to 65535, "
		  "or a port's name" },
		{ "spec: {networkPolicy: {egress: {enabled: true, extra: [{ports: [{endPort: 9}, "
		  "{port: "
		  "9, endPort: 8}]}]}}}",
		  "port-range " EXTRA
		  "[0].ports[0]: endPort ends a range; write port too, as a number "
		  "that is not greater\n"
		  "port-range " EXTRA
		  "[0].ports[1]: endPort ends a range; write port too, as a number "
		  "that is not greater" },
		{ "spec: {networkPolicy: {egress: {extra: [{}]}}}",
		  "warning: spec.networkPolicy.egress.extra: plays no part unless egress is "
		  "enabled" },
		{ "spec: {networkPolicy: {egress: {enabled: true, extra: [{}, {}, {}, {}, {}, {}, "
		  "{}, "
		  "{}, {}, {}, {}, {}, {}, {}, {}, {}, {}]}}}",
		  "list-length " EXTRA ": 17 are too many; write at most 16" },
		{ "spec: {networkPolicy: {egress: {enabled: true, extra: [{to: [{podSelector: {}}, "
		  "{podSelector: {}}, {podSelector: {}}, {podSelector: {}}, {podSelector: {}}, "
		  "{podSelector: {}}, {podSelector: {}}, {podSelector: {}}, {podSelector: {}}, "
		  "{podSelector: {}}, {podSelector: {}}, {podSelector: {}}, {podSelector: {}}, "
		  "{podSelector: {}}, {podSelector: {}}, {podSelector: {}}, {podSelector: "
		  "{}}]}]}}}",
		  "list-length " EXTRA "[0].to: 17 are too many; write at most 16" },
		{ "spec: {networkPolicy: {publicFrom: [{namespaceSelector: {}}]}}", "" },
		{ "spec: {networkPolicy: {egress: {enabled: true, extra: [{ports: [{port: 9, "
		  "endPort: "
		  "65536}]}]}}}",
		  "port-range " EXTRA
		  "[0].ports[0]: endPort ends a range; write port too, as a number "
		  "that is not greater" },
		{ "spec: {networkPolicy: {publicFrom: [{ipBlock: {cidr: 10.0.0.0/8, except: [" C4 C4
			  C4 C4 "10.1.0.0/16]}}]}}",
		  "list-length " FROM "[0].ipBlock: 17 are too many; write at most 16" },
		{ "spec: {networkPolicy: {egress: {enabled: true, extra: [{ports: [" P8 P8 P8 P8
		  "{port: 1}]}]}}}",
		  "list-length " EXTRA "[0].ports: 33 are too many; write at most 32" },
	};

	(void)state;
	rules_check(rows, array_len(rows));
}

#define KEY                                                                                        \
	" key of a label; write letters, digits, dots, dashes and underscores, with a DNS name "   \
	"and / in front if you like"
#define VALUES                                                                                     \
	"its operator does not go with its values; write values for In and NotIn, and none for "   \
	"Exists and DoesNotExist"
#define S8 "a, b, c, d, e, f, g, h, "

static void test_exceptions(void **state)
{
	static const struct rules_case rows[] = {
		{ "spec: {networkPolicy: {publicFrom: [{ipBlock: {cidr: '2001:db8::/32', except: "
		  "['2001:db8:1::/48']}}]}}",
		  "" },
		{ "spec: {networkPolicy: {publicFrom: [{ipBlock: {cidr: 10.0.0.0/8, except: "
		  "[11.0.0.0/16, 10.0.0.0/8, '::/96']}}]}}",
		  "cidr-except " FROM
		  "[0].ipBlock: \"11.0.0.0/16\", an exception, is no part of the range; write a "
		  "smaller range inside cidr\n"
		  "cidr-except " FROM
		  "[0].ipBlock: \"10.0.0.0/8\", an exception, is no part of the range; write a "
		  "smaller range inside cidr\n"
		  "cidr-except " FROM
		  "[0].ipBlock: \"::/96\", an exception, is no part of the range; write a smaller "
		  "range inside cidr" },
	};

	(void)state;
	rules_check(rows, array_len(rows));
}

static void test_selectors(void **state)
{
	static const struct rules_case rows[] = {
		{ "spec: {networkPolicy: {publicFrom: [{podSelector: {matchLabels: {app: web, "
		  "example.com/tier: ''}, matchExpressions: [{key: a, operator: In, values: [b]}, "
		  "{key: a, operator: NotIn, values: ['']}, {key: a, operator: Exists}, {key: a, "
		  "operator: DoesNotExist, values: []}]}}]}}",
		  "" },
		{ "spec: {networkPolicy: {publicFrom: [{podSelector: {matchExpressions: [{key: a, "
		  "operator: In}, {key: a, operator: Exists, values: [b]}, {key: a, operator: is}, "
		  "{operator: Exists}, {key: a, operator: In, values: [a b]}, {key: a, operator: "
		  "In, values: [5]}]}}]}}",
		  "selector-values " FROM "[0].podSelector.matchExpressions[0]: " VALUES "\n"
		  "selector-values " FROM "[0].podSelector.matchExpressions[1]: " VALUES "\n"
		  "selector-operator " FROM "[0].podSelector.matchExpressions[2]: its operator is "
		  "unknown; write In, NotIn, Exists or DoesNotExist\n"
		  "selector-key " FROM "[0].podSelector.matchExpressions[3]: its key is no" KEY "\n"
		  "label-value " FROM
		  "[0].podSelector.matchExpressions[4]: one of its values is no "
		  "value of a label; write at most 63 letters, digits, dots, dashes and "
		  "underscores\n"
		  "label-value " FROM
		  "[0].podSelector.matchExpressions[5]: one of its values is no "
		  "value of a label; write at most 63 letters, digits, dots, dashes and "
		  "underscores" },
		{ "spec: {networkPolicy: {publicFrom: [{namespaceSelector: {matchLabels: {a b: c, "
		  "d: e f}}}]}}",
		  "selector-key " FROM "[0].namespaceSelector.matchLabels[a b]: \"a b\" is no" KEY
		  "\n"
		  "label-value " FROM
		  "[0].namespaceSelector.matchLabels[d]: \"e f\" is no value of a label; write at "
		  "most 63 letters, digits, dots, dashes and underscores, the first and the last a "
		  "letter or a digit" },
		{ "spec: {networkPolicy: {egress: {enabled: true, extra: [{to: [{podSelector: "
		  "{matchExpressions: [{key: a, operator: In, values: [" S8 S8 S8 S8 S8 S8 S8 S8
		  "i]}]}}]}]}}}",
		  "list-length " EXTRA
		  "[0].to[0].podSelector.matchExpressions[0]: 65 are too many; "
		  "write at most 64" },
	};

	(void)state;
	rules_check(rows, array_len(rows));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_network_policy),
		cmocka_unit_test(test_exceptions),
		cmocka_unit_test(test_selectors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
