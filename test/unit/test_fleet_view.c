#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/fleet_view.h"

static struct json *parse(const char *text)
{
	struct json *j = NULL;
	struct err e = ERR_INIT;

	if (text && json_parse(text, strlen(text), &j, &e))
		fail_msg("%s: %s", e.message, text);
	return j;
}

/* view of these, without white space in what is expected */
static void shows(const char *app, const char *store, const char *pods, const char *path,
		  const char *expected)
{
	cleanup_json struct json *a = parse(app), *s = parse(store), *p = parse(pods);
	cleanup_json struct json *v = fleet_view(a, s, p);
	cleanup(freep) char *text = json_text(json_at_path(v, path));

	assert_string_equal(text, expected);
}

#define META "\"metadata\":{\"namespace\":\"shop\",\"name\":\"chat\",\"generation\":3}"

static void test_current(void **state)
{
	static const char ready[] = "{" META ",\"spec\":{},\"status\":{\"observedGeneration\":3,"
				    "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\","
				    "\"message\":\"fine\"}]}}";
	static const char old[] = "{" META ",\"spec\":{},\"status\":{\"observedGeneration\":2,"
				  "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}";
	static const char none[] = "{" META ",\"spec\":{}}";

	(void)state;
	shows(ready, NULL, NULL, "ready", "true");
	shows(ready, NULL, NULL, "message", "\"fine\"");
	shows(old, NULL, NULL, "ready", "false");
	shows(old, NULL, NULL, "current", "false");
	shows(none, NULL, NULL, "ready", "false");
	shows(none, NULL, NULL, "pods", "[]");
	shows(none, NULL, NULL, "appVersion", "{\"policy\":\"Restart\"}");
}

static void test_storage(void **state)
{
	(void)state;
	shows("{" META ",\"spec\":{\"deployTrackingSecretRef\":\"read\",\"bucket\":{\"name\":\"s3:/"
	      "/cells/chat\","
	      "\"endpoint\":\"https://"
	      "minio\",\"region\":\"eu\",\"credentialsFrom\":{\"secretRef\":\"keys\"}}}}",
	      NULL, NULL, "storage",
	      "{\"bucket\":\"s3://cells/chat\",\"endpoint\":\"https://minio\",\"region\":\"eu\","
	      "\"credentials\":\"Secret keys\",\"tracking\":\"read\"}");
	shows("{" META ",\"spec\":{\"bucket\":{\"name\":\"az://cells\",\"storageAccount\":\"acc\","
	      "\"credentialsFrom\":{\"azureClientID\":\"id\"}}}}",
	      NULL, NULL, "storage",
	      "{\"bucket\":\"az://cells\",\"storageAccount\":\"acc\",\"credentials\":\"Azure "
	      "client id\"}");
	shows("{" META ",\"spec\":{\"bucket\":{\"name\":\"s3://cells\"}}}", NULL, NULL, "storage",
	      "{\"bucket\":\"s3://cells\",\"credentials\":\"of the pods' identity\"}");
	/* with a store everything but the name is its own */
	shows("{" META
	      ",\"spec\":{\"bucket\":{\"name\":\"s3://cells\"},\"storeRef\":{\"name\":\"st\"}}}",
	      "{\"spec\":{\"endpoint\":\"https://s\",\"credentialsSecretRef\":{\"name\":\"k\"}}}",
	      NULL, "storage",
	      "{\"bucket\":\"s3://cells\",\"store\":\"st\",\"storeMissing\":false,"
	      "\"endpoint\":\"https://s\",\"credentials\":\"Secret k\"}");
	shows("{" META
	      ",\"spec\":{\"bucket\":{\"name\":\"s3://cells\"},\"storeRef\":{\"name\":\"st\"}}}",
	      NULL, NULL, "storage",
	      "{\"bucket\":\"s3://cells\",\"store\":\"st\",\"storeMissing\":true}");
}

/* metadata: more of it; rest: spec and status */
#define POD(name, metadata, rest)                                                                  \
	"{\"metadata\":{\"namespace\":\"shop\",\"name\":\"" name "\"," metadata                    \
	"\"labels\":{\"celld-operator.io/workerapp\":\"chat\","                                    \
	"\"controller-revision-hash\":\"chat-celld-abc\"},\"annotations\":{"                       \
	"\"celld-operator.io/celld-version\":\"v0.6.2\",\"celld-operator.io/app-version\":\"v1\"}" \
	"}," rest "}"
#define APP "{" META ",\"spec\":{}}"
/* head: phase and ready; more: behind the version; tail: behind the revision */
#define VIEW(head, version, more, tail)                                                            \
	"[{\"name\":\"chat-celld-0\"," head ",\"celld\":\"v0.6.2\",\"appVersion\":\"" version      \
	"\"," more "\"revision\":\"abc\"," tail "}]"

