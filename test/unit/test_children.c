#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "test/lib/turn_fixture.h"

#define SERVICES "/api/v1/namespaces/store/services"
#define SERVICE	 SERVICES "/shop-celld"

static int put_service(struct turn_fixture *f, const char *text)
{
	return children_put(&f->turn, CACHE_SERVICE, app_fixture_json(text), NULL, &f->e);
}

static const char want[] = "{'apiVersion':'v1','kind':'Service','metadata':{'name':'shop-celld',"
			   "'namespace':'store'},'spec':{'type':'ClusterIP'}}";

#define OURS                                                                                       \
	"'ownerReferences':[{'controller':true,'uid':'u-1'}],'managedFields':["                    \
	"{'manager':'celld-operator','operation':'Apply','fieldsV1':{'f:spec':{'f:type':{}}}}]"
#define LIVE(meta, type)                                                                           \
	"{'apiVersion':'v1','kind':'Service','metadata':{'name':'shop-celld','namespace':"         \
	"'store','uid':'s-1','resourceVersion':'5'," meta "},'spec':{'type':'" type "'}}"

static const struct json *sent(struct turn_fixture *f, size_t i, struct json **ret)
{
	const char *body = script_request(f->server, i)->body;
	struct err e = ERR_INIT;

	assert_int_equal(json_parse(body, strlen(body), ret, &e), 0);
	return *ret;
}

static void what_is_as_it_should_be_is_not_written(void **state)
{
	struct turn_fixture f;

	(void)state;
	turn_fixture_start(&f, NULL, 0);
	turn_fixture_knows(&f, CACHE_SERVICE, LIVE(OURS, "ClusterIP"));
	assert_int_equal(put_service(&f, want), 0);
	assert_int_equal(script_count(f.server), 0);
	turn_fixture_stop(&f);
}

static void a_creation_takes_over_nothing(void **state)
{
	static const struct script_step steps[] = {
		{ .want = "PATCH " SERVICE "?",
		  .status = 201,
		  .body = "{\"kind\":\"Service\",\"metadata\":{\"name\":\"shop-celld\","
			  "\"namespace\":\"store\",\"resourceVersion\":\"9\"}}" },
	};
	struct turn_fixture f;
	struct json *got, *j = NULL;

	(void)state;
	turn_fixture_start(&f, steps, array_len(steps));
	assert_int_equal(put_service(&f, want), 0);
	assert_non_null(strstr(script_request(f.server, 0)->line, "fieldManager=celld-operator"));
	assert_null(strstr(script_request(f.server, 0)->line, "force=true"));
	/* a version that no object has: the server refuses it for one that is there */
	app_fixture_is(sent(&f, 0, &j),
		       "{'apiVersion':'v1','kind':'Service','metadata':{'name':'shop-celld',"
		       "'namespace':'store','resourceVersion':'1'},'spec':{'type':'ClusterIP'}}");
	json_free(j);
	/* the answer is known at once, before any event */
	got = cache_get(f.opts.cache, CACHE_SERVICE, "store", "shop-celld");
	assert_non_null(got);
	json_free(got);
	turn_fixture_stop(&f);
}

static void a_change_is_for_the_object_that_was_read(void **state)
{
	static const struct script_step steps[] = {
		{ .want = "PATCH " SERVICE "?", .body = "{\"metadata\":{}}" },
	};
	struct turn_fixture f;
	struct json *j = NULL;

	(void)state;
	turn_fixture_start(&f, steps, array_len(steps));
	turn_fixture_knows(&f, CACHE_SERVICE, LIVE(OURS, "LoadBalancer"));
	assert_int_equal(put_service(&f, want), 0);
	assert_non_null(strstr(script_request(f.server, 0)->line, "force=true"));
	assert_string_equal(json_str(json_path(sent(&f, 0, &j), "metadata", "uid", NULL)), "s-1");
	json_free(j);
	turn_fixture_stop(&f);
}

