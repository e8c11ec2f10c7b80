#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/celld/compat.h"
#include "common/celld/table_load.h"

enum { RELEASES = 11 };

static const char *const names[RELEASES] = { "0.1.0", "0.2.0", "0.2.1", "0.3.0", "0.4.0", "0.4.1",
					     "0.5.0", "0.5.1", "0.6.0", "0.6.1", "0.6.2" };

/*
 * By hand from the table of releases: line = from, column = to, in the order of names.
 * R rolling  C recreate  F recreate, rolling when durability is bucket on both sides
 * B blocked  A blocked until acknowledged, then rolling  K blocked until acknowledged, then recreate
 */
static const char *const matrix[RELEASES] = {
	/*         1.0 2.0 2.1 3.0 4.0 4.1 5.0 5.1 6.0 6.1 6.2 */
	/* 0.1.0 */ "RCCCCCCCCCC",
	/* 0.2.0 */ "CRRRCCCCCCC",
	/* 0.2.1 */ "CRRRCCCCCCC",
	/* 0.3.0 */ "BBBRCCCCCCC",
	/* 0.4.0 */ "BBBCRRCCCCC",
	/* 0.4.1 */ "BBBKARCCCCC",
	/* 0.5.0 */ "BBBKKKRRFFF",
	/* 0.5.1 */ "BBBKKKRRFFF",
	/* 0.6.0 */ "BBBKKKFFRRR",
	/* 0.6.1 */ "BBBKKKFFRRR",
	/* 0.6.2 */ "BBBKKKFFRRR",
};

static struct version ver(const char *s)
{
	struct version v = { 0 };

	assert_true(version_read(s, &v));
	return v;
}

static struct compat_verdict judge(const char *from, const char *to, struct compat_facts facts)
{
	struct version a = ver(from);

	return compat_judge(celld_table_builtin(), &a, ver(to), &facts);
}

static enum compat_way wanted(char symbol, bool bucket, bool stopped, bool acknowledged)
{
	switch (symbol) {
	case 'R':
		return COMPAT_ROLLING;
	case 'C':
		return stopped ? COMPAT_ROLLING : COMPAT_RECREATE;
	case 'F':
		return stopped || bucket ? COMPAT_ROLLING : COMPAT_RECREATE;
	case 'A':
		return acknowledged ? COMPAT_ROLLING : COMPAT_BLOCKED;
	case 'K':
		if (!acknowledged)
			return COMPAT_BLOCKED;
		return stopped ? COMPAT_ROLLING : COMPAT_RECREATE;
	default:
		return COMPAT_BLOCKED;
	}
}

static void check_pair(size_t from, size_t to, unsigned bits)
{
	bool bucket = bits & 1, stopped = bits & 2, acknowledged = bits & 4;
	char symbol = matrix[from][to], text[64];
	struct compat_verdict v;
	bool needs_ack = !acknowledged && (symbol == 'A' || symbol == 'K');

	(void)snprintf(text, sizeof(text), "v%s->v%s", names[from], names[to]);
	v = judge(names[from], names[to],
		  (struct compat_facts){ .bucket_both = bucket,
					 .stopped = stopped,
					 .acknowledged = acknowledged ? text : NULL });
	if (v.way != wanted(symbol, bucket, stopped, acknowledged) || v.needs_ack != needs_ack)
		fail_msg("%s bucket=%d stopped=%d acknowledged=%d: way %d, needs_ack %d", text,
			 bucket, stopped, acknowledged, (int)v.way, v.needs_ack);
	assert_true(v.from_known);
	assert_int_equal(v.up, from < to);
	assert_int_equal(v.boundary < 0, v.way == COMPAT_ROLLING);
}

static void test_every_pair(void **state)
{
	(void)state;
	for (size_t from = 0; from < RELEASES; from++) {
		for (size_t to = 0; to < RELEASES; to++) {
			for (unsigned bits = 0; bits < 8; bits++)
				check_pair(from, to, bits);
		}
	}
}

