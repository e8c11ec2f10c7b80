#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/json.h"
#include "controller/trouble.h"
#include "test/lib/app_fixture.h"

static struct err answered(int status, const char *message)
{
	struct err e = ERR_INIT;

	(void)err_set(&e, ERR_FORBIDDEN, "%s", message);
	e.http_status = status;
	return e;
}

static void what_will_be_refused_again_is_told(void **state)
{
	static const struct {
		int status;
		bool told;
	} rows[] = {
		{ 400, true },	{ 401, false }, { 403, true },	{ 404, true }, { 408, false },
		{ 409, false }, { 410, false }, { 413, true },	{ 422, true }, { 429, false },
		{ 500, true },	{ 503, false }, { 504, false }, { 0, false },  { 200, false },
	};

	(void)state;
	for (size_t i = 0; i < array_len(rows); i++) {
		struct err e = answered(rows[i].status, "m");

		assert_int_equal(trouble_is_refusal(&e), rows[i].told);
	}
}

static void a_namespace_that_ends_is_left_alone_for_a_while(void **state)
{
	static const struct {
		const char *message;
		int asked, waits; /* ms */
	} rows[] = {
		{ "unable to create new content in namespace a because it is being terminated", 0,
		  30000 },
		{ "unable to create new content in namespace a because it is being terminated",
		  60000, 60000 },
		{ "exceeded quota: few", 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < array_len(rows); i++) {
		struct trouble t = { .reason = NULL };
		struct err e = answered(403, rows[i].message), end = ERR_INIT;

		e.retry_after_ms = rows[i].asked;
		trouble_refused(&t, &e);
		assert_int_equal(trouble_end(&t, &end), -ERR_FORBIDDEN);
		assert_int_equal(end.retry_after_ms, rows[i].waits);
		trouble_done(&t);
	}
}

static void a_refusal_has_its_remedy(void **state)
{
	static const struct {
		const char *message, *want;
	} rows[] = {
		{ "applying Service x: services \"x\" is forbidden: exceeded quota: q",
		  "applying Service x: services \"x\" is forbidden: exceeded quota: q; raise the "
		  "ResourceQuota or make room in it" },
		{ "User \"sa\" cannot patch resource \"services\"",
		  "User \"sa\" cannot patch resource \"services\"; give the operator's "
		  "ServiceAccount that right, as the chart does" },
		{ "failed calling webhook \"w\": refused",
		  "failed calling webhook \"w\": refused; mend that webhook, or take its "
		  "configuration away" },
		{ "spec.ports: Invalid value", "spec.ports: Invalid value; mend what the API "
					       "server names" },
	};

	(void)state;
	for (size_t i = 0; i < array_len(rows); i++) {
		struct trouble t = { .reason = NULL };
		struct err e = answered(403, rows[i].message);

		trouble_refused(&t, &e);
		assert_string_equal(t.reason, "ChildRefused");
		assert_string_equal(t.message, rows[i].want);
		assert_int_equal(t.code, ERR_FORBIDDEN);
		trouble_done(&t);
	}
}

static void the_first_refusal_stays(void **state)
{
	struct trouble t = { .reason = NULL };
	struct err first = answered(403, "first"), later = answered(403, "later"), e;

	first.retry_after_ms = 7;

	(void)state;
	trouble_fight(&t, "Service shop-celld", "kubectl-edit");
	assert_string_equal(t.reason, "FieldConflict");
	assert_string_equal(t.message,
			    "Service shop-celld: kubectl-edit undoes what the operator writes, "
			    "again and again; let one of the two write it alone");
	assert_int_equal(trouble_end(&t, &e), 0);
	trouble_refused(&t, &first);
	trouble_refused(&t, &later);
	trouble_fight(&t, "Service shop-celld", "kubectl-edit");
	assert_string_equal(t.reason, "ChildRefused");
	assert_string_equal(t.message, "first; mend what the API server names");
	assert_int_equal(trouble_end(&t, &e), -ERR_FORBIDDEN);
	assert_string_equal(e.message, "first; mend what the API server names");
	assert_int_equal(e.retry_after_ms, 7);
	trouble_done(&t);
}

static void the_rival_is_who_wrote_last(void **state)
{
	cleanup_json struct json *j = app_fixture_json(
		"{'metadata':{'managedFields':["
		"{'manager':'old','time':'2026-01-01T00:00:01Z'},"
		"{'manager':'kubectl-edit','time':'2026-01-01T00:00:05Z'},"
		"{'manager':'kubelet','time':'2026-01-01T00:00:08Z','subresource':'status'},"
		"{'manager':'celld-operator','time':'2026-01-01T00:00:09Z'},"
		"{'manager':'timeless'}]}}");
	cleanup_json struct json *none = app_fixture_json("{'metadata':{}}");
	char name[32] = "x";

	(void)state;
	trouble_rival(j, "celld-operator", name, sizeof(name));
	assert_string_equal(name, "kubectl-edit");
	trouble_rival(none, "celld-operator", name, sizeof(name));
	assert_string_equal(name, "");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_will_be_refused_again_is_told),
		cmocka_unit_test(a_namespace_that_ends_is_left_alone_for_a_while),
		cmocka_unit_test(a_refusal_has_its_remedy),
		cmocka_unit_test(the_first_refusal_stays),
		cmocka_unit_test(the_rival_is_who_wrote_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
