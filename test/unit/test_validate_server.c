/* `kubectl-celld validate --server`: the stored objects come from a cluster, here one that answers from a table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/validate.h"
#include "common/base.h"
#include "test/lib/script.h"

#define APPS   "/apis/celld-operator.io/v1alpha1/namespaces/acme/workerapps"
#define STORES "/apis/celld-operator.io/v1alpha1/namespaces/acme/celldobjectstores"
#define APP(meta, spec)                                                                            \
	"{\"apiVersion\":\"celld-operator.io/v1alpha1\",\"kind\":\"WorkerApp\",\"metadata\":{"     \
	"\"name\":\"chat\"" meta "},\"spec\":{\"appVersion\":\"v1\",\"bucket\":{"                  \
	"\"name\":\"s3://cells/chat\",\"credentialsFrom\":{\"secretRef\":\"k\"}}" spec "}}"
#define IMAGE(version) ",\"celld\":{\"image\":\"celld:" version "\"}"
#define STORE(endpoint)                                                                            \
	"{\"apiVersion\":\"celld-operator.io/v1alpha1\",\"kind\":\"CelldObjectStore\","            \
	"\"metadata\":{\"name\":\"minio\"},\"spec\":{\"endpoint\":\"" endpoint "\"}}"

struct fixture {
	char dir[32];
	char *kubeconfig, *ca;
	struct script *server;
	char *out, *err;
};

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void start(struct fixture *f, const struct script_step *steps, size_t n)
{
	char *cert;
	cleanup(freep) char *pem = script_pem("localhost", &cert), *config = NULL;

	*f = (struct fixture){ .dir = "/tmp/validate-server.XXXXXX" };
	assert_non_null(mkdtemp(f->dir));
	f->kubeconfig = xasprintf("%s/config", f->dir);
	f->ca = xasprintf("%s/ca.crt", f->dir);
	f->server = script_start(steps, n, pem);
	config = xasprintf("current-context: away\n"
			   "contexts:\n"
			   "- {name: here, context: {cluster: c, user: u, namespace: acme}}\n"
			   "- {name: away, context: {cluster: nowhere, user: u}}\n"
			   "clusters:\n"
			   "- {name: c, cluster: {server: '%s', certificate-authority: ca.crt}}\n"
			   "- {name: nowhere, cluster: {server: 'https://127.0.0.1:1'}}\n"
			   "users: [{name: u, user: {token: T}}]\n",
			   script_url(f->server));
	write_file(f->kubeconfig, config);
	write_file(f->ca, cert);
	free(cert);
}

static void stop(struct fixture *f)
{
	assert_int_equal(script_unexpected(f->server), 0);
	script_stop(f->server);
	assert_int_equal(unlink(f->kubeconfig) || unlink(f->ca) || rmdir(f->dir), 0);
	free(f->kubeconfig);
	free(f->ca);
	free(f->out);
	free(f->err);
}

/* argv: behind --kubeconfig, up to NULL. */
static int validate(struct fixture *f, const char *manifest, const char *const *args)
{
	char *argv[16] = { (char *)(uintptr_t) "validate", (char *)(uintptr_t) "-f",
			   (char *)(uintptr_t) "-", (char *)(uintptr_t) "--kubeconfig",
			   f->kubeconfig };
	int argc = 5, status;
	size_t out_len = 0, err_len = 0;
	FILE *in = fmemopen((void *)(uintptr_t)manifest, strlen(manifest), "r");
	FILE *out, *err;

	free(f->out);
	free(f->err);
	out = open_memstream(&f->out, &out_len);
	err = open_memstream(&f->err, &err_len);
	for (; *args; args++)
		argv[argc++] = (char *)(uintptr_t)*args;
	status = validate_run(argc, argv, in, out, err);
	(void)fclose(in);
	(void)fclose(out);
	(void)fclose(err);
	return status;
}

static const char *const here[] = { "--server", "--context", "here", NULL };

static void test_update(void **state)
{
	static const struct script_step steps[] = {
		{ .want = "GET " APPS "/chat", .body = APP("", IMAGE("v0.3.0")) },
		{ .want = "GET " APPS "/chat", .body = APP("", IMAGE("v0.5.1")) },
	};
	struct fixture f;

	(void)state;
	start(&f, steps, array_len(steps));
	assert_int_equal(validate(&f, APP("", IMAGE("v0.6.2")), here), 1);
	assert_non_null(strstr(f.out, "spec.celld.image: celld v0.3.0 to v0.6.2 cannot roll"));
	assert_string_equal(f.err, "1 WorkerApp, 1 refused\n");
	assert_int_equal(validate(&f, APP("", IMAGE("v0.6.2")), here), 0);
	assert_true(script_has_header(script_request(f.server, 0), "Authorization: Bearer T"));
	stop(&f);
}

