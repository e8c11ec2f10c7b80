#include "common/yaml_scalar.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *text;
	enum json_kind kind;
	bool b;
} words[] = {
	{ "", JSON_NULL, false },      { "~", JSON_NULL, false },     { "null", JSON_NULL, false },
	{ "Null", JSON_NULL, false },  { "NULL", JSON_NULL, false },  { "y", JSON_BOOL, true },
	{ "Y", JSON_BOOL, true },      { "yes", JSON_BOOL, true },    { "Yes", JSON_BOOL, true },
	{ "YES", JSON_BOOL, true },    { "true", JSON_BOOL, true },   { "True", JSON_BOOL, true },
	{ "TRUE", JSON_BOOL, true },   { "on", JSON_BOOL, true },     { "On", JSON_BOOL, true },
	{ "ON", JSON_BOOL, true },     { "n", JSON_BOOL, false },     { "N", JSON_BOOL, false },
	{ "no", JSON_BOOL, false },    { "No", JSON_BOOL, false },    { "NO", JSON_BOOL, false },
	{ "false", JSON_BOOL, false }, { "False", JSON_BOOL, false }, { "FALSE", JSON_BOOL, false },
	{ "off", JSON_BOOL, false },   { "Off", JSON_BOOL, false },   { "OFF", JSON_BOOL, false },
};

static const char *const not_finite[] = { ".nan",  ".NaN",  ".NAN",  ".inf",  ".Inf",  ".INF",
					  "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF" };

static bool word(const char *s, struct yaml_scalar *ret)
{
	for (size_t i = 0; i < array_len(words); i++) {
		if (str_eq(s, words[i].text)) {
			ret->kind = words[i].kind;
			ret->b = words[i].b;
			return true;
		}
	}
	for (size_t i = 0; i < array_len(not_finite); i++) {
		if (str_eq(s, not_finite[i])) {
			ret->kind = JSON_NUMBER;
			ret->finite = false;
			return true;
		}
	}
	return false;
}

/* Go's prefixes: 0x, 0o and a bare 0 (both octal), 0b; the digits start at *s afterwards. */
static unsigned base_of(const char **s)
{
	char mark = (char)tolower((unsigned char)(*s)[0] == '0' ? (*s)[1] : '\0');

	if (mark == 'x' || mark == 'o' || mark == 'b') {
		*s += 2;
		return mark == 'x' ? 16 : mark == 'o' ? 8 : 2;
	}
	if ((*s)[0] == '0' && mark) {
		*s += 1;
		return 8;
	}
	return 10;
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)tolower((unsigned char)c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
}

/* An integer of at most 64 bits; s has no underscores. */
static bool integer(const char *s, struct yaml_scalar *ret)
{
	bool negative = *s == '-', has_sign = negative || *s == '+';
	unsigned base;
	uint64_t v = 0;

	s += has_sign;
	base = base_of(&s);
	if (!*s)
		return false;
	for (; *s; s++) {
		int d = digit(*s);

		if (d >= (int)base || __builtin_mul_overflow(v, base, &v) ||
		    __builtin_add_overflow(v, (uint64_t)d, &v))
			return false;
	}
	ret->fits = v <= (uint64_t)INT64_MAX || (negative && v == (uint64_t)INT64_MAX + 1);
	if (!ret->fits && has_sign)
		return false; /* left to the floating-point reading */
	ret->i = ret->fits ? (int64_t)(negative ? 0 - v : v) : 0;
	ret->number = negative ? -(double)v : (double)v;
	ret->is_int = true;
	return true;
}

/* [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)? */
static bool is_decimal(const char *s)
{
	size_t whole, fraction = 0;

	s += *s == '-' || *s == '+';
	whole = strspn(s, "0123456789");
	s += whole;
	if (*s == '.') {
		fraction = strspn(s + 1, "0123456789");
		s += 1 + fraction;
	}
	if (!whole && !fraction)
		return false;
	if (*s == 'e' || *s == 'E') {
		s++;
		s += *s == '-' || *s == '+';
		whole = strspn(s, "0123456789");
		if (!whole)
			return false;
		s += whole;
	}
	return !*s;
}

static bool floating(const char *s, struct yaml_scalar *ret)
{
	double d;

	if (!is_decimal(s))
		return false;
	d = strtod(s, NULL);
	if (!isfinite(d))
		return false;
	ret->number = d;
	return true;
}

/* Go drops all underscores of what begins with a digit or a sign, and takes them only between
 * digits after a point. */
static bool without_underscores(const char *s, char *plain)
{
	size_t n = 0;

	for (size_t i = 0; s[i]; i++) {
		if (s[i] == '_') {
			if (s[0] == '.' && (!isdigit((unsigned char)s[i - 1]) ||
					    !isdigit((unsigned char)s[i + 1])))
				return false;
			continue;
		}
		plain[n++] = s[i];
	}
	plain[n] = '\0';
	return true;
}

struct yaml_scalar yaml_scalar_of(const char *s)
{
	struct yaml_scalar r = { .kind = JSON_STRING, .finite = true };
	cleanup(freep) char *plain = NULL;

	if (word(s, &r))
		return r;
	if (!isdigit((unsigned char)*s) && *s != '-' && *s != '+' && *s != '.')
		return r;
	plain = xmalloc(strlen(s) + 1);
	if (!without_underscores(s, plain))
		return r;
	if ((*s != '.' && integer(plain, &r)) || floating(plain, &r))
		r.kind = JSON_NUMBER;
	return r;
}
