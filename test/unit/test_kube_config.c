#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/kube/config.h"
#include "common/strlist.h"

/* A folder for the files of one test. */
struct fixture {
	char dir[32];
	struct strlist files;
	struct err e;
	struct kube_config *config;
	const struct kube_auth *auth;
};

static void start(struct fixture *f)
{
	*f = (struct fixture){ .dir = "/tmp/test-config-XXXXXX" };
	assert_non_null(mkdtemp(f->dir));
}

static void stop(struct fixture *f)
{
	if (f->auth)
		kube_auth_release(f->auth);
	kube_config_free(f->config);
	for (size_t i = 0; i < f->files.n; i++)
		(void)unlink(f->files.v[i]);
	strlist_done(&f->files);
	assert_int_equal(rmdir(f->dir), 0);
}

static const char *put(struct fixture *f, const char *name, const char *text)
{
	char *path = xasprintf("%s/%s", f->dir, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0700);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(close(fd), 0);
	if (!strlist_has(&f->files, path))
		strlist_add(&f->files, path);
	free(path);
	for (size_t i = 0;; i++) {
		if (str_ends(f->files.v[i], name))
			return f->files.v[i];
	}
}

/* The credentials of now, in f->auth. */
static void login(struct fixture *f)
{
	const struct kube_auth *old = f->auth;

	assert_int_equal(kube_config_auth(f->config, old, &f->auth, &f->e), 0);
	if (old)
		kube_auth_release(old);
}

#define PEM "-----BEGIN CERTIFICATE-----\n"
/* PEM in base64, by hand: printf -- '-----BEGIN CERTIFICATE-----\n' | base64 */
#define PEM64 "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg=="
#define HEAD                                                                                       \
	"apiVersion: v1\nkind: Config\ncurrent-context: dev\n"                                     \
	"contexts:\n- name: dev\n  context: {cluster: c, user: u, namespace: shop}\n"              \
	"- name: other\n  context: {cluster: c2, user: u2}\n"
#define CLUSTER "clusters:\n- name: c\n  cluster: {server: 'https://h:6443/'}\n"

static void test_inline(void **state)
{
	struct fixture f;

	(void)state;
	start(&f);
	assert_int_equal(
		kube_config_file(
			put(&f, "config",
			    HEAD
			    "clusters:\n- name: c\n  cluster:\n    server: https://h:6443/\n"
			    "    certificate-authority-data: " PEM64 "\n    tls-server-name: api\n"
			    "users:\n- name: u\n  user:\n    client-certificate-data: " PEM64 "\n"
			    "    client-key-data: " PEM64 "\n    token: secret\n"),
			NULL, &f.config, &f.e),
		0);
	assert_string_equal(kube_config_server(f.config), "https://h:6443");
	assert_string_equal(kube_config_namespace(f.config), "shop");
	assert_string_equal(kube_config_tls_server_name(f.config), "api");
	assert_false(kube_config_insecure(f.config));
	assert_false(kube_config_plain_ok(f.config));
	login(&f);
	assert_string_equal(f.auth->ca_pem, PEM);
	assert_string_equal(f.auth->cert_pem, PEM);
	assert_string_equal(f.auth->key_pem, PEM);
	assert_string_equal(f.auth->token, "secret");
	stop(&f);
}

static void test_files_and_merge(void **state)
{
	struct fixture f;
	cleanup(freep) char *paths = NULL;
	const char *first, *second;

	(void)state;
	start(&f);
	(void)put(&f, "ca.crt", "CA");
	(void)put(&f, "token", " T1\n");
	first = put(&f, "one", HEAD);
	second = put(&f, "two",
		     "current-context: ignored\nclusters:\n- name: c2\n  cluster:\n"
		     "    server: https://two\n    certificate-authority: ca.crt\n"
		     "    insecure-skip-tls-verify: true\n"
		     "users:\n- name: u2\n  user: {tokenFile: token}\n");
	paths = xasprintf("%s:/not/there:%s", first, second);
	assert_int_equal(kube_config_file(paths, "other", &f.config, &f.e), 0);
	assert_string_equal(kube_config_server(f.config), "https://two");
	assert_string_equal(kube_config_namespace(f.config), "default");
	assert_true(kube_config_insecure(f.config));
	login(&f);
	assert_string_equal(f.auth->ca_pem, "CA");
	assert_string_equal(f.auth->token, "T1");
	assert_null(f.auth->cert_pem);
	stop(&f);
}

