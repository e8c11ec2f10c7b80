/*
 * Lines do not depend on where the stream was cut: the first byte says how long the pieces are, the rest is compared
 * with the same bytes in one piece.
 */
#include <stdlib.h>
#include <string.h>

#include "common/kube/framer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LINE = 64 };

static void run(const char *text, size_t n, size_t piece, struct buf *to)
{
	struct framer f;
	const char *line;
	size_t len;

	framer_init(&f, LINE);
	for (size_t at = 0; at < n; at += piece) {
		framer_add(&f, text + at, n - at < piece ? n - at : piece);
		while (framer_next(&f, &line, &len)) {
			if (!len || len > LINE || memchr(line, '\n', len))
				abort();
			buf_add(to, line, len);
			buf_putc(to, '\n');
		}
	}
	if (!framer_ok(&f))
		buf_puts(to, "!");
	framer_done(&f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf small = BUF_INIT(1 << 20), large = BUF_INIT(1 << 20);
	const char *text = (const char *)data + 1;

	if (size < 2)
		return 0;
	run(text, size - 1, 1, &small);
	run(text, size - 1, data[0] % LINE + 1, &large);
	if (small.len != large.len || (small.len && memcmp(small.data, large.data, small.len) != 0))
		abort();
	buf_done(&small);
	buf_done(&large);
	return 0;
}
