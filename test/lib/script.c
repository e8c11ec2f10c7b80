#include "test/lib/script.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common/buf.h"

enum { MAX_CONNECTIONS = 16384, MAX_REQUEST = 16 << 20 };

struct conn {
	unsigned before; /* releases before the last request */
	struct script *s;
	pthread_t thread;
	int fd; /* -1: closed */
	SSL *ssl;
	struct buf in;
};

struct script {
	const struct script_step *steps;
	size_t n_steps;
	SSL_CTX *tls;
	int fd, port;
	char url[64];
	pthread_t thread;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t changed;
	bool *used;
	struct script_request **requests;
	size_t n_requests, unexpected, n_conns;
	unsigned released;
	unsigned passes; /* gated steps that may go on */
	bool stopping;
	struct conn *conns[MAX_CONNECTIONS];
};

static void check_that(bool ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	abort();
}

/* --- bytes ------------------------------------------------------------------------------------ */

static ssize_t conn_read(struct conn *c, void *to, size_t n)
{
	return c->ssl ? SSL_read(c->ssl, to, (int)n) : read(c->fd, to, n);
}

static bool conn_write(struct conn *c, const void *data, size_t n)
{
	const char *p = data;

	while (n) {
		ssize_t w = c->ssl ? SSL_write(c->ssl, p, (int)n) : write(c->fd, p, n);

		if (w <= 0)
			return false;
		p += w;
		n -= (size_t)w;
	}
	return true;
}

/* Makes in hold at least n bytes. */
static bool conn_fill(struct conn *c, size_t n)
{
	char part[4096];

	while (c->in.len < n) {
		ssize_t r = conn_read(c, part, sizeof(part));

		if (r <= 0)
			return false;
		buf_add(&c->in, part, (size_t)r);
	}
	return true;
}

static bool read_request(struct conn *c, struct script_request *r)
{
	const char *end;
	const char *length;
	size_t head, body = 0;

	while (!(end = strstr(buf_str(&c->in), "\r\n\r\n"))) {
		if (!conn_fill(c, c->in.len + 1))
			return false;
	}
	head = (size_t)(end - c->in.data) + 2;
	r->headers = xstrndup(c->in.data, head);
	length = strcasestr(r->headers, "\r\nContent-Length:");
	if (length)
		body = strtoul(strchr(length, ':') + 1, NULL, 10);
	r->line = xstrndup(r->headers, strcspn(r->headers, "\r"));
	*strstr(r->line, " HTTP/1.1") = '\0';
	memmove(r->headers, strstr(r->headers, "\r\n") + 2,
		strlen(strstr(r->headers, "\r\n") + 2) + 1);
	if (!conn_fill(c, head + 2 + body))
		return false;
	r->body = xstrndup(c->in.data + head + 2, body);
	buf_consume(&c->in, head + 2 + body);
	return true;
}

/* --- answers ---------------------------------------------------------------------------------- */

static const struct script_step unexpected = { .status = 599, .body = "unexpected request" };

static const struct script_step *match(struct conn *c, struct script_request *r)
{
	struct script *s = c->s;
	const struct script_step *found = &unexpected;

	(void)pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < s->n_steps && found == &unexpected; i++) {
		const struct script_step *step = &s->steps[i];

		if (s->used[i] || (step->want && !str_starts(r->line, step->want)))
			continue;
		s->used[i] = !step->again;
		found = step;
	}
	s->unexpected += found == &unexpected;
	s->requests = xrealloc(s->requests, (s->n_requests + 1) * sizeof(struct script_request *));
	s->requests[s->n_requests++] = r;
	c->before = s->released; /* whoever sees the request may release it at once */
	(void)pthread_cond_broadcast(&s->changed);
	(void)pthread_mutex_unlock(&s->lock);
	return found;
}

/* A moment, for news; false: the peer has left. With the lock. */
static bool linger_on(struct conn *c)
{
	struct timespec until;
	char byte;

	(void)clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += 20000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	(void)pthread_cond_timedwait(&c->s->changed, &c->s->lock, &until);
	return recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) != 0;
}

/* Until released, stopped, or the peer has left. */
static void hold(struct conn *c)
{
	struct script *s = c->s;

	(void)pthread_mutex_lock(&s->lock);
	while (s->released == c->before && !s->stopping && linger_on(c))
		;
	(void)pthread_mutex_unlock(&s->lock);
}

/* Until let through; false: stopped, or the peer has left. */
static bool at_gate(struct conn *c)
{
	struct script *s = c->s;
	bool here = true, through;

	(void)pthread_mutex_lock(&s->lock);
	while (!s->passes && !s->stopping && here)
		here = linger_on(c);
	through = s->passes && here && !s->stopping;
	s->passes -= through;
	c->before = s->released;
	(void)pthread_mutex_unlock(&s->lock);
	return through;
}

static bool send_chunks(struct conn *c, const struct script_step *step)
{
	size_t n = step->body ? strlen(step->body) : 0;
	size_t piece = step->piece ? step->piece : n;
	char size[32];

	for (size_t at = 0; at < n; at += piece) {
		size_t m = n - at < piece ? n - at : piece;

		(void)snprintf(size, sizeof(size), "%zx\r\n", m);
		if (!conn_write(c, size, strlen(size)) || !conn_write(c, step->body + at, m) ||
		    !conn_write(c, "\r\n", 2))
			return false;
	}
	return true;
}

