#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/flags.h"
#include "common/strlist.h"

struct values {
	bool on, off;
	int64_t workers, any;
	int64_t wait;
	const char *file, *format;
	struct strlist names;
};

static const char *const formats[] = { "text", "json", NULL };

/* Parses argv (ended by NULL, without the program's name); the rows name members of *v. */
static int parse(struct values *v, char **args, int *ret_argc, int *ret_rest, char **argv,
		 struct err *e)
{
	const struct flag table[] = {
		{ .name = "on", .kind = FLAG_BOOL, .to = &v->on, .fallback = "false", .help = "h" },
		{ .name = "off",
		  .letter = 'o',
		  .kind = FLAG_BOOL,
		  .to = &v->off,
		  .fallback = "true" },
		{ .name = "workers",
		  .letter = 'w',
		  .kind = FLAG_INT,
		  .to = &v->workers,
		  .fallback = "4",
		  .min = 1,
		  .max = 64 },
		{ .name = "any", .kind = FLAG_INT, .to = &v->any },
		{ .name = "wait",
		  .kind = FLAG_DURATION,
		  .to = &v->wait,
		  .fallback = "10s",
		  .min = 100,
		  .max = 3600000 },
		{ .name = "file", .letter = 'f', .kind = FLAG_STRING, .to = &v->file },
		{ .name = "format",
		  .kind = FLAG_CHOICE,
		  .to = &v->format,
		  .fallback = "text",
		  .choices = formats },
		{ .name = "names", .kind = FLAG_LIST, .to = &v->names },
	};
	int argc = 1;

	argv[0] = args[0];
	for (int i = 0; args[i]; i++)
		argv[argc++] = args[i];
	*ret_argc = argc;
	return flags_parse(table, array_len(table), argc, argv, ret_rest, e);
}

#define PARSE(v, e, rest, argc, argv, ...)                                                         \
	parse(v, (char *[]){ __VA_ARGS__, NULL }, &(argc), &(rest), argv, e)

static void test_fallbacks(void **state)
{
	struct values v = { .any = 77, .file = "before" };
	struct err e = ERR_INIT;
	char *argv[16];
	int argc, rest;

	(void)state;
	assert_int_equal(PARSE(&v, &e, rest, argc, argv, (char[]){ "x" }), 0);
	assert_false(v.on);
	assert_true(v.off);
	assert_int_equal(v.workers, 4);
	assert_int_equal(v.any, 77);
	assert_int_equal(v.wait, 10000);
	assert_string_equal(v.file, "before");
	assert_string_equal(v.format, "text");
	assert_int_equal(v.names.n, 0);
	assert_int_equal(rest, argc - 1);
	assert_string_equal(argv[rest], "x");
}

static void test_forms(void **state)
{
	struct values v = { 0 };
	struct err e = ERR_INIT;
	char *argv[16];
	int argc, rest;

	(void)state;
	assert_int_equal(PARSE(&v, &e, rest, argc, argv, (char[]){ "--on" }, (char[]){ "a" },
			       (char[]){ "--no-off" }, (char[]){ "--workers=8" },
			       (char[]){ "--any" }, (char[]){ "-5" }, (char[]){ "--wait" },
			       (char[]){ "1m30s" }, (char[]){ "b" }, (char[]){ "-fname" },
			       (char[]){ "--format=json" }, (char[]){ "--names=a,b" },
			       (char[]){ "--names" }, (char[]){ "c" }),
			 0);
	assert_true(v.on);
	assert_false(v.off);
	assert_int_equal(v.workers, 8);
	assert_int_equal(v.any, -5);
	assert_int_equal(v.wait, 90000);
	assert_string_equal(v.file, "name");
	assert_string_equal(v.format, "json");
	assert_int_equal(v.names.n, 3);
	assert_string_equal(v.names.v[2], "c");
	assert_int_equal(argc - rest, 2);
	assert_string_equal(argv[rest], "a");
	assert_string_equal(argv[rest + 1], "b");
	strlist_done(&v.names);
}

static void test_end_of_flags(void **state)
{
	struct values v = { 0 };
	struct err e = ERR_INIT;
	char *argv[16];
	int argc, rest;

	(void)state;
	assert_int_equal(PARSE(&v, &e, rest, argc, argv, (char[]){ "-" }, (char[]){ "-w=2" },
			       (char[]){ "--on=false" }, (char[]){ "--" }, (char[]){ "--on" },
			       (char[]){ "--" }),
			 0);
	assert_int_equal(v.workers, 2);
	assert_false(v.on);
	assert_int_equal(argc - rest, 3);
	assert_string_equal(argv[rest], "-");
	assert_string_equal(argv[rest + 1], "--on");
	assert_string_equal(argv[rest + 2], "--");
}

static void test_last_one_wins(void **state)
{
	struct values v = { 0 };
	struct err e = ERR_INIT;
	char *argv[16];
	int argc, rest;

	(void)state;
	assert_int_equal(PARSE(&v, &e, rest, argc, argv, (char[]){ "-w2" }, (char[]){ "-w" },
			       (char[]){ "3" }, (char[]){ "--file=" }),
			 0);
	assert_int_equal(v.workers, 3);
	assert_string_equal(v.file, "");
	assert_int_equal(rest, argc);
}

