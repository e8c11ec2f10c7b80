/*
 * The compatibility table with some bytes replaced: it is refused with a line of text, or every question that is
 * asked of it has an answer. Input: two bytes where, one byte how many go, and what comes in their place.
 */
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/celld/compat.h"
#include "common/celld/env.h"
#include "common/celld/table_load.h"
#include "common/kube/file.h"
#include "common/limits.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *whole_table(void)
{
	static char *text;
	struct err e = ERR_INIT;

	if (!text && file_read("common/celld/celld.yaml", LIMIT_CONFIG_FILE, &text, &e))
		abort();
	return text;
}

static void ask(const struct celld_table *t)
{
	static const struct version v[] = { { 0, 1, 0 }, { 0, 4, 1 }, { 0, 6, 2 }, { 9, 9, 9 } };
	static const char *const names[] = { "CELLD_VAR_X", "RUST_LOG", "CELLD_BUCKET", "" };

	for (size_t i = 0; i < array_len(v); i++) {
		if (!celld_facts_of(t, v[i]))
			abort();
		(void)celld_knows_minor(t, v[i]);
		for (size_t k = 0; k < array_len(names); k++)
			(void)celld_env_check(t, v[i], names[k], false);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *table = whole_table();
	size_t len = strlen(table), at, gone;
	struct celld_table *t = xcalloc(1, sizeof(*t));
	struct buf text = BUF_INIT(LIMIT_CONFIG_FILE);
	struct err e = ERR_INIT;

	if (size >= 3) {
		at = ((size_t)data[0] << 8 | data[1]) % len;
		gone = data[2] < len - at ? data[2] : len - at;
		buf_add(&text, table, at);
		buf_add(&text, (const char *)data + 3, size - 3);
		buf_add(&text, table + at + gone, len - at - gone);
		if (!celld_table_load(text.data, text.len, "table", t, &e))
			ask(t);
		else if (!e.message[0] || strchr(e.message, '\n'))
			abort();
	}
	buf_done(&text);
	free(t);
	return 0;
}
