#include "common/store/store.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/store/dialect.h"

enum { TIMEOUT_MS = 15000, CONNECT_MS = 5000, SKEW_MS = 5 * 60000 };

struct secret *store_key(struct store_keys *k, const char *name)
{
	const struct {
		const char *name;
		struct secret *to;
	} all[] = {
		{ "AWS_ACCESS_KEY_ID", &k->aws_access_key_id },
		{ "AWS_SECRET_ACCESS_KEY", &k->aws_secret_access_key },
		{ "AWS_SESSION_TOKEN", &k->aws_session_token },
		{ "GOOGLE_SERVICE_ACCOUNT_KEY", &k->google_service_account_key },
		{ "AZURE_STORAGE_ACCOUNT_KEY", &k->azure_storage_account_key },
		{ "AZURE_STORAGE_SAS_TOKEN", &k->azure_storage_sas_token },
	};

	for (size_t i = 0; i < array_len(all); i++) {
		if (str_eq(all[i].name, name))
			return all[i].to;
	}
	return NULL;
}

void store_keys_done(struct store_keys *k)
{
	secret_done(&k->aws_access_key_id);
	secret_done(&k->aws_secret_access_key);
	secret_done(&k->aws_session_token);
	secret_done(&k->google_service_account_key);
	secret_done(&k->azure_storage_account_key);
	secret_done(&k->azure_storage_sas_token);
}

void store_keys_copy(struct store_keys *to, const struct store_keys *from)
{
	secret_copy(&to->aws_access_key_id, &from->aws_access_key_id);
	secret_copy(&to->aws_secret_access_key, &from->aws_secret_access_key);
	secret_copy(&to->aws_session_token, &from->aws_session_token);
	secret_copy(&to->google_service_account_key, &from->google_service_account_key);
	secret_copy(&to->azure_storage_account_key, &from->azure_storage_account_key);
	secret_copy(&to->azure_storage_sas_token, &from->azure_storage_sas_token);
}

/* --- place ------------------------------------------------------------------------------------ */

static char *dup(const char *s)
{
	return str_empty(s) ? NULL : xstrdup(s);
}

static bool literal_is_local(const char *host)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
	cleanup(freep) char *name = xstrdup(host[0] == '[' ? host + 1 : host);

	name[strcspn(name, host[0] == '[' ? "]" : ":")] = '\0';
	if (inet_pton(AF_INET, name, &v4.sin_addr) == 1)
		return http_is_local((const struct sockaddr *)&v4);
	if (inet_pton(AF_INET6, name, &v6.sin6_addr) == 1)
		return http_is_local((const struct sockaddr *)&v6);
	return false;
}

/* The port that a client leaves out of its Host header must be left out of what is signed. */
static void cut_port(char *host, bool tls)
{
	const char *port = tls ? ":443" : ":80";

	if (str_ends(host, port))
		host[strlen(host) - strlen(port)] = '\0';
}

static int read_endpoint(struct store *s, struct err *e)
{
	const char *url = s->place.endpoint, *rest;
	bool tls = str_starts(url, "https://");
	size_t n;

	if (!tls && !str_starts(url, "http://"))
		return err_set(e, ERR_INVALID, "endpoint: no URL of a store");
	if (!tls && !s->place.allow_http)
		return err_set(e, ERR_INVALID, "endpoint: http:// needs allowHTTP");
	s->scheme = xstrdup(tls ? "https" : "http");
	rest = strstr(url, "//") + 2;
	n = strcspn(rest, "/?#");
	s->host = xstrndup(rest, n);
	for (char *c = s->host; *c; c++)
		if (*c >= 'A' && *c <= 'Z')
			*c = (char)(*c | 32);
	cut_port(s->host, tls);
	s->base = xstrdup(rest + n);
	for (n = strlen(s->base); n && s->base[n - 1] == '/'; n--)
		s->base[n - 1] = '\0';
	if (!*s->host || strpbrk(s->host, "@ ") || strpbrk(s->base, "?#"))
		return err_set(e, ERR_INVALID, "endpoint: no URL of a store");
	return 0;
}

static const struct store_dialect *dialect_of(const struct store *s)
{
	switch (s->place.scheme) {
	case SCHEME_S3:
		return &store_s3;
	case SCHEME_GS:
		return secret_empty(&s->keys.aws_access_key_id) ? &store_gcs : &store_gcs_hmac;
	case SCHEME_AZ:
		return &store_azure;
	case SCHEME_NONE:
		break;
	}
	return NULL;
}

