/* json_scan.c - see json_scan.h. C17; SSE2 where the compiler offers it (every x86-64), plain C
 * otherwise.
 *
 * Shape: one loop over the bytes with an explicit stack of open containers, so depth is bounded and
 * there is no recursion. Member names go on a second stack (offset, length, 32-bit hash). The names
 * of one object lie side by side there, because those of its children are popped when the children
 * close; so the duplicate check runs once per object, at its '}', over a contiguous array of
 * hashes: all pairs when there are few, a hash table when many.
 */
#include "common/json_scan.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/utf8.h"

#if defined(__SSE2__) && !defined(JS_NO_SIMD)
#define JS_SSE2 1
#include <emmintrin.h>
#endif

enum { SMALL_OBJECT = 16 }; /* up to this many members, compare all pairs of hashes */
static const uint32_t ESCAPED = 1u << 31;
typedef const uint8_t *ptr;

/* --- strings ---------------------------------------------------------------------------------- */

/* First byte at or after p that is not plain string text: '"', '\\', a control character or a byte
 * >= 0x80. */
static inline ptr skip_plain(ptr p)
{
#ifdef JS_SSE2
	const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\'),
		      space = _mm_set1_epi8(' ');
	for (;; p += 16) {
		__m128i v = _mm_loadu_si128((const void *)p);
		__m128i m = _mm_or_si128(
			_mm_cmplt_epi8(v, space), /* signed: < 0x20 and >= 0x80 in one comparison */
			_mm_or_si128(_mm_cmpeq_epi8(v, quote), _mm_cmpeq_epi8(v, backslash)));
		unsigned bits = (unsigned)_mm_movemask_epi8(m);
		if (bits)
			return p + __builtin_ctz(bits);
	}
#else
	while (*p >= ' ' && *p < 0x80 && *p != '"' && *p != '\\')
		p++;
	return p;
#endif
}

/* Checks a run of non-ASCII characters; returns the first ASCII byte after it, or NULL. */
static ptr utf8_run(ptr p)
{
	do {
		size_t n = utf8_char((const char *)p);

		if (!n)
			return NULL;
		p += n;
	} while (*p >= 0x80);
	return p;
}

static int hex_digit(unsigned c)
{
	if (c - '0' < 10)
		return (int)(c - '0');
	c |= 0x20;
	return c - 'a' < 6 ? (int)(c - 'a' + 10) : -1;
}

static int hex4(ptr p) /* four hex digits, or -1 */
{
	int v = 0;
	for (int i = 0; i < 4; i++) {
		int d = hex_digit(p[i]);
		if (d < 0)
			return -1;
		v = v << 4 | d;
	}
	return v;
}

static const uint8_t simple_escape[256] = {
	['"'] = '"',  ['\\'] = '\\', ['/'] = '/',  ['b'] = '\b',
	['f'] = '\f', ['n'] = '\n',  ['r'] = '\r', ['t'] = '\t'
};

/* Just after the escape at p; NULL with *err set. */
static ptr escape(ptr p, js_err *err)
{
	int u, low;

	if (simple_escape[p[1]])
		return p + 2;
	u = p[1] == 'u' ? hex4(p + 2) : -1;
	*err = u == 0 ? JS_ERR_NUL : JS_ERR_STRING;
	if (u <= 0 || (u >= 0xDC00 && u < 0xE000))
		return NULL;
	p += 6;
	if (u < 0xD800 || u >= 0xDC00)
		return p;
	/* high surrogate: the low one must follow */
	low = p[0] == '\\' && p[1] == 'u' ? hex4(p + 2) : -1;
	return low < 0xDC00 || low > 0xDFFF ? NULL : p + 6;
}

/* The rest of a string after a special byte at p; out of line, because most strings end at their first special. */
static __attribute__((noinline)) ptr string_tail(ptr p, bool *escaped, ptr *bad, js_err *err)
{
	js_err why = JS_ERR_STRING;

	for (; p; p = p ? skip_plain(p) : NULL) {
		if (*p == '"')
			return p + 1;
		*bad = p;
		if (*p == '\\') {
			*escaped = true;
			p = escape(p, &why);
		} else if (*p >= 0x80) {
			why = JS_ERR_UTF8;
			p = utf8_run(p);
		} else { /* control character, or the end of the input */
			why = JS_ERR_STRING;
			p = NULL;
		}
	}
	*err = why;
	return NULL;
}

