#include "common/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/utf8.h"

/* Also a character that was cut at the end of the room. */
static void make_safe(char *s)
{
	while (*s) {
		size_t n = utf8_char(s);

		if (!n || (unsigned char)*s < 0x20 || *s == 0x7f) {
			*s = '?';
			n = 1;
		}
		s += n;
	}
}

static void reset(struct err *e, enum err_code code)
{
	e->code = code;
	e->http_status = 0;
	e->retry_after_ms = 0;
	e->field[0] = '\0';
}

int err_set(struct err *e, enum err_code code, const char *fmt, ...)
{
	va_list ap;
	char text[sizeof(e->message)];

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	reset(e, code);
	memcpy(e->message, text, sizeof(text));
	make_safe(e->message);
	return -(int)code;
}

int err_field(struct err *e, enum err_code code, const char *field, const char *fmt, ...)
{
	va_list ap;
	char text[sizeof(e->message)], path[sizeof(e->field)];

	/* field may be e's own, and arguments may lie in its message. */
	(void)snprintf(path, sizeof(path), "%s", field);
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	reset(e, code);
	memcpy(e->message, text, sizeof(text));
	make_safe(e->message);
	memcpy(e->field, path, sizeof(path));
	make_safe(e->field);
	return -(int)code;
}

static enum err_code code_of_errno(int errnum)
{
	switch (errnum) {
	case ENOENT:
	case ENOTDIR:
		return ERR_NOT_FOUND;
	case EACCES:
	case EPERM:
		return ERR_FORBIDDEN;
	case EEXIST:
		return ERR_EXISTS;
	case ETIMEDOUT:
		return ERR_TIMEOUT;
	case ENOMEM:
		return ERR_NOMEM;
	case EFBIG:
		return ERR_TOO_LARGE;
	default:
		return ERR_UNAVAILABLE;
	}
}

int err_errno(struct err *e, int errnum, const char *fmt, ...)
{
	va_list ap;
	char text[sizeof(e->message) / 2];
	char reason[128];

	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return err_set(e, code_of_errno(errnum), "%s: %s", text,
		       strerror_r(errnum, reason, sizeof(reason)));
}

int err_wrap(struct err *e, const char *fmt, ...)
{
	va_list ap;
	char text[sizeof(e->message) / 2];
	char old[sizeof(e->message)];

	memcpy(old, e->message, sizeof(old));
	va_start(ap, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (snprintf(e->message, sizeof(e->message), "%s: %s", text, old) < 0)
		e->message[0] = '\0';
	make_safe(e->message);
	return -(int)e->code;
}

const char *err_text(enum err_code code)
{
	switch (code) {
	case ERR_NONE:
		return "no error";
#define ERR(name, text)                                                                            \
	case ERR_##name:                                                                           \
		return text;
#include "common/err.def"
#undef ERR
	}
	return "unknown error";
}
