#include "common/version.h"

#include <stdio.h>
#include <string.h>

enum { MAX_PART = 99999 };

static bool number(const char *s, size_t n, size_t *at, int *ret)
{
	size_t start = *at;
	int v = 0;

	while (*at < n && s[*at] >= '0' && s[*at] <= '9') {
		v = v * 10 + (s[*at] - '0');
		if (v > MAX_PART)
			return false;
		(*at)++;
	}
	if (*at == start || (s[start] == '0' && *at - start > 1))
		return false;
	*ret = v;
	return true;
}

static bool dot(const char *s, size_t n, size_t *at)
{
	if (*at >= n || s[*at] != '.')
		return false;
	(*at)++;
	return true;
}

static bool is_suffix_char(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       c == '.' || c == '-' || c == '_' || c == '+';
}

bool version_parse(const char *s, size_t n, struct version *ret)
{
	struct version v;
	size_t at = 0;

	if (n && s[0] == 'v')
		at = 1;
	if (!number(s, n, &at, &v.major) || !dot(s, n, &at) || !number(s, n, &at, &v.minor) ||
	    !dot(s, n, &at) || !number(s, n, &at, &v.patch))
		return false;
	if (at < n && s[at] != '-' && s[at] != '+')
		return false;
	if (at + 1 == n)
		return false; /* "1.2.3-": nothing after the mark */
	for (; at < n; at++) {
		if (!is_suffix_char(s[at]))
			return false;
	}
	*ret = v;
	return true;
}

bool version_read(const char *s, struct version *ret)
{
	return s && version_parse(s, strlen(s), ret);
}

int version_cmp(struct version a, struct version b)
{
	if (a.major != b.major)
		return a.major < b.major ? -1 : 1;
	if (a.minor != b.minor)
		return a.minor < b.minor ? -1 : 1;
	if (a.patch != b.patch)
		return a.patch < b.patch ? -1 : 1;
	return 0;
}

void version_text(struct version v, char text[VERSION_TEXT])
{
	(void)snprintf(text, VERSION_TEXT, "v%d.%d.%d", v.major, v.minor, v.patch);
}
