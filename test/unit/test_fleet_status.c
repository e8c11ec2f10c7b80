/* `status` against a scripted API server. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/fleet_status.h"
#include "test/lib/script.h"

#define APPS "/apis/celld-operator.io/v1alpha1/namespaces/acme/workerapps"
#define PODS "/api/v1/namespaces/acme/pods?limit=500&labelSelector=celld-operator.io%2Fworkerapp"
#define APP(phase, ready)                                                                          \
	"{\"metadata\":{\"namespace\":\"acme\",\"name\":\"chat\",\"generation\":3},\"spec\":{"     \
	"\"appVersion\":\"auto\",\"celld\":{\"image\":\"celld:v0.6.2\"},\"storeRef\":{\"name\":"   \
	"\"cells\"},\"bucket\":{\"name\":\"s3://cells/chat\"}},\"status\":{"                       \
	"\"observedGeneration\":3,\"phase\":\"" phase "\",\"expectedAppVersion\":\"v2\","          \
	"\"rolledOutAppVersion\":\"v1\",\"celldVersions\":[\"v0.6.1\",\"v0.6.2\"],\"url\":"        \
	"\"https://chat\",\"fleet\":{\"replicas\":3,\"ready\":2,\"updated\":1,\"restoring\":0},"   \
	"\"rollout\":{\"partition\":2,\"waitingOn\":\"chat-celld-2: not ready\",\"since\":"        \
	"\"2026-11-30T10:00:00Z\",\"targetRevision\":\"chat-celld-b\"},\"conditions\":[{\"type\":" \
	"\"Ready\",\"status\":\"" ready "\",\"reason\":\"" phase "\",\"message\":\"so it "         \
	"is\\u001b[2J\"},{\"type\":\"SpecValid\",\"status\":\"True\",\"reason\":\"Validated\"}]}"  \
	"}"
#define POD                                                                                        \
	"{\"metadata\":{\"namespace\":\"acme\",\"name\":\"chat-celld-2\",\"labels\":{"             \
	"\"celld-operator.io/workerapp\":\"chat\",\"controller-revision-hash\":\"chat-celld-b\"}," \
	"\"annotations\":{\"celld-operator.io/celld-version\":\"v0.6.2\"}},\"spec\":{"             \
	"\"nodeName\":\"n1\"},\"status\":{\"phase\":\"Running\"}}"
#define LIST(items) "{\"metadata\":{\"resourceVersion\":\"9\"},\"items\":[" items "]}"
#define STORE                                                                                      \
	"{\"spec\":{\"endpoint\":\"https://minio\",\"region\":\"eu\",\"credentialsFrom\":{"        \
	"\"secretRef\":\"keys\"}}}"

static char *said, *complaint;

/* Runs it against a server with these steps; all of them must be used. */
static int run(const struct script_step *steps, size_t n, const char *const *args)
{
	char config[] = "/tmp/status-XXXXXX";
	cleanup(freep) char *cert = NULL;
	cleanup(freep) char *pem = script_pem("localhost", &cert);
	struct script *s = script_start(steps, n, pem);
	char *argv[16] = { (char *)(uintptr_t) "status", (char *)(uintptr_t) "--kubeconfig",
			   config };
	size_t out_len = 0, err_len = 0;
	int argc = 3, status, fd = mkstemp(config);
	FILE *f = fdopen(fd, "w"), *out, *err;

	assert_non_null(f);
	fprintf(f,
		"current-context: c\ncontexts: [{name: c, context: {cluster: c, user: u, "
		"namespace: "
		"acme}}]\nclusters: [{name: c, cluster: {server: '%s', insecure-skip-tls-verify: "
		"true}}]\nusers: [{name: u, user: "
		"{token: T}}]\n",
		script_url(s));
	assert_int_equal(fclose(f), 0);
	free(said);
	free(complaint);
	out = open_memstream(&said, &out_len);
	err = open_memstream(&complaint, &err_len);
	for (; *args; args++)
		argv[argc++] = (char *)(uintptr_t)*args;
	status = fleet_status_run(argc, argv, out, err);
	(void)fclose(out);
	(void)fclose(err);
	for (size_t i = 0; script_unexpected(s) && i < script_count(s); i++)
		print_error("%s\n", script_request(s, i)->line);
	assert_int_equal(script_unexpected(s), 0);
	assert_int_equal(script_count(s), n);
	script_stop(s);
	assert_int_equal(unlink(config), 0);
	return status;
}

