#include "common/kube/kubeconfig.h"

#include <stdlib.h>
#include <string.h>

#include "common/codec.h"
#include "common/json.h"
#include "common/kube/file.h"
#include "common/limits.h"
#include "common/yaml.h"

/* One file of the list. */
struct part {
	const char *path;
	struct yaml_doc doc;
};

struct parts {
	struct part *v;
	size_t n;
};

/* An entry of clusters, users or contexts. */
struct entry {
	const struct part *part;
	const char *list, *name;
	const struct json *value; /* its cluster, user or context */
};

static void wipe(char *s)
{
	if (s)
		explicit_bzero(s, strlen(s));
	free(s);
}

void kube_source_done(struct kube_source *s)
{
	free(s->server);
	free(s->namespace);
	free(s->tls_server_name);
	free(s->ca_pem);
	free(s->ca_file);
	free(s->cert_pem);
	free(s->cert_file);
	wipe(s->key_pem);
	free(s->key_file);
	wipe(s->token);
	free(s->token_file);
	if (s->exec) {
		free(s->exec->command);
		strlist_done(&s->exec->args);
		strlist_done(&s->exec->env);
		free(s->exec->install_hint);
		free(s->exec);
	}
	*s = (struct kube_source){ .server = NULL };
}

static void parts_done(struct parts *p)
{
	for (size_t i = 0; i < p->n; i++)
		yaml_doc_done(&p->v[i].doc);
	free(p->v);
}

/* --- finding ---------------------------------------------------------------------------------- */

static int bad(struct err *e, const struct entry *en, const char *field, const char *what)
{
	return err_set(e, ERR_INVALID, "%s: %s[%s].%s: %s", en->part->path, en->list, en->name,
		       field, what);
}

static int read_part(const char *path, struct parts *p, struct err *e)
{
	char *text = NULL;
	struct yaml_doc doc = { .value = NULL };
	int r = file_read(path, LIMIT_CONFIG_FILE, &text, e);

	if (r < 0)
		return r;
	r = yaml_parse_one(text, strlen(text), &doc, e);
	wipe(text);
	if (r < 0)
		return err_wrap(e, "%s", path);
	if (json_kind(doc.value) != JSON_OBJECT) {
		yaml_doc_done(&doc);
		return err_set(e, ERR_INVALID, "%s: not a kubeconfig", path);
	}
	p->v = xrealloc(p->v, (p->n + 1) * sizeof(*p->v));
	p->v[p->n++] = (struct part){ .path = path, .doc = doc };
	return 0;
}

/* Reads what is there; a missing file of several is skipped. */
static int read_parts(const struct strlist *paths, struct parts *p, struct err *e)
{
	for (size_t i = 0; i < paths->n; i++) {
		int r = read_part(paths->v[i], p, e);

		if (r < 0 && (r != -ERR_NOT_FOUND || paths->n == 1))
			return r;
	}
	if (!p->n)
		return err_set(e, ERR_NOT_FOUND, "kubeconfig: none of the files is there");
	return 0;
}

/* The first entry of that name in any file; list "clusters", member "cluster". */
static bool find(const struct parts *p, const char *list, const char *member, const char *name,
		 struct entry *ret)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct json *c = json_first(json_get(p->v[i].doc.value, list));

		for (; c; c = json_next(c)) {
			const char *n = json_get_str(c, "name");

			if (!n || !str_eq(n, name))
				continue;
			*ret = (struct entry){ .part = &p->v[i],
					       .list = list,
					       .name = name,
					       .value = json_get(c, member) };
			return true;
		}
	}
	return false;
}

static int find_context(const struct parts *p, const char *context, struct entry *ret,
			struct err *e)
{
	for (size_t i = 0; i < p->n && str_empty(context); i++)
		context = json_get_str(p->v[i].doc.value, "current-context");
	if (str_empty(context))
		return err_set(e, ERR_INVALID, "%s: current-context: missing", p->v[0].path);
	if (!find(p, "contexts", "context", context, ret))
		return err_set(e, ERR_NOT_FOUND, "%s: contexts: no context named '%s'",
			       p->v[0].path, context);
	return 0;
}

/* The entry that a context names. */
static int follow(const struct parts *p, const struct entry *context, const char *list,
		  const char *member, struct entry *ret, struct err *e)
{
	const char *name = json_get_str(context->value, member);

	if (str_empty(name))
		return bad(e, context, member, "missing");
	if (!find(p, list, member, name, ret))
		return err_set(e, ERR_INVALID, "%s: contexts[%s].%s: nothing named '%s' in %s",
			       context->part->path, context->name, member, name, list);
	return 0;
}

/* --- values ----------------------------------------------------------------------------------- */

/* A path of the file, relative to the folder of the file that names it. NULL: not given. */
static char *path_of(const struct entry *en, const char *field)
{
	const char *path = json_get_str(en->value, field);
	const char *slash = strrchr(en->part->path, '/');

	if (str_empty(path))
		return NULL;
	if (path[0] == '/' || !slash)
		return xstrdup(path);
	return xasprintf("%.*s/%s", (int)(slash - en->part->path), en->part->path, path);
}

static char *text_of(const struct entry *en, const char *field)
{
	const char *s = json_get_str(en->value, field);

	return str_empty(s) ? NULL : xstrdup(s);
}

/* The text of a ...-data field, or the path of the field without it. */
static int pem_of(const struct entry *en, const char *field, char **ret_pem, char **ret_file,
		  struct err *e)
{
	cleanup(freep) char *data_field = xasprintf("%s-data", field);
	const char *data = json_get_str(en->value, data_field);
	cleanup(freep) char *compact = NULL;
	unsigned char *bytes;
	size_t n = 0, len = 0;

