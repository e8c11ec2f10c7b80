/*
 * Whatever yaml_parse takes, yaml_print writes so that it reads back as the same value, in the same
 * bytes; and every place of it can be asked for.
 */
#include <stdlib.h>

#include "common/buf.h"
#include "common/json.h"
#include "common/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_round_trip(const struct json *j)
{
	struct buf first = BUF_INIT(1 << 26), second = BUF_INIT(1 << 26);
	struct yaml_doc again = { 0 };
	struct err e = ERR_INIT;

	yaml_print(j, &first);
	if (buf_ok(&first)) {
		if (yaml_parse_one(first.data, first.len, &again, &e) ||
		    !json_equal(j, again.value))
			abort();
		yaml_print(again.value, &second);
		if (!str_eq(buf_str(&first), buf_str(&second)))
			abort();
		yaml_doc_done(&again);
	}
	buf_done(&first);
	buf_done(&second);
}

static void check_places(const struct yaml_doc *doc, const struct json *j, const char *path,
			 unsigned depth)
{
	bool list = json_kind(j) == JSON_ARRAY;
	struct yaml_place p;
	size_t i = 0;

	if (!yaml_where(doc, path, &p) || !p.line || !p.col)
		abort();
	for (const struct json *c = json_first(j); c && depth < 4 && i < 8; c = json_next(c), i++) {
		cleanup(freep) char *below = list ? xasprintf("%s[%zu]", path, i)
						  : xasprintf("%s[%s]", path, json_name(c));

		if (list || !__builtin_strchr(json_name(c), ']'))
			check_places(doc, c, below, depth + 1);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct yaml_docs docs = YAML_DOCS_INIT;
	struct err e = ERR_INIT;

	if (yaml_parse((const char *)data, size, &docs, &e))
		return 0;
	for (size_t i = 0; i < docs.n; i++) {
		check_places(&docs.v[i], docs.v[i].value, "", 0);
		check_round_trip(docs.v[i].value);
	}
	yaml_docs_done(&docs);
	return 0;
}
