#include "common/kube/client.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/http.h"
#include "common/json.h"
#include "common/kube/config.h"
#include "common/kube/wire.h"
#include "common/limits.h"

enum {
	URL_MAX = 64 << 10,
	COUNTS = 128, /* pairs of verb and code */
	PAGE = 500,
	LIST_TRIES = 3,
};

struct count {
	const char *verb;
	int code;
	int64_t n;
};

struct kube_client {
	struct kube_client_opts o;
	char *user_agent; /* a header line */
	struct http_pool *pool;
	pthread_mutex_t lock; /* of what follows */
	double tokens;	      /* requests that may go now; negative: reserved by waiters */
	int64_t filled_ms;
	int64_t hold_ms; /* monotonic: the server wants nothing before */
	struct count counts[COUNTS];
	size_t n_counts;
};

/* One request. */
struct call {
	const char *verb; /* of the metrics */
	const char *method;
	struct buf url;
	size_t path_at, path_len; /* in url: for messages */
	const char *content_type; /* NULL: no body */
	char *body;
	size_t max_response;
	int64_t deadline_ms; /* monotonic */
	bool write;
};

struct kube_client *kube_client_new(const struct kube_client_opts *o)
{
	struct kube_client *c = xcalloc(1, sizeof(*c));

	c->o = *o;
	if (c->o.burst <= 0)
		c->o.burst = o->qps * 2 > 1 ? (int)(o->qps * 2) : 1;
	c->user_agent =
		xasprintf("User-Agent: %s", o->user_agent ? o->user_agent : "celld-operator");
	c->o.user_agent = NULL;
	c->pool = http_pool_new(o->cancel);
	(void)pthread_mutex_init(&c->lock, NULL);
	c->tokens = c->o.burst;
	c->filled_ms = clock_mono_ms();
	return c;
}

void kube_client_free(struct kube_client *c)
{
	if (!c)
		return;
	http_pool_free(c->pool);
	(void)pthread_mutex_destroy(&c->lock);
	free(c->user_agent);
	free(c);
}

/* --- counting and the rate limit -------------------------------------------------------------- */

static void count(struct kube_client *c, const char *verb, int code)
{
	size_t i = 0;

	(void)pthread_mutex_lock(&c->lock);
	while (i < c->n_counts && (c->counts[i].code != code || !str_eq(c->counts[i].verb, verb)))
		i++;
	if (i == c->n_counts && i < COUNTS)
		c->counts[c->n_counts++] = (struct count){ .verb = verb, .code = code };
	if (i < COUNTS)
		c->counts[i].n++;
	(void)pthread_mutex_unlock(&c->lock);
}

void kube_client_counts(struct kube_client *c,
			void (*f)(void *ctx, const char *verb, int code, int64_t count), void *ctx)
{
	(void)pthread_mutex_lock(&c->lock);
	for (size_t i = 0; i < c->n_counts; i++)
		f(ctx, c->counts[i].verb, c->counts[i].code, c->counts[i].n);
	(void)pthread_mutex_unlock(&c->lock);
}

/*
 * 429 is about all that we send, not about this request alone, and so is 503 that names a moment: nobody sends before
 * it, plus up to a tenth, so that not all come at once.
 */
static void hold_back(struct kube_client *c, const struct http_response *r)
{
	int64_t wait = r->retry_after_ms > 0 ? r->retry_after_ms : 1000, until;

	if (r->status != 429 && (r->status != 503 || r->retry_after_ms <= 0))
		return;
	until = clock_mono_ms() + wait + clock_mono_ms() % (wait / 10 + 1);
	(void)pthread_mutex_lock(&c->lock);
	if (until > c->hold_ms)
		c->hold_ms = until;
	(void)pthread_mutex_unlock(&c->lock);
}

static int64_t hold_left(struct kube_client *c)
{
	int64_t left;

	(void)pthread_mutex_lock(&c->lock);
	left = c->hold_ms - clock_mono_ms();
	(void)pthread_mutex_unlock(&c->lock);
	return left > 0 ? left : 0;
}

