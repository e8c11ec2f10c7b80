#include "common/secret.h"

#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

void secret_protect(void)
{
	const struct rlimit none = { 0, 0 };

	if (setrlimit(RLIMIT_CORE, &none) || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		abort();
}

void secret_done(struct secret *s)
{
	if (s->v)
		explicit_bzero(s->v, s->n);
	free(take(s->v));
	s->n = 0;
}

void secret_set(struct secret *s, const char *bytes, size_t n)
{
	char *copy = n ? xmalloc(n + 1) : NULL;

	if (copy) {
		memcpy(copy, bytes, n);
		copy[n] = '\0';
	}
	secret_done(s);
	s->v = copy;
	s->n = n;
}

void secret_copy(struct secret *to, const struct secret *from)
{
	secret_set(to, from->v, from->n);
}

bool secret_empty(const struct secret *s)
{
	return s->n == 0;
}

const char *secret_text(const struct secret *s)
{
	return s->v ? s->v : "";
}

void secret_free_text(char *text)
{
	if (text)
		explicit_bzero(text, strlen(text));
	free(text);
}

void secret_freep(void *pointer_variable)
{
	char *text;

	memcpy(&text, pointer_variable, sizeof(text));
	secret_free_text(text);
}
