/* Secrets and tracker together: a scripted API server has the Secrets, a scripted store the pointers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test/lib/tracker_fixture.h"

/* another secret key, "S2" */
#define ROTATED                                                                                    \
	"{\"metadata\":{\"name\":\"keys\",\"resourceVersion\":\"9\"},"                             \
	"\"data\":{\"AWS_ACCESS_KEY_ID\":\"QUs=\",\"AWS_SECRET_ACCESS_KEY\":\"UzI=\"}}"
#define SECRET(v)  TRACKER_SECRET(v)
#define POINTER(v) TRACKER_POINTER(v)
#define GET_SECRET TRACKER_GET_SECRET

struct fixture {
	struct tracker_fixture t;
	struct script *s3;
};

static void begin_with(struct fixture *f, const struct script_step *api, size_t n_api,
		       const struct script_step *s3, size_t n_s3, int64_t pause_ms)
{
	const struct tracker_opts o = { .interval_ms = 100, .pause_ms = pause_ms };
	struct strlist local = STRLIST_INIT;

	f->s3 = script_start(s3, n_s3, NULL);
	strlist_add(&local, script_url(f->s3));
	tracker_begin(&f->t, api, n_api, &local, &o, 100);
	strlist_done(&local);
}

static void begin(struct fixture *f, const struct script_step *api, size_t n_api,
		  const struct script_step *s3, size_t n_s3)
{
	begin_with(f, api, n_api, s3, n_s3, 50);
}

static void end(struct fixture *f)
{
	tracker_end(&f->t);
	script_stop(f->s3);
}

static void want(struct fixture *f, const char *endpoint)
{
	tracker_follow(&f->t, "chat", endpoint, true);
}

/* Waits for news of the app until its facts are these; each is one event of the queue. */
static void until(struct fixture *f, enum track_state state, const char *version, const char *why)
{
	struct track_facts facts;

	for (;;) {
		tracker_facts(f->t.tracker, "shop/chat", &facts);
		if (facts.state == state && str_eq(facts.version, version) &&
		    (!why || str_eq(facts.why, why)))
			return;
		tracker_news(&f->t);
	}
}

/* The store's next answer, and then as until(): no state passes by unseen. */
static void then(struct fixture *f, enum track_state state, const char *version, const char *why)
{
	script_pass(f->s3);
	until(f, state, version, why);
}

static const struct script_step secret_step = { .want = GET_SECRET,
						.body = SECRET("1"),
						.again = true };

static void test_follows(void **state)
{
	static const struct script_step s3[] = {
		{ .gated = true, .status = 404, .body = "<Error><Code>NoSuchKey</Code></Error>" },
		{ .gated = true, .headers = "ETag: \"1\"\r\n", .body = POINTER("v1") },
		{ .status = 304 },
		{ .gated = true, .headers = "ETag: \"2\"\r\n", .body = POINTER("v2") },
		{ .gated = true, .headers = "ETag: \"3\"\r\n", .body = "{\"version\":7}" },
		{ .gated = true, .headers = "ETag: \"4\"\r\n", .body = POINTER("v2") },
		{ .status = 304, .again = true },
	};
	struct fixture f;

	(void)state;
	begin(&f, &secret_step, 1, s3, array_len(s3));
	want(&f, script_url(f.s3));
	then(&f, TRACK_NO_POINTER, "", "the bucket has no deploy/current.json below its prefix");
	then(&f, TRACK_READ, "v1", "");
	then(&f, TRACK_READ, "v2", "");
	then(&f, TRACK_BAD_POINTER, "v2", "version is no string");
	then(&f, TRACK_READ, "v2", "");
	assert_true(script_wait(f.s3, 7));
	/* what was no pointer is read whole again, what was one is asked for by its tag */
	assert_true(script_has_header(script_request(f.s3, 2), "if-none-match: \"1\""));
	assert_true(script_has_header(script_request(f.s3, 3), "if-none-match: \"1\""));
	assert_null(strstr(script_request(f.s3, 5)->headers, "if-none-match"));
	assert_true(script_has_header(script_request(f.s3, 6), "if-none-match: \"4\""));
	assert_false(tracker_republished(f.t.tracker, "shop/chat"));
	assert_true(
		str_starts(script_request(f.s3, 0)->line, "GET /cells/chat/deploy/current.json"));
	end(&f);
}