/* An object with our name and label that somebody else controls, or that we have never written. */
static void a_foreign_object_is_never_touched(void **state)
{
	static const char *const foreign[] = {
		LIVE("'labels':{'celld-operator.io/workerapp':'shop'},'ownerReferences':"
		     "[{'controller':true,'uid':'u-9'}]",
		     "NodePort"),
		LIVE("'labels':{'celld-operator.io/workerapp':'shop'}", "NodePort"),
		LIVE("'labels':{'celld-operator.io/workerapp':'blog'},'managedFields':"
		     "[{'manager':'celld-operator'}]",
		     "NodePort"),
	};

	(void)state;
	for (size_t i = 0; i < array_len(foreign); i++) {
		struct turn_fixture f;

		turn_fixture_start(&f, NULL, 0);
		turn_fixture_knows(&f, CACHE_SERVICE, foreign[i]);
		assert_int_equal(put_service(&f, want), -ERR_EXISTS);
		assert_string_equal(
			f.e.message,
			"Service shop-celld exists and is not of this WorkerApp; delete "
			"or rename it, or choose another name for the WorkerApp");
		assert_int_equal(children_drop(&f.turn, CACHE_SERVICE, "shop-celld", &f.e), 0);
		assert_int_equal(script_count(f.server), 0);
		turn_fixture_stop(&f);
	}
}

#define REFUSED                                                                                    \
	{                                                                                          \
		.want = "PATCH " SERVICE "?", .status = 409,                                       \
		.body = "{\"reason\":\"Conflict\",\"message\":\"the object has been modified\"}"   \
	}

/* The cache does not have it. Once refused it is read first: not a write each time. */
static void a_foreign_object_without_our_label_is_found_by_a_refusal(void **state)
{
	static const struct script_step steps[] = {
		REFUSED,
		{ .want = "GET " SERVICE,
		  .body = "{\"kind\":\"Service\",\"metadata\":{\"name\":\"shop-celld\","
			  "\"namespace\":\"store\",\"uid\":\"x\",\"resourceVersion\":\"1\"}}" },
		{ .want = "GET " SERVICE,
		  .body = "{\"kind\":\"Service\",\"metadata\":{\"name\":\"shop-celld\","
			  "\"namespace\":\"store\",\"uid\":\"x\",\"resourceVersion\":\"1\"}}" },
		{ .want = "GET " SERVICE,
		  .status = 404,
		  .body = "{\"reason\":\"NotFound\",\"message\":\"m\"}" },
		{ .want = "PATCH " SERVICE "?", .status = 201, .body = "{\"metadata\":{}}" },
	};
	struct fleet_memory memory = { .asks_first = 0 };
	struct turn_fixture f;
	struct json *j = NULL;

	(void)state;
	turn_fixture_start(&f, steps, array_len(steps));
	f.turn.memory = &memory;
	assert_int_equal(put_service(&f, want), -ERR_EXISTS);
	assert_int_equal(script_count(f.server), 2);
	assert_int_equal(put_service(&f, want), -ERR_EXISTS);
	assert_int_equal(script_count(f.server), 3);
	/* it has gone */
	assert_int_equal(put_service(&f, want), 0);
	assert_int_equal(script_count(f.server), 5);
	assert_null(strstr(script_request(f.server, 4)->line, "force=true"));
	app_fixture_is(sent(&f, 4, &j), want);
	json_free(j);
	damp_done(&memory.damp);
	turn_fixture_stop(&f);
}

/* Whether somebody undoes it: what a new app gets is not noted yet. */
static void what_was_made_is_noted_from_the_first_status_on(void **state)
{
	static const struct script_step steps[] = { { .want = "PATCH " SERVICE "?",
						      .status = 201,
						      .body = "{\"metadata\":{}}",
						      .again = true } };
	cleanup_json struct json *told = app_fixture_json("{'phase':'Pending'}");
	struct fleet_memory memory = { .asks_first = 0 };
	struct turn_fixture f;

	(void)state;
	turn_fixture_start(&f, steps, array_len(steps));
	f.turn.memory = &memory;
	f.turn.app->status = NULL;
	assert_int_equal(put_service(&f, want), 0);
	assert_int_equal(memory.damp.n, 0);
	f.turn.app->status = told;
	assert_int_equal(put_service(&f, want), 0);
	assert_int_equal(memory.damp.n, 1);
	damp_done(&memory.damp);
	turn_fixture_stop(&f);
}

