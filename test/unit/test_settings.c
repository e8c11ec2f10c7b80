#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/celld/table_load.h"
#include "common/kube/file.h"
#include "common/limits.h"
#include "common/settings.h"

static char dir[] = "/tmp/settings.XXXXXX";
static const char *const names[SETTINGS_FILES] = { "table.yaml", "policy.yaml", "defaults.yaml" };
static char *paths[SETTINGS_FILES];

static int make_dir(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	for (int f = 0; f < SETTINGS_FILES; f++)
		paths[f] = xasprintf("%s/%s", dir, names[f]);
	return 0;
}

static int remove_dir(void **state)
{
	(void)state;
	for (int f = 0; f < SETTINGS_FILES; f++) {
		(void)unlink(paths[f]);
		free(paths[f]);
	}
	return rmdir(dir);
}

/* A new file takes the place of the old one at once. */
static void put(int f, const char *text)
{
	cleanup(freep) char *fresh = xasprintf("%s.new", paths[f]);
	FILE *to = fopen(fresh, "we");

	assert_non_null(to);
	assert_true(fputs(text, to) >= 0);
	assert_int_equal(fclose(to), 0);
	assert_int_equal(rename(fresh, paths[f]), 0);
}

static struct buf told;
static sem_t news;

static void on_reload(void *ctx, const char *name, const struct err *e)
{
	buf_printf(ctx, "%s: %s\n", name, e ? e->message : "loaded");
	(void)sem_post(&news);
}

static void is_told(const char *want)
{
	assert_string_equal(buf_str(&told), want);
	buf_done(&told);
	buf_init(&told, 1 << 16);
}

static struct settings *start(int poll_ms)
{
	struct settings_options o = { .on_reload = on_reload, .ctx = &told, .poll_ms = poll_ms };
	struct settings *s = NULL;
	struct err e = ERR_INIT;

	for (int f = 0; f < SETTINGS_FILES; f++)
		o.file[f] = paths[f];
	strlist_add(&o.allowed[POLICY_IMAGE], "flag.io/");
	buf_init(&told, 1 << 16);
	if (settings_start(&o, &s, &e))
		fail_msg("%s", e.message);
	settings_options_done(&o);
	return s;
}

static char *builtin_text(void)
{
	char *text = NULL;
	struct err e = ERR_INIT;

	assert_int_equal(file_read("common/celld/celld.yaml", LIMIT_CONFIG_FILE, &text, &e), 0);
	return text;
}

static void put_all(void)
{
	cleanup(freep) char *table = builtin_text();

	put(SETTINGS_TABLE, table);
	put(SETTINGS_POLICY, "allowedImagePrefixes: [file.io/]\n");
	put(SETTINGS_DEFAULTS, "defaults: {podLabels: {a: b}}\n");
}

static void test_nothing(void **state)
{
	struct settings_options o = { .poll_ms = -1 };
	cleanup_settings struct settings *s = NULL;
	struct err e = ERR_INIT;
	const struct settings_view *v;

	(void)state;
	assert_int_equal(settings_start(&o, &s, &e), 0);
	v = settings_get(s);
	assert_ptr_equal(v->table, celld_table_builtin());
	assert_non_null(v->policy);
	assert_int_equal(v->policy->list[POLICY_IMAGE].n, 0);
	assert_null(v->defaults);
	settings_release(s, v);
}

static bool allows(const struct settings_view *v, const char *image)
{
	return policy_allows(v->policy, POLICY_IMAGE, "shop", image);
}

