#include "common/flags.h"

#include <stdlib.h>
#include <string.h>

#include "common/strlist.h"

static const struct {
	const char *unit;
	int64_t ms;
} units[] = { { "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", 3600000 } };

/* The length of the unit at s, and its milliseconds. "ms" stands first, so that "m" does not match
 * it. */
static size_t unit_at(const char *s, int64_t *ret_ms)
{
	for (size_t i = 0; i < array_len(units); i++) {
		if (str_starts(s, units[i].unit)) {
			*ret_ms = units[i].ms;
			return strlen(units[i].unit);
		}
	}
	return 0;
}

bool flags_duration(const char *s, int64_t *ret_ms)
{
	int64_t total = 0;

	if (!*s)
		return false;
	while (*s) {
		int64_t v = 0, unit = 0;
		size_t n = strspn(s, "0123456789");

		if (!n || n > 12)
			return false;
		for (size_t i = 0; i < n; i++)
			v = v * 10 + (s[i] - '0');
		s += n;
		n = unit_at(s, &unit);
		if (!n && (v || *s))
			return false; /* a bare 0 needs no unit */
		if (n && v > INT64_MAX / 4 / unit)
			return false;
		s += n;
		total += v * unit;
		if (total > INT64_MAX / 2)
			return false;
	}
	*ret_ms = total;
	return true;
}

static bool integer(const char *s, int64_t *ret)
{
	bool negative = *s == '-';
	int64_t v = 0;

	s += negative;
	if (!*s || strlen(s) > 15)
		return false;
	for (; *s; s++) {
		if (*s < '0' || *s > '9')
			return false;
		v = v * 10 + (*s - '0');
	}
	*ret = negative ? -v : v;
	return true;
}

static int bad(const struct flag *f, const char *value, const char *want, struct err *e)
{
	char name[64];

	(void)snprintf(name, sizeof(name), "--%s", f->name);
	return err_field(e, ERR_INVALID, name, "%s: '%s' is not %s", name, value, want);
}

static int ranged(const struct flag *f, const char *value, int64_t v, struct err *e)
{
	char want[96];
	const char *unit = f->kind == FLAG_DURATION ? "ms" : "";

	if ((f->min || f->max) && (v < f->min || v > f->max)) {
		(void)snprintf(want, sizeof(want), "between %lld%s and %lld%s", (long long)f->min,
			       unit, (long long)f->max, unit);
		return bad(f, value, want, e);
	}
	memcpy(f->to, &v, sizeof(v));
	return 0;
}

static int choose(const struct flag *f, const char *value, struct err *e)
{
	char want[160] = "one of";
	size_t at = strlen(want);

	for (const char *const *c = f->choices; *c; c++) {
		if (str_eq(*c, value)) {
			memcpy(f->to, &value, sizeof(value));
			return 0;
		}
		at += (size_t)snprintf(want + at, sizeof(want) - at, " %s", *c);
		if (at >= sizeof(want))
			break;
	}
	return bad(f, value, want, e);
}

static int set(const struct flag *f, const char *value, struct err *e)
{
	int64_t v;
	bool b;

	switch (f->kind) {
	case FLAG_BOOL:
		if (!str_eq(value, "true") && !str_eq(value, "false"))
			return bad(f, value, "true or false", e);
		b = str_eq(value, "true");
		memcpy(f->to, &b, sizeof(b));
		return 0;
	case FLAG_INT:
		if (!integer(value, &v))
			return bad(f, value, "a whole number", e);
		return ranged(f, value, v, e);
	case FLAG_DURATION:
		if (!flags_duration(value, &v))
			return bad(f, value, "a duration such as 15s, 250ms or 1m30s", e);
		return ranged(f, value, v, e);
	case FLAG_STRING:
		memcpy(f->to, &value, sizeof(value));
		return 0;
	case FLAG_LIST:
		strlist_split(f->to, value, ',');
		return 0;
	case FLAG_CHOICE:
		return choose(f, value, e);
	}
	return err_set(e, ERR_INTERNAL, "flag %s has no kind", f->name);
}

struct cursor {
	const struct flag *table;
	size_t n;
	int argc, at;
	char **argv;
	bool *given;
};

static int unknown(const char *arg, struct err *e)
{
	char name[64];

	(void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(arg, "="), arg);
	return err_field(e, ERR_INVALID, name, "unknown flag %s; see --help", name);
}

static int no_value(const struct flag *f, struct err *e)
{
	char name[64];

	(void)snprintf(name, sizeof(name), "--%s", f->name);
	return err_field(e, ERR_INVALID, name, "%s needs a value", name);
}

