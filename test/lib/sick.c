#include "test/lib/sick.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/digest.h"
#include "test/lib/script.h"

enum { PIECE = 64 << 10, HUGE_BYTES = 100 << 20, MAX_REQUEST = 1 << 20 };

struct conn {
	struct sick *s;
	int fd;
	SSL *ssl;
	struct conn *next;
};

struct sick {
	int place, fd, port; /* place keeps the port while nobody listens; fd -1 then */
	char url[64];
	const char *other;
	SSL_CTX *fine, *expired; /* NULL: plain */
	char *authorities;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t changed;
	pthread_t thread;
	enum sick_mode mode;
	char body[512];
	char tag[DIGEST_HEX];
	struct conn *conns;
	size_t calls, most_sent;
	int64_t since;
};

static void check_that(bool ok, const char *what)
{
	if (ok)
		return;
	perror(what);
	abort();
}

/* --- answers ---------------------------------------------------------------------------------- */

static bool send_all(struct conn *c, const void *data, size_t n)
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

static bool reply(struct conn *c, const char *head, const char *body)
{
	struct buf b = BUF_INIT(1 << 20);
	bool ok;

	buf_printf(&b, "HTTP/1.1 %s\r\nContent-Length: %zu\r\n\r\n%s", head, strlen(body), body);
	ok = send_all(c, b.data, b.len);
	buf_done(&b);
	return ok;
}

/* As much of 100 MiB as the caller takes. */
static bool huge(struct conn *c, const char *head)
{
	static const char piece[PIECE];
	struct sick *s = c->s;
	size_t sent = 0;
	bool ok = send_all(c, head, strlen(head));

	while (ok && sent < HUGE_BYTES) {
		ok = send_all(c, piece, sizeof(piece));
		sent += ok ? sizeof(piece) : 0;
	}
	(void)pthread_mutex_lock(&s->lock);
	if (sent > s->most_sent)
		s->most_sent = sent;
	(void)pthread_mutex_unlock(&s->lock);
	return false; /* without a length the end is the connection's */
}

/* Until the caller has left, or the next switch has shut the connection. */
static bool hang(const struct conn *c)
{
	char byte;

	while (recv(c->fd, &byte, 1, 0) > 0)
		;
	return false;
}

struct told {
	enum sick_mode mode;
	char body[512], tag[DIGEST_HEX];
};

static bool fine(struct conn *c, const char *request, const struct told *now)
{
	char head[256], asked[DIGEST_HEX + 32];

	(void)snprintf(asked, sizeof(asked), "\r\nIf-None-Match: \"%s\"\r\n", now->tag);
	(void)snprintf(head, sizeof(head), "200 OK\r\nETag: \"%s\"", now->tag);
	if (strcasestr(request, asked))
		return send_all(c, "HTTP/1.1 304 Not Modified\r\n\r\n", 29);
	return reply(c, head, now->body);
}

