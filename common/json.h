/*
 * json.h - JSON values. The only way by which a document enters the program, and the only user of
 * cJSON.
 *
 * Reading: json_parse() makes one strict pass first (json_scan.h: whole input, RFC 8259, UTF-8, no
 * duplicate names, no \u0000, depth <= LIMIT_JSON_DEPTH) and builds a tree of what passed. Names
 * are compared in exact case. Absence is a value: every reading function accepts NULL (an absent
 * value) and answers "absent". Numbers: an integer is integral and within +-2^53, or it is no
 * integer (json_int says false); so 2.7 never becomes 2.
 *
 * Writing: constructors below; json_set() of NULL sets nothing, so absent optionals stay absent in
 * one place, and explicit zeros stay. json_print_sorted() is the canonical form for digests and
 * golden files.
 *
 * Ownership: a `struct json *` from a constructor, json_parse, json_dup, json_take is the caller's:
 * json_free() it, or hand it to json_set/json_add, which take it. `const struct json *` is lent by
 * the tree it lies in.
 */
#ifndef COMMON_JSON_H
#define COMMON_JSON_H

#include "common/base.h"
#include "common/err.h"

struct buf;
struct json; /* opaque */

enum json_kind {
	JSON_ABSENT, /* a NULL pointer */
	JSON_NULL,
	JSON_BOOL,
	JSON_NUMBER,
	JSON_STRING,
	JSON_ARRAY,
	JSON_OBJECT,
};

/* text[0..len) needs no terminator. ERR_INVALID: "offset 17: duplicate member name". ERR_TOO_LARGE:
 * 2 GiB and over. */
int json_parse(const char *text, size_t len, struct json **ret, struct err *e);
/*
 * The same without the pass, for one value inside a text that js_scan has passed: nothing but the value is read.
 * ERR_INVALID: a number that is too large, or LIMIT_REVIEW_VALUES values, because a tree takes up to forty times the
 * bytes of its text.
 */
int json_build(const char *text, struct json **ret, struct err *e);
void json_free(struct json *j);
define_cleanup(struct json *, json_free);
#define cleanup_json cleanup(json_free_cleanup)

/* --- reading; NULL is an absent value --------------------------------------------------------- */

enum json_kind json_kind(const struct json *j);
/* "string", "object" ... for messages */
const char *json_kind_text(enum json_kind kind);
/* Member of an object, or NULL (also when j is no object). */
const struct json *json_get(const struct json *j, const char *name);
/* Along members: json_path(j, "spec", "celld", "image", NULL). */
const struct json *json_path(const struct json *j, ...) __attribute__((sentinel));
/* "spec.celld.image": for names without dots. */
const struct json *json_at_path(const struct json *j, const char *dotted);
struct json *json_get_mutable(struct json *j, const char *name);
size_t json_len(const struct json *j);			      /* members or elements */
const struct json *json_item(const struct json *j, size_t i); /* O(i); prefer the walk below */
/* for (c = json_first(j); c; c = json_next(c)) - members in document order or elements;
 * json_name(c): a member's name. */
const struct json *json_first(const struct json *j);
const struct json *json_next(const struct json *j);
struct json *json_first_mutable(struct json *j);
struct json *json_next_mutable(struct json *j);
const char *json_name(const struct json *j);

/* The string, or NULL when j is none. */
const char *json_str(const struct json *j);
/* The string member, or NULL when absent or no string. An empty string stays "". */
const char *json_get_str(const struct json *j, const char *name);
/* Is the member that string? */
bool json_is(const struct json *j, const char *name, const char *value);
/*
 * The first object of an array with that string member: the condition of a type, the container of a name. NULL: none.
 */
const struct json *json_find(const struct json *array, const char *name, const char *value);
/* False (ret untouched) unless j is an integer. */
bool json_int(const struct json *j, int64_t *ret);
bool json_get_int(const struct json *j, const char *name, int64_t *ret);
/* False (ret untouched) unless j is a boolean. */
bool json_bool(const struct json *j, bool *ret);
/* The boolean member; fallback when it is absent or none. */
bool json_get_bool(const struct json *j, const char *name, bool fallback);
bool json_number(const struct json *j, double *ret);

/* Objects regardless of the order of their members; numbers by value. Two absent values are equal. */
bool json_equal(const struct json *a, const struct json *b);

/* --- making ----------------------------------------------------------------------------------- */

struct json *json_new_object(void) must_use;
struct json *json_new_array(void) must_use;
struct json *json_new_null(void) must_use;
struct json *json_new_bool(bool b) must_use;
struct json *json_new_int(int64_t i) must_use;
struct json *json_new_number(double d) must_use;
struct json *json_new_str(const char *s) must_use;
struct json *json_dup(const struct json *j) must_use;

/* Takes value and puts it at obj.name, in the place of an older one. NULL value: nothing happens. */
void json_set(struct json *obj, const char *name, struct json *value);
/* The same for a name that obj is known not to have: no search. */
void json_add_member(struct json *obj, const char *name, struct json *value);
void json_set_str(struct json *obj, const char *name,
		  const char *s); /* NULL or "": nothing happens */
void json_set_str_always(struct json *obj, const char *name, const char *s);
void json_set_int(struct json *obj, const char *name, int64_t i);
void json_set_bool(struct json *obj, const char *name, bool b);
/* The object at obj.name, made when absent (or when something else is there); lent. */
struct json *json_object_at(struct json *obj, const char *name);
struct json *json_array_at(struct json *obj, const char *name);
void json_add(struct json *array, struct json *value); /* takes; NULL: nothing happens */
void json_add_str(struct json *array, const char *s);
/* Removes obj.name and gives it to the caller; NULL when it is not there. */
struct json *json_take(struct json *obj, const char *name);
void json_del(struct json *obj, const char *name);

/* --- printing: compact, valid UTF-8 in and out, integers as integers -------------------------- */

void json_print(const struct json *j, struct buf *to);
void json_print_sorted(const struct json *j, struct buf *to); /* members by name, bytewise */
char *json_text(const struct json *j) must_use;		      /* the caller's */
char *json_text_sorted(const struct json *j) must_use;
/* s as a JSON string with quotes; bytes that are no UTF-8 become U+FFFD. */
void json_print_str(const char *s, struct buf *to);

#endif
