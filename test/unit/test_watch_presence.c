#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "common/buf.h"
#include "common/kube/client.h"
#include "common/kube/config.h"
#include "common/kube/watch.h"
#include "test/lib/watch_fixture.h"

static const struct kube_kind pods = { "", "v1", "pods", "Pod", true };
static const struct kube_kind nodes = { "", "v1", "nodes", "Node", false };

static void nothing(void *ctx, size_t kind, enum kube_watch_type type, const struct json *object)
{
	(void)ctx;
	(void)kind;
	(void)type;
	(void)object;
}

/* "- " gone, "+ " back. */
static void said(void *ctx, bool there, int64_t ms, const char *why)
{
	bool wrong = there != (why[0] == '\0') || ms < 0;

	watch_fixture_tell(ctx, "%s%s", there ? "+ " : "- ", wrong ? "wrong " : "");
}

static void start(struct watch_fixture *f, const struct script_step *steps, size_t n)
{
	static const struct kube_watch_kind kinds[] = { { .kind = &pods }, { .kind = &nodes } };

	watch_fixture_start(f, steps, n,
			    (struct kube_watch_opts){ .kinds = kinds,
						      .n = array_len(kinds),
						      .handler = nothing,
						      .presence = said });
}

#define LIST	    "{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[]}"
#define PODS	    "GET /api/v1/pods?limit="
#define NODES	    "GET /api/v1/nodes?limit="
#define WATCH_PODS  "GET /api/v1/pods?watch="
#define WATCH_NODES "GET /api/v1/nodes?watch="

/* One word when it goes, one when it is back, however many tries there were. */
static void an_outage_is_told_once(void **state)
{
	static const struct script_step steps[] = {
		{ .status = 503, .body = "starting" },
		{ .status = 502, .body = "no backend" },
		{ .end = SCRIPT_RESET, .body = "{" },
		{ .status = 503, .body = "starting" },
		{ .status = 504, .body = "late" },
		{ .want = PODS, .body = LIST },
		{ .want = NODES, .body = LIST },
		{ .want = WATCH_PODS, .end = SCRIPT_HOLD },
		{ .want = WATCH_NODES, .end = SCRIPT_HOLD },
	};
	struct watch_fixture f;

	(void)state;
	start(&f, steps, array_len(steps));
	assert_true(script_wait(f.server, array_len(steps)));
	watch_fixture_expect(&f, "- + ");
	watch_fixture_stop(&f);
}

static void while_it_lasts_it_is_to_be_seen(void **state)
{
	static const struct script_step steps[] = {
		{ .status = 503, .body = "starting", .again = true },
	};
	struct watch_fixture f;

	(void)state;
	start(&f, steps, array_len(steps));
	assert_true(script_wait(f.server, 6));
	watch_fixture_expect(&f, "- ");
	assert_true(kube_watch_away_ms(f.watch) > 0);
	watch_fixture_stop(&f);
}

/* A refusal is an answer, and a watch that breaks off is no outage when the next try succeeds. */
static void a_server_that_answers_is_there(void **state)
{
	static const struct script_step steps[] = {
		{ .want = PODS, .status = 403, .body = "{}" },
		{ .want = NODES, .status = 403, .body = "{}" },
		{ .want = PODS, .body = LIST },
		{ .want = NODES, .body = LIST },
		{ .want = WATCH_PODS, .end = SCRIPT_CUT },
		{ .want = WATCH_NODES, .end = SCRIPT_CUT },
		{ .want = WATCH_PODS, .end = SCRIPT_HOLD },
		{ .want = WATCH_NODES, .end = SCRIPT_HOLD },
	};
	struct watch_fixture f;

	(void)state;
	start(&f, steps, array_len(steps));
	assert_true(script_wait(f.server, array_len(steps)));
	watch_fixture_expect(&f, "");
	assert_int_equal(kube_watch_away_ms(f.watch), 0);
	watch_fixture_stop(&f);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_outage_is_told_once),
		cmocka_unit_test(while_it_lasts_it_is_to_be_seen),
		cmocka_unit_test(a_server_that_answers_is_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
