#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "controller/takeover.h"
#include "test/lib/turn_fixture.h"

#define SERVICE "/api/v1/namespaces/store/services/shop-celld"

#define REFERENCE "'f:metadata':{'f:ownerReferences':{'k:{\\\"uid\\\":\\\"u-1\\\"}':{}}}"
#define THEIRS	  "{'manager':'manager','operation':'Update','fieldsV1':{" REFERENCE ",'f:spec':{}}}"
#define CLOUDS                                                                                     \
	"{'manager':'cloud','operation':'Update','fieldsV1':{'f:metadata':{'f:annotations':{'f:c'" \
	":{}}"                                                                                     \
	"}}}"
#define OURS                                                                                       \
	"{'manager':'celld-operator','operation':'Apply','fieldsV1':{" REFERENCE ",'f:spec':{}}}"

#define LIVE(fields)                                                                               \
	"{'apiVersion':'v1','kind':'Service','metadata':{'name':'shop-celld','namespace':"         \
	"'store','uid':'s-1','resourceVersion':'5','ownerReferences':[{'controller':true,"         \
	"'uid':'u-1'}],'managedFields':[" fields "]},'spec':{'type':'ClusterIP'}}"

static void expect(const char *live, const char *want)
{
	cleanup_json struct json *j = app_fixture_json(live);
	struct json *got = takeover_fields(j, "u-1");

	if (!want) {
		assert_null(got);
		return;
	}
	assert_non_null(got);
	app_fixture_is(got, want);
	json_free(got);
}

static void the_entry_of_who_made_it_becomes_ours(void **state)
{
	(void)state;
	expect(LIVE(CLOUDS "," THEIRS), "[" CLOUDS "," OURS "]");
}

static void nobody_else_loses_anything(void **state)
{
	(void)state;
	/* nobody made it, as far as is known */
	expect(LIVE(CLOUDS), NULL);
	expect(LIVE(""), NULL);
	/* we have applied it before */
	expect(LIVE(THEIRS ",{'manager':'celld-operator','operation':'Apply','fieldsV1':{}}"),
	       NULL);
	/* an update of the same name is not ours: the other operator may be called so */
	expect(LIVE("{'manager':'celld-operator','operation':'Update','fieldsV1':{" REFERENCE
		    ",'f:spec':{}}}"),
	       "[" OURS "]");
	/* the reference of another app */
	expect(LIVE("{'manager':'manager','operation':'Update','fieldsV1':{'f:metadata':{"
		    "'f:ownerReferences':{'k:{\\\"uid\\\":\\\"u-2\\\"}':{}}}}}"),
	       NULL);
	/* a status is not what is taken over */
	expect(LIVE("{'manager':'manager','operation':'Update','subresource':'status','fieldsV1':"
		    "{" REFERENCE "}}"),
	       NULL);
}

/* --- what is sent --------------------------------------------------------------------------------- */

static int put(struct turn_fixture *f, const char *type)
{
	struct json *want = app_fixture_json("{'apiVersion':'v1','kind':'Service','metadata':{"
					     "'name':'shop-celld','namespace':'store'},'spec':{}}");

	json_set_str(json_get_mutable(want, "spec"), "type", type);
	return children_put(&f->turn, CACHE_SERVICE, want, NULL, &f->e);
}

static const char theirs[] =
	"{\"kind\":\"Service\",\"metadata\":{\"name\":\"shop-celld\",\"namespace\":\"store\","
	"\"uid\":\"s-1\",\"resourceVersion\":\"6\",\"managedFields\":[{\"manager\":\"manager\","
	"\"operation\":\"Update\",\"fieldsV1\":{\"f:metadata\":{\"f:ownerReferences\":{"
	"\"k:{\\\"uid\\\":\\\"u-1\\\"}\":{}}}}}]}}";
static const char ours[] =
	"{\"kind\":\"Service\",\"metadata\":{\"name\":\"shop-celld\",\"namespace\":\"store\","
	"\"uid\":\"s-1\",\"resourceVersion\":\"7\"}}";