struct wrong {
	const char *text, *message;
};

static void test_errors(void **state)
{
	static const struct wrong w[] = {
		{ "[]", "not a kubeconfig" },
		{ "a: [", NULL },
		{ "contexts: []", "current-context: missing" },
		{ "current-context: x", "contexts: no context named 'x'" },
		{ HEAD, "contexts[dev].cluster: nothing named 'c' in clusters" },
		{ HEAD CLUSTER, "contexts[dev].user: nothing named 'u' in users" },
		{ HEAD "clusters:\n- name: c\n  cluster: {}\n", "clusters[c].server: missing" },
		{ HEAD "clusters:\n- name: c\n  cluster: {server: 'http://h'}\n",
		  "clusters[c].server: must begin with https://" },
		{ HEAD
		  "clusters:\n- name: c\n  cluster: {server: 'https://h', proxy-url: 'http://p'}\n",
		  "clusters[c].proxy-url: not supported: the API server is never reached through a "
		  "proxy" },
		{ HEAD "clusters:\n- name: c\n  cluster: {server: 'https://h', "
		       "certificate-authority-data: '%%'}\n",
		  "clusters[c].certificate-authority-data: not base64 of PEM" },
		{ HEAD CLUSTER "users:\n- name: u\n  user: {client-certificate: x}\n",
		  "users[u].client-key: missing: certificate and key go together" },
		{ HEAD CLUSTER "users:\n- name: u\n  user: {client-key: x}\n",
		  "users[u].client-certificate: missing: certificate and key go together" },
		{ HEAD CLUSTER "users:\n- name: u\n  user: {username: x, password: y}\n",
		  "users[u].username: not supported" },
		{ HEAD CLUSTER "users:\n- name: u\n  user: {exec: {command: x}}\n",
		  "users[u].exec.apiVersion: must be client.authentication.k8s.io/v1" },
		{ HEAD CLUSTER "users:\n- name: u\n  user: {exec: {apiVersion: "
			       "client.authentication.k8s.io/v1}}\n",
		  "users[u].exec.command: missing" },
		{ HEAD CLUSTER "users:\n- name: u\n  user: {exec: {apiVersion: "
			       "client.authentication.k8s.io/v1, command: x}}\n",
		  "users[u].exec.interactiveMode: missing" },
		{ HEAD CLUSTER
		  "users:\n- name: u\n  user: {exec: {apiVersion: client.authentication.k8s.io/v1, "
		  "command: x, interactiveMode: Always}}\n",
		  "users[u].exec.interactiveMode: must be Never or IfAvailable: nobody is there to "
		  "answer" },
		{ HEAD CLUSTER
		  "users:\n- name: u\n  user: {exec: {apiVersion: client.authentication.k8s.io/v1, "
		  "command: x, interactiveMode: Never, env: [{name: a}]}}\n",
		  "users[u].exec.env: each entry needs a name and a value" },
	};
	struct fixture f;

	(void)state;
	start(&f);
	for (size_t i = 0; i < array_len(w); i++) {
		const char *path = put(&f, "config", w[i].text);
		cleanup(freep) char *want =
			xasprintf("%s: %s", path, w[i].message ? w[i].message : "");

		assert_true(kube_config_file(path, NULL, &f.config, &f.e) < 0);
		if (w[i].message)
			assert_string_equal(f.e.message, want);
		else
			assert_true(str_starts(f.e.message, want));
	}
	assert_int_equal(kube_config_file("/not/there", NULL, &f.config, &f.e), -ERR_NOT_FOUND);
	assert_string_equal(f.e.message, "/not/there: No such file or directory");
	assert_int_equal(kube_config_file("/not/there:/nor/here", NULL, &f.config, &f.e),
			 -ERR_NOT_FOUND);
	stop(&f);
}

