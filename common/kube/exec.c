#include "common/kube/exec.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/codec.h"
#include "common/json.h"
#include "common/kube/kubeconfig.h"
#include "common/limits.h"

static const char api_version[] = "client.authentication.k8s.io/v1";

/* KUBERNETES_EXEC_INFO=... */
static char *info(const struct kube_source *s, const char *ca_pem)
{
	cleanup_json struct json *j = json_new_object();
	struct json *spec = json_object_at(j, "spec");
	cleanup(freep) char *text = NULL;

	json_set_str(j, "apiVersion", api_version);
	json_set_str(j, "kind", "ExecCredential");
	json_set_bool(spec, "interactive", false);
	if (s->exec->provide_cluster_info) {
		struct json *cluster = json_object_at(spec, "cluster");
		cleanup(freep) char *ca =
			ca_pem ? codec_base64_encode(ca_pem, strlen(ca_pem)) : NULL;

		json_set_str(cluster, "server", s->server);
		json_set_str(cluster, "tls-server-name", s->tls_server_name);
		json_set_str(cluster, "certificate-authority-data", ca);
		if (s->insecure)
			json_set_bool(cluster, "insecure-skip-tls-verify", true);
	}
	text = json_text(j);
	return xasprintf("KUBERNETES_EXEC_INFO=%s", text);
}

/* Puts NAME=value into env in the place of an older one. */
static void put_env(struct strlist *env, const char *pair)
{
	size_t n = (size_t)(strchr(pair, '=') - pair) + 1;

	for (size_t i = 0; i < env->n; i++) {
		if (strncmp(env->v[i], pair, n) == 0) {
			free(env->v[i]);
			env->v[i] = xstrdup(pair);
			return;
		}
	}
	strlist_add(env, pair);
}

static void environment(const struct kube_source *s, const char *ca_pem, struct strlist *env)
{
	cleanup(freep) char *pair = info(s, ca_pem);

	for (char **v = environ; *v; v++) {
		if (strchr(*v, '='))
			strlist_add(env, *v);
	}
	for (size_t i = 0; i < s->exec->env.n; i++)
		put_env(env, s->exec->env.v[i]);
	put_env(env, pair);
}

/* The list as argv or envp: its strings, ended by NULL; free the array alone. */
static char **vector(const struct strlist *l)
{
	char **v = xcalloc(l->n + 1, sizeof(*v));

	if (l->n)
		memcpy(v, l->v, l->n * sizeof(*v));
	return v;
}

/* Our signals, blocked in threads and partly ignored, must not be the plugin's. */
static int spawn(const struct kube_source *s, const char *ca_pem, int out, pid_t *ret)
{
	struct strlist args = STRLIST_INIT, env = STRLIST_INIT;
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none, pipe_signal;
	char **argv, **envp;
	int r;

	strlist_add(&args, s->exec->command);
	for (size_t i = 0; i < s->exec->args.n; i++)
		strlist_add(&args, s->exec->args.v[i]);
	environment(s, ca_pem, &env);
	argv = vector(&args);
	envp = vector(&env);
	(void)sigemptyset(&none);
	(void)sigemptyset(&pipe_signal);
	(void)sigaddset(&pipe_signal, SIGPIPE);
	(void)posix_spawn_file_actions_init(&actions);
	(void)posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	(void)posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	(void)posix_spawnattr_init(&attr);
	(void)posix_spawnattr_setsigmask(&attr, &none);
	(void)posix_spawnattr_setsigdefault(&attr, &pipe_signal);
	(void)posix_spawnattr_setpgroup(&attr, 0); /* killed with its children */
	(void)posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
						      POSIX_SPAWN_SETPGROUP);
	r = posix_spawnp(ret, s->exec->command, &actions, &attr, argv, envp);
	(void)posix_spawn_file_actions_destroy(&actions);
	(void)posix_spawnattr_destroy(&attr);
	free(argv);
	free(envp);
	strlist_done(&args);
	strlist_done(&env);
	return r;
}

