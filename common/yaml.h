/*
 * yaml.h - YAML as Kubernetes' own reader takes it, into the values of json.h; and a printer.
 *
 * Reading follows sigs.k8s.io/yaml (what kubectl and client-go use), because a manifest must mean
 * here what it means there. Checked against it, scalar by scalar:
 *  - plain y/yes/on/true and n/no/off/false (each in lower, Capital and UPPER case) are booleans,
 *    the empty scalar, ~ and null are null; 0x1f, 0o17, 017, 0b101, 1_000 are integers, 12e5 and .5
 *    are numbers; 08, which is no octal, is the number 8; a number that overflows a double, a date
 *    and 12:30 are strings;
 *  - names of members become strings: an integer in decimal, a boolean as true/false;
 *  - aliases are expanded, `<<` merges.
 * Refused here although taken there, because the document would be ambiguous or not what it looks
 * like: duplicate names, a `<<` that would replace a member given before it, names that are null,
 * floats, lists or objects, tags other than the core ones, NUL characters. .inf and .nan are no
 * JSON and refused by both.
 *
 * Bounds: LIMIT_JSON_DEPTH levels, LIMIT_YAML_NODES nodes with aliases expanded (a "billion laughs"
 * is refused before it is built), LIMIT_MANIFEST_FILE bytes.
 *
 * JSON is accepted: a text that begins with '{' or '[' and is one strict JSON value (json.h) is that
 * value; it has places unless YAML cannot read it (surrogate pairs, long names).
 */
#ifndef COMMON_YAML_H
#define COMMON_YAML_H

#include "common/base.h"
#include "common/err.h"

struct buf;
struct json;
struct yaml_places; /* opaque: where each value stands */

struct yaml_doc {
	struct json *value; /* the document's; never a JSON null */
	size_t line;	    /* of its first value, from 1 */
	struct yaml_places *places;
};

struct yaml_docs {
	struct yaml_doc *v;
	size_t n;
};

#define YAML_DOCS_INIT                                                                             \
	{                                                                                          \
		.v = NULL, .n = 0                                                                  \
	}

/* Line and column, both from 1. */
struct yaml_place {
	size_t line, col;
};

/*
 * Reads all documents of text[0..len); empty and null ones are left out, so *ret may hold none. On
 * success *ret is the caller's: yaml_docs_done(). ERR_INVALID "line 3: duplicate name 'a'",
 * ERR_TOO_LARGE when a bound is passed.
 */
int yaml_parse(const char *text, size_t len, struct yaml_docs *ret, struct err *e);
void yaml_docs_done(struct yaml_docs *docs);
/* For files that are one document: ERR_INVALID when there is none, or more than one. */
int yaml_parse_one(const char *text, size_t len, struct yaml_doc *ret, struct err *e);
void yaml_doc_done(struct yaml_doc *doc);

/*
 * Where the value of a path stands: the place of its name, of an element's first character. Paths
 * are those of fault messages: "spec.bucket.name", "spec.env[0].name",
 * "metadata.annotations[example.com/x]". True: the path exists. Otherwise *ret is the place of the
 * deepest part that does.
 */
bool yaml_where(const struct yaml_doc *doc, const char *path, struct yaml_place *ret);

/*
 * Prints j as one block-style document: names sorted bytewise, lists not indented below their name,
 * a string quoted (double) whenever it would not read back as the same string by the rules above or
 * those of YAML 1.2. The same value always gives the same bytes. No "---" in front.
 */
void yaml_print(const struct json *j, struct buf *to);

#endif