static void test_one(void **state)
{
	static const struct script_step steps[] = {
		{ .want = "GET " APPS "/chat", .body = APP("RollingOut", "False") },
		{ .want = "GET " PODS "%3Dchat", .body = LIST(POD) },
		{ .want = "GET "
			  "/apis/celld-operator.io/v1alpha1/namespaces/acme/celldobjectstores/"
			  "cells",
		  .body = STORE },
	};
	static const char *const args[] = { "chat", NULL };

	(void)state;
	assert_int_equal(run(steps, array_len(steps), args), 1);
	assert_string_equal(
		said,
		"Fleet     acme/chat\n"
		"Phase     RollingOut: so it is?[2J\n"
		"URL       https://chat\n"
		"Version   v1 rolled out, v2 expected (appVersion: auto, Restart)\n"
		"celld     celld:v0.6.2; running v0.6.1, v0.6.2\n"
		"Storage   s3://cells/chat at https://minio, region eu\n"
		"Store     CelldObjectStore cells\n"
		"Keys      Secret keys\n"
		"Pods      3, 2 ready, 1 updated, 0 cells restoring\n"
		"Rollout   released from ordinal 2 on, to revision chat-celld-b\n"
		"Waiting   chat-celld-2: not ready (since 2026-11-30T10:00:00Z)\n"
		"\n"
		"POD           READY  PHASE    CELLD   APP  REVISION  RESTARTS  NODE  TROUBLE\n"
		"chat-celld-2  no     Running  v0.6.2  -    b         0         n1\n"
		"\n"
		"CONDITION  STATUS  REASON      MESSAGE\n"
		"Ready      False   RollingOut  so it is?[2J\n"
		"SpecValid  True    Validated\n");
	assert_string_equal(complaint, "");
}

static void test_all(void **state)
{
	static const struct script_step ready[] = {
		{ .want = "GET " APPS "?", .body = LIST(APP("Ready", "True")) },
		{ .want = "GET " PODS, .body = LIST("") },
		{ .want = "GET "
			  "/apis/celld-operator.io/v1alpha1/namespaces/acme/celldobjectstores/"
			  "cells",
		  .status = 404,
		  .body = "{\"reason\":\"NotFound\"}" },
	};
	static const struct script_step nothing[] = {
		{ .want = "GET /apis/celld-operator.io/v1alpha1/workerapps?", .body = LIST("") },
		{ .want = "GET /api/v1/pods?", .body = LIST("") },
	};
	static const char *const text[] = { NULL };
	static const char *const json[] = { "-o", "json", NULL };
	static const char *const everywhere[] = { "-A", NULL };

	(void)state;
	assert_int_equal(run(ready, array_len(ready), text), 0);
	assert_string_equal(said, "NAMESPACE  NAME  PHASE  APP  READY  MESSAGE\n"
				  "acme       chat  Ready  v1   2/3    so it is?[2J\n");
	assert_int_equal(run(ready, array_len(ready), json), 0);
	assert_true(str_starts(said,
			       "[{\"namespace\":\"acme\",\"name\":\"chat\",\"phase\":\"Ready\","
			       "\"ready\":true,"));
	assert_non_null(strstr(said, "\"storeMissing\":true"));
	assert_int_equal(run(nothing, array_len(nothing), everywhere), 0);
	assert_string_equal(said, "no WorkerApp\n");
}

static void test_failures(void **state)
{
	static const struct script_step none[] = {
		{ .want = "GET " APPS "/chat", .status = 404, .body = "{\"reason\":\"NotFound\"}" },
	};
	static const struct script_step forbidden[] = {
		{ .want = "GET " APPS "?",
		  .status = 403,
		  .body = "{\"reason\":\"Forbidden\",\"message\":\"you may\\nnot\"}" },
	};
	static const char *const chat[] = { "chat", NULL };
	static const char *const all[] = { NULL };
	static const char *const two[] = { "chat", "shop", NULL };
	static const char *const both[] = { "chat", "-A", NULL };
	static const char *const unknown[] = { "--frobnicate", NULL };
	static const char *const help[] = { "--help", NULL };

	(void)state;
	assert_int_equal(run(none, 1, chat), 2);
	assert_string_equal(complaint,
			    "kubectl-celld status: there is no WorkerApp chat in namespace acme\n");
	assert_string_equal(said, "");
	assert_int_equal(run(forbidden, 1, all), 2);
	assert_non_null(strstr(complaint, "you may?not"));
	assert_int_equal(run(NULL, 0, two), 2);
	assert_non_null(strstr(complaint, "one name at most"));
	assert_int_equal(run(NULL, 0, both), 2);
	assert_non_null(strstr(complaint, "exclude each other"));
	assert_int_equal(run(NULL, 0, unknown), 2);
	assert_non_null(strstr(complaint, "--frobnicate"));
	assert_int_equal(run(NULL, 0, help), 0);
	assert_true(str_starts(said, "Usage: kubectl celld status [NAME] [FLAGS]\n"));
	free(said);
	free(complaint);
	said = complaint = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one),
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
