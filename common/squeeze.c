#include "common/squeeze.h"

#include <lz4.h>
#include <stdlib.h>
#include <string.h>

/* More of the model's end than this is of no use to LZ4. */
enum { MODEL_MOST = 64 << 10 };

static const char *end_of(const char *model, int *ret_len)
{
	size_t n = model ? strlen(model) : 0;

	*ret_len = n < MODEL_MOST ? (int)n : MODEL_MOST;
	return model ? model + n - *ret_len : NULL;
}

struct squeezed *squeeze(const char *model, const char *text)
{
	LZ4_stream_t *stream = LZ4_createStream();
	size_t n = strlen(text);
	struct squeezed *to;
	int room, before, size;

	if (!stream || n > LZ4_MAX_INPUT_SIZE)
		abort();
	room = LZ4_compressBound((int)n);
	to = xmalloc(sizeof(*to) + (size_t)room);
	model = end_of(model, &before);
	(void)LZ4_loadDict(stream, model, before);
	size = LZ4_compress_fast_continue(stream, text, to->bytes, (int)n, room, 1);
	(void)LZ4_freeStream(stream);
	if (size <= 0)
		abort();
	to->len = (unsigned)n;
	to->size = (unsigned)size;
	return xrealloc(to, sizeof(*to) + (size_t)size);
}

char *unsqueeze(const char *model, const struct squeezed *s)
{
	char *text = xmalloc((size_t)s->len + 1);
	int before;

	model = end_of(model, &before);
	if (LZ4_decompress_safe_usingDict(s->bytes, text, (int)s->size, (int)s->len, model,
					  before) != (int)s->len)
		abort();
	text[s->len] = '\0';
	return text;
}