static bool answer(struct conn *c, const char *request, const struct told *now)
{
	static const struct timespec latency = { .tv_nsec = 100000000 };
	char head[256];

	switch (now->mode) {
	case SICK_SLOW:
		(void)nanosleep(&latency, NULL);
		return fine(c, request, now);
	case SICK_FINE:
	case SICK_EXPIRED: /* somebody took the certificate */
		return fine(c, request, now);
	case SICK_STOPPED:
		return false;
	case SICK_HANG:
		return hang(c);
	case SICK_STORM:
		return reply(c, "503 Slow Down", "<Error><Code>SlowDown</Code></Error>");
	case SICK_STORM_LONG:
		return huge(c, "HTTP/1.1 503 Slow Down\r\nContent-Length: 104857600\r\n\r\n");
	case SICK_GARBAGE:
		return reply(c, "200 OK\r\nContent-Type: text/html", "<html>It works!</html>");
	case SICK_NOT_HTTP:
		(void)send_all(c, "SSH-2.0-OpenSSH_9.2p1\r\n", 23);
		return false;
	case SICK_HUGE:
		return huge(c, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
	case SICK_HUGE_TOLD:
		return huge(c, "HTTP/1.1 200 OK\r\nContent-Length: 104857600\r\n\r\n");
	case SICK_CUT:
		(void)send_all(c, "HTTP/1.1 200 OK\r\nContent-Length: 40\r\n\r\n{\"version\":", 51);
		return false;
	case SICK_REDIRECT:
		(void)snprintf(head, sizeof(head), "307 Temporary Redirect\r\nLocation: %s/cells",
			       c->s->other);
		return reply(c, head, "");
	case SICK_REGION:
		return reply(c, "301 Moved Permanently\r\nx-amz-bucket-region: eu-west-1",
			     "<Error><Code>PermanentRedirect</Code></Error>");
	case SICK_SIGNED:
		return reply(c, "400 Bad Request",
			     "<Error><Code>AuthorizationHeaderMalformed</Code>"
			     "<Region>eu-west-1</Region></Error>");
	}
	return false;
}

/* --- connections ------------------------------------------------------------------------------ */

static void count(struct sick *s)
{
	s->calls++;
	(void)pthread_cond_broadcast(&s->changed);
}

/* The whole head of the next request into in; there is never a body. */
static bool read_head(struct conn *c, struct buf *in)
{
	char part[4096];

	buf_clear(in);
	while (!strstr(buf_str(in), "\r\n\r\n")) {
		ssize_t r = c->ssl ? SSL_read(c->ssl, part, sizeof(part))
				   : read(c->fd, part, sizeof(part));

		if (r <= 0)
			return false;
		buf_add(in, part, (size_t)r);
	}
	return true;
}

static void leave(struct conn *c)
{
	struct sick *s = c->s;
	struct conn **at = &s->conns;

	ERR_clear_error();
	SSL_free(c->ssl);
	(void)pthread_mutex_lock(&s->lock);
	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	(void)close(c->fd);
	free(c);
	(void)pthread_cond_broadcast(&s->changed);
	(void)pthread_mutex_unlock(&s->lock);
}

static void *serve(void *conn)
{
	struct conn *c = conn;
	struct sick *s = c->s;
	struct buf in = BUF_INIT(MAX_REQUEST);
	bool open = !c->ssl || SSL_accept(c->ssl) == 1, first = true;

	while (open && read_head(c, &in)) {
		struct told now;

		(void)pthread_mutex_lock(&s->lock);
		if (!first) /* the connection was counted */
			count(s);
		now.mode = s->mode;
		memcpy(now.body, s->body, sizeof(now.body));
		memcpy(now.tag, s->tag, sizeof(now.tag));
		(void)pthread_mutex_unlock(&s->lock);
		first = false;
		open = answer(c, buf_str(&in), &now);
	}
	buf_done(&in);
	leave(c);
	return NULL;
}

static void greet(struct sick *s, int fd)
{
	struct conn *c = xcalloc(1, sizeof(*c));
	int at_once = 1;
	pthread_t thread;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof(at_once));
	c->s = s;
	c->fd = fd;
	(void)pthread_mutex_lock(&s->lock);
	if (s->fine) {
		c->ssl = SSL_new(s->mode == SICK_EXPIRED ? s->expired : s->fine);
		(void)SSL_set_fd(c->ssl, fd);
	}
	c->next = s->conns;
	s->conns = c;
	count(s);
	(void)pthread_mutex_unlock(&s->lock);
	check_that(!pthread_create(&thread, NULL, serve, c) && !pthread_detach(thread), "thread");
}

static void *accept_all(void *sick)
{
	struct sick *s = sick;
	int fd;

	while ((fd = accept(s->fd, NULL, NULL)) >= 0)
		greet(s, fd);
	return NULL;
}

/* --- start, switch and stop ------------------------------------------------------------------- */

static int bound(const struct sick *s)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((uint16_t)s->port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	check_that(fd >= 0 && !setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) &&
			   !bind(fd, (struct sockaddr *)&a, sizeof(a)),
		   "socket");
	return fd;
}

static void open_door(struct sick *s)
{
	s->fd = bound(s);
	check_that(!listen(s->fd, 256), "listen");
	check_that(!pthread_create(&s->thread, NULL, accept_all, s), "thread");
}

