#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/json.h"
#include "common/limits.h"
#include "common/yaml.h"

/* The documents of a text as sorted JSON, one a line; or "ERROR message". */
static char *read_all(const char *text, size_t len)
{
	struct yaml_docs docs = YAML_DOCS_INIT;
	struct buf b = BUF_INIT(1 << 20);
	struct err e = ERR_INIT;

	if (yaml_parse(text, len, &docs, &e))
		return xasprintf("ERROR %s", e.message);
	for (size_t i = 0; i < docs.n; i++) {
		json_print_sorted(docs.v[i].value, &b);
		buf_putc(&b, '\n');
	}
	yaml_docs_done(&docs);
	return buf_take(&b);
}

struct reading {
	const char *text, *want;
};

static void check(const struct reading *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		cleanup(freep) char *got = read_all(v[i].text, strlen(v[i].text));

		if (!str_eq(got, v[i].want))
			fail_msg("%s\nis   %s\nwant %s", v[i].text, got, v[i].want);
	}
}

#define ZEROS_50  "00000000000000000000000000000000000000000000000000"
#define ZEROS_300 ZEROS_50 ZEROS_50 ZEROS_50 ZEROS_50 ZEROS_50 ZEROS_50

/* Compared with sigs.k8s.io/yaml 1.6.0, which read the same texts. */
static void test_plain_scalars(void **state)
{
	static const struct reading v[] = {
		{ "[y, Y, yes, Yes, YES, true, True, TRUE, on, On, ON]",
		  "[true,true,true,true,true,true,true,true,true,true,true]\n" },
		{ "[n, N, no, No, NO, false, False, FALSE, off, Off, OFF]",
		  "[false,false,false,false,false,false,false,false,false,false,false]\n" },
		{ "[nO, yES, tRUE, oN, NULl]", "[\"nO\",\"yES\",\"tRUE\",\"oN\",\"NULl\"]\n" },
		{ "a: ~\nb:\nc: null\nd: Null\ne: NULL\n",
		  "{\"a\":null,\"b\":null,\"c\":null,\"d\":null,\"e\":null}\n" },
		{ "[12, 0o17, 0O17, 017, -017, 00, 0_7]", "[12,15,15,15,-15,0,7]\n" },
		{ "[0x1f, 0X1F, -0x10, 0b101, 0x_1f]", "[31,31,-16,5,31]\n" },
		{ "[08, 09, +12, 1_000, 1_, 1__0]", "[8,9,12,1000,1,10]\n" },
		{ "[12e5, 1e3, 1E3, 1., .5, .5e3, +.5, -.5, 1_0.5, .1_0, 1e-400]",
		  "[1200000,1000,1000,1,0.5,500,0.5,-0.5,10.5,0.1,0]\n" },
		{ "[_1, 1e400, .1e999, 0x1.8p3, ., +, 1e, 0x, 0b, 0o, 0b12]",
		  "[\"_1\",\"1e400\",\".1e999\",\"0x1.8p3\",\".\",\"+\",\"1e\",\"0x\",\"0b\","
		  "\"0o\","
		  "\"0b12\"]\n" },
		{ "[2001-01-01, 2001-12-14T21:59:43Z, '190:20:30', 12:30:45, =]",
		  "[\"2001-01-01\",\"2001-12-14T21:59:43Z\",\"190:20:30\",\"12:30:45\",\"=\"]\n" },
		{ "0x10000000000000000", "\"0x10000000000000000\"\n" },
		{ "[9007199254740992, -9007199254740992]",
		  "[9007199254740992,-9007199254740992]\n" },
		{ "[18446744073709551615, 18446744073709551616, -9223372036854775809]",
		  "[1.8446744073709552e+19,1.8446744073709552e+19,-9.223372036854776e+18]\n" },
		{ "[1" ZEROS_300 ", 1" ZEROS_300 "00000000]", "[1e+300,1e+308]\n" },
		{ "[0." ZEROS_300 "5, 1" ZEROS_300 "_0.5]", "[5e-301,1e+301]\n" },
		{ "1" ZEROS_300 "000000000", "\"1" ZEROS_300 "000000000\"\n" },
		{ "1 2", "\"1 2\"\n" },
		{ "1,000", "\"1,000\"\n" },
		{ "-", "[null]\n" },
		{ "<<", "\"<<\"\n" },
	};

	(void)state;
	check(v, array_len(v));
}

