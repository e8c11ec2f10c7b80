/* The program itself, as a process: command lines, probes, a drain, what it says when it cannot start. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/buf.h"
#include "test/lib/peer.h"

enum { ARGS = 16 };

static char program[512];
static char folder[] = "/tmp/test_webhook.XXXXXX";
static char cert[64], key[64];

struct process {
	pid_t pid;
	int err; /* reading end of its standard error */
	struct buf said;
	int port, health, metrics;
};

/* Arguments are separated by blanks. */
static void run(struct process *p, const char *arguments)
{
	cleanup(freep) char *copy = xstrdup(arguments);
	char *argv[ARGS] = { program }, *save = NULL;
	int n = 1, fds[2];

	for (char *a = strtok_r(copy, " ", &save); a && n < ARGS - 1;
	     a = strtok_r(NULL, " ", &save))
		argv[n++] = a;
	buf_init(&p->said, 1 << 20);
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	p->pid = fork();
	assert_true(p->pid >= 0);
	if (!p->pid) {
		(void)dup2(fds[1], STDERR_FILENO);
		(void)execv(program, argv);
		_exit(127);
	}
	(void)close(fds[1]);
	p->err = fds[0];
}

/* Reads on; false at the end. */
static bool listen_to(struct process *p)
{
	char piece[4096];
	ssize_t n = read(p->err, piece, sizeof(piece));

	if (n <= 0)
		return false;
	buf_add(&p->said, piece, (size_t)n);
	return true;
}

