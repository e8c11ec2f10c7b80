#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "common/buf.h"
#include "common/kube/client.h"
#include "common/kube/config.h"
#include "common/kube/watch.h"
#include "test/lib/script.h"

static const struct kube_kind pods = { "", "v1", "pods", "Pod", true };
static const struct kube_kind nodes = { "", "v1", "nodes", "Node", false };

/* What was said: "- " gone, "+ " back. */
struct fixture {
	struct script *server;
	struct kube_config *config;
	struct kube_watch *watch;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct buf told;
};

static void nothing(void *ctx, size_t kind, enum kube_watch_type type, const struct json *object)
{
	(void)ctx;
	(void)kind;
	(void)type;
	(void)object;
}

static void said(void *ctx, bool there, int64_t ms, const char *why)
{
	struct fixture *f = ctx;

	(void)pthread_mutex_lock(&f->lock);
	buf_puts(&f->told, there ? "+ " : "- ");
	if (there != (why[0] == '\0') || ms < 0)
		buf_puts(&f->told, "wrong ");
	(void)pthread_cond_broadcast(&f->changed);
	(void)pthread_mutex_unlock(&f->lock);
}

static void start(struct fixture *f, const struct script_step *steps, size_t n)
{
	static const struct kube_watch_kind kinds[] = { { .kind = &pods }, { .kind = &nodes } };
	struct kube_watch_opts o = { .kinds = kinds,
				     .n = array_len(kinds),
				     .backoff_ms = 1,
				     .handler = nothing,
				     .presence = said,
				     .ctx = f };
	struct err e = ERR_INIT;

	*f = (struct fixture){ .server = script_start(steps, n, NULL) };
	(void)pthread_mutex_init(&f->lock, NULL);
	(void)pthread_cond_init(&f->changed, NULL);
	buf_init(&f->told, 1 << 16);
	f->config = kube_config_plain(script_url(f->server), "T");
	o.config = f->config;
	assert_int_equal(kube_watch_start(&o, &f->watch, &e), 0);
}

/* Waits until so much was said, or 30 s. */
static void expect(struct fixture *f, const char *want)
{
	struct timespec until;
	int r = 0;

	(void)clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 30;
	(void)pthread_mutex_lock(&f->lock);
	while (f->told.len < strlen(want) && r == 0)
		r = pthread_cond_timedwait(&f->changed, &f->lock, &until);
	assert_string_equal(buf_str(&f->told), want);
	(void)pthread_mutex_unlock(&f->lock);
}

static void stop(struct fixture *f)
{
	kube_watch_stop(f->watch);
	kube_config_free(f->config);
	script_stop(f->server);
	(void)pthread_mutex_destroy(&f->lock);
	(void)pthread_cond_destroy(&f->changed);
	buf_done(&f->told);
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
	struct fixture f;

	(void)state;
	start(&f, steps, array_len(steps));
	assert_true(script_wait(f.server, array_len(steps)));
	expect(&f, "- + ");
	stop(&f);
}

static void while_it_lasts_it_is_to_be_seen(void **state)
{
	static const struct script_step steps[] = {
		{ .status = 503, .body = "starting", .again = true },
	};
	struct fixture f;

	(void)state;
	start(&f, steps, array_len(steps));
	assert_true(script_wait(f.server, 6));
	expect(&f, "- ");
	assert_true(kube_watch_away_ms(f.watch) > 0);
	stop(&f);
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
	struct fixture f;

	(void)state;
	start(&f, steps, array_len(steps));
	assert_true(script_wait(f.server, array_len(steps)));
	expect(&f, "");
	assert_int_equal(kube_watch_away_ms(f.watch), 0);
	stop(&f);
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
