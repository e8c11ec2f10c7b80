/*
 * sign.h - RSA signatures (RS256), for the tokens of Google's service accounts. Uses OpenSSL.
 */
#ifndef COMMON_SIGN_H
#define COMMON_SIGN_H

#include "common/base.h"
#include "common/err.h"

/*
 * RSASSA-PKCS1-v1_5 with SHA-256 of data, by a private key in PEM without a passphrase. *ret is the caller's.
 * ERR_INVALID: no such key; the message holds nothing of it.
 */
int sign_rs256(const char *pem, const void *data, size_t n, unsigned char **ret, size_t *ret_n,
	       struct err *e);

#endif
