#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/json.h"
#include "common/kube/config.h"
#include "common/kube/lease.h"
#include "test/lib/script.h"

#define PATH "/apis/coordination.k8s.io/v1/namespaces/ops/leases"
#define GET  "GET " PATH "/celld"
#define PUT  "PUT " PATH "/celld"
#define POST "POST " PATH
/* duration in seconds; times as their writer's clock told them */
#define LEASE(holder, rv, duration, time)                                                          \
	"{\"metadata\":{\"name\":\"celld\",\"namespace\":\"ops\",\"uid\":\"u-1\","                 \
	"\"resourceVersion\":\"" rv "\"},\"spec\":{\"holderIdentity\":\"" holder                   \
	"\",\"leaseDurationSeconds\":" duration ",\"leaseTransitions\":3,\"acquireTime\":\"" time  \
	"\",\"renewTime\":\"" time "\"}}"
#define OURS(rv)   LEASE("me", rv, "1", "2026-01-01T00:00:00.000000Z")
#define THEIRS(rv) LEASE("other", rv, "1", "2026-01-01T00:00:00.000000Z")

struct fixture {
	struct script *server;
	struct kube_config *config;
	struct lease *lease;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int won, lost;
	int64_t won_ms;
	char why[512];
};

static void on_won(void *ctx)
{
	struct fixture *f = ctx;

	(void)pthread_mutex_lock(&f->lock);
	f->won++;
	f->won_ms = clock_mono_ms();
	(void)pthread_cond_broadcast(&f->changed);
	(void)pthread_mutex_unlock(&f->lock);
}

static void on_lost(void *ctx, const char *why)
{
	struct fixture *f = ctx;

	(void)pthread_mutex_lock(&f->lock);
	f->lost++;
	(void)snprintf(f->why, sizeof(f->why), "%s", why);
	(void)pthread_cond_broadcast(&f->changed);
	(void)pthread_mutex_unlock(&f->lock);
}

static void wait_for(struct fixture *f, const int *what)
{
	struct timespec until;
	int r = 0;

	(void)clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 30;
	(void)pthread_mutex_lock(&f->lock);
	while (!*what && r == 0)
		r = pthread_cond_timedwait(&f->changed, &f->lock, &until);
	assert_int_equal(*what, 1);
	(void)pthread_mutex_unlock(&f->lock);
}

static void start_with(struct fixture *f, const struct script_step *steps, size_t n,
		       int64_t renew_ms)
{
	struct lease_opts o = {
		.namespace = "ops",
		.name = "celld",
		.identity = "me",
		.duration_ms = 60000,
		.renew_ms = renew_ms,
		.retry_ms = 10,
		.won = on_won,
		.lost = on_lost,
		.ctx = f,
	};
	struct err e = ERR_INIT;

	*f = (struct fixture){ .server = script_start(steps, n, NULL) };
	(void)pthread_mutex_init(&f->lock, NULL);
	(void)pthread_cond_init(&f->changed, NULL);
	f->config = o.config = kube_config_plain(script_url(f->server), "T");
	assert_int_equal(lease_start(&o, &f->lease, &e), 0);
}

static void start(struct fixture *f, const struct script_step *steps, size_t n)
{
	start_with(f, steps, n, 50000);
}

static void stop(struct fixture *f, bool release)
{
	lease_stop(f->lease, release);
	f->lease = NULL;
}

static void done(struct fixture *f)
{
	if (f->lease)
		lease_stop(f->lease, false);
	kube_config_free(f->config);
	assert_int_equal(script_unexpected(f->server), 0);
	script_stop(f->server);
	(void)pthread_mutex_destroy(&f->lock);
	(void)pthread_cond_destroy(&f->changed);
}

/* A value of the spec that the i-th request sent, as JSON text. */
static char *sent(struct fixture *f, size_t i, const char *path)
{
	const char *body = script_request(f->server, i)->body;
	struct json *j = NULL;
	struct err e = ERR_INIT;
	char *text;

	assert_int_equal(json_parse(body, strlen(body), &j, &e), 0);
	text = json_at_path(j, path) ? json_text(json_at_path(j, path)) : xstrdup("absent");
	json_free(j);
	return text;
}

static void expect_sent(struct fixture *f, size_t i, const char *path, const char *want)
{
	cleanup(freep) char *got = sent(f, i, path);

	assert_string_equal(got, want);
}

