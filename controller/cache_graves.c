#include "controller/cache_graves.h"

#include <stdio.h>

#include "controller/cache.h"

void graves_add(struct graves *g, const struct json *object)
{
	const struct json *meta = json_get(object, "metadata");
	const char *uid = json_get_str(meta, "uid");
	const char *version = json_get_str(meta, "resourceVersion");
	size_t i;

	if (!uid || !version)
		return;
	i = g->next++ % GRAVES;
	(void)snprintf(g->v[i].uid, sizeof(g->v[i].uid), "%s", uid);
	(void)snprintf(g->v[i].version, sizeof(g->v[i].version), "%s", version);
}

bool graves_has(const struct graves *g, const struct json *object)
{
	const struct json *meta = json_get(object, "metadata");
	const char *uid = json_get_str(meta, "uid");
	const char *version = json_get_str(meta, "resourceVersion");

	if (!uid || !version)
		return false;
	for (size_t i = 0; i < GRAVES; i++) {
		if (str_eq(g->v[i].uid, uid) && !cache_newer(version, g->v[i].version))
			return true;
	}
	return false;
}
