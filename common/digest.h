/*
 * digest.h - SHA-256; with certs/ and sign the only user of OpenSSL.
 */
#ifndef COMMON_DIGEST_H
#define COMMON_DIGEST_H

#include "common/base.h"

enum { DIGEST_BYTES = 32, DIGEST_HEX = 65 };

void digest_sha256(const void *data, size_t n, unsigned char out[DIGEST_BYTES]);
/* Its first bytes, for what need not withstand anybody; never 0. */
uint64_t digest_short(const void *data, size_t n);
/* Lower-case hex with a NUL. */
void digest_hex(const void *data, size_t n, char out[DIGEST_HEX]);
void digest_hmac(const void *key, size_t key_len, const void *data, size_t n,
		 unsigned char out[DIGEST_BYTES]);
/* Equal length and bytes, in time that depends on n alone. */
bool digest_same(const void *a, const void *b, size_t n);
/* Overwrites what was secret, in a way that the compiler cannot leave out. */
void digest_wipe(void *data, size_t n);

#endif
