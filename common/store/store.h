/*
 * store.h - object stores: one object at a time, read, written under a condition, deleted, listed. Three dialects: S3
 * (Signature Version 4), Google Cloud Storage (a service account's token, or HMAC keys) and Azure Blob (account key
 * or SAS).
 *
 * A store makes requests and reads answers; sending is the caller's, by http_loop (the tracker) or by store_do. Rules:
 * a redirect is never followed, so credentials go to no other host; the answer to a condition that does not hold is
 * ERR_CONFLICT; errors say what the store said by its code alone, never a byte of a credential or of a body.
 *
 * Errors of store_answer: NOT_FOUND, CONFLICT (a condition), UNAUTHORIZED and FORBIDDEN (401, 403), THROTTLED (429,
 * 503; e->retry_after_ms), UNAVAILABLE (other 5xx), PROTOCOL (redirect, anything else).
 *
 * Facts: S3 conditions are If-Match and If-None-Match on ETags; Google's are generations; Azure's are ETags. S3
 * without an endpoint is addressed by virtual host, with one by path, as celld does.
 */
#ifndef COMMON_STORE_STORE_H
#define COMMON_STORE_STORE_H

#include "common/http.h"
#include "common/secret.h"
#include "common/strlist.h"
#include "common/workerapp.h"

enum { STORE_TAG = 160 };

/* What a Secret of celld's may hold, by celld's own names; for gs:// the AWS names are HMAC keys. */
struct store_keys {
	struct secret aws_access_key_id, aws_secret_access_key, aws_session_token;
	struct secret google_service_account_key;
	struct secret azure_storage_account_key, azure_storage_sas_token;
};

void store_keys_done(struct store_keys *k);
void store_keys_copy(struct store_keys *to, const struct store_keys *from);
/* The member that a key of a Secret fills; NULL: none. */
struct secret *store_key(struct store_keys *k, const char *name);

/* Where a bucket is. Copied by store_open. */
struct store_place {
	enum bucket_scheme scheme;
	const char *
		endpoint; /* URL; NULL: the cloud's own. gs:// and az://: a private endpoint or an emulator */
	const char *region;    /* s3; NULL: us-east-1, with an endpoint auto */
	const char *account;   /* az */
	const char *container; /* "cells" */
	const char *prefix;    /* "apps/chat", without slashes around; "": none */
	bool allow_http;
	bool no_local; /* see http.h */
	/* authorities of the endpoint instead of the system's, in a file that is read anew; NULL */
	const char *ca_file;
};

struct store;

/*
 * A copy that owns its texts; "" and NULL are both absent but for the prefix, which is "" then. Frees such a one's
 * texts.
 */
void store_place_copy(struct store_place *to, const struct store_place *from);
void store_place_done(struct store_place *p);
/* Copies both. ERR_INVALID: the place or the keys cannot be right; names the key. */
int store_open(const struct store_place *place, const struct store_keys *keys, struct store **ret,
	       struct err *e);
void store_free(struct store *s);
define_cleanup(struct store *, store_free);
/* "s3.us-east-1.amazonaws.com", "minio.local:9000": whom the requests go to. Lent. */
const char *store_host(const struct store *s);
/* "https://minio.local:9000": the same with the scheme, or of the requests for tokens. The caller's. */
char *store_origin(const struct store *s, bool token) must_use;

enum store_verb { STORE_GET, STORE_PUT, STORE_DELETE, STORE_LIST };

/* Everything is lent until the answer was read. */
struct store_op {
	enum store_verb verb;
	const char *key; /* below the prefix; of LIST: what names begin with */
	const void *body;
	size_t body_len;
	bool if_absent;		/* PUT: creates only */
	const char *if_tag;	/* PUT: replaces this state only */
	const char *if_not_tag; /* GET: unchanged since */
	size_t max_response;	/* bytes; 0: 1 MiB */
	int64_t timeout_ms;	/* 0: 15 s */
};

/* A request with what it owns. */
struct store_call {
	struct http_request request;
	char *url, *bearer, *body;
	struct strlist headers;
	const char *lines[24];
};

void store_call_done(struct store_call *c);

/* Google: a token has to be fetched before the next store_call. wall_ms: now. */
bool store_needs_token(const struct store *s, int64_t wall_ms);
int store_token_call(struct store *s, int64_t wall_ms, struct store_call *ret, struct err *e);
int store_token_answer(struct store *s, const struct http_response *r, int64_t wall_ms,
		       struct err *e);

int store_call(struct store *s, const struct store_op *op, int64_t wall_ms, struct store_call *ret,
	       struct err *e);

struct store_reply {
	bool unchanged; /* GET with if_not_tag */
	bool again; /* failed for a cause that this reply has cured (our clock, an old token): ask once more */
	char tag[STORE_TAG]; /* of the object, for if_tag and if_not_tag */
	const char *body;    /* of GET: lent by the response */
	size_t body_len;
	struct strlist keys; /* of LIST: below the prefix */
};

void store_reply_done(struct store_reply *r);

/* Reads an answer that came whole. */
int store_answer(struct store *s, const struct store_op *op, const struct http_response *r,
		 int64_t wall_ms, struct store_reply *ret, struct err *e);

/* All of it, one after the other: token, call, answer, and once more where that helps. r holds the body. */
int store_do(struct store *s, struct http_client *c, const struct store_op *op,
	     struct http_response *r, struct store_reply *ret, struct err *e);

#endif
