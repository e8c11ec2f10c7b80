#include "webhook/review_body.h"

#include <stdio.h>
#include <string.h>

#include "common/workerapp.h"

/* The parts of an object, counted from its own slot. */
enum part {
	OBJ,
	OBJ_API,
	OBJ_KIND,
	OBJ_SPEC,
	OBJ_META,
	META_NAME,
	META_GENERATE,
	META_NAMESPACE,
	META_UID,
	META_GENERATION,
	META_CREATED,
	META_DELETED,
	META_LABELS,
	META_ANNOTATIONS,
	ANNOTATED_ACK,
	ANNOTATED_DEFAULTED,
	OBJ_STATUS,
	STATUS_VERSIONS,
	PARTS,
};

_Static_assert(REVIEW_OBJECT_SPEC == REVIEW_OBJECT + OBJ_SPEC, "the order of an object's parts");
_Static_assert(REVIEW_OLD == REVIEW_OBJECT + PARTS, "one object after the other");
_Static_assert(REVIEW_SLOTS == REVIEW_OLD + PARTS, "one object after the other");

enum { OBJECT_NODE = 12, OLD_NODE = 29, OBJECT_NODES = 17 };

/* at: the object's first child in the table below. */
#define OBJECT_NODES_OF(slot, at)                                                                  \
	JS_NODE("apiVersion", (slot) + OBJ_API, 0, 0), JS_NODE("kind", (slot) + OBJ_KIND, 0, 0),   \
		JS_NODE("spec", (slot) + OBJ_SPEC, 0, 0),                                          \
		JS_NODE("metadata", (slot) + OBJ_META, (at) + 5, 9),                               \
		JS_NODE("status", (slot) + OBJ_STATUS, (at) + 14, 1),                              \
		JS_NODE("name", (slot) + META_NAME, 0, 0),                                         \
		JS_NODE("generateName", (slot) + META_GENERATE, 0, 0),                             \
		JS_NODE("namespace", (slot) + META_NAMESPACE, 0, 0),                               \
		JS_NODE("uid", (slot) + META_UID, 0, 0),                                           \
		JS_NODE("generation", (slot) + META_GENERATION, 0, 0),                             \
		JS_NODE("creationTimestamp", (slot) + META_CREATED, 0, 0),                         \
		JS_NODE("deletionTimestamp", (slot) + META_DELETED, 0, 0),                         \
		JS_NODE("labels", (slot) + META_LABELS, 0, 0),                                     \
		JS_NODE("annotations", (slot) + META_ANNOTATIONS, (at) + 15, 2),                   \
		JS_NODE("celldVersions", (slot) + STATUS_VERSIONS, 0, 0),                          \
		JS_NODE(ANNOTATION_ACK, (slot) + ANNOTATED_ACK, 0, 0),                             \
		JS_NODE(ANNOTATION_DEFAULTED, (slot) + ANNOTATED_DEFAULTED, 0, 0)

static const js_node paths[] = {
	JS_NODE("", -1, 1, 3),
	JS_NODE("apiVersion", REVIEW_API_VERSION, 0, 0),
	JS_NODE("kind", REVIEW_KIND, 0, 0),
	JS_NODE("request", REVIEW_REQUEST, 4, 8),
	JS_NODE("uid", REVIEW_UID, 0, 0),
	JS_NODE("operation", REVIEW_OPERATION, 0, 0),
	JS_NODE("subResource", REVIEW_SUBRESOURCE, 0, 0),
	JS_NODE("name", REVIEW_NAME, 0, 0),
	JS_NODE("namespace", REVIEW_NAMESPACE, 0, 0),
	JS_NODE("kind", REVIEW_REQUEST_KIND, 0, 0),
	JS_NODE("object", REVIEW_OBJECT, OBJECT_NODE, 5),
	JS_NODE("oldObject", REVIEW_OLD, OLD_NODE, 5),
	OBJECT_NODES_OF(REVIEW_OBJECT, OBJECT_NODE),
	OBJECT_NODES_OF(REVIEW_OLD, OLD_NODE),
};

_Static_assert(OLD_NODE == OBJECT_NODE + OBJECT_NODES, "the nodes of both objects");
_Static_assert(sizeof(paths) / sizeof(paths[0]) == OLD_NODE + OBJECT_NODES, "no node too many");

