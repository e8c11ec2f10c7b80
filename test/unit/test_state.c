#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/celld/state.h"
#include "common/celld/table_load.h"
#include "common/limits.h"

static const struct celld_facts *facts_of(const char *version)
{
	struct version v = { 0 };

	assert_true(version_read(version, &v));
	return celld_facts_of(celld_table_builtin(), v);
}

static int parse(const char *version, const char *text, struct celld_state *ret, struct err *e)
{
	return celld_state_parse(text, strlen(text), facts_of(version), ret, e);
}

static void read_golden(const char *version, struct celld_state *ret)
{
	struct buf b = BUF_INIT(1 << 20);
	struct err e = ERR_INIT;
	char path[64], chunk[4096];
	size_t n;
	FILE *f;

	(void)snprintf(path, sizeof(path), "test/golden/state/%s.json", version);
	f = fopen(path, "re");
	assert_non_null(f);
	while ((n = fread(chunk, 1, sizeof(chunk), f)) > 0)
		buf_add(&b, chunk, n);
	assert_int_equal(fclose(f), 0);
	if (parse(version, buf_str(&b), ret, &e))
		fail_msg("%s: %s", version, e.message);
	assert_true(ret->valid);
	buf_done(&b);
}

static void expect(struct celld_count c, int64_t want)
{
	assert_int_equal(c.set, want >= 0);
	assert_int_equal(c.v, want >= 0 ? want : 0);
}

/* By hand from the examples; -1: not in that version's body, which must not read as 0. */
static void test_golden(void **state)
{
	static const struct {
		const char *version, *ownership;
		int64_t occupied, restoring, evicting, rss, in_use, set, current;
		enum celld_tri shedding;
		const char *why;
	} v[] = {
		{ "0.1.0", "s3", 2, -1, -1, -1, -1, -1, -1, CELLD_NO, "" },
		{ "0.2.0", "gs", 2, 1, 0, -1, -1, -1, -1, CELLD_NO, "" },
		{ "0.2.1", "s3", 2, 3, 0, 812646400, 701235200, -1, -1, CELLD_YES, "memory" },
		{ "0.3.0", "s3", 2, 3, 0, 812646400, 701235200, -1, -1, CELLD_YES, "memory" },
		{ "0.4.0", "s3", 1, 0, 0, 812646400, 701235200, 811597824, 903872512, CELLD_NO,
		  "" },
		{ "0.4.1", "s3", 1, 0, 0, 812646400, 701235200, 811597824, 903872512, CELLD_NO,
		  "" },
		{ "0.5.0", "s3", 1, 0, 0, 812646400, 701235200, 811597824, 903872512, CELLD_NO,
		  "" },
		{ "0.5.1", "s3", 1, 0, 0, 812646400, 701235200, 811597824, 903872512, CELLD_NO,
		  "" },
		{ "0.6.0", "s3", 1, 0, 0, 812646400, 701235200, 811597824, 903872512, CELLD_NO,
		  "" },
		{ "0.6.1", "s3", 1, 0, 0, 812646400, 701235200, 811597824, 903872512, CELLD_NO,
		  "" },
		{ "0.6.2", "s3", 1, 0, 0, 812646400, 701235200, 811597824, 903872512, CELLD_NO,
		  "" },
	};

	(void)state;
	for (size_t i = 0; i < array_len(v); i++) {
		struct celld_state s;

		read_golden(v[i].version, &s);
		assert_string_equal(s.ownership, v[i].ownership);
		expect(s.occupied, v[i].occupied);
		expect(s.restoring, v[i].restoring);
		expect(s.evicting, v[i].evicting);
		expect(s.rss_bytes, v[i].rss);
		expect(s.in_use_bytes, v[i].in_use);
		expect(s.cgroup_working_set_bytes, v[i].set);
		expect(s.cgroup_current_bytes, v[i].current);
		assert_int_equal(s.shedding, v[i].shedding);
		assert_string_equal(s.shedding_why, v[i].why);
	}
}

static void test_golden_deployment(void **state)
{
	static const char *const without[] = { "0.1.0", "0.2.0", "0.2.1", "0.3.0" };
	static const char *const draining[] = {
		"0.4.1", "0.5.0", "0.5.1", "0.6.0", "0.6.1", "0.6.2"
	};
	struct celld_state s;

	(void)state;
	for (size_t i = 0; i < array_len(without); i++) {
		read_golden(without[i], &s);
		assert_false(s.deployment.set);
		assert_int_equal(s.draining, CELLD_UNKNOWN);
	}
	read_golden("0.4.0", &s);
	assert_true(s.deployment.set);
	assert_string_equal(s.deployment.version, "0123456789abcdef");
	assert_int_equal(s.deployment.generation, 1);
	assert_int_equal(s.deployment.swapping, 0);
	assert_int_equal(s.deployment.n_draining, 0);
	assert_int_equal(s.pressured, CELLD_UNKNOWN);
	for (size_t i = 0; i < array_len(draining); i++) {
		read_golden(draining[i], &s);
		assert_true(s.deployment.set);
		assert_string_equal(s.deployment.version, "0123456789abcdef");
		assert_int_equal(s.deployment.generation, 2);
		assert_int_equal(s.deployment.n_draining, 1);
		assert_int_equal(s.pressured, CELLD_NO);
		assert_int_equal(s.memory_headroom, CELLD_YES);
		assert_int_equal(s.draining, CELLD_NO);
	}
}

