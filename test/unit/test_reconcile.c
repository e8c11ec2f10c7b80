#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "common/kube/event.h"
#include "controller/slots.h"
#include "test/lib/app_fixture.h"
#include "test/lib/reconcile_fixture.h"

static void a_new_app_gets_its_objects_and_then_its_fleet(void **state)
{
	static const struct script_step steps[] = { RF_ANY_WRITE, RF_EVENTS };
	static const char *const order[] = {
		"PATCH /api/v1/namespaces/store/serviceaccounts/shop-celld?",
		"PATCH /api/v1/namespaces/store/services/shop-celld?",
		"PATCH /api/v1/namespaces/store/services/shop-celld-internal?",
		"PATCH /apis/policy/v1/namespaces/store/poddisruptionbudgets/shop-celld?",
		"PATCH /apis/networking.k8s.io/v1/namespaces/store/networkpolicies/shop-celld?",
		("PATCH " RF_STATEFULSET "?"),
	};
	struct reconcile_fixture f;
	struct queue_stats q;
	struct json *j;
	size_t next = 0;
	int64_t n = 0;

	(void)state;
	reconcile_fixture_start(&f, steps, array_len(steps));
	reconcile_fixture_app(&f, "5", NULL);
	assert_true(reconcile(f.r, "store/shop"));
	for (size_t i = 0; i < script_count(f.server); i++)
		next += next < array_len(order) &&
			str_starts(script_request(f.server, i)->line, order[next]);
	assert_int_equal(next, array_len(order));
	j = reconcile_fixture_body(reconcile_fixture_request(&f, "PATCH " RF_STATEFULSET, 0));
	assert_true(json_int(json_at_path(j, "spec.replicas"), &n));
	assert_int_equal(n, 3);
	/* nothing was read for it, and so it may only make one */
	assert_null(reconcile_fixture_request(&f, "GET ", 0));
	assert_string_equal(json_str(json_at_path(j, "metadata.resourceVersion")), "1");
	json_free(j);
	/* the status tells what became of it, in a turn of its own */
	assert_null(reconcile_fixture_request(&f, RF_STATUS, 0));
	queue_stats(f.o.queue, &q);
	assert_int_equal(q.ready, 1);
	assert_non_null(reconcile_fixture_request(
		&f, "POST /apis/events.k8s.io/v1/namespaces/store/events", 0));
	reconcile_fixture_stop(&f);
}

/* A fleet of which everything is there, after its first turn: the status that was written then. The caller's. */
static struct json *first_status(struct reconcile_fixture *f)
{
	static const struct script_step steps[] = { { .want = RF_STATUS,
						      .body = "{\"metadata\":{}}" } };

	reconcile_fixture_start(f, steps, array_len(steps));
	reconcile_fixture_app(f, "5", NULL);
	reconcile_fixture_all(f);
	assert_true(reconcile(f->r, "store/shop"));
	return reconcile_fixture_body(reconcile_fixture_request(f, RF_STATUS, 0));
}

static void events_that_could_not_be_sent_bring_the_key_back(void **state)
{
	static const struct event_about about = { .api_version = "v1",
						  .kind = "Pod",
						  .namespace = "store",
						  .name = "shop-celld-0",
						  .uid = "p-0" };
	struct reconcile_fixture f;
	struct queue_stats q;
	struct json *j;

	(void)state;
	j = first_status(&f);
	reconcile_fixture_app(&f, "6", json_take(j, "status"));
	json_free(j);
	f.allowed_ms = 0; /* no request finds a way out */
	event_emit(f.o.events, &about, false, "One", "Say", "one");
	assert_true(reconcile(f.r, "store/shop"));
	queue_stats(f.o.queue, &q);
	assert_int_equal(q.delayed, 0);
	event_emit(f.o.events, &about, false, "Two", "Say", "two");
	event_emit(f.o.events, &about, false, "Three", "Say", "three");
	assert_true(reconcile(f.r, "store/shop"));
	queue_stats(f.o.queue, &q);
	assert_int_equal(q.delayed, 1);
	reconcile_fixture_stop(&f);
}