static int open_it(struct store *s, struct err *e)
{
	int r = 0;

	s->dialect = dialect_of(s);
	if (!s->dialect || !s->place.container)
		return err_set(e, ERR_INVALID, "no bucket");
	if (s->place.endpoint)
		r = read_endpoint(s, e);
	if (!r)
		r = s->dialect->open(s, e);
	if (!r && s->place.no_local && literal_is_local(s->host))
		r = err_set(e, ERR_FORBIDDEN,
			    "the host is at a loopback, link-local or metadata address");
	return r;
}

void store_place_copy(struct store_place *to, const struct store_place *from)
{
	*to = *from;
	to->endpoint = dup(from->endpoint);
	to->region = dup(from->region);
	to->account = dup(from->account);
	to->container = dup(from->container);
	to->prefix = xstrdup(from->prefix ? from->prefix : "");
	to->ca_file = dup(from->ca_file);
}

static void free_text(const char *s)
{
	char *own;

	memcpy(&own, &s, sizeof(own)); /* made by store_place_copy */
	free(own);
}

void store_place_done(struct store_place *p)
{
	free_text(p->endpoint);
	free_text(p->region);
	free_text(p->account);
	free_text(p->container);
	free_text(p->prefix);
	free_text(p->ca_file);
}

int store_open(const struct store_place *place, const struct store_keys *keys, struct store **ret,
	       struct err *e)
{
	struct store *s = xcalloc(1, sizeof(*s));
	int r;

