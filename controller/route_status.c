#include "controller/route_status.h"

#include <stdio.h>
#include <string.h>

#include "common/base.h"

static bool same(const struct json *a, const struct json *b, const char *name)
{
	const char *x = json_get_str(a, name), *y = json_get_str(b, name);

	return str_eq(x ? x : "", y ? y : "");
}

static bool same_ref(const struct json *a, const struct json *b, const char *own_ns)
{
	const char *x = json_get_str(a, "namespace"), *y = json_get_str(b, "namespace");

	return same(a, b, "name") && same(a, b, "sectionName") &&
	       str_eq(str_empty(x) ? own_ns : x, str_empty(y) ? own_ns : y);
}

static const struct json *condition(const struct json *parent, const char *type, int64_t generation)
{
	const struct json *c = json_find(json_get(parent, "conditions"), "type", type);
	int64_t seen = generation;

	(void)json_get_int(c, "observedGeneration", &seen);
	return seen >= generation ? c : NULL; /* of an older spec: it says nothing of this one */
}

/* What has to be done, for the reasons that Gateway API defines. */
static const char *remedy(const char *reason)
{
	static const struct {
		const char *reason, *text;
	} rows[] = {
		{ "NotAllowedByListeners",
		  "; let allowedRoutes of its listener admit this namespace" },
		{ "NoMatchingListenerHostname", "; give it a listener for these hostnames" },
		{ "NoMatchingParent", "; there is no such Gateway or listener" },
		{ "RefNotPermitted", "; a ReferenceGrant in the other namespace is needed" },
		{ "BackendNotFound", "; the Service is not there yet" },
	};

	for (size_t i = 0; reason && i < array_len(rows); i++) {
		if (str_eq(reason, rows[i].reason))
			return rows[i].text;
	}
	return "";
}

static void tell(const struct json *ref, const char *own_ns, const char *what, const char *more,
		 char *message, size_t room)
{
	const char *ns = json_get_str(ref, "namespace"), *name = json_get_str(ref, "name");

	(void)snprintf(message, room, "Gateway %s/%s: %s%s", str_empty(ns) ? own_ns : ns,
		       name ? name : "", what, more);
}

/* What one Gateway's implementation says. */
static enum route_verdict judge(const struct json *parent, const struct json *ref,
				int64_t generation, const char *own_ns, char *message, size_t room)
{
	static const char *const types[] = { "Accepted", "ResolvedRefs" };

	for (size_t i = 0; i < array_len(types); i++) {
		const struct json *c = condition(parent, types[i], generation);
		const char *status = json_get_str(c, "status"), *reason = json_get_str(c, "reason");
		cleanup(freep) char *what = NULL;

		if (!status || str_eq(status, "Unknown")) {
			tell(ref, own_ns, "has not judged the route yet", "", message, room);
			return ROUTE_UNSEEN;
		}
		if (str_eq(status, "True"))
			continue;
		what = xasprintf("%s is False: %s", types[i], reason ? reason : "no reason");
		tell(ref, own_ns, what, remedy(reason), message, room);
		return ROUTE_REFUSED;
	}
	return ROUTE_OBSERVED;
}

static enum route_verdict of_ref(const struct json *route, const struct json *ref, char *message,
				 size_t room)
{
	const struct json *parents = json_path(route, "status", "parents", NULL);
	const struct json *meta = json_get(route, "metadata");
	const char *ns = json_get_str(meta, "namespace");
	enum route_verdict best = ROUTE_UNSEEN;
	bool any = false;
	int64_t generation = 0;

	(void)json_get_int(meta, "generation", &generation);
	ns = ns ? ns : "";
	tell(ref, ns, "has not judged the route yet", "", message, room);
	for (const struct json *p = json_first(parents); p; p = json_next(p)) {
		enum route_verdict v;

		if (!same_ref(json_get(p, "parentRef"), ref, ns))
			continue;
		v = judge(p, ref, generation, ns, message, room);
		if (v == ROUTE_OBSERVED)
			return v; /* one implementation serves it */
		if (!any || v == ROUTE_REFUSED)
			best = v;
		any = true;
	}
	return best;
}

enum route_verdict route_status_of(const struct json *route, char *message, size_t room)
{
	const struct json *refs = json_path(route, "spec", "parentRefs", NULL);
	enum route_verdict worst = ROUTE_OBSERVED;

	for (const struct json *r = json_first(refs); r && worst != ROUTE_REFUSED;
	     r = json_next(r)) {
		char text[512] = "";
		enum route_verdict v = of_ref(route, r, text, sizeof(text));

		if (v == ROUTE_OBSERVED || v < worst)
			continue;
		worst = v;
		(void)snprintf(message, room, "%s", text);
	}
	if (worst == ROUTE_OBSERVED && room)
		message[0] = '\0';
	return worst;
}
