#include "common/codec.h"

#include <stdlib.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

char *codec_base64_encode(const void *data, size_t n)
{
	const unsigned char *in = data;
	char *text = xmalloc((n + 2) / 3 * 4 + 1), *out = text;

	for (size_t i = 0; i < n; i += 3) {
		size_t have = n - i < 3 ? n - i : 3;
		unsigned v = (unsigned)in[i] << 16;

		if (have > 1)
			v |= (unsigned)in[i + 1] << 8;
		if (have > 2)
			v |= in[i + 2];
		*out++ = alphabet[v >> 18];
		*out++ = alphabet[v >> 12 & 63];
		out[0] = out[1] = '=';
		if (have > 1)
			out[0] = alphabet[v >> 6 & 63];
		if (have > 2)
			out[1] = alphabet[v & 63];
		out += 2;
	}
	*out = '\0';
	return text;
}

/* The six bits of a character, or -1. */
static int bits(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == '+')
		return 62;
	return c == '/' ? 63 : -1;
}

/* Four characters, the last `pad` of them '=': their bytes in *ret_v, from the top of 24 bits. */
static bool group(const char *s, size_t pad, unsigned *ret_v)
{
	unsigned v = 0;

	for (size_t i = 0; i < 4; i++) {
		int b = i < 4 - pad ? bits(s[i]) : 0;

		if (b < 0)
			return false;
		v = v << 6 | (unsigned)b;
	}
	*ret_v = v;
	return pad == 0 || (v & (pad == 1 ? 0xffU : 0xffffU)) == 0;
}

unsigned char *codec_base64_decode(const char *text, size_t len, size_t *ret_n)
{
	cleanup(freep) unsigned char *data = NULL;
	size_t pad = 0, n = 0;

	if (len % 4)
		return NULL;
	if (len && text[len - 1] == '=')
		pad = text[len - 2] == '=' ? 2 : 1;
	data = xmalloc(len / 4 * 3 + 1);
	for (size_t i = 0; i < len; i += 4) {
		unsigned v;

		if (!group(text + i, i + 4 == len ? pad : 0, &v))
			return NULL;
		data[n++] = (unsigned char)(v >> 16);
		data[n++] = (unsigned char)(v >> 8);
		data[n++] = (unsigned char)v;
	}
	n -= pad;
	data[n] = '\0';
	*ret_n = n;
	return take(data);
}
