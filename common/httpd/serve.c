#include "common/httpd/serve.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
	DISCARD_MAX = 16 << 20, /* what is read of a body that is refused already */
	RETRY_AFTER_S = 1,
	LEFT_MS = 1000,
};

struct request {
	const struct httpd_route *route; /* NULL: status is set */
	int status;			 /* refused: answered with this; 0: the handler's */
	char *body;
	size_t len, room, declared, discarded;
	char allow[32];
};

/* ---- body buffers ---------------------------------------------------------------------------- */

static void body_drop(struct httpd *h, struct request *r)
{
	h->in_flight -= r->room;
	if (r->room == SERVE_ROOM && h->n_spare < SERVE_SPARES)
		h->spare[h->n_spare++] = r->body;
	else
		free(r->body);
	r->body = NULL;
	r->len = r->room = 0;
}

/* Most bodies fit the first buffer; a larger one doubles, up to what the client declared. */
static size_t room_for(const struct request *r, size_t need)
{
	size_t room = SERVE_ROOM, whole = r->declared + HTTPD_BODY_PAD;

	while (room < need)
		room *= 2;
	return room > SERVE_ROOM && whole >= need && whole < room ? whole : room;
}

static bool body_reserve(struct httpd *h, struct request *r, size_t need)
{
	size_t room;

	need += HTTPD_BODY_PAD;
	if (need <= r->room)
		return true;
	room = room_for(r, need);
	if (room - r->room > h->o.max_in_flight - h->in_flight)
		return false;
	if (!r->body && room == SERVE_ROOM && h->n_spare)
		r->body = h->spare[--h->n_spare];
	else
		r->body = xrealloc(r->body, room);
	h->in_flight += room - r->room;
	h->swollen |= room > SERVE_ROOM;
	r->room = room;
	return true;
}

static const char *header(struct MHD_Connection *c, const char *name)
{
	return MHD_lookup_connection_value(c, MHD_HEADER_KIND, name);
}

/* ---- answers --------------------------------------------------------------------------------- */

static const char *refusal_text(int status)
{
	switch (status) {
	case MHD_HTTP_BAD_REQUEST:
		return "the length of the body is told more than once\n";
	case MHD_HTTP_NOT_FOUND:
		return "not found\n";
	case MHD_HTTP_METHOD_NOT_ALLOWED:
		return "method not allowed\n";
	case MHD_HTTP_UNSUPPORTED_MEDIA_TYPE:
		return "the media type of the body is not served here\n";
	case MHD_HTTP_SERVICE_UNAVAILABLE:
		return "too much is being uploaded at once; try again\n";
	default:
		return "the body is too large\n";
	}
}

static void add_header(struct MHD_Response *resp, const char *name, const char *value)
{
	(void)MHD_add_response_header(resp, name, value);
}

static enum MHD_Result send_answer(struct httpd *h, struct MHD_Connection *c, int status,
				   struct MHD_Response *resp, int retry_after_s)
{
	enum MHD_Result ok;
	char text[16];

	if (retry_after_s > 0) {
		(void)snprintf(text, sizeof(text), "%d", retry_after_s);
		add_header(resp, MHD_HTTP_HEADER_RETRY_AFTER, text);
	}
	if (atomic_load(&h->draining))
		add_header(resp, MHD_HTTP_HEADER_CONNECTION, "close");
	ok = MHD_queue_response(c, (unsigned)status, resp);
	MHD_destroy_response(resp);
	return ok;
}

static enum MHD_Result send_refusal(struct httpd *h, struct MHD_Connection *c,
				    const struct request *r)
{
	const char *text = refusal_text(r->status);
	struct MHD_Response *resp = MHD_create_response_from_buffer(
		strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_PERSISTENT);

	if (!resp)
		return MHD_NO;
	add_header(resp, MHD_HTTP_HEADER_CONTENT_TYPE, "text/plain; charset=utf-8");
	if (r->allow[0])
		add_header(resp, MHD_HTTP_HEADER_ALLOW, r->allow);
	if (r->status ==
	    MHD_HTTP_BAD_REQUEST) /* where the next request begins is anybody's guess */
		add_header(resp, MHD_HTTP_HEADER_CONNECTION, "close");
	return send_answer(h, c, r->status, resp,
			   r->status == MHD_HTTP_SERVICE_UNAVAILABLE ? RETRY_AFTER_S : 0);
}