static void test_quotes_and_blocks(void **state)
{
	static const struct reading v[] = {
		{ "['12', \"true\", '~', '', '0x1f']", "[\"12\",\"true\",\"~\",\"\",\"0x1f\"]\n" },
		{ "a: |\n  one\n  two\n", "{\"a\":\"one\\ntwo\\n\"}\n" },
		{ "a: |-\n  12\n", "{\"a\":\"12\"}\n" },
		{ "a: >\n  one\n  two\n", "{\"a\":\"one two\\n\"}\n" },
		{ "'a\nb'", "\"a b\"\n" },
		{ "\"\\u00e9\\x41\\n\"", "\"éA\\n\"\n" },
		{ "a: one # comment\n# more\n", "{\"a\":\"one\"}\n" },
	};

	(void)state;
	check(v, array_len(v));
}

static void test_tags(void **state)
{
	static const struct reading v[] = {
		{ "!!str 12", "\"12\"\n" },
		{ "!!int '12'", "12\n" },
		{ "!!float 12", "12\n" },
		{ "!!bool 'yes'", "true\n" },
		{ "[!!null '']", "[null]\n" },
		{ "!!map {a: !!seq [1]}", "{\"a\":[1]}\n" },
		{ "[! '12', ! 12, ! []]", "[\"12\",\"12\",[]]\n" },
		{ "x: !!int abc",
		  "ERROR line 1: does not read as its tag says: 'tag:yaml.org,2002:int'" },
		{ "!!int 1.5",
		  "ERROR line 1: does not read as its tag says: 'tag:yaml.org,2002:int'" },
		{ "!!binary aGVsbG8=",
		  "ERROR line 1: does not read as its tag says: 'tag:yaml.org,2002:binary'" },
		{ "!foo 12", "ERROR line 1: does not read as its tag says: '!foo'" },
		{ "\n!foo {a: 1}", "ERROR line 2: unknown tag '!foo'" },
		{ "!!set {a, b}", "ERROR line 1: unknown tag 'tag:yaml.org,2002:set'" },
	};

	(void)state;
	check(v, array_len(v));
}

static void test_names(void **state)
{
	static const struct reading v[] = {
		{ "{y: 1, n: 2}", "{\"false\":2,\"true\":1}\n" },
		{ "{1: a, 0x10: b, true: d, '': e}",
		  "{\"\":\"e\",\"1\":\"a\",\"16\":\"b\",\"true\":\"d\"}\n" },
		{ "{'1': a, \"yes\": b}", "{\"1\":\"a\",\"yes\":\"b\"}\n" },
		{ "1.5: a", "ERROR line 1: a name must be quoted: '1.5'" },
		{ "~: a", "ERROR line 1: a name must be quoted: '~'" },
		{ "18446744073709551615: a",
		  "ERROR line 1: a name must be quoted: '18446744073709551615'" },
		{ "a: 1\n? [a]\n: b", "ERROR line 2: a list or object as a name" },
		{ "a: &x b\n*x : c", "ERROR line 2: an alias as a name" },
		{ "a: 1\nb: 2\na: 3\n",
		  "ERROR line 3: duplicate name 'a', which stands on line 1" },
		{ "a: {1: x,\n '1': y}",
		  "ERROR line 2: duplicate name '1', which stands on line 1" },
		{ "a: {b: 1}\nc: {b: 1}", "{\"a\":{\"b\":1},\"c\":{\"b\":1}}\n" },
	};

	(void)state;
	check(v, array_len(v));
}

