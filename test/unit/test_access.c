#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "common/http.h"
#include "common/json.h"
#include "common/kube/access.h"
#include "common/kube/config.h"
#include "test/lib/script.h"

#define WHO "POST /apis/authentication.k8s.io/v1/tokenreviews"
#define MAY "POST /apis/authorization.k8s.io/v1/subjectaccessreviews"

static const char known[] =
	"{\"status\":{\"authenticated\":true,\"user\":{\"username\":\"prom\",\"uid\":\"7\","
	"\"groups\":[\"g\"],\"extra\":{\"k\":[\"v\"]}}}}";
static const char unknown[] = "{\"status\":{\"authenticated\":false,\"error\":\"expired\"}}";
static const char yes[] = "{\"status\":{\"allowed\":true}}";
static const char no[] = "{\"status\":{\"allowed\":false}}";

struct world {
	struct script *server;
	struct kube_config *config;
	struct kube_access *access;
};

static void world_start(struct world *w, const struct script_step *steps, size_t n)
{
	w->server = script_start(steps, n, NULL);
	w->config = kube_config_plain(script_url(w->server), "own");
	w->access = kube_access_new(w->config, NULL);
}

static void world_stop(struct world *w)
{
	kube_access_free(w->access);
	kube_config_free(w->config);
	script_stop(w->server);
}

static int check(struct world *w, const char *authorization)
{
	struct err e = ERR_INIT;

	return kube_access_check(w->access, authorization, "get", "/metrics", &e);
}

/* Two questions, once for all scrapes of the next minute. */
static void test_allowed(void **state)
{
	static const struct script_step steps[] = {
		{ .want = WHO, .status = 201, .body = known },
		{ .want = MAY, .status = 201, .body = yes },
	};
	struct world w;

	(void)state;
	world_start(&w, steps, 2);
	assert_int_equal(check(&w, "Bearer t1"), 0);
	assert_int_equal(check(&w, "bearer  t1"), 0);
	assert_int_equal(script_count(w.server), 2);
	assert_non_null(strstr(script_request(w.server, 0)->body, "\"token\":\"t1\""));
	assert_true(script_has_header(script_request(w.server, 0), "Authorization: Bearer own"));
	assert_string_equal(
		script_request(w.server, 1)->body,
		"{\"apiVersion\":\"authorization.k8s.io/v1\",\"kind\":\"SubjectAccessReview\","
		"\"spec\":{\"nonResourceAttributes\":{\"verb\":\"get\",\"path\":\"/metrics\"},"
		"\"user\":\"prom\",\"uid\":\"7\",\"groups\":[\"g\"],\"extra\":{\"k\":[\"v\"]}}}");
	world_stop(&w);
}

static void test_refused(void **state)
{
	static const struct script_step steps[] = {
		{ .want = WHO, .status = 201, .body = unknown },
		{ .want = WHO, .status = 201, .body = known },
		{ .want = MAY, .status = 201, .body = no },
	};
	struct world w;

	(void)state;
	world_start(&w, steps, 3);
	assert_int_equal(check(&w, NULL), -ERR_UNAUTHORIZED);
	assert_int_equal(check(&w, "Basic YTpi"), -ERR_UNAUTHORIZED);
	assert_int_equal(check(&w, "Bearer "), -ERR_UNAUTHORIZED);
	assert_int_equal(script_count(w.server), 0);
	assert_int_equal(check(&w, "Bearer expired"), -ERR_UNAUTHORIZED);
	assert_int_equal(check(&w, "Bearer expired"), -ERR_UNAUTHORIZED);
	assert_int_equal(check(&w, "Bearer other"), -ERR_FORBIDDEN);
	assert_int_equal(check(&w, "Bearer other"), -ERR_FORBIDDEN);
	assert_int_equal(script_count(w.server), 3);
	world_stop(&w);
}

/* That the API server does not let us ask, or is away, says nothing about the sender, and is asked again. */
static void test_cannot_be_asked(void **state)
{
	static const char forbidden[] = "{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":"
					"\"Forbidden\",\"code\":403}";
	static const struct script_step steps[] = {
		{ .want = WHO, .status = 403, .body = forbidden },
		{ .want = WHO, .status = 201, .body = known },
		{ .want = MAY, .status = 503, .body = "" },
		{ .want = WHO, .status = 201, .body = known },
		{ .want = MAY, .status = 201, .body = yes },
	};
	struct world w;

	(void)state;
	world_start(&w, steps, 5);
	assert_int_equal(check(&w, "Bearer t"), -ERR_UNAVAILABLE);
	assert_int_equal(check(&w, "Bearer t"), -ERR_UNAVAILABLE);
	assert_int_equal(check(&w, "Bearer t"), 0);
	assert_int_equal(script_count(w.server), 5);
	world_stop(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_allowed),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_cannot_be_asked),
	};
	struct err e = ERR_INIT;

	if (http_global_init(&e))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
