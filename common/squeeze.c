#include "common/squeeze.h"

#include <stdlib.h>
#include <string.h>

#include "common/buf.h"

enum { LEAST = 6, BITS = 11, SLOTS = 1 << BITS, STEP = 4, MOST = 64 << 20 };

/* The model and the text behind it, as one. */
struct source {
	char *all;
	size_t from, end; /* of the text */
	unsigned last
		[SLOTS]; /* where a run of LEAST bytes of this hash was last, plus one; 0: nowhere */
};

static unsigned slot_of(const char *p)
{
	uint64_t v = 0;

	memcpy(&v, p, LEAST);
	return (unsigned)((v * 0x9e3779b97f4a7c15u) >> (64 - BITS));
}

static void note(struct source *s, size_t at)
{
	if (at + LEAST <= s->end)
		s->last[slot_of(s->all + at)] = (unsigned)at + 1;
}

/* How much at `at` was there before, and where. */
static size_t match(const struct source *s, size_t at, size_t *ret_where)
{
	size_t where, n = 0;

	if (at + LEAST > s->end || !s->last[slot_of(s->all + at)])
		return 0;
	where = s->last[slot_of(s->all + at)] - 1;
	while (at + n < s->end && s->all[where + n] == s->all[at + n])
		n++;
	*ret_where = where;
	return n >= LEAST ? n : 0;
}

static void put_number(struct buf *to, size_t v)
{
	for (; v >= 128; v >>= 7)
		buf_putc(to, (char)(128 | (v & 127)));
	buf_putc(to, (char)v);
}

static void pieces(struct source *s, struct buf *to)
{
	size_t at = s->from, own = at, where = 0;

	/* Not each of the model's: what begins in between is found a few bytes later. */
	for (size_t i = 0; i < s->from; i += STEP)
		note(s, i);
	while (at < s->end) {
		size_t n = match(s, at, &where);

		if (!n) {
			note(s, at++);
			continue;
		}
		put_number(to, at - own);
		buf_add(to, s->all + own, at - own);
		put_number(to, n);
		put_number(to, at - where);
		for (size_t i = 0; i < n; i++)
			note(s, at + i);
		at += n;
		own = at;
	}
	put_number(to, at - own);
	buf_add(to, s->all + own, at - own);
}

struct squeezed *squeeze(const char *model, const char *text)
{
	size_t before = model ? strlen(model) : 0, n = strlen(text);
	struct source *s = xcalloc(1, sizeof(*s));
	struct buf b = BUF_INIT(MOST);
	struct squeezed *to;

	s->all = xmalloc(before + n + 1);
	if (before)
		memcpy(s->all, model, before);
	memcpy(s->all + before, text, n);
	s->from = before;
	s->end = before + n;
	pieces(s, &b);
	to = xmalloc(sizeof(*to) + b.len);
	to->len = (unsigned)n;
	to->size = (unsigned)b.len;
	memcpy(to->bytes, b.data, b.len);
	buf_done(&b);
	free(s->all);
	free(s);
	return to;
}

static size_t take_number(const struct squeezed *s, size_t *at)
{
	size_t v = 0;

	for (unsigned shift = 0; *at < s->size; shift += 7) {
		unsigned char c = s->bytes[(*at)++];

		v |= (size_t)(c & 127) << shift;
		if (c < 128)
			break;
	}
	return v;
}

char *unsqueeze(const char *model, const struct squeezed *s)
{
	size_t before, at = 0, n = 0;
	char *text = xmalloc((size_t)s->len + 1);

	if (!model)
		model = "";
	before = strlen(model);
	while (n < s->len) {
		size_t own = take_number(s, &at), same, back;

		memcpy(text + n, s->bytes + at, own);
		at += own;
		n += own;
		if (n == s->len)
			break;
		same = take_number(s, &at);
		back = take_number(s, &at);
		/* byte by byte: the end of a run may be made of its begin */
		for (; same; same--, n++) {
			const char *source = back > n ? model + before : text;

			text[n] = source[(ptrdiff_t)n - (ptrdiff_t)back];
		}
	}
	text[n] = '\0';
	return text;
}
