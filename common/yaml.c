#include "common/yaml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "common/json.h"
#include "common/limits.h"
#include "common/map.h"
#include "common/yaml_places.h"
#include "common/yaml_scalar.h"

enum { MAX_MERGES = 256 };

struct anchor {
	const struct json *value; /* lent by the document that is being built */
	uint32_t first;
	size_t nodes;	 /* of the value, aliases expanded */
	unsigned height; /* levels below it */
};

struct reader {
	yaml_parser_t p;
	const char *text;
	struct yaml_places *places; /* of the document that is being read */
	struct map *anchors;	    /* name -> struct anchor, of that document */
	struct json *merges; /* a list: what `<<` of that document read; anchors may lie inside */
	size_t nodes;	     /* of the stream, aliases expanded */
};

/* What reading one node gives. The caller attaches value and chain. */
struct node {
	struct json *value;
	uint32_t first;
	unsigned height;
};

/* An object under construction. */
struct object {
	struct json *value;
	struct map *names;	  /* name -> a pointer whose value is its line */
	const struct json *merge; /* of `<<`: an object or a list of objects; kept by the reader */
	uint32_t merge_first;
	struct yaml_chain chain;
	unsigned height;
};

static int read_node(struct reader *r, const yaml_event_t *ev, unsigned depth, struct node *ret,
		     struct err *e);

static int at(yaml_mark_t mark, enum err_code code, const char *what, const char *name,
	      struct err *e)
{
	return err_set(e, code, "line %zu: %s%.100s%s", mark.line + 1, what, name ? name : "",
		       name ? "'" : "");
}

/* The reader fails before it has counted lines. */
static size_t line_of_offset(const char *text, size_t offset)
{
	size_t line = 1;

	for (size_t i = 0; i < offset; i++)
		line += text[i] == '\n';
	return line;
}

static int parser_error(const struct reader *r, struct err *e)
{
	const yaml_parser_t *p = &r->p;
	const char *problem = p->problem ? p->problem : "cannot be read";

	if (p->error == YAML_MEMORY_ERROR)
		return err_set(e, ERR_NOMEM, "out of memory");
	if (p->error == YAML_READER_ERROR)
		return err_set(e, ERR_INVALID, "line %zu: %s",
			       line_of_offset(r->text, p->problem_offset), problem);
	return err_set(e, ERR_INVALID, "line %zu: %s%s%s", p->problem_mark.line + 1, problem,
		       p->context ? " " : "", p->context ? p->context : "");
}

static int next_event(struct reader *r, yaml_event_t *ev, struct err *e)
{
	return yaml_parser_parse(&r->p, ev) ? 0 : parser_error(r, e);
}

static uint32_t place_at(struct reader *r, yaml_mark_t mark, uint32_t first)
{
	return yaml_places_add(r->places, mark.line + 1, mark.column + 1, first);
}

static int count_nodes(struct reader *r, size_t n, yaml_mark_t mark, struct err *e)
{
	if (n > LIMIT_YAML_NODES - r->nodes)
		return at(mark, ERR_TOO_LARGE, "too many values, aliases expanded", NULL, e);
	r->nodes += n;
	return 0;
}

/* --- scalars -------------------------------------------------------------------------------- */

/* Whether a value that the tag names may be read from what the text looks like. */
static bool tag_fits(const char *tag, struct yaml_scalar *v)
{
	if (str_eq(tag, YAML_STR_TAG) || str_eq(tag, "!")) {
		v->kind = JSON_STRING;
		return true;
	}
	if (str_eq(tag, YAML_INT_TAG))
		return v->kind == JSON_NUMBER && v->is_int;
	if (str_eq(tag, YAML_FLOAT_TAG))
		return v->kind == JSON_NUMBER;
	if (str_eq(tag, YAML_BOOL_TAG))
		return v->kind == JSON_BOOL;
	return str_eq(tag, YAML_NULL_TAG) && v->kind == JSON_NULL;
}

