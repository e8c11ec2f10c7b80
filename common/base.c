#include "common/base.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/limits.h"

static no_return void out_of_memory(void)
{
	static const char line[] = "level=error msg=\"out of memory\"\n";

	if (write(STDERR_FILENO, line, sizeof(line) - 1) < 0)
		abort();
	abort();
}

void *xmalloc(size_t n)
{
	void *p = malloc(n ? n : 1);

	if (!p)
		out_of_memory();
	return p;
}

void *xcalloc(size_t count, size_t n)
{
	void *p = calloc(count ? count : 1, n ? n : 1);

	if (!p)
		out_of_memory();
	return p;
}

void *xrealloc(void *p, size_t n)
{
	void *q = realloc(p, n ? n : 1);

	if (!q)
		out_of_memory();
	return q;
}

char *xstrndup(const char *s, size_t n)
{
	size_t len = strnlen(s, n);
	char *copy = xmalloc(len + 1);

	memcpy(copy, s, len);
	copy[len] = '\0';
	return copy;
}

char *xstrdup(const char *s)
{
	return xstrndup(s, strlen(s));
}

char *xasprintf(const char *fmt, ...)
{
	char small[128], *s;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(small, sizeof(small), fmt, ap); /* most texts are short: printed once */
	va_end(ap);
	if (n < 0 || n > LIMIT_FORMATTED)
		abort();
	s = xmalloc((size_t)n + 1);
	if ((size_t)n < sizeof(small))
		return memcpy(s, small, (size_t)n + 1);
	va_start(ap, fmt);
	(void)vsnprintf(s, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return s;
}

void freep(void *pointer_variable)
{
	void *p;

	memcpy(&p, pointer_variable, sizeof(p));
	free(p);
}

/* A clean-up function gets the variable's address. */
void closep(int *fd) /* NOLINT(readability-non-const-parameter) */
{
	if (*fd >= 0)
		(void)close(*fd);
}
