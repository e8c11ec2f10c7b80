#include "common/fault.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"

enum { MESSAGE_MAX = 1024 };

static const char too_many[] = "too-many-faults";

static void make_safe(char *s)
{
	for (; *s; s++) {
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			*s = '?';
	}
}

/* The largest length <= n at which s (valid UTF-8) may be cut. */
static size_t border(const char *s, size_t n)
{
	while (n > 0 && ((unsigned char)s[n] & 0xc0) == 0x80)
		n--;
	return n;
}

static void append(struct faults *l, struct fault f)
{
	if (l->n == l->room) {
		l->room = l->room ? 2 * l->room : 8;
		l->v = xrealloc(l->v, l->room * sizeof(*l->v));
	}
	l->v[l->n++] = f;
}

/* Whether the list takes another one. The first one that it does not take is told of. */
static bool has_room(struct faults *l)
{
	if (l->n < FAULTS_MAX)
		return true;
	if (l->n == FAULTS_MAX)
		append(l, (struct fault){ .rule = too_many,
					  .path = xstrdup("spec"),
					  .values = xstrdup(""),
					  .message = xstrdup("more is wrong than is listed here; "
							     "correct these first") });
	return false;
}

printf_like(5, 0) static void add(struct faults *l, struct fault f, const char *path,
				  const char *values, const char *fmt, va_list ap)
{
	char text[MESSAGE_MAX + 4];

	if (!l || !has_room(l))
		return;
	memset(text, 0, sizeof(text));
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	if (strnlen(text, sizeof(text)) >= MESSAGE_MAX)
		text[border(text, MESSAGE_MAX - 1)] = '\0';
	make_safe(text);
	f.path = xstrdup(path);
	make_safe(f.path);
	f.values = xstrdup(values);
	f.message = xstrdup(text);
	append(l, f);
}

void fault_add(struct faults *l, const char *rule, const char *path, const char *values,
	       const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add(l, (struct fault){ .rule = rule }, path, values, fmt, ap);
	va_end(ap);
}

void fault_forbid(struct faults *l, const char *rule, const char *path, const char *values,
		  const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add(l, (struct fault){ .rule = rule, .forbidden = true }, path, values, fmt, ap);
	va_end(ap);
}

static void fault_done(struct fault *f)
{
	free(f->path);
	free(f->values);
	free(f->message);
}

void faults_done(struct faults *l)
{
	for (size_t i = 0; i < l->n; i++)
		fault_done(&l->v[i]);
	free(l->v);
	*l = (struct faults)FAULTS_INIT;
}

/* Steps over "[12]" of a path; "[key]" of a map stays. */
static const char *skip_index(const char *p)
{
	const char *end = p + 1;

	if (*p != '[')
		return p;
	while (*end >= '0' && *end <= '9')
		end++;
	return *end == ']' ? end + 1 : p;
}

static bool same_path(const char *a, const char *b)
{
	for (;; a++, b++) {
		a = skip_index(a);
		b = skip_index(b);
		if (*a != *b)
			return false;
		if (!*a)
			return true;
	}
}

bool faults_has(const struct faults *l, const struct fault *f)
{
	for (size_t i = 0; i < l->n; i++) {
		if (str_eq(l->v[i].rule, f->rule) && same_path(l->v[i].path, f->path) &&
		    str_eq(l->v[i].values, f->values))
			return true;
	}
	return false;
}

void faults_add_all(struct faults *to, const struct faults *from)
{
	for (size_t i = 0; i < from->n; i++) {
		const struct fault *f = &from->v[i];

		if (faults_has(to, f) || !has_room(to))
			continue;
		append(to, (struct fault){ .rule = f->rule,
					   .path = xstrdup(f->path),
					   .values = xstrdup(f->values),
					   .message = xstrdup(f->message),
					   .forbidden = f->forbidden });
	}
}

void faults_ratchet(struct faults *l, const struct faults *old)
{
	size_t kept = 0;

	for (size_t i = 0; i < l->n; i++) {
		if (!str_eq(l->v[i].rule, too_many) && faults_has(old, &l->v[i]))
			fault_done(&l->v[i]);
		else
			l->v[kept++] = l->v[i];
	}
	l->n = kept;
}

enum { TAIL = 40 }; /* room for " ... and N more" */

/* Ends a text in which the line of fault i has no place. */
static void cut_text(const struct faults *l, size_t i, const char *line, size_t room,
		     struct buf *to)
{
	size_t left = l->n - i;

	if (room < TAIL)
		return;
	if (i == 0) {
		buf_add(to, line, border(line, room - TAIL));
		left--;
	}
	if (left)
		buf_printf(to, " ... and %zu more", left);
	else
		buf_puts(to, " ...");
}

void faults_text(const struct faults *l, const char *separator, size_t max, struct buf *to)
{
	size_t room = max;

	for (size_t i = 0; i < l->n; i++) {
		cleanup(freep) char *line =
			xasprintf("%s%s: %s", i ? separator : "", l->v[i].path, l->v[i].message);
		size_t n = strlen(line), after = i + 1 < l->n ? TAIL : 0;

		if (n + after > room) {
			cut_text(l, i, line, room, to);
			return;
		}
		buf_add(to, line, n);
		room -= n;
	}
}

const char *fault_value(struct fault_value *v, const char *s)
{
	enum { MOST = FAULT_VALUE_TEXT - 8 };
	size_t n;

	if (!s)
		return "nothing";
	n = strnlen(s, MOST + 1);
	if (n <= MOST)
		(void)snprintf(v->text, sizeof(v->text), "\"%s\"", s);
	else
		(void)snprintf(v->text, sizeof(v->text), "\"%.*s...\"", (int)border(s, MOST), s);
	return v->text;
}
