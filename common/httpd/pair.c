#include "common/httpd/pair.h"

#include <errno.h>
#include <fcntl.h>
#include <gnutls/x509.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void wipe(gnutls_datum_t *d)
{
	if (d->data) {
		gnutls_memset(d->data, 0, d->size);
		free(d->data);
	}
	d->data = NULL;
}

#define cleanup_secret cleanup(wipe)

static int read_file(const char *path, gnutls_datum_t *ret, struct err *e)
{
	cleanup(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	size_t room = 0;

	if (fd < 0 || fstat(fd, &st))
		return err_errno(e, errno, "%s", path);
	if (!S_ISREG(st.st_mode))
		return err_set(e, ERR_INVALID, "%s is not a regular file", path);
	if (st.st_size > PAIR_MAX_FILE)
		return err_set(e, ERR_TOO_LARGE, "%s is larger than 1 MiB", path);
	room = (size_t)st.st_size;
	ret->data = xmalloc(room + 1);
	for (ret->size = 0; ret->size < room;) {
		ssize_t n = read(fd, ret->data + ret->size, room - ret->size);

		if (n < 0)
			return err_errno(e, errno, "%s", path);
		if (n == 0)
			break;
		ret->size += (unsigned)n;
	}
	ret->data[ret->size] = '\0';
	return 0;
}

/*
 * Whether the key is that of the certificate: both have the same public half. (GnuTLS's own check,
 * a credentials object that is thrown away, loses the certificate's memory when they differ.)
 */
static int check_match(const struct pair *p)
{
	unsigned char id[2][64];
	size_t n[2] = { sizeof(id[0]), sizeof(id[1]) };
	gnutls_pubkey_t public;
	int r = gnutls_pubkey_init(&public);

	if (r < 0)
		return r;
	r = gnutls_pubkey_import_privkey(public, p->key, 0, 0);
	if (r >= 0)
		r = gnutls_pubkey_get_key_id(public, GNUTLS_KEYID_USE_SHA256, id[0], &n[0]);
	if (r >= 0)
		r = gnutls_pubkey_get_key_id(p->cert[0].pubkey, GNUTLS_KEYID_USE_SHA256, id[1],
					     &n[1]);
	gnutls_pubkey_deinit(public);
	if (r < 0)
		return r;
	return n[0] == n[1] && !memcmp(id[0], id[1], n[0]) ? 0 : GNUTLS_E_CERTIFICATE_KEY_MISMATCH;
}

static int leaf_life(const gnutls_datum_t *cert, struct pair *p)
{
	gnutls_x509_crt_t leaf;
	int r = gnutls_x509_crt_init(&leaf);

	if (r < 0)
		return r;
	r = gnutls_x509_crt_import(leaf, cert, GNUTLS_X509_FMT_PEM);
	if (r >= 0) {
		p->begin = (int64_t)gnutls_x509_crt_get_activation_time(leaf);
		p->expiry = (int64_t)gnutls_x509_crt_get_expiration_time(leaf);
	}
	gnutls_x509_crt_deinit(leaf);
	return r;
}

static int import(struct pair *p, const gnutls_datum_t *cert, const gnutls_datum_t *key)
{
	unsigned n = PAIR_CHAIN;
	int r = leaf_life(cert, p);

	if (r >= 0)
		r = gnutls_pcert_list_import_x509_raw(p->cert, &n, cert, GNUTLS_X509_FMT_PEM, 0);
	if (r < 0)
		return r;
	p->n = n;
	r = gnutls_privkey_init(&p->key);
	if (r >= 0)
		r = gnutls_privkey_import_x509_raw(p->key, key, GNUTLS_X509_FMT_PEM, NULL, 0);
	return r < 0 ? r : check_match(p);
}

/* NULL: *ret_code says why, in GnuTLS's terms. */
static struct pair *new_pair(const gnutls_datum_t *cert, const gnutls_datum_t *key, int *ret_code)
{
	struct pair *p = xcalloc(1, sizeof(*p));

	p->refs = 1;
	*ret_code = import(p, cert, key);
	if (*ret_code >= 0)
		return p;
	pair_unref(p);
	return NULL;
}

int pair_load(const char *cert_file, const char *key_file, struct pair **ret, struct err *e)
{
	cleanup_secret gnutls_datum_t cert = { .data = NULL }, key = { .data = NULL };
	struct pair *p;
	int r;

	if (read_file(cert_file, &cert, e))
		return err_wrap(e, "certificate");
	if (read_file(key_file, &key, e))
		return err_wrap(e, "key of the certificate");
	p = new_pair(&cert, &key, &r);
	if (!p)
		return err_set(e, ERR_INVALID, "certificate %s with key %s: %s", cert_file,
			       key_file, gnutls_strerror(r));
	*ret = p;
	return 0;
}

static gnutls_datum_t lent_text(const char *s)
{
	return (gnutls_datum_t){ .data = (void *)(uintptr_t)s, .size = (unsigned)strlen(s) };
}

int pair_read(const char *cert_pem, const char *key_pem, struct pair **ret, struct err *e)
{
	gnutls_datum_t cert = lent_text(cert_pem), key = lent_text(key_pem);
	struct pair *p;
	int r;

	p = new_pair(&cert, &key, &r);
	if (!p)
		return err_set(e, ERR_INVALID, "certificate with its key: %s", gnutls_strerror(r));
	*ret = p;
	return 0;
}

struct pair *pair_ref(struct pair *p)
{
	p->refs++;
	return p;
}

void pair_unref(struct pair *p)
{
	if (!p || --p->refs)
		return;
	for (unsigned i = 0; i < p->n; i++)
		gnutls_pcert_deinit(&p->cert[i]);
	if (p->key)
		gnutls_privkey_deinit(p->key);
	free(p);
}

struct pair_stamp pair_stamp_of(const char *cert_file, const char *key_file)
{
	const char *const path[2] = { cert_file, key_file };
	struct pair_stamp s;

	memset(&s, 0, sizeof(s));
	for (int i = 0; i < 2; i++) {
		struct stat st;

		if (stat(path[i], &st))
			continue;
		s.file[i].there = true;
		s.file[i].dev = st.st_dev;
		s.file[i].ino = st.st_ino;
		s.file[i].size = st.st_size;
		s.file[i].mtime = st.st_mtim;
	}
	return s;
}

bool pair_stamp_same(const struct pair_stamp *a, const struct pair_stamp *b)
{
	for (int i = 0; i < 2; i++) {
		if (a->file[i].there != b->file[i].there || a->file[i].dev != b->file[i].dev ||
		    a->file[i].ino != b->file[i].ino || a->file[i].size != b->file[i].size ||
		    a->file[i].mtime.tv_sec != b->file[i].mtime.tv_sec ||
		    a->file[i].mtime.tv_nsec != b->file[i].mtime.tv_nsec)
			return false;
	}
	return true;
}
