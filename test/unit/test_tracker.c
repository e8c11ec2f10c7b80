/* Secrets and tracker together: a scripted API server has the Secrets, a scripted store the pointers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/kube/client.h"
#include "common/kube/config.h"
#include "common/settings.h"
#include "controller/tracker.h"
#include "test/lib/script.h"

/* {"AWS_ACCESS_KEY_ID": "AK", "AWS_SECRET_ACCESS_KEY": "SK\n"} */
#define SECRET(version)                                                                            \
	"{\"metadata\":{\"name\":\"keys\",\"resourceVersion\":\"" version                          \
	"\"},\"data\":{\"AWS_ACCESS_KEY_ID\":\"QUs=\",\"AWS_SECRET_ACCESS_KEY\":\"U0sK\"}}"
/* another secret key, "S2" */
#define ROTATED                                                                                    \
	"{\"metadata\":{\"name\":\"keys\",\"resourceVersion\":\"9\"},"                             \
	"\"data\":{\"AWS_ACCESS_KEY_ID\":\"QUs=\",\"AWS_SECRET_ACCESS_KEY\":\"UzI=\"}}"
#define GET_SECRET "GET /api/v1/namespaces/shop/secrets/keys"
#define POINTER(v) "{\"version\":\"" v "\",\"prefix\":\"deploy/app/" v "\"}"

static bool yes(void *ctx)
{
	(void)ctx;
	return true;
}

struct fixture {
	struct script *api, *s3;
	struct kube_config *config;
	struct kube_client *client;
	struct http_cancel *cancel;
	struct queue *queue;
	struct secrets *secrets;
	struct tracker *tracker;
	struct settings *settings;
	int64_t pause_ms;
};

static void begin(struct fixture *f, const struct script_step *api, size_t n_api,
		  const struct script_step *s3, size_t n_s3)
{
	struct err e = ERR_INIT;
	struct kube_client_opts client;
	struct secrets_opts secrets;
	struct tracker_opts tracker;
	struct settings_options settings = { .poll_ms = -1 };

	*f = (struct fixture){ .api = script_start(api, n_api, NULL),
			       .s3 = script_start(s3, n_s3, NULL),
			       .pause_ms = f->pause_ms ? f->pause_ms : 50 };
	f->cancel = http_cancel_new();
	f->config = kube_config_plain(script_url(f->api), "T");
	client = (struct kube_client_opts){ .config = f->config, .cancel = f->cancel };
	f->client = kube_client_new(&client);
	f->queue = queue_new(10, 100);
	strlist_add(&settings.allowed[POLICY_ENDPOINT], script_url(f->s3));
	assert_int_equal(settings_start(&settings, &f->settings, &e), 0);
	settings_options_done(&settings);
	secrets = (struct secrets_opts){
		.client = f->client, .queue = f->queue, .interval_ms = 100, .active = yes
	};
	f->secrets = secrets_start(&secrets);
	tracker = (struct tracker_opts){ .queue = f->queue,
					 .secrets = f->secrets,
					 .cancel = f->cancel,
					 .settings = f->settings,
					 .interval_ms = 100,
					 .pause_ms = f->pause_ms,
					 .active = yes };
	f->tracker = tracker_start(&tracker);
}

static void end(struct fixture *f)
{
	http_cancel_trigger(f->cancel);
	tracker_stop(f->tracker);
	secrets_stop(f->secrets);
	queue_free(f->queue);
	kube_client_free(f->client);
	kube_config_free(f->config);
	http_cancel_free(f->cancel);
	settings_stop(f->settings);
	script_stop(f->api);
	script_stop(f->s3);
}

static void want(struct fixture *f, const char *endpoint)
{
	const struct store_place place = { .scheme = SCHEME_S3,
					   .endpoint = endpoint,
					   .region = "us-east-1",
					   .container = "cells",
					   .prefix = "chat",
					   .allow_http = true };
	struct strlist names = STRLIST_INIT;

	strlist_add(&names, "keys");
	secrets_want(f->secrets, "shop/chat", "shop", &names);
	tracker_want(f->tracker, "shop/chat", &place, "shop", "keys", true);
	strlist_done(&names);
}

