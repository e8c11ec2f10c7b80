/*
 * hooks.h - the caBundles of a webhook configuration: those of the webhooks that call our Service,
 * and no others.
 */
#ifndef CERTS_HOOKS_H
#define CERTS_HOOKS_H

#include "certs/bundle.h"

struct json;

struct hooks_service {
	const char *ns, *name;
};

struct hooks_state {
	size_t n;	/* webhooks that call the Service */
	bool missing;	/* one of them does not name all that is wanted */
	bool strangers; /* one of them names others */
};

/* Adds what the configuration (of either kind) shows. */
void hooks_look(const struct json *configuration, const struct hooks_service *service,
		const struct bundle *wanted, struct hooks_state *to);
/*
 * The JSON patch that makes each of those webhooks name what is wanted, and besides, with
 * keep_strangers, the others that it names and that have not ended. Guarded by tests of the
 * configuration's resourceVersion and of each webhook's name. NULL: nothing to change.
 */
struct json *hooks_patch(const struct json *configuration, const struct hooks_service *service,
			 const struct bundle *wanted, bool keep_strangers, int64_t now_ms) must_use;

#endif
