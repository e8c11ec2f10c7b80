/*
 * buf.h - a growing byte buffer with a maximum.
 *
 * Invariant: data is NUL-terminated whenever it is not NULL; buf_str() never returns NULL. An
 * append that would pass the maximum marks the buffer as overflown, drops what it had and every
 * later append; so a chain of appends needs one question at its end: buf_ok(). A buffer may be used
 * again after buf_clear().
 */
#ifndef COMMON_BUF_H
#define COMMON_BUF_H

#include "common/base.h"

struct buf {
	char *data;
	size_t len, room, max;
	bool overflown;
};

/* max: the largest length, without the NUL. */
#define BUF_INIT(maximum)                                                                          \
	{                                                                                          \
		.data = NULL, .len = 0, .room = 0, .max = (maximum), .overflown = false            \
	}

void buf_init(struct buf *b, size_t max);
void buf_done(struct buf *b);  /* frees the contents */
void buf_clear(struct buf *b); /* empty again; keeps the memory */
bool buf_ok(const struct buf *b);
const char *buf_str(const struct buf *b);
/* Gives the text to the caller and leaves the buffer empty; NULL when it had overflown. */
char *buf_take(struct buf *b) must_use;

void buf_add(struct buf *b, const void *data, size_t n);
void buf_puts(struct buf *b, const char *s);
void buf_putc(struct buf *b, char c);
void buf_printf(struct buf *b, const char *fmt, ...) printf_like(2, 3);
/* Makes room for n more bytes and returns where to write them (NULL: over the maximum); then
 * buf_grew. */
char *buf_room(struct buf *b, size_t n);
void buf_grew(struct buf *b, size_t n);
/* Drops the first n bytes. */
void buf_consume(struct buf *b, size_t n);

#endif