/* The same version under another tag: only schedules have changed. */
static void test_republished(void **state)
{
	static const struct script_step s3[] = {
		{ .headers = "ETag: \"1\"\r\n", .body = POINTER("v1") },
		{ .headers = "ETag: \"2\"\r\n", .body = POINTER("v1") },
		{ .status = 304, .again = true },
	};
	struct fixture f;

	(void)state;
	begin(&f, &secret_step, 1, s3, array_len(s3));
	want(&f, script_url(f.s3));
	until(&f, TRACK_READ, "v1", "");
	assert_true(script_wait(f.s3, 3));
	assert_true(tracker_republished(f.t.tracker, "shop/chat"));
	assert_false(tracker_republished(f.t.tracker, "shop/chat"));
	end(&f);
}

/* Whatever goes wrong, the version that is known stays. */
static void test_failures_hold(void **state)
{
	static const struct script_step s3[] = {
		{ .gated = true, .headers = "ETag: \"1\"\r\n", .body = POINTER("v1") },
		{ .gated = true, .status = 503 },
		{ .gated = true, .status = 200, .body = POINTER("v1") },
		{ .gated = true, .end = SCRIPT_RESET },
		{ .gated = true, .status = 200, .body = POINTER("v1") },
		{ .gated = true, .status = 301, .headers = "Location: http://127.0.0.1:1/\r\n" },
		{ .gated = true,
		  .status = 403,
		  .body = "<Error><Code>AccessDenied</Code></Error>" },
		{ .gated = true, .body = POINTER("v3") },
		{ .body = POINTER("v3"), .again = true },
	};
	struct fixture f;

	(void)state;
	begin(&f, &secret_step, 1, s3, array_len(s3));
	want(&f, script_url(f.s3));
	then(&f, TRACK_READ, "v1", "");
	then(&f, TRACK_FAILED, "v1", "the store asks for a pause: status 503");
	then(&f, TRACK_READ, "v1", "");
	then(&f, TRACK_FAILED, "v1", NULL);
	then(&f, TRACK_READ, "v1", "");
	then(&f, TRACK_FAILED, "v1", "the store redirects, which is not followed: status 301");
	then(&f, TRACK_FAILED, "v1", "the store refuses: status 403 AccessDenied");
	then(&f, TRACK_READ, "v3", "");
	end(&f);
}

/* A loopback address that no policy lists is never called. */
static void test_local_is_refused(void **state)
{
	static const struct script_step s3 = { .body = POINTER("v1"), .again = true };
	struct fixture f;
	char *url;

	(void)state;
	begin(&f, &secret_step, 1, &s3, 1);
	url = xasprintf("http://localhost:%d", script_port(f.s3));
	want(&f, url);
	until(&f, TRACK_FAILED, "", "the host is at a loopback, link-local or metadata address");
	assert_int_equal(script_connections(f.s3), 0);
	/* another place forgets what was known */
	want(&f, script_url(f.s3));
	until(&f, TRACK_READ, "v1", "");
	tracker_forget(f.t.tracker, "shop/chat");
	tracker_forget(f.t.tracker, "shop/chat");
	until(&f, TRACK_NEVER, "", NULL);
	free(url);
	end(&f);
}

/* A Secret that cannot be read stays as it was; one that is not there is said. */
static void test_secret_that_changes(void **state)
{
	static const struct script_step api[] = {
		{ .want = GET_SECRET, .body = SECRET("1") },
		{ .want = GET_SECRET, .body = ROTATED },
		{ .want = GET_SECRET, .status = 500, .body = "{}", .again = true },
	};
	static const struct script_step s3 = { .body = POINTER("v1"), .again = true };
	struct fixture f;
	char hex[DIGEST_HEX];
	struct strlist none = STRLIST_INIT;

	(void)state;
	begin(&f, api, array_len(api), &s3, 1);
	assert_int_equal(secrets_state(f.t.secrets, "shop", "keys"), SECRET_UNREAD);
	want(&f, script_url(f.s3));
	assert_true(script_wait(f.t.api, 4));
	assert_int_equal(secrets_state(f.t.secrets, "shop", "keys"), SECRET_FOUND);
	assert_true(secrets_digest(f.t.secrets, "shop", "keys", "AWS_SECRET_ACCESS_KEY", hex));
	/* printf S2 | sha256sum */
	assert_string_equal(hex,
			    "adfa2b24c2d924fe6383d8804be55afb98ea3eb0e14c3470ac3a0f651b9a422e");
	assert_false(secrets_digest(f.t.secrets, "shop", "keys", "OTHER", hex));
	until(&f, TRACK_READ, "v1", "");
	secrets_want(f.t.secrets, "shop/chat", "shop", &none);
	assert_int_equal(secrets_state(f.t.secrets, "shop", "keys"), SECRET_UNREAD);
	end(&f);
}

