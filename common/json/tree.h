/*
 * tree.h - makes cJSON's trees out of text that js_scan has passed. Of json.c alone.
 *
 * A node, its name and its string lie together (nodes.h). With cJSON's own reader a review of 4 KiB or 64 KiB takes a
 * quarter more instructions (`make bench-check`), and the bound on values would be a second walk. cJSON's flags for
 * borrowed text say so, so that cJSON_Delete frees each piece once; cJSON_Duplicate would leave names behind that are
 * shared, which is why there is a copy here.
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
