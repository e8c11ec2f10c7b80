#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/kube/client.h"
#include "controller/rebirth.h"
#include "test/lib/app_fixture.h"
#include "test/lib/reconcile_fixture.h"

#define CLAIM "/api/v1/namespaces/store/persistentvolumeclaims/data-shop-celld-0"

/* A StatefulSet of store/shop whose template nobody could make of the spec. */
static const char reborn[] =
	"{'apiVersion':'apps/v1','kind':'StatefulSet','metadata':{'name':'shop-celld','namespace':"
	"'store','ownerReferences':[{'controller':true,'uid':'u-1'}]},'spec':{'replicas':3,"
	"'template':{'by':'hand'}}}";

static void pods_of(struct fleet_pod *pods, size_t n, const char *revision)
{
	memset(pods, 0, n * sizeof(*pods));
	for (size_t i = 0; i < n; i++) {
		pods[i].ordinal = (int)i;
		(void)snprintf(pods[i].revision, sizeof(pods[i].revision), "%s", revision);
	}
}

static void a_note_holds_for_the_pods_that_it_is_about(void **state)
{
	static const struct {
		const char *uid, *revision;
		size_t n;
		int replicas; /* -1: it does not hold */
	} rows[] = {
		{ "u-1", "r1", 3, 3 },	{ "u-1", "r1", 2, 3 }, /* one is lost: it comes back */
		{ "u-1", "r1", 5, 5 }, /* an old note: none of them ends for it */
		{ "u-1", "r2", 3, -1 }, { "u-2", "r1", 3, -1 },
	};
	cleanup_json struct json *object = app_fixture_json(reborn);
	cleanup_json struct json *fields = app_fixture_json("[{'manager':'celld-operator'}]");
	cleanup(freep) char *text = rebirth_text(object, fields, "r1");

	(void)state;
	assert_non_null(text);
	for (size_t i = 0; i < array_len(rows); i++) {
		static struct fleet_pod pods[5];
		struct json *got = NULL, *got_fields = NULL;
		int64_t n = -1;

		pods_of(pods, rows[i].n, rows[i].revision);
		assert_int_equal(
			rebirth_read(text, rows[i].uid, pods, rows[i].n, &got, &got_fields),
			rows[i].replicas >= 0);
		if (rows[i].replicas >= 0) {
			assert_true(json_int(json_at_path(got, "spec.replicas"), &n));
			app_fixture_is(got_fields, "[{'manager':'celld-operator'}]");
			assert_string_equal(json_str(json_at_path(got, "spec.template.by")),
					    "hand");
		}
		assert_int_equal(n, rows[i].replicas);
		json_free(got);
		json_free(got_fields);
	}
}

static void what_is_no_note_does_not_hold(void **state)
{
	static const char *const rows[] = {
		"", "{", "[]", "{}", "{\"revision\":\"r1\"}", "{\"object\":{},\"revision\":\"r1\"}"
	};

	(void)state;
	for (size_t i = 0; i < array_len(rows); i++) {
		struct json *got = NULL, *fields = NULL;

		assert_false(rebirth_read(rows[i], "u-1", NULL, 0, &got, &fields));
		assert_null(got);
		assert_null(fields);
	}
}

static void a_note_fits_an_annotation(void **state)
{
	cleanup_json struct json *object = app_fixture_json(reborn);
	cleanup(freep) char *large = xcalloc(1, (200 << 10) + 1);

	(void)state;
	memset(large, 'x', 200 << 10);
	json_set_str(object, "large", large);
	assert_null(rebirth_text(object, NULL, "r1"));
}

/*
 * *ret_sts: what is not there any more. The app with claims; its pods are there, its StatefulSet is not, as when the
 * process was killed in between.
 */