static void test_secret_that_is_not_there(void **state)
{
	static const struct script_step api = { .want = GET_SECRET,
						.status = 404,
						.body = "{\"reason\":\"NotFound\"}",
						.again = true };
	static const struct script_step s3 = { .body = POINTER("v1"), .again = true };
	struct fixture f;

	(void)state;
	begin(&f, &api, 1, &s3, 1);
	want(&f, script_url(f.s3));
	until(&f, TRACK_FAILED, "", "Secret keys does not exist");
	assert_int_equal(secrets_state(f.t.secrets, "shop", "keys"), SECRET_MISSING);
	assert_int_equal(script_connections(f.s3), 0);
	end(&f);
}

/*
 * Fifty apps at an endpoint that asks for a pause: those that were under way have asked, the others are told without
 * asking.
 */
static void test_sick_endpoint(void **state)
{
	static const struct script_step s3 = { .status = 503, .again = true };
	struct fixture f;
	struct track_facts facts;
	size_t told = 0;

	(void)state;
	begin_with(&f, &secret_step, 1, &s3, 1, 600000);
	for (int i = 0; i < 50; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "app-%d", i);
		tracker_follow(&f.t, name, script_url(f.s3), true);
	}
	while (told < 50) {
		tracker_news(&f.t);
		told = 0;
		for (int i = 0; i < 50; i++) {
			char app[32];

			(void)snprintf(app, sizeof(app), "shop/app-%d", i);
			tracker_facts(f.t.tracker, app, &facts);
			told += facts.state == TRACK_FAILED;
		}
	}
	assert_string_equal(facts.why, "the store asks for a pause: status 503");
	assert_in_range(script_count(f.s3), 1, 16);
	end(&f);
}

/* Of a credential the line break at its end is dropped; of a digest nothing is. */
static void test_credentials(void **state)
{
	static const struct script_step s3 = { .status = 404, .again = true };
	struct store_keys keys = { { NULL, 0 }, { NULL, 0 }, { NULL, 0 },
				   { NULL, 0 }, { NULL, 0 }, { NULL, 0 } };
	char hex[DIGEST_HEX];
	struct fixture f;

	(void)state;
	begin(&f, &secret_step, 1, &s3, 1);
	want(&f, script_url(f.s3));
	until(&f, TRACK_NO_POINTER, "", NULL);
	assert_int_equal(secrets_credentials(f.t.secrets, "shop", "keys", &keys, hex),
			 SECRET_FOUND);
	assert_string_equal(secret_text(&keys.aws_access_key_id), "AK");
	assert_string_equal(secret_text(&keys.aws_secret_access_key), "SK");
	assert_true(secret_empty(&keys.aws_session_token));
	assert_true(secrets_digest(f.t.secrets, "shop", "keys", "AWS_SECRET_ACCESS_KEY", hex));
	/* printf 'SK\n' | sha256sum */
	assert_string_equal(hex,
			    "04ea46b5cf93cc4d44a76bfad0c072c620cc2b7556657187fbbc1d52df68de9c");
	store_keys_done(&keys);
	end(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_follows),
		cmocka_unit_test(test_republished),
		cmocka_unit_test(test_failures_hold),
		cmocka_unit_test(test_local_is_refused),
		cmocka_unit_test(test_secret_that_changes),
		cmocka_unit_test(test_secret_that_is_not_there),
		cmocka_unit_test(test_sick_endpoint),
		cmocka_unit_test(test_credentials),
	};
	struct err e = ERR_INIT;

	if (http_global_init(&e))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
