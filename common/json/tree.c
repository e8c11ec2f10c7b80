#include "common/json/tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/json/nodes.h"
#include "common/json_scan.h"

struct reader {
	const char *at;
	size_t left;	/* of values that may be made */
	bool too_large; /* a number was */
	struct nodes nodes;
};

/* A string as it stands in the text, quotes included. */
struct quoted {
	const char *text; /* NULL: there is none */
	size_t len;
	bool escapes;
};

/* ---- nodes ----------------------------------------------------------------------------------- */

static size_t room_of(const struct quoted *q)
{
	return q->text ? q->len - 1 : 0; /* without the quotes, with a NUL */
}

/* Writes it at `to`; returns where the next one goes. */
static char *put(const struct quoted *q, char *to)
{
	size_t n = q->len - 2;

	if (q->escapes)
		n = js_unescape(q->text, (js_span){ 0, (uint32_t)q->len }, to);
	else
		memcpy(to, q->text + 1, n);
	to[n] = '\0';
	return to + room_of(q);
}

static cJSON *node(struct reader *r, int type, const struct quoted *name,
		   const struct quoted *value)
{
	cJSON *c = nodes_alloc(&r->nodes, sizeof(*c) + room_of(name) + room_of(value));
	char *to = (char *)(c + 1);

	memset(c, 0, sizeof(*c));
	c->type = type;
	if (name->text) {
		c->type |= cJSON_StringIsConst;
		c->string = to;
		to = put(name, to);
	}
	if (value->text) {
		c->type |= cJSON_IsReference;
		c->valuestring = to;
		(void)put(value, to);
	}
	return c;
}

/* ---- reading --------------------------------------------------------------------------------- */

static const struct quoted none;

static void skip_space(struct reader *r)
{
	while (*r->at == ' ' || *r->at == '\n' || *r->at == '\t' || *r->at == '\r')
		r->at++;
}

/* Goes behind a comma or a closing bracket; true: it was a comma. */
static bool goes_on(struct reader *r)
{
	skip_space(r);
	return *r->at++ == ',' && r->left;
}

static struct quoted read_quoted(struct reader *r)
{
	struct quoted q = { .text = r->at };
	const char *p = r->at + 1;

	while (*p != '"') {
		if (*p == '\\') {
			q.escapes = true;
			p++;
		}
		p++;
		p += strcspn(p, "\"\\");
	}
	r->at = p + 1;
	q.len = (size_t)(r->at - q.text);
	return q;
}

static double read_number(struct reader *r)
{
	enum { EXACT_DIGITS = 15 };
	const char *p = r->at;
	bool negative = *p == '-';
	int64_t v = 0;
	double d;
	char *end;
	int n = 0;

	for (p += negative; *p >= '0' && *p <= '9' && n <= EXACT_DIGITS; p++, n++)
		v = v * 10 + (*p - '0');
	if (n <= EXACT_DIGITS && *p != '.' && *p != 'e' && *p != 'E') {
		r->at = p;
		return negative ? -(double)v : (double)v;
	}
	d = strtod(r->at, &end);
	r->at = end;
	if (!isfinite(d))
		r->too_large = true;
	return d;
}

static cJSON *read_value(struct reader *r, const struct quoted *name);

static void append(cJSON *parent, cJSON *c)
{
	if (!parent->child) {
		parent->child = c;
	} else {
		parent->child->prev->next = c;
		c->prev = parent->child->prev;
	}
	parent->child->prev = c; /* the first one knows the last one */
}

static cJSON *read_array(struct reader *r, const struct quoted *name)
{
	cJSON *a = node(r, cJSON_Array, name, &none);

	r->at++;
	skip_space(r);
	if (*r->at == ']') {
		r->at++;
		return a;
	}
	do
		append(a, read_value(r, &none));
	while (goes_on(r));
	return a;
}

static cJSON *read_object(struct reader *r, const struct quoted *name)
{
	cJSON *o = node(r, cJSON_Object, name, &none);

	r->at++;
	skip_space(r);
	if (*r->at == '}') {
		r->at++;
		return o;
	}
	do {
		struct quoted key;

		skip_space(r);
		key = read_quoted(r);
		skip_space(r);
		r->at++; /* the colon */
		append(o, read_value(r, &key));
	} while (goes_on(r));
	return o;
}

static cJSON *read_word(struct reader *r, int type, size_t len, const struct quoted *name)
{
	r->at += len;
	return node(r, type, name, &none);
}

static cJSON *read_value(struct reader *r, const struct quoted *name)
{
	struct quoted q;
	cJSON *c;

	r->left -= r->left > 0;
	skip_space(r);
	switch (*r->at) {
	case '{':
		return read_object(r, name);
	case '[':
		return read_array(r, name);
	case '"':
		q = read_quoted(r);
		return node(r, cJSON_String, name, &q);
	case 't':
		return read_word(r, cJSON_True, 4, name);
	case 'f':
		return read_word(r, cJSON_False, 5, name);
	case 'n':
		return read_word(r, cJSON_NULL, 4, name);
	default:
		c = node(r, cJSON_Number, name, &none);
		c->valuedouble = read_number(r);
		return c;
	}
}

const char *tree_build(const char *text, size_t max, cJSON **ret)
{
	struct reader r = { .at = text, .left = max };
	cJSON *c = read_value(&r, &none);

	nodes_close(&r.nodes);
	if (r.left && !r.too_large) {
		*ret = c;
		return NULL;
	}
	cJSON_Delete(c);
	return r.left ? "a number that is too large" : "more values than are read at once";
}

/* ---- copying --------------------------------------------------------------------------------- */

static cJSON *copy_node(const cJSON *c)
{
	size_t name = c->string ? strlen(c->string) + 1 : 0;
	size_t value = c->valuestring ? strlen(c->valuestring) + 1 : 0;
	cJSON *d = nodes_alloc(NULL, sizeof(*d) + name + value);
	char *to = (char *)(d + 1);

	memset(d, 0, sizeof(*d));
	d->type = c->type & 0xff;
	d->valuedouble = c->valuedouble;
	if (name) {
		d->type |= cJSON_StringIsConst;
		d->string = memcpy(to, c->string, name);
	}
	if (value) {
		d->type |= cJSON_IsReference;
		d->valuestring = memcpy(to + name, c->valuestring, value);
	}
	return d;
}

cJSON *tree_copy(const cJSON *c)
{
	cJSON *d = copy_node(c);

	for (const cJSON *child = c->child; child; child = child->next)
		append(d, tree_copy(child));
	return d;
}