	*ret_file = path_of(en, field);
	if (str_empty(data))
		return 0;
	compact = xstrdup(data);
	for (const char *s = data; *s; s++) {
		if (!strchr(" \t\r\n", *s))
			compact[n++] = *s;
	}
	bytes = codec_base64_decode(compact, n, &len);
	if (!bytes || strlen((char *)bytes) != len || !strstr((char *)bytes, "-----BEGIN ")) {
		free(bytes);
		return bad(e, en, data_field, "not base64 of PEM");
	}
	*ret_pem = (char *)bytes;
	return 0;
}

static int read_cluster(const struct entry *en, struct kube_source *s, struct err *e)
{
	size_t n;

	s->server = text_of(en, "server");
	if (!s->server)
		return bad(e, en, "server", "missing");
	if (!str_starts(s->server, "https://"))
		return bad(e, en, "server", "must begin with https://");
	for (n = strlen(s->server); n && s->server[n - 1] == '/';)
		s->server[--n] = '\0';
	if (json_get_str(en->value, "proxy-url"))
		return bad(e, en, "proxy-url",
			   "not supported: the API server is never reached through a proxy");
	s->tls_server_name = text_of(en, "tls-server-name");
	s->insecure = json_get_bool(en->value, "insecure-skip-tls-verify", false);
	return pem_of(en, "certificate-authority", &s->ca_pem, &s->ca_file, e);
}

static int read_exec_env(const struct entry *en, const struct json *exec, struct kube_exec *x,
			 struct err *e)
{
	const struct json *c = json_first(json_get(exec, "env"));

	for (; c; c = json_next(c)) {
		const char *name = json_get_str(c, "name"), *value = json_get_str(c, "value");

		if (str_empty(name) || strchr(name, '=') || !value)
			return bad(e, en, "exec.env", "each entry needs a name and a value");
		strlist_add_take(&x->env, xasprintf("%s=%s", name, value));
	}
	return 0;
}

static int read_exec(const struct entry *en, const struct json *exec, struct kube_source *s,
		     struct err *e)
{
	struct kube_exec *x = s->exec = xcalloc(1, sizeof(*x));
	const char *version = json_get_str(exec, "apiVersion");
	const char *mode = json_get_str(exec, "interactiveMode");
	const char *command = json_get_str(exec, "command"), *hint;
	struct entry sub = *en;

	if (!version || !str_eq(version, "client.authentication.k8s.io/v1"))
		return bad(e, en, "exec.apiVersion", "must be client.authentication.k8s.io/v1");
	if (str_empty(command))
		return bad(e, en, "exec.command", "missing");
	if (!mode)
		return bad(e, en, "exec.interactiveMode", "missing");
	if (!str_eq(mode, "Never") && !str_eq(mode, "IfAvailable"))
		return bad(e, en, "exec.interactiveMode",
			   "must be Never or IfAvailable: nobody is there to answer");
	sub.value = exec;
	/* With a slash it is a path, relative to the file; without one it is looked up in PATH. */
	x->command = strchr(command, '/') ? path_of(&sub, "command") : xstrdup(command);
	for (const struct json *c = json_first(json_get(exec, "args")); c; c = json_next(c)) {
		if (!json_str(c))
			return bad(e, en, "exec.args", "must be strings");
		strlist_add(&x->args, json_str(c));
	}
	hint = json_get_str(exec, "installHint");
	x->install_hint = hint ? xstrdup(hint) : NULL;
	x->provide_cluster_info = json_get_bool(exec, "provideClusterInfo", false);
	return read_exec_env(en, exec, x, e);
}

static int read_user(const struct entry *en, struct kube_source *s, struct err *e)
{
	static const char *const refused[] = { "auth-provider", "username", "password", "as" };
	const struct json *exec = json_get(en->value, "exec");
	int r;

	for (size_t i = 0; i < array_len(refused); i++) {
		if (json_get(en->value, refused[i]))
			return bad(e, en, refused[i], "not supported");
	}
	r = pem_of(en, "client-certificate", &s->cert_pem, &s->cert_file, e);
	if (r == 0)
		r = pem_of(en, "client-key", &s->key_pem, &s->key_file, e);
	if (r < 0)
		return r;
	if ((s->cert_pem || s->cert_file) != (s->key_pem || s->key_file))
		return bad(e, en, s->key_pem || s->key_file ? "client-certificate" : "client-key",
			   "missing: certificate and key go together");
	s->token = text_of(en, "token");
	s->token_file = path_of(en, "tokenFile");
	return json_kind(exec) == JSON_OBJECT ? read_exec(en, exec, s, e) : 0;
}

static int read_all(const struct parts *p, const char *context, struct kube_source *s,
		    struct err *e)
{
	struct entry c = { .part = p->v, .list = "", .name = "" }, part = c;
	int r = find_context(p, context, &c, e);

	if (r == 0)
		r = follow(p, &c, "clusters", "cluster", &part, e);
	if (r == 0)
		r = read_cluster(&part, s, e);
	if (r == 0)
		r = follow(p, &c, "users", "user", &part, e);
	if (r == 0)
		r = read_user(&part, s, e);
	if (r == 0)
		s->namespace = text_of(&c, "namespace");
	return r;
}

int kubeconfig_read(const char *paths, const char *context, struct kube_source *ret, struct err *e)
{
	struct strlist list = STRLIST_INIT;
	struct parts p = { .v = NULL };
	int r;

	strlist_split(&list, paths, ':');
	r = read_parts(&list, &p, e);
	if (r == 0 && p.n)
		r = read_all(&p, context, ret, e);
	if (r < 0)
		kube_source_done(ret);
	parts_done(&p);
	strlist_done(&list);
	return r;
}
