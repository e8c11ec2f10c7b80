#include "common/squeeze.h"

#include <lz4.h>
#include <stdlib.h>
#include <string.h>

/* More of the model's end than this is of no use to LZ4. */
enum { MODEL_MOST = 64 << 10 };

static struct squeeze_model end_of(struct squeeze_model model)
{
	size_t n = model.len < MODEL_MOST ? model.len : MODEL_MOST;

	return n ? (struct squeeze_model){ n, model.bytes + model.len - n } : model;
}

struct squeezed *squeeze(struct squeeze_model model, const void *bytes, size_t len)
{
	LZ4_stream_t *stream = LZ4_createStream();
	struct squeezed *to;
	int room, size;

	if (!stream || len > LZ4_MAX_INPUT_SIZE)
		abort();
	room = LZ4_compressBound((int)len);
	to = xmalloc(sizeof(*to) + (size_t)room);
	model = end_of(model);
	(void)LZ4_loadDict(stream, model.bytes, (int)model.len);
	size = LZ4_compress_fast_continue(stream, bytes, to->bytes, (int)len, room, 1);
	(void)LZ4_freeStream(stream);
	if (size <= 0)
		abort();
	to->len = (unsigned)len;
	to->size = (unsigned)size;
	return xrealloc(to, sizeof(*to) + (size_t)size);
}

char *unsqueeze(struct squeeze_model model, const struct squeezed *s)
{
	char *to = xmalloc((size_t)s->len + 1);

	model = end_of(model);
	if (LZ4_decompress_safe_usingDict(s->bytes, to, (int)s->size, (int)s->len, model.bytes,
					  (int)model.len) != (int)s->len)
		abort();
	to[s->len] = '\0';
	return to;
}