static void close_door(struct sick *s)
{
	if (s->fd < 0)
		return;
	(void)shutdown(s->fd, SHUT_RDWR);
	(void)pthread_join(s->thread, NULL);
	(void)close(s->fd);
	s->fd = -1;
}

/* With the lock. */
static void hang_up(struct sick *s)
{
	for (struct conn *c = s->conns; c; c = c->next)
		(void)shutdown(c->fd, SHUT_RDWR);
	while (s->conns)
		(void)pthread_cond_wait(&s->changed, &s->lock);
}

void sick_switch(struct sick *s, enum sick_mode mode, const char *body)
{
	close_door(s); /* so that nobody comes in between */
	(void)pthread_mutex_lock(&s->lock);
	hang_up(s);
	s->mode = mode;
	(void)snprintf(s->body, sizeof(s->body), "%s", body ? body : "");
	digest_hex(body ? body : "", body ? strlen(body) : 0, s->tag);
	s->calls = s->most_sent = 0;
	s->since = clock_mono_ms();
	(void)pthread_mutex_unlock(&s->lock);
	if (mode != SICK_STOPPED)
		open_door(s);
}

static SSL_CTX *tls_of(const char *name, long seconds, char **ret_cert)
{
	cleanup(freep) char *pem = script_pem_until(name, seconds, ret_cert);
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

static void make_certificates(struct sick *s)
{
	cleanup(freep) char *a = NULL;
	cleanup(freep) char *b = NULL;

	s->fine = tls_of("fine.test", 86400, &a);
	s->expired = tls_of("expired.test", -60, &b);
	s->authorities = xasprintf("%s%s", a, b);
}

struct sick *sick_start(bool tls, const char *other)
{
	struct sick *s = xcalloc(1, sizeof(*s));
	struct sockaddr_in a = { .sin_family = AF_INET };
	socklen_t n = sizeof(a);
	pthread_condattr_t attr;

	(void)signal(SIGPIPE, SIG_IGN);
	(void)pthread_mutex_init(&s->lock, NULL);
	(void)pthread_condattr_init(&attr);
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&s->changed, &attr);
	(void)pthread_condattr_destroy(&attr);
	s->place = bound(s);
	check_that(!getsockname(s->place, (struct sockaddr *)&a, &n), "port");
	s->port = ntohs(a.sin_port);
	s->fd = -1;
	s->other = other;
	(void)snprintf(s->url, sizeof(s->url), "%s://127.0.0.1:%d", tls ? "https" : "http",
		       s->port);
	if (tls)
		make_certificates(s);
	sick_switch(s, SICK_FINE, NULL);
	return s;
}

void sick_stop(struct sick *s)
{
	sick_switch(s, SICK_STOPPED, NULL);
	(void)close(s->place);
	SSL_CTX_free(s->fine);
	SSL_CTX_free(s->expired);
	free(s->authorities);
	(void)pthread_mutex_destroy(&s->lock);
	(void)pthread_cond_destroy(&s->changed);
	free(s);
}

const char *sick_url(const struct sick *s)
{
	return s->url;
}

const char *sick_authorities(const struct sick *s)
{
	return s->authorities;
}

size_t sick_calls(struct sick *s)
{
	size_t n;

	(void)pthread_mutex_lock(&s->lock);
	n = s->calls;
	(void)pthread_mutex_unlock(&s->lock);
	return n;
}

bool sick_wait(struct sick *s, size_t calls)
{
	struct timespec until;
	bool ok;
	int r = 0;

	(void)clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += 60;
	(void)pthread_mutex_lock(&s->lock);
	while (s->calls < calls && r == 0)
		r = pthread_cond_timedwait(&s->changed, &s->lock, &until);
	ok = s->calls >= calls;
	(void)pthread_mutex_unlock(&s->lock);
	return ok;
}

int64_t sick_since(struct sick *s)
{
	int64_t ms;

	(void)pthread_mutex_lock(&s->lock);
	ms = s->since;
	(void)pthread_mutex_unlock(&s->lock);
	return ms;
}

size_t sick_most_sent(struct sick *s)
{
	size_t n;

	(void)pthread_mutex_lock(&s->lock);
	n = s->most_sent;
	(void)pthread_mutex_unlock(&s->lock);
	return n;
}
