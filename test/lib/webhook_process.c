#include "test/lib/webhook_process.h"

#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/lib/peer.h"

enum { ARGS = 16 };

char webhook_cert[64], webhook_key[64];

static char program[512];
static char folder[] = "/tmp/test_webhook.XXXXXX";

static void must(bool ok, const char *what)
{
	if (ok)
		return;
	(void)fprintf(stderr, "webhook_process: %s failed\n", what);
	abort();
}

static void limit_files(unsigned long n)
{
	struct rlimit l = { n, n };

	if (n)
		(void)setrlimit(RLIMIT_NOFILE, &l);
}

void webhook_run(struct webhook_process *p, const char *arguments)
{
	cleanup(freep) char *copy = xstrdup(arguments);
	char *argv[ARGS] = { program }, *save = NULL;
	int n = 1, fds[2];

	for (char *a = strtok_r(copy, " ", &save); a && n < ARGS - 1;
	     a = strtok_r(NULL, " ", &save))
		argv[n++] = a;
	buf_init(&p->said, 1 << 20);
	must(!pipe2(fds, O_CLOEXEC), "a pipe");
	p->pid = fork();
	must(p->pid >= 0, "fork");
	if (!p->pid) {
		(void)dup2(fds[1], STDERR_FILENO);
		limit_files(p->files);
		(void)execv(program, argv);
		_exit(127);
	}
	(void)close(fds[1]);
	p->err = fds[0];
}

/* Reads on; false at the end. */
static bool listen_to(struct webhook_process *p)
{
	char piece[4096];
	ssize_t n = p->err < 0 ? 0 : read(p->err, piece, sizeof(piece));

	if (n <= 0)
		return false;
	buf_add(&p->said, piece, (size_t)n);
	return true;
}

int webhook_wait(struct webhook_process *p)
{
	int status;

	while (listen_to(p)) {
	}
	must(waitpid(p->pid, &status, 0) == p->pid, "waitpid");
	if (p->err >= 0)
		(void)close(p->err);
	must(WIFEXITED(status), "an orderly exit");
	return WEXITSTATUS(status);
}

void webhook_stop(struct webhook_process *p)
{
	must(!kill(p->pid, SIGTERM), "kill");
	must(webhook_wait(p) == 0, "exit status 0");
	buf_done(&p->said);
}

static int number_after(const struct webhook_process *p, const char *label)
{
	const char *at = strstr(buf_str(&p->said), label);

	must(at, label);
	return (int)strtol(at + strlen(label), NULL, 10);
}

void webhook_serve(struct webhook_process *p, const char *more)
{
	cleanup(freep) char *arguments = xasprintf(
		"--tls-cert-file=%s --tls-key-file %s --bind-address 127.0.0.1:0 "
		"--metrics-bind-address=127.0.0.1:0 --health-probe-bind-address=127.0.0.1:0 %s",
		webhook_cert, webhook_key, more);

	webhook_run(p, arguments);
	while (!strstr(buf_str(&p->said), "msg=serving") || !str_ends(buf_str(&p->said), "\n"))
		must(listen_to(p), "serving");
	p->port = number_after(p, " port=");
	p->health = number_after(p, " health=");
	p->metrics = number_after(p, " metrics=");
}

long webhook_memory(const struct webhook_process *p, const char *line)
{
	char path[64], text[4096], *at;
	FILE *f;
	size_t n;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)p->pid);
	f = fopen(path, "re");
	must(f != NULL, path);
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	(void)fclose(f);
	at = strstr(text, line);
	must(at != NULL, line);
	return strtol(at + strlen(line) + 1, NULL, 10);
}

/* build/PROFILE/test/unit/NAME -> build/PROFILE/bin/celld-webhook */
int webhook_setup(void **state)
{
	char self[400];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	(void)state;
	if (n <= 0 || !mkdtemp(folder))
		return -1;
	self[n] = '\0';
	(void)snprintf(program, sizeof(program), "%s/bin/celld-webhook",
		       dirname(dirname(dirname(self))));
	(void)snprintf(webhook_cert, sizeof(webhook_cert), "%s/tls.crt", folder);
	(void)snprintf(webhook_key, sizeof(webhook_key), "%s/tls.key", folder);
	peer_write_pair(webhook_cert, webhook_key, "good", 86400);
	return 0;
}

int webhook_teardown(void **state)
{
	(void)state;
	(void)unlink(webhook_cert);
	(void)unlink(webhook_key);
	return rmdir(folder);
}