static void test_patches_that_are_no_release(void **state)
{
	static const struct compat_facts none = { 0 };

	(void)state;
	assert_int_equal(judge("0.6.9", "0.6.2", none).way, COMPAT_ROLLING);
	assert_int_equal(judge("0.3.7", "0.3.0", none).way, COMPAT_ROLLING);
	assert_int_equal(judge("0.3.7", "0.2.9", none).way, COMPAT_BLOCKED);
	assert_int_equal(judge("0.1.4", "0.2.5", none).way, COMPAT_RECREATE);
	assert_int_equal(judge("0.4.3", "0.4.0", none).way, COMPAT_BLOCKED);
	assert_int_equal(judge("0.4.3", "0.4.1", none).way, COMPAT_ROLLING);
}

static void test_suffixes(void **state)
{
	static const struct compat_facts none = { 0 };

	(void)state;
	assert_int_equal(judge("v0.6.1-alpine", "v0.6.2-fork.3", none).way, COMPAT_ROLLING);
	assert_int_equal(judge("v0.6.1-alpine", "0.6.1", none).way, COMPAT_ROLLING);
	assert_int_equal(judge("0.3.0-fork.1", "0.2.1+x", none).way, COMPAT_BLOCKED);
	assert_int_equal(judge("0.5.1-ewhauser.2", "0.6.0-ewhauser.1", none).way, COMPAT_RECREATE);
}

static void test_unknown_minor(void **state)
{
	static const struct compat_facts none = { 0 }, bucket = { .bucket_both = true },
					 stopped = { .stopped = true };
	static const char *const unknown[] = { "0.7.0", "1.0.0", "0.0.2", "1.6.2" };

	(void)state;
	for (size_t i = 0; i < array_len(unknown); i++) {
		assert_int_equal(judge("0.6.2", unknown[i], bucket).way,
				 i == 2 ? COMPAT_BLOCKED : COMPAT_RECREATE);
		assert_int_equal(judge(unknown[i], "0.6.2", bucket).way, COMPAT_RECREATE);
		assert_int_equal(judge(unknown[i], unknown[i], none).way, COMPAT_ROLLING);
		assert_int_equal(judge(unknown[i], "0.6.2", stopped).way, COMPAT_ROLLING);
		/* Rows that lie between still count. */
		assert_int_equal(judge("0.3.0", unknown[i], none).way,
				 i == 2 ? COMPAT_BLOCKED : COMPAT_RECREATE);
	}
	assert_int_equal(judge("0.7.0", "0.7.1", none).way, COMPAT_RECREATE);
	assert_int_equal(judge("0.7.0", "0.7.1", none).boundary, -1);
	assert_int_equal(judge("1.0.0", "0.2.1", none).way, COMPAT_BLOCKED);
	assert_int_equal(judge("0.7.0", "0.4.1", none).way, COMPAT_BLOCKED);
	assert_true(judge("0.7.0", "0.4.1", none).needs_ack);
	assert_int_equal(judge("0.7.0", "0.2.1", stopped).way, COMPAT_BLOCKED);
}

static void test_unreadable_from(void **state)
{
	static const struct compat_facts none = { 0 }, stopped = { .stopped = true };
	const struct celld_table *t = celld_table_builtin();
	struct compat_verdict v = compat_judge(t, NULL, ver("0.6.2"), &none);

	(void)state;
	assert_int_equal(v.way, COMPAT_RECREATE);
	assert_false(v.from_known);
	assert_false(v.needs_ack);
	assert_int_equal(v.boundary, -1);
	assert_int_equal(compat_judge(t, NULL, ver("0.6.2"), &stopped).way, COMPAT_ROLLING);
}

