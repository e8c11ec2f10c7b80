/*
 * err.h - how functions fail.
 *
 * A function that can fail returns int: 0, or a negated code (-ERR_NOT_FOUND). Its last parameter
 * is the caller's struct err, which is written on failure only. It holds no allocation and may be
 * copied.
 *
 * Wrapping goes outward: err_wrap(e, "reading %s", path) makes "reading PATH: what was there".
 */
#ifndef COMMON_ERR_H
#define COMMON_ERR_H

#include "common/base.h"

enum err_code {
	ERR_NONE = 0,
#define ERR(name, text) ERR_##name,
#include "common/err.def"
#undef ERR
};

struct err {
	enum err_code code;
	int http_status;    /* of an answer, 0: there was none */
	int retry_after_ms; /* what a server asked for, 0: nothing */
	char field[256];    /* path of the value at fault ("spec.bucket.name"), or "" */
	char message[512];  /* one line for people, without trailing full stop */
};

#define ERR_INIT                                                                                   \
	{                                                                                          \
		.code = ERR_NONE                                                                   \
	}

/* Fills e and returns -code. Control characters of the text become '?', so that it is one safe
 * line. */
int err_set(struct err *e, enum err_code code, const char *fmt, ...) printf_like(3, 4);
/* The same for a value of a document; field is copied. */
int err_field(struct err *e, enum err_code code, const char *field, const char *fmt, ...)
	printf_like(4, 5);
/* From errno, as it stands when called: "TEXT: No such file or directory". */
int err_errno(struct err *e, int errnum, const char *fmt, ...) printf_like(3, 4);
/* Puts "TEXT: " before the message and returns the negated code again. */
int err_wrap(struct err *e, const char *fmt, ...) printf_like(2, 3);
/* "not found" for ERR_NOT_FOUND. Lives forever. */
const char *err_text(enum err_code code);

#endif
