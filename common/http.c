#include "common/http.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "common/clock.h"
#include "common/http_room.h"

enum {
	CONNECT_MS = 10000,
	DEFAULT_RESPONSE = 1 << 20,
	ERROR_BODY = 64 << 10,	   /* what is kept of the body of a stream that was refused */
	HEADERS = 32 << 10,	   /* longer ones are cut, */
	HEAD = 256 << 10,	   /* and those that do not end are an error */
	ONE_SHOT_BUFFER = 4 << 10, /* many at once, and short */
	RETRY_AFTER_S = 600,	   /* the longest pause that a server can make us take */
	KEEP_IDLE_S = 30,
	KEEP_INTERVAL_S = 15,
	UNACKED_MS = 60000, /* sent data or probes without any acknowledgement: the peer is dead */
	CA_CACHE_S = 60,
};

struct http_cancel {
	pthread_mutex_t lock; /* of loops */
	struct http_loop *loops;
	atomic_bool triggered;
};

int http_global_init(struct err *e)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };

	if (sigaction(SIGPIPE, &ignore, NULL))
		return err_set(e, ERR_INTERNAL, "ignoring SIGPIPE");
	if (curl_global_init(CURL_GLOBAL_DEFAULT))
		return err_set(e, ERR_INTERNAL, "libcurl cannot start");
	return 0;
}

/* --- cancelling ------------------------------------------------------------------------------- */

struct http_cancel *http_cancel_new(void)
{
	struct http_cancel *c = xcalloc(1, sizeof(*c));

	(void)pthread_mutex_init(&c->lock, NULL);
	return c;
}

void http_cancel_free(struct http_cancel *c)
{
	if (!c)
		return;
	(void)pthread_mutex_destroy(&c->lock);
	free(c);
}

void http_cancel_trigger(struct http_cancel *c)
{
	(void)pthread_mutex_lock(&c->lock);
	atomic_store(&c->triggered, true);
	for (struct http_loop *l = c->loops; l; l = l->next)
		(void)curl_multi_wakeup(l->multi);
	(void)pthread_mutex_unlock(&c->lock);
}

bool http_cancel_triggered(const struct http_cancel *c)
{
	return c && atomic_load(&c->triggered);
}

static void cancel_join(struct http_loop *l)
{
	struct http_cancel *c = l->cancel;

	(void)pthread_mutex_lock(&c->lock);
	l->next = c->loops;
	if (l->next)
		l->next->prev = l;
	c->loops = l;
	(void)pthread_mutex_unlock(&c->lock);
}

static void cancel_leave(struct http_loop *l)
{
	struct http_cancel *c = l->cancel;

	(void)pthread_mutex_lock(&c->lock);
	if (l->prev)
		l->prev->next = l->next;
	else
		c->loops = l->next;
	if (l->next)
		l->next->prev = l->prev;
	(void)pthread_mutex_unlock(&c->lock);
}

/* --- answers ---------------------------------------------------------------------------------- */

static void head(struct http_transfer *t)
{
	long status = 0;

	(void)curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
	if (status >= 200)
		t->handler.head(t->handler.ctx, (int)status);
}

static size_t on_header(char *bytes, size_t one, size_t n, void *transfer)
{
	struct http_transfer *t = transfer;

	(void)one;
	if (n > 5 && memcmp(bytes, "HTTP/", 5) == 0)
		buf_clear(&t->response.headers); /* of an interim answer */
	t->head += n;
	if (t->head > HEAD)
		return 0;
	if (n <= 2 && t->handler.head)
		head(t);
	if (t->response.headers.len + n <= HEADERS)
		buf_add(&t->response.headers, bytes, n);
	return n;
}

