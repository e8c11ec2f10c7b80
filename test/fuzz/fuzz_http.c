/*
 * Bytes on a connection, which is then reset: whatever they are, the server goes on, and others are served meanwhile.
 */
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/httpd.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool ok)
{
	if (!ok)
		abort();
}

static void serve(void *ctx, const struct httpd_request *req, struct httpd_answer *answer)
{
	(void)ctx;
	must(req->len <= 1000 && !req->body[req->len]);
	buf_add(&answer->body, req->body, req->len);
	buf_puts(&answer->body, "served\n");
}

static struct httpd *server(void)
{
	static const struct httpd_route routes[] = {
		{ "GET", "/a", serve, NULL, 0, NULL },
		{ "POST", "/a", serve, NULL, 1000, "application/json" },
	};
	static struct httpd *h;
	struct httpd_options o = { .address = "127.0.0.1:0",
				   .routes = routes,
				   .n_routes = array_len(routes),
				   .max_in_flight = 1 << 20 };
	struct err e = ERR_INIT;

	if (!h) {
		(void)signal(SIGPIPE, SIG_IGN);
		must(!httpd_start(&o, &h, &e));
	}
	return h;
}

static int dial(const struct httpd *h)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)httpd_port(h)),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct linger now = { .l_onoff = 1, .l_linger = 0 }; /* ports are few: a reset frees them */
	int fd, r;

	do { /* libFuzzer's own alarm may interrupt it */
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		r = connect(fd, (struct sockaddr *)&to, sizeof(to));
	} while (r && errno == EINTR && !close(fd));
	must(!r);
	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	return fd;
}

/* Whether a good request is answered well. */
static bool is_served(const struct httpd *h)
{
	static const char good[] = "GET /a HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
	int fd = dial(h);
	char in[4096];
	size_t at = 0;
	ssize_t n;

	(void)!send(fd, good, sizeof(good) - 1, MSG_NOSIGNAL);
	do {
		n = recv(fd, in + at, sizeof(in) - at, 0);
		at += n > 0 ? (size_t)n : 0;
	} while (at < sizeof(in) && (n > 0 || (n < 0 && errno == EINTR)));
	(void)close(fd);
	return memmem(in, at, "served\n", 7);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct httpd *h = server();
	int fd = dial(h);

	(void)!send(fd, data, size, MSG_NOSIGNAL);
	must(is_served(h));
	(void)close(fd);
	return 0;
}
