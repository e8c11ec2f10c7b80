#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "test/lib/app_fixture.h"
#include "test/lib/reconcile_fixture.h"

#define SERVICE "/api/v1/namespaces/store/services/shop-celld"
#define REFUSED(what, code, text)                                                                  \
	{                                                                                          \
		.want = (what), .status = (code), .again = true,                                   \
		.body = "{\"reason\":\"Forbidden\",\"message\":\"" text "\"}"                      \
	}

static const struct json *condition(const struct json *body, const char *type)
{
	const struct json *all = json_at_path(body, "status.conditions");

	for (const struct json *c = json_first(all); c; c = json_next(c)) {
		if (str_eq(json_get_str(c, "type"), type))
			return c;
	}
	fail_msg("no condition %s", type);
	return NULL;
}

/* The first status that was written has this condition. */
static void told(struct reconcile_fixture *f, size_t n, const char *type, const char *status,
		 const char *reason, const char *words)
{
	cleanup_json struct json *body =
		reconcile_fixture_body(reconcile_fixture_request(f, RF_STATUS, n));
	const struct json *c = condition(body, type);

	assert_string_equal(json_get_str(c, "status"), status);
	assert_string_equal(json_get_str(c, "reason"), reason);
	if (words)
		assert_non_null(strstr(json_get_str(c, "message"), words));
}

static void a_refused_child_is_told_and_the_others_are_made(void **state)
{
	static const struct script_step steps[] = {
		REFUSED("PATCH " SERVICE "?", 403, "exceeded quota: few"),
		{ .want = RF_STATUS, .body = "{\"metadata\":{}}", .again = true },
		RF_LIST,
		RF_NOT_THERE,
		RF_ANY_WRITE,
		RF_EVENTS,
	};
	struct reconcile_fixture f;
	struct json *j;

	(void)state;
	reconcile_fixture_start(&f, steps, array_len(steps));
	reconcile_fixture_app(&f, "5", NULL);
	assert_false(reconcile(f.r, "store/shop")); /* it comes back after a pause */
	assert_non_null(reconcile_fixture_request(
		&f, "PATCH /apis/networking.k8s.io/v1/namespaces/store/networkpolicies/", 0));
	/* no pods before all that is around them */
	assert_null(reconcile_fixture_request(&f, "PATCH " RF_STATEFULSET, 0));
	told(&f, 0, "Degraded", "True", "ChildRefused", "applying Service shop-celld: ");
	told(&f, 0, "Degraded", "True", "ChildRefused",
	     "exceeded quota: few; raise the ResourceQuota");
	j = reconcile_fixture_body(reconcile_fixture_request(&f, "POST ", 0));
	assert_string_equal(json_get_str(j, "reason"), "ChildRefused");
	assert_string_equal(json_get_str(j, "type"), "Warning");
	json_free(j);
	reconcile_fixture_stop(&f);
}

/* Nobody undoes what was never written. */
static void who_is_refused_again_and_again_is_in_no_fight(void **state)
{
	static const struct script_step steps[] = {
		REFUSED("PATCH " SERVICE "?", 403, "exceeded quota: few"),
		{ .want = RF_STATUS, .body = "{\"metadata\":{}}", .again = true },
		RF_LIST,
		RF_NOT_THERE,
		RF_ANY_WRITE,
		RF_EVENTS,
	};
	struct reconcile_fixture f;

	(void)state;
	reconcile_fixture_start(&f, steps, array_len(steps));
	reconcile_fixture_app(&f, "5", NULL);
	for (int i = 0; i < 8; i++)
		assert_false(reconcile(f.r, "store/shop"));
	assert_non_null(reconcile_fixture_request(&f, "PATCH " SERVICE "?", 7));
	told(&f, 7, "Degraded", "True", "ChildRefused", "exceeded quota");
	reconcile_fixture_stop(&f);
}

static void a_refused_workload_is_told(void **state)
{
	static const struct script_step steps[] = {
		REFUSED("PATCH " RF_STATEFULSET "?", 403, "violates PodSecurity"),
		{ .want = RF_STATUS, .body = "{\"metadata\":{}}" },
		RF_LIST,
		RF_NOT_THERE,
		RF_ANY_WRITE,
		RF_EVENTS,
	};
	struct reconcile_fixture f;

	(void)state;
	reconcile_fixture_start(&f, steps, array_len(steps));
	reconcile_fixture_app(&f, "5", NULL);
	assert_false(reconcile(f.r, "store/shop"));
	told(&f, 0, "Degraded", "True", "ChildRefused", "applying StatefulSet shop-celld: ");
	told(&f, 0, "Ready", "False", "Pending", "not all could be written");
	reconcile_fixture_stop(&f);
}

