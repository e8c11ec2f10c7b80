#include "certs/issue.h"

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

define_cleanup(X509 *, X509_free);
define_cleanup(ASN1_TIME *, ASN1_TIME_free);
define_cleanup(EVP_PKEY *, EVP_PKEY_free);
define_cleanup(BIO *, BIO_free_all);
define_cleanup(X509_EXTENSION *, X509_EXTENSION_free);
#define cleanup_cert cleanup(X509_free_cleanup)
#define cleanup_key  cleanup(EVP_PKEY_free_cleanup)
#define cleanup_bio  cleanup(BIO_free_all_cleanup)

enum { SERIAL_BYTES = 16, NAME_ROOM = 64, NAMES_ROOM = 2048 };

void issue_pair_done(struct issue_pair *p)
{
	if (p->key)
		OPENSSL_cleanse(p->key, strlen(p->key));
	free(p->key);
	free(p->cert);
	p->key = p->cert = NULL;
}

void issue_pair_move(struct issue_pair *to, struct issue_pair *from)
{
	issue_pair_done(to);
	*to = *from;
	from->key = from->cert = NULL;
}

static int openssl_failed(struct err *e, const char *doing)
{
	unsigned long code = ERR_get_error();
	const char *why = code ? ERR_reason_error_string(code) : NULL;

	ERR_clear_error();
	return err_set(e, ERR_INTERNAL, "%s: %s", doing, why ? why : "OpenSSL gives no reason");
}

/* ---- reading --------------------------------------------------------------------------------- */

static X509 *read_cert(const char *pem)
{
	cleanup_bio BIO *b = BIO_new_mem_buf(pem, -1);
	X509 *x = b ? PEM_read_bio_X509(b, NULL, NULL, NULL) : NULL;

	ERR_clear_error();
	return x;
}

/* A key in PEM is never asked for a passphrase. */
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
	cleanup_bio BIO *b = BIO_new_mem_buf(pem, -1);
	EVP_PKEY *k = b ? PEM_read_bio_PrivateKey(b, NULL, no_passphrase, NULL) : NULL;

	ERR_clear_error();
	return k;
}

static bool time_ms(const ASN1_TIME *t, int64_t *ret)
{
	cleanup(ASN1_TIME_free_cleanup) ASN1_TIME *epoch = ASN1_TIME_set(NULL, 0);
	int days, seconds;

	if (!epoch || !ASN1_TIME_diff(&days, &seconds, epoch, t))
		return false;
	*ret = ((int64_t)days * 86400 + seconds) * 1000;
	return true;
}

bool issue_read(const char *pem, struct issue_facts *ret)
{
	cleanup_cert X509 *x = read_cert(pem);
	struct issue_facts f;
	unsigned n = sizeof(f.id);

	if (!x || !X509_digest(x, EVP_sha256(), f.id, &n) || n != sizeof(f.id) ||
	    !time_ms(X509_get0_notBefore(x), &f.begin_ms) ||
	    !time_ms(X509_get0_notAfter(x), &f.end_ms))
		return false;
	*ret = f;
	return true;
}

bool issue_pair_fits(const struct issue_pair *p)
{
	cleanup_cert X509 *x = p->cert ? read_cert(p->cert) : NULL;
	cleanup_key EVP_PKEY *k = p->key ? read_key(p->key) : NULL;
	bool fits = x && k && X509_check_private_key(x, k) == 1;

	ERR_clear_error();
	return fits;
}

bool issue_signed_by(const char *cert_pem, const char *ca_pem)
{
	cleanup_cert X509 *x = read_cert(cert_pem), *ca = read_cert(ca_pem);
	bool is = x && ca && X509_check_ca(ca) == 1 && X509_check_issued(ca, x) == X509_V_OK &&
		  X509_verify(x, X509_get0_pubkey(ca)) == 1;

	ERR_clear_error();
	return is;
}

bool issue_has_names(const char *cert_pem, const struct strlist *names)
{
	cleanup_cert X509 *x = read_cert(cert_pem);

	if (!x)
		return false;
	for (size_t i = 0; i < names->n; i++) {
		if (X509_check_host(x, names->v[i], 0, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT, NULL) !=
		    1)
			return false;
	}
	return true;
}

int64_t issue_due_ms(const struct issue_facts *f)
{
	int64_t life = f->end_ms - f->begin_ms;

	if (life > ISSUE_BACK_MS)
		life -= ISSUE_BACK_MS;
	return f->end_ms - life / 3;
}

/* ---- making ---------------------------------------------------------------------------------- */

static char *bio_text(BIO *b)
{
	char *data;
	long n = BIO_get_mem_data(b, &data);

	return xstrndup(data, n > 0 ? (size_t)n : 0);
}

static char *cert_text(X509 *x)
{
	cleanup_bio BIO *b = BIO_new(BIO_s_mem());

	return b && PEM_write_bio_X509(b, x) ? bio_text(b) : NULL;
}

static char *key_text(EVP_PKEY *k)
{
	cleanup_bio BIO *b = BIO_new(BIO_s_secmem());

	return b && PEM_write_bio_PKCS8PrivateKey(b, k, NULL, NULL, 0, NULL, NULL) ? bio_text(b)
										   : NULL;
}

static bool set_serial(X509 *x, unsigned char bytes[SERIAL_BYTES])
{
	BIGNUM *n = NULL;
	bool ok = RAND_bytes(bytes, SERIAL_BYTES) == 1;

	bytes[0] = (unsigned char)((bytes[0] & 0x3f) | 0x40); /* positive, always 16 bytes long */
	if (ok)
		n = BN_bin2bn(bytes, SERIAL_BYTES, NULL);
	ok = n && BN_to_ASN1_INTEGER(n, X509_get_serialNumber(x));
	BN_free(n);
	return ok;
}

