/*
 * flags.h - command lines from a table: parsing, --help and the reference in docs/ come from the
 * same rows.
 *
 * Accepted: --name value, --name=value, --name (booleans: true), --name=false, --no-name
 * (booleans); "--" ends the flags; short names are given as .letter. A bad flag names the flag, the
 * value and what would be right; the program then exits 2. A row whose value was not given gets its
 * fallback, by the same parser, so that a fallback is checked too.
 */
#ifndef COMMON_FLAGS_H
#define COMMON_FLAGS_H

#include <stdio.h>

#include "common/base.h"
#include "common/err.h"

enum flag_kind {
	FLAG_BOOL,     /* bool */
	FLAG_INT,      /* int64_t within min .. max */
	FLAG_DURATION, /* int64_t milliseconds within min .. max: "15s" "250ms" "1m30s" "2h" */
	FLAG_STRING,   /* const char *: lent by argv or by the row */
	FLAG_LIST,     /* struct strlist: values may be given several times, and comma-separated */
	FLAG_CHOICE,   /* const char * out of choices */
};

struct flag {
	const char *name; /* without dashes */
	char letter;	  /* 0: none */
	enum flag_kind kind;
	void *to;		    /* of the kind's type */
	const char *fallback;	    /* NULL: leave *to as it is; lists: none */
	int64_t min, max;	    /* both 0: not bounded */
	const char *const *choices; /* ended by NULL */
	const char *placeholder;    /* "FILE", "HOST:PORT"; NULL: by kind */
	const char *help;	    /* one sentence without a full stop */
};

/*
 * Sets every row's value from argv[1..]. Arguments that are no flags are moved behind the flags, in
 * their order; *ret_rest is the index of the first of them (argc: there is none). ERR_INVALID:
 * e->field is the flag ("--workers").
 */
int flags_parse(const struct flag *table, size_t n, int argc, char **argv, int *ret_rest,
		struct err *e);
/* The rows as text, for --help. */
void flags_help(const struct flag *table, size_t n, FILE *to);
/* Parses a duration; false: it is none. */
bool flags_duration(const char *s, int64_t *ret_ms);

#endif