static void test_missing_credentials(void **state)
{
	struct fixture f;
	char want[200];

	(void)state;
	start(&f);
	assert_int_equal(kube_config_file(put(&f, "config",
					      HEAD CLUSTER
					      "users:\n- name: u\n  user: {tokenFile: token}\n"),
					  NULL, &f.config, &f.e),
			 0);
	assert_int_equal(kube_config_auth(f.config, NULL, &f.auth, &f.e), -ERR_UNAUTHORIZED);
	(void)snprintf(want, sizeof(want), "%s/token: No such file or directory", f.dir);
	assert_string_equal(f.e.message, want);
	(void)put(&f, "token", " \n");
	assert_int_equal(kube_config_auth(f.config, NULL, &f.auth, &f.e), -ERR_UNAUTHORIZED);
	(void)snprintf(want, sizeof(want), "%s/token: empty", f.dir);
	assert_string_equal(f.e.message, want);
	/* There at last. */
	(void)put(&f, "token", "T");
	login(&f);
	assert_string_equal(f.auth->token, "T");
	stop(&f);
}

static void test_snapshots(void **state)
{
	struct fixture f;
	const struct kube_auth *same = NULL;

	(void)state;
	start(&f);
	(void)put(&f, "token", "T1");
	assert_int_equal(kube_config_file(put(&f, "config",
					      HEAD CLUSTER
					      "users:\n- name: u\n  user: {tokenFile: token}\n"),
					  NULL, &f.config, &f.e),
			 0);
	login(&f);
	/* Within a minute it is not read again. */
	(void)put(&f, "token", "T2");
	assert_int_equal(kube_config_auth(f.config, NULL, &same, &f.e), 0);
	assert_ptr_equal(same, f.auth);
	kube_auth_release(same);
	/* Refused: read again; a second thread with the same refusal gets what the first has got. */
	assert_int_equal(kube_config_auth(f.config, f.auth, &same, &f.e), 0);
	assert_string_equal(same->token, "T2");
	(void)put(&f, "token", "T3");
	{
		const struct kube_auth *second = NULL;

		assert_int_equal(kube_config_auth(f.config, f.auth, &second, &f.e), 0);
		assert_ptr_equal(second, same);
		kube_auth_release(second);
	}
	assert_string_equal(f.auth->token, "T1"); /* what was lent does not change */
	kube_auth_release(same);
	stop(&f);
}

/* --- exec plugin ------------------------------------------------------------------------------ */

static void exec_config(struct fixture *f, const char *more)
{
	cleanup(freep) char *text = xasprintf(
		HEAD "clusters:\n- name: c\n  cluster: {server: 'https://h', tls-server-name: n}\n"
		     "users:\n- name: u\n  user:\n    exec:\n"
		     "      apiVersion: client.authentication.k8s.io/v1\n"
		     "      interactiveMode: IfAvailable\n      provideClusterInfo: true\n"
		     "      installHint: get it from the shelf\n"
		     "      args: [a1, 'a 2']\n      env: [{name: PLUGIN_X, value: why}]\n%s\n",
		more);

	kube_config_free(take(f->config));
	assert_int_equal(kube_config_file(put(f, "config", text), NULL, &f->config, &f->e), 0);
}