static void test_aliases_and_merges(void **state)
{
	static const struct reading v[] = {
		{ "a: &x [1]\nb: *x", "{\"a\":[1],\"b\":[1]}\n" },
		{ "a: &x 1\nb: &x 2\nc: *x", "{\"a\":1,\"b\":2,\"c\":2}\n" },
		{ "<<: {a: 2, b: 3}\na: 1", "{\"a\":1,\"b\":3}\n" },
		{ "<<: [{a: 1}, {a: 2, b: 3}]\nc: 4", "{\"a\":1,\"b\":3,\"c\":4}\n" },
		{ "x: &x {a: 1, b: 2}\nc:\n  <<: *x\n  b: 3",
		  "{\"c\":{\"a\":1,\"b\":3},\"x\":{\"a\":1,\"b\":2}}\n" },
		{ "x: {<<: &m {a: &v [1]}}\nx1: *m\nz: *v",
		  "{\"x\":{\"a\":[1]},\"x1\":{\"a\":[1]},\"z\":[1]}\n" },
		{ "{'<<': {a: 1}}", "{\"<<\":{\"a\":1}}\n" },
		{ "<<: {}", "{}\n" },
		{ "<<: []", "{}\n" },
		{ "a: 1\n<<: {a: 2, b: 3}", "ERROR line 2: << would replace 'a'" },
		{ "<<: {a: 1}\n<<: {b: 1}", "ERROR line 2: more than one '<<'" },
		{ "<<: 1", "ERROR line 1: << takes an object or a list of objects" },
		{ "<<: [1]", "ERROR line 1: << takes an object or a list of objects" },
		{ "a: &x [*x]",
		  "ERROR line 1: no anchor of this name stands complete before '*x'" },
		{ "a: &x 1\nb: &x [*x]",
		  "ERROR line 2: no anchor of this name stands complete before '*x'" },
		{ "--- &x 1\n--- *x",
		  "ERROR line 2: no anchor of this name stands complete before '*x'" },
	};

	(void)state;
	check(v, array_len(v));
}

static void test_streams(void **state)
{
	static const struct reading v[] = {
		{ "", "" },
		{ "# nothing\n", "" },
		{ "---\n---\n...\n", "" },
		{ "--- a\n---\n# empty\n--- ~\n--- b\n", "\"a\"\n\"b\"\n" },
		{ "%YAML 1.1\n---\na: 1\n...\n", "{\"a\":1}\n" },
		{ "\xef\xbb\xbf"
		  "a: 1\n",
		  "{\"a\":1}\n" },
		{ "a: 1\r\nb: 2\r\n", "{\"a\":1,\"b\":2}\n" },
		{ "{\"a\": [1, 2.5, null, true, \"\\u00e9\\/\"]}",
		  "{\"a\":[1,2.5,null,true,\"é/\"]}\n" },
		{ "{\n\t\"a\": 1\n}\n", "{\"a\":1}\n" },
		{ "[\"\\ud83d\\ude00\"]", "[\"😀\"]\n" },
		/* JSON's meaning, where YAML would fold a line. */
		{ "{\"a\":\"x\xc2\x85y\"}", "{\"a\":\"x\xc2\x85y\"}\n" },
	};

	(void)state;
	check(v, array_len(v));
}

static void test_broken_text(void **state)
{
	static const struct reading v[] = {
		{ "a: 1\n b: 2\n", "ERROR line 2: mapping values are not allowed in this context" },
		{ "a:\n  - 1\n  b: 2\n", "ERROR line 3: did not find expected '-' indicator while "
					 "parsing a block collection" },
		{ "a: [1,\n",
		  "ERROR line 2: did not find expected node content while parsing a flow node" },
		{ "a: .inf", "ERROR line 1: JSON has no '.inf'" },
		{ "a:\n- -.INF", "ERROR line 2: JSON has no '-.INF'" },
		{ "a: .NaN", "ERROR line 1: JSON has no '.NaN'" },
		{ "a: \"x\\0y\"", "ERROR line 1: a NUL character in a string" },
		{ "\"x\\0y\": 1", "ERROR line 1: a NUL character in a string" },
		{ "a: 1\nb: \xff\n", "ERROR line 2: invalid leading UTF-8 octet" },
		{ "a: \"\\ud83d\\ude00\"", "ERROR line 1: found invalid Unicode character escape "
					   "code while parsing a quoted scalar" },
		{ "a:\n\t- 1", "ERROR line 2: found character that cannot start any token while "
			       "scanning for the next token" },
		{ "{\"a\":1,\"a\":2}", "ERROR line 1: duplicate name 'a', which stands on line 1" },
	};
	cleanup(freep) char *nul = read_all("a: b\0c", 6);

	(void)state;
	check(v, array_len(v));
	assert_string_equal(nul, "ERROR line 1: control characters are not allowed");
}

static char *repeat(const char *s, size_t n)
{
	struct buf b = BUF_INIT(1 << 24);

	while (n--)
		buf_puts(&b, s);
	return buf_take(&b);
}