static size_t on_body(char *bytes, size_t one, size_t n, void *transfer)
{
	struct http_transfer *t = transfer;
	struct buf *body = &t->response.body;
	long status = 0;

	(void)one;
	(void)curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
	if (t->stream && status / 100 == 2) {
		t->stopped = !t->handler.data(t->handler.ctx, bytes, n);
		return t->stopped ? 0 : n;
	}
	if (!http_room_take(t, n))
		return t->evicted ? 0 : CURL_WRITEFUNC_PAUSE;
	if (t->stream && n > body->max - body->len)
		n = body->max - body->len;
	buf_add(body, bytes, n);
	return buf_ok(body) ? n : 0;
}

static int on_socket(void *ctx, curl_socket_t fd, curlsocktype purpose)
{
	unsigned unacked = UNACKED_MS;

	(void)ctx;
	(void)purpose;
	/* Without it, a peer that fell silent is given up after a quarter of an hour only. */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacked, sizeof(unacked));
	return CURL_SOCKOPT_OK;
}

static curl_socket_t on_open(void *transfer, curlsocktype purpose, struct curl_sockaddr *to)
{
	struct http_transfer *t = transfer;

	(void)purpose;
	if (http_is_local(&to->addr)) {
		t->local = true;
		return CURL_SOCKET_BAD;
	}
	return socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
}

static enum err_code code_of(const struct http_transfer *t, CURLcode rc)
{
	long sent = 0;

	switch (rc) {
	case CURLE_OPERATION_TIMEDOUT:
		return ERR_TIMEOUT;
	case CURLE_COULDNT_CONNECT:
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_RESOLVE_PROXY:
	case CURLE_SEND_ERROR:
	case CURLE_RECV_ERROR:
	case CURLE_GOT_NOTHING:
	case CURLE_SSL_CONNECT_ERROR:
		return ERR_UNAVAILABLE;
	case CURLE_URL_MALFORMAT:
		return ERR_INVALID;
	case CURLE_UNSUPPORTED_PROTOCOL: /* of the URL; or the peer's, when something was sent */
		(void)curl_easy_getinfo(t->easy, CURLINFO_REQUEST_SIZE, &sent);
		return sent > 0 ? ERR_PROTOCOL : ERR_INVALID;
	case CURLE_FILESIZE_EXCEEDED:
		return ERR_TOO_LARGE;
	case CURLE_WRITE_ERROR:
		return t->stopped ? ERR_CANCELED : ERR_TOO_LARGE;
	default:
		return ERR_PROTOCOL;
	}
}

static int failure(const struct http_transfer *t, CURLcode rc, struct err *e)
{
	enum err_code code =
		t->local && rc == CURLE_COULDNT_CONNECT ? ERR_FORBIDDEN : code_of(t, rc);

	if (code == ERR_FORBIDDEN)
		return err_set(e, code,
			       "the host is at a loopback, link-local or metadata address");
	if (t->head > HEAD)
		return err_set(e, ERR_TOO_LARGE, "head is longer than %d bytes", HEAD);
	if (code == ERR_TOO_LARGE)
		return err_set(e, code, "answer is longer than %zu bytes", t->response.body.max);
	if (code == ERR_CANCELED)
		return err_set(e, code, "stopped by the reader");
	return err_set(e, code, "%s", t->why[0] ? t->why : curl_easy_strerror(rc));
}

/* --- one transfer ----------------------------------------------------------------------------- */

/* Sets an option; the first failure is kept. */
#define set(t, option, value)                                                                      \
	do {                                                                                       \
		CURLcode rc_ = curl_easy_setopt((t)->easy, option, value);                         \
		if ((t)->setup == CURLE_OK)                                                        \
			(t)->setup = rc_;                                                          \
	} while (0)

static struct curl_slist *append(struct curl_slist *l, const char *s)
{
	struct curl_slist *longer = curl_slist_append(l, s);

	if (!longer)
		abort();
	return longer;
}

static void set_blob(struct http_transfer *t, CURLoption option, const char *pem)
{
	struct curl_blob blob = { .flags = CURL_BLOB_COPY };

	if (!pem)
		return;
	memcpy(&blob.data, &pem, sizeof(pem)); /* copied, not changed: COPY */
	blob.len = strlen(pem);
	set(t, option, &blob);
}