static void orphans(struct reconcile_fixture *f, struct json **ret_sts)
{
	struct json *doc = app_fixture_doc();

	reconcile_fixture_all(f);
	*ret_sts = cache_get(f->o.cache, CACHE_STATEFULSET, "store", "shop-celld");
	cache_clear(f->o.cache, CACHE_STATEFULSET);
	app_fixture_edit(doc, "metadata.resourceVersion", "'5'");
	app_fixture_edit(doc, "spec.storage", "{'sizeGi':2}");
	assert_true(cache_put(f->o.cache, CACHE_APP, doc));
	json_free(doc);
}

#define NOTE                                                                                       \
	"{\"metadata\":{\"annotations\":{\"celld-operator.io/rebirth\":\"{\\\"object\\\":"         \
	"{\\\"apiVersion\\\":\\\"apps/v1\\\",\\\"kind\\\":\\\"StatefulSet\\\",\\\"metadata\\\":"   \
	"{\\\"name\\\":\\\"shop-celld\\\",\\\"namespace\\\":\\\"store\\\","                        \
	"\\\"ownerReferences\\\":[{\\\"controller\\\":true,\\\"uid\\\":\\\"u-1\\\"}]},"            \
	"\\\"spec\\\":{\\\"replicas\\\":3,\\\"template\\\":{\\\"by\\\":\\\"hand\\\"}}},"           \
	"\\\"managedFields\\\":[{\\\"manager\\\":\\\"celld-operator\\\"}],"                        \
	"\\\"revision\\\":\\\"r1\\\"}\"}}}"

static void a_process_that_was_killed_is_made_up_for(void **state)
{
	static const struct script_step steps[] = {
		{ .want = "GET " CLAIM, .body = NOTE },
		{ .want = "POST /apis/apps/v1/namespaces/store/statefulsets",
		  .status = 201,
		  .body = "{\"metadata\":{\"uid\":\"s-2\"}}" },
		{ .want = "PATCH " RF_STATEFULSET, .body = "{\"metadata\":{\"uid\":\"s-2\"}}" },
		{ .want = "PATCH " CLAIM, .body = "{}" },
		RF_EVENTS,
	};
	struct reconcile_fixture f;
	cleanup_json struct json *sts = NULL;
	struct json *j;

	(void)state;
	reconcile_fixture_start(&f, steps, array_len(steps));
	orphans(&f, &sts);
	assert_true(reconcile(f.r, "store/shop"));
	j = reconcile_fixture_body(reconcile_fixture_request(&f, "POST /apis/apps", 0));
	assert_string_equal(json_str(json_at_path(j, "spec.template.by")), "hand");
	json_free(j);
	j = reconcile_fixture_body(reconcile_fixture_request(&f, "PATCH " RF_STATEFULSET, 0));
	assert_string_equal(json_str(json_at_path(j, "metadata.uid")), "s-2");
	app_fixture_is(json_at_path(j, "metadata.managedFields"), "[{'manager':'celld-operator'}]");
	json_free(j);
	j = reconcile_fixture_body(reconcile_fixture_request(&f, "PATCH " CLAIM, 0));
	app_fixture_is(j, "{'metadata':{'annotations':{'celld-operator.io/rebirth':null}}}");
	json_free(j);
	reconcile_fixture_stop(&f);
}

/* Somebody else has made the StatefulSet meanwhile: it is not waited for that it goes. */
static void who_was_faster_is_believed(void **state)
{
	static const struct script_step steps[] = {
		{ .want = "GET " CLAIM, .body = NOTE },
		{ .want = "POST /apis/apps/v1/namespaces/store/statefulsets",
		  .status = 409,
		  .body = "{\"reason\":\"AlreadyExists\",\"message\":\"m\"}" },
		{ .want = RF_STATUS, .body = "{\"metadata\":{}}" },
		RF_EVENTS,
	};
	struct reconcile_fixture f;
	cleanup_json struct json *sts = NULL;

	(void)state;
	reconcile_fixture_start(&f, steps, array_len(steps));
	orphans(&f, &sts);
	assert_true(reconcile(f.r, "store/shop"));
	assert_null(reconcile_fixture_request(&f, RF_STATUS, 0));
	assert_true(cache_put(f.o.cache, CACHE_STATEFULSET, sts));
	reconcile_fixture_app(&f, "6", NULL);
	assert_true(reconcile(f.r, "store/shop"));
	assert_non_null(reconcile_fixture_request(&f, RF_STATUS, 0));
	reconcile_fixture_stop(&f);
}