static void a_quiet_fleet_is_written_once_and_never_again(void **state)
{
	struct reconcile_fixture f;
	struct json *j;

	(void)state;
	j = first_status(&f);
	assert_int_equal(script_count(f.server), 1);
	assert_string_equal(json_str(json_at_path(j, "status.phase")), "Ready");
	assert_string_equal(json_str(json_at_path(j, "metadata.resourceVersion")), "5");
	assert_string_equal(json_str(json_at_path(j, "metadata.uid")), "u-1");
	/* once the watch has told of it there is nothing left to say */
	reconcile_fixture_app(&f, "6", json_take(j, "status"));
	json_free(j);
	for (int i = 0; i < 3; i++)
		assert_true(reconcile(f.r, "store/shop"));
	assert_int_equal(script_count(f.server), 1);
	reconcile_fixture_stop(&f);
}

/* Another process has written in between: the turn fails, and the key comes back. */
static void a_conflict_is_looked_at_again(void **state)
{
	static const struct script_step steps[] = {
		RF_LIST,
		RF_NOT_THERE,
		{ .want = "PATCH " RF_STATEFULSET,
		  .status = 409,
		  .body = "{\"reason\":\"Conflict\",\"message\":\"m\"}" },
		RF_ANY_WRITE,
		RF_EVENTS,
	};
	struct reconcile_fixture f;

	(void)state;
	reconcile_fixture_start(&f, steps, array_len(steps));
	reconcile_fixture_app(&f, "5", NULL);
	assert_false(reconcile(f.r, "store/shop"));
	assert_null(reconcile_fixture_request(&f, RF_STATUS, 0));
	assert_null(reconcile_fixture_request(&f, "GET ", 0));
	assert_true(reconcile(f.r, "store/shop"));
	assert_non_null(reconcile_fixture_request(&f, "GET " RF_STATEFULSET, 0));
	assert_non_null(reconcile_fixture_request(&f, "PATCH " RF_STATEFULSET, 1));
	reconcile_fixture_stop(&f);
}

static void a_status_that_somebody_else_has_written_is_looked_at_again(void **state)
{
	static const struct script_step steps[] = {
		{ .want = RF_STATUS,
		  .status = 409,
		  .body = "{\"reason\":\"Conflict\",\"message\":\"m\"}" },
		{ .want = RF_STATUS, .body = "{\"metadata\":{}}" },
	};
	struct reconcile_fixture f;

	(void)state;
	reconcile_fixture_start(&f, steps, array_len(steps));
	reconcile_fixture_app(&f, "5", NULL);
	reconcile_fixture_all(&f);
	assert_false(reconcile(f.r, "store/shop"));
	assert_true(reconcile(f.r, "store/shop"));
	reconcile_fixture_stop(&f);
}

/* The Lease is about to run out: whatever is due is not sent. */
static void who_may_not_write_sends_nothing(void **state)
{
	static const struct script_step steps[] = { RF_LIST, RF_NOT_THERE };
	struct reconcile_fixture f;

	(void)state;
	reconcile_fixture_start(&f, steps, array_len(steps));
	f.allowed_ms = 0;
	reconcile_fixture_app(&f, "5", NULL);
	assert_false(reconcile(f.r, "store/shop"));
	assert_null(reconcile_fixture_request(&f, "PATCH ", 0));
	reconcile_fixture_all(&f);
	assert_false(reconcile(f.r, "store/shop")); /* its status */
	assert_null(reconcile_fixture_request(&f, "PATCH ", 0));
	reconcile_fixture_stop(&f);
}

