/*
 * Google Cloud Storage with a service account: its key signs a request for a token (RS256, RFC 7523), which then goes
 * with every request of the JSON interface.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/codec.h"
#include "common/json.h"
#include "common/sign.h"
#include "common/store/dialect.h"

/* A token that ends so soon is fetched anew; Google's last an hour. */
enum { TOKEN_EARLY_MS = 5 * 60000, TOKEN_S = 3600 };

#define SCOPE	  "https://www.googleapis.com/auth/devstorage.read_write"
#define TOKEN_URL "https://oauth2.googleapis.com/token"

static int read_key(struct store *s, struct err *e)
{
	const struct secret *key = &s->keys.google_service_account_key;
	cleanup_json struct json *j = NULL;
	struct err ignored = ERR_INIT;
	const char *email, *pem, *url;

	if (json_parse(secret_text(key), key->n, &j, &ignored))
		return err_set(e, ERR_INVALID, "GOOGLE_SERVICE_ACCOUNT_KEY is no JSON");
	email = json_get_str(j, "client_email");
	pem = json_get_str(j, "private_key");
	if (str_empty(email) || str_empty(pem))
		return err_set(e, ERR_INVALID,
			       "GOOGLE_SERVICE_ACCOUNT_KEY has no client_email or private_key");
	s->email = xstrdup(email);
	s->pem = xstrdup(pem);
	if (json_get_str(j, "private_key_id"))
		s->key_id = xstrdup(json_get_str(j, "private_key_id"));
	/* the key's own address counts only beside an endpoint of ours: a Secret must not choose whom we call */
	url = s->place.endpoint ? json_get_str(j, "token_uri") : NULL;
	s->token_url = xstrdup(str_empty(url) ? TOKEN_URL : url);
	return 0;
}

static int gcs_open(struct store *s, struct err *e)
{
	if (!s->place.endpoint) {
		s->scheme = xstrdup("https");
		s->host = xstrdup("storage.googleapis.com");
		s->base = xstrdup("");
	}
	if (!secret_empty(&s->keys.google_service_account_key))
		return read_key(s, e);
	if (!s->place.endpoint) /* an emulator asks for none */
		return err_set(e, ERR_INVALID, "GOOGLE_SERVICE_ACCOUNT_KEY is missing");
	return 0;
}

/* --- token ------------------------------------------------------------------------------------ */

bool store_needs_token(const struct store *s, int64_t wall_ms)
{
	return s->dialect == &store_gcs && s->pem &&
	       (secret_empty(&s->token) || wall_ms > s->token_end - TOKEN_EARLY_MS);
}

static char *base64url(const void *data, size_t n)
{
	char *text = codec_base64_encode(data, n);

	for (char *c = text; *c; c++) {
		if (*c == '+')
			*c = '-';
		else if (*c == '/')
			*c = '_';
		else if (*c == '=')
			*c = '\0';
	}
	return text;
}

static char *part(const struct json *j)
{
	cleanup(freep) char *text = json_text(j);

	return base64url(text, strlen(text));
}

static char *claims(const struct store *s, int64_t wall_ms)
{
	cleanup_json struct json *header = json_new_object();
	cleanup_json struct json *body = json_new_object();
	cleanup(freep) char *a = NULL;
	cleanup(freep) char *b = NULL;
	int64_t now = (wall_ms + s->skew_ms) / 1000;

	json_set_str(header, "alg", "RS256");
	json_set_str(header, "typ", "JWT");
	json_set_str(header, "kid", s->key_id);
	json_set_str(body, "iss", s->email);
	json_set_str(body, "scope", SCOPE);
	json_set_str(body, "aud", s->token_url);
	json_set_int(body, "iat", now);
	json_set_int(body, "exp", now + TOKEN_S);
	a = part(header);
	b = part(body);
	return xasprintf("%s.%s", a, b);
}

int store_token_call(struct store *s, int64_t wall_ms, struct store_call *ret, struct err *e)
{
	cleanup(freep) char *text = claims(s, wall_ms);
	cleanup(freep) char *signature = NULL;
	unsigned char *raw = NULL;
	size_t n = 0;
	int r;

	*ret = (struct store_call){ .url = NULL };
	r = sign_rs256(s->pem, text, strlen(text), &raw, &n, e);
	if (r)
		return err_wrap(e, "private_key");
	signature = base64url(raw, n);
	free(raw);
	ret->url = xstrdup(s->token_url);
	ret->body =
		xasprintf("grant_type=urn%%3Aietf%%3Aparams%%3Aoauth%%3Agrant-type%%3Ajwt-bearer&"
			  "assertion=%s.%s",
			  text, signature);
	store_header(ret, "Content-Type", "application/x-www-form-urlencoded");
	ret->lines[0] = ret->headers.v[0];
	ret->lines[1] = NULL;
	ret->request = (struct http_request){ .method = "POST",
					      .url = ret->url,
					      .headers = ret->lines,
					      .body = ret->body,
					      .body_len = strlen(ret->body),
					      .timeout_ms = 15000,
					      .connect_timeout_ms = 5000,
					      .tls = &s->tls,
					      .plain_ok = s->place.allow_http,
					      .proxy_env = true,
					      .no_local = s->place.no_local };
	return 0;
}