static void a_child_of_theirs_is_taken_over_before_it_is_written(void **state)
{
	const struct script_step steps[] = {
		{ .want = "GET " SERVICE, .body = theirs },
		{ .want = "PATCH " SERVICE, .body = ours },
		{ .want = "PATCH " SERVICE "?", .body = ours },
	};
	struct turn_fixture f;
	struct json *sent = NULL;
	struct err e = ERR_INIT;
	const char *body;

	(void)state;
	turn_fixture_start(&f, steps, array_len(steps));
	turn_fixture_knows(&f, CACHE_SERVICE, LIVE(THEIRS));
	assert_int_equal(put(&f, "LoadBalancer"), 0);
	assert_int_equal(script_count(f.server), 3);
	body = script_request(f.server, 1)->body;
	assert_int_equal(json_parse(body, strlen(body), &sent, &e), 0);
	app_fixture_is(sent, "{'metadata':{'uid':'s-1','resourceVersion':'6','managedFields':[{"
			     "'manager':'celld-operator','operation':'Apply','fieldsV1':{" REFERENCE
			     "}}]}}");
	json_free(sent);
	assert_non_null(strstr(script_request(f.server, 2)->line, "fieldManager=celld-operator"));
	turn_fixture_stop(&f);
}

/* Somebody was faster: nothing is applied with half of it done. */
static void a_conflict_ends_the_turn(void **state)
{
	const struct script_step steps[] = {
		{ .want = "GET " SERVICE, .body = theirs },
		{ .want = "PATCH " SERVICE,
		  .status = 409,
		  .body = "{\"reason\":\"Conflict\",\"message\":\"m\"}" },
	};
	struct turn_fixture f;

	(void)state;
	turn_fixture_start(&f, steps, array_len(steps));
	turn_fixture_knows(&f, CACHE_SERVICE, LIVE(THEIRS));
	assert_int_equal(put(&f, "LoadBalancer"), -ERR_CONFLICT);
	assert_int_equal(script_count(f.server), 2);
	turn_fixture_stop(&f);
}

static void one_of_ours_is_not_read_for_it(void **state)
{
	const struct script_step steps[] = { { .want = "PATCH " SERVICE "?", .body = ours } };
	struct turn_fixture f;

	(void)state;
	turn_fixture_start(&f, steps, array_len(steps));
	turn_fixture_knows(&f, CACHE_SERVICE, LIVE(OURS));
	assert_int_equal(put(&f, "LoadBalancer"), 0);
	assert_int_equal(script_count(f.server), 1);
	turn_fixture_stop(&f);
}

static void one_that_is_gone_meanwhile_is_left_to_the_write(void **state)
{
	const struct script_step steps[] = {
		{ .want = "GET " SERVICE,
		  .status = 404,
		  .body = "{\"reason\":\"NotFound\",\"message\":\"m\"}" },
		{ .want = "PATCH " SERVICE "?",
		  .status = 409,
		  .body = "{\"reason\":\"Conflict\",\"message\":\"m\"}" },
	};
	struct turn_fixture f;

	(void)state;
	turn_fixture_start(&f, steps, array_len(steps));
	turn_fixture_knows(&f, CACHE_SERVICE, LIVE(THEIRS));
	assert_int_equal(put(&f, "LoadBalancer"), -ERR_CONFLICT);
	assert_non_null(strstr(script_request(f.server, 1)->body, "\"uid\":\"s-1\""));
	turn_fixture_stop(&f);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_entry_of_who_made_it_becomes_ours),
		cmocka_unit_test(nobody_else_loses_anything),
		cmocka_unit_test(a_child_of_theirs_is_taken_over_before_it_is_written),
		cmocka_unit_test(a_conflict_ends_the_turn),
		cmocka_unit_test(one_of_ours_is_not_read_for_it),
		cmocka_unit_test(one_that_is_gone_meanwhile_is_left_to_the_write),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
