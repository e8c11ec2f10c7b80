/*
 * patch.h - writing a JSON Patch (RFC 6902). Pure.
 *
 * A patch is built against a document: each call looks at the document as the operations so far
 * have left it, and adds what is missing only. So parents are added before their children, a value
 * that is there already gives no operation, and the same calls on the patched document give none at
 * all. Paths are arrays of member names ended by NULL; names are escaped here (`~` as `~0`, `/` as
 * `~1`). Lists are written as a whole, never element by element.
 */
#ifndef COMMON_PATCH_H
#define COMMON_PATCH_H

#include "common/base.h"
#include "common/buf.h"
#include "common/err.h"
#include "common/json.h"

struct patch {
	struct json *doc; /* the document with the operations applied; owned */
	struct json *ops; /* the array of operations; owned */
};

/* doc must be an object; it is copied. */
void patch_init(struct patch *p, const struct json *doc);
void patch_done(struct patch *p);
/*
 * Puts value (taken) at path: "add", or "replace" when something else is there. ERR_INVALID: an
 * ancestor is there and is no object; nothing is added then.
 */
int patch_set(struct patch *p, const char *const *path, struct json *value, struct err *e);
/* Removes what is at path, if anything. */
void patch_remove(struct patch *p, const char *const *path);
/* No operation is needed. */
bool patch_empty(const struct patch *p);
/* "/metadata/annotations/celld-operator.io~1defaulted" for a path. */
void patch_pointer(const char *const *path, struct buf *to);

#define patch_path(...) ((const char *const[]){ __VA_ARGS__, NULL })

#endif
