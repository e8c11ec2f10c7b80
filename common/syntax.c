#include "common/syntax.h"

#include <string.h>

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_lower(char c)
{
	return c >= 'a' && c <= 'z';
}

static bool is_alnum(char c)
{
	return is_digit(c) || is_lower(c) || (c >= 'A' && c <= 'Z');
}

static bool is_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

size_t syntax_length(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

bool syntax_word(const char *s, size_t min, size_t max, const char *others)
{
	size_t n = strlen(s);

	if (n < min || n > max)
		return false;
	for (; *s; s++) {
		if (!is_alnum(*s) && !strchr(others, *s))
			return false;
	}
	return true;
}

/* One part of a DNS name, in lower case. */
static bool is_part(const char *s, size_t n, size_t max)
{
	if (n == 0 || n > max || s[0] == '-' || s[n - 1] == '-')
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!is_lower(s[i]) && !is_digit(s[i]) && s[i] != '-')
			return false;
	}
	return true;
}

static bool is_parts(const char *s, size_t n, size_t max_part)
{
	size_t from = 0;

	if (n == 0 || n > 253)
		return false;
	for (size_t i = 0; i <= n; i++) {
		if (i < n && s[i] != '.')
			continue;
		if (!is_part(s + from, i - from, max_part))
			return false;
		from = i + 1;
	}
	return true;
}

bool syntax_dns_label(const char *s)
{
	return is_lower(s[0]) && is_part(s, strlen(s), 63);
}

bool syntax_object_name(const char *s)
{
	return is_parts(s, strlen(s), 253);
}

bool syntax_dns_name(const char *s)
{
	return is_parts(s, strlen(s), 63);
}

static bool is_digits_and_dots(const char *s)
{
	while (is_digit(*s) || *s == '.')
		s++;
	return *s == '\0';
}

bool syntax_host_name(const char *s)
{
	const char *name = str_starts(s, "*.") ? s + 2 : s;

	return strlen(s) <= 253 && syntax_dns_name(name) && !is_digits_and_dots(name);
}

/* Digits from 1 to 65535, up to the end or a '/'; returns what is behind them, NULL: no port. */
static const char *after_port(const char *s)
{
	long port = 0;
	size_t n = 0;

	for (; is_digit(*s) && n < 6; s++, n++)
		port = port * 10 + (*s - '0');
	return port >= 1 && port <= 65535 ? s : NULL;
}

static const char *after_host(const char *s)
{
	const char *p = s;

	if (*s == '[') {
		for (p = s + 1; is_hex(*p) || *p == ':' || *p == '.'; p++)
			;
		return *p == ']' && p > s + 2 ? p + 1 : NULL;
	}
	while (is_alnum(*p) || *p == '.' || *p == '-')
		p++;
	return p > s && is_alnum(*s) && is_alnum(p[-1]) ? p : NULL;
}

bool syntax_url(const char *s)
{
	const char *p;

	if (str_starts(s, "https://"))
		p = after_host(s + 8);
	else if (str_starts(s, "http://"))
		p = after_host(s + 7);
	else
		return false;
	if (p && *p == ':')
		p = after_port(p + 1);
	if (!p || (*p && *p != '/'))
		return false;
	for (; *p; p++) {
		if (*p <= ' ' || *p > '~' || *p == '?' || *p == '#')
			return false;
	}
	return true;
}

/* A letter of a path (not its end), or an escape that hides no '/': how many bytes it has, 0: neither. */
static size_t path_letter(const char *s)
{
	if (*s == '%') {
		bool slash = s[1] == '2' && (s[2] == 'f' || s[2] == 'F');

		return is_hex(s[1]) && is_hex(s[2]) && !slash ? 3 : 0;
	}
	return is_alnum(*s) || strchr("/._~!$&()*+,;=:@-", *s) ? 1 : 0;
}

/* What begins behind a '/': nothing at the end of the path, otherwise a segment that stands for itself. */
static bool is_segment(const char *s)
{
	size_t dots = 0;

	while (s[dots] == '.')
		dots++;
	if (s[0] == '/')
		return false;
	return dots == 0 || dots > 2 || (s[dots] != '/' && s[dots] != '\0');
}

bool syntax_path(const char *s)
{
	size_t n = strlen(s), at = 0;

	if (s[0] != '/' || n > 1024)
		return false;
	while (at < n) {
		size_t step = path_letter(s + at);

		if (!step || (s[at] == '/' && !is_segment(s + at + 1)))
			return false;
		at += step;
	}
	return true;
}

bool syntax_uuid(const char *s)
{
	size_t i;

	for (i = 0; i < 36 && s[i]; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (dash ? s[i] != '-' : !is_hex(s[i]))
			return false;
	}
	return i == 36 && s[i] == '\0';
}

