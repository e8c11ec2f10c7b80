#include "test/sim/sim.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

/* celld's own backlog: connections that are made before readiness wait in it. */
#define BACKLOG 4096

static int bound(int fd, const void *addr, socklen_t length)
{
	if (fd >= 0 && bind(fd, addr, length) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	int saved = errno;
	if (fd >= 0)
		close(fd);
	errno = saved;
	return -1;
}

int listen_tcp(const struct env_address *at)
{
	int on = 1;
	int fd = socket(at->addr.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd >= 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	return bound(fd, &at->addr, at->length);
}

int listen_unix(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	if (strlen(path) >= sizeof addr.sun_path) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(addr.sun_path, path, strlen(path) + 1);
	/* Left over from a container that was killed: the name is ours in any case. */
	(void)unlink(path);
	return bound(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), &addr,
		     sizeof addr);
}

void listen_name(int fd, char out[80])
{
	struct sockaddr_storage at = { 0 };
	socklen_t length = sizeof at;
	char host[64] = "";
	if (getsockname(fd, (void *)&at, &length) != 0)
		at.ss_family = AF_UNSPEC;
	if (at.ss_family == AF_INET) {
		const struct sockaddr_in *v4 = (const void *)&at;
		(void)inet_ntop(AF_INET, &v4->sin_addr, host, sizeof host);
		(void)snprintf(out, 80, "%s:%u", host, ntohs(v4->sin_port));
	} else if (at.ss_family == AF_INET6) {
		const struct sockaddr_in6 *v6 = (const void *)&at;
		(void)inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof host);
		(void)snprintf(out, 80, "[%s]:%u", host, ntohs(v6->sin6_port));
	} else {
		(void)snprintf(out, 80, "none");
	}
}
