#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/json.h"
#include "common/kube/client.h"
#include "common/kube/config.h"
#include "common/kube/seen.h"
#include "common/kube/watch.h"
#include "common/strlist.h"
#include "test/lib/watch_fixture.h"

static const struct kube_kind pods = { "", "v1", "pods", "Pod", true };
static const struct kube_kind nodes = { "", "v1", "nodes", "Node", false };

static const char *meta(const struct json *object, const char *name)
{
	const char *s = json_get_str(json_get(object, "metadata"), name);

	return s ? s : "";
}

/* "0+a/x@1 " for ADDED of kind 0, '~' MODIFIED, '-' DELETED, "0= " SYNCED. */
static void tell(void *ctx, size_t kind, enum kube_watch_type type, const struct json *object)
{
	char what[256] = "";

	if (object)
		(void)snprintf(what, sizeof(what), "%s/%s@%s", meta(object, "namespace"),
			       meta(object, "name"), meta(object, "resourceVersion"));
	watch_fixture_tell(ctx, "%zu%c%s ", kind, "+~-="[type], what);
}

static void start_with(struct watch_fixture *f, const struct script_step *steps, size_t n,
		       struct kube_watch_opts o)
{
	static const struct kube_watch_kind one = { .kind = &pods };

	o.handler = tell;
	if (!o.kinds) {
		o.kinds = &one;
		o.n = 1;
	}
	watch_fixture_start(f, steps, n, o);
}

static void start(struct watch_fixture *f, const struct script_step *steps, size_t n)
{
	start_with(f, steps, n, (struct kube_watch_opts){ .timeout_s = 300 });
}

#define META(ns, name, uid, rv)                                                                    \
	"{\"metadata\":{\"namespace\":\"" ns "\",\"name\":\"" name "\",\"uid\":\"" uid             \
	"\",\"resourceVersion\":\"" rv "\"}}"
#define LIST(rv, items) "{\"metadata\":{\"resourceVersion\":\"" rv "\"},\"items\":[" items "]}"
#define PAGE(rv, token, items)                                                                     \
	"{\"metadata\":{\"resourceVersion\":\"" rv "\",\"continue\":\"" token                      \
	"\"},\"items\":[" items "]}"
#define EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"
#define BOOKMARK(rv)	    EVENT("BOOKMARK", "{\"metadata\":{\"resourceVersion\":\"" rv "\"}}")
#define GONE_EVENT                                                                                 \
	EVENT("ERROR",                                                                             \
	      "{\"kind\":\"Status\",\"code\":410,\"reason\":\"Expired\",\"message\":\"too old\"}")
#define HOLD_ANY                                                                                   \
	{                                                                                          \
		.end = SCRIPT_HOLD, .again = true                                                  \
	}
#define WANT_WATCH(rv)                                                                             \
	"GET /api/v1/pods?watch=true&allowWatchBookmarks=true&resourceVersion=" rv "&"
#define WANT_LIST "GET /api/v1/pods?limit=500"

static void test_list_then_watch(void **state)
{
	static const struct script_step steps[] = {
		{ .want = WANT_LIST, .body = LIST("5", META("a", "x", "U1", "3")) },
		{ .want = WANT_WATCH("5"),
		  .body = EVENT("ADDED", META("a", "y", "U2", "6")) EVENT("MODIFIED",
									  META("a", "x", "U1", "7"))
			  EVENT("DELETED", META("a", "y", "U2", "8"))
				  EVENT("DELETED", META("a", "unknown", "U9", "9"))
					  EVENT("FUTURE", META("a", "z", "U9", "9")) BOOKMARK("20"),
		  .end = SCRIPT_STREAM },
		/* The end is normal: on from the bookmark. What we know already is not told again. */
		{ .want = WANT_WATCH("20"),
		  .body = EVENT("MODIFIED", META("a", "x", "U1", "21")),
		  .end = SCRIPT_HOLD },
	};
	struct kube_watch_stats st;
	struct watch_fixture f;
	char version[8];

	(void)state;
	start(&f, steps, 3);
	watch_fixture_expect(&f, "0+a/x@3 0= 0+a/y@6 0~a/x@7 0-a/y@8 0~a/x@21 ");
	assert_true(kube_watch_synced(f.watch, 0));
	assert_true(kube_watch_all_synced(f.watch));
	assert_true(script_has_header(script_request(f.server, 1), "Authorization: Bearer T"));
	kube_watch_stats(f.watch, 0, &st);
	assert_int_equal(st.lists, 1);
	assert_int_equal(st.relists, 0);
	assert_int_equal(st.watches, 2);
	assert_int_equal(st.failures, 0);
	assert_true(st.connected);
	assert_false(kube_watch_version(f.watch, 0, version, 2));
	assert_int_equal(script_unexpected(f.server), 0);
	watch_fixture_stop(&f);
}