static void test_acknowledgement_is_exact(void **state)
{
	static const struct {
		const char *text;
		enum compat_way way;
	} v[] = {
		{ NULL, COMPAT_BLOCKED },
		{ "", COMPAT_BLOCKED },
		{ "v0.4.1->v0.4.0", COMPAT_ROLLING },
		{ " v0.4.1->v0.4.0 ", COMPAT_ROLLING },
		{ "endpoint,v0.4.1->v0.4.0", COMPAT_ROLLING },
		{ "v0.5.0->v0.4.1, v0.4.1->v0.4.0", COMPAT_ROLLING },
		{ "v0.4.1->v0.4.0,", COMPAT_ROLLING },
		{ "0.4.1->0.4.0", COMPAT_BLOCKED },
		{ "v0.4.0->v0.4.1", COMPAT_BLOCKED },
		{ "v0.4.1 -> v0.4.0", COMPAT_BLOCKED },
		{ "v0.4.1->v0.4.0x", COMPAT_BLOCKED },
		{ "xv0.4.1->v0.4.0", COMPAT_BLOCKED },
		{ "v0.4.1->v0.4", COMPAT_BLOCKED },
		{ "v0.4.1->v0.4.0;v0.4.1->v0.4.0", COMPAT_BLOCKED },
		{ "v0.4.2->v0.4.0", COMPAT_BLOCKED },
		{ "*", COMPAT_BLOCKED },
	};

	(void)state;
	for (size_t i = 0; i < array_len(v); i++) {
		struct compat_facts facts = { .acknowledged = v[i].text };

		if (judge("0.4.1", "0.4.0", facts).way != v[i].way)
			fail_msg("acknowledged '%s'", v[i].text ? v[i].text : "(none)");
	}
	/* The parts of a longer way do not add up to it, and nothing opens what is always blocked. */
	assert_int_equal(
		judge("0.5.0", "0.4.0",
		      (struct compat_facts){ .acknowledged = "v0.5.0->v0.4.1,v0.4.1->v0.4.0" })
			.way,
		COMPAT_BLOCKED);
	assert_int_equal(
		judge("0.5.0", "0.4.0", (struct compat_facts){ .acknowledged = "v0.5.0->v0.4.0" })
			.way,
		COMPAT_RECREATE);
	assert_int_equal(
		judge("0.3.0", "0.2.1", (struct compat_facts){ .acknowledged = "v0.3.0->v0.2.1" })
			.way,
		COMPAT_BLOCKED);
	assert_false(judge("0.5.0", "0.2.1", (struct compat_facts){ 0 }).needs_ack);
}

static const char *warning_of(const struct compat_verdict *v, size_t i)
{
	const struct celld_boundary *b = &celld_table_builtin()->boundaries[v->warnings[i]];

	return v->up ? b->up.warning : b->down.warning;
}

static void test_warnings(void **state)
{
	static const struct compat_facts bucket = { .bucket_both = true };
	struct compat_verdict v;

	(void)state;
	v = judge("0.6.1", "0.6.0", bucket);
	assert_int_equal(v.n_warnings, 1);
	assert_non_null(strstr(warning_of(&v, 0), "Python"));
	v = judge("0.6.2", "0.5.0", bucket);
	assert_int_equal(v.way, COMPAT_ROLLING);
	assert_int_equal(v.n_warnings, 2);
	assert_non_null(strstr(warning_of(&v, 0), "Python"));
	assert_non_null(strstr(warning_of(&v, 1), "facets"));
	assert_int_equal(judge("0.5.0", "0.6.2", bucket).n_warnings, 0);
	assert_int_equal(judge("0.6.2", "0.6.1", bucket).n_warnings, 0);
}

static struct compat_verdict judge_all(const char *from[], size_t n, const char *to)
{
	static const struct compat_facts none = { 0 };
	struct version v[4];

	for (size_t i = 0; i < n; i++)
		v[i] = ver(from[i]);
	return compat_judge_all(celld_table_builtin(), v, n, ver(to), &none);
}

