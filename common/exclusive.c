#include "common/exclusive.h"

#include <stdlib.h>
#include <string.h>

#include "common/url.h"

/* Without slashes at its end. */
static char *trimmed(const char *s)
{
	size_t n = s ? strlen(s) : 0;

	while (n && s[n - 1] == '/')
		n--;
	return xstrndup(s ? s : "", n);
}

/* Bucket names are Amazon's own in every region, so its hosts are one place. */
static char *host_of(const char *endpoint)
{
	char *host = url_host(endpoint ? endpoint : "");

	if (str_ends(host, ".amazonaws.com") || str_ends(host, ".amazonaws.com.cn"))
		*host = '\0';
	return host;
}

static const char *or_empty(const char *s)
{
	return s ? s : "";
}

struct holding *holding_of(const struct workerapp *app)
{
	cleanup(freep) char *host = host_of(app->bucket.endpoint);
	cleanup(freep) char *container = workerapp_bucket_name(app);
	cleanup(freep) char *prefix = workerapp_bucket_prefix(app);
	cleanup(freep) char *path = trimmed(app->ingress.path);
	const char *texts[] = { or_empty(app->namespace),
				or_empty(app->name),
				app->uid,
				app->created,
				app->store_ref,
				host,
				or_empty(app->bucket.storage_account),
				container,
				prefix,
				path };
	struct holding *h;
	size_t room = 0;
	char *to;

	for (size_t i = 0; i < array_len(texts); i++)
		room += texts[i] ? strlen(texts[i]) + 1 : 0;
	h = xcalloc(1, sizeof(*h) + room);
	to = h->texts;
	for (size_t i = 0; i < array_len(texts); i++) {
		size_t n = texts[i] ? strlen(texts[i]) + 1 : 0;

		if (!n)
			continue;
		texts[i] = memcpy(to, texts[i], n);
		to += n;
	}
	h->namespace = texts[0];
	h->name = texts[1];
	h->uid = texts[2];
	h->created = texts[3];
	h->store = texts[4];
	h->host = texts[5];
	h->account = texts[6];
	h->container = texts[7];
	h->prefix = texts[8];
	h->path = texts[9];
	h->scheme = app->bucket.scheme;
	strlist_copy(&h->hosts, &app->hostnames);
	h->fleet = app->durability == DURABILITY_FLEET;
	h->recreate = app->strategy == STRATEGY_RECREATE;
	return h;
}

void holding_free(struct holding *h)
{
	if (!h)
		return;
	strlist_done(&h->hosts);
	free(h);
}

struct holding_store *holding_store_of(const struct json *store)
{
	const struct json *spec = json_get(store, "spec");
	const char *account = json_get_str(spec, "storageAccount");
	struct holding_store *s = xcalloc(1, sizeof(*s));

	s->host = host_of(json_get_str(spec, "endpoint"));
	s->account = xstrdup(account ? account : "");
	return s;
}

void holding_store_free(struct holding_store *s)
{
	if (!s)
		return;
	free(s->host);
	free(s->account);
	free(s);
}

/* ---- buckets --------------------------------------------------------------------------------- */

/* The member that tells one place of this scheme from another. */
static const char *where(const struct holding *h, const struct holding_store *s)
{
	if (h->scheme == SCHEME_S3)
		return s ? s->host : h->host;
	if (h->scheme == SCHEME_AZ)
		return s ? s->account : h->account;
	return "";
}

static bool has_place(const struct holding *h, const struct holding_store *s)
{
	return h->scheme != SCHEME_NONE && h->container[0] && (!h->store || s);
}

/* outer is "" or a run of inner's segments from its begin, not all of them. */
static bool is_inside(const char *inner, const char *outer)
{
	size_t n = strlen(outer);

	return *inner && (!n || (strncmp(inner, outer, n) == 0 && inner[n] == '/'));
}

static void judge_bucket(const struct holding *mine, const struct holding_store *my_store,
			 const struct holding *other, const struct holding_store *other_store,
			 struct faults *faults)
{
	cleanup(freep) char *values = NULL;
	const char *how;

	if (!has_place(mine, my_store) || !has_place(other, other_store) ||
	    mine->scheme != other->scheme || !str_eq(mine->container, other->container) ||
	    !str_eq(where(mine, my_store), where(other, other_store)))
		return;
	if (str_eq(mine->prefix, other->prefix))
		how = "the same as";
	else if (is_inside(mine->prefix, other->prefix))
		how = "inside";
	else if (is_inside(other->prefix, mine->prefix))
		how = "around";
	else
		return;
	values = xasprintf("%s/%s %s/%s", mine->container, mine->prefix, other->namespace,
			   other->name);
	fault_add(
		faults, EXCLUSIVE_BUCKET, "spec.bucket.name", values,
		"is %s the bucket prefix of WorkerApp %s/%s, and two fleets on one prefix corrupt "
		"each other; write a prefix that no other app has",
		how, other->namespace, other->name);
}

/* ---- host names ------------------------------------------------------------------------------ */

/* "*.example.com" covers "chat.example.com", and "a.chat.example.com" too where a Gateway reads it. */
static bool covers(const char *wild, const char *host)
{
	return str_starts(wild, "*.") && str_ends(host, wild + 1);
}

bool exclusive_hosts_clash(const char *a, const char *b, bool same_namespace, bool same_path)
{
	if (same_namespace)
		return same_path && str_eq(a, b);
	return str_eq(a, b) || covers(a, b) || covers(b, a);
}

