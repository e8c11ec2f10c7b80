#include "webhook/warnings.h"

#include <string.h>

#include "common/json.h"
#include "common/limits.h"

/* A copy without control characters, at most LIMIT_WARNING characters long; the caller's. */
static char *clean_warning(const char *s)
{
	char *text = xstrdup(s), *out = text;
	size_t characters = 0;

	for (const char *c = s; *c; c++) {
		unsigned char b = (unsigned char)*c;

		if (b < 0x20 || b == 0x7f)
			continue;
		if ((b & 0xc0) != 0x80 && ++characters > LIMIT_WARNING)
			break;
		*out++ = *c;
	}
	*out = '\0';
	return text;
}

void warnings_print(const struct strlist *l, struct buf *to)
{
	struct strlist clean = STRLIST_INIT;
	size_t used = 0;

	for (size_t i = 0; i < l->n; i++) {
		cleanup(freep) char *text = clean_warning(l->v[i]);

		if (*text)
			strlist_add_once(&clean, text);
	}
	for (size_t i = 0; i < clean.n; i++) {
		used += strlen(clean.v[i]);
		if (used > LIMIT_MESSAGE)
			break;
		buf_puts(to, i ? "," : ",\"warnings\":[");
		json_print_str(clean.v[i], to);
		if (i + 1 == clean.n || used + strlen(clean.v[i + 1]) > LIMIT_MESSAGE)
			buf_putc(to, ']');
	}
	strlist_done(&clean);
}
