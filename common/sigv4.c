#include "common/sigv4.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/digest.h"
#include "common/limits.h"

void sigv4_date(const char *rfc3339, char date[SIGV4_DATE])
{
	size_t n = 0;

	for (; *rfc3339 && n + 1 < SIGV4_DATE; rfc3339++) {
		if (*rfc3339 != '-' && *rfc3339 != ':')
			date[n++] = *rfc3339;
	}
	date[n] = '\0';
}

static bool unreserved(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
	       c == '-' || c == '.' || c == '_' || c == '~';
}

static void encode(const char *s, bool slash, struct buf *to)
{
	for (; *s; s++) {
		if (unreserved(*s) || (slash && *s == '/'))
			buf_putc(to, *s);
		else
			buf_printf(to, "%%%02X", (unsigned)(unsigned char)*s);
	}
}

void sigv4_path(const char *path, struct buf *to)
{
	encode(path, true, to);
}

/* Insertion sort: a handful of strings. */
static void sort(char **v, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		char *x = v[i];
		size_t k = i;

		for (; k > 0 && strcmp(v[k - 1], x) > 0; k--)
			v[k] = v[k - 1];
		v[k] = x;
	}
}

static char *joined(char **v, size_t n, const char *between)
{
	struct buf all = BUF_INIT(LIMIT_FORMATTED);

	sort(v, n);
	for (size_t i = 0; i < n; i++) {
		if (i)
			buf_puts(&all, between);
		buf_puts(&all, v[i]);
		free(v[i]);
	}
	free(v);
	return buf_ok(&all) && all.len ? buf_take(&all) : (buf_done(&all), xstrdup(""));
}

/* Sorted by name, then value. '=' sorts behind characters that names may hold: a tab stands in for it until then. */
char *sigv4_query(const struct sigv4_pair *pairs, size_t n)
{
	char **v = xcalloc(n ? n : 1, sizeof(*v));
	char *all;

	for (size_t i = 0; i < n; i++) {
		struct buf one = BUF_INIT(LIMIT_FORMATTED);

		encode(pairs[i].name, false, &one);
		buf_putc(&one, '\t');
		encode(pairs[i].value, false, &one);
		v[i] = buf_take(&one);
	}
	all = joined(v, n, "&");
	for (char *s = all; *s; s++) {
		if (*s == '\t')
			*s = '=';
	}
	return all;
}

/* "name:value": blanks around are cut, those inside become one. */
static char *header(const struct sigv4_pair *h)
{
	struct buf line = BUF_INIT(LIMIT_FORMATTED);
	bool gap = false, any = false;

	buf_puts(&line, h->name);
	buf_putc(&line, ':');
	for (const char *s = h->value; *s; s++) {
		if (*s == ' ' || *s == '\t') {
			gap = any;
			continue;
		}
		if (gap)
			buf_putc(&line, ' ');
		buf_putc(&line, *s);
		gap = false;
		any = true;
	}
	return buf_take(&line);
}

/* The canonical headers, and their names as "host;x-amz-date". */
static char *headers(const struct sigv4_request *r, char **ret_names)
{
	char **lines = xcalloc(r->n_headers ? r->n_headers : 1, sizeof(*lines));
	char **names = xcalloc(r->n_headers ? r->n_headers : 1, sizeof(*names));

	for (size_t i = 0; i < r->n_headers; i++) {
		lines[i] = header(&r->headers[i]);
		names[i] = xstrdup(r->headers[i].name);
	}
	*ret_names = joined(names, r->n_headers, ";");
	return joined(lines, r->n_headers, "\n");
}

static void hex(const unsigned char raw[DIGEST_BYTES], char to[DIGEST_HEX])
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < DIGEST_BYTES; i++) {
		to[2 * i] = digits[raw[i] >> 4];
		to[2 * i + 1] = digits[raw[i] & 15];
	}
	to[DIGEST_HEX - 1] = '\0';
}

static void mac(const unsigned char key[DIGEST_BYTES], const char *text,
		unsigned char to[DIGEST_BYTES])
{
	digest_hmac(key, DIGEST_BYTES, text, strlen(text), to);
}

static const char *terminator(const struct sigv4_request *r)
{
	return r->google ? "goog4_request" : "aws4_request";
}

static void signature(const struct sigv4_request *r, const char *secret_key, const char *text,
		      char to[DIGEST_HEX])
{
	unsigned char key[DIGEST_BYTES], next[DIGEST_BYTES];
	char *first = xasprintf("%s%s", r->google ? "GOOG4" : "AWS4", secret_key);
	char day[9];

	(void)snprintf(day, sizeof(day), "%.8s", r->date);
	digest_hmac(first, strlen(first), day, strlen(day), key);
	mac(key, r->region, next);
	mac(next, r->service, key);
	mac(key, terminator(r), next);
	mac(next, text, key);
	hex(key, to);
	digest_wipe(first, strlen(first));
	digest_wipe(next, sizeof(next));
	free(first);
}

char *sigv4_authorization(const struct sigv4_request *r, const char *access_key,
			  const char *secret_key)
{
	cleanup(freep) char *names = NULL;
	cleanup(freep) char *lines = headers(r, &names);
	cleanup(freep) char *canonical =
		xasprintf("%s\n%s\n%s\n%s\n\n%s\n%s", r->method, r->path, r->query ? r->query : "",
			  lines, names, r->payload);
	cleanup(freep) char *scope =
		xasprintf("%.8s/%s/%s/%s", r->date, r->region, r->service, terminator(r));
	cleanup(freep) char *text = NULL;
	const char *algorithm = r->google ? "GOOG4-HMAC-SHA256" : "AWS4-HMAC-SHA256";
	char sum[DIGEST_HEX], sign[DIGEST_HEX];

	digest_hex(canonical, strlen(canonical), sum);
	text = xasprintf("%s\n%s\n%s\n%s", algorithm, r->date, scope, sum);
	signature(r, secret_key, text, sign);
	return xasprintf("%s Credential=%s/%s, SignedHeaders=%s, Signature=%s", algorithm,
			 access_key, scope, names, sign);
}