static void test_create(void **state)
{
	static const struct script_step steps[] = {
		{ .want = "GET " APPS "/chat",
		  .status = 404,
		  .body = "{\"kind\":\"Status\",\"reason\":\"NotFound\",\"code\":404}" },
		{ .want = "GET /apis/celld-operator.io/v1alpha1/namespaces/shop/workerapps/chat",
		  .status = 404 },
		{ .want = "GET /apis/celld-operator.io/v1alpha1/namespaces/mine/workerapps/chat",
		  .status = 404 },
	};
	static const char *const shop[] = { "--server", "--context", "here", "-n", "shop", NULL };
	struct fixture f;

	(void)state;
	start(&f, steps, array_len(steps));
	assert_int_equal(validate(&f, APP("", IMAGE("v0.6.2")), here), 0);
	assert_int_equal(validate(&f, APP("", IMAGE("v0.6.2")), shop), 0);
	assert_int_equal(validate(&f, APP(",\"namespace\":\"mine\"", IMAGE("v0.6.2")), shop), 0);
	stop(&f);
}

/* The API server fills the namespace in before it asks the webhook: policy and defaults are those of that one. */
static void test_namespace(void **state)
{
	static const struct script_step steps[] = {
		{ .want = "GET " APPS "/chat", .status = 404 },
		{ .want = "GET /apis/celld-operator.io/v1alpha1/namespaces/shop/workerapps/chat",
		  .status = 404 },
	};
#define POLICY "--allowed-image-prefixes=shop=celld"
	static const char *const acme[] = { "--server", "--context", "here", POLICY, NULL };
	static const char *const shop[] = { "--server", "--context", "here", "-n",
					    "shop",	POLICY,	     NULL };
	static const char *const offline[] = { "-n", "shop", POLICY, NULL };
	struct fixture f;

	(void)state;
	start(&f, steps, array_len(steps));
	assert_int_equal(validate(&f, APP("", IMAGE("v0.6.2")), acme), 1);
	assert_non_null(strstr(f.out, "spec.celld.image"));
	assert_int_equal(validate(&f, APP("", IMAGE("v0.6.2")), shop), 0);
	assert_int_equal(validate(&f, APP("", IMAGE("v0.6.2")), offline), 0);
	stop(&f);
}

/* What the platform filled in stays, although a manifest holds neither the field nor the list of what was filled. */
static void test_filled(void **state)
{
	static const struct script_step steps[] = {
		{ .want = "GET " APPS "/chat",
		  .body = APP(",\"annotations\":{\"celld-operator.io/defaulted\":"
			      "\"spec.celld.image\"}",
			      IMAGE("v0.6.1")) },
		{ .want = "GET " APPS "/chat", .status = 404 },
	};
	struct fixture f;

	(void)state;
	start(&f, steps, array_len(steps));
	assert_int_equal(validate(&f, APP("", ",\"replicas\":4"), here), 0);
	assert_int_equal(validate(&f, APP("", ",\"replicas\":4"), here), 1);
	assert_non_null(strstr(f.out, "spec.celld.image: there is none"));
	stop(&f);
}

static void test_store(void **state)
{
	static const struct script_step steps[] = {
		{ .want = "GET " STORES "/minio", .body = STORE("https://a.io") },
		{ .want = "GET " APPS "?",
		  .body = "{\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[{\"metadata\":{"
			  "\"name\":\"chat\",\"namespace\":\"acme\"},\"spec\":{\"storeRef\":{"
			  "\"name\":\"minio\"},\"bucket\":{\"name\":\"s3://c\"}}}]}" },
	};
	struct fixture f;

	(void)state;
	start(&f, steps, array_len(steps));
	assert_int_equal(validate(&f, STORE("https://b.io"), here), 1);
	assert_non_null(strstr(f.out, "spec.endpoint: 1 apps that roll use it (acme/chat is one)"));
	assert_string_equal(f.err, "1 CelldObjectStore, 1 refused\n");
	stop(&f);
}

static void test_errors(void **state)
{
	static const struct script_step steps[] = {
		{ .want = "GET " APPS "/chat",
		  .status = 403,
		  .body = "{\"kind\":\"Status\",\"message\":\"not yours\",\"code\":403}" },
	};
	static const char *const nowhere[] = { "--server", NULL };
	static const char *const missing[] = { "--server", "--context", "other", NULL };
	static const char *const both[] = { "--server", "--old", "x.yaml", NULL };
	struct fixture f;

	(void)state;
	start(&f, steps, array_len(steps));
	assert_int_equal(validate(&f, APP("", IMAGE("v0.6.2")), here), 2);
	assert_non_null(strstr(f.err, "kubectl-celld validate: --server: acme/chat: "));
	assert_non_null(strstr(f.err, ": not yours\n"));
	assert_int_equal(validate(&f, APP("", IMAGE("v0.6.2")), nowhere), 2);
	assert_non_null(strstr(f.err, "--server: default/chat: "));
	assert_int_equal(validate(&f, APP("", IMAGE("v0.6.2")), missing), 2);
	assert_non_null(strstr(f.err, "other"));
	assert_int_equal(validate(&f, APP("", IMAGE("v0.6.2")), both), 2);
	assert_non_null(strstr(f.err, "--old and --server"));
	assert_string_equal(f.out, "");
	stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_update),	  cmocka_unit_test(test_create),
		cmocka_unit_test(test_filled),	  cmocka_unit_test(test_store),
		cmocka_unit_test(test_namespace), cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