/* p: just after the opening quote. Returns just after the closing quote, or NULL with *bad and *err set. */
static inline ptr string(ptr p, bool *escaped, ptr *bad, js_err *err)
{
	p = skip_plain(p);
	if (__builtin_expect(*p == '"', 1))
		return p + 1;
	return string_tail(p, escaped, bad, err);
}

size_t js_unescape(const char *buf, js_span s, char *dst)
{
	ptr p = (ptr)buf + s.off + 1, end = (ptr)buf + s.off + s.len - 1;
	uint8_t *d = (uint8_t *)dst;
	while (p < end) {
		ptr plain = memchr(p, '\\', (size_t)(end - p));
		size_t n = (size_t)((plain ? plain : end) - p);
		memcpy(d, p, n);
		d += n;
		p += n;
		if (p == end)
			break;
		if (p[1] != 'u') {
			*d++ = simple_escape[p[1]];
			p += 2;
			continue;
		}
		uint32_t u = (uint32_t)hex4(p + 2);
		p += 6;
		if (u >= 0xD800 && u < 0xDC00) {
			u = 0x10000 + ((u - 0xD800) << 10) + ((uint32_t)hex4(p + 2) - 0xDC00);
			p += 6;
		}
		if (u < 0x80)
			*d++ = (uint8_t)u;
		else {
			if (u < 0x800)
				*d++ = (uint8_t)(0xC0 | u >> 6);
			else {
				if (u < 0x10000)
					*d++ = (uint8_t)(0xE0 | u >> 12);
				else {
					*d++ = (uint8_t)(0xF0 | u >> 18);
					*d++ = (uint8_t)(0x80 | (u >> 12 & 0x3F));
				}
				*d++ = (uint8_t)(0x80 | (u >> 6 & 0x3F));
			}
			*d++ = (uint8_t)(0x80 | (u & 0x3F));
		}
	}
	return (size_t)(d - (uint8_t *)dst);
}

/* --- numbers ---------------------------------------------------------------------------------- */

static inline bool digit(uint8_t c)
{
	return (unsigned)c - '0' < 10;
}

static inline ptr number(ptr p) /* after the number, or NULL */
{
	if (*p == '-')
		p++;
	if (*p == '0')
		p++;
	else if (digit(*p))
		do
			p++;
		while (digit(*p));
	else
		return NULL;
	if (*p == '.') {
		if (!digit(*++p))
			return NULL;
		do
			p++;
		while (digit(*p));
	}
	if ((*p | 0x20) == 'e') {
		p++;
		if (*p == '+' || *p == '-')
			p++;
		if (!digit(*p))
			return NULL;
		do
			p++;
		while (digit(*p));
	}
	return p;
}

/* --- duplicate member names ------------------------------------------------------------------- */

static inline uint64_t load8(ptr p)
{
	uint64_t v;
	memcpy(&v, p, 8);
	return v;
}

static inline uint64_t mix(uint64_t a, uint64_t b)
{
	__extension__ unsigned __int128 r = (unsigned __int128)a * b;
	return (uint64_t)r ^ (uint64_t)(r >> 64);
}

/* Seeded hash of n bytes; may read (not use) up to 16 bytes past them. */
static inline uint32_t hash_bytes(const js_ctx *ctx, ptr p, size_t n)
{
	static const uint8_t keep[32] = { 255, 255, 255, 255, 255, 255, 255, 255,
					  255, 255, 255, 255, 255, 255, 255, 255 };
	uint64_t h = ctx->seed[0] ^ n;
	for (; n > 16; p += 16, n -= 16)
		h = mix(load8(p) ^ h, load8(p + 8) ^ ctx->seed[1]);
	uint64_t a = load8(p) & load8(keep + 16 - n),
		 b = load8(p + 8) & load8(keep + 24 - n); /* no branch on n */
	return (uint32_t)mix(a ^ h, b ^ ctx->seed[1]);
}

