#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/json.h"
#include "common/utf8.h"
#include "common/yaml.h"
#include "common/yaml_scalar.h"

enum { LONGEST_NAME = 128 };

/* --- strings -------------------------------------------------------------------------------- */

/*
 * Plain is what begins with a letter, a digit, '/', '.' or '_', goes on with those and a few marks
 * that mean nothing to YAML inside a word, and is read back as a string. Single blanks may stand
 * inside, a colon may not end a word. All else is quoted: quoting too much only costs two bytes.
 */
static bool is_word_char(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c && strchr("/._-+:()@=~^;,$", c));
}

static bool is_first_char(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c && strchr("/._$", c));
}

/* Readers of YAML 1.2 or with base 60 may see a number, a time or a date where ours sees a string. */
static bool may_be_number(const char *s)
{
	return !s[strspn(s, "0123456789.:_-+eE")];
}

/* At the beginning of a line this ends a document, whatever follows. */
static bool ends_document(const char *s)
{
	return str_starts(s, "...");
}

static bool is_plain(const char *s)
{
	if (ends_document(s) || !is_first_char(*s) || yaml_scalar_of(s).kind != JSON_STRING ||
	    may_be_number(s))
		return false;
	for (; *s; s++) {
		char next = s[1];

		if (!is_word_char(*s) && *s != ' ')
			return false;
		if ((*s == ' ' || *s == ':') && (next == '\0' || next == ' '))
			return false;
	}
	return true;
}

/* Length of the character at s and its code point; a byte that is no UTF-8 counts as U+FFFD. */
static size_t code_point(const char *s, uint32_t *ret)
{
	size_t n = utf8_char(s);
	uint32_t c = (unsigned char)s[0];

	if (!n) {
		*ret = 0xfffd;
		return 1;
	}
	if (n > 1)
		c &= 0x7fU >> n;
	for (size_t i = 1; i < n; i++)
		c = c << 6 | ((unsigned char)s[i] & 0x3f);
	*ret = c;
	return n;
}

/* What YAML takes for a line break or does not allow raw, beyond JSON's control characters. */
static bool must_escape(uint32_t c)
{
	return (c >= 0x7f && c <= 0xa0) || c == 0xfffd || c == 0x2028 || c == 0x2029 ||
	       c == 0xfeff || c == 0xfffe || c == 0xffff;
}

static void print_quoted(const char *s, struct buf *to)
{
	uint32_t c;
	size_t n;

	buf_putc(to, '"');
	for (; *s; s += n) {
		n = code_point(s, &c);
		if (c == '"' || c == '\\')
			buf_printf(to, "\\%c", (int)c);
		else if (c == '\n')
			buf_puts(to, "\\n");
		else if (c == '\t')
			buf_puts(to, "\\t");
		else if (c < 0x20 || must_escape(c))
			buf_printf(to, "\\u%04x", c);
		else
			buf_add(to, s, n);
	}
	buf_putc(to, '"');
}

static void print_str(const char *s, struct buf *to)
{
	if (is_plain(s))
		buf_puts(to, s);
	else
		print_quoted(s, to);
}

/* --- values --------------------------------------------------------------------------------- */

static void print(const struct json *j, unsigned indent, bool in_line, struct buf *to);

static void print_indent(unsigned n, struct buf *to)
{
	buf_printf(to, "%*s", (int)n, "");
}

static int by_name(const void *a, const void *b)
{
	const struct json *const *x = a;
	const struct json *const *y = b;

	return strcmp(json_name(*x), json_name(*y));
}

/* A name that is too long for one line (libyaml: 1024 characters) stands in the `? ` form. */
static void print_name(const char *name, unsigned indent, struct buf *to)
{
	bool is_long = strlen(name) > LONGEST_NAME;

	if (is_long)
		buf_puts(to, "? ");
	print_str(name, to);
	if (is_long) {
		buf_putc(to, '\n');
		print_indent(indent, to);
	}
	buf_putc(to, ':');
}

static bool is_block(const struct json *j)
{
	return json_first(j) != NULL;
}

static void print_members(const struct json *j, unsigned indent, bool in_line, struct buf *to)
{
	size_t n = json_len(j), i = 0;
	cleanup(freep) const struct json **all = xmalloc(n * sizeof(const struct json *));

	for (const struct json *c = json_first(j); c; c = json_next(c))
		all[i++] = c;
	qsort(all, n, sizeof(*all), by_name); /* NOLINT(bugprone-sizeof-expression): pointers */
	for (i = 0; i < n; i++) {
		bool list = json_kind(all[i]) == JSON_ARRAY;

		if (!in_line || i)
			print_indent(indent, to);
		print_name(json_name(all[i]), indent, to);
		buf_putc(to, is_block(all[i]) ? '\n' : ' ');
		print(all[i], list ? indent : indent + 2, false, to);
	}
}

static void print_elements(const struct json *j, unsigned indent, bool in_line, struct buf *to)
{
	for (const struct json *c = json_first(j); c; c = json_next(c)) {
		if (!in_line || c != json_first(j))
			print_indent(indent, to);
		buf_puts(to, "- ");
		print(c, indent + 2, true, to);
	}
}

/* in_line: the cursor already stands at the indentation, behind "- ". Ends with a line break. */
static void print(const struct json *j, unsigned indent, bool in_line, struct buf *to)
{
	if (json_kind(j) == JSON_STRING) {
		print_str(json_str(j), to);
	} else if (!is_block(j)) {
		json_print(j, to); /* {} and [] too */
	} else if (json_kind(j) == JSON_OBJECT) {
		print_members(j, indent, in_line, to);
		return;
	} else {
		print_elements(j, indent, in_line, to);
		return;
	}
	buf_putc(to, '\n');
}

void yaml_print(const struct json *j, struct buf *to)
{
	print(j, 0, true, to);
}
