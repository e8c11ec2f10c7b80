/*
 * Azure Blob: the account's key signs each request (Shared Key), or a shared access signature goes along in the
 * query. The version is one that Azurite knows too.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/codec.h"
#include "common/digest.h"
#include "common/store/dialect.h"

#define VERSION "2023-11-03"

static int azure_open(struct store *s, struct err *e)
{
	if (!s->place.account)
		return err_set(e, ERR_INVALID, "no storage account");
	if (!s->place.endpoint) {
		s->scheme = xstrdup("https");
		s->host = xasprintf("%s.blob.core.windows.net", s->place.account);
		s->base = xstrdup("");
	}
	if (secret_empty(&s->keys.azure_storage_account_key) &&
	    secret_empty(&s->keys.azure_storage_sas_token))
		return err_set(e, ERR_INVALID,
			       "AZURE_STORAGE_ACCOUNT_KEY and AZURE_STORAGE_SAS_TOKEN are missing");
	return 0;
}

/* "Fri, 24 May 2013 00:00:00 GMT" */
static void http_date(int64_t wall_ms, char to[40])
{
	static const char days[] = "SunMonTueWedThuFriSat";
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	time_t s = (time_t)(wall_ms / 1000);
	struct tm t;

	(void)gmtime_r(&s, &t);
	(void)snprintf(to, 40, "%.3s, %02d %.3s %d %02d:%02d:%02d GMT",
		       days + 3 * (size_t)t.tm_wday, t.tm_mday, months + 3 * (size_t)t.tm_mon,
		       t.tm_year + 1900, t.tm_hour, t.tm_min, t.tm_sec);
}

static const char *or_empty(const char *s)
{
	return s ? s : "";
}

struct blob {
	char date[40], length[24];
	const char *if_match, *if_none_match, *type;
};

/* What Azure calls the string to sign: fixed headers, x-ms- headers sorted, the resource with its parameters sorted. */
static char *string_to_sign(const struct store *s, const struct store_draft *d,
			    const struct blob *b, const char *parameters)
{
	return xasprintf("%s\n\n\n%s\n\n%s\n\n\n%s\n%s\n\n\n"
			 "%sx-ms-date:%s\nx-ms-version:" VERSION "\n/%s%s%s",
			 d->method, b->length, b->type, or_empty(b->if_match),
			 or_empty(b->if_none_match),
			 d->op->verb == STORE_PUT ? "x-ms-blob-type:BlockBlob\n" : "", b->date,
			 s->place.account, buf_str(&d->path), parameters);
}

static int share_key(const struct store *s, const struct store_draft *d, const struct blob *b,
		     const char *parameters, struct store_call *ret, struct err *e)
{
	const struct secret *key = &s->keys.azure_storage_account_key;
	cleanup(freep) char *text = string_to_sign(s, d, b, parameters);
	cleanup(freep) char *signature = NULL;
	cleanup(secret_freep) char *line = NULL;
	unsigned char mac[DIGEST_BYTES], *raw;
	size_t n = 0;

	raw = codec_base64_decode(secret_text(key), key->n, &n);
	if (!raw)
		return err_set(e, ERR_INVALID, "AZURE_STORAGE_ACCOUNT_KEY is no base64");
	digest_hmac(raw, n, text, strlen(text), mac);
	digest_wipe(raw, n);
	free(raw);
	signature = codec_base64_encode(mac, sizeof(mac));
	line = xasprintf("SharedKey %s:%s", s->place.account, signature);
	store_header(ret, "Authorization", line);
	return 0;
}

static void headers(const struct store_draft *d, const struct blob *b, struct store_call *ret)
{
	store_header(ret, "x-ms-date", b->date);
	store_header(ret, "x-ms-version", VERSION);
	if (d->op->verb == STORE_PUT) {
		store_header(ret, "x-ms-blob-type", "BlockBlob");
		store_header(ret, "Content-Type", b->type);
	}
	if (b->if_match)
		store_header(ret, "If-Match", b->if_match);
	if (b->if_none_match)
		store_header(ret, "If-None-Match", b->if_none_match);
}

static void add_sas(const struct store *s, struct store_draft *d)
{
	const char *sas = secret_text(&s->keys.azure_storage_sas_token);
	char *all;

	sas += *sas == '?';
	all = xasprintf("%s%s%s", d->query ? d->query : "", d->query ? "&" : "", sas);
	free(d->query);
	d->query = all;
}

static int azure_call(struct store *s, struct store_draft *d, struct store_call *ret, struct err *e)
{
	const struct store_op *op = d->op;
	cleanup(freep) char *key = store_full_key(s, op->key);
	cleanup(freep) char *parameters = NULL;
	struct blob b = { .if_match = op->if_tag,
			  .if_none_match = op->if_absent ? "*" : op->if_not_tag,
			  .type = op->verb == STORE_PUT ? "application/octet-stream" : "" };

	http_date(d->wall_ms, b.date);
	if (op->body_len)
		(void)snprintf(b.length, sizeof(b.length), "%zu", op->body_len);
	buf_puts(&d->path, s->base);
	buf_putc(&d->path, '/');
	sigv4_path(s->place.container, &d->path);
	if (op->verb == STORE_LIST) {
		const struct sigv4_pair pairs[] = { { "comp", "list" },
						    { "prefix", key },
						    { "restype", "container" } };

		d->query = sigv4_query(pairs, 3);
		parameters = xasprintf("\ncomp:list\nprefix:%s\nrestype:container", key);
	} else {
		buf_putc(&d->path, '/');
		sigv4_path(key, &d->path);
	}
	headers(d, &b, ret);
	if (secret_empty(&s->keys.azure_storage_account_key)) {
		add_sas(s, d);
		return 0;
	}
	return share_key(s, d, &b, parameters ? parameters : "", ret, e);
}

static int azure_list(const struct http_response *r, struct strlist *ret, struct err *e)
{
	(void)e;
	store_xml_names(buf_str(&r->body), "Name", ret);
	return 0;
}

const struct store_dialect store_azure = { azure_open, azure_call, store_etag, azure_list };