static void test_invalid(void **state)
{
	static const struct {
		const char *text, *message;
	} v[] = {
		{ "", "an empty body" },
		{ "null", "no JSON object" },
		{ "[]", "no JSON object" },
		{ "3", "no JSON object" },
		{ "\"restoring\"", "no JSON object" },
		{ "{}", "ownership is no string" },
		{ "{\"error\":\"actor_stopped\"}", "celld says error" },
		{ "{\"error\":\"actor_stopped\",\"ownership\":\"s3\",\"occupied\":0,\"restoring\":"
		  "0}",
		  "celld says error" },
		{ "<html>not found</html>", "no valid JSON" },
		{ "{\"ownership\":\"s3\",\"occupied\":0,\"restoring\":0", "no valid JSON" },
		{ "{\"ownership\":\"s3\",\"occupied\":0,\"restoring\":0}x", "no valid JSON" },
		{ "{\"ownership\":\"s3\",\"occupied\":0,\"restoring\":3,\"restoring\":0}",
		  "no valid JSON" },
		{ "{\"ownership\":null,\"occupied\":0,\"restoring\":0}", "ownership is no string" },
		{ "{\"ownership\":7,\"occupied\":0,\"restoring\":0}", "ownership is no string" },
		{ "{\"ownership\":\"0123456789abcdef\",\"occupied\":0,\"restoring\":0}",
		  "ownership is no string" },
		{ "{\"ownership\":\"s3\",\"restoring\":0}", "occupied is no count" },
		{ "{\"ownership\":\"s3\",\"occupied\":null,\"restoring\":0}",
		  "occupied is no count" },
		{ "{\"ownership\":\"s3\",\"occupied\":0}", "restoring is no count" },
		{ "{\"ownership\":\"s3\",\"occupied\":0,\"restoring\":null}",
		  "restoring is no count" },
		{ "{\"ownership\":\"s3\",\"occupied\":0,\"restoring\":\"0\"}",
		  "restoring is no count" },
		{ "{\"ownership\":\"s3\",\"occupied\":0,\"restoring\":false}",
		  "restoring is no count" },
		{ "{\"ownership\":\"s3\",\"occupied\":0,\"restoring\":-1}",
		  "restoring is no count" },
		{ "{\"ownership\":\"s3\",\"occupied\":0,\"restoring\":0.5}",
		  "restoring is no count" },
		{ "{\"ownership\":\"s3\",\"occupied\":0,\"restoring\":1e300}",
		  "restoring is no count" },
		{ "{\"ownership\":\"s3\",\"occupied\":0,\"Restoring\":0}",
		  "restoring is no count" },
	};

	(void)state;
	for (size_t i = 0; i < array_len(v); i++) {
		struct celld_state s = { .valid = true, .restoring = { .set = true } };
		struct err e = ERR_INIT;

		if (parse("0.6.2", v[i].text, &s, &e) != -ERR_INVALID)
			fail_msg("accepted: %s", v[i].text);
		assert_string_equal(e.message, v[i].message);
		assert_false(s.valid);
		assert_false(s.restoring.set);
		assert_false(s.occupied.set);
	}
}

static void test_too_large(void **state)
{
	struct celld_state s;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(celld_state_parse("", (size_t)LIMIT_STATE + 1, facts_of("0.6.2"), &s, &e),
			 -ERR_INVALID);
	assert_string_equal(e.message, "more than 4194304 bytes");
}

/* v0.1 has no `restoring`; one that a Worker made up there means nothing. */
static void test_version_without_restoring(void **state)
{
	struct celld_state s;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(
		parse("0.1.0", "{\"ownership\":\"s3\",\"occupied\":1,\"restoring\":5}", &s, &e), 0);
	assert_true(s.valid);
	assert_false(s.restoring.set);
	assert_int_equal(
		parse("0.2.0", "{\"ownership\":\"s3\",\"occupied\":1,\"restoring\":5}", &s, &e), 0);
	expect(s.restoring, 5);
}

#define OK "\"ownership\":\"s3\",\"occupied\":0,\"restoring\":0"