static void test_create_and_renew(void **state)
{
	static const struct script_step steps[] = {
		{ .want = GET, .status = 404, .body = "{\"reason\":\"NotFound\"}" },
		{ .want = POST, .status = 201, .body = OURS("1") },
		{ .want = PUT, .body = OURS("2") },
		{ .want = PUT, .end = SCRIPT_SILENT },
	};
	struct fixture f;
	char holder[16], uid[16];
	cleanup(freep) char *acquired = NULL;

	(void)state;
	start(&f, steps, 4);
	wait_for(&f, &f.won);
	assert_true(script_wait(f.server, 4));
	assert_true(lease_is_leader(f.lease));
	assert_in_range(lease_may_write(f.lease), 1, 50000);
	assert_true(lease_deadline_ms(f.lease) <= clock_mono_ms() + 50000);
	assert_true(lease_last_contact_ms(f.lease) > 0);
	lease_holder(f.lease, holder, sizeof(holder));
	assert_string_equal(holder, "me");
	lease_uid(f.lease, uid, sizeof(uid));
	assert_string_equal(uid, "u-1");
	expect_sent(&f, 1, "metadata.name", "\"celld\"");
	expect_sent(&f, 1, "spec.holderIdentity", "\"me\"");
	expect_sent(&f, 1, "spec.leaseDurationSeconds", "60");
	expect_sent(&f, 1, "spec.leaseTransitions", "0");
	acquired = sent(&f, 1, "spec.acquireTime");
	assert_int_equal(strlen(acquired), strlen("\"2026-01-01T00:00:00.000000Z\""));
	expect_sent(&f, 2, "metadata.resourceVersion", "\"1\"");
	expect_sent(&f, 2, "spec.leaseTransitions", "3"); /* as the server had it */
	expect_sent(&f, 2, "spec.acquireTime", "\"2026-01-01T00:00:00.000000Z\"");
	expect_sent(&f, 3, "metadata.resourceVersion", "\"2\"");
	assert_int_equal(f.lost, 0);
	done(&f);
}

/* The times in the record are of a clock an hour, or decades, off: nothing but our own observation counts. */
static void takeover(const char *theirs)
{
	const struct script_step steps[] = {
		{ .want = GET, .body = theirs, .again = true },
		{ .want = PUT, .body = OURS("6"), .again = true },
	};
	int64_t begin = clock_mono_ms();
	struct fixture f;

	start(&f, steps, 2);
	assert_true(script_wait(f.server, 2));
	assert_false(lease_is_leader(f.lease));
	assert_int_equal(lease_may_write(f.lease), 0);
	assert_int_equal(lease_deadline_ms(f.lease), 0);
	wait_for(&f, &f.won);
	/* Its duration is 1 s: never sooner. */
	assert_true(f.won_ms - begin >= 1000);
	stop(&f, false);
	for (size_t i = 0; i < script_count(f.server); i++) {
		if (!str_starts(script_request(f.server, i)->line, "PUT"))
			continue;
		expect_sent(&f, i, "metadata.resourceVersion", "\"5\"");
		expect_sent(&f, i, "spec.leaseTransitions", "4");
		expect_sent(&f, i, "spec.holderIdentity", "\"me\"");
		break;
	}
	done(&f);
}

static void test_takeover(void **state)
{
	(void)state;
	takeover(LEASE("other", "5", "1", "2026-01-01T00:00:00.000000Z"));
	takeover(LEASE("other", "5", "1", "1999-01-01T00:00:00.000000Z"));
	takeover(LEASE("other", "5", "1", "2099-01-01T00:00:00.000000Z"));
}

static void test_released_is_free(void **state)
{
	static const struct script_step steps[] = {
		{ .want = GET, .body = LEASE("", "5", "1", "2099-01-01T00:00:00.000000Z") },
		{ .want = PUT, .body = OURS("6"), .again = true },
	};
	struct fixture f;

	(void)state;
	start(&f, steps, 2);
	wait_for(&f, &f.won);
	done(&f);
}

