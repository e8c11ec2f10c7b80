/* Who reaches a fleet's ports: the rendered policies, judged as Kubernetes and Istio define them. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "controller/desired.h"
#include "test/lib/app_fixture.h"

struct peer {
	const char *ns, *labels, *principal; /* principal "": without mutual TLS */
};

/* --- NetworkPolicy: a connection is let in when a rule of any policy that selects the pod says so --------- */

static bool has_labels(const char *labels, const struct json *selector)
{
	cleanup_json struct json *have = app_fixture_json(labels);
	const struct json *want = json_get(selector, "matchLabels");

	assert_null(json_get(selector, "matchExpressions"));
	for (const struct json *w = json_first(want); w; w = json_next(w)) {
		if (!json_equal(w, json_get(have, json_name(w))))
			return false;
	}
	return true;
}

static bool is_peer(const struct peer *p, const struct json *from, const char *own_ns)
{
	const struct json *space = json_get(from, "namespaceSelector");
	const struct json *pods = json_get(from, "podSelector");
	cleanup(freep) char *of_ns = xasprintf("{'kubernetes.io/metadata.name':'%s'}", p->ns);

	assert_null(json_get(from, "ipBlock"));
	if (space ? !has_labels(of_ns, space) : !str_eq(p->ns, own_ns))
		return false;
	return !pods || has_labels(p->labels, pods);
}

static bool has_port(const struct json *rule, int port)
{
	for (const struct json *p = json_first(json_get(rule, "ports")); p; p = json_next(p)) {
		int64_t n = 0;

		assert_string_equal(json_get_str(p, "protocol"), "TCP");
		if (json_get_int(p, "port", &n) && n == port)
			return true;
	}
	return !json_get(rule, "ports");
}

static bool lets_in(const struct json *policy, const struct peer *p, int port)
{
	const char *ns = json_str(json_path(policy, "metadata", "namespace", NULL));
	const struct json *rules = json_path(policy, "spec", "ingress", NULL);

	for (const struct json *r = json_first(rules); r; r = json_next(r)) {
		const struct json *from = json_get(r, "from");

		if (!has_port(r, port))
			continue;
		if (!json_len(from))
			return true;
		for (const struct json *f = json_first(from); f; f = json_next(f)) {
			if (is_peer(p, f, ns))
				return true;
		}
	}
	return false;
}

/* --- AuthorizationPolicy with action DENY: denied when source and operation of a rule both match ----------- */

static bool holds(const struct json *list, const char *text)
{
	for (const struct json *x = json_first(list); x; x = json_next(x)) {
		if (str_eq(json_str(x), text))
			return true;
	}
	return false;
}

static bool denies(const struct json *policy, const struct peer *p, int port)
{
	cleanup(freep) char *text = xasprintf("%d", port);
	const struct json *rules = json_path(policy, "spec", "rules", NULL);
	const struct json *rule = json_first(rules);
	const struct json *source = json_get(json_first(json_get(rule, "from")), "source");
	const struct json *operation = json_get(json_first(json_get(rule, "to")), "operation");

	assert_string_equal(json_str(json_path(policy, "spec", "action", NULL)), "DENY");
	assert_int_equal(json_len(rules), 1);
	return !holds(json_get(source, "notPrincipals"), p->principal) &&
	       holds(json_get(operation, "ports"), text);
}

/* --- the table --------------------------------------------------------------------------------------------- */

#define FLEET "{'celld-operator.io/workerapp':'shop'}"
#define OTHER "{'celld-operator.io/workerapp':'blog'}"
#define CONTROLLER                                                                                 \
	"{'app.kubernetes.io/name':'celld-operator','app.kubernetes.io/component':'controller'}"
#define WEBHOOK                                                                                    \
	"{'app.kubernetes.io/name':'celld-operator','app.kubernetes.io/component':'webhook'}"
#define OPS	   "celld-operator-system"
#define ID(ns, sa) "cluster.local/ns/" ns "/sa/" sa

enum who {
	MEMBER,
	MEMBER_PLAIN,
	NEIGHBOUR,
	SIDEKICK,
	CONTROLLER_POD,
	CONTROLLER_PLAIN,
	WEBHOOK_POD,
	IMPOSTOR,
	TWIN,
	EDGE,
	STRANGER,
};