static enum MHD_Result call_handler(struct httpd *h, struct MHD_Connection *c,
				    const struct request *r)
{
	static const char empty[HTTPD_BODY_PAD];
	struct httpd_request req = { .method = r->route->method,
				     .path = r->route->path,
				     .authorization = header(c, MHD_HTTP_HEADER_AUTHORIZATION) };
	struct httpd_answer a = { .status = MHD_HTTP_OK,
				  .content_type = "text/plain; charset=utf-8",
				  .body = BUF_INIT(HTTPD_MAX_ANSWER) };
	struct MHD_Response *resp;
	size_t n;
	char *text;

	if (r->body)
		memset(r->body + r->len, 0, HTTPD_BODY_PAD);
	req.body = r->body ? r->body : empty;
	req.len = r->len;
	r->route->handler(r->route->ctx, &req, &a);
	if (!buf_ok(&a.body))
		a.status = MHD_HTTP_INTERNAL_SERVER_ERROR;
	n = a.body.len;
	text = buf_take(&a.body);
	resp = MHD_create_response_from_buffer(n, text ? text : (void *)(uintptr_t)empty,
					       text ? MHD_RESPMEM_MUST_FREE
						    : MHD_RESPMEM_PERSISTENT);
	if (!resp) {
		free(text);
		return MHD_NO;
	}
	add_header(resp, MHD_HTTP_HEADER_CONTENT_TYPE, a.content_type);
	return send_answer(h, c, a.status, resp, a.retry_after_s);
}

/* ---- requests -------------------------------------------------------------------------------- */

static bool serves(const struct httpd_route *route, const char *method)
{
	return str_eq(route->method, method) ||
	       (str_eq(method, "HEAD") && str_eq(route->method, "GET"));
}

/* Sets route, or status and for 405 the methods that the path has. */
static void find_route(const struct httpd *h, const char *path, const char *method,
		       struct request *r)
{
	size_t at = 0;

	for (size_t i = 0; i < h->o.n_routes; i++) {
		const struct httpd_route *route = &h->o.routes[i];

		if (!str_eq(route->path, path))
			continue;
		if (serves(route, method)) {
			r->route = route;
			return;
		}
		at += (size_t)snprintf(r->allow + at, sizeof(r->allow) - at, "%s%s", at ? ", " : "",
				       str_eq(route->method, "GET") ? "GET, HEAD" : route->method);
		if (at >= sizeof(r->allow))
			at = sizeof(r->allow) - 1;
	}
	r->status = at ? MHD_HTTP_METHOD_NOT_ALLOWED : MHD_HTTP_NOT_FOUND;
}

/* "application/json", "Application/JSON; charset=utf-8" */
static bool media_type_is(const char *value, const char *want)
{
	size_t n = strlen(want);

	if (!value || strncasecmp(value, want, n) != 0)
		return false;
	value += n;
	value += strspn(value, " \t");
	return !*value || *value == ';';
}

static enum MHD_Result count_lengths(void *cls, enum MHD_ValueKind kind, const char *name,
				     const char *value)
{
	int *n = cls;

	(void)kind;
	(void)value;
	*n += strcasecmp(name, MHD_HTTP_HEADER_CONTENT_LENGTH) == 0 ||
	      strcasecmp(name, MHD_HTTP_HEADER_TRANSFER_ENCODING) == 0;
	return MHD_YES;
}

/* RFC 9112, 6.3: of two lengths one is a lie to somebody on the way; MHD takes the first. */
static bool lengths_clash(struct MHD_Connection *c)
{
	int n = 0;

	(void)MHD_get_connection_values(c, MHD_HEADER_KIND, count_lengths, &n);
	return n > 1;
}

static void judge_headers(struct MHD_Connection *c, struct request *r)
{
	const char *length = header(c, MHD_HTTP_HEADER_CONTENT_LENGTH);

	/* MHD has checked the digits; a number beyond 64 bits becomes the largest. */
	r->declared = length ? strtoull(length, NULL, 10) : 0;
	if (lengths_clash(c))
		r->status = MHD_HTTP_BAD_REQUEST;
	else if (!r->route)
		return;
	else if (r->route->content_type &&
		 !media_type_is(header(c, MHD_HTTP_HEADER_CONTENT_TYPE), r->route->content_type))
		r->status = MHD_HTTP_UNSUPPORTED_MEDIA_TYPE;
	else if (r->declared > r->route->max_body)
		r->status = MHD_HTTP_CONTENT_TOO_LARGE;
}

