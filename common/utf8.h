/*
 * utf8.h - one UTF-8 character. What comes from outside may hold anything; what goes out must not.
 */
#ifndef COMMON_UTF8_H
#define COMMON_UTF8_H

#include "common/base.h"

/* Length of the character at s (NUL-terminated), 0: it is none (overlong, surrogate, cut, end). */
static inline size_t utf8_char(const char *s)
{
	const unsigned char *p = (const unsigned char *)s;
	size_t n = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	unsigned char low = 0x80, high = 0xbf; /* bounds of the second byte */

	if (p[0] < 0x80)
		return p[0] != 0;
	if (p[0] < 0xc2 || p[0] > 0xf4)
		return 0;
	if (p[0] == 0xe0)
		low = 0xa0;
	else if (p[0] == 0xed)
		high = 0x9f;
	else if (p[0] == 0xf0)
		low = 0x90;
	else if (p[0] == 0xf4)
		high = 0x8f;
	if (p[1] < low || p[1] > high)
		return 0;
	for (size_t i = 2; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	}
	return n;
}

#endif
