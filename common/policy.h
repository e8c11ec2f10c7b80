/*
 * policy.h - what a platform allows: images, identities, endpoints. Pure (tier 2).
 *
 * A kind without an entry is not checked; a kind with entries allows exactly those. An entry is
 * VALUE, for every namespace, or NAMESPACE=VALUE; NAMESPACE may hold `*`, any letters. Values:
 *  - an image's is a prefix that ends at `:`, `@` or `/` of the image: ghcr.io/denoland/celld allows
 *    ghcr.io/denoland/celld:v0.6.2, not ghcr.io/denoland/celld-fork:v1.0.0;
 *  - a role's or an account's may hold `*`, any letters but `/`, `@` and `:`;
 *  - a client ID and an endpoint are compared as a whole; endpoints regardless of the case of scheme
 *    and host, a default port, and slashes at the end.
 * iamRole `auto` names no role and is always allowed; so is a bucket without an endpoint.
 */
#ifndef COMMON_POLICY_H
#define COMMON_POLICY_H

#include "common/fault.h"
#include "common/strlist.h"
#include "common/workerapp.h"

enum policy_kind {
	POLICY_IMAGE,
	POLICY_IAM_ROLE,
	POLICY_AZURE_CLIENT_ID,
	POLICY_GCP_SERVICE_ACCOUNT,
	POLICY_ENDPOINT,
	POLICY_KINDS,
};

struct policy {
	struct strlist list[POLICY_KINDS];
};

/* A copy of the entry joins the list. ERR_INVALID: it cannot be one; the message says why. */
int policy_add(struct policy *p, enum policy_kind kind, const char *entry, struct err *e);
void policy_done(struct policy *p);

/* p NULL: nothing is checked. namespace NULL is "". value NULL is allowed. */
bool policy_allows(const struct policy *p, enum policy_kind kind, const char *namespace,
		   const char *value);
/* Faults with `forbidden` for a spec: image, and what of bucket is not the store's. */
void policy_judge_app(const struct policy *p, const struct workerapp *app, struct faults *faults);
/* The same for a store's endpoint and credentials. */
void policy_judge_store(const struct policy *p, const char *namespace, const struct wa_bucket *b,
			struct faults *faults);

#endif