static const struct peer peers[] = {
	[MEMBER] = { "store", FLEET, ID("store", "shop-celld") },
	[MEMBER_PLAIN] = { "store", FLEET, "" },
	[NEIGHBOUR] = { "store", OTHER, ID("store", "blog-celld") },
	[SIDEKICK] = { "store", "{}", ID("store", "default") },
	[CONTROLLER_POD] = { OPS, CONTROLLER, ID(OPS, "celld-operator-controller-manager") },
	[CONTROLLER_PLAIN] = { OPS, CONTROLLER, "" },
	[WEBHOOK_POD] = { OPS, WEBHOOK, ID(OPS, "celld-operator-webhook") },
	[IMPOSTOR] = { "evil", CONTROLLER, ID("evil", "celld-operator-controller-manager") },
	[TWIN] = { "evil", FLEET, ID("evil", "shop-celld") },
	[EDGE] = { "infra", "{'app':'gateway'}", ID("infra", "edge") },
	[STRANGER] = { "evil", "{}", "" },
};

static const char *const public_from[] = {
	NULL, /* anyone */
	"[]", /* nobody */
	"[{'namespaceSelector':{'matchLabels':{'kubernetes.io/metadata.name':'infra'}}}]",
};

static const struct {
	enum who who;
	int port, from;
	bool network, mesh; /* let in by the NetworkPolicy; and not denied by the mesh */
} cases[] = {
	/* the internal port: fleet and controller, whatever is said of the public one */
	{ MEMBER, 8081, 0, true, true },
	{ MEMBER_PLAIN, 8081, 0, true, false },
	{ NEIGHBOUR, 8081, 0, false, false },
	{ SIDEKICK, 8081, 0, false, false },
	{ CONTROLLER_POD, 8081, 0, true, true },
	{ CONTROLLER_PLAIN, 8081, 0, true, false },
	{ WEBHOOK_POD, 8081, 0, false, false },
	{ IMPOSTOR, 8081, 0, false, false },
	{ TWIN, 8081, 0, false, false },
	{ EDGE, 8081, 0, false, false },
	{ STRANGER, 8081, 0, false, false },
	{ MEMBER, 8081, 1, true, true },
	{ CONTROLLER_POD, 8081, 1, true, true },
	{ MEMBER, 8081, 2, true, true },
	{ CONTROLLER_POD, 8081, 2, true, true },
	{ EDGE, 8081, 2, false, false },
	/* the public one: as the app says; the mesh never narrows it */
	{ MEMBER, 8080, 0, true, true },
	{ NEIGHBOUR, 8080, 0, true, true },
	{ EDGE, 8080, 0, true, true },
	{ STRANGER, 8080, 0, true, true },
	{ CONTROLLER_POD, 8080, 0, true, true },
	{ MEMBER, 8080, 1, false, true },
	{ EDGE, 8080, 1, false, true },
	{ STRANGER, 8080, 1, false, true },
	{ EDGE, 8080, 2, true, true },
	{ NEIGHBOUR, 8080, 2, false, true },
	{ MEMBER, 8080, 2, false, true },
	{ STRANGER, 8080, 2, false, true },
	{ CONTROLLER_POD, 8080, 2, false, true },
	/* every other port */
	{ MEMBER, 22, 0, false, true },
	{ CONTROLLER_POD, 9090, 0, false, true },
	{ STRANGER, 9090, 0, false, true },
};

static void check(size_t i, const struct desired_flags *flags)
{
	const char *from = public_from[cases[i].from];
	struct app_fixture f =
		app_fixture_with(from ? "spec.networkPolicy.publicFrom" : NULL, from);
	const struct peer *p = &peers[cases[i].who];
	cleanup_json struct json *network = NULL;
	cleanup_json struct json *mesh = NULL;

	f.in.flags = flags;
	network = desired_network_policy(&f.in);
	mesh = desired_authorization_policy(&f.in);
	app_fixture_is(json_path(network, "spec", "podSelector", "matchLabels", NULL), FLEET);
	app_fixture_is(json_path(mesh, "spec", "selector", "matchLabels", NULL), FLEET);
	if (lets_in(network, p, cases[i].port) != cases[i].network)
		fail_msg("case %zu: NetworkPolicy", i);
	if (denies(mesh, p, cases[i].port) == cases[i].mesh)
		fail_msg("case %zu: AuthorizationPolicy", i);
	app_fixture_done(&f);
}

static void each_port_is_open_to_whom_it_should_be(void **state)
{
	struct desired_flags flags;

	(void)state;
	desired_flags_init(&flags);
	assert_true(array_len(cases) >= 30);
	for (size_t i = 0; i < array_len(cases); i++)
		check(i, &flags);
	desired_flags_done(&flags);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_port_is_open_to_whom_it_should_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
