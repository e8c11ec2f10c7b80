#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "common/json.h"
#include "test/lib/app_fixture.h"
#include "test/lib/reconcile_fixture.h"

/* As another operator leaves it: ordered, partition 0, its own template, no note of ours; the app controls it. */
static const char theirs[] =
	"{'apiVersion':'apps/v1','kind':'StatefulSet','metadata':{'name':'shop-celld','namespace':"
	"'store','uid':'s-1','resourceVersion':'7','generation':1,'labels':{"
	"'celld-operator.io/"
	"workerapp':'shop'},'ownerReferences':[{'controller':true,'uid':'u-1'}]},"
	"'spec':{'replicas':3,'podManagementPolicy':'OrderedReady','serviceName':'theirs',"
	"'selector':{'matchLabels':{'celld-operator.io/workerapp':'shop'}},'template':{'metadata':"
	"{'labels':{'celld-operator.io/workerapp':'shop'}},'spec':{'containers':[{'name':'celld',"
	"'image':'ghcr.io/denoland/celld:v0.6.2'}],'terminationGracePeriodSeconds':40}}},"
	"'status':{'observedGeneration':1,'currentRevision':'r1','updateRevision':'r1'}}";

static void put(struct reconcile_fixture *f, enum cache_kind kind, struct json *object)
{
	cleanup_json struct json *j = object;

	assert_true(cache_put(f->o.cache, kind, j));
}

static void start(struct reconcile_fixture *f, const struct script_step *steps, size_t n)
{
	reconcile_fixture_start(f, steps, n);
	reconcile_fixture_app(f, "5", NULL);
	reconcile_fixture_all(f);
	cache_clear(f->o.cache, CACHE_STATEFULSET);
	put(f, CACHE_STATEFULSET, app_fixture_json(theirs));
}

#define THEIRS                                                                                     \
	"{\"apiVersion\":\"apps/v1\",\"kind\":\"StatefulSet\",\"metadata\":{\"name\":"             \
	"\"shop-celld\",\"namespace\":\"store\",\"uid\":\"s-1\",\"resourceVersion\":\"7\","        \
	"\"generation\":1,\"labels\":{\"celld-operator.io/workerapp\":\"shop\"},"                  \
	"\"ownerReferences\":[{\"controller\":true,\"uid\":\"u-1\"}]},\"spec\":{\"replicas\":3,"   \
	"\"template\":{\"spec\":{\"terminationGracePeriodSeconds\":40}}},\"status\":{"             \
	"\"observedGeneration\":1,\"currentRevision\":\"r1\",\"updateRevision\":\"r1\"}}"

static struct json *written(struct reconcile_fixture *f, size_t n)
{
	return reconcile_fixture_body(reconcile_fixture_request(f, "PATCH " RF_STATEFULSET "?", n));
}

static void what_runs_stays(void **state)
{
	static const struct script_step steps[] = {
		{ .want = "GET " RF_STATEFULSET, .body = THEIRS },
		{ .want = "PATCH " RF_STATEFULSET "?", .body = THEIRS },
		RF_LIST,
		RF_EVENTS,
	};
	struct reconcile_fixture f;
	struct json *j;
	int64_t partition = 0, grace = 0;

	(void)state;
	start(&f, steps, array_len(steps));
	assert_true(reconcile(f.r, "store/shop"));
	j = written(&f, 0);
	assert_true(json_int(json_at_path(j, "spec.updateStrategy.rollingUpdate.partition"),
			     &partition));
	assert_int_equal(partition, 2147483647);
	assert_true(json_int(json_at_path(j, "spec.template.spec.terminationGracePeriodSeconds"),
			     &grace));
	assert_int_equal(grace, 40);
	assert_string_equal(json_str(json_at_path(j, "metadata.resourceVersion")), "7");
	assert_string_equal(json_str(json_path(j, "metadata", "annotations",
					       "celld-operator.io/renderer", NULL)),
			    "adopted");
	json_free(j);
	j = reconcile_fixture_body(reconcile_fixture_request(&f, "POST ", 0));
	assert_string_equal(json_get_str(j, "reason"), "FleetAdopted");
	json_free(j);
	reconcile_fixture_stop(&f);
}

