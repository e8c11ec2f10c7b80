#include "common/celld/image.h"

#include <string.h>

enum { LONGEST_REF = 1024, LONGEST_TAG = 128, SHA256_HEX = 64, SHA512_HEX = 128 };

static bool is_lower(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

static bool is_alnum(char c)
{
	return is_lower(c) || (c >= 'A' && c <= 'Z');
}

static bool is_one_of(char c, const char *set)
{
	return c && strchr(set, c) != NULL;
}

/* Components of a name begin and end with a letter or digit. */
static bool is_component(const char *s, size_t n, bool (*is_edge)(char), const char *inner)
{
	if (!n || !is_edge(s[0]) || !is_edge(s[n - 1]))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!is_edge(s[i]) && !is_one_of(s[i], inner))
			return false;
	}
	return true;
}

static bool is_port(const char *s, size_t n)
{
	if (!n || n > 5)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (s[i] < '0' || s[i] > '9')
			return false;
	}
	return true;
}

/* "[2001:db8::1]" */
static bool is_ipv6(const char *s, size_t n)
{
	if (n < 4 || s[0] != '[' || s[n - 1] != ']')
		return false;
	for (size_t i = 1; i < n - 1; i++) {
		if (!is_alnum(s[i]) && s[i] != ':' && s[i] != '.')
			return false;
	}
	return true;
}

/* The part before the first slash is a registry's host when it could be no plain component. */
static bool is_host(const char *s, size_t n)
{
	size_t host = n;

	for (size_t i = n; i > 0 && s[i - 1] != ']'; i--) {
		if (s[i - 1] == ':') {
			host = i - 1;
			break;
		}
	}
	if (host < n && !is_port(s + host + 1, n - host - 1))
		return false;
	return is_component(s, host, is_alnum, ".-") || is_ipv6(s, host);
}

/* registry.example:5000/team/celld */
static bool is_repository(const char *s, size_t n)
{
	size_t start = 0;

	for (size_t i = 0; i <= n; i++) {
		if (i < n && s[i] != '/')
			continue;
		if (!is_component(s + start, i - start, is_lower, "._-") &&
		    !(start == 0 && i < n && is_host(s, i)))
			return false;
		start = i + 1;
	}
	return true;
}

static bool is_tag(const char *s, size_t n)
{
	if (!n || n > LONGEST_TAG || is_one_of(s[0], ".-"))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!is_alnum(s[i]) && !is_one_of(s[i], "._-"))
			return false;
	}
	return true;
}

static bool is_digest(const char *s)
{
	size_t n;

	if (!strncmp(s, "sha256:", 7))
		n = SHA256_HEX;
	else if (!strncmp(s, "sha512:", 7))
		n = SHA512_HEX;
	else
		return false;
	s += 7;
	if (strnlen(s, n + 1) != n)
		return false;
	for (; *s; s++) {
		if (!((*s >= '0' && *s <= '9') || (*s >= 'a' && *s <= 'f')))
			return false;
	}
	return true;
}

bool image_parse(const char *ref, struct image *ret)
{
	struct image r = { 0 };
	size_t n = strnlen(ref, LONGEST_REF + 1), name;
	const char *mark = strchr(ref, '@');

	if (n > LONGEST_REF)
		return false;
	if (mark) {
		if (!is_digest(mark + 1))
			return false;
		r.digest = true;
		n = (size_t)(mark - ref);
	}
	/* A colon before a slash is a port's. */
	for (name = n; name > 0 && ref[name - 1] != ':' && ref[name - 1] != '/'; name--)
		;
	if (name > 0 && ref[name - 1] == ':') {
		r.tag = ref + name;
		r.tag_len = n - name;
		if (!is_tag(r.tag, r.tag_len))
			return false;
		n = name - 1;
	}
	if (!is_repository(ref, n))
		return false;
	r.has_version = r.tag_len && version_parse(r.tag, r.tag_len, &r.version);
	*ret = r;
	return true;
}

bool image_version(const struct image *image, const char *declared, struct version *ret,
		   bool *ret_conflict)
{
	struct version said;
	bool has_tag = image && image->has_version;
	bool has_said = version_read(declared, &said);

	*ret_conflict = has_tag && has_said && version_cmp(image->version, said) != 0;
	if (!has_tag && !has_said)
		return false;
	*ret = has_tag ? image->version : said;
	return true;
}

bool image_celld_version(const char *ref, const char *declared, struct version *ret)
{
	struct image image;
	bool conflict;

	return image_version(image_parse(ref, &image) ? &image : NULL, declared, ret, &conflict);
}
