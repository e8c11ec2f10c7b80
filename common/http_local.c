#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "common/http.h"

/* Metadata services that are not link-local: Alibaba's, Azure's wire server. */
static const uint32_t alibaba = 0x646464c8, wire_server = 0xa83f8110;

static bool local4(uint32_t a)
{
	uint32_t first = a >> 24;

	return first == 0 || first == 127 || a >> 16 == 0xa9fe || first >= 224 || a == alibaba ||
	       a == wire_server;
}

static uint32_t last4(const struct in6_addr *a)
{
	uint32_t v;

	memcpy(&v, a->s6_addr + 12, sizeof(v));
	return ntohl(v);
}

static bool local6(const struct in6_addr *a)
{
	static const unsigned char aws[4] = { 0xfd, 0, 0x0e,
					      0xc2 }; /* fd00:ec2::254 and its neighbours */
	static const unsigned char nat64[12] = { 0, 0x64, 0xff, 0x9b };

	if (IN6_IS_ADDR_V4MAPPED(a) || IN6_IS_ADDR_V4COMPAT(a) ||
	    memcmp(a->s6_addr, nat64, sizeof(nat64)) == 0)
		return IN6_IS_ADDR_LOOPBACK(a) || local4(last4(a));
	return IN6_IS_ADDR_UNSPECIFIED(a) || IN6_IS_ADDR_LOOPBACK(a) || IN6_IS_ADDR_LINKLOCAL(a) ||
	       IN6_IS_ADDR_MULTICAST(a) || memcmp(a->s6_addr, aws, sizeof(aws)) == 0;
}

bool http_is_local(const struct sockaddr *address)
{
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;

	if (address->sa_family == AF_INET) {
		memcpy(&v4, address, sizeof(v4));
		return local4(ntohl(v4.sin_addr.s_addr));
	}
	if (address->sa_family != AF_INET6)
		return true; /* nothing that a store could be at */
	memcpy(&v6, address, sizeof(v6));
	return local6(&v6.sin6_addr);
}