/* The flag's own value, or the next argument. */
static int with_value(struct cursor *c, size_t i, const char *value, struct err *e)
{
	const struct flag *f = &c->table[i];

	c->given[i] = true;
	if (!value && f->kind == FLAG_BOOL)
		value = "true";
	if (!value) {
		if (c->at + 1 >= c->argc)
			return no_value(f, e);
		value = c->argv[++c->at];
	}
	return set(f, value, e);
}

static int long_flag(struct cursor *c, struct err *e)
{
	const char *arg = c->argv[c->at], *name = arg + 2;
	const char *eq = strchr(name, '=');
	size_t len = eq ? (size_t)(eq - name) : strlen(name);

	for (size_t i = 0; i < c->n; i++) {
		const struct flag *f = &c->table[i];

		if (strlen(f->name) == len && !strncmp(f->name, name, len))
			return with_value(c, i, eq ? eq + 1 : NULL, e);
		if (f->kind == FLAG_BOOL && !eq && str_starts(name, "no-") &&
		    str_eq(name + 3, f->name))
			return with_value(c, i, "false", e);
	}
	return unknown(arg, e);
}

static int short_flag(struct cursor *c, struct err *e)
{
	const char *arg = c->argv[c->at];

	for (size_t i = 0; i < c->n; i++) {
		if (c->table[i].letter && c->table[i].letter == arg[1])
			return with_value(c, i, arg[2] ? arg + 2 + (arg[2] == '=') : NULL, e);
	}
	return unknown(arg, e);
}

static int walk(struct cursor *c, char **rest, int *n_rest, struct err *e)
{
	bool flags_end = false;

	for (c->at = 1; c->at < c->argc; c->at++) {
		char *arg = c->argv[c->at];
		int r = 0;

		if (flags_end || arg[0] != '-' || !arg[1])
			rest[(*n_rest)++] = arg;
		else if (str_eq(arg, "--"))
			flags_end = true;
		else if (arg[1] == '-')
			r = long_flag(c, e);
		else
			r = short_flag(c, e);
		if (r)
			return r;
	}
	return 0;
}

int flags_parse(const struct flag *table, size_t n, int argc, char **argv, int *ret_rest,
		struct err *e)
{
	cleanup(freep) bool *given = xcalloc(n, sizeof(bool));
	cleanup(freep) char **rest = xcalloc((size_t)argc + 1, sizeof(char *));
	struct cursor c = { .table = table, .n = n, .argc = argc, .argv = argv, .given = given };
	int n_rest = 0, r = walk(&c, rest, &n_rest, e);

	for (size_t i = 0; !r && i < n; i++) {
		if (!given[i] && table[i].fallback)
			r = set(&table[i], table[i].fallback, e);
	}
	if (r)
		return r;
	*ret_rest = argc - n_rest;
	for (int i = 0; i < n_rest; i++)
		argv[*ret_rest + i] = rest[i];
	return 0;
}

static const char *placeholder(const struct flag *f)
{
	if (f->placeholder)
		return f->placeholder;
	switch (f->kind) {
	case FLAG_BOOL:
		return "";
	case FLAG_INT:
		return "N";
	case FLAG_DURATION:
		return "DURATION";
	case FLAG_STRING:
		return "TEXT";
	case FLAG_LIST:
		return "A,B,...";
	case FLAG_CHOICE:
		return "";
	}
	return "";
}

static void choices(const struct flag *f, char text[128])
{
	size_t at = 0;

	text[0] = '\0';
	for (const char *const *c = f->choices; *c && at < 128; c++)
		at += (size_t)snprintf(text + at, 128 - at, "%s%s", at ? "|" : "", *c);
}

void flags_help(const struct flag *table, size_t n, FILE *to)
{
	for (size_t i = 0; i < n; i++) {
		const struct flag *f = &table[i];
		char left[192], values[128];

		if (f->kind == FLAG_CHOICE)
			choices(f, values);
		else
			(void)snprintf(values, sizeof(values), "%s", placeholder(f));
		(void)snprintf(left, sizeof(left), "%s%c%s--%s%s%s", f->letter ? "-" : "",
			       f->letter ? f->letter : ' ', f->letter ? ", " : "   ", f->name,
			       values[0] ? " " : "", values);
		(void)fprintf(to, "  %-38s %s", left, f->help);
		if (!str_empty(f->fallback) && f->kind != FLAG_BOOL)
			(void)fprintf(to, " (default %s)", f->fallback);
		else if (f->kind == FLAG_BOOL && f->fallback && str_eq(f->fallback, "true"))
			(void)fprintf(to, " (on; --no-%s)", f->name);
		(void)fputc('\n', to);
	}
}
