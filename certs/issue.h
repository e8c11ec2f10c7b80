/*
 * issue.h - keys and certificates: makes authorities and leaves, and reads them. With bundle.c the
 * only user of OpenSSL in here.
 *
 * Everything is ECDSA on P-256 with SHA-256. Certificates begin ISSUE_BACK_MS before they are made,
 * because the clocks of API servers differ from ours. Texts are PEM. The time is the caller's.
 */
#ifndef CERTS_ISSUE_H
#define CERTS_ISSUE_H

#include "common/base.h"
#include "common/digest.h"
#include "common/err.h"
#include "common/strlist.h"

enum { ISSUE_BACK_MS = 3600000 };

/* Either may be NULL: absent. */
struct issue_pair {
	char *cert, *key;
};
/* Wipes the key, frees, and leaves both absent. */
void issue_pair_done(struct issue_pair *p);
#define cleanup_issue_pair cleanup(issue_pair_done)
/* Moves from into to, whose contents are released. */
void issue_pair_move(struct issue_pair *to, struct issue_pair *from);

/* An authority of a name that no other one has. ERR_INTERNAL: OpenSSL failed. */
int issue_ca(int64_t now_ms, int64_t life_ms, struct issue_pair *ret, struct err *e);
/*
 * A serving certificate for names, of ca. It ends with the authority at the latest. ERR_INVALID: ca
 * is no pair.
 */
int issue_leaf(const struct issue_pair *ca, const struct strlist *names, int64_t now_ms,
	       int64_t life_ms, struct issue_pair *ret, struct err *e);

struct issue_facts {
	unsigned char id[DIGEST_BYTES]; /* SHA-256 of the whole certificate */
	int64_t begin_ms, end_ms;	/* since 1970 */
};

/* Of the first certificate in pem. False: there is none, or it cannot be read. */
bool issue_read(const char *pem, struct issue_facts *ret);
/* Whether key is that of the certificate. */
bool issue_pair_fits(const struct issue_pair *p);
/* Whether ca, an authority, has signed cert. */
bool issue_signed_by(const char *cert_pem, const char *ca_pem);
/* Whether cert is good for each of the names. */
bool issue_has_names(const char *cert_pem, const struct strlist *names);
/* When a certificate is due to be replaced: a third of its life, as counted from its making, is left. */
int64_t issue_due_ms(const struct issue_facts *f);

#endif
