#include "common/kube/framer.h"

#include <string.h>

void framer_init(struct framer *f, size_t max)
{
	*f = (struct framer){ .max = max };
	/* One line with its end, and the piece that brought the end: pieces are not longer than a
	 * line may be. */
	buf_init(&f->held, 2 * max + 2);
}

void framer_done(struct framer *f)
{
	buf_done(&f->held);
}

void framer_reset(struct framer *f)
{
	buf_clear(&f->held);
	f->start = f->scanned = 0;
	f->too_long = false;
}

void framer_add(struct framer *f, const char *bytes, size_t n)
{
	if (f->too_long)
		return;
	buf_consume(&f->held, f->start);
	f->scanned -= f->start;
	f->start = 0;
	buf_add(&f->held, bytes, n);
	if (!buf_ok(&f->held))
		f->too_long = true;
}

/* The bytes of the line that ends at end. */
static void line_at(struct framer *f, size_t end, const char **ret_line, size_t *ret_len)
{
	size_t len = end - f->start;

	*ret_line = f->held.data + f->start;
	if (len && (*ret_line)[len - 1] == '\r')
		len--;
	*ret_len = len;
	f->start = f->scanned = end + 1;
	if (len > f->max)
		f->too_long = true;
}

bool framer_next(struct framer *f, const char **ret_line, size_t *ret_len)
{
	while (!f->too_long && f->scanned < f->held.len) {
		const char *from = f->held.data + f->scanned;
		const char *end = memchr(from, '\n', f->held.len - f->scanned);

		if (!end) {
			f->scanned = f->held.len;
			f->too_long = f->held.len - f->start > f->max + 1; /* 1: a '\r' */
			break;
		}
		line_at(f, (size_t)(end - f->held.data), ret_line, ret_len);
		if (*ret_len && !f->too_long)
			return true;
	}
	return false;
}

bool framer_ok(const struct framer *f)
{
	return !f->too_long;
}