js_err review_body_read(struct review_body *b, js_ctx *scan, const char *text, size_t len,
			size_t *at)
{
	b->text = text;
	return js_scan(scan, text, len, paths, b->span, REVIEW_SLOTS, at);
}

char review_body_type(const struct review_body *b, enum review_slot s)
{
	if (!b->span[s].len)
		return '\0';
	return b->text[b->span[s].off];
}

bool review_body_text(const struct review_body *b, enum review_slot s, char *text, size_t room)
{
	char whole[400];
	size_t n;

	text[0] = '\0';
	if (review_body_type(b, s) != '"')
		return false;
	n = b->span[s].len > sizeof(whole) ? room : js_unescape(b->text, b->span[s], whole);
	if (n >= room) {
		(void)snprintf(text, room, "(too long)");
		return true;
	}
	memcpy(text, whole, n);
	text[n] = '\0';
	return true;
}

static int build(const struct review_body *b, int slot, struct json **ret, struct err *e)
{
	js_span s = b->span[slot];

	*ret = NULL;
	return s.len ? json_build(b->text + s.off, ret, e) : 0;
}

struct json *review_body_value(const struct review_body *b, enum review_slot s)
{
	struct err e = ERR_INIT;
	struct json *v = NULL;

	(void)build(b, s, &v, &e);
	return v;
}

/* A member that is an object and of which some members alone are wanted. Anything else is copied whole. */
static int add_container(const struct review_body *b, int slot, const char *name,
			 struct json *parent, struct json **ret, struct err *e)
{
	struct json *v = NULL;
	int r;

	*ret = NULL;
	if (review_body_type(b, (enum review_slot)slot) == '{') {
		*ret = json_new_object();
		json_add_member(parent, name, *ret);
		return 0;
	}
	r = build(b, slot, &v, e);
	if (!r)
		json_add_member(parent, name, v);
	return r;
}

static int add_parts(const struct review_body *b, int slot, int first, int end, struct json *parent,
		     struct err *e)
{
	static const char *const names[PARTS] = {
		[OBJ_API] = "apiVersion",
		[OBJ_KIND] = "kind",
		[OBJ_SPEC] = "spec",
		[META_NAME] = "name",
		[META_GENERATE] = "generateName",
		[META_NAMESPACE] = "namespace",
		[META_UID] = "uid",
		[META_GENERATION] = "generation",
		[META_CREATED] = "creationTimestamp",
		[META_DELETED] = "deletionTimestamp",
		[META_LABELS] = "labels",
		[ANNOTATED_ACK] = ANNOTATION_ACK,
		[ANNOTATED_DEFAULTED] = ANNOTATION_DEFAULTED,
		[STATUS_VERSIONS] = "celldVersions",
	};

	for (int i = first; i < end; i++) {
		struct json *v = NULL;
		int r = build(b, slot + i, &v, e);

		if (r)
			return r;
		json_add_member(parent, names[i], v);
	}
	return 0;
}

static int add_metadata(const struct review_body *b, int at, struct json *metadata, struct err *e)
{
	struct json *annotations;
	int r = add_parts(b, at, META_NAME, META_ANNOTATIONS, metadata, e);

	if (!r)
		r = add_container(b, at + META_ANNOTATIONS, "annotations", metadata, &annotations,
				  e);
	if (!r && annotations)
		r = add_parts(b, at, ANNOTATED_ACK, OBJ_STATUS, annotations, e);
	return r;
}

int review_body_tree(const struct review_body *b, enum review_slot object, struct json **ret,
		     struct err *e)
{
	cleanup_json struct json *tree = json_new_object();
	struct json *metadata, *status;
	int at = (int)object, r;

	r = add_parts(b, at, OBJ_API, OBJ_META, tree, e);
	if (!r)
		r = add_container(b, at + OBJ_META, "metadata", tree, &metadata, e);
	if (!r && metadata)
		r = add_metadata(b, at, metadata, e);
	if (!r)
		r = add_container(b, at + OBJ_STATUS, "status", tree, &status, e);
	if (!r && status)
		r = add_parts(b, at, STATUS_VERSIONS, PARTS, status, e);
	if (r)
		return r;
	*ret = take(tree);
	return 0;
}
