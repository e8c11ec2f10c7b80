#include "test/lib/peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

/* A peer that does not answer within this has hung. */
enum { HUNG_MS = 30000 };

struct peer {
	int fd;
	SSL_CTX *ctx;
	SSL *ssl;
	char in[1 << 16];
	size_t have;
	bool ended;
};

no_return static void fail(const char *what)
{
	(void)fprintf(stderr, "peer: %s failed\n", what);
	abort();
}

static void must(bool ok, const char *what)
{
	if (!ok)
		fail(what);
}

/* ---- certificates ---------------------------------------------------------------------------- */

static X509 *make_cert(EVP_PKEY *key, const char *cn, long seconds)
{
	X509 *x = X509_new();
	X509_NAME *name = X509_get_subject_name(x);
	X509V3_CTX v3;
	X509_EXTENSION *san;

	must(X509_set_version(x, X509_VERSION_3) && X509_set_pubkey(x, key), "certificate");
	ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
	X509_gmtime_adj(X509_getm_notBefore(x), -3600);
	X509_gmtime_adj(X509_getm_notAfter(x), seconds);
	must(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)cn, -1, -1,
					0) &&
		     X509_set_issuer_name(x, name),
	     "subject");
	X509V3_set_ctx(&v3, x, x, NULL, NULL, 0);
	san = X509V3_EXT_conf_nid(NULL, &v3, NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1");
	must(san && X509_add_ext(x, san, -1), "subject alternative name");
	X509_EXTENSION_free(san);
	must(X509_sign(x, key, EVP_sha256()) > 0, "signature");
	return x;
}

void peer_write_pair(const char *cert_file, const char *key_file, const char *cn, long seconds)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *x = make_cert(key, cn, seconds);
	FILE *cert = fopen(cert_file, "we"), *secret = fopen(key_file, "we");

	must(cert && PEM_write_X509(cert, x), cert_file);
	must(secret && PEM_write_PrivateKey(secret, key, NULL, NULL, 0, NULL, NULL), key_file);
	must(!fclose(cert), cert_file);
	must(!fclose(secret), key_file);
	X509_free(x);
	EVP_PKEY_free(key);
}

/* ---- connections ----------------------------------------------------------------------------- */

static struct peer *connect_to(int port)
{
	struct peer *p = xcalloc(1, sizeof(*p));
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct timeval hung = { .tv_sec = HUNG_MS / 1000 };

	(void)signal(SIGPIPE, SIG_IGN);
	p->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	must(p->fd >= 0 && !connect(p->fd, (struct sockaddr *)&to, sizeof(to)), "connect");
	(void)setsockopt(p->fd, SOL_SOCKET, SO_RCVTIMEO, &hung, sizeof(hung));
	(void)setsockopt(p->fd, SOL_SOCKET, SO_SNDTIMEO, &hung, sizeof(hung));
	return p;
}

struct peer *peer_try_tls(int port, int max_version)
{
	struct peer *p = connect_to(port);

	p->ctx = SSL_CTX_new(TLS_client_method());
	must(p->ctx, "context");
	SSL_CTX_set_security_level(p->ctx, 0);
	must(SSL_CTX_set_max_proto_version(p->ctx, max_version), "version");
	p->ssl = SSL_new(p->ctx);
	must(p->ssl && SSL_set_fd(p->ssl, p->fd), "session");
	if (SSL_connect(p->ssl) == 1)
		return p;
	peer_close(p);
	return NULL;
}

struct peer *peer_open(int port, bool tls)
{
	struct peer *p = tls ? peer_try_tls(port, 0) : connect_to(port);

	must(p, "handshake");
	return p;
}

void peer_close(struct peer *p)
{
	if (p->ssl) {
		(void)SSL_shutdown(p->ssl);
		SSL_free(p->ssl);
	}
	SSL_CTX_free(p->ctx);
	(void)close(p->fd);
	free(p);
}