static void test_exec(void **state)
{
	struct fixture f;

	(void)state;
	start(&f);
	(void)put(
		&f, "plugin",
		"#!/bin/sh\ncat >/dev/null\n"
		"[ \"$1|$2|$PLUGIN_X\" = 'a1|a 2|why' ] || exit 7\n"
		"case $KUBERNETES_EXEC_INFO in "
		"*'\"interactive\":false'*'\"server\":\"https://h\"'*) ;; *) exit 8;; esac\n"
		"n=$(cat \"${0%/*}/n\" 2>/dev/null || echo 0); n=$((n + 1)); echo $n "
		">\"${0%/*}/n\"\n"
		"echo "
		"'{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\","
		"\"status\":{\"token\":\"E'$n'\",\"expirationTimestamp\":\"'$EXPIRES'\","
		"\"clientCertificateData\":\"C\",\"clientKeyData\":\"K\"}}'\n");
	strlist_add_take(&f.files, xasprintf("%s/n", f.dir));
	assert_int_equal(setenv("EXPIRES", "2099-01-01T00:00:00Z", 1), 0);
	exec_config(&f, "      command: ./plugin");
	login(&f);
	assert_string_equal(f.auth->token, "E1");
	assert_string_equal(f.auth->cert_pem, "C");
	assert_string_equal(f.auth->key_pem, "K");
	/* Kept until it expires or is refused. */
	{
		const struct kube_auth *same = NULL;

		assert_int_equal(kube_config_auth(f.config, NULL, &same, &f.e), 0);
		assert_ptr_equal(same, f.auth);
		kube_auth_release(same);
	}
	assert_int_equal(setenv("EXPIRES", "2001-01-01T00:00:00Z", 1), 0);
	login(&f); /* refused */
	assert_string_equal(f.auth->token, "E2");
	{
		const struct kube_auth *newer = NULL;

		assert_int_equal(kube_config_auth(f.config, NULL, &newer, &f.e), 0);
		assert_string_equal(newer->token, "E3");
		kube_auth_release(newer);
	}
	stop(&f);
}

static void test_exec_failures(void **state)
{
	static const struct wrong w[] = {
		{ "#!/bin/sh\nexit 3\n", "failed with exit status 3" },
		{ "#!/bin/sh\necho hello\n", "its answer is not JSON" },
		{ "#!/bin/sh\necho '{\"apiVersion\":\"x\"}'\n",
		  "apiVersion is not client.authentication.k8s.io/v1" },
		{ "#!/bin/sh\necho '{\"apiVersion\":\"client.authentication.k8s.io/v1\"}'\n",
		  "neither token nor certificate" },
		{ "#!/bin/sh\necho '{\"apiVersion\":\"client.authentication.k8s.io/v1\","
		  "\"status\":{\"clientCertificateData\":\"C\"}}'\n",
		  "certificate and key go together" },
		{ "#!/bin/sh\nhead -c 100000 /dev/zero\n",
		  "no answer within 60000 ms, or a too long one" },
	};
	struct fixture f;

	(void)state;
	start(&f);
	for (size_t i = 0; i < array_len(w); i++) {
		cleanup(freep) char *want =
			xasprintf("exec plugin %s/./plugin: %s", f.dir, w[i].message);

		(void)put(&f, "plugin", w[i].text);
		exec_config(&f, "      command: ./plugin");
		assert_int_equal(kube_config_auth(f.config, NULL, &f.auth, &f.e),
				 -ERR_UNAUTHORIZED);
		assert_string_equal(f.e.message, want);
	}
	exec_config(&f, "      command: celld-no-such-plugin");
	assert_int_equal(kube_config_auth(f.config, NULL, &f.auth, &f.e), -ERR_UNAUTHORIZED);
	/* valgrind (VALGRIND=1) runs posix_spawn with a fork, so the failure comes from the child */
	assert_string_equal(f.e.message,
			    getenv("VALGRIND")
				    ? "exec plugin celld-no-such-plugin: failed with exit "
				      "status 127"
				    : "exec plugin celld-no-such-plugin: cannot be run (not "
				      "found): get it from the shelf");
	stop(&f);
}

/* --- in a cluster, and what a program does ---------------------------------------------------- */