/* Its pods run without a StatefulSet until a quota lets it be made: that is told, and tried again. */
static void who_is_refused_is_told_and_tries_again(void **state)
{
	static const struct script_step steps[] = {
		{ .want = "GET " CLAIM, .body = NOTE },
		{ .want = "POST /apis/apps/v1/namespaces/store/statefulsets",
		  .status = 403,
		  .body = "{\"reason\":\"Forbidden\",\"message\":\"exceeded quota: few\"}" },
		{ .want = RF_STATUS, .body = "{\"metadata\":{}}", .again = true },
		{ .want = "POST /apis/apps/v1/namespaces/store/statefulsets",
		  .status = 201,
		  .body = "{\"metadata\":{\"uid\":\"s-2\"}}" },
		{ .want = "PATCH " RF_STATEFULSET, .body = "{\"metadata\":{\"uid\":\"s-2\"}}" },
		{ .want = "PATCH " CLAIM, .body = "{}" },
		RF_EVENTS,
	};
	struct reconcile_fixture f;
	cleanup_json struct json *sts = NULL;
	cleanup(freep) char *text = NULL;
	struct json *j;

	(void)state;
	reconcile_fixture_start(&f, steps, array_len(steps));
	orphans(&f, &sts);
	assert_false(reconcile(f.r, "store/shop")); /* after a pause */
	j = reconcile_fixture_body(reconcile_fixture_request(&f, RF_STATUS, 0));
	text = json_text(j);
	assert_non_null(strstr(text, "exceeded quota: few"));
	json_free(j);
	assert_true(reconcile(f.r, "store/shop"));
	j = reconcile_fixture_body(reconcile_fixture_request(&f, "POST /apis/apps", 1));
	assert_string_equal(json_str(json_at_path(j, "spec.template.by")), "hand");
	json_free(j);
	reconcile_fixture_stop(&f);
}

/* Of a note that does not hold the usual way is left: the StatefulSet is made of the spec. */
static void without_a_note_it_is_made_of_the_spec(void **state)
{
	static const struct script_step steps[] = {
		{ .want = "GET " CLAIM, .body = "{\"metadata\":{}}" },
		{ .want = "GET " RF_STATEFULSET,
		  .status = 404,
		  .body = "{\"reason\":\"NotFound\",\"message\":\"m\"}" },
		{ .want = "PATCH " RF_STATEFULSET, .body = "{\"metadata\":{\"uid\":\"s-2\"}}" },
		RF_LIST,
		RF_NOT_THERE,
		RF_EVENTS,
	};
	struct reconcile_fixture f;
	cleanup_json struct json *sts = NULL;

	(void)state;
	reconcile_fixture_start(&f, steps, array_len(steps));
	orphans(&f, &sts);
	assert_true(reconcile(f.r, "store/shop"));
	assert_non_null(reconcile_fixture_request(&f, "PATCH " RF_STATEFULSET, 0));
	assert_null(reconcile_fixture_request(&f, "POST /apis/apps", 0));
	reconcile_fixture_stop(&f);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_note_holds_for_the_pods_that_it_is_about),
		cmocka_unit_test(what_is_no_note_does_not_hold),
		cmocka_unit_test(a_note_fits_an_annotation),
		cmocka_unit_test(a_process_that_was_killed_is_made_up_for),
		cmocka_unit_test(who_was_faster_is_believed),
		cmocka_unit_test(who_is_refused_is_told_and_tries_again),
		cmocka_unit_test(without_a_note_it_is_made_of_the_spec),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