static void test_depth(void **state)
{
	cleanup(freep) char *open = repeat("[", LIMIT_JSON_DEPTH);
	cleanup(freep) char *close = repeat("]", LIMIT_JSON_DEPTH);
	cleanup(freep) char *deepest = xasprintf("%s%s", open, close);
	cleanup(freep) char *too_deep = xasprintf("\n[%s%s]", open, close);
	cleanup(freep) char *by_alias = xasprintf("- &a %s1%s\n- [*a]\n", open + 1, close + 1);
	cleanup(freep) char *alias_fits = xasprintf("- &a %s1%s\n- *a\n", open + 1, close + 1);
	cleanup(freep) char *a = read_all(deepest, strlen(deepest));
	cleanup(freep) char *b = read_all(too_deep, strlen(too_deep));
	cleanup(freep) char *c = read_all(by_alias, strlen(by_alias));
	cleanup(freep) char *d = read_all(alias_fits, strlen(alias_fits));

	(void)state;
	assert_int_equal(a[0], '[');
	assert_string_equal(b, "ERROR line 2: nested too deeply");
	assert_string_equal(c, "ERROR line 2: nested too deeply");
	assert_int_equal(d[0], '[');
}

static void test_billion_laughs(void **state)
{
	struct buf b = BUF_INIT(1 << 16);
	struct yaml_docs docs = YAML_DOCS_INIT;
	struct err e = ERR_INIT;

	(void)state;
	buf_puts(&b, "a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol, lol]\n");
	for (int i = 1; i < 9; i++)
		buf_printf(&b, "a%d: &a%d [*a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d, *a%d]\n", i, i,
			   i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1, i - 1);
	assert_int_equal(yaml_parse(b.data, b.len, &docs, &e), -ERR_TOO_LARGE);
	assert_string_equal(e.message, "line 7: too many values, aliases expanded");
	assert_int_equal(docs.n, 0);
	buf_done(&b);
}

static void test_too_many_bytes(void **state)
{
	struct yaml_docs docs = YAML_DOCS_INIT;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(yaml_parse("", (size_t)LIMIT_MANIFEST_FILE + 1, &docs, &e),
			 -ERR_TOO_LARGE);
	assert_string_equal(e.message, "67108865 bytes of YAML");
}

static void test_one_document(void **state)
{
	struct yaml_doc doc = { 0 };
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(yaml_parse_one("---\n\n---\na: 1\n", 14, &doc, &e), 0);
	assert_int_equal(doc.line, 4);
	assert_int_equal(json_kind(doc.value), JSON_OBJECT);
	yaml_doc_done(&doc);
	assert_int_equal(yaml_parse_one("# none", 6, &doc, &e), -ERR_INVALID);
	assert_string_equal(e.message, "no document");
	assert_int_equal(yaml_parse_one("a\n---\nb", 7, &doc, &e), -ERR_INVALID);
	assert_string_equal(e.message, "line 3: a second document");
}

static void expect_place(const struct yaml_doc *doc, const char *path, bool found, size_t line,
			 size_t col)
{
	struct yaml_place p = { 0 };
	bool got = yaml_where(doc, path, &p);

	if (got != found || p.line != line || p.col != col)
		fail_msg("%s: %d at %zu:%zu, want %d at %zu:%zu", path, got, p.line, p.col, found,
			 line, col);
}

static void test_places(void **state)
{
	static const char text[] = "# a fleet\n"		       /* 1 */
				   "metadata:\n"		       /* 2 */
				   "  annotations:\n"		       /* 3 */
				   "    example.com/x: é\n"	       /* 4 */
				   "spec:\n"			       /* 5 */
				   "  bucket: {region: eu, name: b}\n" /* 6 */
				   "  env:\n"			       /* 7 */
				   "  - name: A\n"		       /* 8 */
				   "  - value: v\n"		       /* 9 */
				   "    name: B\n"		       /* 10 */
				   "  more: &m\n"		       /* 11 */
				   "    deep: 1\n"		       /* 12 */
				   "  alias: *m\n"		       /* 13 */
				   "  merged:\n"		       /* 14 */
				   "    <<: *m\n"		       /* 15 */
				   "    own: 2\n";		       /* 16 */
	struct yaml_doc doc = { 0 };
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(yaml_parse_one(text, sizeof(text) - 1, &doc, &e), 0);
	expect_place(&doc, "", true, 2, 1);
	expect_place(&doc, "spec", true, 5, 1);
	expect_place(&doc, "spec.bucket.name", true, 6, 24);
	expect_place(&doc, "spec.env[0].name", true, 8, 5);
	expect_place(&doc, "spec.env[1]", true, 9, 5);
	expect_place(&doc, "spec.env[1].name", true, 10, 5);
	expect_place(&doc, "spec.alias", true, 13, 3);
	expect_place(&doc, "spec.alias.deep", true, 12, 5);
	expect_place(&doc, "spec.merged.own", true, 16, 5);
	expect_place(&doc, "spec.merged.deep", true, 12, 5);
	expect_place(&doc, "metadata.annotations[example.com/x]", true, 4, 5);
	expect_place(&doc, "spec.env[2].name", false, 7, 3);
	expect_place(&doc, "spec.bucket.prefix", false, 6, 3);
	expect_place(&doc, "spec.bucket.name.x", false, 6, 24);
	expect_place(&doc, "status", false, 2, 1);
	yaml_doc_done(&doc);
	/* JSON that is no YAML has no places. */
	assert_int_equal(yaml_parse_one("{\"a\":\n[\"\\ud83d\\ude00\"]}", 23, &doc, &e), 0);
	expect_place(&doc, "a[0]", true, 1, 1);
	expect_place(&doc, "a[1]", false, 1, 1);
	yaml_doc_done(&doc);
}