/* What could not be read does not make the status tell of a fleet without pods. */
static void a_workload_that_cannot_be_read_is_told_as_it_was(void **state)
{
	static const struct script_step steps[] = {
		REFUSED("GET " RF_STATEFULSET, 403, "User \\\"sa\\\" cannot get it"),
		{ .want = RF_STATUS, .body = "{\"metadata\":{}}" },
		RF_ANY_WRITE,
		RF_EVENTS,
	};
	struct reconcile_fixture f;
	struct json *doc, *j;
	int64_t n = 0;

	(void)state;
	reconcile_fixture_start(&f, steps, array_len(steps));
	reconcile_fixture_all(&f);
	doc = app_fixture_doc();
	app_fixture_edit(doc, "metadata.resourceVersion", "'5'");
	app_fixture_edit(doc, "spec.replicas", "5");
	assert_true(cache_put(f.o.cache, CACHE_APP, doc));
	json_free(doc);
	assert_false(reconcile(f.r, "store/shop"));
	told(&f, 0, "Degraded", "True", "ChildRefused", "give the operator's ServiceAccount");
	j = reconcile_fixture_body(reconcile_fixture_request(&f, RF_STATUS, 0));
	assert_true(json_int(json_at_path(j, "status.fleet.ready"), &n));
	assert_int_equal(n, 3);
	json_free(j);
	reconcile_fixture_stop(&f);
}

/* Somebody was faster with one object: the others are made, the status is written, and the turn begins anew. */
static void a_race_ends_nothing(void **state)
{
	static const struct script_step steps[] = {
		{ .want = "PATCH " SERVICE "?",
		  .status = 409,
		  .body = "{\"reason\":\"Conflict\",\"message\":\"m\"}",
		  .again = true },
		{ .want = RF_STATUS, .body = "{\"metadata\":{}}" },
		RF_NOT_THERE,
		RF_ANY_WRITE,
	};
	struct reconcile_fixture f;

	(void)state;
	reconcile_fixture_start(&f, steps, array_len(steps));
	reconcile_fixture_app(&f, "5", NULL);
	assert_false(reconcile(f.r, "store/shop"));
	assert_non_null(reconcile_fixture_request(
		&f, "PATCH /apis/networking.k8s.io/v1/namespaces/store/networkpolicies/", 0));
	assert_null(reconcile_fixture_request(&f, "PATCH " RF_STATEFULSET, 0));
	told(&f, 0, "Degraded", "False", "Pending", NULL);
	reconcile_fixture_stop(&f);
}

static void what_a_former_app_left_is_told(void **state)
{
	static const struct script_step steps[] = {
		{ .want = RF_STATUS, .body = "{\"metadata\":{}}" },
		RF_NOT_THERE,
		RF_ANY_WRITE,
		RF_EVENTS,
	};
	struct reconcile_fixture f;
	cleanup_json struct json *former = app_fixture_json(
		"{'kind':'Service','metadata':{'name':'shop-celld','namespace':'store','uid':'x',"
		"'resourceVersion':'1','ownerReferences':[{'kind':'WorkerApp','name':'shop','uid':"
		"'u-0','controller':true}]}}");

	(void)state;
	reconcile_fixture_start(&f, steps, array_len(steps));
	reconcile_fixture_app(&f, "5", NULL);
	assert_true(cache_put(f.o.cache, CACHE_SERVICE, former));
	assert_false(reconcile(f.r, "store/shop"));
	told(&f, 0, "Degraded", "True", "ChildRefused",
	     "Service shop-celld of the former WorkerApp is still there; the garbage collector");
	reconcile_fixture_stop(&f);
}

/* An API server that is away is no news about the app. */
static void a_busy_server_is_not_told(void **state)
{
	static const struct script_step steps[] = {
		REFUSED("PATCH " SERVICE "?", 503, "busy"),
		RF_NOT_THERE,
		RF_ANY_WRITE,
	};
	struct reconcile_fixture f;

	(void)state;
	reconcile_fixture_start(&f, steps, array_len(steps));
	reconcile_fixture_app(&f, "5", NULL);
	assert_false(reconcile(f.r, "store/shop"));
	assert_null(reconcile_fixture_request(&f, RF_STATUS, 0));
	reconcile_fixture_stop(&f);
}

/* Nor is it asked again before the moment that it names, whatever happens meanwhile. */
static void a_busy_server_is_left_alone(void **state)
{
	static const struct script_step steps[] = {
		{ .want = "PATCH " SERVICE "?",
		  .status = 429,
		  .headers = "Retry-After: 600\r\n",
		  .body = "{\"message\":\"too many\"}" },
		RF_NOT_THERE,
		RF_ANY_WRITE,
	};
	struct reconcile_fixture f;
	struct queue_stats q;
	char *key;

	(void)state;
	reconcile_fixture_start(&f, steps, array_len(steps));
	reconcile_fixture_app(&f, "5", NULL);
	queue_add(f.o.queue, "store/shop");
	key = queue_get(f.o.queue);
	assert_false(reconcile(f.r, key));
	queue_done(f.o.queue, key, true);
	free(key);
	queue_add(f.o.queue, "store/shop");
	queue_stats(f.o.queue, &q);
	assert_int_equal(q.ready, 0);
	assert_int_equal(q.delayed, 1);
	reconcile_fixture_stop(&f);
}