static void a_foreign_statefulset_stays_as_it_is(void **state)
{
	static const struct script_step steps[] = {
		{ .want = RF_STATUS, .body = "{\"metadata\":{}}" }, RF_EVENTS
	};
	struct reconcile_fixture f;
	struct json *j;

	(void)state;
	reconcile_fixture_start(&f, steps, array_len(steps));
	reconcile_fixture_app(&f, "5", NULL);
	j = app_fixture_json(
		"{'kind':'StatefulSet','metadata':{'name':'shop-celld','namespace':'store',"
		"'uid':'x','resourceVersion':'1','ownerReferences':[{'controller':true,"
		"'uid':'u-9'}]},'spec':{'replicas':1}}");
	assert_true(cache_put(f.o.cache, CACHE_STATEFULSET, j));
	json_free(j);
	assert_true(reconcile(f.r, "store/shop"));
	j = reconcile_fixture_body(reconcile_fixture_request(&f, RF_STATUS, 0));
	assert_string_equal(json_str(json_at_path(j, "status.phase")), "Degraded");
	json_free(j);
	j = reconcile_fixture_body(reconcile_fixture_request(&f, "POST ", 0));
	assert_string_equal(json_get_str(j, "reason"), "ForeignObject");
	assert_string_equal(json_get_str(j, "type"), "Warning");
	json_free(j);
	assert_int_equal(script_count(f.server), 2);
	reconcile_fixture_stop(&f);
}

static void nobody_is_asked_about_an_app_that_goes(void **state)
{
	struct reconcile_fixture f;
	struct json *doc;

	(void)state;
	reconcile_fixture_start(&f, NULL, 0);
	assert_true(reconcile(f.r, "store/none"));
	doc = app_fixture_doc();
	app_fixture_edit(doc, "metadata.deletionTimestamp", "'2026-01-01T00:00:00Z'");
	app_fixture_edit(doc, "metadata.resourceVersion", "'5'");
	assert_true(cache_put(f.o.cache, CACHE_APP, doc));
	json_free(doc);
	assert_true(slots_take(f.o.slots, "store/shop")); /* it was in roll, one at a time */
	assert_true(reconcile(f.r, "store/shop"));
	assert_int_equal(script_count(f.server), 0);
	assert_true(slots_take(f.o.slots, "store/other"));
	reconcile_fixture_stop(&f);
}

/* What slipped past admission: the fleet stays, the status says why. */
static void a_spec_that_is_refused_changes_nothing(void **state)
{
	static const struct script_step steps[] = {
		{ .want = RF_STATUS, .body = "{\"metadata\":{}}" }, RF_EVENTS
	};
	struct reconcile_fixture f;
	struct json *doc, *j;

	(void)state;
	reconcile_fixture_start(&f, steps, array_len(steps));
	reconcile_fixture_all(&f);
	doc = app_fixture_doc();
	app_fixture_edit(doc, "metadata.resourceVersion", "'5'");
	app_fixture_edit(doc, "spec.celld.image", "'ghcr.io/denoland/celld:v0.2.1'");
	assert_true(cache_put(f.o.cache, CACHE_APP, doc));
	json_free(doc);
	assert_true(reconcile(f.r, "store/shop"));
	assert_int_equal(script_count(f.server), 2);
	j = reconcile_fixture_body(reconcile_fixture_request(&f, RF_STATUS, 0));
	assert_string_equal(json_str(json_at_path(j, "status.phase")), "Degraded");
	json_free(j);
	j = reconcile_fixture_body(reconcile_fixture_request(&f, "POST ", 0));
	assert_string_equal(json_get_str(j, "reason"), "BlockedDowngrade");
	json_free(j);
	reconcile_fixture_stop(&f);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_app_gets_its_objects_and_then_its_fleet),
		cmocka_unit_test(events_that_could_not_be_sent_bring_the_key_back),
		cmocka_unit_test(a_quiet_fleet_is_written_once_and_never_again),
		cmocka_unit_test(a_conflict_is_looked_at_again),
		cmocka_unit_test(a_status_that_somebody_else_has_written_is_looked_at_again),
		cmocka_unit_test(who_may_not_write_sends_nothing),
		cmocka_unit_test(a_foreign_statefulset_stays_as_it_is),
		cmocka_unit_test(nobody_is_asked_about_an_app_that_goes),
		cmocka_unit_test(a_spec_that_is_refused_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