static void test_timeout_is_asked(void **state)
{
	static const struct script_step steps[] = {
		{ .want = WANT_LIST, .body = LIST("5", "") },
		HOLD_ANY,
	};
	struct watch_fixture f;
	const char *line;
	long seconds;

	(void)state;
	start_with(&f, steps, 2, (struct kube_watch_opts){ .timeout_s = 100 });
	assert_true(script_wait(f.server, 2));
	line = strstr(script_request(f.server, 1)->line, "&timeoutSeconds=");
	assert_non_null(line);
	seconds = strtol(line + strlen("&timeoutSeconds="), NULL, 10);
	assert_in_range(seconds, 100, 200);
	watch_fixture_stop(&f);
}

static void test_split_anywhere(void **state)
{
	for (size_t piece = 1; piece < 12; piece++) {
		const struct script_step steps[] = {
			{ .want = WANT_LIST, .body = LIST("5", "") },
			{ .want = WANT_WATCH("5"),
			  .body = EVENT("ADDED", META("a", "gr\xc3\xbc\xe2\x82\xac", "U", "6"))
				  EVENT("ADDED", META("a", "y", "U", "7")) "{\"type\":\"ADDED\",",
			  .end = SCRIPT_CUT,
			  .piece = piece },
			HOLD_ANY,
		};
		struct watch_fixture f;

		start(&f, steps, 3);
		/* The half line at the end is dropped, and the next watch begins behind the whole ones. */
		watch_fixture_expect(&f, "0= 0+a/gr\xc3\xbc\xe2\x82\xac@6 0+a/y@7 ");
		assert_true(script_wait(f.server, 3));
		assert_true(str_starts(script_request(f.server, 2)->line, WANT_WATCH("7")));
		watch_fixture_stop(&f);
	}
	(void)state;
}

static void test_pages(void **state)
{
	static const struct script_step steps[] = {
		{ .want = "GET /api/v1/pods?limit=2&continue=P2", .status = 503 },
		{ .want = "GET /api/v1/pods?limit=2&continue=P2",
		  .body = LIST("5", META("a", "3", "U3", "3")) },
		{ .want = "GET /api/v1/pods?limit=2",
		  .body = PAGE("5", "P2",
			       META("a", "1", "U1", "1") "," META("a", "2", "U2", "2")) },
		HOLD_ANY,
	};
	struct watch_fixture f;

	(void)state;
	start_with(&f, steps, 4, (struct kube_watch_opts){ .page = 2 });
	/* A page that fails is asked for again. */
	watch_fixture_expect(&f, "0+a/1@1 0+a/2@2 0+a/3@3 0= ");
	assert_true(script_wait(f.server, 4));
	assert_true(str_starts(script_request(f.server, 3)->line, WANT_WATCH("5")));
	watch_fixture_stop(&f);
}

