#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/secret.h"

static void test_values(void **state)
{
	struct secret a = { NULL, 0 }, b = { NULL, 0 };

	(void)state;
	assert_true(secret_empty(&a));
	assert_string_equal(secret_text(&a), "");
	secret_set(&a, "one\0two", 7);
	assert_false(secret_empty(&a));
	assert_int_equal(a.n, 7);
	assert_memory_equal(a.v, "one\0two", 8);
	secret_copy(&b, &a);
	secret_set(&a, a.v, 3); /* a part of itself */
	assert_string_equal(secret_text(&a), "one");
	assert_memory_equal(b.v, "one\0two", 8);
	secret_set(&b, "", 0);
	assert_true(secret_empty(&b));
	secret_done(&a);
	secret_done(&a);
	assert_true(secret_empty(&a));
	secret_free_text(NULL);
}

/* In a child: it could not be undone. */
static void test_protected(void **state)
{
	pid_t child;
	int status = -1;

	(void)state;
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		struct rlimit core;

		secret_protect();
		_exit(getrlimit(RLIMIT_CORE, &core) || core.rlim_cur || core.rlim_max ||
		      prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_protected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
