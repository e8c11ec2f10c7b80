/*
 * codec.h - base64 (RFC 4648, section 4), strict: the standard alphabet, padded, no line breaks,
 * and the unused bits of the last character zero, so that every byte string has exactly one text.
 */
#ifndef COMMON_CODEC_H
#define COMMON_CODEC_H

#include "common/base.h"

/* The text; the caller's. */
char *codec_base64_encode(const void *data, size_t n) must_use;
/*
 * The bytes, followed by a NUL that is not counted; the caller's. NULL: text[0..len) is no base64,
 * and *ret_n is left alone.
 */
unsigned char *codec_base64_decode(const char *text, size_t len, size_t *ret_n) must_use;

#endif