static void test_a_living_holder(void **state)
{
	/* Changes with every look: it lives, whatever its duration. */
	static const struct script_step steps[] = {
		{ .want = GET, .body = LEASE("other", "1", "1", "2026-01-01T00:00:01.000000Z") },
		{ .want = GET, .body = LEASE("other", "2", "1", "2026-01-01T00:00:02.000000Z") },
		{ .want = GET, .body = LEASE("other", "3", "1", "2026-01-01T00:00:03.000000Z") },
		{ .want = GET, .status = 503 },
		{ .want = GET, .end = SCRIPT_SILENT },
	};
	struct fixture f;
	char holder[16];

	(void)state;
	start(&f, steps, 5);
	assert_true(script_wait(f.server, 5));
	lease_holder(f.lease, holder, sizeof(holder));
	assert_string_equal(holder, "other");
	stop(&f, true);
	assert_int_equal(script_count(f.server), 5); /* nothing to give back */
	assert_int_equal(f.won + f.lost, 0);
	done(&f);
}

static void test_somebody_else_was_quicker(void **state)
{
	static const struct script_step steps[] = {
		{ .want = GET, .status = 404 },
		{ .want = POST, .status = 409, .body = "{\"reason\":\"AlreadyExists\"}" },
		{ .want = GET, .body = LEASE("", "5", "1", "2026-01-01T00:00:00.000000Z") },
		{ .want = PUT, .status = 409, .body = "{\"reason\":\"Conflict\"}" },
		{ .want = GET, .end = SCRIPT_SILENT },
	};
	struct fixture f;

	(void)state;
	start(&f, steps, 5);
	assert_true(script_wait(f.server, 5));
	assert_false(lease_is_leader(f.lease));
	done(&f);
}

static void test_edited_but_still_ours(void **state)
{
	static const struct script_step steps[] = {
		{ .want = GET, .status = 404 },
		{ .want = POST, .body = OURS("1") },
		{ .want = PUT, .status = 409, .body = "{\"reason\":\"Conflict\"}" },
		{ .want = GET, .body = OURS("7") },
		{ .want = PUT, .body = OURS("8") },
		{ .want = PUT, .end = SCRIPT_SILENT },
	};
	struct fixture f;

	(void)state;
	start(&f, steps, 6);
	assert_true(script_wait(f.server, 6));
	assert_true(lease_is_leader(f.lease));
	expect_sent(&f, 4, "metadata.resourceVersion", "\"7\"");
	assert_int_equal(f.lost, 0);
	done(&f);
}

static void taken_away(const char *now, const char *why)
{
	const struct script_step steps[] = {
		{ .want = GET, .status = 404 },
		{ .want = POST, .body = OURS("1") },
		{ .want = PUT, .status = 409, .body = "{\"reason\":\"Conflict\"}" },
		{ .want = GET, .body = now },
	};
	struct fixture f;

	start(&f, steps, 4);
	wait_for(&f, &f.lost);
	assert_false(lease_is_leader(f.lease));
	assert_int_equal(lease_may_write(f.lease), 0);
	assert_string_equal(f.why, why);
	stop(&f, true);
	/* Lost for ever: no attempt to win it again, nothing to give back. */
	assert_int_equal(script_count(f.server), 4);
	assert_int_equal(f.won, 1);
	done(&f);
}

static void test_taken_away(void **state)
{
	(void)state;
	taken_away(THEIRS("9"), "taken away by 'other'");
	taken_away(LEASE("", "9", "1", "2026-01-01T00:00:00.000000Z"), "taken away by ''");
}

static void test_not_renewed(void **state)
{
	static const struct script_step steps[] = {
		{ .want = GET, .status = 404 },
		{ .want = POST, .body = OURS("1") },
		{ .want = PUT, .end = SCRIPT_SILENT },
		{ .want = PUT, .status = 429, .headers = "Retry-After: 7\r\n" },
		{ .want = PUT, .end = SCRIPT_SILENT, .again = true },
	};
	struct fixture f;

	(void)state;
	start_with(&f, steps, 5, 300);
	wait_for(&f, &f.lost);
	assert_false(lease_is_leader(f.lease));
	assert_int_equal(lease_may_write(f.lease), 0);
	assert_true(clock_mono_ms() >= f.won_ms + 200); /* not at the first call that hung */
	stop(&f, true);
	done(&f);
}

