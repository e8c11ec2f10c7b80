/*
 * The tracker, with its real HTTP client, at stores that are not well, in every way that stores are: each app knows
 * why it is not read and keeps its version, the store gets few calls, apps of another store notice nothing, and all
 * come back alone.
 *
 * Time is compressed: an interval of 100 ms stands for the minute, a first pause of 25 ms for the 15 s.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <cmocka.h>

#include "common/clock.h"
#include "common/codec.h"
#include "common/json.h"
#include "test/lib/sick.h"
#include "test/lib/tracker_fixture.h"

enum { APPS = 40, INTERVAL_MS = 100, PAUSE_MS = 25, MOST_MS = 4 * INTERVAL_MS, IN_FLIGHT = 16 };

static const struct script_step secret_step = { .want = TRACKER_GET_SECRET,
						.body = TRACKER_SECRET("1"),
						.again = true };

struct outage {
	const char *what;
	enum sick_mode mode;
	enum track_state state;
	const char *why; /* "%s": the endpoint */
	bool patient;	 /* the endpoint rests; else each app asks once an interval */
};

static const struct outage plain[] = {
	{ "nobody listens", SICK_STOPPED, TRACK_FAILED, "%s cannot be reached", true },
	{ "it never answers", SICK_HANG, TRACK_FAILED, "%s does not answer in time", true },
	{ "a storm of 503", SICK_STORM, TRACK_FAILED, "the store asks for a pause: status 503",
	  true },
	{ "503 with 100 MiB", SICK_STORM_LONG, TRACK_FAILED,
	  "the store asks for a pause: status 503", true },
	{ "no HTTP", SICK_NOT_HTTP, TRACK_FAILED, "%s: Received HTTP/0.9 when not allowed", true },
	{ "a page of HTML", SICK_GARBAGE, TRACK_BAD_POINTER, "no valid JSON", false },
	{ "100 MiB", SICK_HUGE, TRACK_BAD_POINTER, "more than 65536 bytes", false },
	{ "100 MiB, as it says", SICK_HUGE_TOLD, TRACK_BAD_POINTER, "more than 65536 bytes",
	  false },
	{ "an answer that breaks off", SICK_CUT, TRACK_FAILED, "the answer of %s breaks off",
	  false },
	{ "a redirect to another host", SICK_REDIRECT, TRACK_FAILED,
	  "the store redirects, which is not followed: status 307", false },
	{ "another region, by redirect", SICK_REGION, TRACK_FAILED,
	  "the store redirects, which is not followed: status 301 PermanentRedirect, the bucket is "
	  "in region eu-west-1",
	  false },
	{ "another region, by signature", SICK_SIGNED, TRACK_FAILED,
	  "the store answers status 400 AuthorizationHeaderMalformed, the bucket is in region "
	  "eu-west-1",
	  false },
};

static const struct outage tls[] = {
	{ "a certificate that has expired", SICK_EXPIRED, TRACK_FAILED,
	  "%s: SSL certificate problem: certificate has expired", true },
	{ "a TLS store that never answers", SICK_HANG, TRACK_FAILED, "%s does not answer in time",
	  true },
};

struct fixture {
	struct tracker_fixture t;
	struct sick *store, *other, *elsewhere;
};

static void name_of(char *to, size_t room, const char *kind, int i)
{
	(void)snprintf(to, room, "%s-%d", kind, i);
}

/* Waits for news until all apps know this. */
static void until(struct fixture *f, enum track_state state, const char *version, const char *why)
{
	for (;;) {
		struct track_facts facts;
		char app[64];
		int n = 0;

		for (; n < APPS; n++) {
			name_of(app, sizeof(app), "shop/app", n);
			tracker_facts(f->t.tracker, app, &facts);
			if (facts.state != state || !str_eq(facts.version, version) ||
			    !str_eq(facts.why, why))
				break;
		}
		if (n == APPS)
			return;
		tracker_news(&f->t);
	}
}

