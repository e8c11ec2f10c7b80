#include "controller/presence.h"

#include <stdio.h>

#include "common/log.h"

void presence_log(void *ctx, bool there, int64_t ms, const char *why)
{
	char seconds[32];

	(void)ctx;
	if (!there) {
		log_warn("the API server is away", "why", why, NULL);
		return;
	}
	(void)snprintf(seconds, sizeof(seconds), "%lld.%03lld", (long long)ms / 1000,
		       (long long)ms % 1000);
	log_info("the API server is back", "away_seconds", seconds, NULL);
}
