/*
 * review_body.h - an AdmissionReview's body: where its parts lie, after the one strict pass over all of it. Pure.
 *
 * Trees are built of what somebody reads and of nothing else: of an object its kind, the members of metadata that
 * rules ask for (of annotations those of ours), spec, and of status the running versions. managedFields, foreign
 * annotations and the rest of status, which make up most of a large object, stay text.
 */
#ifndef WEBHOOK_REVIEW_BODY_H
#define WEBHOOK_REVIEW_BODY_H

#include "common/err.h"
#include "common/json.h"
#include "common/json_scan.h"

enum review_slot {
	REVIEW_API_VERSION,
	REVIEW_KIND,
	REVIEW_REQUEST,
	REVIEW_UID,
	REVIEW_OPERATION,
	REVIEW_SUBRESOURCE,
	REVIEW_NAME,
	REVIEW_NAMESPACE,
	REVIEW_REQUEST_KIND,
	/* The same parts of each object, in the same order: see review_body_tree. */
	REVIEW_OBJECT,
	REVIEW_OBJECT_SPEC = REVIEW_OBJECT + 3,
	REVIEW_OLD = REVIEW_OBJECT + 18,
	REVIEW_OLD_SPEC = REVIEW_OLD + 3,
	REVIEW_SLOTS = REVIEW_OLD + 18,
};

struct review_body {
	const char *text; /* lent */
	js_span span[REVIEW_SLOTS];
};

/*
 * The pass; text[0..len) must be followed by JS_PAD zero bytes and outlive b. Not JS_OK: *at is the offset of what is
 * wrong.
 */
js_err review_body_read(struct review_body *b, js_ctx *scan, const char *text, size_t len,
			size_t *at);

/* The first byte of the part, which tells its type; '\0': absent. */
char review_body_type(const struct review_body *b, enum review_slot s);
/*
 * The part as a string; false: it is none. What does not fit into room (and what is longer than some hundreds of bytes)
 * becomes "(too long)", which equals nothing that anybody asks for.
 */
bool review_body_text(const struct review_body *b, enum review_slot s, char *text, size_t room);
/* The part as a tree, the caller's; NULL: absent. */
struct json *review_body_value(const struct review_body *b, enum review_slot s);
/*
 * The tree of REVIEW_OBJECT or REVIEW_OLD, which must be an object; the caller's. ERR_INVALID: a number in it cannot be
 * represented.
 */
int review_body_tree(const struct review_body *b, enum review_slot object, struct json **ret,
		     struct err *e);

#endif
