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

static void add(struct input *in, const struct json *value, const char *file, size_t document)
{
	if (in->n == in->room) {
		in->room = in->room ? 2 * in->room : 8;
		in->v = xrealloc(in->v, in->room * sizeof(*in->v));
	}
	in->v[in->n++] = (struct input_object){ .value = json_dup(value),
						.file = file_name(file),
						.document = document };
}

static void add_document(struct input *in, const struct json *value, const char *file,
			 size_t document)
{
	const struct json *items = json_get(value, "items");
	const char *kind = json_get_str(value, "kind");

	if (json_kind(items) != JSON_ARRAY || !kind || !str_ends(kind, "List")) {
		add(in, value, file, document);
		return;
	}
	for (const struct json *c = json_first(items); c; c = json_next(c))
		add(in, c, file, document);
}

int input_read(struct input *in, const char *file, FILE *stdin_, struct err *e)
{
	struct buf text = BUF_INIT(LIMIT_MANIFEST_FILE);
	struct yaml_docs docs = YAML_DOCS_INIT;
	int r = read_file(file, stdin_, &text, e);

	if (!r) {
		r = yaml_parse(buf_str(&text), text.len, &docs, e);
		if (r)
			r = err_wrap(e, "%s", file_name(file));
	}
	for (size_t i = 0; !r && i < docs.n; i++)
		add_document(in, docs.v[i].value, file, i + 1);
	yaml_docs_done(&docs);
	buf_done(&text);
	return r;
}

void input_done(struct input *in)
{
	for (size_t i = 0; i < in->n; i++)
		json_free(in->v[i].value);
	free(in->v);
	*in = (struct input)INPUT_INIT;
}
