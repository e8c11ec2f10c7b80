#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "controller/detail.h"
#include "test/lib/app_fixture.h"

static bool node_ready(const char *text)
{
	cleanup_json struct json *node = app_fixture_json(text);

	return detail_node_ready(node);
}

static void test_node(void **state)
{
	(void)state;
	assert_true(node_ready("{'status':{'conditions':[{'type':'DiskPressure','status':'False'},"
			       "{'type':'Ready','status':'True'}]}}"));
	assert_false(node_ready("{'status':{'conditions':[{'type':'Ready','status':'Unknown'}]}}"));
	assert_false(node_ready("{'status':{'conditions':[{'type':'Ready','status':'False'}]}}"));
	assert_false(node_ready("{'status':{}}"));
	assert_false(detail_node_ready(NULL));
}

static void test_failed_create(void **state)
{
	cleanup_json struct json *events = app_fixture_json(
		"{'items':[{'reason':'SuccessfulCreate','message':'made','lastTimestamp':'2026-11-"
		"29T12:00:09Z'},"
		"{'reason':'FailedCreate','message':'old','lastTimestamp':'2026-11-29T12:00:01Z'},"
		"{'reason':'FailedCreate','message':'new','lastTimestamp':null,'eventTime':'2026-"
		"11-29T12:00:03.000001Z'},"
		"{'reason':'FailedCreate','message':'older','lastTimestamp':'2026-11-29T11:59:59Z'}"
		"]}");
	cleanup_json struct json *none = app_fixture_json("{'items':[]}");

	(void)state;
	assert_string_equal(detail_failed_create(events), "new");
	assert_null(detail_failed_create(none));
	assert_null(detail_failed_create(NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_node),
		cmocka_unit_test(test_failed_create),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
