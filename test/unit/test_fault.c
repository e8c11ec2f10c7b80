#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "common/buf.h"
#include "common/fault.h"

static void check_text(const struct faults *l, const char *separator, size_t max, const char *want)
{
	struct buf b = BUF_INIT(1 << 16);

	faults_text(l, separator, max, &b);
	assert_string_equal(buf_str(&b), want);
	assert_true(b.len <= max);
	buf_done(&b);
}

static void test_add(void **state)
{
	struct faults l = FAULTS_INIT;

	(void)state;
	fault_add(NULL, "r", "p", "v", "nobody asks");
	fault_add(&l, "replicas-range", "spec.replicas", "0", "%d is wrong; write %s", 0, "3");
	assert_int_equal(l.n, 1);
	assert_string_equal(l.v[0].rule, "replicas-range");
	assert_string_equal(l.v[0].path, "spec.replicas");
	assert_string_equal(l.v[0].values, "0");
	assert_string_equal(l.v[0].message, "0 is wrong; write 3");
	assert_false(l.v[0].forbidden);
	faults_done(&l);
	assert_int_equal(l.n, 0);
	assert_null(l.v);
}

/* Whatever a document holds, a fault is one line of valid UTF-8. */
static void test_safe(void **state)
{
	struct faults l = FAULTS_INIT;
	char faces[4 * 300 + 1];

	(void)state;
	for (size_t i = 0; i < 300; i++)
		memcpy(faces + 4 * i, "\xf0\x9f\x98\x80", 4);
	faces[1200] = '\0';
	fault_add(&l, "r", "a\nb", "v\n", "x\ty\x7fz%%s");
	fault_add(&l, "r", "p", "v", "ab%s", faces);
	assert_string_equal(l.v[0].path, "a?b");
	assert_string_equal(l.v[0].message, "x?y?z%s");
	assert_string_equal(l.v[0].values, "v\n");
	/* "ab" and 255 whole characters: 1022 bytes; the next one would end at 1026. */
	assert_int_equal(strlen(l.v[1].message), 1022);
	assert_memory_equal(l.v[1].message + 1018, "\xf0\x9f\x98\x80", 5);
	faults_done(&l);
}

static void test_limit(void **state)
{
	struct faults l = FAULTS_INIT, more = FAULTS_INIT;

	(void)state;
	for (int i = 0; i < 300; i++)
		fault_add(&l, "r", "p", "v", "%d", i);
	assert_int_equal(l.n, FAULTS_MAX + 1);
	assert_string_equal(l.v[FAULTS_MAX - 1].message, "255");
	assert_string_equal(l.v[FAULTS_MAX].rule, "too-many-faults");
	fault_add(&more, "other", "p", "v", "one more");
	faults_add_all(&l, &more);
	assert_int_equal(l.n, FAULTS_MAX + 1);
	faults_done(&l);
	faults_done(&more);
}

static void test_ratchet(void **state)
{
	static const struct {
		const char *rule, *path, *values;
		bool same;
	} rows[] = {
		{ "r", "spec.a[3].name", "v", true },	{ "r", "spec.a[12].name", "v", true },
		{ "r2", "spec.a[3].name", "v", false }, { "r", "spec.a[3].name", "w", false },
		{ "r", "spec.a[3].names", "v", false }, { "r", "spec.a[3]", "v", false },
		{ "r", "spec.a[x].name", "v", false },	{ "r", "spec.a.name", "v", true },
		{ "r", "spec.b[3].name", "v", false },	{ "r", "spec.a[3:].name", "v", false },
		{ "r", "spec.a[!].name", "v", false },
	};
	struct faults old = FAULTS_INIT;

	(void)state;
	fault_add(&old, "r", "spec.a[3].name", "v", "old words");
	for (size_t i = 0; i < array_len(rows); i++) {
		struct faults l = FAULTS_INIT;

		fault_add(&l, "first", "p", "v", "kept");
		fault_add(&l, rows[i].rule, rows[i].path, rows[i].values, "new words");
		fault_add(&l, "last", "p", "v", "kept");
		faults_ratchet(&l, &old);
		assert_int_equal(l.n, rows[i].same ? 2 : 3);
		assert_string_equal(l.v[0].rule, "first");
		assert_string_equal(l.v[l.n - 1].rule, "last");
		faults_done(&l);
	}
	faults_done(&old);
}

