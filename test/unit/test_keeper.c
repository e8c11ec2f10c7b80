#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "certs/hooks.h"
#include "certs/keeper.h"
#include "certs/authority.h"
#include "common/clock.h"
#include "common/codec.h"
#include "common/json.h"
#include "common/kube/config.h"
#include "test/lib/script.h"

#define DAY INT64_C(86400000)

#define SECRETS "/api/v1/namespaces/default/secrets"
#define SECRET	SECRETS "/cert"
#define HOOKS	"/apis/admissionregistration.k8s.io/v1/"
#define MUT	HOOKS "mutatingwebhookconfigurations"
#define VAL	HOOKS "validatingwebhookconfigurations"
#define LIST	"{\"metadata\":{\"resourceVersion\":\"1\"},\"items\":[]}"

/* The watches: an empty list, then nothing. */
#define OF_CERT "?fieldSelector=metadata.name%3Dcert&"
#define OF_CONF "?fieldSelector=metadata.name%3Dconf&"
#define WATCHES                                                                                    \
	{ .want = "GET " SECRETS OF_CERT "limit", .body = LIST, .again = true },                   \
		{ .want = "GET " MUT OF_CONF "limit", .body = LIST, .again = true },               \
		{ .want = "GET " VAL OF_CONF "limit", .body = LIST, .again = true },               \
		{ .want = "GET " SECRETS OF_CERT "watch", .end = SCRIPT_SILENT, .again = true },   \
		{ .want = "GET " MUT OF_CONF "watch", .end = SCRIPT_SILENT, .again = true },       \
	{                                                                                          \
		.want = "GET " VAL OF_CONF "watch", .end = SCRIPT_SILENT, .again = true            \
	}

struct fixture {
	struct script *server;
	struct kube_config *config;
	struct keeper *keeper;
	sem_t served;
	char *cert, *key; /* as served last */
	int refuse;	  /* so many pairs */
};

static int serve(void *ctx, const char *cert, const char *key, struct err *e)
{
	struct fixture *f = ctx;

	if (f->refuse-- > 0)
		return err_set(e, ERR_INVALID, "not that one");
	free(f->cert);
	free(f->key);
	f->cert = xstrdup(cert);
	f->key = xstrdup(key);
	(void)sem_post(&f->served);
	return 0;
}

static void start(struct fixture *f, const struct script_step *steps, size_t n)
{
	struct keeper_opts o = { .ns = "default",
				 .secret = "cert",
				 .service = "hook",
				 .configuration = "conf",
				 .ca_ms = 365 * DAY,
				 .leaf_ms = 7 * DAY,
				 .serve = serve,
				 .ctx = f };
	struct err e = ERR_INIT;

	(void)sem_init(&f->served, 0, 0);
	f->server = script_start(steps, n, NULL);
	f->config = kube_config_plain(script_url(f->server), NULL);
	o.config = f->config;
	assert_int_equal(keeper_start(&o, &f->keeper, &e), 0);
}

static void stop(struct fixture *f)
{
	keeper_free(f->keeper);
	kube_config_free(f->config);
	script_stop(f->server);
	free(f->cert);
	free(f->key);
}

static void await_served(struct fixture *f)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec += 30;
	assert_int_equal(sem_timedwait(&f->served, &t), 0);
}

/* The first request whose line begins so, after waiting for it. */
static const struct script_request *await_request(struct fixture *f, const char *begin)
{
	for (size_t seen = 0;; seen++) {
		const struct script_request *r;

		assert_true(script_wait(f->server, seen + 1));
		r = script_request(f->server, seen);
		if (str_starts(r->line, begin))
			return r;
	}
}

static size_t count(struct fixture *f, const char *begin)
{
	size_t n = 0;

	for (size_t i = 0; i < script_count(f->server); i++)
		n += str_starts(script_request(f->server, i)->line, begin);
	return n;
}

/* ---- what the server holds ------------------------------------------------------------------- */

static struct authority secret_of(int64_t ca_ms, int64_t leaf_ms)
{
	const struct authority_lives lives = { ca_ms, leaf_ms };
	struct strlist names = STRLIST_INIT;
	struct authority s = { .old = NULL };
	struct err e = ERR_INIT;