static void test_reload(void **state)
{
	struct settings *s;
	const struct settings_view *first, *v;

	(void)state;
	put_all();
	s = start(-1);
	first = settings_get(s);
	assert_ptr_not_equal(first->table, celld_table_builtin());
	assert_true(allows(first, "flag.io/x") && allows(first, "file.io/x"));
	assert_false(allows(first, "other.io/x"));
	assert_int_equal(first->defaults->n, 1);
	settings_look(s);
	is_told("");

	put(SETTINGS_POLICY, "allowedImagePrefixes: [other.io/]\n");
	settings_look(s);
	settings_look(s);
	is_told("policy: loaded\n");
	v = settings_get(s);
	assert_true(allows(v, "flag.io/x") && allows(v, "other.io/x") && !allows(v, "file.io/x"));
	assert_int_equal(v->defaults->n, 1);
	settings_release(s, v);
	/* Who holds the first view still sees all of it. */
	assert_true(allows(first, "file.io/x"));
	settings_release(s, first);

	put(SETTINGS_TABLE, "releases: 7\n");
	settings_look(s);
	settings_look(s);
	assert_true(str_starts(buf_str(&told), "compat-table: --compat-table: "));
	assert_non_null(strstr(buf_str(&told), "table.yaml:1: "));
	buf_done(&told);
	buf_init(&told, 1 << 16);
	v = settings_get(s);
	assert_true(v->table->n_releases > 0);
	settings_release(s, v);

	(void)unlink(paths[SETTINGS_DEFAULTS]);
	settings_look(s);
	settings_look(s);
	assert_non_null(strstr(buf_str(&told), "defaults.yaml: No such file or directory\n"));
	v = settings_get(s);
	assert_int_equal(v->defaults->n, 1);
	settings_release(s, v);
	settings_stop(s);
	buf_done(&told);
}

static void test_thread(void **state)
{
	struct settings *s;
	const struct settings_view *v;

	(void)state;
	put_all();
	assert_int_equal(sem_init(&news, 0, 0), 0);
	s = start(1);
	put(SETTINGS_POLICY, "allowedImagePrefixes: [third.io/]\n");
	assert_int_equal(sem_wait(&news), 0);
	v = settings_get(s);
	assert_true(allows(v, "third.io/x"));
	settings_release(s, v);
	settings_stop(s);
	is_told("policy: loaded\n");
	buf_done(&told);
	(void)sem_destroy(&news);
}

static void test_start_fails(void **state)
{
	static const struct {
		int f;
		const char *text, *message;
	} rows[] = {
		{ SETTINGS_TABLE, "releases: 7\n", "--compat-table: /tmp/settings." },
		{ SETTINGS_POLICY, "x: []\n", "--policy: /tmp/settings." },
		{ SETTINGS_DEFAULTS, "x: {}\n", "--defaults: /tmp/settings." },
		{ SETTINGS_DEFAULTS, NULL, "--defaults: /tmp/settings." },
	};

	(void)state;
	for (size_t i = 0; i < array_len(rows); i++) {
		struct settings_options o = { .poll_ms = -1 };
		struct settings *s = NULL;
		struct err e = ERR_INIT;

		put_all();
		if (rows[i].text)
			put(rows[i].f, rows[i].text);
		else
			(void)unlink(paths[rows[i].f]);
		o.file[rows[i].f] = paths[rows[i].f];
		assert_true(settings_start(&o, &s, &e) < 0);
		assert_true(str_starts(e.message, rows[i].message));
		assert_null(s);
	}
}

static void test_flags(void **state)
{
	struct settings_options o = { .poll_ms = -1 };
	struct flag rows[SETTINGS_FLAGS_MAX];
	char *argv[] = { (char *)(uintptr_t) "x", (char *)(uintptr_t) "--defaults=d",
			 (char *)(uintptr_t) "--policy=p", (char *)(uintptr_t) "--compat-table=c",
			 (char *)(uintptr_t) "--allowed-image-prefixes=bad*" };
	struct settings *s = NULL;
	struct err e = ERR_INIT;
	int rest;

	(void)state;
	assert_int_equal(settings_flags(&o, false, rows), SETTINGS_FLAGS_MAX - 1);
	assert_int_equal(settings_flags(&o, true, rows), SETTINGS_FLAGS_MAX);
	assert_int_equal(flags_parse(rows, array_len(rows), array_len(argv), argv, &rest, &e), 0);
	assert_string_equal(o.file[SETTINGS_TABLE], "c");
	assert_string_equal(o.file[SETTINGS_POLICY], "p");
	assert_string_equal(o.file[SETTINGS_DEFAULTS], "d");
	memset(o.file, 0, sizeof(o.file));
	assert_int_equal(settings_start(&o, &s, &e), -ERR_INVALID);
	assert_true(str_starts(e.message, "--allowed-image-prefixes: 'bad*'"));
	settings_options_done(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing), cmocka_unit_test(test_reload),
		cmocka_unit_test(test_thread),	cmocka_unit_test(test_start_fails),
		cmocka_unit_test(test_flags),
	};

	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
