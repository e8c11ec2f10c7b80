/*
 * bundle.h - a caBundle: several authorities in one PEM text. Compared as a set of certificates, so
 * that their order and the text around them do not matter.
 */
#ifndef CERTS_BUNDLE_H
#define CERTS_BUNDLE_H

#include "certs/issue.h"

enum { BUNDLE_MAX = 16 }; /* certificates; what comes after them is not looked at */

struct bundle {
	struct bundle_cert {
		struct issue_facts facts;
		char *pem;
	} cert[BUNDLE_MAX];
	size_t n;
};
#define BUNDLE_INIT                                                                                \
	{                                                                                          \
		.n = 0                                                                             \
	}

void bundle_done(struct bundle *b);
#define cleanup_bundle cleanup(bundle_done)
/* Adds each certificate of the text that is not there yet; other text is skipped. NULL: nothing. */
void bundle_add(struct bundle *b, const char *pem);
bool bundle_has(const struct bundle *b, const unsigned char id[DIGEST_BYTES]);
/* Whether every certificate of part is in b. */
bool bundle_covers(const struct bundle *b, const struct bundle *part);
/* Removes what has ended at that time. */
void bundle_drop_ended(struct bundle *b, int64_t now_ms);
/* One after the other; the caller's. */
char *bundle_text(const struct bundle *b) must_use;

#endif