/* How many calls an endpoint that rests can get in so long, those at its beginning apart. */
static size_t probes(int64_t ms)
{
	size_t n = 1;
	int64_t pause = PAUSE_MS;

	for (int64_t at = pause; at <= ms; n++) {
		pause = 2 * pause < MOST_MS ? 2 * pause : MOST_MS;
		at += pause;
	}
	return n;
}

static void count(const struct fixture *f, const struct outage *o)
{
	size_t calls = sick_calls(f->store);
	int64_t ms = clock_mono_ms() - sick_since(f->store); /* after the count */
	size_t most;

	/* one that an app asks once an interval: one that was late may come right before the next */
	most = o->patient ? IN_FLIGHT + probes(ms)
			  : APPS * (size_t)(ms / (INTERVAL_MS - INTERVAL_MS / 10) + 2);
	printf("        %-32s %3zu calls of %d apps in %4.1f intervals (a minute each), %zu at "
	       "most\n",
	       o->what, calls, APPS, (double)ms / INTERVAL_MS, most);
	assert_in_range(calls, o->mode == SICK_STOPPED ? 0 : 1, most);
}

static void outage(struct fixture *f, const struct outage *o, int n)
{
	char was[32], next[32], body[128], why[192];
	cleanup(freep) char *text = NULL;
	size_t others;

	(void)snprintf(was, sizeof(was), "v%d", n);
	(void)snprintf(next, sizeof(next), "v%d", n + 1);
	(void)snprintf(body, sizeof(body), "{\"version\":\"%s\"}", next);
	text = xstrdup(o->why);
	if (strstr(text, "%s"))
		(void)snprintf(why, sizeof(why), "%.*s%s%s", (int)(strstr(text, "%s") - text), text,
			       sick_url(f->store), strstr(text, "%s") + 2);
	else
		(void)snprintf(why, sizeof(why), "%s", text);
	sick_switch(f->store, o->mode, NULL);
	others = sick_calls(f->other);
	until(f, o->state, was, why);
	/* it lasts; meanwhile the other store is read as ever */
	assert_true(sick_wait(f->other, others + 5));
	if (o->mode != SICK_STOPPED)
		assert_true(sick_wait(f->store, o->patient ? 4 : 2 * APPS));
	until(f, o->state, was, why);
	count(f, o);
	if (sick_most_sent(f->store))
		printf("        %-32s %zu KiB of one answer were taken, sockets included\n", "",
		       sick_most_sent(f->store) / 1024);
	assert_in_range(sick_most_sent(f->store), 0, 16 << 20);
	assert_int_equal(sick_calls(f->elsewhere), 0);
	sick_switch(f->store, SICK_FINE, body);
	until(f, TRACK_READ, next, "");
}

static void run(bool with_tls, const struct outage *all, size_t n)
{
	struct tracker_opts o = { .interval_ms = INTERVAL_MS,
				  .pause_ms = PAUSE_MS,
				  .timeout_ms = 400 };
	struct strlist local = STRLIST_INIT;
	char ca[] = "/tmp/outages-XXXXXX", name[64];
	struct track_facts facts;
	struct fixture f;

	f.elsewhere = sick_start(false, NULL);
	f.other = sick_start(false, NULL);
	f.store = sick_start(with_tls, sick_url(f.elsewhere));
	strlist_add(&local, sick_url(f.store));
	strlist_add(&local, sick_url(f.other));
	strlist_add(&local, sick_url(f.elsewhere)); /* nothing but the rule keeps it away */
	if (with_tls) {
		int fd = mkstemp(ca);
		size_t len = strlen(sick_authorities(f.store));

		assert_true(fd >= 0);
		assert_int_equal(write(fd, sick_authorities(f.store), len), len);
		assert_int_equal(close(fd), 0);
		o.ca_file = ca;
	}
	sick_switch(f.store, SICK_FINE, TRACKER_POINTER("v0"));
	sick_switch(f.other, SICK_FINE, TRACKER_POINTER("other"));
	tracker_begin(&f.t, &secret_step, 1, &local, &o, INTERVAL_MS);
	for (int i = 0; i < APPS; i++) {
		name_of(name, sizeof(name), "app", i);
		tracker_follow(&f.t, name, sick_url(f.store), true);
	}
	tracker_follow(&f.t, "elsewhere", sick_url(f.other), true);
	until(&f, TRACK_READ, "v0", "");
	for (size_t i = 0; i < n; i++)
		outage(&f, &all[i], (int)i);
	tracker_facts(f.t.tracker, "shop/elsewhere", &facts);
	assert_int_equal(facts.state, TRACK_READ);
	assert_string_equal(facts.version, "other");
	tracker_end(&f.t);
	strlist_done(&local);
	sick_stop(f.store);
	sick_stop(f.other);
	sick_stop(f.elsewhere);
	if (with_tls)
		assert_int_equal(unlink(ca), 0);
}

