#include "controller/cache_graves.h"

#include <stdio.h>

#include "controller/cache.h"

void graves_add(struct graves *g, const char *uid, const char *version)
{
	size_t i;

	if (!uid || !version)
		return;
	i = g->next++ % GRAVES;
	(void)snprintf(g->v[i].uid, sizeof(g->v[i].uid), "%s", uid);
	(void)snprintf(g->v[i].version, sizeof(g->v[i].version), "%s", version);
}

bool graves_has(const struct graves *g, const char *uid, const char *version)
{
	if (!uid || !version)
		return false;
	for (size_t i = 0; i < GRAVES; i++) {
		if (str_eq(g->v[i].uid, uid) && !cache_newer(version, g->v[i].version))
			return true;
	}
	return false;
}