static void test_page_expired(void **state)
{
	static const struct script_step steps[] = {
		{ .want = "GET /api/v1/pods?limit=500&continue=P2",
		  .status = 410,
		  .body = "{\"reason\":\"Expired\",\"metadata\":{\"continue\":\"P9\"}}" },
		{ .want = WANT_LIST,
		  .body = LIST("4", META("a", "1", "U1", "1") "," META("a", "2", "U2", "2")) },
		{ .want = WANT_WATCH("4"), .body = GONE_EVENT, .end = SCRIPT_STREAM },
		{ .want = WANT_LIST, .body = PAGE("5", "P2", META("a", "1", "U1", "1")) },
		{ .want = WANT_LIST, .body = LIST("6", META("a", "2", "U2", "2")) },
		HOLD_ANY,
	};
	struct watch_fixture f;

	(void)state;
	start(&f, steps, 6);
	/* Object 2 was not on the page of the list that died: it must not be reported deleted. Object 1 is
	 * not in the one that was completed. */
	watch_fixture_expect(&f, "0+a/1@1 0+a/2@2 0= 0-a/1@1 ");
	assert_true(script_wait(f.server, 6));
	assert_true(str_starts(script_request(f.server, 5)->line, WANT_WATCH("6")));
	watch_fixture_stop(&f);
}

/* 410 as an answer and as an event: list again, and tell what was missed. */
static void relist(const struct script_step *gone)
{
	const struct script_step steps[] = {
		{ .want = WANT_LIST,
		  .body = LIST(
			  "5",
			  META("a", "same", "U1", "1") "," META("a", "changed", "U2", "2") "," META(
				  "a", "gone", "U3", "3") "," META("a", "again", "U4", "4")) },
		*gone,
		{ .want = WANT_LIST,
		  .body = LIST("50",
			       META("a", "same", "U1", "1") "," META(
				       "a", "changed", "U2",
				       "20") "," META("a", "again", "U5",
						      "40") "," META("a", "new", "U6", "41")) },
		HOLD_ANY,
	};
	struct kube_watch_stats st;
	struct watch_fixture f;

	start(&f, steps, 4);
	watch_fixture_expect(
		&f, "0+a/same@1 0+a/changed@2 0+a/gone@3 0+a/again@4 0= 0~a/changed@20 0-a/again@4 "
		    "0+a/again@40 0+a/new@41 0-a/gone@3 ");
	assert_true(script_wait(f.server, 4));
	assert_true(str_starts(script_request(f.server, 3)->line, WANT_WATCH("50")));
	kube_watch_stats(f.watch, 0, &st);
	assert_int_equal(st.lists, 2);
	assert_int_equal(st.relists, 1);
	assert_int_equal(st.failures, 1);
	watch_fixture_stop(&f);
}

static void test_gone_as_status(void **state)
{
	static const struct script_step gone = { .want = WANT_WATCH("5"),
						 .status = 410,
						 .body = "{\"reason\":\"Gone\"}" };

	(void)state;
	relist(&gone);
}

static void test_gone_as_event(void **state)
{
	static const struct script_step gone = { .want = WANT_WATCH("5"),
						 .body = GONE_EVENT,
						 .end = SCRIPT_HOLD };

	(void)state;
	relist(&gone);
}

static void test_version_went_back(void **state)
{
	static const struct script_step bookmark = { .want = WANT_WATCH("5"),
						     .body = BOOKMARK("4"),
						     .end = SCRIPT_HOLD };
	static const struct script_step too_large = {
		.want = WANT_WATCH("5"),
		.status = 504,
		.body = "{\"reason\":\"Timeout\",\"details\":{\"causes\":[{\"reason\":"
			"\"ResourceVersionTooLarge\"}]}}"
	};

	(void)state;
	relist(&bookmark);
	relist(&too_large);
}

static void test_not_an_event(void **state)
{
	static const char *const bad[] = {
		"nonsense\n",
		"{\"type\":\"ADDED\"}\n",
		"{\"object\":{}}\n",
		EVENT("ADDED", "{\"metadata\":{\"name\":\"x\"}}"),
		EVENT("ADDED", "{\"metadata\":{\"resourceVersion\":\"9\"}}"),
		"{\"type\":\"ADDED\",\"type\":\"DELETED\",\"object\":{}}\n",
	};

	(void)state;
	for (size_t i = 0; i < array_len(bad); i++) {
		const struct script_step step = { .want = WANT_WATCH("5"),
						  .body = bad[i],
						  .end = SCRIPT_HOLD };
		relist(&step);
	}
}

