/*
 * access.h - may the sender of a request have this page? TokenReview says who it is, SubjectAccessReview whether the
 * cluster's rules allow it (nonResourceURLs), as in every component of Kubernetes.
 *
 * The answers of one token are kept 60 s, allowed and refused ones alike, by the token's digest. What could not be
 * asked is not kept and refuses.
 */
#ifndef COMMON_KUBE_ACCESS_H
#define COMMON_KUBE_ACCESS_H

#include "common/base.h"
#include "common/err.h"

struct http_cancel;
struct kube_access;
struct kube_config;

enum { KUBE_ACCESS_KEPT_MS = 60000, KUBE_ACCESS_KEPT = 64 };

/* Both are lent and outlive it. cancel may be NULL. */
struct kube_access *kube_access_new(struct kube_config *config,
				    struct http_cancel *cancel) must_use;
void kube_access_free(struct kube_access *a);
/*
 * authorization: the header's value, NULL: none. verb "get", path "/metrics". Blocks for at most 5 s. From any thread.
 * 0; ERR_UNAUTHORIZED: no token, or one that is not valid; ERR_FORBIDDEN; anything else: it could not be asked.
 */
int kube_access_check(struct kube_access *a, const char *authorization, const char *verb,
		      const char *path, struct err *e);

#endif