static int no_token(struct store *s, const struct http_response *r, int64_t wall_ms, struct err *e)
{
	/* a wrong clock is a refused token; the next attempt goes by the server's */
	if (r->date_ms >= 0 && (r->date_ms - wall_ms > 300000 || wall_ms - r->date_ms > 300000))
		s->skew_ms = r->date_ms - wall_ms;
	if (r->status == 429 || r->status >= 500) {
		(void)err_set(e, ERR_THROTTLED, "no token for the service account: status %d",
			      r->status);
		e->retry_after_ms = (int)r->retry_after_ms;
		return -ERR_THROTTLED;
	}
	return err_set(e, ERR_UNAUTHORIZED, "no token for the service account: status %d",
		       r->status);
}

int store_token_answer(struct store *s, const struct http_response *r, int64_t wall_ms,
		       struct err *e)
{
	cleanup_json struct json *j = NULL;
	struct err ignored = ERR_INIT;
	const char *token;
	int64_t seconds = TOKEN_S;

	if (r->status != 200)
		return no_token(s, r, wall_ms, e);
	if (json_parse(buf_str(&r->body), r->body.len, &j, &ignored))
		return err_set(e, ERR_PROTOCOL, "the answer with the token is no JSON");
	token = json_get_str(j, "access_token");
	(void)json_get_int(j, "expires_in", &seconds);
	if (str_empty(token) || strpbrk(token, "\r\n"))
		return err_set(e, ERR_PROTOCOL, "the answer has no token");
	secret_set(&s->token, token, strlen(token));
	s->token_end = wall_ms + (seconds < 86400 ? seconds : 86400) * 1000;
	s->token_fresh = true;
	return 0;
}

/* --- objects ---------------------------------------------------------------------------------- */

/* Of the JSON interface; the name is one path segment, or a parameter. */
static int gcs_call(struct store *s, struct store_draft *d, struct store_call *ret, struct err *e)
{
	const struct store_op *op = d->op;
	cleanup(freep) char *key = store_full_key(s, op->key);
	struct sigv4_pair pairs[4];
	size_t n = 0;

	(void)e;
	buf_puts(&d->path, s->base);
	buf_puts(&d->path, op->verb == STORE_PUT ? "/upload/storage/v1/b/" : "/storage/v1/b/");
	http_escape(s->place.container, &d->path);
	buf_puts(&d->path, "/o");
	if (op->verb == STORE_GET || op->verb == STORE_DELETE) {
		buf_putc(&d->path, '/');
		http_escape(key, &d->path);
	}
	if (op->verb == STORE_GET)
		pairs[n++] = (struct sigv4_pair){ "alt", "media" };
	if (op->verb == STORE_LIST)
		pairs[n++] = (struct sigv4_pair){ "prefix", key };
	if (op->verb == STORE_PUT) {
		d->method = "POST";
		pairs[n++] = (struct sigv4_pair){ "uploadType", "media" };
		pairs[n++] = (struct sigv4_pair){ "name", key };
		store_header(ret, "Content-Type", "application/octet-stream");
	}
	if (op->if_absent || op->if_tag)
		pairs[n++] = (struct sigv4_pair){ "ifGenerationMatch",
						  op->if_absent ? "0" : op->if_tag };
	if (op->if_not_tag)
		pairs[n++] = (struct sigv4_pair){ "ifGenerationNotMatch", op->if_not_tag };
	d->query = sigv4_query(pairs, n);
	if (!secret_empty(&s->token))
		ret->bearer = xstrdup(secret_text(&s->token));
	return 0;
}

/* In a header of what is read; of what was written, in the object's description. */
static void gcs_tag(const struct http_response *r, char to[STORE_TAG])
{
	cleanup_json struct json *j = NULL;
	struct err ignored = ERR_INIT;
	const char *generation;

	to[0] = '\0';
	if (http_response_header(r, "x-goog-generation", to, STORE_TAG))
		return;
	if (json_parse(buf_str(&r->body), r->body.len, &j, &ignored))
		return;
	generation = json_get_str(j, "generation");
	if (generation && strlen(generation) < STORE_TAG)
		(void)snprintf(to, STORE_TAG, "%s", generation);
}

static int gcs_list(const struct http_response *r, struct strlist *ret, struct err *e)
{
	cleanup_json struct json *j = NULL;
	struct err ignored = ERR_INIT;
	const struct json *items;

	if (json_parse(buf_str(&r->body), r->body.len, &j, &ignored))
		return err_set(e, ERR_PROTOCOL, "the listing is no JSON");
	items = json_get(j, "items");
	for (const struct json *o = json_first(items); o; o = json_next(o)) {
		if (json_get_str(o, "name"))
			strlist_add(ret, json_get_str(o, "name"));
	}
	return 0;
}

const struct store_dialect store_gcs = { gcs_open, gcs_call, gcs_tag, gcs_list };