static bool respond(struct conn *c, const struct script_step *step)
{
	struct buf head = BUF_INIT(1 << 16);
	bool ok;

	if (step->gated && !at_gate(c))
		return false;
	if (step->end == SCRIPT_SILENT) {
		hold(c);
		return false;
	}
	buf_printf(&head, "HTTP/1.1 %d X\r\n%s", step->status ? step->status : 200,
		   step->headers ? step->headers : "");
	if (step->end == SCRIPT_REPLY)
		buf_printf(&head, "Content-Length: %zu\r\n\r\n%s",
			   step->body ? strlen(step->body) : 0, step->body ? step->body : "");
	else
		buf_puts(&head, "Transfer-Encoding: chunked\r\n\r\n");
	ok = conn_write(c, head.data, head.len);
	buf_done(&head);
	if (!ok || step->end == SCRIPT_REPLY)
		return ok;
	ok = send_chunks(c, step);
	if (step->end == SCRIPT_HOLD)
		hold(c);
	if (step->end == SCRIPT_RESET) {
		struct linger now = { .l_onoff = 1 };

		(void)setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	}
	if (step->end == SCRIPT_RESET || step->end == SCRIPT_CUT)
		return false;
	return ok && conn_write(c, "0\r\n\r\n", 5);
}

static void *serve(void *conn)
{
	struct conn *c = conn;
	bool open = true;

	if (c->s->tls) {
		c->ssl = SSL_new(c->s->tls);
		(void)SSL_set_fd(c->ssl, c->fd);
		open = SSL_accept(c->ssl) == 1;
	}
	while (open) {
		struct script_request *r = xcalloc(1, sizeof(*r));

		if (!read_request(c, r)) {
			free(r->line);
			free(r->headers);
			free(r);
			break;
		}
		open = respond(c, match(c, r));
	}
	ERR_clear_error();
	SSL_free(c->ssl);
	(void)pthread_mutex_lock(&c->s->lock);
	(void)close(c->fd);
	c->fd = -1;
	(void)pthread_mutex_unlock(&c->s->lock);
	buf_done(&c->in);
	return NULL;
}

static void *accept_all(void *script)
{
	struct script *s = script;
	int fd;

	while ((fd = accept(s->fd, NULL, NULL)) >= 0) {
		struct conn *c = xcalloc(1, sizeof(*c));
		int at_once = 1;

		(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof(at_once));
		c->s = s;
		c->fd = fd;
		buf_init(&c->in, MAX_REQUEST);
		(void)pthread_mutex_lock(&s->lock);
		check_that(s->n_conns < MAX_CONNECTIONS, "too many connections");
		s->conns[s->n_conns++] = c;
		check_that(!pthread_create(&c->thread, NULL, serve, c), "thread");
		(void)pthread_mutex_unlock(&s->lock);
	}
	return NULL;
}

/* --- start and stop --------------------------------------------------------------------------- */

static SSL_CTX *tls_of(const char *pem)
{
	SSL_CTX *t = SSL_CTX_new(TLS_server_method());
	BIO *b = BIO_new_mem_buf(pem, -1);
	X509 *cert = PEM_read_bio_X509(b, NULL, NULL, NULL);
	EVP_PKEY *key = PEM_read_bio_PrivateKey(b, NULL, NULL, NULL);

	check_that(cert && key && SSL_CTX_use_certificate(t, cert) == 1 &&
			   SSL_CTX_use_PrivateKey(t, key) == 1,
		   "certificate");
	X509_free(cert);
	EVP_PKEY_free(key);
	BIO_free(b);
	return t;
}

struct script *script_start(const struct script_step *steps, size_t n, const char *pem)
{
	struct script *s = xcalloc(1, sizeof(*s));
	struct sockaddr_in a = { .sin_family = AF_INET };
	socklen_t len = sizeof(a);
	pthread_condattr_t attr;

	(void)signal(SIGPIPE, SIG_IGN);
	s->steps = steps;
	s->n_steps = n;
	s->used = xcalloc(n, sizeof(bool));
	s->tls = pem ? tls_of(pem) : NULL;
	(void)pthread_mutex_init(&s->lock, NULL);
	(void)pthread_condattr_init(&attr);
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&s->changed, &attr);
	(void)pthread_condattr_destroy(&attr);
	s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	check_that(s->fd >= 0 && !bind(s->fd, (struct sockaddr *)&a, len) && !listen(s->fd, 256) &&
			   !getsockname(s->fd, (struct sockaddr *)&a, &len),
		   "socket");
	s->port = ntohs(a.sin_port);
	(void)snprintf(s->url, sizeof(s->url), "%s://127.0.0.1:%d", pem ? "https" : "http",
		       s->port);
	check_that(!pthread_create(&s->thread, NULL, accept_all, s), "thread");
	return s;
}

