/*
 * http_text.c - texts of requests and answers: headers, addresses, escapes.
 */
#include <string.h>
#include <strings.h>

#include "common/http.h"

void http_response_done(struct http_response *r)
{
	buf_done(&r->headers);
	buf_done(&r->body);
}

bool http_response_header(const struct http_response *r, const char *name, char *to, size_t size)
{
	size_t n = strlen(name);
	bool found = false;

	for (const char *line = buf_str(&r->headers), *end; *line; line = *end ? end + 1 : end) {
		const char *value = line + n + 1, *last;
		size_t len;

		end = line + strcspn(line, "\n");
		if (strncasecmp(line, name, n) != 0 || line[n] != ':')
			continue;
		while (value < end && (*value == ' ' || *value == '\t'))
			value++;
		for (last = end; last > value && (last[-1] == '\r' || last[-1] == ' ');)
			last--;
		len = (size_t)(last - value);
		if (len >= size)
			len = size - 1;
		memcpy(to, value, len);
		to[len] = '\0';
		found = true;
	}
	return found;
}

void http_authority(const char *host, int port, struct buf *to)
{
	bool bare = strchr(host, ':') && host[0] != '[';

	buf_printf(to, bare ? "[%s]" : "%s", host);
	if (port)
		buf_printf(to, ":%d", port);
}

void http_escape(const char *s, struct buf *to)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789-._~";

	for (; *s; s++) {
		if (strchr(plain, *s))
			buf_putc(to, *s);
		else
			buf_printf(to, "%%%02X", (unsigned)(unsigned char)*s);
	}
}