/* Takes a place in the queue: how long to wait for it. */
static int64_t limit_reserve(struct kube_client *c)
{
	int64_t now = clock_mono_ms(), wait = 0;

	if (c->o.qps <= 0)
		return 0;
	(void)pthread_mutex_lock(&c->lock);
	c->tokens += (double)(now - c->filled_ms) * c->o.qps / 1000;
	if (c->tokens > c->o.burst)
		c->tokens = c->o.burst;
	c->filled_ms = now;
	c->tokens -= 1;
	if (c->tokens < 0)
		wait = (int64_t)(-c->tokens / c->o.qps * 1000) + 1;
	(void)pthread_mutex_unlock(&c->lock);
	return wait;
}

static void limit_give_back(struct kube_client *c)
{
	(void)pthread_mutex_lock(&c->lock);
	c->tokens += 1;
	(void)pthread_mutex_unlock(&c->lock);
}

static int limit_wait(struct kube_client *c, struct http_client *h, const struct call *call,
		      struct err *e)
{
	int64_t turn = clock_mono_ms() + limit_reserve(c), held, wait;

	/* the server may ask for more while we wait */
	while ((wait = turn - clock_mono_ms()), (held = hold_left(c)), wait > 0 || held > 0) {
		if (held > wait)
			wait = held;
		if (clock_mono_ms() + wait >= call->deadline_ms) {
			limit_give_back(c);
			(void)err_set(e, ERR_THROTTLED, "%lld ms to wait: %s", (long long)wait,
				      held > 0 ? "the server asked for it" : "own rate limit");
			e->retry_after_ms = (int)wait;
			return -ERR_THROTTLED;
		}
		if (http_client_sleep(h, wait) < 0)
			return err_set(e, ERR_CANCELED, "canceled");
	}
	return 0;
}

/* --- one request ------------------------------------------------------------------------------ */

/* Begins a call: the server and the path; queries follow by wire_query(&call->url). */
static void call_init(struct kube_client *c, struct call *call, const char *verb,
		      const char *method, int64_t timeout_ms)
{
	*call = (struct call){ .verb = verb, .method = method };
	call->deadline_ms = clock_mono_ms() + (timeout_ms > 0 ? timeout_ms : KUBE_TIMEOUT_MS);
	call->max_response = LIMIT_KUBE_OBJECT;
	buf_init(&call->url, URL_MAX);
	buf_puts(&call->url, kube_config_server(c->o.config));
	call->path_at = call->url.len;
}

static void call_path(struct call *call, const struct kube_kind *k, const char *ns,
		      const char *name, const char *subresource)
{
	wire_path(k, ns, name, subresource, &call->url);
	call->path_len = call->url.len - call->path_at;
}

static void call_body(struct call *call, const char *content_type, const struct json *body)
{
	call->content_type = content_type;
	call->body = json_text(body);
	call->write = true;
}

static void call_done(struct call *call)
{
	buf_done(&call->url);
	free(call->body);
}

/* For how long this request may take, with the fence; 0: it may not be sent. */
static int64_t time_left(struct kube_client *c, const struct call *call, struct err *e)
{
	int64_t left = call->deadline_ms - clock_mono_ms(), fence;

	if (left <= 0) {
		(void)err_set(e, ERR_TIMEOUT, "no time left to send it");
		return 0;
	}
	if (!call->write || !c->o.may_write)
		return left;
	fence = c->o.may_write(c->o.may_write_ctx);
	if (fence <= 0) {
		(void)err_set(e, ERR_CANCELED, "not sent: writing is not allowed now");
		return 0;
	}
	return fence < left ? fence : left;
}

static int send_once(struct kube_client *c, struct http_client *h, const struct call *call,
		     const struct kube_auth *auth, struct http_response *ret, struct err *e)
{
	char type[64];
	const char *headers[4] = { "Accept: application/json", c->user_agent };
	struct http_tls tls = {
		.ca_pem = auth->ca_pem,
		.cert_pem = auth->cert_pem,
		.key_pem = auth->key_pem,
		.server_name = kube_config_tls_server_name(c->o.config),
		.insecure = kube_config_insecure(c->o.config),
	};
	struct http_request r = {
		.method = call->method,
		.url = buf_str(&call->url),
		.headers = headers,
		.bearer = auth->token,
		.body = call->body,
		.body_len = call->body ? strlen(call->body) : 0,
		.max_response = call->max_response,
		.tls = &tls,
		.plain_ok = kube_config_plain_ok(c->o.config),
	};
	int result;

	if (call->content_type) {
		(void)snprintf(type, sizeof(type), "Content-Type: %s", call->content_type);
		headers[2] = type;
	}
	r.timeout_ms = time_left(c, call, e);
	if (!r.timeout_ms)
		return -(int)e->code;
	result = http_do(h, &r, ret, e);
	count(c, call->verb, ret->status);
	hold_back(c, ret);
	return result;
}