/* The URL with its host replaced, and the connection led to the true one: this is how a name other
 * than the URL's is sent and verified. */
static void set_server_name(struct http_transfer *t, const char *url, const char *name)
{
	CURLU *u = curl_url();
	char *host = NULL, *port = NULL, *changed = NULL, *to;

	if (u && !curl_url_set(u, CURLUPART_URL, url, 0) &&
	    !curl_url_get(u, CURLUPART_HOST, &host, 0) &&
	    !curl_url_get(u, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) &&
	    !curl_url_set(u, CURLUPART_HOST, name, 0) &&
	    !curl_url_get(u, CURLUPART_URL, &changed, 0)) {
		to = xasprintf("::%s:%s", host, port);
		t->connect_to = append(NULL, to);
		free(to);
		set(t, CURLOPT_CONNECT_TO, t->connect_to);
		set(t, CURLOPT_URL, changed);
	} else {
		t->setup = CURLE_URL_MALFORMAT;
	}
	curl_free(host);
	curl_free(port);
	curl_free(changed);
	curl_url_cleanup(u);
}

static void set_tls(struct http_transfer *t, const struct http_request *r)
{
	const struct http_tls *tls = r->tls;

	set(t, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
#if LIBCURL_VERSION_NUM >= 0x075700
	set(t, CURLOPT_CA_CACHE_TIMEOUT, (long)CA_CACHE_S);
#endif
	if (!tls)
		return;
	if (tls->ca_pem)
		set_blob(t, CURLOPT_CAINFO_BLOB, tls->ca_pem);
	else if (tls->ca_file)
		set(t, CURLOPT_CAINFO, tls->ca_file);
	if (tls->ca_pem || tls->ca_file)
		set(t, CURLOPT_CAPATH, NULL);
	set_blob(t, CURLOPT_SSLCERT_BLOB, tls->cert_pem);
	set_blob(t, CURLOPT_SSLKEY_BLOB, tls->key_pem);
	if (tls->server_name)
		set_server_name(t, r->url, tls->server_name);
	if (tls->insecure) {
		set(t, CURLOPT_SSL_VERIFYPEER, 0L);
		set(t, CURLOPT_SSL_VERIFYHOST, 0L);
	}
}

static void set_body(struct http_transfer *t, const struct http_request *r)
{
	if (r->body) {
		set(t, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->body_len);
		set(t, CURLOPT_POSTFIELDS, r->body);
		t->headers = append(t->headers, "Expect:"); /* no waiting for 100 */
	}
	if (r->method && !str_eq(r->method, "GET"))
		set(t, CURLOPT_CUSTOMREQUEST, r->method);
	if (r->method && str_eq(r->method, "HEAD"))
		set(t, CURLOPT_NOBODY, 1L);
}

static void set_headers(struct http_transfer *t, const struct http_request *r)
{
	for (size_t i = 0; r->headers && r->headers[i]; i++)
		t->headers = append(t->headers, r->headers[i]);
	if (r->bearer) {
		char *line = xasprintf("Authorization: Bearer %s", r->bearer);

		t->headers = append(t->headers, line);
		explicit_bzero(line, strlen(line));
		free(line);
	}
	set(t, CURLOPT_HTTPHEADER, t->headers);
}

static void set_network(struct http_transfer *t, const struct http_request *r)
{
	set(t, CURLOPT_NOSIGNAL, 1L);
	set(t, CURLOPT_FOLLOWLOCATION, 0L);
	set(t, CURLOPT_PROTOCOLS_STR, r->plain_ok ? "http,https" : "https");
	set(t, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	if (!r->proxy_env) {
		set(t, CURLOPT_PROXY, "");
		set(t, CURLOPT_NOPROXY, "*");
	}
#if LIBCURL_VERSION_NUM >= 0x075700
	set(t, CURLOPT_QUICK_EXIT, 1L); /* ending does not wait for a name to resolve */
#endif
	set(t, CURLOPT_SOCKOPTFUNCTION, on_socket);
	if (r->no_local) {
		set(t, CURLOPT_OPENSOCKETFUNCTION, on_open);
		set(t, CURLOPT_OPENSOCKETDATA, t);
	}
	set(t, CURLOPT_TCP_KEEPALIVE, 1L);
	set(t, CURLOPT_TCP_KEEPIDLE, (long)KEEP_IDLE_S);
	set(t, CURLOPT_TCP_KEEPINTVL, (long)KEEP_INTERVAL_S);
	set(t, CURLOPT_CONNECTTIMEOUT_MS,
	    (long)(r->connect_timeout_ms > 0 ? r->connect_timeout_ms : CONNECT_MS));
	set(t, CURLOPT_TIMEOUT_MS, (long)r->timeout_ms);
	if (r->one_shot) {
		set(t, CURLOPT_FORBID_REUSE, 1L);
		set(t, CURLOPT_BUFFERSIZE, (long)ONE_SHOT_BUFFER);
	}
}

static void set_all(struct http_transfer *t, const struct http_request *r)
{
	size_t max = r->max_response ? r->max_response : DEFAULT_RESPONSE;

	buf_init(&t->response.body, t->stream ? ERROR_BODY : max);
	buf_init(&t->response.headers, HEADERS);
	t->response.date_ms = -1;
	set(t, CURLOPT_PRIVATE, t);
	set(t, CURLOPT_ERRORBUFFER, t->why);
	set(t, CURLOPT_HEADERFUNCTION, on_header);
	set(t, CURLOPT_HEADERDATA, t);
	set(t, CURLOPT_WRITEFUNCTION, on_body);
	set(t, CURLOPT_WRITEDATA, t);
	if (!t->stream)
		set(t, CURLOPT_MAXFILESIZE_LARGE, (curl_off_t)max);
	set(t, CURLOPT_URL, r->url);
	set_network(t, r);
	set_tls(t, r);
	set_body(t, r);
	set_headers(t, r);
	if (r->timeout_ms < 0 && t->setup == CURLE_OK)
		t->setup = CURLE_OPERATION_TIMEDOUT;
}

static void transfer_unlink(struct http_loop *l, struct http_transfer *t)
{
	if (t == l->transfers)
		l->transfers = t->next;
	else
		t->prev->next = t->next;
	if (t->next)
		t->next->prev = t->prev;
	if (t->setup == CURLE_OK)
		(void)curl_multi_remove_handle(l->multi, t->easy);
	else
		l->unborn--;
	l->evicted -= t->evicted;
}

static void transfer_free(struct http_loop *l, struct http_transfer *t)
{
	http_room_give(l, t);
	curl_easy_reset(t->easy);
	if (l->spare || t->one_shot)
		curl_easy_cleanup(t->easy);
	else
		l->spare = t->easy;
	for (struct curl_slist *h = t->headers; h; h = h->next)
		explicit_bzero(h->data, strlen(h->data)); /* may hold a token */
	curl_slist_free_all(t->headers);
	curl_slist_free_all(t->connect_to);
	http_response_done(&t->response);
	free(t);
}

struct http_transfer *http_loop_start(struct http_loop *l, const struct http_request *r,
				      const struct http_handler *h)
{
	struct http_transfer *t = xcalloc(1, sizeof(*t));

	t->handler = *h;
	t->loop = l;
	t->stream = h->data != NULL;
	t->one_shot = r->one_shot;
	t->easy = l->spare ? take(l->spare) : curl_easy_init();
	if (!t->easy)
		abort();
	set_all(t, r);
	if (t->setup == CURLE_OK && curl_multi_add_handle(l->multi, t->easy))
		t->setup = CURLE_FAILED_INIT;
	if (t->setup != CURLE_OK)
		l->unborn++;
	t->next = l->transfers;
	if (t->next)
		t->next->prev = t;
	l->transfers = t;
	return t;
}

void http_loop_stop(struct http_loop *l, struct http_transfer *t)
{
	transfer_unlink(l, t);
	transfer_free(l, t);
}

static void finish(struct http_loop *l, struct http_transfer *t, CURLcode rc)
{
	struct err e = ERR_INIT;
	long status = 0;
	curl_off_t retry = 0;
	char date[64];

	(void)curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
	(void)curl_easy_getinfo(t->easy, CURLINFO_RETRY_AFTER, &retry);
	t->response.status = (int)status;
	t->response.retry_after_ms = (retry > RETRY_AFTER_S ? RETRY_AFTER_S : retry) * 1000;
	if (http_response_header(&t->response, "Date", date, sizeof(date))) {
		time_t s = curl_getdate(date, NULL);

		t->response.date_ms = s < 0 ? -1 : (int64_t)s * 1000;
	}
	if (rc == CURLE_OK && !buf_ok(&t->response.body))
		rc = CURLE_WRITE_ERROR; /* its last bytes were too many */
	if (rc != CURLE_OK)
		(void)failure(t, rc, &e);
	transfer_unlink(l, t);
	t->handler.done(t->handler.ctx, &t->response, rc == CURLE_OK ? NULL : &e);
	transfer_free(l, t);
}

/* --- loop ------------------------------------------------------------------------------------- */

struct http_loop *http_loop_new(struct http_cancel *cancel)
{
	struct http_loop *l = xcalloc(1, sizeof(*l));

	l->multi = curl_multi_init();
	if (!l->multi)
		abort();
	l->cancel = cancel;
	if (cancel)
		cancel_join(l);
	return l;
}

void http_loop_free(struct http_loop *l)
{
	if (!l)
		return;
	if (l->cancel)
		cancel_leave(l);
	while (l->transfers)
		http_loop_stop(l, l->transfers);
	if (l->spare)
		curl_easy_cleanup(l->spare);
	(void)curl_multi_cleanup(l->multi);
	free(l);
}

void http_loop_hold(struct http_loop *l, size_t max)
{
	l->hold.max = max;
}

void http_loop_wake(struct http_loop *l)
{
	(void)curl_multi_wakeup(l->multi);
}

static void deliver_unborn(struct http_loop *l)
{
	while (l->unborn) {
		struct http_transfer *t = l->transfers;

		while (t->setup == CURLE_OK)
			t = t->next;
		finish(l, t, t->setup);
	}
}

static void deliver_evicted(struct http_loop *l)
{
	while (l->evicted) {
		struct http_transfer *t = l->transfers;

		while (!t->evicted)
			t = t->next;
		finish(l, t, CURLE_FILESIZE_EXCEEDED);
	}
}

/* Ended transfers; false: there was none. */
static bool deliver(struct http_loop *l)
{
	bool any = l->unborn > 0 || l->evicted > 0;
	CURLMsg *m;
	int left;

	deliver_unborn(l);
	deliver_evicted(l);
	while ((m = curl_multi_info_read(l->multi, &left))) {
		struct http_transfer *t = NULL;
		CURLcode rc = m->data.result;

		if (m->msg != CURLMSG_DONE)
			continue;
		(void)curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)(void *)&t);
		finish(l, t, rc);
		any = true;
	}
	return any;
}

int http_loop_run(struct http_loop *l, int64_t ms)
{
	int running = 0;

	if (http_cancel_triggered(l->cancel))
		return -ERR_CANCELED;
	(void)curl_multi_perform(l->multi, &running);
	if (deliver(l))
		return 0;
	if (ms > 3600000)
		ms = 3600000;
	(void)curl_multi_poll(l->multi, NULL, 0, ms < 0 ? 0 : (int)ms, NULL);
	if (http_cancel_triggered(l->cancel))
		return -ERR_CANCELED;
	(void)curl_multi_perform(l->multi, &running);
	(void)deliver(l);
	return 0;
}