static int resolve(const yaml_event_t *ev, struct yaml_scalar *ret, struct err *e)
{
	const char *s = (const char *)ev->data.scalar.value;
	const char *tag = (const char *)ev->data.scalar.tag;

	if (strlen(s) != ev->data.scalar.length)
		return at(ev->start_mark, ERR_INVALID, "a NUL character in a string", NULL, e);
	if (!tag &&
	    !(ev->data.scalar.plain_implicit && ev->data.scalar.style == YAML_PLAIN_SCALAR_STYLE))
		tag = YAML_STR_TAG;
	*ret = yaml_scalar_of(s);
	if (tag && !tag_fits(tag, ret))
		return at(ev->start_mark, ERR_INVALID, "does not read as its tag says: '", tag, e);
	return 0;
}

static int read_scalar(const yaml_event_t *ev, struct json **ret, struct err *e)
{
	const char *s = (const char *)ev->data.scalar.value;
	struct yaml_scalar v = { 0 };
	int rc = resolve(ev, &v, e);

	if (rc)
		return rc;
	if (v.kind == JSON_NUMBER && !v.finite)
		return at(ev->start_mark, ERR_INVALID, "JSON has no '", s, e);
	if (v.kind == JSON_NUMBER)
		*ret = json_new_number(v.number);
	else if (v.kind == JSON_BOOL)
		*ret = json_new_bool(v.b);
	else if (v.kind == JSON_NULL)
		*ret = json_new_null();
	else
		*ret = json_new_str(s);
	return 0;
}

/* --- anchors -------------------------------------------------------------------------------- */

static const char *anchor_of(const yaml_event_t *ev)
{
	if (ev->type == YAML_SCALAR_EVENT)
		return (const char *)ev->data.scalar.anchor;
	if (ev->type == YAML_SEQUENCE_START_EVENT)
		return (const char *)ev->data.sequence_start.anchor;
	if (ev->type == YAML_MAPPING_START_EVENT)
		return (const char *)ev->data.mapping_start.anchor;
	return NULL;
}

static void remember(struct reader *r, const char *name, const struct node *n, size_t nodes)
{
	struct anchor *a = xcalloc(1, sizeof(*a));

	*a = (struct anchor){
		.value = n->value, .first = n->first, .nodes = nodes, .height = n->height
	};
	map_put(r->anchors, name, a);
}

static int expand(struct reader *r, const yaml_event_t *ev, unsigned depth, struct node *ret,
		  struct err *e)
{
	const char *name = (const char *)ev->data.alias.anchor;
	const struct anchor *a = map_get(r->anchors, name);
	int rc;

	if (!a)
		return at(ev->start_mark, ERR_INVALID,
			  "no anchor of this name stands complete before '*", name, e);
	if (depth + a->height > LIMIT_JSON_DEPTH)
		return at(ev->start_mark, ERR_TOO_LARGE, "nested too deeply", NULL, e);
	rc = count_nodes(r, a->nodes, ev->start_mark, e);
	if (rc)
		return rc;
	*ret = (struct node){ .value = json_dup(a->value), .first = a->first, .height = a->height };
	return 0;
}

/* --- lists and objects ---------------------------------------------------------------------- */

static int check_tag(const yaml_event_t *ev, struct err *e)
{
	bool list = ev->type == YAML_SEQUENCE_START_EVENT;
	const yaml_char_t *tag = list ? ev->data.sequence_start.tag : ev->data.mapping_start.tag;

	if (!tag || str_eq((const char *)tag, "!") ||
	    str_eq((const char *)tag, list ? YAML_SEQ_TAG : YAML_MAP_TAG))
		return 0;
	return at(ev->start_mark, ERR_INVALID, "unknown tag '", (const char *)tag, e);
}

static void raise_height(unsigned *height, unsigned below)
{
	if (*height < below + 1)
		*height = below + 1;
}

static int read_list(struct reader *r, unsigned depth, struct node *ret, struct err *e)
{
	cleanup_json struct json *list = json_new_array();
	struct yaml_chain chain = { 0 };
	unsigned height = 1;

	for (;;) {
		cleanup(yaml_event_delete) yaml_event_t ev = { .type = YAML_NO_EVENT };
		struct node n;
		int rc = next_event(r, &ev, e);

		if (!rc && ev.type == YAML_SEQUENCE_END_EVENT)
			break;
		if (!rc)
			rc = read_node(r, &ev, depth + 1, &n, e);
		if (rc)
			return rc;
		json_add(list, n.value);
		yaml_places_append(r->places, &chain, place_at(r, ev.start_mark, n.first));
		raise_height(&height, n.height);
	}
	*ret = (struct node){ .value = take(list), .first = chain.first, .height = height };
	return 0;
}

