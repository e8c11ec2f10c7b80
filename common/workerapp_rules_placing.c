/* Rules of scheduling, labels and annotations, and networkPolicy. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/syntax.h"
#include "common/workerapp_judge.h"

enum { MAP_MAX = 64, TOLERATIONS = 64, PEERS = 32, RULES = 16, EXCEPTIONS = 16, PORTS = 32 };

static const char own_prefix[] = "celld-operator.io/";

/* --- labels and annotations --- */

static const char *const own_labels[] = {
	"app.kubernetes.io/name",
	"app.kubernetes.io/instance",
	"app.kubernetes.io/managed-by",
	"app.kubernetes.io/component",
	"azure.workload.identity/use",
	"controller-revision-hash",
	"statefulset.kubernetes.io/pod-name",
	"apps.kubernetes.io/pod-index",
};

static bool is_own_label(const char *key)
{
	for (size_t i = 0; i < array_len(own_labels); i++) {
		if (str_eq(key, own_labels[i]))
			return true;
	}
	return str_starts(key, own_prefix);
}

static bool is_own_annotation(const char *key)
{
	return str_starts(key, own_prefix);
}

/* Keys of a map; values too where they are labels. own: keys that are not for users, or NULL. */
static void map(const struct judge *j, const struct json *m, const char *at, bool labels,
		bool (*own)(const char *key))
{
	size_t i = 0;

	judge_length(j, at, json_len(m), MAP_MAX);
	for (const struct json *c = json_first(m); c && i < MAP_MAX; c = json_next(c), i++) {
		const char *key = json_name(c), *value = labels ? json_str(c) : NULL;
		bool is_own = own && own(key), bad_value = value && !syntax_label_value(value);
		cleanup(freep) char *path = NULL;
		struct fault_value shown;

		if (!is_own && !bad_value && syntax_key(key))
			continue;
		path = xasprintf("%s[%.128s]", at, key);
		if (is_own)
			fault_add(j->faults, "key-owned", path, key,
				  "%s is set by the operator or by Kubernetes; write a key of your "
				  "own",
				  fault_value(&shown, key));
		else if (!syntax_key(key))
			fault_add(j->faults, "key-syntax", path, key,
				  "%s is no key; write letters, digits, dots, dashes and "
				  "underscores, "
				  "with a DNS name and / in front if you like",
				  fault_value(&shown, key));
		if (bad_value)
			fault_add(j->faults, "label-value", path, value,
				  "%s is no value of a label; write at most 63 letters, digits, "
				  "dots, "
				  "dashes and underscores, the first and the last a letter or a "
				  "digit",
				  fault_value(&shown, value));
	}
}

/* --- scheduling --- */

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

static void toleration(const struct judge *j, const struct json *t, const char *at)
{
	static const char *const operators[] = { "", "Equal", "Exists", NULL };
	static const char *const effects[] = { "", "NoSchedule", "PreferNoSchedule", "NoExecute",
					       NULL };
	const char *op = text_of(t, "operator"), *effect = text_of(t, "effect");
	cleanup(freep) char *values = json_text_sorted(t);

	if (!is_one_of(op, operators))
		fault_add(j->faults, "toleration-operator", at, values,
			  "its operator is unknown; write Equal or Exists");
	if (!is_one_of(effect, effects))
		fault_add(j->faults, "toleration-effect", at, values,
			  "its effect is unknown; write NoSchedule, PreferNoSchedule or NoExecute");
	if (str_eq(op, "Exists") && *text_of(t, "value"))
		fault_add(
			j->faults, "toleration-value", at, values,
			"operator Exists takes no value; leave value out, or write operator Equal");
	if (!str_eq(op, "Exists") && !*text_of(t, "key"))
		fault_add(j->faults, "toleration-key", at, values,
			  "without a key it is for every taint; write operator Exists, or the key");
	if (json_kind(json_get(t, "tolerationSeconds")) == JSON_NUMBER &&
	    !str_eq(effect, "NoExecute"))
		fault_add(
			j->faults, "toleration-seconds", at, values,
			"tolerationSeconds delays an eviction; write effect NoExecute, or leave it "
			"out");
}

static void scheduling(const struct judge *j)
{
	const struct json *l = j->app->scheduling.tolerations;
	size_t i = 0;

	map(j, j->app->scheduling.node_selector, "spec.scheduling.nodeSelector", true, NULL);
	judge_object_name(j, "spec.scheduling.priorityClassName", j->app->scheduling.priority_class,
			  "PriorityClass");
	judge_length(j, "spec.scheduling.tolerations", json_len(l), TOLERATIONS);
	for (const struct json *c = json_first(l); c && i < TOLERATIONS; c = json_next(c), i++) {
		cleanup(freep) char *path = xasprintf("spec.scheduling.tolerations[%zu]", i);

		if (json_kind(c) == JSON_OBJECT)
			toleration(j, c, path);
	}
}

/* --- networkPolicy --- */

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
		s = json_str(x) ? json_str(x) : "";
		if (!syntax_cidr(s))
			fault_add(j->faults, "cidr", at, s,
				  "%s, an exception, is no range of addresses; write one such as "
				  "10.1.0.0/16",
				  fault_value(&shown, s));
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

void workerapp_rules_placing(const struct judge *j)
{
	const struct workerapp *app = j->app;
	const struct json *from = app->network_policy.public_from;

	scheduling(j);
	map(j, app->pod_labels, "spec.podLabels", true, is_own_label);
	map(j, app->pod_annotations, "spec.podAnnotations", false, is_own_annotation);
	map(j, app->service.annotations, "spec.service.annotations", false, NULL);
	map(j, app->ingress.annotations, "spec.ingress.annotations", false, NULL);
	if (from && json_len(from) == 0)
		fault_add(j->faults, "public-from-empty", "spec.networkPolicy.publicFrom", "",
			  "an empty list can be read as anyone and as nobody; leave it out for "
			  "anyone, "
			  "or write who may come");
	peers(j, from, "spec.networkPolicy.publicFrom", PEERS);
	egress(j);
}