static void test_strictest_of_all(void **state)
{
	static const char *mixed[] = { "0.6.1", "0.5.1", "0.6.2" };
	static const char *worse[] = { "0.4.1", "0.6.0", "0.3.0" };
	static const char *same[] = { "0.6.2", "0.6.2" };
	static const char *warned[] = { "0.6.1", "0.6.2" };
	struct compat_verdict v;

	(void)state;
	v = judge_all(NULL, 0, "0.6.2");
	assert_int_equal(v.way, COMPAT_ROLLING);
	assert_true(v.from_known);
	assert_int_equal(judge_all(same, 2, "0.6.2").way, COMPAT_ROLLING);
	v = judge_all(mixed, 3, "0.6.2");
	assert_int_equal(v.way, COMPAT_RECREATE);
	assert_int_equal(version_cmp(v.from, ver("0.5.1")), 0);
	/* Blocked for good wins over what an acknowledgement opens, wherever it stands. */
	v = judge_all(worse, 3, "0.2.1");
	assert_int_equal(v.way, COMPAT_BLOCKED);
	assert_false(v.needs_ack);
	v = judge_all(worse, 2, "0.4.0");
	assert_true(v.needs_ack);
	assert_int_equal(version_cmp(v.from, ver("0.4.1")), 0);
	v = judge_all(worse, 3, "0.4.0");
	assert_true(v.needs_ack);
	/* A row crossed by two is warned of once. */
	v = judge_all(warned, 2, "0.6.0");
	assert_int_equal(v.n_warnings, 1);
}

/* A mixed fleet needs every pair acknowledged, not only one of them. */
static void test_all_pairs_acknowledged(void **state)
{
	struct version from[] = { ver("0.5.0"), ver("0.5.1") };
	struct compat_facts facts = { .acknowledged = "v0.5.0->v0.4.1" };
	const struct celld_table *t = celld_table_builtin();
	struct compat_verdict v = compat_judge_all(t, from, 2, ver("0.4.1"), &facts);

	(void)state;
	assert_int_equal(v.way, COMPAT_BLOCKED);
	assert_true(v.needs_ack);
	assert_int_equal(version_cmp(v.from, ver("0.5.1")), 0);
	facts.acknowledged = "v0.5.0->v0.4.1,v0.5.1->v0.4.1";
	v = compat_judge_all(t, from, 2, ver("0.4.1"), &facts);
	assert_int_equal(v.way, COMPAT_RECREATE);
}

/* Two rows, so that the texts do not depend on the wording of the built-in table. */
static const struct celld_table *small_table(void)
{
	static struct celld_table t = { .n_releases = 3, .n_boundaries = 2, .n_facts = 1 };

	t.releases[0] = ver("1.0.0");
	t.releases[1] = ver("1.1.0");
	t.releases[2] = ver("1.2.0");
	t.boundaries[0] = (struct celld_boundary){
		.below = ver("1.0.0"),
		.above = ver("1.1.0"),
		.up = { .way = COMPAT_RECREATE, .reason = "paths move" },
		.down = { .way = COMPAT_BLOCKED, .reason = "logs are lost" },
	};
	t.boundaries[1] = (struct celld_boundary){
		.below = ver("1.1.0"),
		.above = ver("1.2.0"),
		.up = { .way = COMPAT_ROLLING },
		.down = { .way = COMPAT_RECREATE, .needs_ack = true, .reason = "pages" },
	};
	return &t;
}

static void expect_text(const char *from, const char *to, const char *acknowledged, bool recreate,
			const char *want)
{
	const struct celld_table *t = small_table();
	struct compat_facts facts = { .acknowledged = acknowledged };
	struct version a = { 0 };
	struct compat_verdict v;
	char text[512];
	size_t n;

	if (from)
		a = ver(from);
	v = compat_judge(t, from ? &a : NULL, ver(to), &facts);
	n = compat_explain(t, &v, recreate, text, sizeof(text));
	assert_string_equal(text, want);
	assert_int_equal(n, strlen(want));
}

