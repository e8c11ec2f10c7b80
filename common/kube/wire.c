#include "common/kube/wire.h"

#include <string.h>

#include "common/http.h"
#include "common/json.h"
#include "common/kube/client.h"

static void segment(const char *s, struct buf *to)
{
	if (str_empty(s))
		return;
	buf_putc(to, '/');
	http_escape(s, to);
}

void wire_path(const struct kube_kind *k, const char *ns, const char *name, const char *subresource,
	       struct buf *to)
{
	buf_puts(to, str_empty(k->group) ? "/api" : "/apis");
	segment(k->group, to);
	segment(k->version, to);
	if (k->namespaced && !str_empty(ns)) {
		buf_puts(to, "/namespaces");
		segment(ns, to);
	}
	segment(k->plural, to);
	segment(name, to);
	segment(subresource, to);
}

void wire_query(struct buf *url, const char *name, const char *value)
{
	if (str_empty(value))
		return;
	buf_putc(url, strchr(buf_str(url), '?') ? '&' : '?');
	buf_puts(url, name);
	buf_putc(url, '=');
	http_escape(value, url);
}

char *wire_api_version(const struct kube_kind *k)
{
	return str_empty(k->group) ? xstrdup(k->version) : xasprintf("%s/%s", k->group, k->version);
}

static const struct {
	int status;
	enum err_code code;
} codes[] = {
	{ 400, ERR_INVALID },	  { 401, ERR_UNAUTHORIZED }, { 403, ERR_FORBIDDEN },
	{ 404, ERR_NOT_FOUND },	  { 408, ERR_TIMEOUT },	     { 409, ERR_CONFLICT },
	{ 410, ERR_GONE },	  { 413, ERR_TOO_LARGE },    { 422, ERR_INVALID },
	{ 429, ERR_THROTTLED },	  { 500, ERR_UNAVAILABLE },  { 502, ERR_UNAVAILABLE },
	{ 503, ERR_UNAVAILABLE }, { 504, ERR_TIMEOUT },
};

/* Is one of the status' causes this one? */
static bool has_cause(const struct json *status, const char *member, const char *value)
{
	return json_find(json_path(status, "details", "causes", NULL), member, value);
}

static enum err_code code_of(int http_status, const struct json *status)
{
	const char *reason = json_get_str(status, "reason");

	if (reason && str_eq(reason, "AlreadyExists"))
		return ERR_EXISTS;
	if (reason && (str_eq(reason, "Expired") || str_eq(reason, "Gone")))
		return ERR_GONE;
	/* A resourceVersion that the server has not reached: it was restored, or another one answers. */
	if (has_cause(status, "reason", "ResourceVersionTooLarge"))
		return ERR_GONE;
	/* An apply that names the uid of an object which was deleted and made again: a race, not a mistake. */
	if (http_status == 422 && has_cause(status, "field", "metadata.uid"))
		return ERR_CONFLICT;
	for (size_t i = 0; i < array_len(codes); i++) {
		if (codes[i].status == http_status)
			return codes[i].code;
	}
	if (http_status / 100 == 4)
		return ERR_INVALID;
	return http_status / 100 == 5 ? ERR_UNAVAILABLE : ERR_PROTOCOL;
}

static int fill(int http_status, const struct json *status, struct err *e)
{
	const char *message = json_get_str(status, "message");
	int64_t seconds = 0;
	int r;

	if (!str_empty(message))
		r = err_set(e, code_of(http_status, status), "%s", message);
	else
		r = err_set(e, code_of(http_status, status), "HTTP status %d", http_status);
	e->http_status = http_status;
	if (json_get_int(json_get(status, "details"), "retryAfterSeconds", &seconds) && seconds > 0)
		e->retry_after_ms = (int)(seconds > 600 ? 600 : seconds) * 1000;
	return r;
}

int wire_error(const struct http_response *r, struct err *e)
{
	struct err ignored = ERR_INIT;
	cleanup_json struct json *status = NULL;
	int result;

	(void)json_parse(buf_str(&r->body), r->body.len, &status, &ignored);
	result = fill(r->status, status, e);
	if (r->retry_after_ms > e->retry_after_ms)
		e->retry_after_ms = (int)r->retry_after_ms;
	return result;
}

int wire_status_error(const struct json *status, struct err *e)
{
	int64_t code = 0;

	(void)json_get_int(status, "code", &code);
	return fill(code > 0 && code < 1000 ? (int)code : 0, status, e);
}
