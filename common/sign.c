#include "common/sign.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdlib.h>
#include <string.h>

/* NOLINTNEXTLINE(readability-non-const-parameter): the library gives the type */
static int no_passphrase(char *to, int size, int writing, void *ctx)
{
	(void)to;
	(void)size;
	(void)writing;
	(void)ctx;
	return -1;
}

static EVP_PKEY *read_key(const char *pem)
{
	BIO *b = BIO_new_mem_buf(pem, (int)strlen(pem));
	EVP_PKEY *k = b ? PEM_read_bio_PrivateKey(b, NULL, no_passphrase, NULL) : NULL;

	BIO_free(b);
	if (k && EVP_PKEY_get_base_id(k) != EVP_PKEY_RSA) {
		EVP_PKEY_free(k);
		return NULL;
	}
	return k;
}

int sign_rs256(const char *pem, const void *data, size_t n, unsigned char **ret, size_t *ret_n,
	       struct err *e)
{
	EVP_PKEY *key = read_key(pem);
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	unsigned char *out = NULL;
	size_t size = 0;
	bool fine = key && ctx && EVP_DigestSignInit(ctx, NULL, EVP_sha256(), NULL, key) == 1 &&
		    EVP_DigestSign(ctx, NULL, &size, data, n) == 1;

	if (fine) {
		out = xmalloc(size);
		fine = EVP_DigestSign(ctx, out, &size, data, n) == 1;
	}
	EVP_MD_CTX_free(ctx);
	EVP_PKEY_free(key);
	if (!fine) {
		free(out);
		return err_set(e, ERR_INVALID, "no RSA private key in PEM without a passphrase");
	}
	*ret = out;
	*ret_n = size;
	return 0;
}