/* A name with escapes (managedFields has many: "k:{\"type\":...}") is hashed in its unescaped form. */
static __attribute__((noinline)) js_err hash_escaped(const js_ctx *ctx, const char *buf,
						     struct js_key k, uint32_t *h)
{
	uint32_t n = k.len & ~ESCAPED;
	char small[512], *tmp = n + JS_PAD <= sizeof small ? small : malloc((size_t)n + JS_PAD);
	if (!tmp)
		return JS_ERR_NOMEM;
	*h = hash_bytes(ctx, (ptr)tmp, js_unescape(buf, (js_span){ k.off - 1, n + 2 }, tmp));
	if (tmp != small)
		free(tmp);
	return JS_OK;
}

/* 1: same name, 0: not, -1: no memory. Called only when the hashes are equal. */
static __attribute__((noinline)) int same_name(const char *buf, struct js_key a, struct js_key b)
{
	uint32_t an = a.len & ~ESCAPED, bn = b.len & ~ESCAPED;
	if (!((a.len | b.len) & ESCAPED))
		return an == bn && memcmp(buf + a.off, buf + b.off, an) == 0;
	char *tmp = malloc((size_t)an + bn + 1);
	if (!tmp)
		return -1;
	size_t al = js_unescape(buf, (js_span){ a.off - 1, an + 2 }, tmp);
	size_t bl = js_unescape(buf, (js_span){ b.off - 1, bn + 2 }, tmp + al);
	int same = al == bl && memcmp(tmp, tmp + al, al) == 0;
	free(tmp);
	return same;
}

#define CHECK_PAIR(i, j)                                                                           \
	do {                                                                                       \
		int s_ = same_name(buf, keys[i], keys[j]);                                         \
		if (s_) {                                                                          \
			*bad = keys[j].off;                                                        \
			return s_ < 0 ? JS_ERR_NOMEM : JS_ERR_DUP_KEY;                             \
		}                                                                                  \
	} while (0)

static js_err duplicates_small(const char *buf, const struct js_key *keys, const uint32_t *hash,
			       uint32_t n, uint32_t *bad)
{
	for (uint32_t j = 1; j < n; j++) {
#ifdef JS_SSE2
		const __m128i h = _mm_set1_epi32((int)hash[j]);
		for (uint32_t i = 0; i < j;
		     i += 4) { /* reads up to 3 hashes past j; room is reserved */
			__m128i eq = _mm_cmpeq_epi32(h, _mm_loadu_si128((const void *)(hash + i)));
			unsigned bits = (unsigned)_mm_movemask_ps(_mm_castsi128_ps(eq));
			bits &= 15u >> (j - i < 4 ? 4 - (j - i) : 0); /* only those before j */
			if (__builtin_expect(bits != 0, 0))
				for (uint32_t k = i; k < j && k < i + 4; k++)
					if (hash[k] == hash[j])
						CHECK_PAIR(k, j);
		}
#else
		for (uint32_t i = 0; i < j; i++)
			if (hash[i] == hash[j])
				CHECK_PAIR(i, j);
#endif
	}
	return JS_OK;
}

static __attribute__((noinline)) js_err duplicates_large(js_ctx *ctx, const char *buf,
							 const struct js_key *keys,
							 const uint32_t *hash, uint32_t n,
							 uint32_t *bad)
{
	uint32_t size = 64;
	while (size < 2 * n)
		size *= 2;
	if (size > ctx->table_cap) {
		uint32_t *t = realloc(ctx->table, size * sizeof *t);
		if (!t)
			return JS_ERR_NOMEM;
		ctx->table = t;
		ctx->table_cap = size;
	}
	uint32_t *t = ctx->table;
	memset(t, 0, size * sizeof *t);
	for (uint32_t j = 0; j < n; j++) {
		uint32_t s = hash[j] & (size - 1);
		for (; t[s]; s = (s + 1) & (size - 1))
			if (hash[t[s] - 1] == hash[j])
				CHECK_PAIR(t[s] - 1, j);
		t[s] = j + 1;
	}
	return JS_OK;
}

static __attribute__((noinline)) js_err grow_keys(js_ctx *ctx)
{
	if (ctx->cap >= ctx->max_keys)
		return JS_ERR_LIMIT;
	uint32_t cap = ctx->cap && ctx->cap < ctx->max_keys / 2 ? ctx->cap * 2 : ctx->max_keys;
	struct js_key *k = realloc(ctx->keys, cap * sizeof *k);
	if (k)
		ctx->keys = k;
	uint32_t *h = realloc(ctx->hash, (cap + 4) * sizeof *h);
	if (h)
		ctx->hash = h;
	if (!k || !h)
		return JS_ERR_NOMEM;
	ctx->cap = cap;
	return JS_OK;
}

