/*
 * sigv4.h - Signature Version 4: the Authorization header of a request to an S3-compatible store, and Google's
 * version of it (GOOG4). Pure.
 *
 * Source: AWS, "Signature Version 4 signing process" and its test suite (test/unit/test_sigv4.c has vectors of it),
 * checked against botocore. S3 differs from every other service: a path is encoded once and never normalised.
 *
 * What is signed is what is sent: sigv4_path and sigv4_query make the canonical spelling, and the request uses that.
 */
#ifndef COMMON_SIGV4_H
#define COMMON_SIGV4_H

#include "common/base.h"

struct buf;

#define SIGV4_UNSIGNED "UNSIGNED-PAYLOAD"

enum { SIGV4_DATE = 17 };

struct sigv4_pair {
	const char *name, *value;
};

struct sigv4_request {
	const char *method;
	const char *path;  /* as sent, "/" at least */
	const char *query; /* as sent, without '?'; NULL or "": none */
	const struct sigv4_pair
		*headers; /* all that are to be signed, with host and date; names in lower case */
	size_t n_headers;
	const char *payload; /* hex SHA-256 of the body, or SIGV4_UNSIGNED */
	const char *date;    /* "20130524T000000Z", as in the date header */
	const char *region, *service;
	bool google; /* GOOG4-HMAC-SHA256 instead of AWS4-HMAC-SHA256 */
};

/* "20130524T000000Z" of an RFC 3339 text in whole seconds and UTC. */
void sigv4_date(const char *rfc3339, char date[SIGV4_DATE]);
/* Appends a path: each byte but A-Z a-z 0-9 - . _ ~ / is %XX. */
void sigv4_path(const char *path, struct buf *to);
/* "a=1&b=%2F": encoded and sorted; values may be "". The caller's. */
char *sigv4_query(const struct sigv4_pair *pairs, size_t n) must_use;
/* The value of the Authorization header; the caller's. */
char *sigv4_authorization(const struct sigv4_request *r, const char *access_key,
			  const char *secret_key) must_use;

#endif