static void test_bad(void **state)
{
	static const struct {
		const char *arg, *field, *message;
	} v[] = {
		{ "--nope", "--nope", "unknown flag --nope; see --help" },
		{ "--nope=3", "--nope", "unknown flag --nope; see --help" },
		{ "--worker=3", "--worker", "unknown flag --worker; see --help" },
		{ "--no-workers", "--no-workers", "unknown flag --no-workers; see --help" },
		{ "--no-on=true", "--no-on", "unknown flag --no-on; see --help" },
		{ "-x", "-x", "unknown flag -x; see --help" },
		{ "--workers", "--workers", "--workers needs a value" },
		{ "-w", "--workers", "--workers needs a value" },
		{ "--on=yes", "--on", "--on: 'yes' is not true or false" },
		{ "--workers=", "--workers", "--workers: '' is not a whole number" },
		{ "--workers=3x", "--workers", "--workers: '3x' is not a whole number" },
		{ "--workers=1.5", "--workers", "--workers: '1.5' is not a whole number" },
		{ "--workers=9999999999999999", "--workers",
		  "--workers: '9999999999999999' is not a whole number" },
		{ "--workers=0", "--workers", "--workers: '0' is not between 1 and 64" },
		{ "--workers=65", "--workers", "--workers: '65' is not between 1 and 64" },
		{ "--wait=5", "--wait",
		  "--wait: '5' is not a duration such as 15s, 250ms or 1m30s" },
		{ "--wait=50ms", "--wait", "--wait: '50ms' is not between 100ms and 3600000ms" },
		{ "--format=xml", "--format", "--format: 'xml' is not one of text json" },
	};

	(void)state;
	for (size_t i = 0; i < array_len(v); i++) {
		struct values values = { 0 };
		struct err e = ERR_INIT;
		char *argv[16], arg[64];
		int argc, rest;

		(void)snprintf(arg, sizeof(arg), "%s", v[i].arg);
		assert_int_equal(PARSE(&values, &e, rest, argc, argv, arg), -ERR_INVALID);
		assert_string_equal(e.message, v[i].message);
		assert_string_equal(e.field, v[i].field);
	}
}

/* A wrong fallback is found by the first start, not by the first user who needs it. */
static void test_bad_fallback(void **state)
{
	int64_t n = 0;
	const struct flag table[] = {
		{ .name = "n", .kind = FLAG_INT, .to = &n, .fallback = "70", .min = 1, .max = 64 },
	};
	char name[] = "x", *argv[] = { name, NULL };
	struct err e = ERR_INIT;
	int rest;

	(void)state;
	assert_int_equal(flags_parse(table, 1, 1, argv, &rest, &e), -ERR_INVALID);
	assert_string_equal(e.message, "--n: '70' is not between 1 and 64");
}

static void test_durations(void **state)
{
	static const struct {
		const char *text;
		int64_t want; /* -1: none */
	} v[] = {
		{ "0", 0 },
		{ "0s", 0 },
		{ "250ms", 250 },
		{ "15s", 15000 },
		{ "1m", 60000 },
		{ "1m30s", 90000 },
		{ "2h", 7200000 },
		{ "1h1m1s1ms", 3661001 },
		{ "999999999999ms", 999999999999 },
		{ "", -1 },
		{ "5", -1 },
		{ "s", -1 },
		{ "1", -1 },
		{ "1.5s", -1 },
		{ "-1s", -1 },
		{ "1s ", -1 },
		{ " 1s", -1 },
		{ "1d", -1 },
		{ "1M", -1 },
		{ "1s5", -1 },
		{ "0 s", -1 },
		{ "9999999999999ms", -1 },
		{ "999999999999h", -1 },
		{ "1mss", -1 },
	};

	(void)state;
	for (size_t i = 0; i < array_len(v); i++) {
		int64_t got = -1;

		if (flags_duration(v[i].text, &got) != (v[i].want >= 0) || got != v[i].want)
			fail_msg("'%s': %lld", v[i].text, (long long)got);
	}
}

static void test_help(void **state)
{
	static const char want[] =
		"  -w, --workers N                        threads (default 4)\n"
		"      --wait DURATION                    between steps (default 10s)\n"
		"      --file FILE                        what to read\n"
		"      --format text|json                 of the log (default text)\n"
		"      --names A,B,...                    of things\n"
		"      --on                               do it\n"
		"      --off                              or not (on; --no-off)\n";
	const struct flag table[] = {
		{ .name = "workers",
		  .letter = 'w',
		  .kind = FLAG_INT,
		  .fallback = "4",
		  .help = "threads" },
		{ .name = "wait",
		  .kind = FLAG_DURATION,
		  .fallback = "10s",
		  .help = "between steps" },
		{ .name = "file",
		  .kind = FLAG_STRING,
		  .placeholder = "FILE",
		  .help = "what to read" },
		{ .name = "format",
		  .kind = FLAG_CHOICE,
		  .choices = formats,
		  .fallback = "text",
		  .help = "of the log" },
		{ .name = "names", .kind = FLAG_LIST, .help = "of things" },
		{ .name = "on", .kind = FLAG_BOOL, .fallback = "false", .help = "do it" },
		{ .name = "off", .kind = FLAG_BOOL, .fallback = "true", .help = "or not" },
	};
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	(void)state;
	assert_non_null(f);
	flags_help(table, array_len(table), f);
	assert_int_equal(fclose(f), 0);
	assert_string_equal(text, want);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fallbacks),    cmocka_unit_test(test_forms),
		cmocka_unit_test(test_end_of_flags), cmocka_unit_test(test_last_one_wins),
		cmocka_unit_test(test_bad),	     cmocka_unit_test(test_bad_fallback),
		cmocka_unit_test(test_durations),    cmocka_unit_test(test_help),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