static void test_many_members(void **state)
{
	struct buf b = BUF_INIT(1 << 24);
	struct yaml_docs docs = YAML_DOCS_INIT;
	struct err e = ERR_INIT;

	(void)state;
	for (int i = 0; i < 100000; i++)
		buf_printf(&b, "k%d: %d\n", i, i);
	assert_int_equal(yaml_parse(b.data, b.len, &docs, &e), 0);
	assert_int_equal(json_len(docs.v[0].value), 100000);
	yaml_docs_done(&docs);
	buf_puts(&b, "k7: 1\n");
	assert_int_equal(yaml_parse(b.data, b.len, &docs, &e), -ERR_INVALID);
	assert_string_equal(e.message, "line 100001: duplicate name 'k7', which stands on line 8");
	buf_done(&b);
}

/* --- printing ------------------------------------------------------------------------------- */

static char *printed(const struct json *j)
{
	struct buf b = BUF_INIT(1 << 20);

	yaml_print(j, &b);
	return buf_take(&b);
}

static void test_print(void **state)
{
	static const char text[] =
		"{\"z\":1,\"a\":{\"list\":[{\"b\":1,\"a\":[1,[2,3],[]]},\"x\",{}],\"o\":{}},"
		"\"n\":null,\"t\":true,\"f\":0.5,\"l\":[]}";
	static const char want[] = "a:\n"
				   "  list:\n"
				   "  - a:\n"
				   "    - 1\n"
				   "    - - 2\n"
				   "      - 3\n"
				   "    - []\n"
				   "    b: 1\n"
				   "  - x\n"
				   "  - {}\n"
				   "  o: {}\n"
				   "f: 0.5\n"
				   "l: []\n"
				   "\"n\": null\n"
				   "t: true\n"
				   "z: 1\n";
	cleanup_json struct json *j = NULL;
	struct err e = ERR_INIT;
	cleanup(freep) char *s = NULL;

	(void)state;
	assert_int_equal(json_parse(text, sizeof(text) - 1, &j, &e), 0);
	s = printed(j);
	assert_string_equal(s, want);
}