static void test_plain(void **state)
{
	(void)state;
	run(false, plain, array_len(plain));
}

static void test_tls(void **state)
{
	(void)state;
	run(true, tls, array_len(tls));
}

/* More apps than a slow store can serve: it is asked for 16 at a time, and nobody waits for ever. */
static void test_slow(void **state)
{
	struct tracker_opts o = { .interval_ms = INTERVAL_MS };
	struct strlist local = STRLIST_INIT;
	struct fixture f = { .other = NULL };

	(void)state;
	f.store = sick_start(false, NULL);
	strlist_add(&local, sick_url(f.store));
	sick_switch(f.store, SICK_SLOW, TRACKER_POINTER("v1"));
	tracker_begin(&f.t, &secret_step, 1, &local, &o, 3600000);
	for (int i = 0; i < APPS; i++) {
		char name[64];

		name_of(name, sizeof(name), "app", i);
		tracker_follow(&f.t, name, sick_url(f.store), true);
	}
	assert_true(sick_wait(f.store, (size_t)6 * APPS));
	for (int i = 0; i < APPS; i++) {
		struct track_facts facts;
		char app[64];

		name_of(app, sizeof(app), "shop/app", i);
		tracker_facts(f.t.tracker, app, &facts);
		assert_string_equal(facts.version, "v1");
	}
	tracker_end(&f.t);
	strlist_done(&local);
	sick_stop(f.store);
}

/* --- tokens ----------------------------------------------------------------------------------- */

/* {"data":{"GOOGLE_SERVICE_ACCOUNT_KEY": ...}} with a fresh key. The caller's. */
static char *account(const char *token_url)
{
	EVP_PKEY *key = EVP_RSA_gen(2048);
	BIO *b = BIO_new(BIO_s_mem());
	cleanup_json struct json *j = json_new_object(), *secret = json_new_object();
	cleanup(freep) char *pem = NULL;
	cleanup(freep) char *text = NULL;
	cleanup(freep) char *base64 = NULL;
	char *p;
	long n;

	assert_true(key && b && PEM_write_bio_PrivateKey(b, key, NULL, NULL, 0, NULL, NULL) == 1);
	n = BIO_get_mem_data(b, &p);
	pem = xstrndup(p, (size_t)n);
	BIO_free(b);
	EVP_PKEY_free(key);
	json_set_str(j, "client_email", "celld@test");
	json_set_str(j, "private_key", pem);
	json_set_str(j, "token_uri", token_url);
	text = json_text(j);
	base64 = codec_base64_encode(text, strlen(text));
	json_set_str(json_object_at(secret, "data"), "GOOGLE_SERVICE_ACCOUNT_KEY", base64);
	return json_text(secret);
}

static void follow_gs(struct fixture *f, const char *app, const char *secret)
{
	const struct store_place place = { .scheme = SCHEME_GS,
					   .container = "cells",
					   .prefix = app };
	struct strlist names = STRLIST_INIT;

	strlist_add(&names, secret);
	secrets_want(f->t.secrets, app, "shop", &names);
	tracker_want(f->t.tracker, app, &place, "shop", secret, true);
	strlist_done(&names);
}

