/* crd/samples/: what the schema refuses, `kubectl celld validate` refuses, and the other way round. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/validate.h"
#include "common/json.h"
#include "common/kube/file.h"
#include "common/yaml.h"

static char dir[] = "/tmp/samples.XXXXXX";

static int set_up(void **state)
{
	(void)state;
	return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	return rmdir(dir);
}

static char *write_doc(const char *name, const struct json *j)
{
	char *path = xasprintf("%s/%s", dir, name);
	cleanup(freep) char *text = json_text(j);
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
	return path;
}

/* The exit status of validate for a file: one document is a CREATE, of two the first is the stored one. */
static int judge(const char *path, char **ret_said)
{
	cleanup(freep) char *text = NULL, *now = NULL, *before = NULL;
	char *argv[8] = { (char *)(uintptr_t) "validate", (char *)(uintptr_t) "-f" };
	size_t out_len = 0, err_len = 0;
	struct yaml_docs docs = YAML_DOCS_INIT;
	struct err e = ERR_INIT;
	cleanup(freep) char *log = NULL;
	FILE *out = open_memstream(ret_said, &out_len), *err = open_memstream(&log, &err_len);
	int argc = 3, status;

	if (file_read(path, 1 << 20, &text, &e) || yaml_parse(text, strlen(text), &docs, &e))
		fail_msg("%s: %s", path, e.message);
	if (!docs.v || !docs.n) {
		fail_msg("%s: no document", path);
		return -1;
	}
	argv[2] = now = write_doc("now.json", docs.v[docs.n - 1].value);
	if (docs.n == 2) {
		before = write_doc("before.json", docs.v[0].value);
		argv[argc++] = (char *)(uintptr_t) "--old";
		argv[argc++] = before;
	}
	status = validate_run(argc, argv, stdin, out, err);
	(void)fclose(out);
	(void)fclose(err);
	(void)unlink(now);
	if (before)
		(void)unlink(before);
	yaml_docs_done(&docs);
	return status;
}

/* What the schema cannot judge, because it takes an annotation or the compatibility table. */
static const char *const beyond_the_schema[] = { "/change-endpoint.yaml", "/pods.yaml" };

static bool is_beyond(const char *path)
{
	for (size_t i = 0; i < array_len(beyond_the_schema); i++) {
		if (str_ends(path, beyond_the_schema[i]))
			return true;
	}
	return false;
}

static void check(const char *pattern, int status, size_t least)
{
	glob_t files;
	size_t wrong = 0;

	assert_int_equal(glob(pattern, 0, NULL, &files), 0);
	for (size_t i = 0; i < files.gl_pathc; i++) {
		cleanup(freep) char *said = NULL;
		int got = judge(files.gl_pathv[i], &said);

		if (got != (is_beyond(files.gl_pathv[i]) ? 1 : status)) {
			print_error("%s: exit status %d: %s\n", files.gl_pathv[i], got, said);
			wrong++;
		}
	}
	assert_int_equal(wrong, 0);
	assert_true(files.gl_pathc >= least);
	globfree(&files);
}

static void test_accepted(void **state)
{
	(void)state;
	check("crd/samples/accepted/*.yaml", 0, 50);
}

static void test_refused(void **state)
{
	(void)state;
	check("crd/samples/refused/*.yaml", 1, 150);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_accepted),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
