/*
 * Listeners and the advertised address. 0.1 has one listener and an unchecked advertise value; the
 * rules below are those of 0.2 and later.
 */
#include "test/sim/env.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "test/sim/release.h"

/* Splits "host:port" or "[host]:port"; false when there is no port within 0 to 65535. */
static bool split(const char *value, char host[300], int *port, bool *brackets)
{
	const char *colon = strrchr(value, ':');
	long long number = 0;
	if (colon == NULL || !env_parse_uint(colon + 1, &number) || number > 65535)
		return false;
	size_t length = (size_t)(colon - value);
	*brackets = length > 1 && value[0] == '[' && value[length - 1] == ']';
	if (*brackets) {
		value++;
		length -= 2;
	}
	if (length == 0 || length >= 300)
		return false;
	memcpy(host, value, length);
	host[length] = '\0';
	*port = (int)number;
	return true;
}

/* An address literal with its port; false when it is none (an IPv6 address must stand in brackets). */
static bool literal(const char *host, int port, bool brackets, struct env_address *out)
{
	memset(out, 0, sizeof *out);
	struct sockaddr_in *v4 = (void *)&out->addr;
	struct sockaddr_in6 *v6 = (void *)&out->addr;
	if (!brackets && inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons((uint16_t)port);
		out->length = sizeof *v4;
		return true;
	}
	if (brackets && inet_pton(AF_INET6, host, &v6->sin6_addr) == 1) {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons((uint16_t)port);
		out->length = sizeof *v6;
		return true;
	}
	return false;
}

enum reach { ANY, LOOPBACK, GROUP, PRIVATE, PUBLIC };

static enum reach reach4(uint32_t ip)
{
	if (ip == 0)
		return ANY;
	if (ip >> 24 == 127)
		return LOOPBACK;
	if (ip >> 28 == 14 || ip == 0xffffffff)
		return GROUP;
	if (ip >> 24 == 10 || ip >> 20 == 0xac1 || ip >> 16 == 0xc0a8 || ip >> 16 == 0xa9fe ||
	    ip >> 22 == 0x191)
		return PRIVATE;
	return PUBLIC;
}

static enum reach reach(const struct env_address *at)
{
	if (at->addr.ss_family == AF_INET) {
		const struct sockaddr_in *v4 = (const void *)&at->addr;
		return reach4(ntohl(v4->sin_addr.s_addr));
	}
	const struct in6_addr *ip =
		&((const struct sockaddr_in6 *)(const void *)&at->addr)->sin6_addr;
	if (IN6_IS_ADDR_UNSPECIFIED(ip))
		return ANY;
	if (IN6_IS_ADDR_LOOPBACK(ip))
		return LOOPBACK;
	if (IN6_IS_ADDR_MULTICAST(ip))
		return GROUP;
	if (IN6_IS_ADDR_LINKLOCAL(ip) || (ip->s6_addr[0] & 0xfe) == 0xfc)
		return PRIVATE;
	return PUBLIC;
}

bool env_parse_listener(const char *value, struct env_address *out)
{
	char host[300];
	int port = 0;
	bool brackets = false;
	return split(value, host, &port, &brackets) && literal(host, port, brackets, out);
}

static int load_listener(const char *name, const char *fallback, struct env_address *out,
			 char *message, size_t size)
{
	const char *value = env_text(name);
	value = value != NULL ? value : fallback;
	if (env_parse_listener(value, out))
		return 0;
	return env_refuse(message, size, name, "\"%s\" is not an IP address with a port", value);
}

/* Letters, digits and hyphens between dots. */
static bool is_dns_name(const char *host)
{
	size_t label = 0;
	if (strlen(host) > 253)
		return false;
	for (; *host != '\0'; host++) {
		bool alnum = (*host >= 'a' && *host <= 'z') || (*host >= 'A' && *host <= 'Z') ||
			     (*host >= '0' && *host <= '9');
		if (*host == '.' && label == 0)
			return false;
		if (*host != '.' && *host != '-' && !alnum)
			return false;
		label = *host == '.' ? 0 : label + 1;
		if (label > 63)
			return false;
	}
	return label > 0;
}

static int check_advertise(const char *value, char *message, size_t size)
{
	static const char name[] = "CELLD_ADVERTISE";
	char host[300];
	int port = 0;
	bool brackets = false;
	struct env_address at;
	if (!split(value, host, &port, &brackets))
		return env_refuse(message, size, name, "\"%s\" is not HOST:PORT", value);
	if (port == 0)
		return env_refuse(message, size, name, "the port must not be 0");
	if (!literal(host, port, brackets, &at)) {
		if (!brackets && is_dns_name(host))
			return 0;
		return env_refuse(message, size, name,
				  "\"%s\" is neither an IP address nor a DNS name", host);
	}
	enum reach far = reach(&at);
	if (far == ANY || far == GROUP)
		return env_refuse(message, size, name, "%s cannot be reached by a peer", host);
	if (far == PUBLIC && env_number("CELLD_UNSAFE_PUBLIC_ADVERTISE", 0) != 1)
		return env_refuse(
			message, size, name,
			"%s is a public address; CELLD_UNSAFE_PUBLIC_ADVERTISE=1 allows it", host);
	return 0;
}

static int check_pairs(const struct env_config *config, bool explicit_internal,
		       const char *advertise, char *message, size_t size)
{
	if (reach(&config->public_addr) != LOOPBACK && !explicit_internal)
		return env_refuse(message, size, "CELLD_INTERNAL_ADDR",
				  "is required when CELLD_ADDR is not a loopback address");
	if (advertise != NULL && !explicit_internal)
		return env_refuse(message, size, "CELLD_INTERNAL_ADDR",
				  "is required with CELLD_ADVERTISE");
	if (reach(&config->internal_addr) == ANY && advertise == NULL)
		return env_refuse(message, size, "CELLD_ADVERTISE",
				  "is required when CELLD_INTERNAL_ADDR is an unspecified address");
	return 0;
}

int env_load_network(struct env_config *config, char *message, size_t size)
{
	const char *advertise = env_text("CELLD_ADVERTISE");
	if (advertise != NULL)
		(void)snprintf(config->advertise, sizeof config->advertise, "%s", advertise);
	if (load_listener("CELLD_ADDR", "127.0.0.1:8080", &config->public_addr, message, size) != 0)
		return -1;
	if (config->release < V(0, 2, 0))
		return 0;
	if (load_listener("CELLD_INTERNAL_ADDR", "127.0.0.1:0", &config->internal_addr, message,
			  size) != 0)
		return -1;
	if (check_pairs(config, env_text("CELLD_INTERNAL_ADDR") != NULL, advertise, message,
			size) != 0)
		return -1;
	return advertise != NULL ? check_advertise(advertise, message, size) : 0;
}