static void test_release(void **state)
{
	static const struct script_step steps[] = {
		{ .want = GET, .status = 404 },
		{ .want = POST, .body = OURS("1") },
		{ .want = PUT, .end = SCRIPT_SILENT }, /* a renewal under way, which was stored */
		{ .want = PUT, .status = 409, .body = "{\"reason\":\"Conflict\"}" },
		{ .want = GET, .body = OURS("2") },
		{ .want = PUT, .body = LEASE("", "3", "1", "2026-01-01T00:00:00.000000Z") },
	};
	struct fixture f;

	(void)state;
	start(&f, steps, 6);
	assert_true(script_wait(f.server, 3));
	stop(&f, true);
	assert_int_equal(script_count(f.server), 6);
	expect_sent(&f, 5, "metadata.resourceVersion", "\"2\"");
	expect_sent(&f, 5, "spec.holderIdentity", "\"\"");
	expect_sent(&f, 5, "spec.leaseDurationSeconds", "1");
	expect_sent(&f, 5, "spec.leaseTransitions", "3");
	assert_int_equal(f.lost, 0);
	done(&f);
}

static void test_stop_without_release(void **state)
{
	static const struct script_step steps[] = {
		{ .want = GET, .status = 404 },
		{ .want = POST, .body = OURS("1") },
		{ .want = PUT, .end = SCRIPT_SILENT },
	};
	struct fixture f;

	(void)state;
	start(&f, steps, 3);
	assert_true(script_wait(f.server, 3));
	stop(&f, false);
	assert_int_equal(script_count(f.server), 3);
	done(&f);
}

/* Somebody deletes it: it comes back with the labels by which its owner knows it, and without what was the server's. */
static void test_deleted_and_made_anew(void **state)
{
	static const struct script_step steps[] = {
		{ .want = GET,
		  .body = "{\"metadata\":{\"name\":\"celld\",\"namespace\":\"ops\",\"uid\":\"U\","
			  "\"resourceVersion\":\"1\",\"labels\":{\"helm\":\"yes\"}}}" },
		{ .want = PUT, .status = 404, .body = "{}" },
		{ .want = GET, .status = 404, .body = "{}" },
		{ .want = POST, .body = OURS("3") },
		{ .want = PUT, .body = OURS("4"), .again = true },
	};
	struct json *o = NULL;
	const struct json *meta;
	struct err e = ERR_INIT;
	struct fixture f;

	(void)state;
	start(&f, steps, array_len(steps));
	wait_for(&f, &f.won);
	stop(&f, false);
	for (size_t i = 0; i < script_count(f.server) && !o; i++) {
		const struct script_request *r = script_request(f.server, i);

		if (str_starts(r->line, POST))
			assert_int_equal(json_parse(r->body, strlen(r->body), &o, &e), 0);
	}
	assert_non_null(o);
	meta = json_get(o, "metadata");
	assert_string_equal(json_str(json_path(meta, "labels", "helm", NULL)), "yes");
	assert_null(json_get(meta, "uid"));
	assert_null(json_get(meta, "resourceVersion"));
	json_free(o);
	done(&f);
}

static void test_options(void **state)
{
	static const struct {
		int64_t duration, renew, retry;
		const char *identity, *field;
	} bad[] = {
		{ 1500, 1000, 100, "x", "duration" }, { 15000, 15000, 2000, "x", "renew" },
		{ 10000, 0, 2000, "x", "renew" },     { 15000, 10000, 9000, "x", "retry" },
		{ 0, 0, 0, "", "identity" },
	};

	(void)state;
	for (size_t i = 0; i < array_len(bad); i++) {
		struct lease_opts o = { .namespace = "a",
					.name = "b",
					.identity = bad[i].identity,
					.duration_ms = bad[i].duration,
					.renew_ms = bad[i].renew,
					.retry_ms = bad[i].retry };
		struct lease *l = NULL;
		struct err e = ERR_INIT;

		assert_int_equal(lease_start(&o, &l, &e), -ERR_INVALID);
		assert_string_equal(e.field, bad[i].field);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_create_and_renew),
		cmocka_unit_test(test_takeover),
		cmocka_unit_test(test_released_is_free),
		cmocka_unit_test(test_a_living_holder),
		cmocka_unit_test(test_somebody_else_was_quicker),
		cmocka_unit_test(test_edited_but_still_ours),
		cmocka_unit_test(test_taken_away),
		cmocka_unit_test(test_not_renewed),
		cmocka_unit_test(test_release),
		cmocka_unit_test(test_stop_without_release),
		cmocka_unit_test(test_deleted_and_made_anew),
		cmocka_unit_test(test_options),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
