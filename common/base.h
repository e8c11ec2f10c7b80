/*
 * base.h - what every file uses: scope cleanup, ownership transfer, small arithmetic.
 *
 * Ownership. A pointer declared with one of the cleanup_* attributes is released when its scope
 * ends, by any way out. The only way for it to leave the scope is `return take(p)` (or `*ret =
 * take(p)`), which empties the variable. A function that returns `const T *` lends what belongs to
 * an argument; one that returns `T *` gives it away.
 *
 * Out of memory is not an error that callers handle: the x-functions below say one line and abort.
 * The kubelet starts the process again and the state of the cluster converges. Therefore nothing
 * remote may choose a size without a limit from limits.h.
 */
#ifndef COMMON_BASE_H
#define COMMON_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define cleanup(f)	  __attribute__((cleanup(f)))
#define must_use	  __attribute__((warn_unused_result))
#define printf_like(f, a) __attribute__((format(printf, f, a)))
#define no_return	  __attribute__((noreturn))

/* Moves a pointer out of a variable: its value, leaving NULL behind. */
#define take(p)                                                                                    \
	__extension__({                                                                            \
		__typeof__(p) taken_ = (p);                                                        \
		(p) = NULL;                                                                        \
		taken_;                                                                            \
	})

#define array_len(a) (sizeof(a) / sizeof((a)[0]))

/* define_cleanup(struct x *, x_free); declares x_free_cleanup, which calls x_free on what is not NULL. */
#define define_cleanup(type, free_fn)                                                              \
	static inline void free_fn##_cleanup(type *p)                                              \
	{                                                                                          \
		if (*p)                                                                            \
			free_fn(*p);                                                               \
	}                                                                                          \
	_Static_assert(true, "what takes the semicolon")

/* Memory of the caller; each aborts when there is none. Sizes are bounded by the callers. */
void *xmalloc(size_t n) must_use;
void *xcalloc(size_t count, size_t n) must_use;
void *xrealloc(void *p, size_t n) must_use;
char *xstrdup(const char *s) must_use;
char *xstrndup(const char *s, size_t n) must_use;
/* A formatted string of the caller; aborts when it would be longer than LIMIT_FORMATTED. */
char *xasprintf(const char *fmt, ...) must_use printf_like(1, 2);

/* free() for cleanup(): `cleanup(freep) char *s = ...`. Works on any pointer variable. */
void freep(void *pointer_variable);
/* close() for cleanup(): -1 is nothing. */
void closep(int *fd);

static inline bool str_eq(const char *a, const char *b)
{
	return __builtin_strcmp(a, b) == 0;
}

/* Absent and empty are the same for optional strings of the API. */
static inline bool str_empty(const char *s)
{
	return !s || !*s;
}

static inline bool str_starts(const char *s, const char *prefix)
{
	return __builtin_strncmp(s, prefix, __builtin_strlen(prefix)) == 0;
}

static inline bool str_ends(const char *s, const char *suffix)
{
	size_t n = __builtin_strlen(s), m = __builtin_strlen(suffix);

	return n >= m && __builtin_strcmp(s + n - m, suffix) == 0;
}

#endif
