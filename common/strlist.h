/*
 * strlist.h - a growing list of strings of its own.
 */
#ifndef COMMON_STRLIST_H
#define COMMON_STRLIST_H

#include "common/base.h"

struct strlist {
	char **v; /* v[0] .. v[n - 1] */
	size_t n, room;
};

#define STRLIST_INIT                                                                               \
	{                                                                                          \
		.v = NULL, .n = 0, .room = 0                                                       \
	}

void strlist_done(struct strlist *l);
void strlist_add(struct strlist *l, const char *s);	  /* a copy of s */
void strlist_add_take(struct strlist *l, char *s);	  /* s becomes the list's */
bool strlist_has(const struct strlist *l, const char *s); /* exact case */
/* Adds unless it is there already. */
void strlist_add_once(struct strlist *l, const char *s);
void strlist_sort(struct strlist *l); /* bytewise */
/* Splits at sep; empty pieces are dropped, blanks around a piece too. */
void strlist_split(struct strlist *l, const char *s, char sep);
/* The pieces with sep between them; the caller's. */
char *strlist_join(const struct strlist *l, const char *sep) must_use;
bool strlist_equal(const struct strlist *a, const struct strlist *b);
void strlist_copy(struct strlist *to, const struct strlist *from);

#endif