void script_stop(struct script *s)
{
	(void)shutdown(s->fd, SHUT_RDWR);
	(void)pthread_join(s->thread, NULL);
	(void)close(s->fd);
	(void)pthread_mutex_lock(&s->lock);
	s->stopping = true;
	(void)pthread_cond_broadcast(&s->changed);
	for (size_t i = 0; i < s->n_conns; i++) {
		if (s->conns[i]->fd >= 0)
			(void)shutdown(s->conns[i]->fd, SHUT_RDWR);
	}
	(void)pthread_mutex_unlock(&s->lock);
	for (size_t i = 0; i < s->n_conns; i++) {
		(void)pthread_join(s->conns[i]->thread, NULL);
		free(s->conns[i]);
	}
	for (size_t i = 0; i < s->n_requests; i++) {
		free(s->requests[i]->line);
		free(s->requests[i]->headers);
		free(s->requests[i]->body);
		free(s->requests[i]);
	}
	free(s->requests);
	free(s->used);
	SSL_CTX_free(s->tls);
	(void)pthread_mutex_destroy(&s->lock);
	(void)pthread_cond_destroy(&s->changed);
	free(s);
}

int script_port(const struct script *s)
{
	return s->port;
}

const char *script_url(const struct script *s)
{
	return s->url;
}

void script_pass(struct script *s)
{
	(void)pthread_mutex_lock(&s->lock);
	s->passes++;
	(void)pthread_cond_broadcast(&s->changed);
	(void)pthread_mutex_unlock(&s->lock);
}

void script_release(struct script *s)
{
	(void)pthread_mutex_lock(&s->lock);
	s->released++;
	(void)pthread_cond_broadcast(&s->changed);
	(void)pthread_mutex_unlock(&s->lock);
}

bool script_wait(struct script *s, size_t n)
{
	struct timespec until;
	bool ok;
	int r = 0;

	(void)clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += 30;
	(void)pthread_mutex_lock(&s->lock);
	while (s->n_requests < n && r == 0)
		r = pthread_cond_timedwait(&s->changed, &s->lock, &until);
	ok = s->n_requests >= n;
	(void)pthread_mutex_unlock(&s->lock);
	return ok;
}

static size_t read_locked(struct script *s, const size_t *n)
{
	size_t v;

	(void)pthread_mutex_lock(&s->lock);
	v = *n;
	(void)pthread_mutex_unlock(&s->lock);
	return v;
}

size_t script_count(struct script *s)
{
	return read_locked(s, &s->n_requests);
}

size_t script_unexpected(struct script *s)
{
	return read_locked(s, &s->unexpected);
}

size_t script_connections(struct script *s)
{
	return read_locked(s, &s->n_conns);
}

const struct script_request *script_request(struct script *s, size_t i)
{
	const struct script_request *r = NULL;

	(void)pthread_mutex_lock(&s->lock);
	if (i < s->n_requests)
		r = s->requests[i];
	(void)pthread_mutex_unlock(&s->lock);
	check_that(r != NULL, "no such request");
	return r;
}

bool script_has_header(const struct script_request *r, const char *line)
{
	cleanup(freep) char *whole = xasprintf("\r\n%s\r\n", line);
	cleanup(freep) char *all = xasprintf("\r\n%s", r->headers);

	return strstr(all, whole) != NULL;
}

/* --- certificates ----------------------------------------------------------------------------- */

static char *bio_text(BIO *b)
{
	char *p;
	long n = BIO_get_mem_data(b, &p);
	char *copy = xstrndup(p, (size_t)n);

	BIO_free(b);
	return copy;
}

char *script_pem(const char *dns_name, char **ret_cert)
{
	return script_pem_until(dns_name, 86400, ret_cert);
}

char *script_pem_until(const char *dns_name, long seconds, char **ret_cert)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *x = X509_new();
	cleanup(freep) char *names = xasprintf("DNS:%s,IP:127.0.0.1", dns_name);
	cleanup(freep) char *key_pem = NULL;
	X509_EXTENSION *ext = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, names);
	BIO *b = BIO_new(BIO_s_mem()), *k = BIO_new(BIO_s_mem());

	check_that(key && x && ext && b && k, "openssl");
	(void)X509_set_version(x, 2);
	(void)ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
	(void)X509_gmtime_adj(X509_getm_notBefore(x), -3600);
	(void)X509_gmtime_adj(X509_getm_notAfter(x), seconds);
	(void)X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC,
					 (const unsigned char *)dns_name, -1, -1, 0);
	(void)X509_set_issuer_name(x, X509_get_subject_name(x));
	(void)X509_set_pubkey(x, key);
	(void)X509_add_ext(x, ext, -1);
	check_that(X509_sign(x, key, EVP_sha256()) > 0, "sign");
	(void)PEM_write_bio_X509(b, x);
	(void)PEM_write_bio_PrivateKey(k, key, NULL, NULL, 0, NULL, NULL);
	X509_EXTENSION_free(ext);
	X509_free(x);
	EVP_PKEY_free(key);
	*ret_cert = bio_text(b);
	key_pem = bio_text(k);
	return xasprintf("%s%s", *ret_cert, key_pem);
}
