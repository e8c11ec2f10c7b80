#include "controller/compare.h"

#include <string.h>

/* One of these names, which end with a NULL. */
static bool is_among(const char *const *names, const char *name)
{
	for (; name && *names; names++) {
		if (str_eq(*names, name))
			return true;
	}
	return false;
}

static bool is_merged(const char *list)
{
	static const char *const merged[] = {
		"containers",	    "initContainers",  "env",	     "volumes", "volumeMounts",
		"imagePullSecrets", "ownerReferences", "finalizers", NULL
	};

	return is_among(merged, list);
}

/* The server fills nothing in here: what more there is changes what is meant. */
static bool is_whole(const char *name)
{
	static const char *const whole[] = { "selector", "podSelector", "namespaceSelector",
					     "matchLabels", NULL };

	return is_among(whole, name);
}

/*
 * Members of an element of a list that is ours as a whole which we leave out at times and no server fills in.
 * managedFields end at such a list, so that they do not tell that one is no longer rendered.
 */
static bool is_left_out(const char *name)
{
	static const char *const names[] = { /* NetworkPolicy */
					     "from", "to", "ports", "endPort", "except", "ipBlock",
					     "podSelector", "namespaceSelector", "matchLabels",
					     "matchExpressions", "values",
					     /* HTTPRoute */
					     "filters", "timeouts", "retry", "sectionName",
					     /* VirtualService */
					     "rewrite", NULL
	};

	return is_among(names, name);
}

static bool covers(const struct json *want, const struct json *live, bool in_element);

static bool has_left_out(const struct json *want, const struct json *live)
{
	for (const struct json *l = json_first(live); l; l = json_next(l)) {
		if (is_left_out(json_name(l)) && !json_get(want, json_name(l)))
			return true;
	}
	return false;
}

static bool members_covered(const struct json *want, const struct json *live, bool in_element)
{
	if (in_element && has_left_out(want, live))
		return false;
	if (is_whole(json_name(want)) && json_len(want) != json_len(live))
		return false;
	for (const struct json *w = json_first(want); w; w = json_next(w)) {
		if (!covers(w, json_get(live, json_name(w)), in_element))
			return false;
	}
	return true;
}

/* Elements in order; others may stand between them when the list is a merged one. */
static bool elements_covered(const struct json *want, const struct json *live, bool merged)
{
	const struct json *l = json_first(live);

	if (!merged && json_len(want) != json_len(live))
		return false;
	for (const struct json *w = json_first(want); w; w = json_next(w)) {
		while (l && merged && !covers(w, l, false))
			l = json_next(l);
		if (!l || !covers(w, l, !merged))
			return false;
		l = json_next(l);
	}
	return true;
}

static bool covers(const struct json *want, const struct json *live, bool in_element)
{
	switch (json_kind(want)) {
	case JSON_OBJECT:
		/* the server may leave out an object that became empty */
		if (!live)
			return json_len(want) == 0;
		return json_kind(live) == JSON_OBJECT && members_covered(want, live, in_element);
	case JSON_ARRAY:
		if (!live)
			return json_len(want) == 0;
		return json_kind(live) == JSON_ARRAY &&
		       elements_covered(want, live, is_merged(json_name(want)));
	case JSON_ABSENT:
	case JSON_NULL:
	case JSON_BOOL:
	case JSON_NUMBER:
	case JSON_STRING:
		return json_equal(want, live);
	}
	return false;
}

bool compare_covers(const struct json *want, const struct json *live)
{
	return covers(want, live, false);
}

/*
 * fieldsV1 names an element by some of its members: does e agree, as far as it has them? (The server defaults the
 * rest.)
 */
static bool has_key(const struct json *e, const struct json *key)
{
	for (const struct json *k = json_first(key); k; k = json_next(k)) {
		const struct json *v = json_get(e, json_name(k));

		if (v && !json_equal(v, k))
			return false;
	}
	return json_kind(e) == JSON_OBJECT;
}

/* The element of want that a path element "k:{...}" or "v:..." of fieldsV1 means; NULL: none. */
static const struct json *element(const struct json *want, const char *path)
{
	cleanup_json struct json *key = NULL;
	struct err ignored = ERR_INIT;
	bool by_key = str_starts(path, "k:");

	if (json_kind(want) != JSON_ARRAY || json_parse(path + 2, strlen(path + 2), &key, &ignored))
		return NULL;
	for (const struct json *e = json_first(want); e; e = json_next(e)) {
		if (by_key ? has_key(e, key) : json_equal(e, key))
			return e;
	}
	return NULL;
}

static bool owns_more(const struct json *fields, const struct json *want)
{
	for (const struct json *f = json_first(fields); f; f = json_next(f)) {
		const char *path = json_name(f);
		const struct json *w;

		if (str_eq(path, "."))
			continue;
		w = str_starts(path, "f:") ? json_get(want, path + 2) : element(want, path);
		if (!w || owns_more(f, w))
			return true;
	}
	return false;
}

static bool owns_all(const struct json *fields, const struct json *want);

/* The entry of fields that means this element; NULL: none. */
static const struct json *entry_for(const struct json *fields, const struct json *want,
				    const struct json *e)
{
	for (const struct json *f = json_first(fields); f; f = json_next(f)) {
		if (!str_eq(json_name(f), ".") && !str_starts(json_name(f), "f:") &&
		    element(want, json_name(f)) == e)
			return f;
	}
	return NULL;
}

