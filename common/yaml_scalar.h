/*
 * yaml_scalar.h - what a plain YAML scalar is: the rules of yaml.h, for its reader and its printer.
 */
#ifndef COMMON_YAML_SCALAR_H
#define COMMON_YAML_SCALAR_H

#include "common/base.h"
#include "common/json.h"

struct yaml_scalar {
	enum json_kind kind; /* JSON_NULL, JSON_BOOL, JSON_NUMBER or JSON_STRING */
	bool b;
	bool is_int; /* a number written as an integer */
	bool fits;   /* of is_int: i is exact (int64) */
	bool finite; /* of a number: false for .inf and .nan */
	int64_t i;
	double number;
};

struct yaml_scalar yaml_scalar_of(const char *s);

#endif
