#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/settings.h"
#include "controller/track_place.h"

static struct settings *allowing(const char *endpoint)
{
	struct settings_options o = { .poll_ms = -1 };
	struct settings *s = NULL;
	struct err e = ERR_INIT;

	if (endpoint)
		strlist_add(&o.allowed[POLICY_ENDPOINT], endpoint);
	assert_int_equal(settings_start(&o, &s, &e), 0);
	settings_options_done(&o);
	return s;
}

static void test_clouds(void **state)
{
	struct tracker_opts o = { .settings = allowing(NULL) };
	struct store_place at = { .scheme = SCHEME_AZ, .account = "shop", .container = "cells" };
	struct store_place to;

	(void)state;
	track_place(&o, &at, "shop", &to);
	assert_null(to.endpoint);
	assert_false(to.allow_http);
	assert_true(to.no_local);
	assert_null(to.ca_file);
	store_place_done(&to);
	o.az_endpoint = "http://azurite:10000/{account}/x";
	o.gs_endpoint = "https://google:4443";
	o.ca_file = "/ca.pem";
	track_place(&o, &at, "shop", &to);
	assert_string_equal(to.endpoint, "http://azurite:10000/shop/x");
	assert_string_equal(to.ca_file, "/ca.pem");
	assert_true(to.allow_http); /* the platform said so */
	store_place_done(&to);
	at.scheme = SCHEME_GS;
	track_place(&o, &at, "shop", &to);
	assert_string_equal(to.endpoint, "https://google:4443");
	store_place_done(&to);
	settings_stop(o.settings);
}

/* What an app says of http:// counts for S3; a local address only when the platform has listed the endpoint. */
static void test_local(void **state)
{
	struct tracker_opts o = { .settings = allowing("http://127.0.0.1:9000") };
	struct store_place at = { .scheme = SCHEME_S3,
				  .endpoint = "http://127.0.0.1:9000",
				  .container = "cells" };
	struct store_place to;

	(void)state;
	track_place(&o, &at, "shop", &to);
	assert_false(to.no_local);
	assert_false(to.allow_http);
	store_place_done(&to);
	at.endpoint = "http://127.0.0.1:9001";
	at.allow_http = true;
	track_place(&o, &at, "shop", &to);
	assert_true(to.no_local);
	assert_true(to.allow_http);
	store_place_done(&to);
	settings_stop(o.settings);
}

static void test_id(void **state)
{
	struct store_place at = { .scheme = SCHEME_S3, .container = "cells", .prefix = "a" };
	cleanup(freep) char *id = track_place_id(&at, "keys");
	cleanup(freep) char *same = track_place_id(&at, "keys");
	cleanup(freep) char *secret = track_place_id(&at, "others");
	cleanup(freep) char *prefix = NULL;

	(void)state;
	at.prefix = "b";
	prefix = track_place_id(&at, "keys");
	assert_string_equal(id, same);
	assert_string_not_equal(id, secret);
	assert_string_not_equal(id, prefix);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clouds),
		cmocka_unit_test(test_local),
		cmocka_unit_test(test_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
