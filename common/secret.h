/*
 * secret.h - a credential in memory: wiped when it is freed or replaced, and never printed (there is no function for
 * it; a log shows SECRET_TEXT in its place).
 */
#ifndef COMMON_SECRET_H
#define COMMON_SECRET_H

#include "common/base.h"

#define SECRET_TEXT "[secret]"

struct secret {
	char *v; /* with a NUL that is not counted; NULL: none */
	size_t n;
};

/* A copy of bytes; n 0: none. */
void secret_set(struct secret *s, const char *bytes, size_t n);
void secret_copy(struct secret *to, const struct secret *from);
void secret_done(struct secret *s);
/* Whether there is none. */
bool secret_empty(const struct secret *s);
/* "" when there is none. Lent. */
const char *secret_text(const struct secret *s);
/* Wipes a string that has held one, and frees it; NULL: nothing. */
void secret_free_text(char *text);
/* The same for cleanup(): `cleanup(secret_freep) char *line = ...`. */
void secret_freep(void *pointer_variable);
/*
 * Of a process that has credentials in memory, before it reads them: no core dump, no debugger, and its memory and
 * environment below /proc are root's alone.
 */
void secret_protect(void);

#endif