static void until_one(struct fixture *f, const char *app, enum track_state state, const char *why)
{
	for (;;) {
		struct track_facts facts;

		tracker_facts(f->t.tracker, app, &facts);
		if (facts.state == state && str_eq(facts.why, why))
			return;
		tracker_news(&f->t);
	}
}

/* One tenant's tokens come from where nobody answers: those of others at the same store are read on. */
static void test_tokens(void **state)
{
	struct script_step api[] = {
		secret_step, { .want = "GET /api/v1/namespaces/shop/secrets/google", .again = true }
	};
	struct tracker_opts o = { .interval_ms = INTERVAL_MS, .pause_ms = 60000 };
	struct strlist local = STRLIST_INIT;
	cleanup(freep) char *secret = NULL;
	struct fixture f = { .other = NULL };
	struct track_facts facts;

	(void)state;
	f.store = sick_start(false, NULL);
	f.elsewhere = sick_start(false, NULL);
	secret = account(sick_url(f.elsewhere));
	api[1].body = secret;
	strlist_add(&local, sick_url(f.store));
	o.gs_endpoint = sick_url(f.store);
	sick_switch(f.store, SICK_FINE, TRACKER_POINTER("v1"));
	sick_switch(f.elsewhere, SICK_STORM, NULL);
	tracker_begin(&f.t, api, array_len(api), &local, &o, 3600000);
	follow_gs(&f, "shop/hmac", "keys");
	until_one(&f, "shop/hmac", TRACK_READ, "");
	follow_gs(&f, "shop/account", "google");
	until_one(&f, "shop/account", TRACK_FAILED, "no token for the service account: status 503");
	assert_true(sick_wait(f.store, sick_calls(f.store) + 3));
	tracker_facts(f.t.tracker, "shop/hmac", &facts);
	assert_int_equal(facts.state, TRACK_READ);
	tracker_end(&f.t);
	strlist_done(&local);
	sick_stop(f.store);
	sick_stop(f.elsewhere);
}

/* And with a token it goes on at the store. */
static void test_tokens_come(void **state)
{
	struct script_step api[] = { { .want = "GET /api/v1/namespaces/shop/secrets/google",
				       .again = true } };
	struct tracker_opts o = { .interval_ms = INTERVAL_MS, .pause_ms = PAUSE_MS };
	struct strlist local = STRLIST_INIT;
	cleanup(freep) char *secret = NULL;
	cleanup(freep) char *why = NULL;
	struct fixture f = { .other = NULL };

	(void)state;
	f.store = sick_start(false, NULL);
	f.elsewhere = sick_start(false, NULL);
	secret = account(sick_url(f.elsewhere));
	api[0].body = secret;
	strlist_add(&local, sick_url(f.store));
	o.gs_endpoint = sick_url(f.store);
	sick_switch(f.store, SICK_FINE, TRACKER_POINTER("v1"));
	sick_switch(f.elsewhere, SICK_STOPPED, NULL);
	tracker_begin(&f.t, api, array_len(api), &local, &o, 3600000);
	follow_gs(&f, "shop/account", "google");
	why = xasprintf("%s cannot be reached", sick_url(f.elsewhere));
	until_one(&f, "shop/account", TRACK_FAILED, why);
	assert_int_equal(sick_calls(f.store), 0);
	sick_switch(f.elsewhere, SICK_FINE, "{\"access_token\":\"T\",\"expires_in\":3600}");
	until_one(&f, "shop/account", TRACK_READ, "");
	tracker_end(&f.t);
	strlist_done(&local);
	sick_stop(f.store);
	sick_stop(f.elsewhere);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slow),	    cmocka_unit_test(test_tokens),
		cmocka_unit_test(test_tokens_come), cmocka_unit_test(test_plain),
		cmocka_unit_test(test_tls),
	};
	struct err e = ERR_INIT;

	if (http_global_init(&e))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
