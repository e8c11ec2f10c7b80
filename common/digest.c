#include "common/digest.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>
#include <string.h>

void digest_sha256(const void *data, size_t n, unsigned char out[DIGEST_BYTES])
{
	if (EVP_Digest(data, n, out, NULL, EVP_sha256(), NULL) != 1)
		abort();
}

uint64_t digest_short(const void *data, size_t n)
{
	unsigned char raw[DIGEST_BYTES];
	uint64_t h;

	digest_sha256(data, n, raw);
	memcpy(&h, raw, sizeof(h));
	return h ? h : 1;
}

void digest_hex(const void *data, size_t n, char out[DIGEST_HEX])
{
	static const char hex[] = "0123456789abcdef";
	unsigned char raw[DIGEST_BYTES];

	digest_sha256(data, n, raw);
	for (size_t i = 0; i < DIGEST_BYTES; i++) {
		out[2 * i] = hex[raw[i] >> 4];
		out[2 * i + 1] = hex[raw[i] & 15];
	}
	out[DIGEST_HEX - 1] = '\0';
}

void digest_hmac(const void *key, size_t key_len, const void *data, size_t n,
		 unsigned char out[DIGEST_BYTES])
{
	if (!HMAC(EVP_sha256(), key, (int)key_len, data, n, out, NULL))
		abort();
}

bool digest_same(const void *a, const void *b, size_t n)
{
	return CRYPTO_memcmp(a, b, n) == 0;
}

void digest_wipe(void *data, size_t n)
{
	OPENSSL_cleanse(data, n);
}
