#include "common/json.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json/nodes.h"
#include "common/json/tree.h"
#include "common/json_scan.h"
#include "common/limits.h"

/* cJSON has doubles only: an integer beyond this may have been rounded. */
#define MAX_EXACT 9007199254740992.0

static const cJSON *in(const struct json *j)
{
	return (const cJSON *)(const void *)j;
}

static cJSON *in_mut(struct json *j)
{
	return (cJSON *)(void *)j;
}

static const struct json *out(const cJSON *c)
{
	return (const struct json *)(const void *)c;
}

static struct json *out_mut(cJSON *c)
{
	if (!c)
		abort(); /* cJSON's allocator is ours: it never fails */
	return (struct json *)(void *)c;
}

static void *allocate(size_t n)
{
	return nodes_alloc(NULL, n);
}

static void use_our_allocator(void)
{
	cJSON_Hooks hooks = { .malloc_fn = allocate, .free_fn = nodes_free };

	cJSON_InitHooks(&hooks);
}

static void start(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	(void)pthread_once(&once, use_our_allocator);
}

static int build(const char *text, size_t max, struct json **ret, struct err *e)
{
	cJSON *c = NULL;
	const char *wrong;

	start();
	wrong = tree_build(text, max, &c);
	if (wrong)
		return err_set(e, ERR_INVALID, "%s", wrong);
	*ret = out_mut(c);
	return 0;
}

int json_build(const char *text, struct json **ret, struct err *e)
{
	return build(text, LIMIT_REVIEW_VALUES, ret, e);
}

int json_parse(const char *text, size_t len, struct json **ret, struct err *e)
{
	static const js_node whole[] = { JS_NODE("", -1, 0, 0) };
	js_ctx ctx;
	js_err bad;
	size_t at = 0;
	cleanup(freep) char *padded = NULL;

	if (len >= INT32_MAX)
		return err_set(e, ERR_TOO_LARGE, "%zu bytes of JSON", len);
	padded = xmalloc(len + JS_PAD);
	if (len)
		memcpy(padded, text, len);
	memset(padded + len, 0, JS_PAD);
	if (js_ctx_init(&ctx, LIMIT_JSON_KEYS))
		return err_set(e, ERR_INTERNAL, "no entropy for the JSON scanner");
	bad = js_scan(&ctx, padded, len, whole, NULL, 0, &at);
	js_ctx_free(&ctx);
	if (bad != JS_OK)
		return err_set(e, ERR_INVALID, "offset %zu: %s", at, js_strerror(bad));
	return build(padded, SIZE_MAX, ret, e);
}

void json_free(struct json *j)
{
	cJSON_Delete(in_mut(j));
}

enum json_kind json_kind(const struct json *j)
{
	if (!j)
		return JSON_ABSENT;
	switch (in(j)->type & 0xff) {
	case cJSON_False:
	case cJSON_True:
		return JSON_BOOL;
	case cJSON_Number:
		return JSON_NUMBER;
	case cJSON_String:
		return JSON_STRING;
	case cJSON_Array:
		return JSON_ARRAY;
	case cJSON_Object:
		return JSON_OBJECT;
	default:
		return JSON_NULL;
	}
}

const char *json_kind_text(enum json_kind kind)
{
	switch (kind) {
	case JSON_ABSENT:
		return "nothing";
	case JSON_NULL:
		return "null";
	case JSON_BOOL:
		return "a boolean";
	case JSON_NUMBER:
		return "a number";
	case JSON_STRING:
		return "a string";
	case JSON_ARRAY:
		return "a list";
	case JSON_OBJECT:
		return "an object";
	}
	return "something";
}

/* The member whose name is name[0..n). */
static const struct json *member(const struct json *j, const char *name, size_t n)
{
	if (json_kind(j) != JSON_OBJECT)
		return NULL;
	for (const cJSON *c = in(j)->child; c; c = c->next) {
		if (c->string[0] == name[0] && !strncmp(c->string, name, n) && !c->string[n])
			return out(c);
	}
	return NULL;
}

