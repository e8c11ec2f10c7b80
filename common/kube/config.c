#include "common/kube/config.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/http.h"
#include "common/kube/exec.h"
#include "common/kube/file.h"
#include "common/kube/kubeconfig.h"
#include "common/limits.h"

enum {
	FRESH_MS = 60000,  /* how long a snapshot of files is good */
	RETRY_MS = 5000,   /* after a failure, while an older snapshot serves */
	LEEWAY_MS = 10000, /* before the plugin's expiry */
	EXEC_MS = 60000,
};

static const char mount[] = "/var/run/secrets/kubernetes.io/serviceaccount";

struct kube_config {
	struct kube_source source; /* never changes */
	pthread_mutex_t lock; /* of what follows; held while credentials are made, so that they are
				 made once */
	struct kube_auth *current;
	int64_t not_before_ms; /* of the next attempt after a failure */
};

static void wipe(char *s)
{
	if (s)
		explicit_bzero(s, strlen(s));
	free(s);
}

/* --- making a config -------------------------------------------------------------------------- */

static struct kube_config *config_new(struct kube_source *source)
{
	struct kube_config *c = xcalloc(1, sizeof(*c));

	(void)pthread_mutex_init(&c->lock, NULL);
	c->source = *source;
	*source = (struct kube_source){ .server = NULL };
	if (str_empty(c->source.namespace)) {
		free(c->source.namespace);
		c->source.namespace = xstrdup("default");
	}
	return c;
}

void kube_config_free(struct kube_config *c)
{
	if (!c)
		return;
	if (c->current)
		kube_auth_release(c->current);
	kube_source_done(&c->source);
	(void)pthread_mutex_destroy(&c->lock);
	free(c);
}

int kube_config_in_cluster(const char *dir, struct kube_config **ret, struct err *e)
{
	const char *host = getenv("KUBERNETES_SERVICE_HOST");
	const char *port = getenv("KUBERNETES_SERVICE_PORT");
	struct kube_source s = { .server = NULL };
	struct buf server = BUF_INIT(1024);
	struct err ignored = ERR_INIT;
	cleanup(freep) char *ns_file = NULL;

	dir = dir ? dir : mount;
	if (str_empty(host) || str_empty(port))
		return err_set(e, ERR_NOT_FOUND,
			       "not in a cluster: KUBERNETES_SERVICE_HOST or "
			       "KUBERNETES_SERVICE_PORT is not set");
	buf_puts(&server, "https://");
	http_authority(host, 0, &server);
	buf_printf(&server, ":%s", port);
	s.server = buf_take(&server);
	s.token_file = xasprintf("%s/token", dir);
	s.ca_file = xasprintf("%s/ca.crt", dir);
	ns_file = xasprintf("%s/namespace", dir);
	(void)file_read_line(ns_file, LIMIT_TOKEN_FILE, &s.namespace, &ignored);
	if (access(s.token_file, F_OK)) {
		int r = err_errno(e, errno, "%s", s.token_file);

		kube_source_done(&s);
		return r;
	}
	*ret = config_new(&s);
	return 0;
}

int kube_config_file(const char *paths, const char *context, struct kube_config **ret,
		     struct err *e)
{
	struct kube_source s = { .server = NULL };
	int r = kubeconfig_read(paths, context, &s, e);

	if (r < 0)
		return r;
	*ret = config_new(&s);
	return 0;
}

static int no_cluster(struct err *e)
{
	return err_set(
		e, ERR_NOT_FOUND,
		"no cluster: not in a pod, KUBECONFIG is not set, ~/.kube/config is not there");
}

/* ~/.kube/config where it is there, else NULL. */
static char *usual_file(void)
{
	const char *home = getenv("HOME");
	cleanup(freep) char *usual = str_empty(home) ? NULL : xasprintf("%s/.kube/config", home);

	return usual && !access(usual, F_OK) ? take(usual) : NULL;
}

int kube_config_load(const char *flag, struct kube_config **ret, struct err *e)
{
	const char *paths = str_empty(flag) ? getenv("KUBECONFIG") : flag;
	cleanup(freep) char *usual = usual_file();
	int r;

	if (!str_empty(paths))
		return kube_config_file(paths, NULL, ret, e);
	r = kube_config_in_cluster(NULL, ret, e);
	if (r != -ERR_NOT_FOUND)
		return r;
	return usual ? kube_config_file(usual, NULL, ret, e) : no_cluster(e);
}

int kube_config_person(const char *flag, const char *context, struct kube_config **ret,
		       struct err *e)
{
	const char *paths = str_empty(flag) ? getenv("KUBECONFIG") : flag;
	cleanup(freep) char *usual = usual_file();
	int r;

	if (str_empty(paths))
		paths = usual;
	if (paths)
		return kube_config_file(paths, context, ret, e);
	if (!str_empty(context))
		return err_set(
			e, ERR_NOT_FOUND,
			"no context %s: KUBECONFIG is not set, and there is no ~/.kube/config",
			context);
	r = kube_config_in_cluster(NULL, ret, e);
	return r == -ERR_NOT_FOUND ? no_cluster(e) : r;
}

