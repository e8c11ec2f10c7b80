/* The program itself: its commands, and what a shell sees of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base.h"

/* build/PROFILE/test/unit/test_cli_main -> build/PROFILE/bin/kubectl-celld */
static char *program(void)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	char *end;

	assert_true(n > 0);
	path[n] = '\0';
	end = strstr(path, "/test/unit/");
	assert_non_null(end);
	*end = '\0';
	return xasprintf("%s/bin/kubectl-celld", path);
}

static void check(const char *format, int status, const char *begins)
{
	cleanup(freep) char *name = program(), *command = NULL;
	static char said[1 << 16];
	FILE *f;
	size_t n;
	int r;

	command = xasprintf("exec 2>&1; celld='%s'; %s", name, format);
	f = popen(command, "re"); /* NOLINT(cert-env33-c): a test of a shell's view */
	assert_non_null(f);
	n = fread(said, 1, sizeof(said) - 1, f);
	said[n] = '\0';
	r = pclose(f);
	assert_true(WIFEXITED(r));
	if (!str_starts(said, begins))
		fail_msg("%s: said %s", format, said);
	assert_int_equal(WEXITSTATUS(r), status);
}

static void test_commands(void **state)
{
	(void)state;
	check("$celld --version", 0, "kubectl-celld ");
	check("$celld version", 0, "kubectl-celld ");
	check("$celld --help", 0, "Usage: kubectl celld COMMAND [FLAGS]\n");
	check("$celld", 2, "Usage: kubectl celld COMMAND [FLAGS]\n");
	check("$celld frobnicate", 2, "kubectl-celld: unknown command frobnicate\n");
	check("$celld validate --help", 0, "Usage: kubectl celld validate");
}

static void test_exit_statuses(void **state)
{
	(void)state;
	check("echo '{apiVersion: v1, kind: Secret}' | $celld validate -f -", 0,
	      "0 WorkerApps, 0 refused, 1 object of other kinds skipped\n");
	check("echo '{apiVersion: celld-operator.io/v1alpha1, kind: WorkerApp}' | $celld validate "
	      "-q -f -",
	      1, "metadata.name: there is no name;");
	check("$celld validate -f /no/such/file", 2,
	      "kubectl-celld validate: /no/such/file: No such file or directory\n");
	check("$celld validate -f - </dev/null", 0, "0 WorkerApps, 0 refused\n");
	/* A verdict that cannot be written is no verdict. */
	check("echo '{apiVersion: celld-operator.io/v1alpha1, kind: WorkerApp}' | $celld validate "
	      "-q -f - >/dev/full",
	      2, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_commands),
		cmocka_unit_test(test_exit_statuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
