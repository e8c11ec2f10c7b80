#include "common/strlist.h"

#include <stdlib.h>
#include <string.h>

void strlist_done(struct strlist *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->v[i]);
	free(l->v);
	*l = (struct strlist)STRLIST_INIT;
}

void strlist_add_take(struct strlist *l, char *s)
{
	if (l->n == l->room) {
		l->room = l->room ? l->room * 2 : 8;
		l->v = xrealloc(l->v, l->room * sizeof(*l->v));
	}
	l->v[l->n++] = s;
}

void strlist_add(struct strlist *l, const char *s)
{
	strlist_add_take(l, xstrdup(s));
}

bool strlist_has(const struct strlist *l, const char *s)
{
	for (size_t i = 0; i < l->n; i++) {
		if (str_eq(l->v[i], s))
			return true;
	}
	return false;
}

void strlist_add_once(struct strlist *l, const char *s)
{
	if (!strlist_has(l, s))
		strlist_add(l, s);
}

static int by_bytes(const void *a, const void *b)
{
	const char *const *x = a;
	const char *const *y = b;

	return strcmp(*x, *y);
}

void strlist_sort(struct strlist *l)
{
	if (l->n > 1)
		qsort(l->v, l->n, sizeof(*l->v), by_bytes);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

void strlist_split(struct strlist *l, const char *s, char sep)
{
	while (*s) {
		const char *end = strchr(s, sep);
		size_t n = end ? (size_t)(end - s) : strlen(s);
		const char *next = end ? end + 1 : s + n;

		while (n && is_blank(*s)) {
			s++;
			n--;
		}
		while (n && is_blank(s[n - 1]))
			n--;
		if (n)
			strlist_add_take(l, xstrndup(s, n));
		s = next;
	}
}

char *strlist_join(const struct strlist *l, const char *sep)
{
	size_t total = 1, at = 0, m = strlen(sep);
	char *s;

	for (size_t i = 0; i < l->n; i++)
		total += strlen(l->v[i]) + m;
	s = xmalloc(total);
	for (size_t i = 0; i < l->n; i++) {
		size_t n = strlen(l->v[i]);

		if (i) {
			memcpy(s + at, sep, m);
			at += m;
		}
		memcpy(s + at, l->v[i], n);
		at += n;
	}
	s[at] = '\0';
	return s;
}

bool strlist_equal(const struct strlist *a, const struct strlist *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++) {
		if (!str_eq(a->v[i], b->v[i]))
			return false;
	}
	return true;
}

void strlist_copy(struct strlist *to, const struct strlist *from)
{
	for (size_t i = 0; i < from->n; i++)
		strlist_add(to, from->v[i]);
}