static const char *clash_of(const struct holding *mine, const char *host,
			    const struct holding *other)
{
	bool same_namespace = str_eq(mine->namespace, other->namespace);
	bool same_path = str_eq(mine->path, other->path);

	for (size_t i = 0; i < other->hosts.n; i++) {
		if (exclusive_hosts_clash(host, other->hosts.v[i], same_namespace, same_path))
			return other->hosts.v[i];
	}
	return NULL;
}

static void judge_host(const struct holding *mine, size_t i, const struct holding *other,
		       struct faults *faults)
{
	const char *host = mine->hosts.v[i], *theirs = clash_of(mine, host, other);
	cleanup(freep) char *path = xasprintf("spec.hostnames[%zu]", i);
	cleanup(freep) char *values = NULL;
	struct fault_value shown, held;

	if (!theirs)
		return;
	values = xasprintf("%s%s %s/%s", host, mine->path, other->namespace, other->name);
	if (str_eq(mine->namespace, other->namespace))
		fault_add(faults, EXCLUSIVE_HOST, path, values,
			  "%s with path %s/ is served by WorkerApp %s; write another host name, or "
			  "another spec.ingress.path",
			  fault_value(&shown, host), mine->path, other->name);
	else if (str_eq(host, theirs))
		fault_add(faults, EXCLUSIVE_HOST, path, values,
			  "%s is served by WorkerApp %s of namespace %s; write another host name: "
			  "one is for one namespace",
			  fault_value(&shown, host), other->name, other->namespace);
	else
		fault_add(
			faults, EXCLUSIVE_HOST, path, values,
			"%s overlaps %s, which is served by WorkerApp %s of namespace %s; write a "
			"host name apart from it: a wildcard and the names under it are for one "
			"namespace",
			fault_value(&shown, host), fault_value(&held, theirs), other->name,
			other->namespace);
}

void exclusive_judge(const struct holding *mine, const struct holding_store *my_store,
		     const struct holding *other, const struct holding_store *other_store,
		     struct faults *faults)
{
	judge_bucket(mine, my_store, other, other_store, faults);
	for (size_t i = 0; i < mine->hosts.n; i++)
		judge_host(mine, i, other, faults);
}

bool exclusive_is_older(const struct holding *a, const struct holding *b)
{
	int c;

	if (!a->created || !b->created)
		return a->created && !b->created;
	c = strcmp(a->created, b->created);
	if (c)
		return c < 0;
	return strcmp(a->uid ? a->uid : "", b->uid ? b->uid : "") < 0;
}

/* ---- finding each other ---------------------------------------------------------------------- */

/* What a number says of a name: it is this one, or one under it. */
enum kinship { AT = '@', UNDER = '/' };

/* Whom the keys go to. */
struct keys {
	void (*f)(uint64_t key, void *ctx);
	void *ctx;
};

/* FNV-1a. */
static uint64_t hash(uint64_t h, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)text[i]) * 1099511628211u;
	return h;
}

static uint64_t key_of(enum kinship how, const char *of, const char *name, size_t len)
{
	const char mark = (char)how;
	uint64_t h = hash(14695981039346656037u, &mark, 1);

	return hash(hash(h, of, strlen(of) + 1), name, len);
}

/* A prefix, by the segments above it; the container itself is above all. */
static void bucket_keys(const struct holding *h, bool ask, const struct keys *to)
{
	cleanup(freep) char *of = xasprintf("%d:%s", (int)h->scheme, h->container);
	const char *p = h->prefix;
	size_t n = strlen(p);

	to->f(key_of(AT, of, p, n), to->ctx);
	if (ask)
		to->f(key_of(UNDER, of, p, n), to->ctx);
	while (n > 0) {
		do
			n--;
		while (n > 0 && p[n] != '/');
		to->f(key_of(ask ? AT : UNDER, of, p, n), to->ctx);
	}
}

/* A host name, by the domains above it. */
static void host_keys(const char *host, bool ask, const struct keys *to)
{
	const char *dot = host;

	to->f(key_of(AT, "", host, strlen(host)), to->ctx);
	if (ask && str_starts(host, "*."))
		to->f(key_of(UNDER, "", host + 1, strlen(host + 1)), to->ctx);
	while ((dot = strchr(dot, '.'))) {
		if (ask)
			to->f(key_of(AT, "*", dot, strlen(dot)), to->ctx);
		else
			to->f(key_of(UNDER, "", dot, strlen(dot)), to->ctx);
		dot++;
	}
	if (!ask && str_starts(host, "*."))
		to->f(key_of(AT, "*", host + 1, strlen(host + 1)), to->ctx);
}

static void all_keys(const struct holding *h, bool ask, const struct keys *to)
{
	bucket_keys(h, ask, to);
	for (size_t i = 0; i < h->hosts.n; i++)
		host_keys(h->hosts.v[i], ask, to);
}

void exclusive_kept_by(const struct holding *b, void (*f)(uint64_t key, void *ctx), void *ctx)
{
	all_keys(b, false, &(struct keys){ f, ctx });
}

void exclusive_asked_by(const struct holding *a, void (*f)(uint64_t key, void *ctx), void *ctx)
{
	all_keys(a, true, &(struct keys){ f, ctx });
}

bool exclusive_are_kept_alike(const struct holding *a, const struct holding *b)
{
	return a->scheme == b->scheme && str_eq(a->container, b->container) &&
	       str_eq(a->prefix, b->prefix) && strlist_equal(&a->hosts, &b->hosts);
}