/* Until its end; false: too long, or too late. */
static bool read_until(int fd, int64_t until_ms, struct buf *to)
{
	char part[4096];

	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		int64_t left = until_ms - clock_mono_ms();
		ssize_t n;

		if (left <= 0 || !buf_ok(to))
			return false;
		if (poll(&p, 1, (int)left) <= 0)
			continue;
		n = read(fd, part, sizeof(part));
		if (n == 0)
			return true;
		if (n > 0)
			buf_add(to, part, (size_t)n);
		explicit_bzero(part, sizeof(part));
	}
}

static int output(const struct kube_source *s, const char *ca_pem, int64_t timeout_ms,
		  struct buf *to, struct err *e)
{
	const char *command = s->exec->command;
	cleanup(closep) int in = -1;
	int fds[2], status = 0, r;
	pid_t pid = 0;
	bool whole;

	if (pipe2(fds, O_CLOEXEC))
		return err_errno(e, errno, "pipe");
	in = fds[0];
	r = spawn(s, ca_pem, fds[1], &pid);
	(void)close(fds[1]);
	if (r) {
		const char *hint = s->exec->install_hint;

		return err_set(e, ERR_UNAUTHORIZED, "exec plugin %s: cannot be run (%s)%s%.300s",
			       command, r == ENOENT ? "not found" : "see its permissions",
			       hint ? ": " : "", hint ? hint : "");
	}
	whole = read_until(in, clock_mono_ms() + timeout_ms, to);
	if (!whole)
		(void)kill(-pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!whole)
		return err_set(e, ERR_UNAUTHORIZED,
			       "exec plugin %s: no answer within %lld ms, or a too long one",
			       command, (long long)timeout_ms);
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return err_set(e, ERR_UNAUTHORIZED, "exec plugin %s: failed with exit status %d",
			       command, WIFEXITED(status) ? WEXITSTATUS(status) : 128);
	return 0;
}

static char *copy_of(const struct json *j, const char *name)
{
	const char *s = json_get_str(j, name);

	return str_empty(s) ? NULL : xstrdup(s);
}

static int answer(const char *command, const struct buf *text, struct exec_result *ret,
		  struct err *e)
{
	cleanup_json struct json *j = NULL;
	const struct json *status;
	const char *version, *expires, *token, *cert, *key;

	if (json_parse(buf_str(text), text->len, &j, e) < 0)
		return err_set(e, ERR_UNAUTHORIZED, "exec plugin %s: its answer is not JSON",
			       command);
	version = json_get_str(j, "apiVersion");
	if (!version || !str_eq(version, api_version))
		return err_set(e, ERR_UNAUTHORIZED, "exec plugin %s: apiVersion is not %s", command,
			       api_version);
	status = json_get(j, "status");
	token = json_get_str(status, "token");
	cert = json_get_str(status, "clientCertificateData");
	key = json_get_str(status, "clientKeyData");
	if (str_empty(token) && str_empty(cert))
		return err_set(e, ERR_UNAUTHORIZED, "exec plugin %s: neither token nor certificate",
			       command);
	if (str_empty(cert) != str_empty(key))
		return err_set(e, ERR_UNAUTHORIZED,
			       "exec plugin %s: certificate and key go together", command);
	expires = json_get_str(status, "expirationTimestamp");
	*ret = (struct exec_result){ .token = copy_of(status, "token"),
				     .cert_pem = copy_of(status, "clientCertificateData"),
				     .key_pem = copy_of(status, "clientKeyData") };
	if (expires && clock_parse(expires) > 0)
		ret->expires_wall_ms = clock_parse(expires);
	return 0;
}

int exec_run(const struct kube_source *source, const char *ca_pem, int64_t timeout_ms,
	     struct exec_result *ret, struct err *e)
{
	struct buf text = BUF_INIT(LIMIT_TOKEN_FILE);
	int r = output(source, ca_pem, timeout_ms, &text, e);

	if (r == 0)
		r = answer(source->exec->command, &text, ret, e);
	if (text.data)
		explicit_bzero(text.data, text.room);
	buf_done(&text);
	return r;
}