void peer_reset(struct peer *p)
{
	struct linger now = { .l_onoff = 1, .l_linger = 0 };

	(void)setsockopt(p->fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	SSL_free(p->ssl);
	p->ssl = NULL;
	peer_close(p);
}

/* A connection that the server has ended swallows the rest. */
void peer_send(struct peer *p, const char *data, size_t n)
{
	while (n) {
		ssize_t w = p->ssl ? SSL_write(p->ssl, data, n > 1 << 20 ? 1 << 20 : (int)n)
				   : send(p->fd, data, n, MSG_NOSIGNAL);

		if (w <= 0)
			return;
		data += w;
		n -= (size_t)w;
	}
}

void peer_puts(struct peer *p, const char *text)
{
	peer_send(p, text, strlen(text));
}

void peer_puts_last(struct peer *p, const char *text)
{
	int on = 1;

	(void)setsockopt(p->fd, IPPROTO_TCP, TCP_CORK, &on, sizeof(on));
	peer_puts(p, text);
	(void)shutdown(p->fd, SHUT_WR);
}

void peer_post(struct peer *p, const char *path, const char *body, size_t n)
{
	char head[512];

	(void)snprintf(head, sizeof(head),
		       "POST %s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
		       "Content-Length: %zu\r\n\r\n",
		       path, n);
	peer_puts(p, head);
	peer_send(p, body, n);
}

void peer_get(struct peer *p, const char *path)
{
	char head[512];

	(void)snprintf(head, sizeof(head), "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path);
	peer_puts(p, head);
}

static ssize_t receive(struct peer *p, char *to, size_t n)
{
	ssize_t r = p->ssl ? SSL_read(p->ssl, to, n > 1 << 20 ? 1 << 20 : (int)n)
			   : recv(p->fd, to, n, 0);

	if (r <= 0)
		p->ended = true;
	return r;
}

static bool fill(struct peer *p)
{
	ssize_t r;

	must(p->have < sizeof(p->in), "room for an answer's head");
	r = receive(p, p->in + p->have, sizeof(p->in) - p->have);
	if (r <= 0)
		return false;
	p->have += (size_t)r;
	return true;
}

static char *head_end(const struct peer *p)
{
	return memmem(p->in, p->have, "\r\n\r\n", 4);
}

static void drop(struct peer *p, size_t n)
{
	memmove(p->in, p->in + n, p->have - n);
	p->have -= n;
}

static size_t content_length(const char *head)
{
	const char *at = strcasestr(head, "\r\nContent-Length:");

	return at ? strtoull(at + 17, NULL, 10) : 0;
}

static void read_body(struct peer *p, struct peer_answer *a)
{
	size_t take_n = a->len < p->have ? a->len : p->have, at = take_n;

	a->body = xmalloc(a->len + 1);
	memcpy(a->body, p->in, take_n);
	drop(p, take_n);
	while (at < a->len) {
		ssize_t r = receive(p, a->body + at, a->len - at);

		must(r > 0, "reading a body");
		at += (size_t)r;
	}
	a->body[a->len] = '\0';
}

static void read_answer(struct peer *p, struct peer_answer *a, bool has_body)
{
	size_t n;

	memset(a, 0, sizeof(*a));
	do {
		while (!head_end(p)) {
			if (!fill(p))
				return;
		}
		n = (size_t)(head_end(p) - p->in) + 4;
		must(n < sizeof(a->head), "room for an answer's head");
		memcpy(a->head, p->in, n);
		a->head[n] = '\0';
		drop(p, n);
		a->status = (int)strtol(a->head + 9, NULL, 10);
	} while (a->status == 100);
	a->len = has_body ? content_length(a->head) : 0;
	read_body(p, a);
}

void peer_read(struct peer *p, struct peer_answer *a)
{
	read_answer(p, a, true);
}

void peer_read_head(struct peer *p, struct peer_answer *a)
{
	read_answer(p, a, false);
}

void peer_answer_done(struct peer_answer *a)
{
	free(a->body);
	a->body = NULL;
}

bool peer_at_end(struct peer *p)
{
	return p->have == 0 && !fill(p);
}

bool peer_ends_within(struct peer *p, int ms)
{
	struct pollfd wait = { .fd = p->fd, .events = POLLRDHUP };

	return poll(&wait, 1, ms) > 0 && (wait.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

void peer_server_name(struct peer *p, char *name, size_t room)
{
	X509 *x = SSL_get1_peer_certificate(p->ssl);

	must(x && X509_NAME_get_text_by_NID(X509_get_subject_name(x), NID_commonName, name,
					    (int)room) > 0,
	     "the server's name");
	X509_free(x);
}