struct kube_config *kube_config_plain(const char *server, const char *token)
{
	struct kube_source s = { .plain_ok = true };

	s.server = xstrdup(server);
	s.token = token ? xstrdup(token) : NULL;
	return config_new(&s);
}

const char *kube_config_server(const struct kube_config *c)
{
	return c->source.server;
}

const char *kube_config_namespace(const struct kube_config *c)
{
	return c->source.namespace;
}

const char *kube_config_tls_server_name(const struct kube_config *c)
{
	return c->source.tls_server_name;
}

bool kube_config_insecure(const struct kube_config *c)
{
	return c->source.insecure;
}

bool kube_config_plain_ok(const struct kube_config *c)
{
	return c->source.plain_ok;
}

/* --- credentials ------------------------------------------------------------------------------ */

void kube_auth_release(const struct kube_auth *a)
{
	struct kube_auth *mine = (struct kube_auth *)(uintptr_t)a; /* only the count changes */

	if (__atomic_sub_fetch(&mine->refs, 1, __ATOMIC_ACQ_REL))
		return;
	wipe(mine->token);
	wipe(mine->key_pem);
	free(mine->cert_pem);
	free(mine->ca_pem);
	free(mine);
}

/* The text when there is one, else the file's contents, else NULL. */
static int text_or_file(const char *text, const char *file, size_t max, char **ret, struct err *e)
{
	if (text)
		*ret = xstrdup(text);
	else if (file)
		return file_read(file, max, ret, e);
	return 0;
}

static int auth_from_files(const struct kube_source *s, struct kube_auth *a, struct err *e)
{
	int r = text_or_file(s->ca_pem, s->ca_file, LIMIT_CONFIG_FILE, &a->ca_pem, e);

	if (r == 0)
		r = text_or_file(s->cert_pem, s->cert_file, LIMIT_CONFIG_FILE, &a->cert_pem, e);
	if (r == 0)
		r = text_or_file(s->key_pem, s->key_file, LIMIT_CONFIG_FILE, &a->key_pem, e);
	if (r == 0 && s->token_file)
		r = file_read_line(s->token_file, LIMIT_TOKEN_FILE, &a->token, e);
	else if (r == 0 && s->token)
		a->token = xstrdup(s->token);
	if (r == 0 && s->token_file && str_empty(a->token))
		r = err_set(e, ERR_INVALID, "%s: empty", s->token_file);
	return r;
}

static int auth_from_plugin(const struct kube_source *s, struct kube_auth *a, struct err *e)
{
	struct exec_result x = { .token = NULL };
	int r = exec_run(s, a->ca_pem, EXEC_MS, &x, e);

	if (r < 0)
		return r;
	wipe(a->token);
	a->token = x.token;
	if (x.cert_pem) {
		free(a->cert_pem);
		wipe(a->key_pem);
		a->cert_pem = x.cert_pem;
		a->key_pem = x.key_pem;
	}
	a->expires_wall_ms = x.expires_wall_ms;
	return 0;
}

static int auth_make(const struct kube_source *s, struct kube_auth **ret, struct err *e)
{
	struct kube_auth *a = xcalloc(1, sizeof(*a));
	int r;

	a->refs = 1;
	r = auth_from_files(s, a, e);
	if (r == 0 && s->exec)
		r = auth_from_plugin(s, a, e);
	if (r < 0) {
		kube_auth_release(a);
		return r;
	}
	a->made_ms = clock_mono_ms();
	*ret = a;
	return 0;
}

static bool is_stale(const struct kube_config *c, const struct kube_auth *refused)
{
	const struct kube_auth *a = c->current;

	if (!a || a == refused)
		return true;
	if (clock_mono_ms() < c->not_before_ms)
		return false;
	if (c->source.exec)
		return a->expires_wall_ms && clock_wall_ms() > a->expires_wall_ms - LEEWAY_MS;
	return clock_mono_ms() - a->made_ms >= FRESH_MS;
}

int kube_config_auth(struct kube_config *c, const struct kube_auth *refused,
		     const struct kube_auth **ret, struct err *e)
{
	struct err failed = ERR_INIT;
	struct kube_auth *a;
	int r = 0;

	(void)pthread_mutex_lock(&c->lock);
	if (is_stale(c, refused)) {
		r = auth_make(&c->source, &a, &failed);
		if (r == 0) {
			if (c->current)
				kube_auth_release(c->current);
			c->current = a;
		} else {
			c->not_before_ms = clock_mono_ms() + RETRY_MS;
		}
	}
	if (c->current) {
		/* A file that is away for a while: the last good credentials serve on. */
		r = 0;
		(void)__atomic_add_fetch(&c->current->refs, 1, __ATOMIC_RELAXED);
		*ret = c->current;
	} else {
		*e = failed;
		e->code = ERR_UNAUTHORIZED;
		r = -ERR_UNAUTHORIZED;
	}
	(void)pthread_mutex_unlock(&c->lock);
	return r;
}
