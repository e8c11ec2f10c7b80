/*
 * table.h - rows of texts under each other, for terminals: columns as wide as they need be, two blanks between, no
 * blanks at the end of a line. What comes from a cluster cannot move the cursor: control characters are shown as '?'.
 */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include <stdio.h>

#include "common/base.h"

enum { TABLE_COLUMNS = 10 };

struct table {
	struct {
		char *cells[TABLE_COLUMNS];
	} * rows;
	size_t n, room, columns;
};

/* A row of texts, copied, up to a NULL at the end of the arguments; the first row has as many as there are columns,
 * later ones at most that. "" is shown as "-". */
void table_row(struct table *t, ...) __attribute__((sentinel));
/* indent: blanks before each line. */
void table_print(const struct table *t, int indent, FILE *to);
void table_done(struct table *t);
/* A text as it may be shown. The caller's. */
char *table_text(const char *s) must_use;

#endif