/* Its exit status, after all that it says. */
static int wait_for(struct process *p)
{
	int status;

	while (listen_to(p)) {
	}
	assert_int_equal(waitpid(p->pid, &status, 0), p->pid);
	(void)close(p->err);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int number_after(const struct process *p, const char *label)
{
	const char *at = strstr(buf_str(&p->said), label);

	assert_non_null(at);
	return (int)strtol(at + strlen(label), NULL, 10);
}

static void serve(struct process *p, const char *more)
{
	cleanup(freep) char *arguments = xasprintf(
		"--tls-cert-file=%s --tls-key-file %s --bind-address 127.0.0.1:0 "
		"--metrics-bind-address=127.0.0.1:0 --health-probe-bind-address=127.0.0.1:0 %s",
		cert, key, more);

	run(p, arguments);
	while (!strstr(buf_str(&p->said), "msg=serving") || !str_ends(buf_str(&p->said), "\n"))
		assert_true(listen_to(p));
	p->port = number_after(p, " port=");
	p->health = number_after(p, " health=");
	p->metrics = number_after(p, " metrics=");
}

static void expect(struct peer *c, int status, const char *part)
{
	struct peer_answer a;

	peer_read(c, &a);
	assert_int_equal(a.status, status);
	if (!strstr(a.body, part) && !strcasestr(a.head, part))
		fail_msg("no '%s' in %s%s", part, a.head, a.body);
	peer_answer_done(&a);
}

static void ask(int port, bool tls, const char *path, int status, const char *part)
{
	struct peer *c = peer_open(port, tls);

	peer_get(c, path);
	expect(c, status, part);
	peer_close(c);
}

static const char review[] =
	"{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1\",\"request\":{"
	"\"uid\":\"u-1\",\"operation\":\"CREATE\",\"name\":\"chat\",\"namespace\":\"shop\","
	"\"object\":{\"apiVersion\":\"celld-operator.io/v1alpha1\",\"kind\":\"WorkerApp\","
	"\"metadata\":{\"name\":\"chat\"},\"spec\":{\"appVersion\":\"v1\",\"celld\":{\"image\":"
	"\"celld:v0.6.2\"},\"bucket\":{\"name\":\"s3://cells/chat\"},\"replicas\":0}}}}";

static void test_wrong_command_lines(void **state)
{
	static const struct {
		const char *arguments;
		int status;
		const char *line;
	} cases[] = {
		{ "", 2,
		  "celld-webhook: --tls-cert-file and --tls-key-file are both needed, or "
		  "--self-managed-certs; see --help\n" },
		{ "--no-such-flag", 2, "celld-webhook: unknown flag --no-such-flag; see --help\n" },
		{ "--lame-duck soon", 2,
		  "celld-webhook: --lame-duck: 'soon' is not a duration such as 15s, 250ms or "
		  "1m30s\n" },
		{ "--bind-address 9443", 2,
		  "celld-webhook: --bind-address: '9443' is not an address such as :8443, "
		  "0.0.0.0:8443 or [::]:8443\n" },
		{ "start", 2, "celld-webhook: unexpected argument 'start'; see --help\n" },
		{ "--tls-cert-file /nowhere/tls.crt --tls-key-file /nowhere/tls.key", 1,
		  "celld-webhook: certificate: /nowhere/tls.crt: No such file or directory\n" },
		{ "--tls-cert-file a --tls-key-file b --compat-table /nowhere/table.yaml", 1,
		  "celld-webhook: --compat-table: /nowhere/table.yaml: No such file or "
		  "directory\n" },
	};

	(void)state;
	for (size_t i = 0; i < array_len(cases); i++) {
		struct process p;

		run(&p, cases[i].arguments);
		assert_int_equal(wait_for(&p), cases[i].status);
		assert_string_equal(buf_str(&p.said), cases[i].line);
		buf_done(&p.said);
	}
}

static void test_port_in_use(void **state)
{
	struct process first, second;
	cleanup(freep) char *arguments = NULL, *want = NULL;

	(void)state;
	serve(&first, "--lame-duck 0s");
	arguments = xasprintf("--tls-cert-file %s --tls-key-file %s --bind-address 127.0.0.1:%d",
			      cert, key, first.port);
	want = xasprintf("celld-webhook: cannot listen on 127.0.0.1:%d: Address already in use\n",
			 first.port);
	run(&second, arguments);
	assert_int_equal(wait_for(&second), 1);
	assert_string_equal(buf_str(&second.said), want);
	assert_int_equal(kill(first.pid, SIGTERM), 0);
	assert_int_equal(wait_for(&first), 0);
	buf_done(&first.said);
	buf_done(&second.said);
}

static void test_it_serves_and_counts(void **state)
{
	struct process p;
	struct peer *c;

	(void)state;
	serve(&p, "--lame-duck 0s");
	ask(p.port, true, "/healthz", 200, "ok\n");
	ask(p.port, true, "/readyz", 200, "ok\n");
	ask(p.health, false, "/healthz", 200, "ok\n");
	ask(p.health, false, "/readyz", 200, "ok\n");
	ask(p.port, true, "/metrics", 404, "not found");
	ask(p.port, true, "/", 404, "not found");
	ask(p.port, true, "/validate-workerapp", 405, "\r\nAllow: POST\r\n");
	c = peer_open(p.port, true);
	peer_post(c, "/validate-workerapp", review, strlen(review));
	expect(c, 200, "{\"uid\":\"u-1\",\"allowed\":false,\"status\":");
	peer_post(c, "/mutate-workerapp", review, strlen(review));
	expect(c, 200, "{\"uid\":\"u-1\",\"allowed\":true}}\n");
	peer_post(c, "/validate-workerapp", "{}", 2);
	expect(c, 400, "the body is not an AdmissionReview\n");
	peer_close(c);
	ask(p.metrics, false, "/metrics", 200,
	    "celld_webhook_requests_total{endpoint=\"validate-workerapp\",verdict=\"denied\"} 1\n"
	    "celld_webhook_requests_total{endpoint=\"mutate-workerapp\",verdict=\"allowed\"} 1\n"
	    "celld_webhook_requests_total{endpoint=\"validate-workerapp\",verdict=\"invalid\"} "
	    "1\n");
	ask(p.metrics, false, "/metrics", 200,
	    "celld_webhook_request_duration_seconds_count{endpoint=\"mutate-workerapp\"} 1\n");
	assert_int_equal(kill(p.pid, SIGTERM), 0);
	assert_int_equal(wait_for(&p), 0);
	buf_done(&p.said);
}

/* Reads a good answer; whether it ends its connection. */
static bool answer_closes(struct peer *c)
{
	struct peer_answer a;
	bool closes;

	peer_read(c, &a);
	assert_int_equal(a.status, 200);
	closes = strcasestr(a.head, "\r\nConnection: close\r\n") != NULL;
	peer_answer_done(&a);
	return closes;
}

/*
 * After SIGTERM: not ready, and still serving, on the connection that was open and on new ones,
 * each answer with Connection: close; then gone, with status 0.
 */
static void test_sigterm_loses_nothing(void **state)
{
	struct process p;
	struct peer *keep, *fresh, *half;

	(void)state;
	serve(&p, "--lame-duck 3s");
	keep = peer_open(p.port, true);
	peer_post(keep, "/mutate-workerapp", review, strlen(review));
	expect(keep, 200, "allowed");
	half = peer_open(p.port, true);
	peer_puts(half, "POST /mutate-workerapp HTTP/1.1\r\nHost: x\r\n"
			"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n");
	fresh = peer_open(p.port, true);
	assert_int_equal(kill(p.pid, SIGTERM), 0);
	do {
		peer_close(fresh);
		fresh = peer_open(p.port, true);
		peer_post(fresh, "/mutate-workerapp", review, strlen(review));
	} while (!answer_closes(fresh));
	assert_true(peer_at_end(fresh));
	peer_close(fresh);
	ask(p.health, false, "/readyz", 503, "shutting down\n");
	ask(p.health, false, "/healthz", 200, "ok\n");
	peer_post(keep, "/mutate-workerapp", review, strlen(review));
	expect(keep, 200, "\r\nConnection: close\r\n");
	assert_true(peer_at_end(keep));
	peer_close(keep);
	peer_puts(half, "2\r\n{}\r\n0\r\n\r\n");
	expect(half, 400, "the body is not an AdmissionReview\n");
	peer_close(half);
	assert_int_equal(wait_for(&p), 0);
	assert_non_null(strstr(buf_str(&p.said), "msg=stopped idle_connections_closed=0\n"));
	buf_done(&p.said);
}

/* A certificate that has run out serves nobody: the pod is not ready. */
static void test_readiness_needs_a_valid_certificate(void **state)
{
	struct process p;

	(void)state;
	peer_write_pair(cert, key, "old", -60);
	serve(&p, "--lame-duck 0s");
	ask(p.health, false, "/readyz", 503, "the serving certificate has expired\n");
	ask(p.health, false, "/healthz", 200, "ok\n");
	assert_int_equal(kill(p.pid, SIGINT), 0);
	assert_int_equal(wait_for(&p), 0);
	buf_done(&p.said);
	peer_write_pair(cert, key, "good", 86400);
}

/* build/PROFILE/test/unit/test_webhook -> build/PROFILE/bin/celld-webhook */
static int setup(void **state)
{
	char self[400];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	(void)state;
	if (n <= 0 || !mkdtemp(folder))
		return -1;
	self[n] = '\0';
	(void)snprintf(program, sizeof(program), "%s/bin/celld-webhook",
		       dirname(dirname(dirname(self))));
	(void)snprintf(cert, sizeof(cert), "%s/tls.crt", folder);
	(void)snprintf(key, sizeof(key), "%s/tls.key", folder);
	peer_write_pair(cert, key, "good", 86400);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	(void)unlink(cert);
	(void)unlink(key);
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wrong_command_lines),
		cmocka_unit_test(test_port_in_use),
		cmocka_unit_test(test_it_serves_and_counts),
		cmocka_unit_test(test_sigterm_loses_nothing),
		cmocka_unit_test(test_readiness_needs_a_valid_certificate),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
