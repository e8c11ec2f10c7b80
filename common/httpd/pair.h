/*
 * pair.h - a certificate chain with its key, reference counted. Of httpd.c alone.
 *
 * Not thread-safe: all references of a pair belong to one server and are taken and dropped on its
 * thread (or before it starts and after it has ended, or before the pair was handed to it).
 */
#ifndef COMMON_HTTPD_PAIR_H
#define COMMON_HTTPD_PAIR_H

#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <sys/stat.h>

#include "common/base.h"
#include "common/err.h"

enum { PAIR_CHAIN = 16, PAIR_MAX_FILE = 1 << 20 };

struct pair {
	unsigned refs;
	unsigned n;
	gnutls_pcert_st cert[PAIR_CHAIN];
	gnutls_privkey_t key;
	int64_t begin, expiry; /* of the leaf, seconds since 1970 */
};

/* What tells whether two files are still those that were read. */
struct pair_stamp {
	struct {
		dev_t dev;
		ino_t ino;
		off_t size;
		struct timespec mtime;
		bool there;
	} file[2];
};

/* Reads both files. ERR_INVALID: no PEM, or the key is not the certificate's. One reference, the
 * caller's. */
int pair_load(const char *cert_file, const char *key_file, struct pair **ret, struct err *e);
/* The same of texts. */
int pair_read(const char *cert_pem, const char *key_pem, struct pair **ret, struct err *e);
struct pair *pair_ref(struct pair *p);
void pair_unref(struct pair *p); /* NULL is nothing */

struct pair_stamp pair_stamp_of(const char *cert_file, const char *key_file);
bool pair_stamp_same(const struct pair_stamp *a, const struct pair_stamp *b);

#endif
