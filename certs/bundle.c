#include "certs/bundle.h"

#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/limits.h"

#define BEGIN "-----BEGIN CERTIFICATE-----"
#define END   "-----END CERTIFICATE-----"

void bundle_done(struct bundle *b)
{
	for (size_t i = 0; i < b->n; i++)
		free(b->cert[i].pem);
	b->n = 0;
}

bool bundle_has(const struct bundle *b, const unsigned char id[DIGEST_BYTES])
{
	for (size_t i = 0; i < b->n; i++) {
		if (!memcmp(b->cert[i].facts.id, id, DIGEST_BYTES))
			return true;
	}
	return false;
}

static void add_one(struct bundle *b, const char *pem, size_t n)
{
	cleanup(freep) char *text = xstrndup(pem, n);
	struct issue_facts f;

	if (b->n == BUNDLE_MAX || !issue_read(text, &f) || bundle_has(b, f.id))
		return;
	b->cert[b->n++] = (struct bundle_cert){ .facts = f, .pem = take(text) };
}

void bundle_add(struct bundle *b, const char *pem)
{
	const char *begin = pem ? strstr(pem, BEGIN) : NULL;

	while (begin) {
		const char *end = strstr(begin, END);

		if (!end)
			return;
		end += strlen(END);
		add_one(b, begin, (size_t)(end - begin));
		begin = strstr(end, BEGIN);
	}
}

bool bundle_covers(const struct bundle *b, const struct bundle *part)
{
	for (size_t i = 0; i < part->n; i++) {
		if (!bundle_has(b, part->cert[i].facts.id))
			return false;
	}
	return true;
}

void bundle_drop_ended(struct bundle *b, int64_t now_ms)
{
	size_t kept = 0;

	for (size_t i = 0; i < b->n; i++) {
		if (b->cert[i].facts.end_ms > now_ms)
			b->cert[kept++] = b->cert[i];
		else
			free(b->cert[i].pem);
	}
	b->n = kept;
}

char *bundle_text(const struct bundle *b)
{
	struct buf t = BUF_INIT(LIMIT_KUBE_OBJECT);

	for (size_t i = 0; i < b->n; i++) {
		buf_puts(&t, b->cert[i].pem);
		buf_putc(&t, '\n');
	}
	return t.len ? buf_take(&t) : xstrdup("");
}