/* The same, and the API server tells who has written it. */
#define WRITTEN                                                                                    \
	"{\"apiVersion\":\"apps/v1\",\"kind\":\"StatefulSet\",\"metadata\":{\"name\":"             \
	"\"shop-celld\",\"namespace\":\"store\",\"uid\":\"s-1\",\"resourceVersion\":\"%s\","       \
	"\"generation\":1,\"labels\":{\"celld-operator.io/workerapp\":\"shop\"},"                  \
	"\"ownerReferences\":[{\"controller\":true,\"uid\":\"u-1\"}],\"managedFields\":[{"         \
	"\"manager\":\"%s\",\"operation\":\"%s\",\"fieldsV1\":{\"f:metadata\":{"                   \
	"\"f:ownerReferences\":{\"k:{\\\"uid\\\":\\\"u-1\\\"}\":{}}},\"f:spec\":{\"f:template\":{" \
	"\"f:spec\":{\"f:terminationGracePeriodSeconds\":{}}}}}}]},\"spec\":{\"replicas\":3,"      \
	"\"template\":{\"spec\":{\"terminationGracePeriodSeconds\":40}}},\"status\":{"             \
	"\"observedGeneration\":1,\"currentRevision\":\"r1\",\"updateRevision\":\"r1\"}}"

static void what_they_wrote_becomes_ours(void **state)
{
	cleanup(freep) char *theirs_text = xasprintf(WRITTEN, "7", "manager", "Update");
	cleanup(freep) char *ours_text = xasprintf(WRITTEN, "8", "celld-operator", "Apply");
	const struct script_step steps[] = {
		{ .want = "GET " RF_STATEFULSET, .body = theirs_text },
		{ .want = "PATCH " RF_STATEFULSET, .body = ours_text },
		{ .want = "PATCH " RF_STATEFULSET "?", .body = ours_text },
		RF_LIST,
		RF_EVENTS,
	};
	struct reconcile_fixture f;
	struct json *j;
	int64_t grace = 0;

	(void)state;
	start(&f, steps, array_len(steps));
	assert_true(reconcile(f.r, "store/shop"));
	j = reconcile_fixture_body(reconcile_fixture_request(&f, "PATCH " RF_STATEFULSET, 0));
	assert_string_equal(json_str(json_path(j, "metadata", "resourceVersion", NULL)), "7");
	assert_string_equal(
		json_get_str(json_first(json_path(j, "metadata", "managedFields", NULL)),
			     "manager"),
		"celld-operator");
	json_free(j);
	/* what runs goes into the apply, on the version that came of it */
	j = written(&f, 0);
	assert_string_equal(json_str(json_at_path(j, "metadata.resourceVersion")), "8");
	assert_true(json_int(json_at_path(j, "spec.template.spec.terminationGracePeriodSeconds"),
			     &grace));
	assert_int_equal(grace, 40);
	json_free(j);
	reconcile_fixture_stop(&f);
}

/* Taken over, as the answer to the first write shows it. */
static void is_taken_over(struct reconcile_fixture *f, struct json *written)
{
	cleanup_json struct json *j = written, *live = app_fixture_json(theirs);
	const struct json *notes = json_path(j, "metadata", "annotations", NULL);
	struct json *meta = json_get_mutable(live, "metadata");

	json_set(meta, "annotations", json_dup(notes));
	json_set_str(meta, "resourceVersion", "8");
	app_fixture_edit(live, "spec.updateStrategy",
			 "{'type':'RollingUpdate','rollingUpdate':{'partition':2147483647}}");
	assert_true(cache_put(f->o.cache, CACHE_STATEFULSET, live));
}

static void the_next_change_goes_through_the_gate(void **state)
{
	static const struct script_step steps[] = {
		{ .want = "GET " RF_STATEFULSET, .body = THEIRS },
		{ .want = "PATCH " RF_STATEFULSET "?", .body = THEIRS },
		{ .want = RF_STATUS, .body = "{\"metadata\":{}}" },
		{ .want = "GET " RF_STATEFULSET, .status = 500, .body = "{\"message\":\"read\"}" },
		{ .want = RF_STATUS, .body = "{\"metadata\":{}}" },
		RF_LIST,
		RF_EVENTS,
	};
	struct reconcile_fixture f;
	struct json *doc;

	(void)state;
	start(&f, steps, array_len(steps));
	assert_true(reconcile(f.r, "store/shop"));
	is_taken_over(&f, written(&f, 0));
	/* at rest, for good */
	assert_true(reconcile(f.r, "store/shop"));
	assert_null(reconcile_fixture_request(&f, "PATCH " RF_STATEFULSET "?", 1));
	/* a change is due: the StatefulSet is read for it */
	doc = app_fixture_doc();
	app_fixture_edit(doc, "metadata.resourceVersion", "'9'");
	app_fixture_edit(doc, "spec.maintenance.restartToken", "'again'");
	assert_true(cache_put(f.o.cache, CACHE_APP, doc));
	json_free(doc);
	assert_false(reconcile(f.r, "store/shop"));
	assert_non_null(reconcile_fixture_request(&f, "GET " RF_STATEFULSET, 1));
	reconcile_fixture_stop(&f);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_runs_stays),
		cmocka_unit_test(what_they_wrote_becomes_ours),
		cmocka_unit_test(the_next_change_goes_through_the_gate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