/* As member, but without the length of a name, which is mostly not there: this is what most of a review's rules ask. */
const struct json *json_get(const struct json *j, const char *name)
{
	if (json_kind(j) != JSON_OBJECT)
		return NULL;
	for (const cJSON *c = in(j)->child; c; c = c->next) {
		if (c->string[0] == name[0] && str_eq(c->string, name))
			return out(c);
	}
	return NULL;
}

struct json *json_get_mutable(struct json *j, const char *name)
{
	cJSON *c;

	if (json_kind(j) != JSON_OBJECT)
		return NULL;
	c = cJSON_GetObjectItemCaseSensitive(in_mut(j), name);
	return c ? out_mut(c) : NULL;
}

const struct json *json_path(const struct json *j, ...)
{
	va_list ap;
	const char *name;

	va_start(ap, j);
	while (j && (name = va_arg(ap, const char *)))
		j = json_get(j, name);
	va_end(ap);
	return j;
}

const struct json *json_at_path(const struct json *j, const char *dotted)
{
	while (j) {
		const char *end = strchrnul(dotted, '.');

		j = member(j, dotted, (size_t)(end - dotted));
		if (!*end)
			break;
		dotted = end + 1;
	}
	return j;
}

size_t json_len(const struct json *j)
{
	size_t n = 0;

	for (const struct json *c = json_first(j); c; c = json_next(c))
		n++;
	return n;
}

const struct json *json_item(const struct json *j, size_t i)
{
	const struct json *c = json_first(j);

	for (; c && i; i--)
		c = json_next(c);
	return c;
}

const struct json *json_first(const struct json *j)
{
	enum json_kind kind = json_kind(j);

	return kind == JSON_OBJECT || kind == JSON_ARRAY ? out(in(j)->child) : NULL;
}

const struct json *json_next(const struct json *j)
{
	return j ? out(in(j)->next) : NULL;
}

struct json *json_first_mutable(struct json *j)
{
	return json_first(j) ? out_mut(in_mut(j)->child) : NULL;
}

struct json *json_next_mutable(struct json *j)
{
	return json_next(j) ? out_mut(in_mut(j)->next) : NULL;
}

const char *json_name(const struct json *j)
{
	return j && in(j)->string ? in(j)->string : "";
}

const char *json_str(const struct json *j)
{
	return json_kind(j) == JSON_STRING ? in(j)->valuestring : NULL;
}

const char *json_get_str(const struct json *j, const char *name)
{
	return json_str(json_get(j, name));
}

bool json_is(const struct json *j, const char *name, const char *value)
{
	const char *s = json_get_str(j, name);

	return s && str_eq(s, value);
}

const struct json *json_find(const struct json *array, const char *name, const char *value)
{
	const struct json *c = json_first(array);

	while (c && !json_is(c, name, value))
		c = json_next(c);
	return c;
}

bool json_number(const struct json *j, double *ret)
{
	if (json_kind(j) != JSON_NUMBER)
		return false;
	*ret = in(j)->valuedouble;
	return true;
}

/* Not floor(): without optimisation that is a call into libm, which nothing else here needs. */
static bool is_integer(double d)
{
	return d >= -MAX_EXACT && d <= MAX_EXACT && d == (double)(int64_t)d;
}

bool json_int(const struct json *j, int64_t *ret)
{
	double d;

	if (!json_number(j, &d) || !is_integer(d))
		return false;
	*ret = (int64_t)d;
	return true;
}

bool json_get_int(const struct json *j, const char *name, int64_t *ret)
{
	return json_int(json_get(j, name), ret);
}

bool json_bool(const struct json *j, bool *ret)
{
	if (json_kind(j) != JSON_BOOL)
		return false;
	*ret = (in(j)->type & 0xff) == cJSON_True;
	return true;
}

bool json_get_bool(const struct json *j, const char *name, bool fallback)
{
	(void)json_bool(json_get(j, name), &fallback);
	return fallback;
}

static bool members_equal(const struct json *a, const struct json *b)
{
	if (json_len(a) != json_len(b))
		return false;
	for (const struct json *c = json_first(a); c; c = json_next(c)) {
		const struct json *d = json_get(b, json_name(c));

		if (!d || !json_equal(c, d))
			return false;
	}
	return true;
}