static void test_pod_that_runs(void **state)
{
	static const char pod[] =
		"[" POD("chat-celld-0", "",
			"\"spec\":{\"nodeName\":\"n1\"},\"status\":{\"phase\":\"Running\","
			"\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}],"
			"\"containerStatuses\":[{\"name\":\"aside\",\"restartCount\":9},"
			"{\"name\":\"celld\",\"restartCount\":2}]}") "]";
	static const char told[] =
		"{" META ",\"spec\":{},\"status\":{\"deployments\":[{\"name\":\"chat-celld-0\","
		"\"version\":\"v2\",\"swapping\":3,\"draining\":1}]}}";

	(void)state;
	shows(APP, NULL, pod, "pods",
	      VIEW("\"phase\":\"Running\",\"ready\":true", "v1", "",
		   "\"restarts\":2,\"node\":\"n1\""));
	/* what it says itself comes first */
	shows(told, NULL, pod, "pods",
	      VIEW("\"phase\":\"Running\",\"ready\":true", "v2", "\"swapping\":3,\"draining\":1,",
		   "\"restarts\":2,\"node\":\"n1\""));
}

static void test_pods_in_trouble(void **state)
{
	(void)state;
	shows(APP, NULL,
	      "[" POD("chat-celld-0", "",
		      "\"status\":{\"phase\":\"Running\",\"containerStatuses\":[{\"name\":"
		      "\"celld\","
		      "\"restartCount\":4,\"state\":{\"waiting\":{\"reason\":\"CrashLoopBackOff\","
		      "\"message\":\"back-off "
		      "40s\"}},\"lastState\":{\"terminated\":{\"exitCode\":1,"
		      "\"message\":\"no CELLD_X\"}}}]}") "]",
	      "pods",
	      VIEW("\"phase\":\"Running\",\"ready\":false", "v1", "",
		   "\"restarts\":4,\"trouble\":\"CrashLoopBackOff: exit status 1: no CELLD_X\""));
	shows(APP, NULL,
	      "[" POD("chat-celld-0", "",
		      "\"status\":{\"phase\":\"Pending\",\"containerStatuses\":[{\"name\":"
		      "\"celld\","
		      "\"state\":{\"waiting\":{\"reason\":\"ErrImagePull\",\"message\":\"no such "
		      "image\"}}}]}") "]",
	      "pods",
	      VIEW("\"phase\":\"Pending\",\"ready\":false", "v1", "",
		   "\"restarts\":0,\"trouble\":\"ErrImagePull: no such image\""));
	shows(APP, NULL,
	      "[" POD("chat-celld-0", "",
		      "\"status\":{\"phase\":\"Pending\",\"conditions\":[{\"type\":"
		      "\"PodScheduled\","
		      "\"status\":\"False\",\"reason\":\"Unschedulable\",\"message\":\"0/3 "
		      "nodes\"}]}") "]",
	      "pods",
	      VIEW("\"phase\":\"Pending\",\"ready\":false", "v1", "",
		   "\"restarts\":0,\"trouble\":\"Unschedulable: 0/3 nodes\""));
	shows(APP, NULL,
	      "[" POD("chat-celld-0", "\"deletionTimestamp\":\"2026-11-30T10:00:00Z\",",
		      "\"status\":{\"phase\":\"Running\"}") "]",
	      "pods",
	      VIEW("\"phase\":\"Terminating\",\"ready\":false", "v1", "", "\"restarts\":0"));
}

static void test_order(void **state)
{
	cleanup_json struct json *app = parse(APP), *v = NULL;
	cleanup_json struct json *pods =
		parse("[" POD("chat-celld-10", "", "\"status\":{}") "," POD(
			"chat-celld-9", "", "\"status\":{}") "," POD("chat-celld-8", "",
								     "\"status\":{}") "]");
	static const char *const names[] = { "chat-celld-8", "chat-celld-9", "chat-celld-10" };

	(void)state;
	v = fleet_view(app, NULL, pods);
	assert_int_equal(json_len(json_get(v, "pods")), 3);
	for (size_t i = 0; i < 3; i++)
		assert_string_equal(json_get_str(json_item(json_get(v, "pods"), i), "name"),
				    names[i]);
}

/* Of another namespace, with the same names. */
static void test_foreign(void **state)
{
	(void)state;
	shows("{\"metadata\":{\"namespace\":\"acme\",\"name\":\"chat\"},\"spec\":{}}", NULL,
	      "[" POD("chat-celld-0", "", "\"status\":{}") "]", "pods", "[]");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_current),	      cmocka_unit_test(test_storage),
		cmocka_unit_test(test_pod_that_runs), cmocka_unit_test(test_pods_in_trouble),
		cmocka_unit_test(test_order),	      cmocka_unit_test(test_foreign),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
