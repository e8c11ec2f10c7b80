/* The program itself, as a process: command lines, probes, a drain, what it says when it cannot start. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "test/lib/peer.h"
#include "test/lib/webhook_process.h"

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
		struct webhook_process p = { 0 };

		webhook_run(&p, cases[i].arguments);
		assert_int_equal(webhook_wait(&p), cases[i].status);
		assert_string_equal(buf_str(&p.said), cases[i].line);
		buf_done(&p.said);
	}
}

static void test_port_in_use(void **state)
{
	struct webhook_process first = { 0 }, second = { 0 };
	cleanup(freep) char *arguments = NULL, *want = NULL;

	(void)state;
	webhook_serve(&first, "--lame-duck 0s");
	arguments = xasprintf("--tls-cert-file %s --tls-key-file %s --bind-address 127.0.0.1:%d",
			      webhook_cert, webhook_key, first.port);
	want = xasprintf("celld-webhook: cannot listen on 127.0.0.1:%d: Address already in use\n",
			 first.port);
	webhook_run(&second, arguments);
	assert_int_equal(webhook_wait(&second), 1);
	assert_string_equal(buf_str(&second.said), want);
	assert_int_equal(kill(first.pid, SIGTERM), 0);
	assert_int_equal(webhook_wait(&first), 0);
	buf_done(&first.said);
	buf_done(&second.said);
}

static void test_it_serves_and_counts(void **state)
{
	struct webhook_process p = { 0 };
	struct peer *c;

	(void)state;
	webhook_serve(&p, "--lame-duck 0s");
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
	assert_int_equal(webhook_wait(&p), 0);
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
	struct webhook_process p = { 0 };
	struct peer *keep, *fresh, *half;

	(void)state;
	webhook_serve(&p, "--lame-duck 3s");
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
	assert_int_equal(webhook_wait(&p), 0);
	assert_non_null(strstr(buf_str(&p.said), "msg=stopped idle_connections_closed=0\n"));
	buf_done(&p.said);
}

/* A certificate that has run out serves nobody: the pod is not ready. */
static void test_readiness_needs_a_valid_certificate(void **state)
{
	struct webhook_process p = { 0 };

	(void)state;
	peer_write_pair(webhook_cert, webhook_key, "old", -60);
	webhook_serve(&p, "--lame-duck 0s");
	ask(p.health, false, "/readyz", 503, "the serving certificate has expired\n");
	ask(p.health, false, "/healthz", 200, "ok\n");
	assert_int_equal(kill(p.pid, SIGINT), 0);
	assert_int_equal(webhook_wait(&p), 0);
	buf_done(&p.said);
	peer_write_pair(webhook_cert, webhook_key, "good", 86400);
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

	return cmocka_run_group_tests(tests, webhook_setup, webhook_teardown);
}
