#include "cli/input.h"

#include <errno.h>
#include <stdlib.h>

#include "common/buf.h"
#include "common/json.h"
#include "common/limits.h"
#include "common/yaml.h"

static const char *file_name(const char *file)
{
	return str_eq(file, "-") ? "standard input" : file;
}

static int read_stream(FILE *f, const char *file, struct buf *to, struct err *e)
{
	enum { STEP = 64 << 10 };
	size_t n;

	do {
		char *room = buf_room(to, STEP);

		if (!room)
			return err_set(e, ERR_TOO_LARGE, "%s: more than %d bytes", file_name(file),
				       LIMIT_MANIFEST_FILE);
		n = fread(room, 1, STEP, f);
		buf_grew(to, n);
	} while (n);
	return ferror(f) ? err_errno(e, errno, "%s", file_name(file)) : 0;
}

static int read_file(const char *file, FILE *stdin_, struct buf *to, struct err *e)
{
	FILE *f;
	int r;

	if (str_eq(file, "-"))
		return read_stream(stdin_, file, to, e);
	f = fopen(file, "re");
	if (!f)
		return err_errno(e, errno, "%s", file);
	r = read_stream(f, file, to, e);
	(void)fclose(f);
	return r;
}

static void add(struct input *in, const struct json *value, struct input_object o)
{
	if (in->n == in->room) {
		in->room = in->room ? 2 * in->room : 8;
		in->v = xrealloc(in->v, in->room * sizeof(*in->v));
	}
	o.value = json_dup(value);
	in->v[in->n++] = o;
}

static void add_document(struct input *in, const struct yaml_doc *doc, const char *file,
			 size_t document)
{
	const struct json *items = json_get(doc->value, "items");
	const char *kind = json_get_str(doc->value, "kind");
	struct input_object o = {
		.file = file_name(file), .document = document, .doc = doc, .item = SIZE_MAX
	};

	if (json_kind(items) != JSON_ARRAY || !kind || !str_ends(kind, "List")) {
		add(in, doc->value, o);
		return;
	}
	o.item = 0;
	for (const struct json *c = json_first(items); c; c = json_next(c), o.item++)
		add(in, c, o);
}

int input_read(struct input *in, const char *file, FILE *stdin_, struct err *e)
{
	struct buf text = BUF_INIT(LIMIT_MANIFEST_FILE);
	struct yaml_docs *docs = xcalloc(1, sizeof(*docs));
	int r = read_file(file, stdin_, &text, e);

	if (!r) {
		r = yaml_parse(buf_str(&text), text.len, docs, e);
		if (r)
			r = err_wrap(e, "%s", file_name(file));
	}
	for (size_t i = 0; !r && i < docs->n; i++)
		add_document(in, &docs->v[i], file, i + 1);
	in->read = xrealloc(in->read, (in->n_read + 1) * sizeof(struct yaml_docs *));
	in->read[in->n_read++] = docs;
	buf_done(&text);
	return r;
}

void input_where(const struct input_object *o, const char *path, struct yaml_place *ret)
{
	cleanup(freep) char *whole = NULL;

	*ret = (struct yaml_place){ .line = o->doc->line ? o->doc->line : 1, .col = 1 };
	if (o->item == SIZE_MAX) {
		(void)yaml_where(o->doc, path, ret);
		return;
	}
	whole = xasprintf("items[%zu]%s%s", o->item, *path ? "." : "", path);
	(void)yaml_where(o->doc, whole, ret);
}

void input_done(struct input *in)
{
	for (size_t i = 0; i < in->n; i++)
		json_free(in->v[i].value);
	for (size_t i = 0; i < in->n_read; i++) {
		yaml_docs_done(in->read[i]);
		free(in->read[i]);
	}
	free(in->read);
	free(in->v);
	*in = (struct input)INPUT_INIT;
}

void input_give_namespace(struct json *doc, const char *namespace)
{
	struct json *metadata = json_get_mutable(doc, "metadata");

	if (json_kind(metadata) == JSON_OBJECT && str_empty(json_get_str(metadata, "namespace")))
		json_set_str(metadata, "namespace", namespace);
}
