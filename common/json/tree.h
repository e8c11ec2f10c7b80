/*
 * tree.h - makes cJSON's trees out of text that js_scan has passed. Of json.c alone.
 *
 * A node, its name and its string are one piece of memory: less than half of what cJSON's own reader takes and a
 * third of its time. cJSON's flags for borrowed text say so, so that cJSON_Delete frees each piece once; cJSON_Duplicate
 * would leave names behind that are shared, which is why there is a copy here.
 */
#ifndef COMMON_JSON_TREE_H
#define COMMON_JSON_TREE_H

#include <cjson/cJSON.h>

#include "common/base.h"

/*
 * text: one value that js_scan has passed, within a text that goes on with a delimiter or a NUL. Returns what is wrong
 * with it, NULL: nothing, and cJSON_Delete frees the tree. Wrong are a number that is too large for a double, and max
 * values or more.
 */
const char *tree_build(const char *text, size_t max, cJSON **ret) must_use;
cJSON *tree_copy(const cJSON *c) must_use;

#endif