static void test_trouble_resumes(void **state)
{
	static const struct script_step steps[] = {
		{ .want = WANT_LIST, .body = LIST("5", "") },
		{ .want = WANT_WATCH("5"), .status = 429, .body = "Too many requests" },
		{ .want = WANT_WATCH("5"), .status = 503 },
		{ .want = WANT_WATCH("5"), .status = 403, .body = "{}" },
		{ .want = WANT_WATCH("5"), .end = SCRIPT_RESET },
		{ .want = WANT_WATCH("5"),
		  .body = EVENT("ERROR", "{\"code\":500,\"message\":\"etcd\"}"),
		  .end = SCRIPT_HOLD },
		{ .want = WANT_WATCH("5"), .end = SCRIPT_STREAM }, /* nothing, at once */
		HOLD_ANY,
	};
	struct kube_watch_stats st;
	struct watch_fixture f;

	(void)state;
	start(&f, steps, 8);
	assert_true(script_wait(f.server, 8));
	kube_watch_stats(f.watch, 0, &st);
	assert_int_equal(st.lists, 1);
	assert_int_equal(st.watches, 7);
	assert_int_equal(st.failures, 6);
	assert_string_equal(st.last_error, "watch ended at once");
	assert_int_equal(script_unexpected(f.server), 0);
	watch_fixture_stop(&f);
}

static void test_unauthorized(void **state)
{
	static const struct script_step steps[] = {
		{ .want = WANT_LIST, .status = 401 },
		{ .want = WANT_LIST, .body = LIST("5", "") },
		{ .want = WANT_WATCH("5"), .status = 401 },
		HOLD_ANY,
	};
	struct watch_fixture f;

	(void)state;
	start(&f, steps, 4);
	assert_true(script_wait(f.server, 4));
	assert_true(str_starts(script_request(f.server, 3)->line, WANT_WATCH("5")));
	watch_fixture_stop(&f);
}

static void test_bad_lists(void **state)
{
	static const struct script_step steps[] = {
		{ .want = WANT_LIST, .body = LIST("5", META("a", "x", "U", "1")) },
		{ .want = WANT_WATCH("5"), .status = 404 },
		{ .want = WANT_LIST, .body = "{}" },
		{ .want = WANT_LIST, .body = "[]" },
		{ .want = WANT_LIST, .body = "{\"metadata\":{\"resourceVersion\":\"6\"}}" },
		{ .want = WANT_LIST, .body = "{\"metadata\":{},\"items\":[]}" },
		{ .want = WANT_LIST, .body = "<html>" },
		{ .want = WANT_LIST, .body = LIST("6", "{}") },
		{ .want = WANT_LIST, .body = LIST("7", META("a", "x", "U", "2")) },
		HOLD_ANY,
	};
	struct kube_watch_stats st;
	struct watch_fixture f;

	(void)state;
	start(&f, steps, 10);
	/* None of them is an empty list: x is not deleted. */
	watch_fixture_expect(&f, "0+a/x@1 0= 0~a/x@2 ");
	assert_true(script_wait(f.server, 10));
	kube_watch_stats(f.watch, 0, &st);
	assert_int_equal(st.failures, 7);
	watch_fixture_stop(&f);
}

static void test_silence(void **state)
{
	static const struct script_step steps[] = {
		{ .want = WANT_LIST, .body = LIST("5", "") },
		/* A watch that had life in it goes on; one that never had lists again. */
		{ .want = WANT_WATCH("5"), .body = BOOKMARK("6"), .end = SCRIPT_HOLD },
		{ .want = WANT_WATCH("6"), .end = SCRIPT_HOLD },
		{ .want = WANT_LIST, .body = LIST("7", "") },
		{ .want = WANT_WATCH("7"), .end = SCRIPT_SILENT },
		{ .want = WANT_LIST, .body = LIST("8", META("a", "x", "U", "8")) },
		HOLD_ANY,
	};
	struct watch_fixture f;

	(void)state;
	start_with(&f, steps, 7, (struct kube_watch_opts){ .idle_ms = 60 });
	watch_fixture_expect(&f, "0= 0+a/x@8 ");
	assert_int_equal(script_unexpected(f.server), 0);
	watch_fixture_stop(&f);
}

