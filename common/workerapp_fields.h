/*
 * workerapp_fields.h - the fields of a WorkerApp as a table: the names, types, defaults and values
 * of the schema (crd/workerapps.yaml), and where in struct workerapp each is kept. Read by
 * workerapp.c alone.
 */
#ifndef COMMON_WORKERAPP_FIELDS_H
#define COMMON_WORKERAPP_FIELDS_H

#include "common/workerapp.h"

enum field_kind {
	F_STRING, /* const char * */
	F_CHOICE, /* const char * out of choices */
	F_ENUM,	  /* an enum whose values are the indexes of choices */
	F_BOOL,
	F_INT,	   /* int64_t within int32 */
	F_OPT_INT, /* struct opt_int */
	F_OBJECT,  /* of no place of its own: only its type matters */
	F_SET,	   /* bool: an object is there */
	F_MAP,	   /* const struct json *: an object of strings */
	F_LIST,	   /* const struct json *: a list of objects */
	F_STRINGS, /* struct strlist */
	F_NAMES,   /* struct strlist, of a list of {name} */
	F_ENV,	   /* env and n_env */
};

struct workerapp_field {
	const char *path; /* an object's members follow it, before anything else of its parent */
	size_t under;	  /* bytes of the parent's path */
	enum field_kind kind;
	size_t at; /* in struct workerapp */
	const char *const *choices;
	const char *text; /* default of a string */
	int64_t number;	  /* default of a number, a boolean, an enum */
};

extern const struct workerapp_field workerapp_fields[];
extern const size_t workerapp_n_fields;

/* In its parent. */
static inline const char *workerapp_field_name(const struct workerapp_field *f)
{
	return f->path + f->under + 1;
}

#endif