bool syntax_email(const char *s)
{
	const char *at = strchr(s, '@'), *end;

	if (!at || at == s || strlen(s) > 254)
		return false;
	for (; s < at; s++) {
		if (!is_alnum(*s) && !strchr("._+-", *s))
			return false;
	}
	end = *(at + 1) == '[' ? NULL : after_host(at + 1);
	return end && *end == '\0';
}

bool syntax_role_arn(const char *s)
{
	size_t digits = 0;

	if (!str_starts(s, "arn:aws"))
		return false;
	for (s += 7; is_lower(*s) || *s == '-'; s++)
		;
	if (!str_starts(s, ":iam::"))
		return false;
	for (s += 6; is_digit(*s); s++)
		digits++;
	if (digits != 12 || !str_starts(s, ":role/") || !s[6])
		return false;
	for (s += 6; *s > ' ' && *s <= '~'; s++)
		;
	return *s == '\0';
}

/* Letters and digits at both ends; dots, dashes and underscores between. */
static bool is_label_text(const char *s)
{
	size_t n = strlen(s);

	return n >= 1 && syntax_word(s, 1, 63, "._-") && is_alnum(s[0]) && is_alnum(s[n - 1]);
}

bool syntax_key(const char *s)
{
	const char *slash = strchr(s, '/');

	if (!slash)
		return is_label_text(s);
	return is_parts(s, (size_t)(slash - s), 253) && is_label_text(slash + 1);
}

bool syntax_label_value(const char *s)
{
	return !*s || is_label_text(s);
}

/* A number of at most max at *s, without a leading zero; moves *s behind it. */
static bool take_number(const char **s, int max)
{
	const char *p = *s;
	int v = 0;

	if (!is_digit(*p) || (*p == '0' && is_digit(p[1])))
		return false;
	for (; is_digit(*p) && v <= max; p++)
		v = v * 10 + (*p - '0');
	*s = p;
	return v <= max;
}

/* An address range: its bytes, four or sixteen, and how many bits of them count. */
struct range {
	unsigned char address[16];
	size_t len;
	int bits;
};

static bool take_ipv4(const char **s, struct range *ret)
{
	ret->len = 4;
	for (size_t i = 0; i < ret->len; i++) {
		const char *from;

		if (i && *(*s)++ != '.')
			return false;
		from = *s;
		if (!take_number(s, 255))
			return false;
		for (; from < *s; from++)
			ret->address[i] = (unsigned char)(ret->address[i] * 10 + (*from - '0'));
	}
	return true;
}

/* One group of at most four hexadecimal digits at *s. */
static bool take_group(const char **s, unsigned *ret)
{
	size_t n = 0;

	for (*ret = 0; is_hex(**s) && n < 5; (*s)++, n++) {
		unsigned digit = (unsigned)(is_digit(**s) ? **s - '0' : (**s | 0x20) - 'a' + 10);

		*ret = *ret * 16 + digit;
	}
	return n >= 1 && n <= 4;
}

/* Up to a '/': eight groups, or fewer with one "::" for those that are zero. */
static bool take_ipv6(const char **s, struct range *ret)
{
	const char *p = *s;
	size_t n = 0, gap = SIZE_MAX;

	ret->len = 16;
	while (*p && *p != '/') {
		unsigned group;

		if (p[0] == ':' && p[1] == ':') {
			if (gap != SIZE_MAX)
				return false;
			gap = n;
			p += 2;
			if (*p == '/' || !*p)
				break;
		} else if (n && *p++ != ':') {
			return false;
		}
		if (n == ret->len || !take_group(&p, &group))
			return false;
		ret->address[n++] = (unsigned char)(group >> 8);
		ret->address[n++] = (unsigned char)group;
	}
	*s = p;
	if (gap == SIZE_MAX)
		return n == ret->len;
	memmove(ret->address + ret->len - (n - gap), ret->address + gap, n - gap);
	memset(ret->address + gap, 0, ret->len - n);
	return n < ret->len;
}

static bool read_range(const char *s, struct range *ret)
{
	bool six = strchr(s, ':') != NULL;
	const char *from;

	*ret = (struct range){ .bits = 0 };
	if (!(six ? take_ipv6(&s, ret) : take_ipv4(&s, ret)) || *s++ != '/')
		return false;
	from = s;
	if (!take_number(&s, six ? 128 : 32) || *s)
		return false;
	for (; from < s; from++)
		ret->bits = ret->bits * 10 + (*from - '0');
	return true;
}

bool syntax_cidr(const char *s)
{
	struct range r;

	return read_range(s, &r);
}

bool syntax_cidr_holds(const char *range, const char *part)
{
	struct range a, b;

	if (!read_range(range, &a) || !read_range(part, &b) || a.len != b.len || a.bits >= b.bits)
		return false;
	for (int i = 0; i < a.bits; i++) {
		if ((a.address[i / 8] ^ b.address[i / 8]) & (0x80 >> i % 8))
			return false;
	}
	return true;
}
