/* The two servers as processes: what a pod's log and exit status say when they cannot start, and how they end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base.h"
#include "test/lib/peer.h"

enum { USAGE = 2, FAILED = 1, SAID = 1 << 16, PATIENCE_MS = 60000 };

static char folder[] = "/tmp/test_process.XXXXXX";

/* build/PROFILE/test/unit/test_process -> build/PROFILE/bin */
static char *programs(void)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	char *end;

	assert_true(n > 0);
	path[n] = '\0';
	end = strstr(path, "/test/unit/");
	assert_non_null(end);
	*end = '\0';
	return xasprintf("%s/bin", path);
}

/* A socket that listens and that nobody accepts from: whoever connects waits for ever. */
static int listener(int *ret_port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(fd, 16), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &n), 0);
	*ret_port = ntohs(a.sin_port);
	return fd;
}

static void write_file(const char *name, const char *text)
{
	cleanup(freep) char *path = xasprintf("%s/%s", folder, name);
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static void write_kubeconfig(const char *name, int port)
{
	cleanup(freep) char *text =
		xasprintf("{apiVersion: v1, kind: Config, current-context: c,\n"
			  "contexts: [{name: c, context: {cluster: k, user: u}}],\n"
			  "clusters: [{name: k, cluster: {server: 'https://127.0.0.1:%d'}}],\n"
			  "users: [{name: u, user: {token: t}}]}\n",
			  port);

	write_file(name, text);
}

/* --- starts that fail ------------------------------------------------------------------------------- */

struct start {
	const char *command; /* $c and $w are the programs, $d the folder, $p a port in use */
	int status;
	const char *says;
};

static const struct start starts[] = {
	{ "$c --nonsense", USAGE, "--nonsense" },
	{ "$c --settle=10", USAGE, "--settle" },
	{ "$c --workers=0", USAGE, "--workers" },
	{ "$c surplus", USAGE, "'surplus'" },
	{ "$c --kubeconfig=$d/dead $quiet --compat-table=$d/none.yaml", FAILED, "none.yaml" },
	{ "$c --kubeconfig=$d/dead $quiet --compat-table=$d/broken.yaml", FAILED,
	  "broken.yaml:2: releases: missing" },
	{ "$c --kubeconfig=$d/dead $quiet --compat-table=$d/no-yaml.yaml", FAILED, "no-yaml.yaml" },
	{ "$c --kubeconfig=$d/none", FAILED, "$d/none" },
	{ "$c --kubeconfig=$d/no-yaml.yaml", FAILED, "no-yaml.yaml" },
	{ "$c --kubeconfig=$d", FAILED, "$d" },
	{ "$c --kubeconfig=$d/dead --health-probe-bind-address=127.0.0.1:$p", FAILED,
	  "--health-probe-bind-address" },
	{ "$c --kubeconfig=$d/dead --health-probe-bind-address=127.0.0.1:0 "
	  "--metrics-bind-address=127.0.0.1:$p",
	  FAILED, "--metrics-bind-address" },
	{ "$w --nonsense", USAGE, "--nonsense" },
	{ "$w --lame-duck=soon", USAGE, "--lame-duck" },
	{ "$w surplus", USAGE, "'surplus'" },
	{ "$w", USAGE, "--tls-cert-file" },
	{ "$w $tls --self-managed-certs", USAGE, "--self-managed-certs" },
	{ "$w $tls --bind-address=127.0.0.1:port", USAGE, "--bind-address" },
	{ "$w --tls-cert-file=$d/none.crt --tls-key-file=$d/none.key $any", FAILED, "none.crt" },
	{ "$w --tls-cert-file=$d/tls.key --tls-key-file=$d/tls.crt $any", FAILED, "tls.key" },
	{ "$w $tls $any --bind-address=127.0.0.1:$p", FAILED, "127.0.0.1:$p" },
	{ "$w $tls $any --health-probe-bind-address=127.0.0.1:$p", FAILED, "127.0.0.1:$p" },
	{ "$w $tls $any --compat-table=$d/none.yaml", FAILED, "none.yaml" },
	{ "$w $tls $any --compat-table=$d/broken.yaml", FAILED,
	  "broken.yaml:2: releases: missing" },
};

static int run(const char *command, char said[SAID], int port)
{
	cleanup(freep) char *bin = programs(), *line = NULL;
	size_t n;
	FILE *f;
	int r;

	/* a ' in a name of ours there is not */
	line = xasprintf(
		"c='%s/celld-controller' w='%s/celld-webhook' d='%s' p=%d; unset KUBECONFIG; "
		"export HOME=\"$d\"; tls=\"--tls-cert-file=$d/tls.crt --tls-key-file=$d/tls.key\"; "
		"quiet='--health-probe-bind-address=127.0.0.1:0 "
		"--metrics-bind-address=127.0.0.1:0'; any='--bind-address=127.0.0.1:0 "
		"--health-probe-bind-address=127.0.0.1:0 "
		"--metrics-bind-address=127.0.0.1:0'; %s 2>&1",
		bin, bin, folder, port, command);
	f = popen(line, "re"); /* NOLINT(cert-env33-c): what a shell sees */
	assert_non_null(f);
	n = fread(said, 1, SAID - 1, f);
	said[n] = '\0';
	r = pclose(f);
	if (!WIFEXITED(r))
		fail_msg("%s: ended by signal %d: %s", command, WTERMSIG(r), said);
	return WEXITSTATUS(r);
}

/* says with $d and $p replaced */
static char *expected(const char *says, int port)
{
	const char *dollar = strchr(says, '$');

	if (!dollar)
		return xstrdup(says);
	if (dollar[1] == 'd')
		return xasprintf("%.*s%s%s", (int)(dollar - says), says, folder, dollar + 2);
	return xasprintf("%.*s%d%s", (int)(dollar - says), says, port, dollar + 2);
}

static void a_start_that_fails_says_why_in_one_line(void **state)
{
	static char said[SAID];
	int port, fd = listener(&port);

	(void)state;
	for (size_t i = 0; i < array_len(starts); i++) {
		const struct start *s = &starts[i];
		cleanup(freep) char *says = expected(s->says, port);
		const char *who = s->command[1] == 'c' ? "celld-controller: " : "celld-webhook: ";
		int status = run(s->command, said, port);
		const char *end = strchr(said, '\n');

		if (status != s->status || !str_starts(said, who) || !strstr(said, says) || !end ||
		    end[1])
			fail_msg("%s: status %d, says %s", s->command, status, said);
	}
	(void)close(fd);
}

static void version_and_help_need_nothing(void **state)
{
	static char said[SAID];

	(void)state;
	assert_int_equal(run("$c --version", said, 0), 0);
	assert_true(str_starts(said, "celld-controller "));
	assert_int_equal(run("$w --version", said, 0), 0);
	assert_true(str_starts(said, "celld-webhook "));
	assert_int_equal(run("$c --help", said, 0), 0);
	assert_non_null(strstr(said, "usage: celld-controller [flags]\n"));
	assert_non_null(strstr(said, "--compat-table FILE"));
	assert_int_equal(run("$w -h", said, 0), 0);
	assert_non_null(strstr(said, "--tls-cert-file FILE"));
}

/* --- the end ---------------------------------------------------------------------------------------- */

struct process {
	pid_t pid;
	int out;
	char said[SAID];
	size_t n;
};

static void start_process(struct process *p, const char *name, const char *const *args)
{
	cleanup(freep) char *bin = programs(), *path = xasprintf("%s/%s", bin, name);
	char *argv[16] = { path };
	int ends[2];

	for (size_t i = 0; args[i]; i++)
		argv[i + 1] = (char *)(uintptr_t)args[i];
	p->n = 0;
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	p->out = ends[0];
	p->pid = fork();
	assert_true(p->pid >= 0);
	if (p->pid == 0) {
		(void)dup2(ends[1], STDERR_FILENO);
		(void)execv(path, argv);
		_exit(127);
	}
	(void)close(ends[1]);
}

/* Reads until text has been said; text NULL: until the process has closed its end. */
static void wait_for(struct process *p, const char *text)
{
	for (;;) {
		struct pollfd f = { .fd = p->out, .events = POLLIN };
		ssize_t r;

		p->said[p->n] = '\0';
		if (text && strstr(p->said, text))
			return;
		if (poll(&f, 1, PATIENCE_MS) != 1) {
			(void)kill(p->pid, SIGKILL);
			fail_msg("waiting for %s: %s", text ? text : "the end", p->said);
		}
		r = read(p->out, p->said + p->n, SAID - 1 - p->n);
		if (r <= 0 && text)
			fail_msg("ended without %s: %s", text, p->said);
		if (r <= 0)
			return;
		p->n += (size_t)r;
	}
}

/* What has been asked to end ends by itself, with status 0. */
static void expect_end(struct process *p, int sig)
{
	int status;

	assert_int_equal(kill(p->pid, sig), 0);
	wait_for(p, NULL);
	assert_int_equal(waitpid(p->pid, &status, 0), p->pid);
	(void)close(p->out);
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		fail_msg("status %x: %s", (unsigned)status, p->said);
}

#define QUIET_PORTS "--health-probe-bind-address=127.0.0.1:0", "--metrics-bind-address=127.0.0.1:0"

static void end_controller(const char *kubeconfig, int sig)
{
	static struct process p;
	cleanup(freep) char *config = xasprintf("--kubeconfig=%s/%s", folder, kubeconfig);
	const char *args[] = { config, QUIET_PORTS, NULL };

	start_process(&p, "celld-controller", args);
	wait_for(&p, "msg=started");
	expect_end(&p, sig);
	assert_non_null(strstr(p.said, "msg=ending"));
}

static void the_controller_ends_without_an_api_server(void **state)
{
	int port, fd = listener(&port);

	(void)state;
	end_controller("dead", SIGTERM); /* connections are refused */
	write_kubeconfig("silent", port);
	end_controller("silent", SIGTERM); /* connections stand, and nothing comes */
	end_controller("silent", SIGINT);
	(void)close(fd);
}

static void the_webhook_ends(void **state)
{
	static struct process p;
	cleanup(freep) char *cert = xasprintf("--tls-cert-file=%s/tls.crt", folder);
	cleanup(freep) char *key = xasprintf("--tls-key-file=%s/tls.key", folder);
	cleanup(freep) char *config = xasprintf("--kubeconfig=%s/dead", folder);
	const char *args[] = {
		cert,	     key, config, "--bind-address=127.0.0.1:0", "--lame-duck=10ms",
		QUIET_PORTS, NULL
	};

	(void)state;
	start_process(&p, "celld-webhook", args);
	wait_for(&p, "msg=serving");
	expect_end(&p, SIGTERM);
	assert_non_null(strstr(p.said, "msg=stopped"));
}

static int set_up(void **state)
{
	cleanup(freep) char *cert = NULL, *key = NULL;
	int port, fd;

	(void)state;
	if (!mkdtemp(folder))
		return -1;
	cert = xasprintf("%s/tls.crt", folder);
	key = xasprintf("%s/tls.key", folder);
	peer_write_pair(cert, key, "localhost", 3600);
	write_file("broken.yaml", "# no table\nfacts: []\nboundaries: []\nenvironment: {}\n");
	write_file("no-yaml.yaml", "a: [\n");
	fd = listener(&port);
	(void)close(fd);
	write_kubeconfig("dead", port);
	return 0;
}

static int tear_down(void **state)
{
	static const char *const names[] = { "tls.crt",	     "tls.key", "broken.yaml",
					     "no-yaml.yaml", "dead",	"silent" };

	(void)state;
	for (size_t i = 0; i < array_len(names); i++) {
		cleanup(freep) char *path = xasprintf("%s/%s", folder, names[i]);

		(void)unlink(path);
	}
	return rmdir(folder);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_start_that_fails_says_why_in_one_line),
		cmocka_unit_test(version_and_help_need_nothing),
		cmocka_unit_test(the_controller_ends_without_an_api_server),
		cmocka_unit_test(the_webhook_ends),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
