#include "common/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buf_init(struct buf *b, size_t max)
{
	*b = (struct buf)BUF_INIT(max);
}

void buf_done(struct buf *b)
{
	free(b->data);
	b->data = NULL;
	b->len = b->room = 0;
	b->overflown = false;
}

void buf_clear(struct buf *b)
{
	b->len = 0;
	b->overflown = false;
	if (b->data)
		b->data[0] = '\0';
}

bool buf_ok(const struct buf *b)
{
	return !b->overflown;
}

const char *buf_str(const struct buf *b)
{
	return b->data ? b->data : "";
}

char *buf_take(struct buf *b)
{
	char *s = b->overflown ? NULL : b->data ? b->data : xstrdup("");

	if (!s)
		free(b->data);
	b->data = NULL;
	b->len = b->room = 0;
	b->overflown = false;
	return s;
}

char *buf_room(struct buf *b, size_t n)
{
	if (b->overflown || n > b->max || b->len > b->max - n) {
		b->overflown = true;
		b->len = 0;
		if (b->data)
			b->data[0] = '\0';
		return NULL;
	}
	if (b->len + n + 1 > b->room) {
		size_t room = b->room < 64 ? 64 : b->room + b->room / 2;

		if (room < b->len + n + 1)
			room = b->len + n + 1;
		if (room - 1 > b->max)
			room = b->max + 1;
		b->data = xrealloc(b->data, room);
		b->room = room;
		b->data[b->len] = '\0';
	}
	return b->data + b->len;
}

void buf_grew(struct buf *b, size_t n)
{
	b->len += n;
	b->data[b->len] = '\0';
}

void buf_add(struct buf *b, const void *data, size_t n)
{
	char *to = buf_room(b, n);

	if (!to)
		return;
	if (n)
		memcpy(to, data, n);
	buf_grew(b, n);
}

void buf_puts(struct buf *b, const char *s)
{
	buf_add(b, s, strlen(s));
}

void buf_putc(struct buf *b, char c)
{
	buf_add(b, &c, 1);
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	int n;
	char *to;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		abort();
	to = buf_room(b, (size_t)n);
	if (!to)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(to, (size_t)n + 1, fmt, ap);
	va_end(ap);
	buf_grew(b, (size_t)n);
}

void buf_consume(struct buf *b, size_t n)
{
	if (n >= b->len) {
		buf_clear(b);
		return;
	}
	memmove(b->data, b->data + n, b->len - n);
	b->len -= n;
	b->data[b->len] = '\0';
}