static bool is_merge(const yaml_event_t *ev)
{
	return ev->type == YAML_SCALAR_EVENT && !ev->data.scalar.tag &&
	       ev->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
	       str_eq((const char *)ev->data.scalar.value, "<<");
}

/* A member's name as Kubernetes' reader makes it; *text is used for what is no string. */
static int name_of(const yaml_event_t *ev, char text[32], const char **ret, struct err *e)
{
	struct yaml_scalar v = { 0 };
	int rc;

	if (ev->type == YAML_ALIAS_EVENT)
		return at(ev->start_mark, ERR_INVALID, "an alias as a name", NULL, e);
	if (ev->type != YAML_SCALAR_EVENT)
		return at(ev->start_mark, ERR_INVALID, "a list or object as a name", NULL, e);
	rc = resolve(ev, &v, e);
	if (rc)
		return rc;
	*ret = (const char *)ev->data.scalar.value;
	if (v.kind == JSON_STRING)
		return 0;
	if (v.kind == JSON_BOOL)
		*ret = v.b ? "true" : "false";
	else if (v.kind == JSON_NUMBER && v.is_int && v.fits) {
		(void)snprintf(text, 32, "%lld", (long long)v.i);
		*ret = text;
	} else
		return at(ev->start_mark, ERR_INVALID, "a name must be quoted: '", *ret, e);
	return 0;
}

static void *line_mark(yaml_mark_t mark)
{
	return (void *)(uintptr_t)(mark.line + 1);
}

static int note_name(struct object *o, const char *name, yaml_mark_t mark, struct err *e)
{
	const void *before = map_get(o->names, name);

	if (before)
		return err_set(e, ERR_INVALID,
			       "line %zu: duplicate name '%.100s', which stands on line %zu",
			       mark.line + 1, name, (size_t)(uintptr_t)before);
	map_put(o->names, name, line_mark(mark));
	return 0;
}

/* The i-th object that a `<<` brings, and the chain of its members; false: there are no more. */
static bool merge_source(const struct reader *r, const struct object *o, size_t i,
			 const struct json **ret, uint32_t *ret_first)
{
	uint32_t place = o->merge_first;

	if (json_kind(o->merge) == JSON_OBJECT) {
		*ret = o->merge;
		*ret_first = place;
		return i == 0;
	}
	*ret = json_item(o->merge, i);
	if (!*ret)
		return false;
	while (i--)
		place = r->places->v[place].next;
	*ret_first = r->places->v[place].first;
	return true;
}

/* `<<: value`: it must be an object or objects, and replace nothing that was given before. */
static int take_merge(struct reader *r, struct object *o, struct node *n, yaml_mark_t mark,
		      struct err *e)
{
	const struct json *source;
	uint32_t first;

	json_add(r->merges, n->value);
	o->merge = n->value;
	o->merge_first = n->first;
	if (json_kind(o->merge) == JSON_ARRAY && json_len(o->merge) > MAX_MERGES)
		return at(mark, ERR_TOO_LARGE, "<< with too many objects", NULL, e);
	if (json_kind(o->merge) != JSON_OBJECT && json_kind(o->merge) != JSON_ARRAY)
		return at(mark, ERR_INVALID, "<< takes an object or a list of objects", NULL, e);
	for (size_t i = 0; merge_source(r, o, i, &source, &first); i++) {
		if (json_kind(source) != JSON_OBJECT)
			return at(mark, ERR_INVALID, "<< takes an object or a list of objects",
				  NULL, e);
		for (const struct json *c = json_first(source); c; c = json_next(c)) {
			if (map_get(o->names, json_name(c)))
				return at(mark, ERR_INVALID, "<< would replace '", json_name(c), e);
		}
	}
	return note_name(o, "<<", mark, e);
}

static void add_member(struct reader *r, struct object *o, const char *name, struct json *value,
		       uint32_t place)
{
	json_add_member(o->value, name, value);
	yaml_places_append(r->places, &o->chain, place);
}

