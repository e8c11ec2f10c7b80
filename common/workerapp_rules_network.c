/* Rules of networkPolicy. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/syntax.h"
#include "common/workerapp_judge.h"

enum { PEERS = 32, RULES = 16, EXCEPTIONS = 16, PORTS = 32, SELECTOR = 64 };

static bool is_one_of(const char *s, const char *const *values)
{
	for (; *values; values++) {
		if (str_eq(s, *values))
			return true;
	}
	return false;
}

static const char *text_of(const struct json *j, const char *name)
{
	const char *s = json_get_str(j, name);

	return s ? s : "";
}

static void cidr(const struct judge *j, const struct json *c, const char *at)
{
	const char *s = text_of(c, "cidr");
	const struct json *except = json_get(c, "except");
	struct fault_value shown;
	size_t i = 0;

	if (!syntax_cidr(s))
		fault_add(j->faults, "cidr", at, s,
			  "%s is no range of addresses; write one such as 10.0.0.0/8 or "
			  "2001:db8::/64",
			  fault_value(&shown, s));
	judge_length(j, at, json_len(except), EXCEPTIONS);
	for (const struct json *x = json_first(except); x && i < EXCEPTIONS;
	     x = json_next(x), i++) {
		const char *part = json_str(x) ? json_str(x) : "";

		if (!syntax_cidr(part))
			fault_add(j->faults, "cidr", at, part,
				  "%s, an exception, is no range of addresses; write one such as "
				  "10.1.0.0/16",
				  fault_value(&shown, part));
		else if (syntax_cidr(s) && !syntax_cidr_holds(s, part))
			fault_add(j->faults, "cidr-except", at, part,
				  "%s, an exception, is no part of the range; write a smaller "
				  "range inside cidr",
				  fault_value(&shown, part));
	}
}

/* --- selectors --- */

static void expression(const struct judge *j, const struct json *x, const char *at)
{
	static const char *const operators[] = { "In", "NotIn", "Exists", "DoesNotExist", NULL };
	static const char *const listing[] = { "In", "NotIn", NULL };
	const char *op = text_of(x, "operator"), *key = text_of(x, "key");
	const struct json *listed = json_get(x, "values");
	cleanup(freep) char *values = json_text_sorted(x);

	if (!syntax_key(key))
		fault_add(j->faults, "selector-key", at, values,
			  "its key is no key of a label; write letters, digits, dots, dashes and "
			  "underscores, with a DNS name and / in front if you like");
	if (!is_one_of(op, operators))
		fault_add(j->faults, "selector-operator", at, values,
			  "its operator is unknown; write In, NotIn, Exists or DoesNotExist");
	else if (is_one_of(op, listing) != (json_len(listed) > 0))
		fault_add(j->faults, "selector-values", at, values,
			  "its operator does not go with its values; write values for In and "
			  "NotIn, and none for Exists and DoesNotExist");
	judge_length(j, at, json_len(listed), SELECTOR);
	for (const struct json *v = json_first(listed); v; v = json_next(v)) {
		if (!json_str(v) || !syntax_label_value(json_str(v))) {
			fault_add(j->faults, "label-value", at, values,
				  "one of its values is no value of a label; write at most 63 "
				  "letters, digits, dots, dashes and underscores");
			return;
		}
	}
}

static void labels(const struct judge *j, const struct json *m, const char *at)
{
	size_t i = 0;

	judge_length(j, at, json_len(m), SELECTOR);
	for (const struct json *c = json_first(m); c && i < SELECTOR; c = json_next(c), i++) {
		cleanup(freep) char *path = xasprintf("%s[%.128s]", at, json_name(c));
		const char *value = json_str(c);
		struct fault_value shown;

		if (!syntax_key(json_name(c)))
			fault_add(j->faults, "selector-key", path, json_name(c),
				  "%s is no key of a label; write letters, digits, dots, dashes "
				  "and underscores, with a DNS name and / in front if you like",
				  fault_value(&shown, json_name(c)));
		if (!value || !syntax_label_value(value))
			fault_add(j->faults, "label-value", path, value ? value : "",
				  "%s is no value of a label; write at most 63 letters, digits, "
				  "dots, dashes and underscores, the first and the last a letter "
				  "or a digit",
				  fault_value(&shown, value));
	}
}

