#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <malloc.h>
#include <stdlib.h>

#include "common/kube/client.h"
#include "test/lib/watch_fixture.h"

static void ignore(void *ctx, size_t kind, enum kube_watch_type type, const struct json *object)
{
	(void)ctx, (void)kind, (void)type, (void)object;
}

static int open_files(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	(void)closedir(d);
	return n;
}

/*
 * Streams that are cut, each in the midst of a line, cost no memory and no descriptors. The server of the test runs
 * in the same process and keeps each request: about a kilobyte. A client's connection that is left behind is many.
 * With SOAK ten thousand of them.
 */
static void a_cut_costs_nothing(void **state)
{
	static const struct kube_kind pods = { "", "v1", "pods", "Pod", true };
	static const struct kube_watch_kind one = { .kind = &pods };
	static const struct script_step steps[] = {
		{ .want = "GET /api/v1/pods?limit=500",
		  .body = "{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[]}" },
		{ .want = "GET /api/v1/pods?watch=true",
		  .body = "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":"
			  "\"6\"}}}\n"
			  "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"a\",\"name",
		  .end = SCRIPT_CUT,
		  .again = true },
	};
	size_t cuts = getenv("SOAK") ? 10000 : 100, first = 20;
	struct watch_fixture f;
	size_t bytes;
	int files;

	(void)state;
	watch_fixture_start(&f, steps, array_len(steps),
			    (struct kube_watch_opts){ .kinds = &one, .n = 1, .handler = ignore });
	assert_true(script_wait(f.server, first));
	bytes = mallinfo2().uordblks;
	files = open_files();
	for (size_t n = first; n <= cuts; n += first) /* script_wait() waits for 30 s at most */
		assert_true(script_wait(f.server, n));
	assert_true(mallinfo2().uordblks < bytes + (cuts - first) * 2048);
	assert_in_range(open_files(), files - 4, files + 4);
	print_message("%zu cuts, %zu bytes each\n", cuts,
		      (mallinfo2().uordblks - bytes) / (cuts - first));
	watch_fixture_stop(&f);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cut_costs_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
