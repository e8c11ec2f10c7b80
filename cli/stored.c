#include "cli/stored.h"

#include <stdlib.h>

#include "common/holdings.h"
#include "common/http.h"
#include "common/json.h"
#include "common/kube/client.h"
#include "common/kube/config.h"
#include "common/workerapp.h"

enum { PATIENCE_MS = 15000 };

struct stored {
	struct kube_config *config;
	struct kube_client *client;
	char *namespace;
};

int stored_open(const char *kubeconfig, const char *context, const char *namespace,
		struct stored **ret, struct err *e)
{
	struct stored *s = xcalloc(1, sizeof(*s));
	int r = http_global_init(e);

	if (!r)
		r = kube_config_person(kubeconfig, context, &s->config, e);
	if (r) {
		stored_close(s);
		return r;
	}
	s->client = kube_client_new(
		&(struct kube_client_opts){ .config = s->config, .user_agent = "kubectl-celld" });
	s->namespace = xstrdup(str_empty(namespace) ? kube_config_namespace(s->config) : namespace);
	*ret = s;
	return 0;
}

void stored_close(struct stored *s)
{
	if (!s)
		return;
	kube_client_free(s->client);
	kube_config_free(s->config);
	free(s->namespace);
	free(s);
}

static const char *namespace_of(const struct stored *s, const struct json *object)
{
	const char *namespace = json_get_str(json_get(object, "metadata"), "namespace");

	return str_empty(namespace) ? s->namespace : namespace;
}

int stored_get(struct stored *s, const struct kube_kind *kind, const struct json *object,
	       struct json **ret, struct err *e)
{
	const char *name = json_get_str(json_get(object, "metadata"), "name");
	int r;

	*ret = NULL;
	if (str_empty(name))
		return 0;
	r = kube_get(s->client, kind, namespace_of(s, object), name, PATIENCE_MS, ret, e);
	if (r == -ERR_NOT_FOUND)
		return 0;
	return r ? err_wrap(e, "%s/%s", namespace_of(s, object), name) : 0;
}

int stored_list(struct stored *s, const struct kube_kind *kind, bool everywhere,
		const char *selector, struct json **ret, struct err *e)
{
	int r = kube_list(s->client, kind, everywhere ? NULL : s->namespace, selector, PATIENCE_MS,
			  ret, e);

	return r ? err_wrap(e, "%s", kind->plural) : 0;
}

const char *stored_namespace(const struct stored *s)
{
	return s->namespace;
}

int stored_users(struct stored *s, const struct json *store, struct strlist *ret, struct err *e)
{
	const char *name = json_get_str(json_get(store, "metadata"), "name");
	static const struct kube_kind kind = WORKERAPP_KIND;
	cleanup_holdings struct holdings *all = holdings_new();
	cleanup_json struct json *list = NULL;
	int r = kube_list(s->client, &kind, namespace_of(s, store), NULL, PATIENCE_MS, &list, e);

	if (r)
		return r;
	/* Items of a list have no kind of their own. */
	for (const struct json *i = json_first(json_get(list, "items")); i; i = json_next(i)) {
		cleanup_json struct json *app = json_dup(i);

		json_set_str(app, "apiVersion", WORKERAPP_API);
		json_set_str(app, "kind", "WorkerApp");
		holdings_put_app(all, app);
	}
	holdings_users(all, namespace_of(s, store), name ? name : "", true, ret);
	return 0;
}