int js_ctx_init(js_ctx *ctx, uint32_t max_keys)
{
	*ctx = (js_ctx){ .cap = 256, .max_keys = max_keys < 256 ? 256 : max_keys };
	ctx->keys = malloc(ctx->cap * sizeof *ctx->keys);
	ctx->hash = calloc(ctx->cap + 4, sizeof *ctx->hash);
	if (ctx->keys && ctx->hash &&
	    getrandom(ctx->seed, sizeof ctx->seed, 0) == (ssize_t)sizeof ctx->seed) {
		ctx->seed[1] |= 1;
		return 0;
	}
	js_ctx_free(ctx);
	return -1;
}

void js_ctx_free(js_ctx *ctx)
{
	free(ctx->keys);
	free(ctx->hash);
	free(ctx->table);
	*ctx = (js_ctx){ 0 };
}

/* --- the scan --------------------------------------------------------------------------------- */

static inline ptr skip_space(ptr p)
{
	while (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t')
		p++;
	return p;
}

enum kind { ROOT, OBJECT, ARRAY };
struct frame {
	uint32_t start, first_key;
	int16_t node;
	uint8_t kind;
};

#define FAIL(e, at)                                                                                \
	do {                                                                                       \
		err = (e);                                                                         \
		bad = (at);                                                                        \
		goto fail;                                                                         \
	} while (0)

/* One loop with jumps on purpose; see the top. NOLINTNEXTLINE(readability-function-cognitive-complexity) */
js_err js_scan(js_ctx *ctx, const char *buf, size_t len, const js_node *nodes, js_span *spans,
	       size_t nspans, size_t *err_off)
{
	static const char zero[JS_PAD];
	const ptr base = (ptr)buf, end = base + len;
	struct frame stack[JS_MAX_DEPTH + 1], *f = stack;
	uint32_t nkeys = 0; /* names on the key stack */
	int node = 0;	    /* node of the value being read, or -1 */
	ptr p = base, start, bad = base;
	js_err err;
	bool escaped;

	if (nspans)
		memset(spans, 0, nspans * sizeof *spans);
	*f = (struct frame){ .node = -1, .kind = ROOT };
	if (len >= ESCAPED || memcmp(buf + len, zero, JS_PAD) != 0)
		FAIL(JS_ERR_PAD, end);

value:
	if (*p <= ' ')
		p = skip_space(p);
	start = p;
	switch (*p) {
	case '"':
		p = string(p + 1, &escaped, &bad, &err);
		if (!p)
			goto fail;
		break;
	case '{':
	case '[':
		if (f == stack + JS_MAX_DEPTH)
			FAIL(JS_ERR_DEPTH, p);
		*++f = (struct frame){ (uint32_t)(p - base), nkeys, (int16_t)node,
				       *p == '{' ? OBJECT : ARRAY };
		p++;
		if (*p <= ' ')
			p = skip_space(p);
		if (f->kind == OBJECT) {
			if (*p == '}')
				goto close;
			goto key;
		}
		if (*p == ']')
			goto close;
		node = -1;
		goto value;
	case 't':
		if (memcmp(p, "true", 4) != 0)
			FAIL(JS_ERR_SYNTAX, p);
		p += 4;
		break;
	case 'f':
		if (memcmp(p, "false", 5) != 0)
			FAIL(JS_ERR_SYNTAX, p);
		p += 5;
		break;
	case 'n':
		if (memcmp(p, "null", 4) != 0)
			FAIL(JS_ERR_SYNTAX, p);
		p += 4;
		break;
	case '-':
	case '0':
	case '1':
	case '2':
	case '3':
	case '4':
	case '5':
	case '6':
	case '7':
	case '8':
	case '9':
		p = number(p);
		if (!p)
			FAIL(JS_ERR_NUMBER, start);
		break;
	default:
		FAIL(JS_ERR_SYNTAX, p);
	}
	if (node >= 0 && nodes[node].slot >= 0)
		spans[nodes[node].slot] =
			(js_span){ (uint32_t)(start - base), (uint32_t)(p - start) };

after: /* a value ended at p; what follows depends on the container */
	if (*p <= ' ')
		p = skip_space(p);
	if (f->kind == OBJECT) {
		if (*p == ',') {
			p++;
			if (*p <= ' ')
				p = skip_space(p);
			goto key;
		}
		if (*p == '}')
			goto close;
		FAIL(JS_ERR_SYNTAX, p);
	}
	if (f->kind == ARRAY) {
		node = -1;
		if (*p == ',') {
			p++;
			goto value;
		}
		if (*p == ']')
			goto close;
		FAIL(JS_ERR_SYNTAX, p);
	}
	if (p != end)
		FAIL(JS_ERR_TRAILING, p);
	return JS_OK;

key:
	if (*p != '"')
		FAIL(JS_ERR_SYNTAX, p);
	start = p + 1;
	escaped = false;
	p = string(start, &escaped, &bad, &err);
	if (!p)
		goto fail;
	{
		struct js_key k = { (uint32_t)(start - base), (uint32_t)(p - 1 - start) };
#ifndef JS_NO_DUP_CHECK
		if (nkeys == ctx->cap && (err = grow_keys(ctx)) != JS_OK) {
			bad = start;
			goto fail;
		}
		if (__builtin_expect(escaped, 0)) {
			k.len |= ESCAPED;
			if ((err = hash_escaped(ctx, buf, k, &ctx->hash[nkeys])) != JS_OK) {
				bad = start;
				goto fail;
			}
		} else
			ctx->hash[nkeys] = hash_bytes(ctx, start, k.len);
		ctx->keys[nkeys++] = k;
#endif
		node = -1;
		if (f->node >= 0) { /* only inside containers on a wanted path */
			const js_node *n = &nodes[f->node];
			char name[256]; /* an escaped character takes at most 6 bytes: room for
					   42-byte names */
			const char *s = (const char *)start;
			size_t sl = k.len & ~ESCAPED;
			if (escaped && sl < sizeof name) {
				sl = js_unescape(buf, (js_span){ k.off - 1, (uint32_t)sl + 2 },
						 name);
				s = name;
			}
			for (int i = n->first; i < n->first + n->count; i++)
				if (sl == nodes[i].key_len && memcmp(s, nodes[i].key, sl) == 0)
					node = i;
		}
	}
	if (*p <= ' ')
		p = skip_space(p);
	if (*p != ':')
		FAIL(JS_ERR_SYNTAX, p);
	p++;
	goto value;

close: /* p is at the closing bracket of f */
	p++;
#ifndef JS_NO_DUP_CHECK
	if (nkeys - f->first_key > 1) {
		uint32_t n = nkeys - f->first_key, at = 0;
		const struct js_key *k = ctx->keys + f->first_key;
		const uint32_t *h = ctx->hash + f->first_key;
		err = n <= SMALL_OBJECT ? duplicates_small(buf, k, h, n, &at)
					: duplicates_large(ctx, buf, k, h, n, &at);
		if (err != JS_OK)
			FAIL(err, base + at);
	}
	nkeys = f->first_key;
#endif
	if (f->node >= 0 && nodes[f->node].slot >= 0)
		spans[nodes[f->node].slot] = (js_span){ f->start, (uint32_t)(p - base) - f->start };
	f--;
	goto after;

fail:
	if (nspans)
		memset(spans, 0, nspans * sizeof *spans);
	if (err_off)
		*err_off = (size_t)(bad - base);
	return err;
}

const char *js_strerror(js_err e)
{
	static const char *const text[] = { [JS_OK] = "ok",
					    [JS_ERR_PAD] = "input not padded or too long",
					    [JS_ERR_SYNTAX] = "not JSON",
					    [JS_ERR_DEPTH] = "nested too deeply",
					    [JS_ERR_DUP_KEY] = "duplicate member name",
					    [JS_ERR_STRING] = "bad string or escape",
					    [JS_ERR_NUL] = "\\u0000 in a string",
					    [JS_ERR_UTF8] = "bad UTF-8",
					    [JS_ERR_NUMBER] = "bad number",
					    [JS_ERR_TRAILING] = "bytes after the value",
					    [JS_ERR_LIMIT] = "too many member names",
					    [JS_ERR_NOMEM] = "out of memory" };
	return (unsigned)e < sizeof text / sizeof *text ? text[e] : "?";
}