	strlist_add(&names, "hook.default.svc");
	strlist_add(&names, "hook.default");
	strlist_add(&names, "hook");
	assert_int_equal(authority_replace(&s, &names, clock_wall_ms(), &lives, &e), 0);
	strlist_done(&names);
	return s;
}

static struct authority good_secret(void)
{
	return secret_of(365 * DAY, 7 * DAY);
}

static char *secret_text(const struct authority *s)
{
	cleanup_json struct json *o = authority_write(s, NULL, "default", "cert");

	json_set_str(json_get_mutable(o, "metadata"), "resourceVersion", "41");
	return json_text(o);
}

/* A configuration with one webhook of ours whose bundle is this. */
static char *hooks_text(const char *pem)
{
	cleanup(freep) char *encoded = codec_base64_encode(pem, strlen(pem));

	return xasprintf(
		"{\"metadata\":{\"resourceVersion\":\"9\"},\"webhooks\":[{\"name\":\"w\","
		"\"clientConfig\":{\"service\":{\"namespace\":\"default\",\"name\":\"hook\"},"
		"\"caBundle\":\"%s\"}}]}",
		encoded);
}

static struct json *body_of(const struct script_request *r)
{
	struct json *j = NULL;
	struct err e = ERR_INIT;

	assert_int_equal(json_parse(r->body, strlen(r->body), &j, &e), 0);
	return j;
}

/* ---- tests ----------------------------------------------------------------------------------- */

/* Another replica was quicker: its Secret is taken, its authority is added, then its leaf is served. */
static void test_the_loser_takes_the_winners(void **state)
{
	cleanup_authority struct authority winner = good_secret();
	cleanup(freep) char *secret = secret_text(&winner), *empty = hooks_text("");
	cleanup(freep) char *full = hooks_text(winner.ca.cert);
	const struct script_step steps[] = {
		WATCHES,
		{ .want = "GET " SECRET, .status = 404, .body = "{}" },
		{ .want = "GET " MUT "/conf", .body = empty },
		{ .want = "GET " VAL "/conf", .body = empty },
		{ .want = "POST " SECRETS,
		  .status = 409,
		  .body = "{\"kind\":\"Status\",\"reason\":\"AlreadyExists\",\"code\":409}" },
		{ .want = "GET " SECRET, .body = secret, .again = true },
		{ .want = "GET " MUT "/conf", .body = empty },
		{ .want = "GET " VAL "/conf", .body = empty },
		{ .want = "PATCH " MUT "/conf", .body = full },
		{ .want = "PATCH " VAL "/conf", .body = full },
		{ .want = "GET " MUT "/conf", .body = full, .again = true },
		{ .want = "GET " VAL "/conf", .body = full, .again = true },
	};
	struct fixture f = { .cert = NULL };
	struct buf text = BUF_INIT(65536);
	const struct script_request *r;

	(void)state;
	start(&f, steps, array_len(steps));
	await_served(&f);
	assert_string_equal(f.cert, winner.leaf.cert);
	assert_string_equal(f.key, winner.leaf.key);

	r = await_request(&f, "PATCH " VAL "/conf");
	assert_true(script_has_header(r, "Content-Type: application/json-patch+json"));
	cleanup_json struct json *patch = body_of(r);
	assert_int_equal(json_len(patch), 3);
	r = await_request(&f, "POST " SECRETS);
	cleanup_json struct json *mine = body_of(r);
	assert_non_null(json_path(mine, "data", "tls.key", NULL));

	keeper_stop(f.keeper);
	keeper_metrics(f.keeper, &text);
	assert_non_null(
		strstr(buf_str(&text), "celld_webhook_certificate_steps_total{step=\"add\"} 1\n"));
	assert_non_null(strstr(buf_str(&text),
			       "celld_webhook_certificate_steps_total{step=\"serve\"} 1\n"));
	assert_non_null(strstr(buf_str(&text), "celld_webhook_certificate_failures_total 0\n"));
	assert_null(strstr(buf_str(&text), "celld_webhook_ca_expiry_timestamp_seconds 0\n"));
	assert_int_equal(count(&f, "PUT "), 0);
	assert_int_equal(script_unexpected(f.server), 0);
	buf_done(&text);
	stop(&f);
}

