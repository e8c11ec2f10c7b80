#include "common/patch.h"

enum { POINTER_MAX = 1 << 16 };

void patch_init(struct patch *p, const struct json *doc)
{
	p->doc = json_dup(doc);
	p->ops = json_new_array();
}

void patch_done(struct patch *p)
{
	json_free(p->doc);
	json_free(p->ops);
	p->doc = p->ops = NULL;
}

static void pointer(const char *const *path, size_t n, struct buf *to)
{
	for (size_t i = 0; i < n; i++) {
		buf_putc(to, '/');
		for (const char *c = path[i]; *c; c++) {
			if (*c == '~')
				buf_puts(to, "~0");
			else if (*c == '/')
				buf_puts(to, "~1");
			else
				buf_putc(to, *c);
		}
	}
}

static size_t length(const char *const *path)
{
	size_t n = 0;

	while (path[n])
		n++;
	return n;
}

void patch_pointer(const char *const *path, struct buf *to)
{
	pointer(path, length(path), to);
}

/* Takes value (NULL: the operation has none). */
static void add_op(struct patch *p, const char *op, const char *const *path, size_t n,
		   struct json *value)
{
	struct json *o = json_new_object();
	struct buf b;

	buf_init(&b, POINTER_MAX);
	pointer(path, n, &b);
	json_set_str_always(o, "op", op);
	json_set_str_always(o, "path", buf_str(&b));
	json_set(o, "value", value);
	json_add(p->ops, o);
	buf_done(&b);
}

/* How many of the path's names, the last one aside, are objects of the document; -1: something else
 * is in the way. */
static int walk(struct patch *p, const char *const *path, size_t n, struct json **ret_parent)
{
	struct json *at = p->doc;
	size_t i = 0;

	for (; i + 1 < n; i++) {
		struct json *child = json_get_mutable(at, path[i]);

		if (!child)
			break;
		if (json_kind(child) != JSON_OBJECT)
			return -1;
		at = child;
	}
	*ret_parent = at;
	return (int)i;
}

int patch_set(struct patch *p, const char *const *path, struct json *value, struct err *e)
{
	size_t n = length(path), i;
	struct json *parent;
	const struct json *old;
	int there = walk(p, path, n, &parent);

	if (there < 0) {
		json_free(value);
		return err_set(e, ERR_INVALID, "an ancestor of %s is not an object", path[n - 1]);
	}
	for (i = (size_t)there; i + 1 < n; i++) {
		add_op(p, "add", path, i + 1, json_new_object());
		parent = json_object_at(parent, path[i]);
	}
	old = json_get(parent, path[n - 1]);
	if (json_equal(old, value)) {
		json_free(value);
		return 0;
	}
	add_op(p, old ? "replace" : "add", path, n, json_dup(value));
	json_set(parent, path[n - 1], value);
	return 0;
}

void patch_remove(struct patch *p, const char *const *path)
{
	size_t n = length(path);
	struct json *parent;

	if (walk(p, path, n, &parent) != (int)n - 1 || !json_get(parent, path[n - 1]))
		return;
	add_op(p, "remove", path, n, NULL);
	json_del(parent, path[n - 1]);
}

bool patch_empty(const struct patch *p)
{
	return json_len(p->ops) == 0;
}