/* Waits for news of the app until its facts are these; each is one event of the queue. */
static void until(struct fixture *f, enum track_state state, const char *version, const char *why)
{
	struct track_facts facts;

	for (;;) {
		char *key;

		tracker_facts(f->tracker, "shop/chat", &facts);
		if (facts.state == state && str_eq(facts.version, version) &&
		    (!why || str_eq(facts.why, why)))
			return;
		key = queue_get(f->queue);
		assert_string_equal(key, "shop/chat");
		queue_done(f->queue, key, false);
		free(key);
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
	struct fixture f = { .api = NULL };

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
	assert_false(tracker_republished(f.tracker, "shop/chat"));
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
	struct fixture f = { .api = NULL };

	(void)state;
	begin(&f, &secret_step, 1, s3, array_len(s3));
	want(&f, script_url(f.s3));
	until(&f, TRACK_READ, "v1", "");
	assert_true(script_wait(f.s3, 3));
	assert_true(tracker_republished(f.tracker, "shop/chat"));
	assert_false(tracker_republished(f.tracker, "shop/chat"));
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
	struct fixture f = { .api = NULL };

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
	struct fixture f = { .api = NULL };
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
	tracker_forget(f.tracker, "shop/chat");
	tracker_forget(f.tracker, "shop/chat");
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
	struct fixture f = { .api = NULL };
	char hex[DIGEST_HEX];
	struct strlist none = STRLIST_INIT;

	(void)state;
	begin(&f, api, array_len(api), &s3, 1);
	assert_int_equal(secrets_state(f.secrets, "shop", "keys"), SECRET_UNREAD);
	want(&f, script_url(f.s3));
	assert_true(script_wait(f.api, 4));
	assert_int_equal(secrets_state(f.secrets, "shop", "keys"), SECRET_FOUND);
	assert_true(secrets_digest(f.secrets, "shop", "keys", "AWS_SECRET_ACCESS_KEY", hex));
	/* printf S2 | sha256sum */
	assert_string_equal(hex,
			    "adfa2b24c2d924fe6383d8804be55afb98ea3eb0e14c3470ac3a0f651b9a422e");
	assert_false(secrets_digest(f.secrets, "shop", "keys", "OTHER", hex));
	until(&f, TRACK_READ, "v1", "");
	secrets_want(f.secrets, "shop/chat", "shop", &none);
	assert_int_equal(secrets_state(f.secrets, "shop", "keys"), SECRET_UNREAD);
	end(&f);
}

static void test_secret_that_is_not_there(void **state)
{
	static const struct script_step api = { .want = GET_SECRET,
						.status = 404,
						.body = "{\"reason\":\"NotFound\"}",
						.again = true };
	static const struct script_step s3 = { .body = POINTER("v1"), .again = true };
	struct fixture f = { .api = NULL };

	(void)state;
	begin(&f, &api, 1, &s3, 1);
	want(&f, script_url(f.s3));
	until(&f, TRACK_FAILED, "", "Secret keys does not exist");
	assert_int_equal(secrets_state(f.secrets, "shop", "keys"), SECRET_MISSING);
	assert_int_equal(script_connections(f.s3), 0);
	end(&f);
}

/* Fifty apps at an endpoint that asks for a pause: those that were under way have asked, the others are told without asking. */
static void test_sick_endpoint(void **state)
{
	static const struct script_step s3 = { .status = 503, .again = true };
	struct fixture f = { .pause_ms = 600000 };
	struct track_facts facts;
	struct strlist names = STRLIST_INIT;
	size_t told = 0;

	(void)state;
	begin(&f, &secret_step, 1, &s3, 1);
	strlist_add(&names, "keys");
	for (int i = 0; i < 50; i++) {
		const struct store_place place = { .scheme = SCHEME_S3,
						   .endpoint = script_url(f.s3),
						   .container = "cells",
						   .allow_http = true };
		char app[32];

		(void)snprintf(app, sizeof(app), "shop/app-%d", i);
		secrets_want(f.secrets, app, "shop", &names);
		tracker_want(f.tracker, app, &place, "shop", "keys", true);
	}
	while (told < 50) {
		char *key = queue_get(f.queue);

		queue_done(f.queue, key, false);
		free(key);
		told = 0;
		for (int i = 0; i < 50; i++) {
			char app[32];

			(void)snprintf(app, sizeof(app), "shop/app-%d", i);
			tracker_facts(f.tracker, app, &facts);
			told += facts.state == TRACK_FAILED;
		}
	}
	assert_string_equal(facts.why, "the store asks for a pause: status 503");
	assert_in_range(script_count(f.s3), 1, 16);
	strlist_done(&names);
	end(&f);
}

/* Of a credential the line break at its end is dropped; of a digest nothing is. */
static void test_credentials(void **state)
{
	static const struct script_step s3 = { .status = 404, .again = true };
	struct store_keys keys = { { NULL, 0 }, { NULL, 0 }, { NULL, 0 },
				   { NULL, 0 }, { NULL, 0 }, { NULL, 0 } };
	char hex[DIGEST_HEX];
	struct fixture f = { .api = NULL };

	(void)state;
	begin(&f, &secret_step, 1, &s3, 1);
	want(&f, script_url(f.s3));
	until(&f, TRACK_NO_POINTER, "", NULL);
	assert_int_equal(secrets_credentials(f.secrets, "shop", "keys", &keys, hex), SECRET_FOUND);
	assert_string_equal(secret_text(&keys.aws_access_key_id), "AK");
	assert_string_equal(secret_text(&keys.aws_secret_access_key), "SK");
	assert_true(secret_empty(&keys.aws_session_token));
	assert_true(secrets_digest(f.secrets, "shop", "keys", "AWS_SECRET_ACCESS_KEY", hex));
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
