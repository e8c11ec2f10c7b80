/*
 * report.h - what `validate` found, for machines: JSON, or SARIF 2.1.0, from which CI services
 * annotate the lines of a change.
 */
#ifndef CLI_REPORT_H
#define CLI_REPORT_H

#include <stdio.h>

#include "cli/input.h"

struct report {
	struct json *findings; /* made by the first one */
};

/* rule NULL: a warning. path "" is the object as a whole. */
void report_add(struct report *r, const struct input_object *o, const char *rule, const char *path,
		const char *message);
/*
 * A list of {file, line, column, document, level, rule, namespace, name, path, message}; level is
 * "error" or "warning", rule is absent from a warning.
 */
void report_json(const struct report *r, FILE *to);
void report_sarif(const struct report *r, const char *version, FILE *to);
void report_done(struct report *r);

#endif