static void test_optional_is_unknown(void **state)
{
	static const char *const v[] = {
		"{" OK "}",
		"{" OK ",\"evicting\":null,\"rss_bytes\":null,\"in_use_bytes\":null,\"shedding\":3,"
		"\"cgroup_working_set_bytes\":null,\"cgroup_current_bytes\":null,\"deployment\":"
		"null,"
		"\"node_load\":null}",
		"{" OK
		",\"evicting\":\"0\",\"rss_bytes\":1.5,\"in_use_bytes\":-1,\"shedding\":true,"
		"\"cgroup_working_set_bytes\":[],\"cgroup_current_bytes\":{},\"deployment\":[],"
		"\"node_load\":{\"pressured\":0,\"memory_headroom\":\"yes\",\"draining\":null}}",
		"{" OK ",\"rss_bytes\":1,\"in_use_bytes\":0,\"deployment\":{}}",
	};

	(void)state;
	for (size_t i = 0; i < array_len(v); i++) {
		struct celld_state s;
		struct err e = ERR_INIT;

		assert_int_equal(parse("0.6.2", v[i], &s, &e), 0);
		expect(s.restoring, 0);
		expect(s.evicting, -1);
		expect(s.rss_bytes, -1);
		expect(s.in_use_bytes, -1);
		expect(s.cgroup_working_set_bytes, -1);
		expect(s.cgroup_current_bytes, -1);
		assert_int_equal(s.shedding, CELLD_UNKNOWN);
		assert_string_equal(s.shedding_why, "");
		assert_false(s.deployment.set);
		assert_int_equal(s.pressured, CELLD_UNKNOWN);
		assert_int_equal(s.memory_headroom, CELLD_UNKNOWN);
		assert_int_equal(s.draining, CELLD_UNKNOWN);
	}
}

static void test_zero_is_known(void **state)
{
	struct celld_state s;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(parse("0.6.2",
			       "{" OK ",\"evicting\":0,\"cgroup_current_bytes\":0,\"shedding\":"
			       "\"a reason that is longer than there is room for\","
			       "\"node_load\":{\"pressured\":true,\"draining\":true}}",
			       &s, &e),
			 0);
	expect(s.evicting, 0);
	expect(s.cgroup_current_bytes, 0);
	assert_int_equal(s.shedding, CELLD_YES);
	assert_string_equal(s.shedding_why, "");
	assert_int_equal(s.pressured, CELLD_YES);
	assert_int_equal(s.draining, CELLD_YES);
}

static bool has_deployment(const char *version, const char *deployment)
{
	cleanup(freep) char *text = xasprintf("{" OK ",\"deployment\":%s}", deployment);
	struct celld_state s;
	struct err e = ERR_INIT;

	assert_int_equal(parse(version, text, &s, &e), 0);
	return s.deployment.set;
}

static void test_half_a_deployment(void **state)
{
	(void)state;
	assert_true(has_deployment("0.6.2",
				   "{\"version\":\"a.B_c-1\",\"generation\":1,\"swapping\":"
				   "0,\"draining\":[]}"));
	assert_false(has_deployment("0.3.0", "{\"version\":\"a\",\"generation\":1,\"swapping\":0,"
					     "\"draining\":[]}"));
	assert_false(has_deployment("0.6.2", "{\"generation\":1,\"swapping\":0,\"draining\":[]}"));
	assert_false(has_deployment("0.6.2", "{\"version\":\"\",\"generation\":1,\"swapping\":0,"
					     "\"draining\":[]}"));
	assert_false(has_deployment("0.6.2", "{\"version\":\"a b\",\"generation\":1,\"swapping\":0,"
					     "\"draining\":[]}"));
	assert_false(has_deployment("0.6.2", "{\"version\":\"a\",\"swapping\":0,\"draining\":[]}"));
	assert_false(
		has_deployment("0.6.2", "{\"version\":\"a\",\"generation\":1,\"draining\":[]}"));
	assert_false(
		has_deployment("0.6.2", "{\"version\":\"a\",\"generation\":1,\"swapping\":0}"));
	assert_false(has_deployment("0.6.2", "{\"version\":\"a\",\"generation\":1,\"swapping\":0,"
					     "\"draining\":{}}"));
	assert_false(has_deployment("0.6.2", "{\"version\":\"a\",\"generation\":1,\"swapping\":"
					     "null,\"draining\":[]}"));
}

static void test_version_id_length(void **state)
{
	char id[CELLD_DEPLOYMENT_TEXT + 1];
	cleanup(freep) char *longest = NULL, *longer = NULL;

	(void)state;
	memset(id, 'a', sizeof(id));
	id[128] = '\0';
	longest = xasprintf("{\"version\":\"%s\",\"generation\":1,\"swapping\":0,\"draining\":[]}",
			    id);
	longer = xasprintf("{\"version\":\"%sa\",\"generation\":1,\"swapping\":0,\"draining\":[]}",
			   id);
	assert_true(has_deployment("0.6.2", longest));
	assert_false(has_deployment("0.6.2", longer));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_golden),
		cmocka_unit_test(test_golden_deployment),
		cmocka_unit_test(test_invalid),
		cmocka_unit_test(test_too_large),
		cmocka_unit_test(test_version_without_restoring),
		cmocka_unit_test(test_optional_is_unknown),
		cmocka_unit_test(test_zero_is_known),
		cmocka_unit_test(test_half_a_deployment),
		cmocka_unit_test(test_version_id_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
