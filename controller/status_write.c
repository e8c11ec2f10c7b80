#include "controller/status_write.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common/kube/client.h"
#include "common/strlist.h"
#include "controller/reconcile.h"

#define UNDECLARED ": field not declared in schema"
#define PREFIX	   ".status."
/* One refusal names the members of one depth. */
enum { ROUNDS = 8 };

struct status_writer {
	struct kube_client *client;
	struct cache *cache;
	enum cache_kind kind;
	pthread_mutex_t lock;
	struct strlist lacking; /* "fleet.ready", "deployments[].swapping" */
	int64_t learned_ms;	/* monotonic, the last of them */
};

struct status_writer *status_writer_new(struct kube_client *client, struct cache *cache,
					enum cache_kind kind)
{
	struct status_writer *w = xcalloc(1, sizeof(*w));

	w->client = client;
	w->cache = cache;
	w->kind = kind;
	(void)pthread_mutex_init(&w->lock, NULL);
	return w;
}

void status_writer_free(struct status_writer *w)
{
	if (!w)
		return;
	strlist_done(&w->lacking);
	(void)pthread_mutex_destroy(&w->lock);
	free(w);
}

/* ---- what a refusal names -------------------------------------------------------------------- */

/* Where the path that ends at `end` begins; what stands in brackets may hold anything. */
static const char *path_begin(const char *text, const char *end)
{
	int depth = 0;

	while (end > text) {
		char c = end[-1];

		depth += c == ']' ? 1 : c == '[' ? -1 : 0;
		if (depth <= 0 && (c == ' ' || c == '\n'))
			break;
		end--;
	}
	return end;
}

/* .status.deployments[name="web-celld-0"].swapping: "deployments[].swapping", the caller's; NULL: not of the status. */
static char *member_of(const char *path, size_t n)
{
	size_t skip = strlen(PREFIX), to = 0;
	bool inside = false;
	char *member;

	if (n <= skip || strncmp(path, PREFIX, skip) != 0)
		return NULL;
	member = xcalloc(1, n);
	for (size_t i = skip; i < n; i++) {
		inside = inside && path[i] != ']';
		if (!inside)
			member[to++] = path[i];
		inside = inside || path[i] == '[';
	}
	return member;
}

/* The members that a refusal says the definition lacks. */
static void undeclared(const char *message, struct strlist *ret)
{
	const char *at = message, *end;

	for (; (end = strstr(at, UNDECLARED)); at = end + strlen(UNDECLARED)) {
		const char *begin = path_begin(at, end);
		cleanup(freep) char *member = member_of(begin, (size_t)(end - begin));

		if (member)
			strlist_add_once(ret, member);
	}
}

/* False: it is refused for another reason. */
static bool learn(struct status_writer *w, const char *message, int64_t now_ms,
		  struct strlist *news)
{
	struct strlist named = STRLIST_INIT;
	bool any;

	undeclared(message, &named);
	any = named.n > 0;
	(void)pthread_mutex_lock(&w->lock);
	for (size_t i = 0; i < named.n; i++) {
		if (!strlist_has(&w->lacking, named.v[i])) /* several workers may meet it at once */
			strlist_add_take(news, xasprintf("status.%s", named.v[i]));
		strlist_add_once(&w->lacking, named.v[i]);
		w->learned_ms = now_ms;
	}
	(void)pthread_mutex_unlock(&w->lock);
	strlist_done(&named);
	return any;
}

/* ---- what is left out ------------------------------------------------------------------------ */

static void drop(struct json *from, const char *member)
{
	size_t n = strcspn(member, ".[");
	cleanup(freep) char *name = xstrndup(member, n);
	struct json *at;

	if (!member[n]) {
		json_del(from, name);
		return;
	}
	at = json_get_mutable(from, name);
	if (!at)
		return;
	if (member[n] == '.') {
		drop(at, member + n + 1);
		return;
	}
	n += strcspn(member + n, ".");
	for (struct json *e = json_first_mutable(at); e && member[n]; e = json_next_mutable(e))
		drop(e, member + n + 1);
}

static void leave_out(struct status_writer *w, struct json *status, int64_t now_ms)
{
	(void)pthread_mutex_lock(&w->lock);
	if (w->lacking.n && now_ms - w->learned_ms >= STATUS_WRITE_AGAIN_MS) {
		strlist_done(&w->lacking);
		w->lacking = (struct strlist)STRLIST_INIT;
	}
	for (size_t i = 0; i < w->lacking.n; i++)
		drop(status, w->lacking.v[i]);
	(void)pthread_mutex_unlock(&w->lock);
}

/* ---- writing --------------------------------------------------------------------------------- */

static int send(struct status_writer *w, const struct status_target *to, const struct json *status,
		struct err *e)
{
	cleanup_json struct json *body = json_new_object();
	cleanup_json struct json *answer = NULL;
	const struct kube_kind *kind = &cache_kinds[w->kind];
	const struct kube_apply_opts how = { .field_manager = STATUS_MANAGER,
					     .force = true,
					     .subresource = "status" };
	struct json *meta = json_object_at(body, "metadata");
	int r;

	json_set_str(body, "apiVersion", WORKERAPP_API);
	json_set_str(body, "kind", kind->kind);
	json_set_str(meta, "name", to->name);
	json_set_str(meta, "namespace", to->namespace);
	json_set_str(meta, "uid", to->uid);
	json_set_str(meta, "resourceVersion", to->resource_version);
	json_set(body, "status", json_dup(status));
	r = kube_apply(w->client, kind, to->namespace, body, &how, &answer, e);
	if (!r)
		(void)cache_put_answer(w->cache, w->kind, answer);
	return r;
}

int status_write(struct status_writer *w, const struct status_target *to, struct json *status,
		 struct status_outcome *ret, struct err *e)
{
	struct strlist news = STRLIST_INIT;
	int r = 0;

	*ret = (struct status_outcome){ .wrote = false };
	for (int round = 0; round < ROUNDS; round++) {
		*e = (struct err)ERR_INIT;
		r = 0;
		leave_out(w, status, to->now_ms);
		if (json_equal(status, to->stored))
			break;
		r = send(w, to, status, e);
		ret->wrote = !r;
		if (!r || !learn(w, e->message, to->now_ms, &news))
			break;
	}
	if (news.n)
		ret->lacking = strlist_join(&news, ", ");
	strlist_done(&news);
	return r;
}