/* The template of a refused version belongs to the same spec as the children: neither moves. */
static void a_refused_version_leaves_the_children_alone(void **state)
{
	static const struct script_step steps[] = {
		{ .want = RF_STATUS, .body = "{\"metadata\":{}}" },
		RF_EVENTS,
	};
	struct reconcile_fixture f;
	struct json *doc, *j;

	(void)state;
	reconcile_fixture_start(&f, steps, array_len(steps));
	reconcile_fixture_all(&f);
	doc = app_fixture_doc();
	app_fixture_edit(doc, "metadata.resourceVersion", "'5'");
	app_fixture_edit(doc, "spec.celld.image", "'ghcr.io/denoland/celld:v0.2.1'");
	app_fixture_edit(doc, "spec.hostnames", "['shop.example.com']");
	app_fixture_edit(doc, "spec.autoscaling",
			 "{'enabled':true,'minReplicas':3,'maxReplicas':5}");
	app_fixture_edit(doc, "status",
			 "{'url':'https://old.example.com/','conditions':[{'type':'IngressReady',"
			 "'status':'True','reason':'RouteObserved','message':'',"
			 "'lastTransitionTime':'2026-01-01T00:00:00Z'}]}");
	assert_true(cache_put(f.o.cache, CACHE_APP, doc));
	json_free(doc);
	assert_true(reconcile(f.r, "store/shop"));
	assert_int_equal(script_count(f.server), 2); /* the status and its Event */
	told(&f, 0, "Degraded", "True", "BlockedDowngrade", NULL);
	/* what was said of the route holds: it is still there; nothing is said of an autoscaler */
	told(&f, 0, "IngressReady", "True", "RouteObserved", NULL);
	j = reconcile_fixture_body(reconcile_fixture_request(&f, RF_STATUS, 0));
	assert_string_equal(json_str(json_at_path(j, "status.url")), "https://old.example.com/");
	for (const struct json *c = json_first(json_at_path(j, "status.conditions")); c;
	     c = json_next(c))
		assert_string_not_equal(json_get_str(c, "type"), "AutoscalingReady");
	json_free(j);
	reconcile_fixture_stop(&f);
}

/* Somebody writes the Service's type back each time. */
static void rewritten(struct reconcile_fixture *f, int version)
{
	cleanup_json struct json *j = cache_get(f->o.cache, CACHE_SERVICE, "store", "shop-celld");
	cleanup(freep) char *text = xasprintf("%d", version);

	json_set_str(json_get_mutable(j, "spec"), "type", "NodePort");
	json_set_str(json_get_mutable(j, "metadata"), "resourceVersion", text);
	assert_true(cache_put(f->o.cache, CACHE_SERVICE, j));
}

static void who_undoes_a_write_for_ever_is_named_and_not_chased(void **state)
{
	static const struct script_step steps[] = {
		{ .want = RF_STATUS, .body = "{\"metadata\":{}}", .again = true },
		{ .want = "PATCH " SERVICE "?", .body = "{\"metadata\":{}}", .again = true },
		{ .want = "GET " SERVICE,
		  .body = "{\"metadata\":{\"managedFields\":[{\"manager\":\"kubectl-edit\","
			  "\"time\":\"2026-01-01T00:00:00Z\"}]}}" },
		{ .want = "PATCH /apis/events.k8s.io/", .body = "{}", .again = true },
		RF_EVENTS,
	};
	struct reconcile_fixture f;
	struct queue_stats q;

	(void)state;
	reconcile_fixture_start(&f, steps, array_len(steps));
	reconcile_fixture_app(&f, "5", NULL);
	reconcile_fixture_all(&f);
	for (int i = 0; i < 40; i++) {
		rewritten(&f, 10 + i);
		assert_true(reconcile(f.r, "store/shop"));
	}
	/* four at once; for the twelfth the pauses alone are minutes */
	assert_non_null(reconcile_fixture_request(&f, "PATCH " SERVICE "?", 3));
	assert_null(reconcile_fixture_request(&f, "PATCH " SERVICE "?", 12));
	told(&f, 0, "Degraded", "False", "Ready", NULL);
	told(&f, 39, "Degraded", "True", "FieldConflict",
	     "Service shop-celld: kubectl-edit undoes");
	assert_null(reconcile_fixture_request(&f, "GET " SERVICE, 1)); /* asked once */
	queue_stats(f.o.queue, &q);
	assert_int_equal(q.delayed, 1); /* it comes back to write again */
	reconcile_fixture_stop(&f);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_refused_child_is_told_and_the_others_are_made),
		cmocka_unit_test(who_is_refused_again_and_again_is_in_no_fight),
		cmocka_unit_test(a_refused_workload_is_told),
		cmocka_unit_test(a_workload_that_cannot_be_read_is_told_as_it_was),
		cmocka_unit_test(a_race_ends_nothing),
		cmocka_unit_test(what_a_former_app_left_is_told),
		cmocka_unit_test(a_busy_server_is_not_told),
		cmocka_unit_test(a_busy_server_is_left_alone),
		cmocka_unit_test(a_refused_version_leaves_the_children_alone),
		cmocka_unit_test(who_undoes_a_write_for_ever_is_named_and_not_chased),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
