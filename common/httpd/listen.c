#include "common/httpd/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/httpd.h"

enum { BACKLOG = 1024 };

union any {
	struct sockaddr sa;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static bool read_port(const char *s, int *ret)
{
	int v = 0;

	if (!*s || strlen(s) > 5)
		return false;
	for (; *s; s++) {
		if (*s < '0' || *s > '9')
			return false;
		v = v * 10 + (*s - '0');
	}
	*ret = v;
	return v <= 65535;
}

/* host: "", an IPv4 address, or an IPv6 address (bracketed says which was written). */
static bool read_host(const char *host, bool bracketed)
{
	struct in6_addr any;

	if (!*host)
		return !bracketed;
	return inet_pton(bracketed ? AF_INET6 : AF_INET, host, &any) == 1;
}

int httpd_address_read(const char *s, struct httpd_address *ret, struct err *e)
{
	const char *colon = strrchr(s, ':');
	struct httpd_address a = { .port = 0 };
	size_t n = colon ? (size_t)(colon - s) : 0;
	bool bracketed = n >= 2 && s[0] == '[' && s[n - 1] == ']';

	if (bracketed) {
		s++;
		n -= 2;
	}
	if (colon && n < sizeof(a.host)) {
		memcpy(a.host, s, n);
		if (read_host(a.host, bracketed) && read_port(colon + 1, &a.port)) {
			*ret = a;
			return 0;
		}
	}
	return err_set(e, ERR_INVALID,
		       "'%s' is not an address such as :8443, 0.0.0.0:8443 or [::]:8443",
		       bracketed ? s - 1 : s);
}

static socklen_t fill(const struct httpd_address *a, bool v6, union any *to)
{
	memset(to, 0, sizeof(*to));
	if (v6) {
		to->v6.sin6_family = AF_INET6;
		to->v6.sin6_port = htons((uint16_t)a->port);
		if (*a->host)
			(void)inet_pton(AF_INET6, a->host, &to->v6.sin6_addr);
		return sizeof(to->v6);
	}
	to->v4.sin_family = AF_INET;
	to->v4.sin_port = htons((uint16_t)a->port);
	if (*a->host)
		(void)inet_pton(AF_INET, a->host, &to->v4.sin_addr);
	return sizeof(to->v4);
}

/* Every address: one socket for both families. -1 with errno. */
static int open_bound(const struct httpd_address *a, bool v6)
{
	union any to;
	socklen_t len = fill(a, v6, &to);
	int one = 1, zero = 0, saved;
	int fd = socket(to.sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -1;
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (v6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero));
	if (!bind(fd, &to.sa, len) && !listen(fd, BACKLOG))
		return fd;
	saved = errno;
	(void)close(fd);
	errno = saved;
	return -1;
}

int listen_open(const char *address, int *ret_fd, int *ret_port, struct err *e)
{
	struct httpd_address a = { .port = 0 };
	union any got = { .sa.sa_family = AF_UNSPEC };
	socklen_t len = sizeof(got);
	int fd, r = httpd_address_read(address, &a, e);

	if (r)
		return r;
	fd = open_bound(&a, !*a.host || strchr(a.host, ':'));
	if (fd < 0 && !*a.host && (errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL))
		fd = open_bound(&a, false); /* a machine without IPv6 */
	if (fd < 0)
		return err_errno(e, errno, "cannot listen on %s", address);
	if (getsockname(fd, &got.sa, &len)) {
		r = err_errno(e, errno, "address of the listener on %s", address);
		(void)close(fd);
		return r;
	}
	*ret_port = ntohs(got.sa.sa_family == AF_INET6 ? got.v6.sin6_port : got.v4.sin_port);
	*ret_fd = fd;
	return 0;
}