/* Of ours, with a label that somebody took off, so that the cache lost it. */
static void one_of_ours_that_lost_its_label_is_mended(void **state)
{
	static const struct script_step steps[] = {
		REFUSED,
		{ .want = "GET " SERVICE,
		  .body = "{\"kind\":\"Service\",\"metadata\":{\"name\":\"shop-celld\","
			  "\"namespace\":"
			  "\"store\",\"uid\":\"s-1\",\"resourceVersion\":\"7\",\"ownerReferences\":"
			  "[{\"controller\":true,\"uid\":\"u-1\"}],\"managedFields\":"
			  "[{\"manager\":\"celld-operator\",\"operation\":\"Apply\",\"fieldsV1\":{}"
			  "}]},"
			  "\"spec\":{\"type\":\"NodePort\"}}" },
		{ .want = "PATCH " SERVICE "?", .body = "{\"metadata\":{}}" },
	};
	struct turn_fixture f;
	struct json *j = NULL;

	(void)state;
	turn_fixture_start(&f, steps, array_len(steps));
	assert_int_equal(put_service(&f, want), 0);
	assert_non_null(strstr(script_request(f.server, 2)->line, "force=true"));
	app_fixture_is(json_get(sent(&f, 2, &j), "metadata"),
		       "{'name':'shop-celld','namespace':'store','uid':'s-1'}");
	json_free(j);
	turn_fixture_stop(&f);
}

/* A server that refuses such a version for a creation too. */
static void a_refusal_without_an_object_is_a_creation_all_the_same(void **state)
{
	static const struct script_step steps[] = {
		REFUSED,
		{ .want = "GET " SERVICE,
		  .status = 404,
		  .body = "{\"reason\":\"NotFound\",\"message\":\"m\"}" },
		{ .want = "PATCH " SERVICE "?", .status = 201, .body = "{\"metadata\":{}}" },
	};
	struct turn_fixture f;
	struct json *j = NULL;

	(void)state;
	turn_fixture_start(&f, steps, array_len(steps));
	assert_int_equal(put_service(&f, want), 0);
	assert_null(strstr(script_request(f.server, 2)->line, "force=true"));
	app_fixture_is(sent(&f, 2, &j), want);
	json_free(j);
	turn_fixture_stop(&f);
}

/* Its owner is gone (deleted with --cascade=orphan), and it is of our making. */
static void an_orphan_of_ours_is_adopted(void **state)
{
	static const struct script_step steps[] = {
		{ .want = "PATCH " SERVICE "?", .body = "{\"metadata\":{}}" },
	};
	struct turn_fixture f;
	struct json *j = NULL;

	(void)state;
	turn_fixture_start(&f, steps, array_len(steps));
	turn_fixture_knows(&f, CACHE_SERVICE,
			   LIVE("'labels':{'celld-operator.io/workerapp':'shop'},'managedFields':"
				"[{'manager':'celld-operator','operation':'Apply','fieldsV1':{}}]",
				"ClusterIP"));
	assert_int_equal(put_service(&f, "{'apiVersion':'v1','kind':'Service','metadata':{'name':"
					 "'shop-celld','ownerReferences':[{'uid':'u-1'}]}}"),
			 0);
	app_fixture_is(json_path(sent(&f, 0, &j), "metadata", "ownerReferences", NULL),
		       "[{'uid':'u-1'}]");
	json_free(j);
	turn_fixture_stop(&f);
}

static void who_may_not_write_sends_nothing(void **state)
{
	struct turn_fixture f;

	(void)state;
	turn_fixture_start(&f, NULL, 0);
	turn_fixture_knows(&f, CACHE_SERVICE, LIVE(OURS, "LoadBalancer"));
	f.allowed_ms = 0;
	assert_int_equal(put_service(&f, want), -ERR_CANCELED);
	assert_int_equal(children_drop(&f.turn, CACHE_SERVICE, "shop-celld", &f.e), -ERR_CANCELED);
	assert_int_equal(script_count(f.server), 0);
	turn_fixture_stop(&f);
}

