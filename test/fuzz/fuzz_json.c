/*
 * What json_parse takes prints to the same value again, sorted or not; what YAML reads of the same
 * bytes, if it does, is the same value.
 */
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const struct json *j, char *text)
{
	struct json *again = NULL;
	struct err e = ERR_INIT;

	if (!text)
		return; /* longer than is ever printed */
	if (json_parse(text, strlen(text), &again, &e) || !json_equal(j, again))
		abort();
	json_free(again);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct json *j = NULL;
	struct yaml_doc doc = { 0 };
	struct err e = ERR_INIT;

	if (json_parse((const char *)data, size, &j, &e))
		return 0;
	check_text(j, json_text(j));
	check_text(j, json_text_sorted(j));
	if (!yaml_parse_one((const char *)data, size, &doc, &e)) {
		if (!json_equal(j, doc.value))
			abort();
		yaml_doc_done(&doc);
	}
	json_free(j);
	return 0;
}