static bool elements_equal(const struct json *a, const struct json *b)
{
	const struct json *c = json_first(a), *d = json_first(b);

	for (; c && d; c = json_next(c), d = json_next(d)) {
		if (!json_equal(c, d))
			return false;
	}
	return !c && !d;
}

bool json_equal(const struct json *a, const struct json *b)
{
	enum json_kind kind = json_kind(a);

	if (kind != json_kind(b))
		return false;
	switch (kind) {
	case JSON_ABSENT:
	case JSON_NULL:
		return true;
	case JSON_BOOL:
		return ((in(a)->type ^ in(b)->type) & 0xff) == 0;
	case JSON_NUMBER:
		return in(a)->valuedouble == in(b)->valuedouble;
	case JSON_STRING:
		return str_eq(in(a)->valuestring, in(b)->valuestring);
	case JSON_ARRAY:
		return elements_equal(a, b);
	case JSON_OBJECT:
		return members_equal(a, b);
	}
	return false;
}

struct json *json_new_object(void)
{
	start();
	return out_mut(cJSON_CreateObject());
}

struct json *json_new_array(void)
{
	start();
	return out_mut(cJSON_CreateArray());
}

struct json *json_new_null(void)
{
	start();
	return out_mut(cJSON_CreateNull());
}

struct json *json_new_bool(bool b)
{
	start();
	return out_mut(cJSON_CreateBool(b));
}

struct json *json_new_int(int64_t i)
{
	start();
	return out_mut(cJSON_CreateNumber((double)i));
}

struct json *json_new_number(double d)
{
	start();
	return out_mut(cJSON_CreateNumber(d));
}

struct json *json_new_str(const char *s)
{
	start();
	return out_mut(cJSON_CreateString(s));
}

struct json *json_dup(const struct json *j)
{
	start();
	return j ? out_mut(tree_copy(in(j))) : NULL;
}

void json_set(struct json *obj, const char *name, struct json *value)
{
	if (!value)
		return;
	if (json_get(obj, name)) {
		if (!cJSON_ReplaceItemInObjectCaseSensitive(in_mut(obj), name, in_mut(value)))
			abort();
	} else {
		json_add_member(obj, name, value);
	}
}

void json_add_member(struct json *obj, const char *name, struct json *value)
{
	if (value && !cJSON_AddItemToObject(in_mut(obj), name, in_mut(value)))
		abort();
}

void json_set_str_always(struct json *obj, const char *name, const char *s)
{
	json_set(obj, name, json_new_str(s));
}

void json_set_str(struct json *obj, const char *name, const char *s)
{
	if (!str_empty(s))
		json_set_str_always(obj, name, s);
}

void json_set_int(struct json *obj, const char *name, int64_t i)
{
	json_set(obj, name, json_new_int(i));
}

void json_set_bool(struct json *obj, const char *name, bool b)
{
	json_set(obj, name, json_new_bool(b));
}

struct json *json_object_at(struct json *obj, const char *name)
{
	if (json_kind(json_get(obj, name)) != JSON_OBJECT)
		json_set(obj, name, json_new_object());
	return json_get_mutable(obj, name);
}

struct json *json_array_at(struct json *obj, const char *name)
{
	if (json_kind(json_get(obj, name)) != JSON_ARRAY)
		json_set(obj, name, json_new_array());
	return json_get_mutable(obj, name);
}

void json_add(struct json *array, struct json *value)
{
	if (value && !cJSON_AddItemToArray(in_mut(array), in_mut(value)))
		abort();
}

void json_add_str(struct json *array, const char *s)
{
	json_add(array, json_new_str(s));
}

struct json *json_take(struct json *obj, const char *name)
{
	cJSON *c;

	if (json_kind(obj) != JSON_OBJECT)
		return NULL;
	c = cJSON_DetachItemFromObjectCaseSensitive(in_mut(obj), name);
	return c ? out_mut(c) : NULL;
}

void json_del(struct json *obj, const char *name)
{
	json_free(json_take(obj, name));
}
