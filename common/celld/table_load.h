/*
 * table_load.h - reads celld.yaml (its form is described there) into the plain data of table.h.
 */
#ifndef COMMON_CELLD_TABLE_LOAD_H
#define COMMON_CELLD_TABLE_LOAD_H

#include "common/celld/table.h"
#include "common/err.h"

/*
 * origin: the name of the text in messages. ERR_INVALID "celld.yaml:17: facts[2].until: ..." for
 * text that is no YAML, unknown or missing keys, wrong types, versions that do not ascend, ranges
 * with gaps, a change of minor without a boundary; ERR_TOO_LARGE for more rows than table.h has
 * room for. *ret is written on success only.
 */
int celld_table_load(const char *text, size_t len, const char *origin, struct celld_table *ret,
		     struct err *e);

/* The table that was compiled in. Lives forever, from any thread. */
const struct celld_table *celld_table_builtin(void);

#endif
