/* json_scan.h - strict single-pass JSON checker that reports where chosen members lie.
 *
 * One pass over the whole input checks, per RFC 8259: grammar, numbers, strings, literals, that
 * nothing follows the top-level value; and in addition: nesting <= JS_MAX_DEPTH, valid UTF-8 (no
 * overlong forms, no surrogates), no lone \uD800..\uDFFF, no \u0000, no duplicate member names
 * within one object (compared after unescaping). Nothing is copied or built; the caller gets byte
 * ranges ("spans") of the members it asked for.
 *
 * The input must be followed by JS_PAD zero bytes: the vector loops read ahead, and NUL stops every
 * loop.
 */
#ifndef COMMON_JSON_SCAN_H
#define COMMON_JSON_SCAN_H
#include <stddef.h>
#include <stdint.h>

enum { JS_MAX_DEPTH = 128, JS_PAD = 16 };

typedef enum {
	JS_OK = 0,
	JS_ERR_PAD,
	JS_ERR_SYNTAX,
	JS_ERR_DEPTH,
	JS_ERR_DUP_KEY,
	JS_ERR_STRING,
	JS_ERR_NUL,
	JS_ERR_UTF8,
	JS_ERR_NUMBER,
	JS_ERR_TRAILING,
	JS_ERR_LIMIT,
	JS_ERR_NOMEM
} js_err;

/* A byte range of the input; first byte tells the type ('{' '[' '"' 't' 'f' 'n' '-' or digit). len
 * 0: absent. */
typedef struct {
	uint32_t off, len;
} js_span;

/* One node of the tree of wanted paths. nodes[0] is the top-level value (its key is not used). The
 * children of a node are nodes[first] .. nodes[first + count - 1]. slot: index into the span array,
 * or -1. Names are plain ASCII. */
typedef struct {
	const char *key;
	uint8_t key_len;
	int8_t slot;
	uint8_t first, count;
} js_node;
#define JS_NODE(name, slot, first, count)                                                          \
	{                                                                                          \
		name, sizeof(name) - 1, slot, first, count                                         \
	}

/* Reusable scratch memory for duplicate checking; one per thread. max_keys bounds the member names
 * held at once (those of all objects open at one moment), so memory stays under about 28 bytes *
 * max_keys. */
typedef struct {
	struct js_key {
		uint32_t off, len;
	} * keys;	 /* names of the objects now open; top bit of len: has escapes */
	uint32_t *hash;	 /* their hashes, same index */
	uint32_t *table; /* scratch hash table for objects with many members */
	uint32_t cap, table_cap, max_keys;
	uint64_t seed[2];
} js_ctx;

int js_ctx_init(js_ctx *ctx, uint32_t max_keys); /* 0, or -1 if memory or entropy is lacking */
void js_ctx_free(js_ctx *ctx);

/* Scans buf[0..len). spans[0..nspans) are all set (absent: {0,0}). On error *err_off tells where.
 * len < 2^31. */
js_err js_scan(js_ctx *ctx, const char *buf, size_t len, const js_node *nodes, js_span *spans,
	       size_t nspans, size_t *err_off);

/* Unescapes a string span (quotes included, already checked by js_scan) into dst, which has room
 * for span.len bytes. Returns the length. No NUL is added. */
size_t js_unescape(const char *buf, js_span s, char *dst);

const char *js_strerror(js_err e);
#endif
