/* Rules of scheduling, labels and annotations. */
#include <stdio.h>
#include <string.h>

#include "common/syntax.h"
#include "common/workerapp_judge.h"

enum { MAP_MAX = 64, TOLERATIONS = 64 };

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

void workerapp_rules_placing(const struct judge *j)
{
	const struct workerapp *app = j->app;

	scheduling(j);
	map(j, app->pod_labels, "spec.podLabels", true, is_own_label);
	map(j, app->pod_annotations, "spec.podAnnotations", false, is_own_annotation);
	map(j, app->service.annotations, "spec.service.annotations", false, NULL);
	map(j, app->ingress.annotations, "spec.ingress.annotations", false, NULL);
}
