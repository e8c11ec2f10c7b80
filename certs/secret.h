/*
 * secret.h - the Secret that keeps authority and certificate, as values.
 *
 * Keys: ca.crt, ca.key (the authority in use), tls.crt, tls.key (the leaf that every replica
 * serves), ca-next.crt, ca-next.key (the coming authority), ca-old.crt (earlier ones, without their
 * keys). Annotations: RETIRE says until when the earlier ones are kept; RENEW asks for a new leaf
 * ("leaf") or authority ("ca"), and is removed by whoever has begun it.
 */
#ifndef CERTS_SECRET_H
#define CERTS_SECRET_H

#include "certs/bundle.h"
#include "certs/issue.h"
#include "certs/plan.h"

struct json;

#define SECRET_RETIRE "celld-operator.io/retire-old-ca-after"
#define SECRET_RENEW  "celld-operator.io/renew"

struct secret {
	struct issue_pair ca, next, leaf;
	char *old;	      /* PEM; NULL: none */
	int64_t old_until_ms; /* since 1970; 0: unknown, which is over */
	enum plan_ask ask;
};

void secret_done(struct secret *s);
#define cleanup_secret_values cleanup(secret_done)
/* What the object holds; whatever is missing or no base64 is absent. */
void secret_read(const struct json *object, struct secret *ret);
/*
 * The object to write: all of `before` (its labels, its other keys and annotations, its
 * resourceVersion) with these values. before NULL: a new one of that name. The caller's.
 */
struct json *secret_write(const struct secret *s, const struct json *before, const char *ns,
			  const char *name) must_use;
void secret_copy(struct secret *to, const struct secret *from);

/* The facts that the Secret and the time tell: ca, next, leaf, old, ask. */
void secret_judge(const struct secret *s, const struct strlist *names, int64_t now_ms,
		  struct plan_facts *to);
/* The authorities that the bundles have to name. */
void secret_bundle(const struct secret *s, int64_t now_ms, struct bundle *to);

/* The steps; each leaves the values alone when it fails. The lives are those to give. */
struct secret_lives {
	int64_t ca_ms, leaf_ms;
};
int secret_replace(struct secret *s, const struct strlist *names, int64_t now_ms,
		   const struct secret_lives *lives, struct err *e);
int secret_renew(struct secret *s, const struct strlist *names, int64_t now_ms,
		 const struct secret_lives *lives, struct err *e);
int secret_stage(struct secret *s, int64_t now_ms, const struct secret_lives *lives, struct err *e);
int secret_promote(struct secret *s, const struct strlist *names, int64_t now_ms,
		   const struct secret_lives *lives, struct err *e);
void secret_retire(struct secret *s);

#endif