/* Sends; once more after 401 when newer credentials are to be had. */
static int send_authorized(struct kube_client *c, struct http_client *h, const struct call *call,
			   struct http_response *ret, struct err *e)
{
	cleanup(kube_auth_release_cleanup) const struct kube_auth *auth = NULL, *newer = NULL;
	int r = kube_config_auth(c->o.config, NULL, &auth, e);

	if (r == 0)
		r = send_once(c, h, call, auth, ret, e);
	if (r < 0 || ret->status != 401)
		return r;
	r = kube_config_auth(c->o.config, auth, &newer, e);
	if (r < 0 || newer == auth)
		return r;
	return send_once(c, h, call, newer, ret, e);
}

static int answer(const struct http_response *r, struct json **ret, struct err *e)
{
	int result;

	if (r->status / 100 != 2)
		return wire_error(r, e);
	if (!ret)
		return 0;
	result = json_parse(buf_str(&r->body), r->body.len, ret, e);
	if (result < 0) {
		(void)err_wrap(e, "answer is not JSON");
		e->code = ERR_PROTOCOL;
		return -ERR_PROTOCOL;
	}
	return 0;
}

static int call_run(struct kube_client *c, struct call *call, struct json **ret, struct err *e)
{
	struct http_client *h = http_pool_get(c->pool);
	cleanup_http_response struct http_response r = HTTP_RESPONSE_INIT;
	int result;

	if (buf_ok(&call->url))
		result = limit_wait(c, h, call, e);
	else
		result = err_set(e, ERR_TOO_LARGE, "URL is longer than %d bytes", URL_MAX);
	if (result == 0)
		result = send_authorized(c, h, call, &r, e);
	http_pool_put(c->pool, h);
	if (result == 0)
		result = answer(&r, ret, e);
	if (result < 0)
		(void)err_wrap(e, "%s %.*s", call->method, (int)call->path_len,
			       buf_str(&call->url) + call->path_at);
	call_done(call);
	return result;
}

/* --- reading ---------------------------------------------------------------------------------- */

int kube_get(struct kube_client *c, const struct kube_kind *k, const char *ns, const char *name,
	     int64_t timeout_ms, struct json **ret, struct err *e)
{
	struct call call;

	call_init(c, &call, "GET", "GET", timeout_ms);
	call_path(&call, k, ns, name, NULL);
	return call_run(c, &call, ret, e);
}

int kube_raw_get(struct kube_client *c, const char *path, int64_t timeout_ms, struct json **ret,
		 struct err *e)
{
	struct call call;

	call_init(c, &call, "GET", "GET", timeout_ms);
	call.max_response = LIMIT_KUBE_LIST;
	buf_puts(&call.url, path);
	call.path_len = strlen(path);
	return call_run(c, &call, ret, e);
}

/* Appends one page to list; *token: the continue token in, the next one out (NULL: that was the
 * last). */
static int list_page(struct kube_client *c, const struct kube_kind *k, const char *ns,
		     const char *label_selector, int64_t timeout_ms, char **token,
		     struct json *list, struct err *e)
{
	struct call call;
	cleanup_json struct json *page = NULL;
	struct json *items;
	const struct json *meta;
	const char *next;
	int r;

	call_init(c, &call, "LIST", "GET", timeout_ms);
	call.max_response = LIMIT_KUBE_LIST;
	call_path(&call, k, ns, NULL, NULL);
	wire_query(&call.url, "limit", "500");
	wire_query(&call.url, "labelSelector", label_selector);
	wire_query(&call.url, "continue", *token);
	r = call_run(c, &call, &page, e);
	if (r < 0)
		return r;
	meta = json_get(page, "metadata");
	next = json_get_str(meta, "continue");
	free(*token);
	*token = str_empty(next) ? NULL : xstrdup(next);
	json_set_str(json_object_at(list, "metadata"), "resourceVersion",
		     json_get_str(meta, "resourceVersion"));
	items = json_take(page, "items");
	if (!json_len(json_get(list, "items")) && json_kind(items) == JSON_ARRAY) {
		json_set(list, "items", items); /* as it is: the usual list is one page */
		return 0;
	}
	for (const struct json *i = json_first(items); i; i = json_next(i))
		json_add(json_array_at(list, "items"), json_dup(i));
	json_free(items);
	return 0;
}