/* The chart's empty Secret is filled with its resourceVersion as the precondition. */
static void test_an_empty_secret_is_filled(void **state)
{
	static const char empty[] =
		"{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"cert\","
		"\"resourceVersion\":\"7\",\"labels\":{\"helm\":\"yes\"}},\"type\":\"Opaque\"}";
	const struct script_step steps[] = {
		WATCHES,
		{ .want = "GET " SECRET, .body = empty, .again = true },
		{ .want = "GET " MUT "/conf", .status = 404, .body = "{}", .again = true },
		{ .want = "GET " VAL "/conf", .status = 404, .body = "{}", .again = true },
		{ .want = "PUT " SECRET, .status = 409, .body = "{}", .again = true },
	};
	struct fixture f = { .cert = NULL };
	const struct json *meta;

	(void)state;
	start(&f, steps, array_len(steps));
	cleanup_json struct json *o = body_of(await_request(&f, "PUT " SECRET));
	meta = json_get(o, "metadata");
	assert_string_equal(json_get_str(meta, "resourceVersion"), "7");
	assert_string_equal(json_str(json_path(meta, "labels", "helm", NULL)), "yes");
	assert_int_equal(json_len(json_get(o, "data")), 4);
	assert_null(f.cert); /* nothing is served that is not stored */
	stop(&f);
}

/* What fails is told, tried again, and serving waits for the bundle. */
static void test_failures(void **state)
{
	cleanup_authority struct authority s = good_secret();
	cleanup(freep) char *secret = secret_text(&s), *full = hooks_text(s.ca.cert);
	const struct script_step steps[] = {
		WATCHES,
		{ .want = "GET " SECRET, .status = 503, .body = "{}" },
		{ .want = "GET " SECRET, .body = secret, .again = true },
		{ .want = "GET " MUT "/conf",
		  .status = 403,
		  .body = "{\"message\":\"no rights\"}" },
		{ .want = "GET " MUT "/conf", .body = full, .again = true },
		{ .want = "GET " VAL "/conf", .body = full, .again = true },
	};
	struct fixture f = { .refuse = 1 };
	struct buf text = BUF_INIT(65536);

	(void)state;
	start(&f, steps, array_len(steps));
	await_served(&f);
	assert_string_equal(f.cert, s.leaf.cert);
	keeper_stop(f.keeper);
	keeper_metrics(f.keeper, &text);
	assert_non_null(strstr(buf_str(&text), "celld_webhook_certificate_failures_total 3\n"));
	buf_done(&text);
	stop(&f);
}

/* The two steps of a Secret that asks for a new authority. */
static void test_a_forced_rotation_is_begun(void **state)
{
	cleanup_authority struct authority s = good_secret();
	cleanup(freep) char *secret = NULL, *full = hooks_text(s.ca.cert);
	struct fixture f = { .cert = NULL };

	(void)state;
	s.ask = PLAN_ASK_CA;
	secret = secret_text(&s);
	const struct script_step steps[] = {
		WATCHES,
		{ .want = "GET " SECRET, .body = secret, .again = true },
		{ .want = "GET " MUT "/conf", .body = full, .again = true },
		{ .want = "GET " VAL "/conf", .body = full, .again = true },
		{ .want = "PUT " SECRET, .status = 409, .body = "{}", .again = true },
	};
	start(&f, steps, array_len(steps));
	cleanup_json struct json *o = body_of(await_request(&f, "PUT " SECRET));
	assert_non_null(json_path(o, "data", "ca-next.key", NULL));
	assert_null(json_path(o, "metadata", "annotations", SECRET_RENEW, NULL));
	await_served(&f); /* the leaf that is there is served meanwhile */
	stop(&f);
}