/* At the object's end: what `<<` brings and the object, or an earlier source, has not. */
static void merge(struct reader *r, struct object *o)
{
	const struct json *source;
	uint32_t first;

	for (size_t i = 0; o->merge && merge_source(r, o, i, &source, &first); i++) {
		for (const struct json *c = json_first(source); c; c = json_next(c)) {
			const struct yaml_mark from = r->places->v[first];
			const yaml_mark_t mark = { .line = from.line - 1, .column = from.col - 1 };

			first = from.next;
			if (map_get(o->names, json_name(c)))
				continue;
			map_put(o->names, json_name(c), line_mark(mark));
			add_member(r, o, json_name(c), json_dup(c), place_at(r, mark, from.first));
		}
	}
}

static int read_member(struct reader *r, const yaml_event_t *key, unsigned depth, struct object *o,
		       struct err *e)
{
	cleanup(yaml_event_delete) yaml_event_t ev = { .type = YAML_NO_EVENT };
	bool merges = is_merge(key);
	const char *name = NULL;
	char text[32];
	struct node n;
	int rc = 0;

	if (!merges)
		rc = name_of(key, text, &name, e);
	if (!rc && !merges)
		rc = note_name(o, name, key->start_mark, e);
	if (!rc && merges && o->merge)
		rc = at(key->start_mark, ERR_INVALID, "more than one '", "<<", e);
	if (!rc)
		rc = next_event(r, &ev, e);
	if (!rc)
		rc = read_node(r, &ev, depth + 1, &n, e);
	if (rc)
		return rc;
	raise_height(&o->height, n.height);
	if (merges)
		return take_merge(r, o, &n, key->start_mark, e);
	add_member(r, o, name, n.value, place_at(r, key->start_mark, n.first));
	return 0;
}

static int read_members(struct reader *r, unsigned depth, struct object *o, struct err *e)
{
	for (;;) {
		cleanup(yaml_event_delete) yaml_event_t key = { .type = YAML_NO_EVENT };
		int rc = next_event(r, &key, e);

		if (!rc && key.type == YAML_MAPPING_END_EVENT)
			return 0;
		if (!rc)
			rc = read_member(r, &key, depth, o, e);
		if (rc)
			return rc;
	}
}

static int read_object(struct reader *r, unsigned depth, struct node *ret, struct err *e)
{
	cleanup_json struct json *value = json_new_object();
	cleanup_map struct map *names = map_new(NULL);
	struct object o = { .value = value, .names = names, .height = 1 };
	int rc = read_members(r, depth, &o, e);

	if (rc)
		return rc;
	merge(r, &o);
	*ret = (struct node){ .value = take(value), .first = o.chain.first, .height = o.height };
	return 0;
}

/* depth: levels of lists and objects that are open around the node. */
static int read_node(struct reader *r, const yaml_event_t *ev, unsigned depth, struct node *ret,
		     struct err *e)
{
	const char *anchor = anchor_of(ev);
	size_t before = r->nodes;
	int rc;

	*ret = (struct node){ 0 };
	if (ev->type == YAML_ALIAS_EVENT)
		return expand(r, ev, depth, ret, e);
	rc = count_nodes(r, 1, ev->start_mark, e);
	if (rc)
		return rc;
	if (anchor)
		map_del(r->anchors, anchor); /* a value cannot hold itself */
	if (ev->type == YAML_SCALAR_EVENT) {
		rc = read_scalar(ev, &ret->value, e);
	} else {
		if (depth >= LIMIT_JSON_DEPTH)
			return at(ev->start_mark, ERR_TOO_LARGE, "nested too deeply", NULL, e);
		rc = check_tag(ev, e);
		if (!rc)
			rc = ev->type == YAML_SEQUENCE_START_EVENT ? read_list(r, depth, ret, e)
								   : read_object(r, depth, ret, e);
	}
	if (!rc && anchor)
		remember(r, anchor, ret, r->nodes - before);
	return rc;
}

/* --- documents ------------------------------------------------------------------------------ */

static void add_doc(struct yaml_docs *docs, struct json *value, size_t line,
		    struct yaml_places *places)
{
	docs->v = xrealloc(docs->v, (docs->n + 1) * sizeof(*docs->v));
	docs->v[docs->n++] = (struct yaml_doc){ .value = value, .line = line, .places = places };
}