/* Nothing below it: the value is owned as a whole. */
static bool owned_below(const struct json *fields, const struct json *want)
{
	return fields && (!json_len(fields) || owns_all(fields, want));
}

static bool owns_all(const struct json *fields, const struct json *want)
{
	bool list = json_kind(want) == JSON_ARRAY;

	for (const struct json *w = json_first(want); w; w = json_next(w)) {
		cleanup(freep) char *path = list ? NULL : xasprintf("f:%s", json_name(w));
		bool empty =
			(json_kind(w) == JSON_OBJECT || json_kind(w) == JSON_ARRAY) && !json_len(w);

		if (!empty &&
		    !owned_below(list ? entry_for(fields, want, w) : json_get(fields, path), w))
			return false;
	}
	return true;
}

static bool is_entry(const struct json *entry, const char *manager, bool apply_only)
{
	const char *who = json_get_str(entry, "manager"), *how = json_get_str(entry, "operation");
	const char *part = json_get_str(entry, "subresource");

	if (!who || !str_eq(who, manager))
		return false;
	return !apply_only || (how && str_eq(how, "Apply") && str_empty(part));
}

static const struct json *entry_of(const struct json *live, const char *manager, bool apply_only)
{
	const struct json *all = json_path(live, "metadata", "managedFields", NULL);

	for (const struct json *m = json_first(all); m; m = json_next(m)) {
		if (is_entry(m, manager, apply_only))
			return m;
	}
	return NULL;
}

bool compare_managed_by(const struct json *live, const char *manager)
{
	return entry_of(live, manager, false) != NULL;
}

bool compare_applied_by(const struct json *live, const char *manager)
{
	return entry_of(live, manager, true) != NULL;
}

bool compare_owns_more(const struct json *want, const struct json *live, const char *manager)
{
	const struct json *entry = entry_of(live, manager, true);

	return entry && owns_more(json_get(entry, "fieldsV1"), want);
}

/* Of these the server keeps no account. */
static bool has_no_owner(const char *name)
{
	static const char *const names[] = { "apiVersion", "kind", "metadata", NULL };

	return is_among(names, name);
}

bool compare_lost(const struct json *want, const struct json *live, const char *manager)
{
	static const char *const of_metadata[] = { "labels", "annotations", "ownerReferences" };
	const struct json *fields = json_get(entry_of(live, manager, true), "fieldsV1");

	for (const struct json *w = json_first(want); fields && w; w = json_next(w)) {
		cleanup(freep) char *path = xasprintf("f:%s", json_name(w));

		if (!has_no_owner(json_name(w)) && !owned_below(json_get(fields, path), w))
			return true;
	}
	for (size_t i = 0; fields && i < array_len(of_metadata); i++) {
		const struct json *w = json_path(want, "metadata", of_metadata[i], NULL);
		cleanup(freep) char *path = xasprintf("f:%s", of_metadata[i]);

		if (json_len(w) && !owned_below(json_path(fields, "f:metadata", path, NULL), w))
			return true;
	}
	return false;
}

bool compare_owns(const struct json *live, const char *manager, const char *annotation)
{
	cleanup(freep) char *path = xasprintf("f:%s", annotation);

	return json_path(entry_of(live, manager, true), "fieldsV1", "f:metadata", "f:annotations",
			 path, NULL) != NULL;
}

static struct json *owned(const struct json *fields, const struct json *live);

/* A leaf has no fields below it, or only ".": then the whole live value is meant. */
static bool is_leaf(const struct json *fields)
{
	for (const struct json *f = json_first(fields); f; f = json_next(f)) {
		if (!str_eq(json_name(f), "."))
			return false;
	}
	return true;
}

/* In the order of the live list: another order of env would be another revision. */
static struct json *owned_elements(const struct json *fields, const struct json *live)
{
	struct json *to = json_new_array();

	for (const struct json *e = json_first(live); e; e = json_next(e)) {
		for (const struct json *f = json_first(fields); f; f = json_next(f)) {
			if (str_eq(json_name(f), ".") || element(live, json_name(f)) != e)
				continue;
			json_add(to, str_starts(json_name(f), "v:") ? json_dup(e) : owned(f, e));
			break;
		}
	}
	return to;
}

static struct json *owned(const struct json *fields, const struct json *live)
{
	struct json *to;

	if (is_leaf(fields))
		return json_dup(live);
	if (json_kind(live) == JSON_ARRAY)
		return owned_elements(fields, live);
	to = json_new_object();
	for (const struct json *f = json_first(fields); f; f = json_next(f)) {
		const char *path = json_name(f);

		if (str_starts(path, "f:") && json_get(live, path + 2))
			json_set(to, path + 2, owned(f, json_get(live, path + 2)));
	}
	return to;
}

struct json *compare_owned(const struct json *live, const char *manager)
{
	const struct json *entry = entry_of(live, manager, true);
	const struct json *meta = json_get(live, "metadata");
	struct json *to, *m;

	if (!entry)
		return NULL;
	to = owned(json_get(entry, "fieldsV1"), live);
	json_set_str(to, "apiVersion", json_get_str(live, "apiVersion"));
	json_set_str(to, "kind", json_get_str(live, "kind"));
	m = json_object_at(to, "metadata");
	json_set_str(m, "name", json_get_str(meta, "name"));
	json_set_str(m, "namespace", json_get_str(meta, "namespace"));
	return to;
}

bool compare_differs(const struct json *want, const struct json *live, const char *manager)
{
	return !compare_covers(want, live) || compare_owns_more(want, live, manager) ||
	       compare_lost(want, live, manager);
}