static void selector(const struct judge *j, const struct json *peer, const char *at,
		     const char *name)
{
	const struct json *s = json_get(peer, name), *l = json_get(s, "matchExpressions");
	cleanup(freep) char *keys = xasprintf("%s.%s.matchLabels", at, name);
	cleanup(freep) char *path = xasprintf("%s.%s.matchExpressions", at, name);
	size_t i = 0;

	labels(j, json_get(s, "matchLabels"), keys);
	judge_length(j, path, json_len(l), SELECTOR);
	for (const struct json *x = json_first(l); x && i < SELECTOR; x = json_next(x), i++) {
		cleanup(freep) char *one = xasprintf("%s[%zu]", path, i);

		expression(j, x, one);
	}
}

/* A peer of a NetworkPolicy: addresses, or pods. */
static void peer(const struct judge *j, const struct json *p, const char *at)
{
	const struct json *block = json_get(p, "ipBlock");
	bool addresses = json_kind(block) == JSON_OBJECT;
	bool pods = json_kind(json_get(p, "podSelector")) == JSON_OBJECT ||
		    json_kind(json_get(p, "namespaceSelector")) == JSON_OBJECT;
	cleanup(freep) char *path = xasprintf("%s.ipBlock", at), *values = json_text_sorted(p);

	if (json_kind(p) != JSON_OBJECT)
		return;
	if (addresses == pods)
		fault_add(j->faults, "peer", at, values,
			  "a peer is either addresses or pods; write ipBlock alone, or podSelector "
			  "and "
			  "namespaceSelector or one of them");
	if (addresses)
		cidr(j, block, path);
	selector(j, p, at, "podSelector");
	selector(j, p, at, "namespaceSelector");
}

static void peers(const struct judge *j, const struct json *l, const char *at, size_t max)
{
	size_t i = 0;

	judge_length(j, at, json_len(l), max);
	for (const struct json *c = json_first(l); c && i < max; c = json_next(c), i++) {
		cleanup(freep) char *path = xasprintf("%s[%zu]", at, i);

		peer(j, c, path);
	}
}

static void port(const struct judge *j, const struct json *p, const char *at)
{
	static const char *const protocols[] = { "", "TCP", "UDP", "SCTP", NULL };
	const struct json *number = json_get(p, "port");
	cleanup(freep) char *values = json_text_sorted(p);
	int64_t first = 0, last = 0;
	bool numeric = json_int(number, &first), range = json_get_int(p, "endPort", &last);

	if (!is_one_of(text_of(p, "protocol"), protocols))
		fault_add(j->faults, "port-protocol", at, values,
			  "its protocol is unknown; write TCP, UDP or SCTP");
	if ((numeric && (first < 1 || first > 65535)) ||
	    (json_str(number) && !syntax_word(json_str(number), 1, 15, "-")))
		fault_add(j->faults, "port-number", at, values,
			  "its port is none; write a number from 1 to 65535, or a port's name");
	if (range && (!numeric || last < first || last > 65535))
		fault_add(j->faults, "port-range", at, values,
			  "endPort ends a range; write port too, as a number that is not greater");
}

static void egress_rule(const struct judge *j, const struct json *rule, const char *at)
{
	cleanup(freep) char *to = xasprintf("%s.to", at), *ports = xasprintf("%s.ports", at);
	const struct json *l = json_get(rule, "ports");
	size_t i = 0;

	peers(j, json_get(rule, "to"), to, RULES);
	judge_length(j, ports, json_len(l), PORTS);
	for (const struct json *c = json_first(l); c && i < PORTS; c = json_next(c), i++) {
		cleanup(freep) char *path = xasprintf("%s[%zu]", ports, i);

		port(j, c, path);
	}
}

static void egress(const struct judge *j)
{
	const struct json *l = j->app->network_policy.egress_extra;
	size_t i = 0;

	judge_length(j, "spec.networkPolicy.egress.extra", json_len(l), RULES);
	for (const struct json *c = json_first(l); c && i < RULES; c = json_next(c), i++) {
		cleanup(freep) char *path = xasprintf("spec.networkPolicy.egress.extra[%zu]", i);

		egress_rule(j, c, path);
	}
	if (json_len(l) > 0 && !j->app->network_policy.egress)
		judge_warn(j, "spec.networkPolicy.egress.extra: plays no part unless egress is "
			      "enabled");
}

void workerapp_rules_network(const struct judge *j)
{
	const struct json *from = j->app->network_policy.public_from;

	if (from && json_len(from) == 0)
		fault_add(j->faults, "public-from-empty", "spec.networkPolicy.publicFrom", "",
			  "an empty list can be read as anyone and as nobody; leave it out for "
			  "anyone, or write who may come");
	peers(j, from, "spec.networkPolicy.publicFrom", PEERS);
	egress(j);
}
