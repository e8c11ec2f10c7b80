/*
 * authority.h - the Secret that keeps authority and certificate, as values.
 *
 * Keys: ca.crt, ca.key (the authority in use), tls.crt, tls.key (the leaf that every replica
 * serves), ca-next.crt, ca-next.key (the coming authority), ca-old.crt (earlier ones, without their
 * keys). Annotations: RETIRE says until when the earlier ones are kept; RENEW asks for a new leaf
 * ("leaf") or authority ("ca"), and is removed by whoever has begun it.
 */
#ifndef CERTS_AUTHORITY_H
#define CERTS_AUTHORITY_H

#include "certs/bundle.h"
#include "certs/issue.h"
#include "certs/plan.h"

struct json;

#define SECRET_RETIRE "celld-operator.io/retire-old-ca-after"
#define SECRET_RENEW  "celld-operator.io/renew"

struct authority {
	struct issue_pair ca, next, leaf;
	char *old;	      /* PEM; NULL: none */
	int64_t old_until_ms; /* since 1970; 0: unknown, which is over */
	enum plan_ask ask;
};

void authority_done(struct authority *s);
#define cleanup_authority cleanup(authority_done)
/* What the object holds; whatever is missing or no base64 is absent. */
void authority_read(const struct json *object, struct authority *ret);
/*
 * The object to write: all of `before` (its labels, its other keys and annotations, its
 * resourceVersion) with these values. before NULL: a new one of that name. The caller's.
 */
struct json *authority_write(const struct authority *s, const struct json *before, const char *ns,
			     const char *name) must_use;
void authority_copy(struct authority *to, const struct authority *from);

/* The facts that the Secret and the time tell: ca, next, leaf, old, ask. */
void authority_judge(const struct authority *s, const struct strlist *names, int64_t now_ms,
		     struct plan_facts *to);
/* The authorities that the bundles have to name. */
void authority_bundle(const struct authority *s, int64_t now_ms, struct bundle *to);

/* The steps; each leaves the values alone when it fails. The lives are those to give. */
struct authority_lives {
	int64_t ca_ms, leaf_ms;
};
int authority_replace(struct authority *s, const struct strlist *names, int64_t now_ms,
		      const struct authority_lives *lives, struct err *e);
int authority_renew(struct authority *s, const struct strlist *names, int64_t now_ms,
		    const struct authority_lives *lives, struct err *e);
int authority_stage(struct authority *s, int64_t now_ms, const struct authority_lives *lives,
		    struct err *e);
int authority_promote(struct authority *s, const struct strlist *names, int64_t now_ms,
		      const struct authority_lives *lives, struct err *e);
void authority_retire(struct authority *s);

#endif