static void test_in_cluster(void **state)
{
	struct fixture f;

	(void)state;
	start(&f);
	assert_int_equal(unsetenv("KUBERNETES_SERVICE_HOST"), 0);
	assert_int_equal(unsetenv("KUBERNETES_SERVICE_PORT"), 0);
	assert_int_equal(kube_config_in_cluster(f.dir, &f.config, &f.e), -ERR_NOT_FOUND);
	assert_int_equal(setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1), 0);
	assert_int_equal(setenv("KUBERNETES_SERVICE_PORT", "443", 1), 0);
	assert_int_equal(kube_config_in_cluster(f.dir, &f.config, &f.e), -ERR_NOT_FOUND);
	(void)put(&f, "token", "T\n");
	(void)put(&f, "ca.crt", "CA");
	(void)put(&f, "namespace", "ops\n");
	assert_int_equal(kube_config_in_cluster(f.dir, &f.config, &f.e), 0);
	assert_string_equal(kube_config_server(f.config), "https://[fd00::1]:443");
	assert_string_equal(kube_config_namespace(f.config), "ops");
	login(&f);
	assert_string_equal(f.auth->token, "T");
	assert_string_equal(f.auth->ca_pem, "CA");
	assert_int_equal(unsetenv("KUBERNETES_SERVICE_HOST"), 0);
	stop(&f);
}

static void test_load(void **state)
{
	static const char plain[] = HEAD CLUSTER "users:\n- name: u\n  user: {token: t}\n";
	struct fixture f;

	(void)state;
	start(&f);
	assert_int_equal(unsetenv("KUBERNETES_SERVICE_HOST"), 0);
	assert_int_equal(unsetenv("KUBECONFIG"), 0);
	assert_int_equal(setenv("HOME", f.dir, 1), 0);
	assert_int_equal(kube_config_load(NULL, &f.config, &f.e), -ERR_NOT_FOUND);
	assert_int_equal(setenv("KUBECONFIG", put(&f, "env", plain), 1), 0);
	assert_int_equal(kube_config_load("", &f.config, &f.e), 0);
	assert_string_equal(kube_config_server(f.config), "https://h:6443");
	kube_config_free(take(f.config));
	assert_int_equal(kube_config_load("/flag/wins", &f.config, &f.e), -ERR_NOT_FOUND);
	assert_string_equal(f.e.message, "/flag/wins: No such file or directory");
	assert_int_equal(unsetenv("KUBECONFIG"), 0);
	stop(&f);
}

/* In a pod a person's tool takes the file first, and no other cluster for a context that is not there. */
static void test_person(void **state)
{
	static const char home[] = HEAD CLUSTER "users:\n- name: u\n  user: {token: t}\n";
	cleanup(freep) char *usual = NULL, *file = NULL;
	struct fixture f;

	(void)state;
	start(&f);
	assert_int_equal(setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1), 0);
	assert_int_equal(setenv("KUBERNETES_SERVICE_PORT", "443", 1), 0);
	assert_int_equal(unsetenv("KUBECONFIG"), 0);
	assert_int_equal(setenv("HOME", f.dir, 1), 0);
	assert_int_equal(kube_config_person(NULL, "prod", &f.config, &f.e), -ERR_NOT_FOUND);
	assert_non_null(strstr(f.e.message, "no context prod"));
	usual = xasprintf("%s/.kube", f.dir);
	assert_int_equal(mkdir(usual, 0700), 0);
	(void)put(&f, ".kube/config", home);
	assert_int_equal(kube_config_person(NULL, "", &f.config, &f.e), 0);
	assert_string_equal(kube_config_server(f.config), "https://h:6443");
	assert_int_equal(kube_config_person(NULL, "prod", &f.config, &f.e), -ERR_NOT_FOUND);
	assert_int_equal(unsetenv("KUBERNETES_SERVICE_HOST"), 0);
	file = xasprintf("%s/config", usual);
	assert_int_equal(unlink(file), 0);
	assert_int_equal(rmdir(usual), 0);
	stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_inline),	      cmocka_unit_test(test_files_and_merge),
		cmocka_unit_test(test_errors),	      cmocka_unit_test(test_missing_credentials),
		cmocka_unit_test(test_snapshots),     cmocka_unit_test(test_exec),
		cmocka_unit_test(test_exec_failures), cmocka_unit_test(test_in_cluster),
		cmocka_unit_test(test_load),	      cmocka_unit_test(test_person),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
