/* JSON as text: compact, members as they come or by name. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/json.h"
#include "common/limits.h"
#include "common/utf8.h"

void json_print_str(const char *s, struct buf *to)
{
	buf_putc(to, '"');
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;
		size_t n = utf8_char(s);

		if (c == '"' || c == '\\') {
			buf_putc(to, '\\');
			buf_putc(to, *s);
		} else if (c == '\n') {
			buf_puts(to, "\\n");
		} else if (c == '\t') {
			buf_puts(to, "\\t");
		} else if (c == '\r') {
			buf_puts(to, "\\r");
		} else if (c < 0x20 || c == 0x7f) {
			buf_printf(to, "\\u%04x", c);
		} else if (n) {
			buf_add(to, s, n);
			s += n - 1;
		} else {
			buf_puts(to, "\xef\xbf\xbd"); /* U+FFFD: no UTF-8 must leave */
		}
	}
	buf_putc(to, '"');
}

/* The shortest text that reads back as the same double. */
static void print_fraction(double d, struct buf *to)
{
	char text[32];

	for (int digits = 15; digits <= 17; digits++) {
		(void)snprintf(text, sizeof(text), "%.*g", digits, d);
		if (strtod(text, NULL) == d)
			break;
	}
	buf_puts(to, text);
}

static void print_number(const struct json *j, struct buf *to)
{
	int64_t i;
	double d = 0;

	(void)json_number(j, &d);
	if (json_int(j, &i))
		buf_printf(to, "%lld", (long long)i);
	else if (isfinite(d))
		print_fraction(d, to);
	else
		buf_puts(to, "null");
}

static int by_name(const void *a, const void *b)
{
	const struct json *const *x = a;
	const struct json *const *y = b;

	return strcmp(json_name(*x), json_name(*y));
}

static void print(const struct json *j, bool sorted, struct buf *to);

static void print_members(const struct json *j, bool sorted, struct buf *to)
{
	size_t n = json_len(j), i = 0;
	cleanup(freep) const struct json **all = xmalloc(n * sizeof(const struct json *));

	for (const struct json *c = json_first(j); c; c = json_next(c))
		all[i++] = c;
	if (sorted && n > 1) {
		/* NOLINTNEXTLINE(bugprone-sizeof-expression): pointers are sorted */
		qsort(all, n, sizeof(*all), by_name);
	}
	buf_putc(to, '{');
	for (i = 0; i < n; i++) {
		if (i)
			buf_putc(to, ',');
		json_print_str(json_name(all[i]), to);
		buf_putc(to, ':');
		print(all[i], sorted, to);
	}
	buf_putc(to, '}');
}

static void print_elements(const struct json *j, bool sorted, struct buf *to)
{
	buf_putc(to, '[');
	for (const struct json *c = json_first(j); c; c = json_next(c)) {
		if (c != json_first(j))
			buf_putc(to, ',');
		print(c, sorted, to);
	}
	buf_putc(to, ']');
}

static void print(const struct json *j, bool sorted, struct buf *to)
{
	bool b = false;

	switch (json_kind(j)) {
	case JSON_ABSENT:
	case JSON_NULL:
		buf_puts(to, "null");
		break;
	case JSON_BOOL:
		(void)json_bool(j, &b);
		buf_puts(to, b ? "true" : "false");
		break;
	case JSON_NUMBER:
		print_number(j, to);
		break;
	case JSON_STRING:
		json_print_str(json_str(j), to);
		break;
	case JSON_ARRAY:
		print_elements(j, sorted, to);
		break;
	case JSON_OBJECT:
		print_members(j, sorted, to);
		break;
	}
}

void json_print(const struct json *j, struct buf *to)
{
	print(j, false, to);
}

void json_print_sorted(const struct json *j, struct buf *to)
{
	print(j, true, to);
}

static char *text(const struct json *j, bool sorted)
{
	struct buf b = BUF_INIT(LIMIT_KUBE_LIST);

	print(j, sorted, &b);
	return buf_take(&b);
}

char *json_text(const struct json *j)
{
	return text(j, false);
}

char *json_text_sorted(const struct json *j)
{
	return text(j, true);
}
