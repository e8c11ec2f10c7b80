#include "common/url.h"

#include <stdlib.h>
#include <string.h>

struct parts {
	const char *scheme; /* "https" or "http", NULL: no URL */
	const char *host;
	size_t host_len; /* without a dot at its end */
	const char *port;
	size_t port_len; /* 0: none, or the scheme's own */
	const char *path;
	size_t path_len; /* without slashes at its end */
};

static bool begins(const char *s, const char *lower)
{
	for (; *lower; s++, lower++) {
		int c = *s >= 'A' && *s <= 'Z' ? *s - 'A' + 'a' : *s;

		if (c != *lower)
			return false;
	}
	return true;
}

static size_t host_end(const char *s)
{
	size_t n = 0;

	if (*s == '[') {
		while (s[n] && s[n] != ']')
			n++;
		return s[n] ? n + 1 : n;
	}
	while (s[n] && !strchr(":/?#", s[n]))
		n++;
	return n;
}

static struct parts split(const char *url)
{
	struct parts p = { .scheme = begins(url, "https://")  ? "https"
				     : begins(url, "http://") ? "http"
							      : NULL };
	const char *own;

	if (!p.scheme)
		return p;
	p.host = url + strlen(p.scheme) + 3;
	p.host_len = host_end(p.host);
	p.path = p.host + p.host_len;
	if (*p.path == ':') {
		p.port = p.path + 1;
		while (p.port[p.port_len] && !strchr("/?#", p.port[p.port_len]))
			p.port_len++;
		p.path = p.port + p.port_len;
	}
	own = str_eq(p.scheme, "https") ? "443" : "80";
	if (p.port_len == strlen(own) && strncmp(p.port, own, p.port_len) == 0)
		p.port_len = 0;
	while (p.host_len && p.host[p.host_len - 1] == '.')
		p.host_len--;
	p.path_len = strlen(p.path);
	while (p.path_len && p.path[p.path_len - 1] == '/')
		p.path_len--;
	return p;
}

static char *text_of(const struct parts *p, bool whole)
{
	char *text = xasprintf("%s%s%.*s%s%.*s%.*s", whole ? p->scheme : "", whole ? "://" : "",
			       (int)p->host_len, p->host, p->port_len ? ":" : "", (int)p->port_len,
			       p->port ? p->port : "", whole ? (int)p->path_len : 0, p->path);
	size_t n = (whole ? strlen(p->scheme) + 3 : 0) + p->host_len;

	for (size_t i = 0; i < n; i++) {
		if (text[i] >= 'A' && text[i] <= 'Z')
			text[i] = (char)(text[i] - 'A' + 'a');
	}
	return text;
}

char *url_plain(const char *url)
{
	struct parts p = split(url);

	return p.scheme ? text_of(&p, true) : xstrdup(url);
}

char *url_host(const char *url)
{
	struct parts p = split(url);

	return p.scheme ? text_of(&p, false) : xstrdup("");
}