int kube_list(struct kube_client *c, const struct kube_kind *k, const char *ns,
	      const char *label_selector, int64_t timeout_ms, struct json **ret, struct err *e)
{
	int r = -ERR_GONE;

	for (int i = 0; i < LIST_TRIES && r == -ERR_GONE; i++) {
		cleanup_json struct json *list = json_new_object();
		cleanup(freep) char *token = NULL;

		json_set(list, "items", json_new_array());
		do {
			r = list_page(c, k, ns, label_selector, timeout_ms, &token, list, e);
		} while (r == 0 && token);
		if (r == 0)
			*ret = take(list);
	}
	return r;
}

/* --- writing ---------------------------------------------------------------------------------- */

int kube_create(struct kube_client *c, const struct kube_kind *k, const char *ns,
		const struct json *object, int64_t timeout_ms, struct json **ret, struct err *e)
{
	struct call call;

	call_init(c, &call, "POST", "POST", timeout_ms);
	call_path(&call, k, ns, NULL, NULL);
	call_body(&call, "application/json", object);
	return call_run(c, &call, ret, e);
}

int kube_replace(struct kube_client *c, const struct kube_kind *k, const char *ns, const char *name,
		 const char *subresource, const struct json *object, int64_t timeout_ms,
		 struct json **ret, struct err *e)
{
	struct call call;

	call_init(c, &call, "PUT", "PUT", timeout_ms);
	call_path(&call, k, ns, name, subresource);
	call_body(&call, "application/json", object);
	return call_run(c, &call, ret, e);
}

int kube_apply(struct kube_client *c, const struct kube_kind *k, const char *ns,
	       const struct json *object, const struct kube_apply_opts *o, struct json **ret,
	       struct err *e)
{
	const char *name = json_get_str(json_get(object, "metadata"), "name");
	struct call call;

	if (str_empty(name))
		return err_field(e, ERR_INTERNAL, "metadata.name", "apply needs a name");
	call_init(c, &call, "APPLY", "PATCH", o->timeout_ms);
	call_path(&call, k, ns, name, o->subresource);
	wire_query(&call.url, "fieldManager", o->field_manager);
	wire_query(&call.url, "force", o->force ? "true" : NULL);
	wire_query(&call.url, "dryRun", o->dry_run ? "All" : NULL);
	call_body(&call, "application/apply-patch+yaml", object);
	return call_run(c, &call, ret, e);
}

int kube_patch(struct kube_client *c, const struct kube_kind *k, const char *ns, const char *name,
	       const char *subresource, enum kube_patch type, const struct json *patch,
	       int64_t timeout_ms, struct json **ret, struct err *e)
{
	struct call call;

	call_init(c, &call, "PATCH", "PATCH", timeout_ms);
	call_path(&call, k, ns, name, subresource);
	call_body(&call,
		  type == KUBE_PATCH_JSON ? "application/json-patch+json"
					  : "application/merge-patch+json",
		  patch);
	return call_run(c, &call, ret, e);
}

int kube_delete(struct kube_client *c, const struct kube_kind *k, const char *ns, const char *name,
		const struct kube_delete_opts *o, struct err *e)
{
	cleanup_json struct json *options = json_new_object();
	struct call call;

	json_set_str(options, "apiVersion", "v1");
	json_set_str(options, "kind", "DeleteOptions");
	if (!str_empty(o->uid) || !str_empty(o->resource_version)) {
		struct json *p = json_object_at(options, "preconditions");

		json_set_str(p, "uid", o->uid);
		json_set_str(p, "resourceVersion", o->resource_version);
	}
	json_set_str(options, "propagationPolicy", o->propagation);
	if (o->grace_seconds >= 0)
		json_set_int(options, "gracePeriodSeconds", o->grace_seconds);
	call_init(c, &call, "DELETE", "DELETE", o->timeout_ms);
	call_path(&call, k, ns, name, NULL);
	call_body(&call, "application/json", options);
	return call_run(c, &call, NULL, e);
}
