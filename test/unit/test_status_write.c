#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "controller/status_write.h"
#include "test/lib/turn_fixture.h"

#define STATUS "PATCH /apis/celld-operator.io/v1alpha1/namespaces/store/workerapps/shop/status?"
#define WHY                                                                                        \
	"failed to create typed patch object (store/shop; celld-operator.io/v1alpha1, "            \
	"Kind=WorkerApp): "
#define NOT ": field not declared in schema"
#define REFUSED(why)                                                                               \
	"{\"kind\":\"Status\",\"status\":\"Failure\",\"code\":500,\"message\":\"" WHY why "\"}"
#define STORED                                                                                     \
	"{\"metadata\":{\"name\":\"shop\",\"namespace\":\"store\",\"resourceVersion\":\"6\"}}"
#define WHOLE                                                                                      \
	"{'phase':'Ready','url':'http://a/','fleet':{'ready':3,'updated':3},"                      \
	"'deployments':[{'name':'a b','swapping':0},{'name':'c','swapping':1}]}"

struct fixture {
	struct turn_fixture f;
	struct status_writer *w;
};

static void start(struct fixture *x, const struct script_step *steps, size_t n)
{
	turn_fixture_start(&x->f, steps, n);
	x->w = status_writer_new(x->f.opts.client, x->f.opts.cache, CACHE_APP);
}

static void stop(struct fixture *x)
{
	status_writer_free(x->w);
	turn_fixture_stop(&x->f);
}

/* Writes wanted over stored; what was learned must be `lacking` (NULL: nothing). The result of status_write(). */
static int writes(struct fixture *x, const char *wanted, const char *stored, int64_t now,
		  bool wrote, const char *lacking)
{
	cleanup_json struct json *status = app_fixture_json(wanted);
	cleanup_json struct json *old = app_fixture_json(stored);
	const struct status_target to = { "store", "shop", "u-1", "5", old, now };
	struct status_outcome done;
	int r;

	x->f.e = (struct err)ERR_INIT;
	r = status_write(x->w, &to, status, &done, &x->f.e);
	assert_int_equal(done.wrote, wrote);
	if (lacking)
		assert_string_equal(done.lacking, lacking);
	else
		assert_null(done.lacking);
	free(done.lacking);
	return r;
}

static void sent(struct fixture *x, size_t i, const char *status)
{
	cleanup_json struct json *body = app_fixture_json(script_request(x->f.server, i)->body);

	app_fixture_is(json_get(body, "status"), status);
}

static void the_same_status_is_not_written(void **state)
{
	struct fixture x;

	(void)state;
	start(&x, NULL, 0);
	assert_int_equal(writes(&x, WHOLE, WHOLE, 1000, false, NULL), 0);
	stop(&x);
}

/*
 * An older definition: what a refusal names is left out, of every later write too, until somebody may have mended it.
 */
static void what_the_definition_lacks_is_left_out(void **state)
{
	static const struct script_step steps[] = {
		{ .want = STATUS,
		  .status = 500,
		  .body = REFUSED("errors:\\n  .status.deployments[name=\\\"a b\\\"].swapping" NOT
				  "\\n  .status.deployments[name=\\\"c\\\"].swapping" NOT
				  "\\n  .status.fleet.updated" NOT) },
		{ .want = STATUS, .status = 500, .body = REFUSED(".status.url" NOT) },
		{ .want = STATUS, .body = STORED },
		{ .want = STATUS, .body = STORED },
		{ .want = STATUS, .body = STORED },
	};
	static const char less[] =
		"{'phase':'Ready','fleet':{'ready':3},'deployments':[{'name':'a b'},"
		"{'name':'c'}]}";
	struct fixture x;

	(void)state;
	start(&x, steps, array_len(steps));
	assert_int_equal(writes(&x, WHOLE, "{}", 1000, true,
				"status.deployments[].swapping, status.fleet.updated, status.url"),
			 0);
	sent(&x, 2, less);
	/* at rest it is what it can be: nothing is written, and nothing is news */
	for (int i = 0; i < 60; i++)
		assert_int_equal(writes(&x, WHOLE, less, 2000 + (int64_t)i * 10000, false, NULL),
				 0);
	assert_int_equal(writes(&x, "{'phase':'Rolling','url':'b'}", less, 700000, true, NULL), 0);
	sent(&x, 3, "{'phase':'Rolling'}");
	assert_int_equal(writes(&x, WHOLE, less, 1000 + STATUS_WRITE_AGAIN_MS, true, NULL), 0);
	sent(&x, 4, WHOLE);
	stop(&x);
}

static void other_refusals_are_the_callers(void **state)
{
	static const struct script_step steps[] = {
		{ .want = STATUS, .status = 500, .body = REFUSED(".spec.url" NOT) },
		{ .want = STATUS, .status = 500, .body = REFUSED("nothing of that kind") },
		{ .want = STATUS, .status = 409, .body = REFUSED("the object has been modified") },
	};
	struct fixture x;

	(void)state;
	start(&x, steps, array_len(steps));
	assert_true(writes(&x, WHOLE, "{}", 1000, false, NULL) < 0);
	assert_true(writes(&x, WHOLE, "{}", 1000, false, NULL) < 0);
	assert_int_equal(writes(&x, WHOLE, "{}", 1000, false, NULL), -ERR_CONFLICT);
	stop(&x);
}

/* A server that never has enough ends the turn, not the program. */
static void refusals_without_end_end(void **state)
{
	static const struct script_step steps[] = {
		{ .want = STATUS,
		  .status = 500,
		  .body = REFUSED(".status.phase" NOT),
		  .again = true },
	};
	struct fixture x;

	(void)state;
	start(&x, steps, array_len(steps));
	assert_true(writes(&x, WHOLE, "{}", 1000, false, "status.phase") < 0);
	assert_true(script_count(x.f.server) <= 8);
	stop(&x);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_status_is_not_written),
		cmocka_unit_test(what_the_definition_lacks_is_left_out),
		cmocka_unit_test(other_refusals_are_the_callers),
		cmocka_unit_test(refusals_without_end_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
