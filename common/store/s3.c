/* The S3 dialect; also Google's XML interface with HMAC keys, which differs in names only. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/digest.h"
#include "common/store/dialect.h"

static const char *region_of(const struct store *s)
{
	if (s->place.region)
		return s->place.region;
	return s->place.endpoint ? "auto" : "us-east-1";
}

static bool by_path(const struct store *s)
{
	/* a name with dots fits no wildcard certificate */
	return s->place.endpoint || strchr(s->place.container, '.');
}

static int has_pair(const struct store *s, struct err *e)
{
	if (secret_empty(&s->keys.aws_access_key_id))
		return err_set(e, ERR_INVALID, "AWS_ACCESS_KEY_ID is missing");
	if (secret_empty(&s->keys.aws_secret_access_key))
		return err_set(e, ERR_INVALID, "AWS_SECRET_ACCESS_KEY is missing");
	/* they become header lines */
	if (strpbrk(secret_text(&s->keys.aws_access_key_id), "\r\n") ||
	    strpbrk(secret_text(&s->keys.aws_session_token), "\r\n"))
		return err_set(e, ERR_INVALID, "a key has a line break");
	return 0;
}

static int s3_open(struct store *s, struct err *e)
{
	const char *region = region_of(s);

	if (!s->place.endpoint) {
		const char *china = str_starts(region, "cn-") ? ".cn" : "";

		s->scheme = xstrdup("https");
		s->base = xstrdup("");
		s->host = by_path(s) ? xasprintf("s3.%s.amazonaws.com%s", region, china)
				     : xasprintf("%s.s3.%s.amazonaws.com%s", s->place.container,
						 region, china);
	}
	return has_pair(s, e);
}

static int hmac_open(struct store *s, struct err *e)
{
	if (!s->place.endpoint) {
		s->scheme = xstrdup("https");
		s->host = xstrdup("storage.googleapis.com");
		s->base = xstrdup("");
	}
	return has_pair(s, e);
}

static void place(const struct store *s, struct store_draft *d, bool path_style)
{
	cleanup(freep) char *key = store_full_key(s, d->op->key);

	buf_puts(&d->path, s->base);
	if (path_style) {
		buf_putc(&d->path, '/');
		sigv4_path(s->place.container, &d->path);
	}
	if (d->op->verb != STORE_LIST || !path_style)
		buf_putc(&d->path, '/');
	if (d->op->verb != STORE_LIST) {
		sigv4_path(key, &d->path);
	} else {
		const struct sigv4_pair pairs[] = { { "list-type", "2" }, { "prefix", key } };

		d->query = sigv4_query(pairs, 2);
	}
}

static void add(struct store_draft *d, const char *name, const char *value)
{
	if (value && d->n_extra < array_len(d->extra))
		d->extra[d->n_extra++] = (struct sigv4_pair){ name, value };
}

static void sign(struct store *s, struct store_draft *d, const char *region, const char *service,
		 bool google, struct store_call *ret)
{
	struct sigv4_pair headers[16] = { { "host", s->host } };
	struct sigv4_request r = { .method = d->method,
				   .path = buf_str(&d->path),
				   .query = d->query,
				   .headers = headers,
				   .region = region,
				   .service = service,
				   .google = google };
	cleanup(secret_freep) char *line = NULL;
	char date[SIGV4_DATE], sum[DIGEST_HEX];
	size_t n = 1;

	sigv4_date(d->clock, date);
	digest_hex(d->op->body_len ? d->op->body : "", d->op->body_len, sum);
	headers[n++] = (struct sigv4_pair){ google ? "x-goog-date" : "x-amz-date", date };
	headers[n++] =
		(struct sigv4_pair){ google ? "x-goog-content-sha256" : "x-amz-content-sha256",
				     sum };
	for (size_t i = 0; i < d->n_extra; i++)
		headers[n++] = d->extra[i];
	r.n_headers = n;
	r.date = date;
	r.payload = sum;
	line = sigv4_authorization(&r, secret_text(&s->keys.aws_access_key_id),
				   secret_text(&s->keys.aws_secret_access_key));
	for (size_t i = 1; i < n; i++)
		store_header(ret, headers[i].name, headers[i].value);
	store_header(ret, "authorization", line);
}

static void common_headers(struct store_draft *d)
{
	if (d->op->verb == STORE_PUT)
		add(d, "content-type", "application/octet-stream");
	add(d, "if-none-match", d->op->if_not_tag);
}

static int s3_call(struct store *s, struct store_draft *d, struct store_call *ret, struct err *e)
{
	(void)e;
	place(s, d, by_path(s));
	common_headers(d);
	if (d->op->if_absent)
		add(d, "if-none-match", "*");
	add(d, "if-match", d->op->if_tag);
	if (!secret_empty(&s->keys.aws_session_token))
		add(d, "x-amz-security-token", secret_text(&s->keys.aws_session_token));
	sign(s, d, region_of(s), "s3", false, ret);
	return 0;
}

static int hmac_call(struct store *s, struct store_draft *d, struct store_call *ret, struct err *e)
{
	(void)e;
	place(s, d, true);
	if (d->op->verb == STORE_PUT)
		add(d, "content-type", "application/octet-stream");
	/* of GET: a generation, which changes with the object */
	add(d, "x-goog-if-generation-not-match", d->op->if_not_tag);
	add(d, "x-goog-if-generation-match", d->op->if_absent ? "0" : d->op->if_tag);
	sign(s, d, s->place.region ? s->place.region : "auto", "storage", true, ret);
	return 0;
}

static void generation(const struct http_response *r, char to[STORE_TAG])
{
	if (!http_response_header(r, "x-goog-generation", to, STORE_TAG))
		to[0] = '\0';
}

static int s3_list(const struct http_response *r, struct strlist *ret, struct err *e)
{
	(void)e;
	store_xml_names(buf_str(&r->body), "Key", ret);
	return 0;
}

const struct store_dialect store_s3 = { s3_open, s3_call, store_etag, s3_list };
const struct store_dialect store_gcs_hmac = { hmac_open, hmac_call, generation, s3_list };