/* A change that the watch reports is acted on at once, not after the minute. */
static void test_a_change_is_seen(void **state)
{
	static const char event[] =
		"{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"name\":\"conf\",\"uid\":\"u\","
		"\"resourceVersion\":\"5\"}}}\n";
	cleanup_authority struct authority s = good_secret();
	cleanup(freep) char *secret = secret_text(&s), *full = hooks_text(s.ca.cert);
	cleanup(freep) char *empty = hooks_text("");
	const struct script_step steps[] = {
		{ .want = "GET " MUT OF_CONF "watch", .body = event, .end = SCRIPT_HOLD },
		WATCHES,
		{ .want = "GET " SECRET, .body = secret, .again = true },
		{ .want = "GET " MUT "/conf", .body = full }, /* first turn: serve */
		{ .want = "GET " MUT "/conf", .body = full }, /* second: wait */
		{ .want = "GET " MUT "/conf", .body = empty, .again = true },
		{ .want = "GET " VAL "/conf", .body = full, .again = true },
		{ .want = "PATCH " MUT "/conf", .status = 409, .body = "{}", .again = true },
	};
	struct fixture f = { .cert = NULL };

	(void)state;
	start(&f, steps, array_len(steps));
	(void)await_request(&f, "PATCH " MUT "/conf");
	stop(&f);
}

/* Deleted while it is served: made anew after the pause, with the same contents and marks. */
static void test_a_deleted_secret_comes_back(void **state)
{
	cleanup_authority struct authority s = good_secret(), back = { .old = NULL };
	cleanup(freep) char *full = hooks_text(s.ca.cert), *secret = NULL;
	cleanup_json struct json *marked = authority_write(&s, NULL, "default", "cert"), *o = NULL;
	struct fixture f = { .cert = NULL };

	(void)state;
	json_set_str(json_object_at(json_get_mutable(marked, "metadata"), "labels"), "helm", "yes");
	json_set_str(json_get_mutable(marked, "metadata"), "uid", "u1");
	secret = json_text(marked);
	const struct script_step steps[] = {
		WATCHES,
		{ .want = "GET " SECRET, .body = secret },
		{ .want = "GET " SECRET, .status = 404, .body = "{}", .again = true },
		{ .want = "GET " MUT "/conf", .body = full, .again = true },
		{ .want = "GET " VAL "/conf", .body = full, .again = true },
		{ .want = "POST " SECRETS, .status = 409, .body = "{}", .again = true },
	};
	start(&f, steps, array_len(steps));
	o = body_of(await_request(&f, "POST " SECRETS));
	authority_read(o, &back);
	assert_string_equal(back.ca.key, s.ca.key);
	assert_string_equal(back.leaf.cert, s.leaf.cert);
	assert_string_equal(json_str(json_path(o, "metadata", "labels", "helm", NULL)), "yes");
	assert_null(json_path(o, "metadata", "uid", NULL));
	stop(&f);
}

/* The i-th write of the Secret, waited for. */
static void await_write(struct fixture *f, size_t i, struct authority *ret)
{
	for (size_t seen = 0;; seen++) {
		const struct script_request *r;

		assert_true(script_wait(f->server, seen + 1));
		r = script_request(f->server, seen);
		if (!str_starts(r->line, "PUT " SECRET) || i--)
			continue;
		cleanup_json struct json *o = body_of(r);
		authority_read(o, ret);
		return;
	}
}

/*
 * What is served lives shorter than what is configured: it is renewed when due, not at the next of
 * looks that the configured life would ask for (a minute apart; the server waits half of that).
 */
static void test_a_short_leaf_is_renewed_in_time(void **state)
{
	cleanup_authority struct authority s = secret_of(365 * DAY, 3000), put = { .old = NULL };
	cleanup(freep) char *secret = secret_text(&s), *full = hooks_text(s.ca.cert);
	const struct script_step steps[] = {
		WATCHES,
		{ .want = "GET " SECRET, .body = secret, .again = true },
		{ .want = "GET " MUT "/conf", .body = full, .again = true },
		{ .want = "GET " VAL "/conf", .body = full, .again = true },
		{ .want = "PUT " SECRET, .status = 409, .body = "{}", .again = true },
	};
	struct fixture f = { .cert = NULL };

	(void)state;
	start(&f, steps, array_len(steps));
	await_write(&f, 0, &put);
	assert_string_equal(put.ca.cert, s.ca.cert);
	assert_string_not_equal(put.leaf.cert, s.leaf.cert);
	stop(&f);
}

/*
 * The next authority would settle for a minute, and the one in use, whose key is lost, cannot renew
 * what is served: the next one is put to use before that has ended.
 */
