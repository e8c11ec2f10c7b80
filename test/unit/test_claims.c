#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "controller/claims.h"
#include "test/lib/app_fixture.h"

static void test_bytes(void **state)
{
	(void)state;
	assert_int_equal(claims_bytes("1024"), 1024);
	assert_int_equal(claims_bytes("10Gi"), 10737418240);
	assert_int_equal(claims_bytes("2Ti"), 2199023255552);
	assert_int_equal(claims_bytes("500M"), 500000000);
	assert_int_equal(claims_bytes("1k"), 1000);
	assert_int_equal(claims_bytes(NULL), -1);
	assert_int_equal(claims_bytes(""), -1);
	assert_int_equal(claims_bytes("Gi"), -1);
	assert_int_equal(claims_bytes("1.5Gi"), -1); /* not what a server stores */
	assert_int_equal(claims_bytes("-1Gi"), -1);
	assert_int_equal(claims_bytes("9999999Pi"), -1);
	assert_int_equal(claims_bytes("99999999999999999999"), -1);
}

static void test_foreign(void **state)
{
	cleanup_json struct json *ours = app_fixture_json(
		"{'metadata':{'annotations':{'celld-operator.io/bucket':'s3://cells/apps/shop'}}}");
	cleanup_json struct json *theirs =
		app_fixture_json("{'metadata':{'annotations':{'celld-operator.io/bucket':'s3://"
				 "cells/apps/shop2'}}}");
	cleanup_json struct json *nobodys = app_fixture_json("{'metadata':{'name':'x'}}");

	(void)state;
	assert_false(claims_is_foreign(ours, "s3://cells/apps/shop"));
	assert_true(claims_is_foreign(theirs, "s3://cells/apps/shop"));
	assert_false(claims_is_foreign(nobodys, "s3://cells/apps/shop")); /* says nothing */
}

static void test_reborn(void **state)
{
	cleanup_json struct json *live = app_fixture_json(
		"{'apiVersion':'apps/"
		"v1','kind':'StatefulSet','metadata':{'name':'shop-celld','namespace':'store',"
		"'uid':'s-1','resourceVersion':'7','generation':3,'creationTimestamp':'t','"
		"managedFields':[{}],"
		"'labels':{'l':'1'},'annotations':{'a':'1'},'ownerReferences':[{'uid':'u-1'}]},"
		"'spec':{'replicas':4,'template':{'injected':true},'updateStrategy':{'"
		"rollingUpdate':"
		"{'partition':2147483647}},'volumeClaimTemplates':[{'metadata':{'name':'data'},'"
		"spec':{'resources':"
		"{'requests':{'storage':'1Gi'}},'volumeMode':'Filesystem'},'status':{'phase':'"
		"Pending'}}]},"
		"'status':{'replicas':4}}");
	cleanup_json struct json *made = claims_reborn(live, "2Gi");

	(void)state;
	app_fixture_is(
		made,
		"{'apiVersion':'apps/v1','kind':'StatefulSet','metadata':{'name':'shop-celld',"
		"'namespace':'store','labels':{'l':'1'},'annotations':{'a':'1'},"
		"'ownerReferences':[{'uid':'u-1'}]},"
		"'spec':{'replicas':4,'template':{'injected':true},'updateStrategy':{'"
		"rollingUpdate':"
		"{'partition':2147483647}},'volumeClaimTemplates':[{'metadata':{'name':'data'},'"
		"spec':"
		"{'resources':{'requests':{'storage':'2Gi'}},'volumeMode':'Filesystem'}}]}}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_foreign),
		cmocka_unit_test(test_reborn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