/* After a document-start event: its one value, and the end. */
static int read_doc(struct reader *r, struct yaml_docs *docs, struct err *e)
{
	cleanup(yaml_event_delete) yaml_event_t ev = { .type = YAML_NO_EVENT };
	cleanup(yaml_event_delete) yaml_event_t end = { .type = YAML_NO_EVENT };
	cleanup_map struct map *anchors = map_new(free);
	cleanup_json struct json *merges = json_new_array();
	cleanup(yaml_places_free_cleanup) struct yaml_places *places = yaml_places_new();
	cleanup_json struct json *value = NULL;
	struct node n;
	int rc;

	r->anchors = anchors;
	r->merges = merges;
	r->places = places;
	rc = next_event(r, &ev, e);
	if (!rc)
		rc = read_node(r, &ev, 0, &n, e);
	if (rc)
		return rc;
	value = n.value;
	places->root = place_at(r, ev.start_mark, n.first);
	rc = next_event(r, &end, e); /* the document's end */
	if (rc)
		return rc;
	if (json_kind(value) != JSON_NULL)
		add_doc(docs, take(value), ev.start_mark.line + 1, take(places));
	return 0;
}

static int read_stream(struct reader *r, struct yaml_docs *docs, struct err *e)
{
	for (;;) {
		cleanup(yaml_event_delete) yaml_event_t ev = { .type = YAML_NO_EVENT };
		int rc = next_event(r, &ev, e);

		if (!rc && ev.type == YAML_STREAM_END_EVENT)
			return 0;
		if (!rc && ev.type == YAML_DOCUMENT_START_EVENT)
			rc = read_doc(r, docs, e);
		if (rc)
			return rc;
	}
}

static bool looks_like_json(const char *text, size_t len)
{
	while (len && (*text == ' ' || *text == '\t' || *text == '\r' || *text == '\n')) {
		text++;
		len--;
	}
	return len && (*text == '{' || *text == '[');
}

/* What is JSON means what JSON says (YAML folds a line at U+0085); YAML may still know the places. */
static void prefer_json(struct yaml_docs *docs, struct json *value)
{
	if (docs->n == 1 && json_equal(docs->v[0].value, value)) {
		json_free(value);
		return;
	}
	yaml_docs_done(docs);
	add_doc(docs, value, 1, NULL);
}

static int parse_yaml(const char *text, size_t len, struct yaml_docs *docs, struct err *e)
{
	struct reader r = { .text = text };
	int rc;

	if (!yaml_parser_initialize(&r.p))
		return err_set(e, ERR_NOMEM, "out of memory");
	yaml_parser_set_encoding(&r.p, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&r.p, (const unsigned char *)text, len);
	rc = read_stream(&r, docs, e);
	yaml_parser_delete(&r.p);
	if (rc)
		yaml_docs_done(docs);
	return rc;
}

int yaml_parse(const char *text, size_t len, struct yaml_docs *ret, struct err *e)
{
	struct yaml_docs docs = YAML_DOCS_INIT;
	struct json *value = NULL;
	struct err bad = ERR_INIT, ignored;
	int rc;

	if (len > LIMIT_MANIFEST_FILE)
		return err_set(e, ERR_TOO_LARGE, "%zu bytes of YAML", len);
	rc = parse_yaml(text, len, &docs, &bad);
	if (looks_like_json(text, len) && !json_parse(text, len, &value, &ignored)) {
		prefer_json(&docs, value);
		rc = 0;
	}
	if (rc)
		*e = bad;
	else
		*ret = docs;
	return rc;
}

void yaml_doc_done(struct yaml_doc *doc)
{
	json_free(doc->value);
	if (doc->places)
		yaml_places_free(doc->places);
	*doc = (struct yaml_doc){ 0 };
}

void yaml_docs_done(struct yaml_docs *docs)
{
	for (size_t i = 0; i < docs->n; i++)
		yaml_doc_done(&docs->v[i]);
	free(docs->v);
	*docs = (struct yaml_docs)YAML_DOCS_INIT;
}

int yaml_parse_one(const char *text, size_t len, struct yaml_doc *ret, struct err *e)
{
	struct yaml_docs docs = YAML_DOCS_INIT;
	int rc = yaml_parse(text, len, &docs, e);

	if (rc)
		return rc;
	if (docs.n == 1) {
		*ret = docs.v[0];
		free(docs.v);
		return 0;
	}
	rc = docs.n ? err_set(e, ERR_INVALID, "line %zu: a second document", docs.v[1].line)
		    : err_set(e, ERR_INVALID, "no document");
	yaml_docs_done(&docs);
	return rc;
}