static void test_explain(void **state)
{
	(void)state;
	expect_text("1.1.0", "1.2.0", NULL, false, "celld v1.1.0 to v1.2.0 can roll");
	expect_text(
		"1.0.0", "1.2.0", NULL, false,
		"celld v1.0.0 to v1.2.0 cannot roll (between v1.0.0 and v1.1.0): paths move; set "
		"spec.celld.updateStrategy to Recreate, which stops all pods before the first new "
		"one starts");
	expect_text(
		"1.0.0", "1.1.0", NULL, true,
		"celld v1.0.0 to v1.1.0 cannot roll (between v1.0.0 and v1.1.0): paths move; all "
		"pods of the old version stop before the first new one starts");
	expect_text("1.2.0", "1.1.0", NULL, false,
		    "celld v1.2.0 to v1.1.0 needs an acknowledgement (between v1.2.0 and v1.1.0): "
		    "pages; to do it knowingly, add \"v1.2.0->v1.1.0\" to the annotation "
		    "celld-operator.io/acknowledge and set spec.celld.updateStrategy to Recreate, "
		    "which stops all pods before the first new one starts");
	expect_text(
		"1.1.0", "1.0.0", NULL, true,
		"celld v1.1.0 to v1.0.0 is refused, also with Recreate (between v1.1.0 and "
		"v1.0.0): logs are lost; no update strategy makes this safe: stay on v1.1.0 or go "
		"to a later version");
	expect_text(
		"1.2.0", "1.3.0", NULL, true,
		"celld v1.2.0 to v1.3.0 cannot roll: the compatibility table does not know "
		"v1.3.0's minor, so old and new must not meet; all pods of the old version stop "
		"before the first new one starts");
	expect_text(
		"1.3.0", "1.2.0", NULL, true,
		"celld v1.3.0 to v1.2.0 cannot roll: the compatibility table does not know "
		"v1.3.0's minor, so old and new must not meet; all pods of the old version stop "
		"before the first new one starts");
	expect_text(
		NULL, "1.2.0", NULL, true,
		"celld of unknown version to v1.2.0 cannot roll: what runs now cannot be told, so "
		"old and new must not meet; all pods of the old version stop before the first new "
		"one starts");
}

static void test_explain_cuts(void **state)
{
	const struct celld_table *t = small_table();
	struct compat_facts facts = { 0 };
	struct version a = ver("1.0.0");
	struct compat_verdict v = compat_judge(t, &a, ver("1.1.0"), &facts);
	char text[16];

	(void)state;
	assert_int_equal(compat_explain(t, &v, false, text, sizeof(text)), 15);
	assert_string_equal(text, "celld v1.0.0 to");
	assert_int_equal(compat_explain(t, &v, false, text, 1), 0);
	assert_string_equal(text, "");
	text[0] = 'x';
	assert_int_equal(compat_explain(t, &v, false, text, 0), 0);
	assert_int_equal(text[0], 'x');
}

/* The way that is only paged cells once, but Recreate beyond them. */
static void test_explain_names_recreate_of_another_row(void **state)
{
	struct compat_verdict v = judge("0.4.1", "0.3.0", (struct compat_facts){ 0 });
	char text[1024];

	(void)state;
	assert_true(v.needs_ack);
	assert_int_equal(v.acknowledged_way, COMPAT_RECREATE);
	(void)compat_explain(celld_table_builtin(), &v, false, text, sizeof(text));
	assert_non_null(strstr(text, "\"v0.4.1->v0.3.0\""));
	assert_non_null(strstr(text, "updateStrategy to Recreate"));
	v = judge("0.4.1", "0.4.0", (struct compat_facts){ 0 });
	(void)compat_explain(celld_table_builtin(), &v, false, text, sizeof(text));
	assert_null(strstr(text, "Recreate"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_pair),
		cmocka_unit_test(test_patches_that_are_no_release),
		cmocka_unit_test(test_suffixes),
		cmocka_unit_test(test_unknown_minor),
		cmocka_unit_test(test_unreadable_from),
		cmocka_unit_test(test_acknowledgement_is_exact),
		cmocka_unit_test(test_warnings),
		cmocka_unit_test(test_strictest_of_all),
		cmocka_unit_test(test_all_pairs_acknowledged),
		cmocka_unit_test(test_explain),
		cmocka_unit_test(test_explain_cuts),
		cmocka_unit_test(test_explain_names_recreate_of_another_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
