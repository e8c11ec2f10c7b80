/*
 * policy_load.h - a policy from its YAML file and from the --allowed-* flags.
 *
 * The file holds any of these lists, whose entries are those of policy.h:
 *
 *	allowedImagePrefixes: [ghcr.io/denoland/celld, "team-*=registry.example.com/"]
 *	allowedIAMRoles: []
 *	allowedAzureClientIDs: []
 *	allowedGCPServiceAccounts: []
 *	allowedBucketEndpoints: []
 *
 * An empty list checks nothing, as one that is absent.
 */
#ifndef COMMON_POLICY_LOAD_H
#define COMMON_POLICY_LOAD_H

#include "common/flags.h"
#include "common/policy.h"

/* Adds what the text holds; origin is its name in messages. ERR_INVALID "policy.yaml:3: ...". */
int policy_load(const char *text, size_t len, const char *origin, struct policy *p, struct err *e);
/* Adds what the flags hold. ERR_INVALID names the flag. */
int policy_add_flags(const struct strlist given[POLICY_KINDS], struct policy *p, struct err *e);
/* The rows of --allowed-image-prefixes and so on, which fill the lists. */
void policy_flags(struct strlist given[POLICY_KINDS], struct flag to[POLICY_KINDS]);

#endif