static void a_conflict_is_told(void **state)
{
	static const struct script_step steps[] = {
		{ .want = "PATCH " SERVICE "?",
		  .status = 409,
		  .body = "{\"reason\":\"Conflict\",\"message\":\"changed\"}" },
	};
	struct turn_fixture f;

	(void)state;
	turn_fixture_start(&f, steps, array_len(steps));
	turn_fixture_knows(&f, CACHE_SERVICE, LIVE(OURS, "LoadBalancer"));
	assert_int_equal(put_service(&f, want), -ERR_CONFLICT);
	assert_string_equal(f.e.message, "applying Service shop-celld: PATCH " SERVICE ": changed");
	turn_fixture_stop(&f);
}

static void what_is_no_longer_wanted_goes(void **state)
{
	static const struct script_step steps[] = {
		{ .want = "DELETE " SERVICE, .body = "{}" },
		{ .want = "DELETE " SERVICE,
		  .status = 404,
		  .body = "{\"reason\":\"NotFound\",\"message\":\"m\"}" },
	};
	struct turn_fixture f;
	struct json *j = NULL;

	(void)state;
	turn_fixture_start(&f, steps, array_len(steps));
	assert_int_equal(children_drop(&f.turn, CACHE_SERVICE, "shop-celld", &f.e), 0);
	assert_int_equal(script_count(f.server), 0); /* not known: nothing to do */
	turn_fixture_knows(&f, CACHE_SERVICE, LIVE(OURS, "ClusterIP"));
	assert_int_equal(children_drop(&f.turn, CACHE_SERVICE, "shop-celld", &f.e), 0);
	assert_string_equal(json_str(json_path(sent(&f, 0, &j), "preconditions", "uid", NULL)),
			    "s-1");
	json_free(j);
	assert_int_equal(cache_count(f.opts.cache, CACHE_SERVICE), 0);
	turn_fixture_knows(&f, CACHE_SERVICE, LIVE(OURS, "ClusterIP"));
	assert_int_equal(children_drop(&f.turn, CACHE_SERVICE, "shop-celld", &f.e), 0);
	turn_fixture_stop(&f);
}

/* The five of a fleet, in their order; a foreign one ends it with a refusal, and nothing after it is touched. */
static void all_children_until_a_foreign_one(void **state)
{
	static const struct script_step steps[] = {
		{ .want = "PATCH /api/v1/namespaces/store/serviceaccounts/shop-celld",
		  .status = 201,
		  .body = "{\"metadata\":{}}" },
	};
	struct turn_fixture f;

	(void)state;
	turn_fixture_start(&f, steps, array_len(steps));
	turn_fixture_knows(&f, CACHE_SERVICE, LIVE("'x':1", "NodePort"));
	assert_int_equal(children_apply(&f.turn, &f.e), 0);
	assert_true(f.turn.foreign);
	assert_string_equal(f.turn.verdict.refusal.reason, "ForeignObject");
	assert_non_null(strstr(f.turn.verdict.refusal.message, "Service shop-celld exists"));
	assert_int_equal(script_count(f.server), 1);
	turn_fixture_stop(&f);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_as_it_should_be_is_not_written),
		cmocka_unit_test(a_creation_takes_over_nothing),
		cmocka_unit_test(a_change_is_for_the_object_that_was_read),
		cmocka_unit_test(a_foreign_object_is_never_touched),
		cmocka_unit_test(a_foreign_object_without_our_label_is_found_by_a_refusal),
		cmocka_unit_test(what_was_made_is_noted_from_the_first_status_on),
		cmocka_unit_test(one_of_ours_that_lost_its_label_is_mended),
		cmocka_unit_test(a_refusal_without_an_object_is_a_creation_all_the_same),
		cmocka_unit_test(an_orphan_of_ours_is_adopted),
		cmocka_unit_test(who_may_not_write_sends_nothing),
		cmocka_unit_test(a_conflict_is_told),
		cmocka_unit_test(what_is_no_longer_wanted_goes),
		cmocka_unit_test(all_children_until_a_foreign_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