static void test_settling_ends_with_what_is_served(void **state)
{
	static const struct authority_lives lives = { 365 * DAY, 7 * DAY };
	cleanup_authority struct authority s = secret_of(365 * DAY, 3000), put = { .old = NULL };
	cleanup_bundle struct bundle both = BUNDLE_INIT;
	cleanup(freep) char *secret = NULL, *full = NULL, *pem = NULL;
	struct fixture f = { .cert = NULL };
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(authority_stage(&s, clock_wall_ms(), &lives, &e), 0);
	free(take(s.ca.key));
	authority_bundle(&s, clock_wall_ms(), &both);
	pem = bundle_text(&both);
	full = hooks_text(pem);
	secret = secret_text(&s);
	const struct script_step steps[] = {
		WATCHES,
		{ .want = "GET " SECRET, .body = secret, .again = true },
		{ .want = "GET " MUT "/conf", .body = full, .again = true },
		{ .want = "GET " VAL "/conf", .body = full, .again = true },
		{ .want = "PUT " SECRET, .status = 409, .body = "{}", .again = true },
	};
	start(&f, steps, array_len(steps));
	await_write(&f, 0, &put);
	assert_string_equal(put.ca.cert, s.next.cert);
	assert_null(put.next.cert);
	stop(&f);
}

/* Failures without end do not make the pause outlast what is served, which is renewed after them. */
static void test_pauses_end_with_what_is_served(void **state)
{
	cleanup_authority struct authority s = secret_of(365 * DAY, 3000), put = { .old = NULL };
	cleanup(freep) char *secret = secret_text(&s), *full = hooks_text(s.ca.cert);
	const struct script_step down = { .want = "GET " SECRET, .status = 503, .body = "{}" };
	const struct script_step steps[] = {
		WATCHES,
		{ .want = "GET " SECRET, .body = secret },
		down,
		down,
		down,
		down,
		down,
		down,
		down,
		down,
		down,
		down,
		down,
		down,
		{ .want = "GET " SECRET, .body = secret, .again = true },
		{ .want = "GET " MUT "/conf", .body = full, .again = true },
		{ .want = "GET " VAL "/conf", .body = full, .again = true },
		{ .want = "PUT " SECRET, .status = 409, .body = "{}", .again = true },
	};
	struct fixture f = { .cert = NULL };

	(void)state;
	start(&f, steps, array_len(steps));
	await_write(&f, 0, &put);
	assert_string_not_equal(put.leaf.cert, s.leaf.cert);
	stop(&f);
}

/* The Secret is deleted after its leaf was due: what comes back has the same authority. */
static void test_the_authority_outlives_its_leaf(void **state)
{
	cleanup_authority struct authority s = secret_of(365 * DAY, 4000), back = { .old = NULL };
	cleanup(freep) char *secret = secret_text(&s), *full = hooks_text(s.ca.cert);
	const struct script_step steps[] = {
		WATCHES,
		{ .want = "GET " SECRET, .body = secret },
		{ .want = "GET " SECRET, .status = 404, .body = "{}", .again = true },
		{ .want = "GET " MUT "/conf", .body = full, .again = true },
		{ .want = "GET " VAL "/conf", .body = full, .again = true },
		{ .want = "POST " SECRETS, .status = 409, .body = "{}", .again = true },
	};
	struct fixture f = { .cert = NULL };

	(void)state;
	start(&f, steps, array_len(steps));
	cleanup_json struct json *o = body_of(await_request(&f, "POST " SECRETS));
	authority_read(o, &back);
	assert_string_equal(back.ca.cert, s.ca.cert);
	stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_loser_takes_the_winners),
		cmocka_unit_test(test_an_empty_secret_is_filled),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_a_forced_rotation_is_begun),
		cmocka_unit_test(test_a_change_is_seen),
		cmocka_unit_test(test_a_deleted_secret_comes_back),
		cmocka_unit_test(test_a_short_leaf_is_renewed_in_time),
		cmocka_unit_test(test_settling_ends_with_what_is_served),
		cmocka_unit_test(test_pauses_end_with_what_is_served),
		cmocka_unit_test(test_the_authority_outlives_its_leaf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