static void test_print_strings(void **state)
{
	static const struct reading v[] = {
		{ "plain", "plain\n" },
		{ "two words", "two words\n" },
		{ "ghcr.io/denoland/celld:v0.6.2", "ghcr.io/denoland/celld:v0.6.2\n" },
		{ "0.0.0.0:8080", "\"0.0.0.0:8080\"\n" },
		{ "$(POD_NAME).a", "$(POD_NAME).a\n" },
		{ "/var/lib/celld", "/var/lib/celld\n" },
		{ "40Mi", "40Mi\n" },
		{ "", "\"\"\n" },
		{ "true", "\"true\"\n" },
		{ "y", "\"y\"\n" },
		{ "NO", "\"NO\"\n" },
		{ "null", "\"null\"\n" },
		{ "~", "\"~\"\n" },
		{ "12", "\"12\"\n" },
		{ "0x1f", "\"0x1f\"\n" },
		{ "1_000", "\"1_000\"\n" },
		{ "1e3", "\"1e3\"\n" },
		{ ".inf", "\".inf\"\n" },
		{ "12:30", "\"12:30\"\n" },
		{ "2001-01-01", "\"2001-01-01\"\n" },
		{ "0777_777", "\"0777_777\"\n" },
		{ "- a", "\"- a\"\n" },
		{ "a: b", "\"a: b\"\n" },
		{ "a:", "\"a:\"\n" },
		{ "a #b", "\"a #b\"\n" },
		{ "#b", "\"#b\"\n" },
		{ " a", "\" a\"\n" },
		{ "a ", "\"a \"\n" },
		{ "a  b", "\"a  b\"\n" },
		{ "a\nb\t\"\\", "\"a\\nb\\t\\\"\\\\\"\n" },
		{ "é", "\"é\"\n" },
		{ "\xc2\x85\xe2\x80\xa8\xef\xbb\xbf\x01\x7f",
		  "\"\\u0085\\u2028\\ufeff\\u0001\\u007f\"\n" },
		{ "{a}", "\"{a}\"\n" },
		{ "*a", "\"*a\"\n" },
		{ "<<", "\"<<\"\n" },
		{ "---", "\"---\"\n" },
		{ "...", "\"...\"\n" },
		{ "... d", "\"... d\"\n" },
		{ "=", "\"=\"\n" },
	};

	(void)state;
	for (size_t i = 0; i < array_len(v); i++) {
		cleanup_json struct json *j = json_new_str(v[i].text);
		cleanup(freep) char *s = printed(j);

		assert_string_equal(s, v[i].want);
	}
}

/* A document of every string of up to two characters out of those that matter, as names and values. */
static void test_print_round_trip(void **state)
{
	static const char *const parts[] = { "",
					     "a",
					     "y",
					     "1",
					     "0",
					     "-",
					     ":",
					     "#",
					     " ",
					     ".",
					     "_",
					     "\n",
					     "\t",
					     "'",
					     "\"",
					     "\\",
					     "&",
					     "*",
					     "!",
					     "|",
					     ">",
					     "%",
					     "@",
					     "`",
					     "{",
					     "}",
					     "[",
					     "]",
					     ",",
					     "?",
					     "~",
					     "<<",
					     "=",
					     "e",
					     "é",
					     "😀",
					     "\xc2\x85",
					     "\xe2\x80\xa8",
					     "\xef\xbb\xbf",
					     "\r" };
	cleanup_json struct json *j = json_new_object();
	cleanup(freep) char *once = NULL, *twice = NULL;
	struct json *list = json_array_at(j, "list");
	struct yaml_doc doc = { 0 };
	struct err e = ERR_INIT;

	(void)state;
	for (size_t a = 0; a < array_len(parts); a++) {
		for (size_t b = 0; b < array_len(parts); b++) {
			cleanup(freep) char *s = xasprintf("%s%s", parts[a], parts[b]);
			struct json *inner = json_new_object();

			json_set_str_always(j, s, s);
			json_set(inner, s, json_new_null());
			json_add(list, inner);
			json_add_str(list, s);
		}
	}
	once = printed(j);
	assert_int_equal(yaml_parse_one(once, strlen(once), &doc, &e), 0);
	assert_true(json_equal(j, doc.value));
	twice = printed(doc.value);
	assert_string_equal(once, twice);
	yaml_doc_done(&doc);
}

static void test_print_long_name(void **state)
{
	cleanup_json struct json *j = json_new_object();
	cleanup(freep) char *name = repeat("k", 2000), *s = NULL;
	struct yaml_doc doc = { 0 };
	struct err e = ERR_INIT;

	(void)state;
	json_set(json_object_at(j, "outer"), name, json_new_array());
	json_add_str(json_array_at(json_object_at(j, "outer"), name), "v");
	json_set_int(json_object_at(j, "outer"), "z", 1);
	s = printed(j);
	assert_int_equal(yaml_parse_one(s, strlen(s), &doc, &e), 0);
	assert_true(json_equal(j, doc.value));
	yaml_doc_done(&doc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain_scalars),
		cmocka_unit_test(test_quotes_and_blocks),
		cmocka_unit_test(test_tags),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_aliases_and_merges),
		cmocka_unit_test(test_streams),
		cmocka_unit_test(test_broken_text),
		cmocka_unit_test(test_depth),
		cmocka_unit_test(test_billion_laughs),
		cmocka_unit_test(test_too_many_bytes),
		cmocka_unit_test(test_one_document),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_many_members),
		cmocka_unit_test(test_print),
		cmocka_unit_test(test_print_strings),
		cmocka_unit_test(test_print_round_trip),
		cmocka_unit_test(test_print_long_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
