/* Usage, the Job, and stores that are scripted; real ones and one that lies are in test/neighbours. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/qualify.h"
#include "test/lib/script.h"

static char said[1 << 16];

static int run(const char *const *args)
{
	char *argv[24] = { xstrdup("qualify") };
	FILE *out = tmpfile();
	int argc = 1, status;
	size_t n;

	assert_non_null(out);
	for (; args[argc - 1]; argc++)
		argv[argc] = xstrdup(args[argc - 1]);
	status = qualify_run(argc, argv, out, out);
	rewind(out);
	n = fread(said, 1, sizeof(said) - 1, out);
	said[n] = '\0';
	assert_int_equal(fclose(out), 0);
	while (argc--)
		free(argv[argc]);
	return status;
}

static void test_usage(void **state)
{
	static const char *const none[] = { NULL };
	static const char *const bad[] = { "--bucket=http://cells", NULL };
	static const char *const more[] = { "--bucket=s3://cells", "here", NULL };
	static const char *const help[] = { "--help", NULL };
	static const char *const writers[] = { "--bucket=s3://cells", "--writers=1", NULL };

	(void)state;
	assert_int_equal(run(none), 2);
	assert_int_equal(run(bad), 2);
	assert_true(str_starts(said, "kubectl-celld qualify: --bucket: write s3://NAME"));
	assert_int_equal(run(more), 2);
	assert_int_equal(run(writers), 2);
	assert_int_equal(run(help), 0);
	assert_non_null(strstr(said, "--writers"));
}

static void test_keys(void **state)
{
	static const char *const args[] = { "--bucket=s3://cells", NULL };

	(void)state;
	(void)unsetenv("AWS_ACCESS_KEY_ID");
	assert_int_equal(run(args), 2);
	assert_string_equal(said, "kubectl-celld qualify: AWS_ACCESS_KEY_ID is missing\n");
}

static void test_job(void **state)
{
	static const char *const args[] = { "--bucket=s3://cells/x",
					    "--in-cluster=tools:v1",
					    "--secret=keys",
					    "-n",
					    "shop",
					    "--allow-http",
					    NULL };

	(void)state;
	assert_int_equal(run(args), 0);
	assert_non_null(strstr(said, "kind: Job\n"));
	assert_non_null(strstr(said, "namespace: shop\n"));
	assert_non_null(strstr(said, "image: tools:v1\n"));
	assert_non_null(strstr(said, "- \"--bucket=s3://cells/x\"\n"));
	assert_non_null(strstr(said, "- \"--allow-http=true\"\n"));
	assert_non_null(strstr(said, "secretRef: {name: keys}\n"));
	assert_null(strstr(said, "endpoint"));
}

static int against(const struct script_step *steps, size_t n, const char *report)
{
	struct script *s = script_start(steps, n, NULL);
	char *url = xasprintf("--endpoint=%s", script_url(s));
	const char *const args[] = { "--bucket=s3://cells", url,    "--allow-http",
				     "--rounds=0",	    report, NULL };
	int status;

	(void)setenv("AWS_ACCESS_KEY_ID", "A", 1);
	(void)setenv("AWS_SECRET_ACCESS_KEY", "S", 1);
	status = run(args);
	free(url);
	script_stop(s);
	return status;
}

/* Everything is taken, nothing refused. */
static void test_ignores_conditions(void **state)
{
	static const struct script_step steps[] = {
		{ .want = "PUT /", .headers = "ETag: \"1\"\r\n", .again = true },
		{ .want = "GET /cells?", .body = "<ListBucketResult/>", .again = true },
		{ .want = "GET /", .body = "three", .again = true },
		{ .want = "DELETE /", .status = 204, .again = true },
	};

	(void)state;
	assert_int_equal(against(steps, 4, "--report=text"), 1);
	assert_non_null(strstr(said, "fail     create-refused"));
	assert_non_null(strstr(said, "If-None-Match is ignored"));
	assert_non_null(strstr(said, "fail     replace-stale-refused"));
	assert_non_null(strstr(said, "two nodes both take a cell for theirs"));
	assert_non_null(strstr(said, "fail     read-after-write"));
	assert_non_null(strstr(said, "fail     list-after-write"));
	assert_non_null(strstr(said, "The store cannot fence."));
}

static void test_without_tags(void **state)
{
	static const struct script_step steps[] = { { .want = "PUT /", .again = true } };

	(void)state;
	assert_int_equal(against(steps, 1, "--report=json"), 1);
	assert_non_null(strstr(said, "\"verdict\":\"fail\""));
	assert_non_null(strstr(said, "{\"check\":\"tag\",\"verdict\":\"fail\""));
}

static void test_cannot_be_asked(void **state)
{
	static const struct script_step steps[] = { { .status = 500, .again = true } };

	(void)state;
	assert_int_equal(against(steps, 1, "--report=text"), 2);
	assert_non_null(strstr(said, "unknown  create"));
	assert_non_null(strstr(said, "the store answers status 500"));
}

/* A store without XML words for it, GCS for one: the bucket's name is wrong, and nothing is said of its conditions. */
static void test_no_such_bucket(void **state)
{
	static const struct script_step steps[] = {
		{ .want = "PUT /", .status = 404, .body = "{}", .again = true }
	};

	(void)state;
	assert_int_equal(against(steps, 1, "--report=text"), 2);
	assert_non_null(strstr(said, "unknown  create"));
	assert_non_null(strstr(said, "there is no such bucket"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_usage),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_job),
		cmocka_unit_test(test_ignores_conditions),
		cmocka_unit_test(test_without_tags),
		cmocka_unit_test(test_cannot_be_asked),
		cmocka_unit_test(test_no_such_bucket),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