static struct conn *conn_of(struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

static void request_came(struct httpd *h, struct MHD_Connection *c)
{
	struct conn *k = conn_of(c);

	if (!k)
		return;
	if (k->phase == CONN_NEW)
		(void)MHD_set_connection_option(c, MHD_CONNECTION_OPTION_TIMEOUT, h->o.idle_s);
	conn_enter(&h->conns, k, CONN_ASKING, h->now + h->o.request_s * 1000LL);
}

/*
 * A refusal is sent before the body when the client waits for leave to send it, or when reading it
 * is out of the question; MHD then closes the connection. Otherwise the body is read and dropped
 * first: a client that is still writing when we close sees a reset in the place of the answer.
 */
static bool refuse_at_once(struct MHD_Connection *c, const struct request *r)
{
	return r->status && (r->declared > DISCARD_MAX || header(c, MHD_HTTP_HEADER_EXPECT));
}

/* Headers only. */
static enum MHD_Result begin(struct httpd *h, struct MHD_Connection *c, const char *path,
			     const char *method, void **request)
{
	struct request *r = xcalloc(1, sizeof(*r));

	request_came(h, c);
	h->in_progress++;
	*request = r;
	find_route(h, path, method, r);
	judge_headers(c, r);
	return refuse_at_once(c, r) ? send_refusal(h, c, r) : MHD_YES;
}

static enum MHD_Result refuse_later(struct httpd *h, struct request *r, int status)
{
	body_drop(h, r);
	r->status = status;
	return MHD_YES;
}

static enum MHD_Result take_piece(struct httpd *h, struct request *r, const char *data, size_t n)
{
	if (r->status) {
		r->discarded += n;
		return r->discarded > DISCARD_MAX ? MHD_NO : MHD_YES;
	}
	if (n > r->route->max_body - r->len)
		return refuse_later(h, r, MHD_HTTP_CONTENT_TOO_LARGE);
	if (!body_reserve(h, r, r->len + n))
		return refuse_later(h, r, MHD_HTTP_SERVICE_UNAVAILABLE);
	memcpy(r->body + r->len, data, n);
	r->len += n;
	return MHD_YES;
}

enum MHD_Result serve_request(void *cls, struct MHD_Connection *c, const char *path,
			      const char *method, const char *version, const char *data,
			      size_t *size, void **request)
{
	struct httpd *h = cls;
	struct request *r = *request;

	(void)version;
	if (!r)
		return begin(h, c, path, method, request);
	if (*size) {
		size_t n = *size;

		*size = 0;
		return take_piece(h, r, data, n);
	}
	return r->status ? send_refusal(h, c, r) : call_handler(h, c, r);
}

static void request_ended(struct httpd *h, struct conn *k)
{
	if (conn_has_left(k)) /* what it has sent before its end is still answered */
		conn_enter(&h->conns, k, CONN_LEFT, h->now + LEFT_MS);
	else /* a request that begins at the last moment of the pause may take its time, but not more */
		conn_enter(&h->conns, k, CONN_IDLE,
			   h->now + (h->o.idle_s + h->o.request_s) * 1000LL);
}

void serve_completed(void *cls, struct MHD_Connection *c, void **request,
		     enum MHD_RequestTerminationCode how)
{
	struct httpd *h = cls;
	struct request *r = *request;
	struct conn *k = conn_of(c);

	(void)how;
	*request = NULL;
	if (!r)
		return;
	if (k)
		request_ended(h, k);
	h->in_progress--;
	h->last_request = h->now;
	body_drop(h, r);
	free(r);
}

/* ---- connections ----------------------------------------------------------------------------- */

void serve_connection(void *cls, struct MHD_Connection *c, void **connection,
		      enum MHD_ConnectionNotificationCode code)
{
	struct httpd *h = cls;
	struct conn *k = *connection;

	if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
		*connection = NULL;
		if (!k)
			return;
		conn_free(&h->conns, k);
		atomic_fetch_sub(&h->connections, 1);
		return;
	}
	*connection = k =
		conn_new(&h->conns,
			 MHD_get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd,
			 h->now + h->o.first_request_s * 1000LL);
	atomic_fetch_add(&h->connections, 1);
	conns_make_room(&h->conns, h->o.max_connections);
	(void)MHD_set_connection_option(c, MHD_CONNECTION_OPTION_TIMEOUT, h->o.first_request_s);
	if (!h->o.cert_file && !h->o.pair_later)
		return;
	k->pair = h->pair ? pair_ref(h->pair) : NULL;
	/* MHD itself uses a session's pointer, which it has set, for pre-shared keys only. */
	gnutls_session_set_ptr(
		MHD_get_connection_info(c, MHD_CONNECTION_INFO_GNUTLS_SESSION)->tls_session,
		k->pair);
}

int serve_pair(gnutls_session_t session, const struct gnutls_cert_retr_st *info,
	       gnutls_pcert_st **cert, unsigned *n, gnutls_ocsp_data_st **ocsp, unsigned *n_ocsp,
	       gnutls_privkey_t *key, unsigned *flags)
{
	struct pair *p = gnutls_session_get_ptr(session);

	(void)info;
	if (!p)
		return -1; /* none was handed over yet */
	*cert = p->cert;
	*n = p->n;
	*key = p->key;
	*ocsp = NULL;
	*n_ocsp = 0;
	*flags = 0; /* GnuTLS frees none of it: the connection holds the pair */
	return 0;
}
