#include "cli/table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

char *table_text(const char *s)
{
	char *copy = xstrdup(s);

	for (char *c = copy; *c; c++) {
		if ((unsigned char)*c < ' ' || *c == 127)
			*c = '?';
		/* C1 controls, as UTF-8 */
		if ((unsigned char)c[0] == 0xc2 && (unsigned char)c[1] >= 0x80 &&
		    (unsigned char)c[1] < 0xa0)
			c[0] = c[1] = '?';
	}
	return copy;
}

void table_row(struct table *t, ...)
{
	const char *s;
	va_list all;
	size_t n = 0;

	if (t->n == t->room) {
		t->room = t->room ? 2 * t->room : 8;
		t->rows = xrealloc(t->rows, t->room * sizeof(*t->rows));
	}
	memset(&t->rows[t->n], 0, sizeof(*t->rows));
	va_start(all, t);
	while (n < TABLE_COLUMNS && (s = va_arg(all, const char *)))
		t->rows[t->n].cells[n++] = table_text(*s ? s : "-");
	va_end(all);
	if (!t->columns)
		t->columns = n;
	t->n++;
}

/* Characters, not bytes. */
static size_t width(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

static void print_row(const struct table *t, size_t row, const size_t *widths, FILE *to)
{
	size_t last = 0;

	for (size_t i = 0; i < t->columns; i++) {
		if (t->rows[row].cells[i])
			last = i;
	}
	for (size_t i = 0; i <= last; i++) {
		const char *s = t->rows[row].cells[i] ? t->rows[row].cells[i] : "";

		fprintf(to, "%s%*s", s, i < last ? (int)(widths[i] - width(s)) + 2 : 0, "");
	}
	fputc('\n', to);
}

void table_print(const struct table *t, int indent, FILE *to)
{
	size_t widths[TABLE_COLUMNS] = { 0 };

	for (size_t r = 0; r < t->n; r++) {
		for (size_t i = 0; i < t->columns; i++) {
			const char *s = t->rows[r].cells[i];

			if (s && width(s) > widths[i])
				widths[i] = width(s);
		}
	}
	for (size_t r = 0; r < t->n; r++) {
		fprintf(to, "%*s", indent, "");
		print_row(t, r, widths, to);
	}
}

void table_done(struct table *t)
{
	for (size_t r = 0; r < t->n; r++) {
		for (size_t i = 0; i < TABLE_COLUMNS; i++)
			free(t->rows[r].cells[i]);
	}
	free(t->rows);
	*t = (struct table){ .rows = NULL };
}