	store_place_copy(&s->place, place);
	s->tls = (struct http_tls){ .ca_file = s->place.ca_file };
	if (keys)
		store_keys_copy(&s->keys, keys);
	r = open_it(s, e);
	if (r) {
		store_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

void store_free(struct store *s)
{
	if (!s)
		return;
	store_place_done(&s->place);
	store_keys_done(&s->keys);
	secret_done(&s->token);
	secret_free_text(s->pem);
	free(s->email);
	free(s->key_id);
	free(s->token_url);
	free(s->scheme);
	free(s->host);
	free(s->base);
	free(s);
}

const char *store_host(const struct store *s)
{
	return s->host;
}

char *store_origin(const struct store *s, bool token)
{
	const char *rest;

	if (!token || !s->token_url)
		return xasprintf("%s://%s", s->scheme, s->host);
	rest = strstr(s->token_url, "//");
	rest = rest ? rest + 2 : s->token_url;
	return xstrndup(s->token_url, (size_t)(rest - s->token_url) + strcspn(rest, "/?#"));
}

char *store_full_key(const struct store *s, const char *key)
{
	return s->place.prefix[0] ? xasprintf("%s/%s", s->place.prefix, key) : xstrdup(key);
}

/* --- calls ------------------------------------------------------------------------------------ */

void store_header(struct store_call *c, const char *name, const char *value)
{
	strlist_add_take(&c->headers, xasprintf("%s: %s", name, value));
}

void store_call_done(struct store_call *c)
{
	for (size_t i = 0; i < c->headers.n; i++)
		explicit_bzero(c->headers.v[i], strlen(c->headers.v[i]));
	strlist_done(&c->headers);
	secret_freep(&c->url); /* a SAS is in it */
	secret_freep(&c->bearer);
	secret_freep(&c->body);
	*c = (struct store_call){ .url = NULL };
}

static void seal(struct store *s, struct store_call *c, size_t max_response, int64_t timeout_ms)
{
	size_t n = 0;

	for (; n < c->headers.n && n + 1 < array_len(c->lines); n++)
		c->lines[n] = c->headers.v[n];
	c->lines[n] = NULL;
	c->request.url = c->url;
	c->request.bearer = c->bearer;
	c->request.headers = c->lines;
	c->request.timeout_ms = timeout_ms ? timeout_ms : TIMEOUT_MS;
	c->request.connect_timeout_ms = CONNECT_MS;
	c->request.max_response = max_response;
	c->request.tls = &s->tls;
	c->request.plain_ok = s->place.allow_http;
	c->request.proxy_env = true;
	c->request.no_local = s->place.no_local;
}

static const char *method_of(enum store_verb verb)
{
	switch (verb) {
	case STORE_GET:
	case STORE_LIST:
		return "GET";
	case STORE_PUT:
		return "PUT";
	case STORE_DELETE:
		return "DELETE";
	}
	return "";
}

int store_call(struct store *s, const struct store_op *op, int64_t wall_ms, struct store_call *ret,
	       struct err *e)
{
	struct store_draft d = { .op = op,
				 .method = method_of(op->verb),
				 .path = BUF_INIT(8192),
				 .wall_ms = wall_ms + s->skew_ms };
	int r;

	*ret = (struct store_call){ .url = NULL };
	clock_text(d.wall_ms, d.clock);
	r = s->dialect->call(s, &d, ret, e);
	if (!r && !buf_ok(&d.path))
		r = err_set(e, ERR_INVALID, "the key is too long");
	if (!r) {
		ret->url = xasprintf("%s://%s%s%s%s", s->scheme, s->host, buf_str(&d.path),
				     str_empty(d.query) ? "" : "?", d.query ? d.query : "");
		ret->request.method = d.method;
		if (op->verb == STORE_PUT) {
			ret->request.body = op->body ? op->body : "";
			ret->request.body_len = op->body_len;
		}
		seal(s, ret, op->max_response, op->timeout_ms);
	} else {
		store_call_done(ret);
	}
	buf_done(&d.path);
	secret_free_text(d.query);
	return r;
}

/* --- answers ---------------------------------------------------------------------------------- */

void store_reply_done(struct store_reply *r)
{
	strlist_done(&r->keys);
	*r = (struct store_reply){ .unchanged = false };
}

void store_etag(const struct http_response *r, char to[STORE_TAG])
{
	if (!http_response_header(r, "ETag", to, STORE_TAG))
		to[0] = '\0';
}

static void unescape(char *s)
{
	static const struct {
		const char *from;
		char to;
	} all[] = { { "&amp;", '&' },	{ "&lt;", '<' },  { "&gt;", '>' },  { "&quot;", '"' },
		    { "&apos;", '\'' }, { "&#34;", '"' }, { "&#39;", '\'' } };
	char *to = s;

	while (*s) {
		size_t i = 0;

		while (i < array_len(all) && !str_starts(s, all[i].from))
			i++;
		if (i < array_len(all)) {
			*to++ = all[i].to;
			s += strlen(all[i].from);
		} else {
			*to++ = *s++;
		}
	}
	*to = '\0';
}

void store_xml_names(const char *xml, const char *element, struct strlist *ret)
{
	cleanup(freep) char *open = xasprintf("<%s>", element);
	cleanup(freep) char *close = xasprintf("</%s>", element);

	for (const char *at = strstr(xml, open), *end; at; at = strstr(end, open)) {
		char *name;

		at += strlen(open);
		end = strstr(at, close);
		if (!end)
			return;
		name = xstrndup(at, (size_t)(end - at));
		unescape(name);
		strlist_add_take(ret, name);
	}
}

/* The word of an error: from a header or the body, letters only, so that nothing else of it is ever shown. */
static void code_word(const struct http_response *r, const char *element, char *to, size_t room)
{
	struct strlist words = STRLIST_INIT;
	char text[64] = "";

	if (str_eq(element, "Code") &&
	    http_response_header(r, "x-ms-error-code", text, sizeof(text)))
		strlist_add(&words, text);
	else
		store_xml_names(buf_str(&r->body), element, &words);
	to[0] = '\0';
	if (words.n && strlen(words.v[0]) < room &&
	    strspn(words.v[0], "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-") ==
		    strlen(words.v[0]))
		(void)snprintf(to, room, "%s", words.v[0]);
	strlist_done(&words);
}

/* A store that says our own secret back must not get it shown. */
static bool reveals(const struct store *s, const char *word)
{
	const struct secret *const all[] = {
		&s->keys.aws_access_key_id,
		&s->keys.aws_secret_access_key,
		&s->keys.aws_session_token,
		&s->keys.google_service_account_key,
		&s->keys.azure_storage_account_key,
		&s->keys.azure_storage_sas_token,
		&s->token,
	};

	for (size_t i = 0; i < array_len(all); i++) {
		if (!secret_empty(all[i]) && strstr(secret_text(all[i]), word))
			return true;
	}
	return false;
}

enum { CODE = 48 };

/* What the store says of why, and of where its bucket is: words that may be shown, "" when there are none. */
static void words(const struct store *s, const struct http_response *r, char code[CODE],
		  char region[CODE])
{
	code_word(r, "Code", code, CODE);
	if (!http_response_header(r, "x-amz-bucket-region", region, CODE) ||
	    strspn(region, "abcdefghijklmnopqrstuvwxyz0123456789-") != strlen(region))
		code_word(r, "Region", region, CODE);
	if (reveals(s, code))
		code[0] = '\0';
	if (reveals(s, region))
		region[0] = '\0';
}

/* Our clock is wrong, by what the store's says: taken over once. */
static bool mend_clock(struct store *s, const struct http_response *r, int64_t wall_ms)
{
	int64_t off;

	if (r->date_ms < 0)
		return false;
	off = r->date_ms - (wall_ms + s->skew_ms);
	if (off > -SKEW_MS && off < SKEW_MS)
		return false;
	s->skew_ms = r->date_ms - wall_ms;
	return true;
}

static int denied(struct store *s, const struct http_response *r, int64_t wall_ms,
		  struct store_reply *ret, struct err *e)
{
	char code[CODE], region[CODE];
	bool mended = mend_clock(s, r, wall_ms);

	words(s, r, code, region);
	if (mended || str_eq(code, "RequestTimeTooSkewed")) {
		ret->again = mended && !s->skew_mended;
		s->skew_mended = true;
		return err_set(e, ERR_UNAUTHORIZED,
			       "the store refuses: our clock and its clock differ by more than 5 "
			       "minutes");
	}
	if (!secret_empty(&s->token)) {
		ret->again = !s->token_fresh;
		secret_done(&s->token);
	}
	return err_set(e, r->status == 401 ? ERR_UNAUTHORIZED : ERR_FORBIDDEN,
		       "the store refuses: status %d%s%s%s%s", r->status, code[0] ? " " : "", code,
		       region[0] ? ", the bucket is in region " : "", region);
}

static int refused(const struct store *s, const struct http_response *r, struct err *e)
{
	char code[CODE], region[CODE];
	const char *what = "answers";

	words(s, r, code, region);
	if (r->status / 100 == 3)
		what = "redirects, which is not followed:";
	return err_set(e, ERR_PROTOCOL, "the store %s status %d%s%s%s%s", what, r->status,
		       code[0] ? " " : "", code, region[0] ? ", the bucket is in region " : "",
		       region);
}

static int failed(struct store *s, const struct http_response *r, int64_t wall_ms,
		  struct store_reply *ret, struct err *e)
{
	char code[CODE];

	switch (r->status) {
	case 404:
		code_word(r, "Code", code, sizeof(code));
		if (str_eq(code, "NoSuchBucket") || str_eq(code, "ContainerNotFound"))
			return err_set(e, ERR_PROTOCOL,
				       "the store says that there is no such bucket");
		return err_set(e, ERR_NOT_FOUND, "no such object");
	case 409:
	case 412:
		/* S3 says 409 when two conditional writes meet, Azure when what is to be made is there */
		return err_set(e, ERR_CONFLICT, "the condition does not hold (status %d)",
			       r->status);
	case 401:
	case 403:
		return denied(s, r, wall_ms, ret, e);
	case 429:
	case 503:
		(void)err_set(e, ERR_THROTTLED, "the store asks for a pause: status %d", r->status);
		e->retry_after_ms = (int)r->retry_after_ms;
		return -ERR_THROTTLED;
	default:
		break;
	}
	if (r->status >= 500)
		return err_set(e, ERR_UNAVAILABLE, "the store answers status %d", r->status);
	return refused(s, r, e);
}

int store_answer(struct store *s, const struct store_op *op, const struct http_response *r,
		 int64_t wall_ms, struct store_reply *ret, struct err *e)
{
	bool fine = r->status / 100 == 2;

	if (fine || r->status == 304 || r->status == 404 || r->status == 412) {
		s->skew_mended = false;
		s->token_fresh = false;
	}
	if (r->status == 304 && op->if_not_tag) {
		ret->unchanged = true;
		return 0;
	}
	if (!fine)
		return failed(s, r, wall_ms, ret, e);
	s->dialect->tag(r, ret->tag);
	ret->body = buf_str(&r->body);
	ret->body_len = r->body.len;
	if (op->verb == STORE_LIST) {
		struct strlist all = STRLIST_INIT;
		size_t skip = s->place.prefix[0] ? strlen(s->place.prefix) + 1 : 0;
		int rc = s->dialect->list(r, &all, e);

		for (size_t i = 0; i < all.n; i++) {
			if (strlen(all.v[i]) > skip)
				strlist_add(&ret->keys, all.v[i] + skip);
		}
		strlist_done(&all);
		return rc;
	}
	return 0;
}

static int get_token(struct store *s, struct http_client *c, struct http_response *r, struct err *e)
{
	struct store_call call;
	int rc = store_token_call(s, clock_wall_ms(), &call, e);

	if (rc)
		return rc;
	seal(s, &call, 0, 0);
	rc = http_do(c, &call.request, r, e);
	store_call_done(&call);
	return rc ? rc : store_token_answer(s, r, clock_wall_ms(), e);
}

int store_do(struct store *s, struct http_client *c, const struct store_op *op,
	     struct http_response *r, struct store_reply *ret, struct err *e)
{
	int rc = 0;

	for (int tries = 0; tries < 2; tries++) {
		struct store_call call;

		rc = 0;
		store_reply_done(ret);
		if (store_needs_token(s, clock_wall_ms()))
			rc = get_token(s, c, r, e);
		if (rc)
			return rc;
		rc = store_call(s, op, clock_wall_ms(), &call, e);
		if (rc)
			return rc;
		rc = http_do(c, &call.request, r, e);
		store_call_done(&call);
		if (rc)
			return rc;
		rc = store_answer(s, op, r, clock_wall_ms(), ret, e);
		if (!ret->again)
			break;
	}
	return rc;
}
