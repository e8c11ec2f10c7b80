/*
 * dialect.h - what the files of store/ share; for them alone.
 */
#ifndef COMMON_STORE_DIALECT_H
#define COMMON_STORE_DIALECT_H

#include "common/clock.h"
#include "common/sigv4.h"
#include "common/store/store.h"

struct store;

/* The request of an operation while it is put together. */
struct store_draft {
	const struct store_op *op;
	const char *method;
	struct buf path;	    /* encoded, begins with '/' */
	char *query;		    /* as sent; NULL: none */
	struct sigv4_pair extra[8]; /* headers that are to be signed, names in lower case */
	size_t n_extra;
	char clock[CLOCK_TEXT]; /* RFC 3339, by the store's clock */
	int64_t wall_ms;	/* by the store's clock */
};

struct store_dialect {
	/* Checks the keys; fills host, base and what else is its own. */
	int (*open)(struct store *s, struct err *e);
	/* Fills draft, and adds the headers to ret. */
	int (*call)(struct store *s, struct store_draft *d, struct store_call *ret, struct err *e);
	/* The tag of an object from an answer. */
	void (*tag)(const struct http_response *r, char to[STORE_TAG]);
	/* The names in an answer to LIST, whole keys. */
	int (*list)(const struct http_response *r, struct strlist *ret, struct err *e);
};

extern const struct store_dialect store_s3, store_gcs, store_gcs_hmac, store_azure;

struct store {
	const struct store_dialect *dialect;
	struct store_place place; /* its texts are owned */
	struct store_keys keys;
	char *scheme, *host, *base; /* "https", "host:port", "/path" of the endpoint or "" */
	struct http_tls tls;
	int64_t skew_ms;  /* what to add to our clock */
	bool skew_mended; /* and no answer since was good */
	struct secret token;
	int64_t token_end;			/* wall */
	bool token_fresh;			/* and no answer since was good */
	char *email, *pem, *key_id, *token_url; /* of a service account */
};

void store_header(struct store_call *c, const char *name, const char *value);
/* "prefix/key" of an operation; the caller's. */
char *store_full_key(const struct store *s, const char *key) must_use;
/* <Key>..</Key> or <Name>..</Name> of an XML listing, unescaped. */
void store_xml_names(const char *xml, const char *element, struct strlist *ret);
void store_etag(const struct http_response *r, char to[STORE_TAG]);

#endif