static void test_ratchet_keeps_what_was_not_listed(void **state)
{
	struct faults l = FAULTS_INIT, old = FAULTS_INIT;

	(void)state;
	for (int i = 0; i < 300; i++) {
		fault_add(&l, "r", "p", "v", "x");
		fault_add(&old, "r", "p", "v", "x");
	}
	faults_ratchet(&l, &old);
	assert_int_equal(l.n, 1);
	assert_string_equal(l.v[0].rule, "too-many-faults");
	faults_done(&l);
	faults_done(&old);
}

static void test_add_all(void **state)
{
	struct faults l = FAULTS_INIT, from = FAULTS_INIT;

	(void)state;
	fault_add(&l, "a", "p[0]", "v", "there");
	fault_add(&from, "a", "p[1]", "v", "the same");
	fault_add(&from, "b", "p", "v", "new");
	from.v[1].forbidden = true;
	faults_add_all(&l, &from);
	assert_int_equal(l.n, 2);
	assert_string_equal(l.v[0].message, "there");
	assert_string_equal(l.v[1].message, "new");
	assert_true(l.v[1].forbidden);
	assert_ptr_not_equal(l.v[1].path, from.v[1].path);
	faults_done(&l);
	faults_done(&from);
}

static void test_text(void **state)
{
	struct faults l = FAULTS_INIT;

	(void)state;
	check_text(&l, "; ", 100, "");
	fault_add(&l, "r", "a", "", "first fault of all");
	check_text(&l, "\n", 21, "a: first fault of all");
	/* The only one does not fit: cut, with room for the tail. */
	check_text(&l, "\n", 20, "");
	fault_add(&l, "r", "b", "", "second");
	fault_add(&l, "r", "c", "", "third");
	check_text(&l, "\n", 1000, "a: first fault of all\nb: second\nc: third");
	check_text(&l, "; ", 1000, "a: first fault of all; b: second; c: third");
	/* 21 + 40 of tail = 61. */
	check_text(&l, "; ", 62, "a: first fault of all ... and 2 more");
	check_text(&l, "; ", 61, "a: first fault of all ... and 2 more");
	check_text(&l, "; ", 60, "a: first fault of al ... and 2 more");
	check_text(&l, "; ", 39, "");
	faults_done(&l);
}

static void test_text_cuts_characters_whole(void **state)
{
	struct faults l = FAULTS_INIT;

	(void)state;
	fault_add(&l, "r", "a", "",
		  "\xc3\xa4\xc3\xa4\xc3\xa4 and so on and so on and so on and so on");
	check_text(&l, "; ", 46, "a: \xc3\xa4 ...");
	check_text(&l, "; ", 47, "a: \xc3\xa4\xc3\xa4 ...");
	faults_done(&l);
}

static void test_value(void **state)
{
	struct fault_value v;
	char longer[200];

	(void)state;
	assert_string_equal(fault_value(&v, NULL), "nothing");
	assert_string_equal(fault_value(&v, ""), "\"\"");
	assert_string_equal(fault_value(&v, "a\"b"), "\"a\"b\"");
	memset(longer, 'x', sizeof(longer));
	longer[88] = '\0';
	assert_int_equal(strlen(fault_value(&v, longer)), 90);
	longer[88] = 'x';
	longer[199] = '\0';
	assert_int_equal(strlen(fault_value(&v, longer)), 93);
	assert_string_equal(v.text + 86, "xxx...\"");
	/* 87 letters and half of a character. */
	memcpy(longer + 87, "\xc3\xa4", 2);
	assert_string_equal(fault_value(&v, longer) + 86, "xx...\"");
	/* No text at all has no border. */
	memset(longer, 0x80, 199);
	assert_string_equal(fault_value(&v, longer), "\"...\"");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_add),
		cmocka_unit_test(test_safe),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_ratchet),
		cmocka_unit_test(test_ratchet_keeps_what_was_not_listed),
		cmocka_unit_test(test_add_all),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_text_cuts_characters_whole),
		cmocka_unit_test(test_value),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
