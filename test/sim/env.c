#include "test/sim/env.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "test/sim/release.h"

const char *env_text(const char *name)
{
	const char *value = getenv(name);
	return value != NULL && value[0] != '\0' ? value : NULL;
}

bool env_parse_uint(const char *text, long long *out)
{
	long long sum = 0;
	if (*text == '\0')
		return false;
	for (; *text != '\0'; text++) {
		if (*text < '0' || *text > '9' || sum > 900000000000000000LL)
			return false;
		sum = sum * 10 + (*text - '0');
	}
	*out = sum;
	return true;
}

long long env_number(const char *name, long long fallback)
{
	const char *value = env_text(name);
	long long out = fallback;
	return value != NULL && env_parse_uint(value, &out) ? out : fallback;
}

int env_refuse(char *message, size_t size, const char *name, const char *format, ...)
{
	int used = snprintf(message, size, "%s: ", name);
	if (used > 0 && (size_t)used < size) {
		va_list args;
		va_start(args, format);
		(void)vsnprintf(message + used, size - (size_t)used, format, args);
		va_end(args);
	}
	return -1;
}

bool env_idle(void)
{
	return env_text("CELLD_BUCKET") == NULL && env_text("CELLD_ADDR") == NULL &&
	       env_text("CELLD_INTERNAL_ADDR") == NULL && env_text("CELLD_ADVERTISE") == NULL &&
	       env_text("CELLD_CLOUD") == NULL;
}

/* 0.4.1 does not start when the wait for the drain token exceeds three quarters of the whole drain. */
static int env_check_drain(int release, char *message, size_t size)
{
	if (release < V(0, 4, 1) || release >= V(0, 5, 0))
		return 0;
	long long wait = env_number("CELLD_DRAIN_TOKEN_WAIT_MS", 30000);
	long long total = env_number("CELLD_SHUTDOWN_TOTAL_MS", 40000);
	if (wait * 4 <= total * 3)
		return 0;
	return env_refuse(message, size, "CELLD_DRAIN_TOKEN_WAIT_MS",
			  "%lld ms exceeds three quarters of CELLD_SHUTDOWN_TOTAL_MS (%lld ms)",
			  wait, total);
}

/* From 0.4.1 the name has an alphabet. Before, any text went. */
static int env_load_node(struct env_config *config, char *message, size_t size)
{
	const char *node = getenv("CELLD_NODE");
	if (node == NULL || (node[0] == '\0' && config->release < V(0, 4, 1))) {
		unsigned long long id[2] = { 0 };
		if (getrandom(id, sizeof id, 0) != sizeof id)
			return env_refuse(message, size, "CELLD_NODE", "no random name");
		(void)snprintf(config->node, sizeof config->node, "node_%016llx%016llx", id[0],
			       id[1]);
		return 0;
	}
	size_t length = strlen(node);
	if (config->release >= V(0, 4, 1)) {
		size_t good = strspn(node, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
					   "0123456789._-");
		if (length == 0 || length > 128 || good != length || strcmp(node, ".") == 0 ||
		    strcmp(node, "..") == 0)
			return env_refuse(message, size, "CELLD_NODE",
					  "must be 1 to 128 characters of A-Z a-z 0-9 . _ -, "
					  "not \".\" or \"..\"");
	}
	(void)snprintf(config->node, sizeof config->node, "%s", node);
	return 0;
}

static long long env_default_activations(int release)
{
	long long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	cpus = cpus < 1 ? 1 : cpus;
	if (release < V(0, 4, 1))
		return cpus < 128 ? cpus : 128;
	long long many = cpus * 8;
	return many < 16 ? 16 : many > 128 ? 128 : many;
}

int env_load(struct env_config *config, int release, char *message, size_t size)
{
	memset(config, 0, sizeof *config);
	config->release = release;
	if (env_check_values(release, message, size) != 0 ||
	    env_check_telemetry(release, message, size) != 0 ||
	    env_check_drain(release, message, size) != 0 ||
	    env_load_node(config, message, size) != 0 ||
	    env_load_network(config, message, size) != 0 ||
	    env_load_storage(config, message, size) != 0)
		return -1;
	config->activations = env_number("CELLD_ACTIVATIONS", env_default_activations(release));
	config->poll_s = env_number("CELLD_DEPLOY_POLL_S", 30);
	config->bound_ms = release < V(0, 4, 0) ? env_number("CELLD_SHUTDOWN_DRAIN_MS", 25000)
						: env_number("CELLD_SHUTDOWN_TOTAL_MS", 40000);
	return 0;
}
