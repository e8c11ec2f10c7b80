/*
 * input.h - the manifests that a command of kubectl-celld is given: YAML or JSON, files or standard input, several
 * documents, lists of objects.
 */
#ifndef CLI_INPUT_H
#define CLI_INPUT_H

#include <stdio.h>

#include "common/base.h"
#include "common/err.h"
#include "common/strlist.h"
#include "common/yaml.h"

struct json;

/* Exit statuses of every command. */
enum { EXIT_FINE, EXIT_REFUSED, EXIT_USAGE };

struct input_object {
	struct json *value;	    /* owned */
	const char *file;	    /* lent by the list of files */
	size_t document;	    /* in its file, from 1 */
	const struct yaml_doc *doc; /* lent by the input */
	size_t item;		    /* in the list that doc is; SIZE_MAX: doc is the object */
};

struct input {
	struct input_object *v;
	size_t n, room;
	struct yaml_docs **read; /* one for each file */
	size_t n_read;
};

#define INPUT_INIT                                                                                 \
	{                                                                                          \
		.v = NULL, .n = 0, .room = 0, .read = NULL, .n_read = 0                            \
	}

/*
 * Adds the objects of a file, in order; "-" is stdin. An object of kind List (or FooList) counts as its items. On
 * failure nothing is added: ERR_NOT_FOUND and such for the file, ERR_INVALID "FILE: line 3: ...".
 */
int input_read(struct input *in, const char *file, FILE *stdin_, struct err *e);
void input_done(struct input *in);
/* The namespace that the command line gives to a document that names none, as kubectl does. */
void input_give_namespace(struct json *doc, const char *namespace);
/* The line and column, from 1, of a fault's path in the object's file; of the nearest thing around it. */
void input_where(const struct input_object *o, const char *path, struct yaml_place *ret);

#endif