static void test_kinds_and_namespaces(void **state)
{
	static const struct script_step steps[] = {
		{ .want = "GET /api/v1/namespaces/a/pods?labelSelector=app%3Dkv&limit=500",
		  .body = LIST("5", META("a", "x", "U1", "1")) },
		{ .want = "GET /api/v1/namespaces/b/pods?labelSelector=app%3Dkv&limit=500",
		  .end = SCRIPT_SILENT },
		{ .want = "GET /api/v1/nodes?fieldSelector=metadata.name%3Dn&limit=500",
		  .body = LIST("7", META("", "n", "U2", "2")) },
		HOLD_ANY,
	};
	static const struct kube_watch_kind kinds[] = {
		{ .kind = &pods, .label_selector = "app=kv" },
		{ .kind = &nodes, .field_selector = "metadata.name=n" },
	};
	struct strlist namespaces = STRLIST_INIT;
	struct kube_watch_stats st;
	struct watch_fixture f;
	char version[8];

	(void)state;
	strlist_add(&namespaces, "a");
	strlist_add(&namespaces, "b");
	start_with(&f, steps, 4,
		   (struct kube_watch_opts){ .kinds = kinds, .n = 2, .namespaces = &namespaces });
	strlist_done(&namespaces);
	assert_true(script_wait(f.server, 5)); /* three lists, two watches */
	/* One namespace of two is not all of the kind. */
	assert_false(kube_watch_synced(f.watch, 0));
	assert_true(kube_watch_synced(f.watch, 1));
	assert_false(kube_watch_wait_synced(f.watch, 1));
	assert_true(kube_watch_version(f.watch, 1, version, sizeof(version)));
	assert_string_equal(version, "7");
	kube_watch_stats(f.watch, 0, &st);
	assert_false(st.connected);
	assert_int_equal(st.lists, 2);
	watch_fixture_stop(&f);
}

static void test_server_is_not_there(void **state)
{
	static const struct kube_watch_kind one = { .kind = &pods };
	struct kube_config *config = kube_config_plain("http://127.0.0.1:1", NULL);
	struct kube_watch_opts o = {
		.config = config, .kinds = &one, .n = 1, .handler = tell, .backoff_ms = 1
	};
	struct kube_watch_stats st = { .failures = 0 };
	struct kube_watch *w;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(kube_watch_start(&o, &w, &e), 0);
	while (st.failures < 3) {
		(void)kube_watch_wait_synced(w, 1);
		kube_watch_stats(w, 0, &st);
	}
	assert_false(kube_watch_all_synced(w));
	assert_false(st.connected);
	kube_watch_stop(w);
	kube_config_free(config);
}

static void test_versions(void **state)
{
	(void)state;
	assert_true(seen_version_less("9", "10"));
	assert_true(seen_version_less("10", "11"));
	assert_false(seen_version_less("11", "11"));
	assert_false(seen_version_less("100", "11"));
	assert_false(seen_version_less("abc", "b"));
	assert_false(seen_version_less("1", "2x"));
	assert_false(seen_version_less(NULL, "1"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_list_then_watch),
		cmocka_unit_test(test_timeout_is_asked),
		cmocka_unit_test(test_split_anywhere),
		cmocka_unit_test(test_pages),
		cmocka_unit_test(test_page_expired),
		cmocka_unit_test(test_gone_as_status),
		cmocka_unit_test(test_gone_as_event),
		cmocka_unit_test(test_version_went_back),
		cmocka_unit_test(test_not_an_event),
		cmocka_unit_test(test_trouble_resumes),
		cmocka_unit_test(test_unauthorized),
		cmocka_unit_test(test_bad_lists),
		cmocka_unit_test(test_silence),
		cmocka_unit_test(test_kinds_and_namespaces),
		cmocka_unit_test(test_server_is_not_there),
		cmocka_unit_test(test_versions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