static bool set_life(X509 *x, int64_t begin_ms, int64_t end_ms)
{
	return ASN1_TIME_set(X509_getm_notBefore(x), begin_ms / 1000) &&
	       ASN1_TIME_set(X509_getm_notAfter(x), end_ms / 1000);
}

static bool set_name(X509 *x, const char *cn)
{
	return X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_UTF8,
					  (const unsigned char *)cn, -1, -1, 0) == 1;
}

static bool add_extension(X509 *x, X509 *issuer, int nid, const char *value)
{
	cleanup(X509_EXTENSION_free_cleanup) X509_EXTENSION *ext = NULL;
	X509V3_CTX ctx;

	X509V3_set_ctx(&ctx, issuer, x, NULL, NULL, 0);
	ext = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
	return ext && X509_add_ext(x, ext, -1) == 1;
}

/* What a certificate of either sort has: version, serial, life, key. */
static X509 *begin_cert(EVP_PKEY *key, int64_t begin_ms, int64_t end_ms,
			unsigned char serial[SERIAL_BYTES])
{
	cleanup_cert X509 *x = X509_new();

	if (!x || !X509_set_version(x, X509_VERSION_3) || !set_serial(x, serial) ||
	    !set_life(x, begin_ms, end_ms) || !X509_set_pubkey(x, key))
		return NULL;
	return take(x);
}

static bool finish(X509 *x, EVP_PKEY *key, EVP_PKEY *signer, struct issue_pair *ret)
{
	cleanup_issue_pair struct issue_pair p = { NULL, NULL };

	if (!X509_sign(x, signer, EVP_sha256()))
		return false;
	p.cert = cert_text(x);
	p.key = key_text(key);
	if (!p.cert || !p.key)
		return false;
	issue_pair_move(ret, &p);
	return true;
}

int issue_ca(int64_t now_ms, int64_t life_ms, struct issue_pair *ret, struct err *e)
{
	cleanup_key EVP_PKEY *key = EVP_EC_gen("P-256");
	cleanup_cert X509 *x = NULL;
	unsigned char serial[SERIAL_BYTES];
	char cn[NAME_ROOM], hex[DIGEST_HEX];

	x = key ? begin_cert(key, now_ms - ISSUE_BACK_MS, now_ms + life_ms, serial) : NULL;
	if (!x)
		return openssl_failed(e, "making an authority");
	/* Two authorities in one bundle are told apart by name, too. */
	digest_hex(serial, SERIAL_BYTES, hex);
	(void)snprintf(cn, sizeof(cn), "celld-operator CA %.16s", hex);
	if (!set_name(x, cn) || !X509_set_issuer_name(x, X509_get_subject_name(x)) ||
	    !add_extension(x, x, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") ||
	    !add_extension(x, x, NID_key_usage, "critical,keyCertSign,cRLSign") ||
	    !add_extension(x, x, NID_subject_key_identifier, "hash") || !finish(x, key, key, ret))
		return openssl_failed(e, "making an authority");
	return 0;
}

static void names_text(const struct strlist *names, char to[NAMES_ROOM])
{
	size_t n = 0;

	to[0] = '\0';
	for (size_t i = 0; i < names->n && n < NAMES_ROOM; i++)
		n += (size_t)snprintf(to + n, NAMES_ROOM - n, "%sDNS:%s", i ? "," : "",
				      names->v[i]);
}

static bool sign_leaf(X509 *x, X509 *ca, EVP_PKEY *ca_key, EVP_PKEY *key,
		      const struct strlist *names, struct issue_pair *ret)
{
	char san[NAMES_ROOM];

	names_text(names, san);
	return set_name(x, "celld-operator-webhook") &&
	       X509_set_issuer_name(x, X509_get_subject_name(ca)) &&
	       add_extension(x, ca, NID_basic_constraints, "critical,CA:FALSE") &&
	       add_extension(x, ca, NID_key_usage, "critical,digitalSignature") &&
	       add_extension(x, ca, NID_ext_key_usage, "serverAuth") &&
	       add_extension(x, ca, NID_authority_key_identifier, "keyid:always") &&
	       add_extension(x, ca, NID_subject_alt_name, san) && finish(x, key, ca_key, ret);
}

int issue_leaf(const struct issue_pair *ca, const struct strlist *names, int64_t now_ms,
	       int64_t life_ms, struct issue_pair *ret, struct err *e)
{
	cleanup_cert X509 *ca_cert = ca->cert ? read_cert(ca->cert) : NULL, *x = NULL;
	cleanup_key EVP_PKEY *ca_key = ca->key ? read_key(ca->key) : NULL, *key = NULL;
	int64_t end = now_ms + life_ms, ca_end;
	unsigned char serial[SERIAL_BYTES];

	if (!ca_cert || !ca_key || X509_check_private_key(ca_cert, ca_key) != 1 ||
	    !time_ms(X509_get0_notAfter(ca_cert), &ca_end)) {
		ERR_clear_error();
		return err_set(e, ERR_INVALID,
			       "the authority cannot sign: no certificate with its key");
	}
	if (end > ca_end)
		end = ca_end;
	key = EVP_EC_gen("P-256");
	x = key ? begin_cert(key, now_ms - ISSUE_BACK_MS, end, serial) : NULL;
	if (!x || !sign_leaf(x, ca_cert, ca_key, key, names, ret))
		return openssl_failed(e, "making a serving certificate");
	return 0;
}
