#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "controller/compare.h"
#include "test/lib/app_fixture.h"

static bool covers(const char *want, const char *live)
{
	cleanup_json struct json *w = app_fixture_json(want), *l = app_fixture_json(live);

	return compare_covers(w, l);
}

static void leaves(void **state)
{
	(void)state;
	assert_true(covers("{}", "{'a':1}"));
	assert_true(covers("{'a':1}", "{'a':1,'b':2}"));
	assert_true(covers("{'a':{'b':'x'}}", "{'a':{'c':[],'b':'x'}}"));
	assert_false(covers("{'a':1}", "{'a':2}"));
	assert_false(covers("{'a':1}", "{'a':'1'}"));
	assert_false(covers("{'a':1}", "{}"));
	assert_false(covers("{'a':{'b':1}}", "{'a':1}"));
	assert_false(covers("{'a':{'b':1}}", "{}"));
	assert_true(covers("{'a':true}", "{'a':true}"));
	assert_false(covers("{'a':true}", "{'a':false}"));
	assert_false(covers("{'a':null}", "{'a':1}"));
	/* the server leaves out what is empty */
	assert_true(covers("{'a':{}}", "{}"));
	assert_true(covers("{'a':[]}", "{}"));
	assert_false(covers("{'a':['x']}", "{}"));
	assert_false(covers("{'a':['x']}", "{'a':{'x':1}}"));
}

static void lists_of_ours_are_compared_whole(void **state)
{
	(void)state;
	assert_true(covers("{'drop':['ALL']}", "{'drop':['ALL']}"));
	assert_false(covers("{'drop':['ALL']}", "{'drop':['ALL','X']}"));
	assert_false(covers("{'drop':['A','B']}", "{'drop':['B','A']}"));
	/* the server's defaults inside an element are nothing */
	assert_true(covers("{'ports':[{'port':80}]}", "{'ports':[{'port':80,'protocol':'TCP'}]}"));
	assert_false(covers("{'ports':[{'port':80}]}", "{'ports':[{'port':81}]}"));
}

static void lists_that_pods_are_merged_by_name_in_may_hold_more(void **state)
{
	(void)state;
	assert_true(covers("{'containers':[{'name':'celld'}]}",
			   "{'containers':[{'name':'sidecar'},{'name':'celld','x':1}]}"));
	assert_false(covers("{'containers':[{'name':'celld'}]}", "{'containers':[{'name':'x'}]}"));
	assert_true(covers("{'env':[{'name':'A'},{'name':'B'}]}",
			   "{'env':[{'name':'A'},{'name':'I'},{'name':'B'}]}"));
	/* the order of what is ours is ours: another order of env is another revision */
	assert_false(covers("{'env':[{'name':'A'},{'name':'B'}]}",
			    "{'env':[{'name':'B'},{'name':'A'}]}"));
	assert_false(covers("{'env':[{'name':'A'}]}", "{'env':[]}"));
}

static void what_is_left_out_of_an_element_is_missed(void **state)
{
	(void)state;
	/* a rule that admits everyone again; managedFields end at the list */
	assert_false(covers("{'ingress':[{'ports':[{'port':80}]}]}",
			    "{'ingress':[{'ports':[{'port':80}],'from':[{'ipBlock':{}}]}]}"));
	assert_false(
		covers("{'from':[{'ipBlock':{'cidr':'10.0.0.0/8'}}]}",
		       "{'from':[{'ipBlock':{'cidr':'10.0.0.0/8','except':['10.1.0.0/16']}}]}"));
	assert_false(covers("{'rules':[{'backendRefs':[]}]}",
			    "{'rules':[{'backendRefs':[],'filters':[{'type':'URLRewrite'}]}]}"));
	assert_false(
		covers("{'rules':[{'x':1}]}", "{'rules':[{'x':1,'timeouts':{'request':'0s'}}]}"));
	assert_false(covers("{'http':[{'x':1}]}", "{'http':[{'x':1,'rewrite':{'uri':'/'}}]}"));
	assert_true(
		covers("{'rules':[{'x':1}]}", "{'rules':[{'x':1,'weight':1,'kind':'Service'}]}"));
	/* elements that pods are merged by are others' too, and so is what stands beside a list */
	assert_true(covers("{'containers':[{'name':'celld'}]}",
			   "{'containers':[{'name':'celld','ports':[{'containerPort':1}]}]}"));
	assert_true(covers("{'spec':{'x':1}}", "{'spec':{'x':1,'to':1}}"));
}

static void selectors_are_compared_whole(void **state)
{
	(void)state;
	assert_true(covers("{'selector':{'app':'a'}}", "{'selector':{'app':'a'}}"));
	assert_false(covers("{'selector':{'app':'a'}}", "{'selector':{'app':'a','b':'c'}}"));
	assert_false(covers("{'podSelector':{'matchLabels':{'a':'b'}}}",
			    "{'podSelector':{'matchLabels':{'a':'b','c':'d'}}}"));
	assert_false(covers("{'podSelector':{'matchLabels':{'a':'b'}}}",
			    "{'podSelector':{'matchLabels':{'a':'b'},'matchExpressions':[{}]}}"));
	assert_true(covers("{'podSelector':{}}", "{'podSelector':{}}"));
	assert_false(covers("{'podSelector':{}}", "{'podSelector':{'matchLabels':{'a':'b'}}}"));
	assert_true(covers("{'labels':{'app':'a'}}", "{'labels':{'app':'a','b':'c'}}"));
}

/* --- what we own by managedFields --------------------------------------------------------------- */

#define ENTRY(manager, operation, fields)                                                          \
	"{'manager':'" manager "','operation':'" operation "','fieldsV1':" fields "}"
#define LIVE(managed, spec)                                                                        \
	"{'apiVersion':'v1','kind':'Service','metadata':{'name':'n','namespace':'ns',"             \
	"'labels':{'ours':'1','theirs':'2'},'managedFields':[" managed "]},'spec':" spec "}"

static bool owns_more(const char *want, const char *live)
{
	cleanup_json struct json *w = app_fixture_json(want), *l = app_fixture_json(live);

	return compare_owns_more(w, l, "celld-operator");
}

static void a_leaf_that_we_no_longer_render_is_due(void **state)
{
	static const char live[] =
		LIVE(ENTRY("celld-operator", "Apply", "{'f:spec':{'f:a':{},'f:b':{}}}"),
		     "{'a':1,'b':2}");

	(void)state;
	assert_false(owns_more("{'spec':{'a':1,'b':2}}", live));
	assert_false(
		owns_more("{'spec':{'a':7,'b':2,'c':3}}", live)); /* values are compare_covers' */
	assert_true(owns_more("{'spec':{'a':1}}", live));
	assert_true(owns_more("{}", live));
}

static void what_others_own_is_nothing_to_us(void **state)
{
	(void)state;
	assert_false(
		owns_more("{}", LIVE(ENTRY("kubectl", "Apply", "{'f:spec':{'f:a':{}}}"), "{}")));
	assert_false(owns_more(
		"{}", LIVE(ENTRY("celld-operator", "Update", "{'f:spec':{'f:a':{}}}"), "{}")));
	assert_false(owns_more("{}", LIVE("{'manager':'celld-operator','operation':'Apply',"
					  "'subresource':'status','fieldsV1':{'f:a':{}}}",
					  "{}")));
	assert_false(owns_more("{}", "{'metadata':{}}"));
	assert_false(owns_more("{}", "{'metadata':{'managedFields':[1,{}]}}"));
}

static void elements_are_found_by_key_and_by_value(void **state)
{
	static const char live[] =
		LIVE(ENTRY("celld-operator", "Apply",
			   "{'f:spec':{'f:ports':{'.':{},'k:{\\\"port\\\":80,\\\"protocol\\\":"
			   "\\\"TCP\\\"}':"
			   "{'.':{},'f:port':{}}},'f:finalizers':{'v:\\\"x\\\"':{}}}}"),
		     "{}");

	(void)state;
	/* the protocol of the key is the server's default */
	assert_false(owns_more("{'spec':{'ports':[{'port':80}],'finalizers':['x']}}", live));
	assert_true(owns_more("{'spec':{'ports':[{'port':81}],'finalizers':['x']}}", live));
	assert_true(owns_more("{'spec':{'ports':[{'port':80}],'finalizers':['y']}}", live));
	assert_true(owns_more("{'spec':{'ports':{},'finalizers':['x']}}", live));
	assert_true(owns_more("{'spec':{'ports':[80],'finalizers':['x']}}", live));
	/* a path that nobody can read is not ours: it would be taken away */
	assert_true(
		owns_more("{'spec':[1]}",
			  LIVE(ENTRY("celld-operator", "Apply", "{'f:spec':{'k:{':{}}}"), "{}")));
}

static bool lost(const char *want, const char *fields)
{
	cleanup(freep) char *text =
		xasprintf(LIVE(ENTRY("celld-operator", "Apply", "%s"), "{}"), fields);
	cleanup_json struct json *w = app_fixture_json(want), *l = app_fixture_json(text);

	return compare_lost(w, l, "celld-operator");
}

static void what_somebody_has_taken_from_us_is_due(void **state)
{
	static const char want[] = "{'apiVersion':'v1','kind':'K','metadata':{'name':'n','labels':"
				   "{'a':'1'},'ownerReferences':[{'uid':'u','kind':'W'}]},"
				   "'on':false,'spec':{'rules':[{'from':[1]}],'empty':{},'none':[],"
				   "'ports':[{'port':80}],'set':['x']}}";
#define META                                                                                       \
	"'f:metadata':{'f:labels':{'f:a':{}},'f:ownerReferences':{'k:{\\\"uid\\\":\\\"u\\\"}':{}}" \
	"},'f:on':{}"
#define PORTS "'f:ports':{'k:{\\\"port\\\":80,\\\"protocol\\\":\\\"TCP\\\"}':{'.':{},'f:port':{}}}"
#define SET   "'f:set':{'v:\\\"x\\\"':{}}"
	static const struct {
		const char *fields;
		bool lost;
	} cases[] = {
		{ "{" META ",'f:spec':{'f:rules':{}," PORTS "," SET "}}", false },
		/* a list whose elements have no names is one leaf: whoever changes it has all of it */
		{ "{" META ",'f:spec':{" PORTS "," SET "}}", true },
		{ "{" META ",'f:spec':{'f:rules':{}," SET "}}", true },
		{ "{" META ",'f:spec':{'f:rules':{},'f:ports':{'.':{}}," SET "}}", true },
		{ "{" META ",'f:spec':{'f:rules':{}," PORTS ",'f:set':{'v:\\\"y\\\"':{}}}}", true },
		{ "{'f:metadata':{'f:labels':{'f:a':{}}},'f:on':{},'f:spec':{}}", true },
		{ "{'f:on':{},'f:spec':{}}", true },
		{ "{}", true },
	};

	(void)state;
	for (size_t i = 0; i < array_len(cases); i++) {
		if (lost(want, cases[i].fields) != cases[i].lost)
			fail_msg("%s", cases[i].fields);
	}
	/* all of it, however deep */
	assert_false(lost(want, "{" META ",'f:spec':{}}"));
	assert_true(lost("{'spec':{'a':{'b':1}}}", "{'f:spec':{'f:a':{'f:c':{}}}}"));
	assert_false(compare_lost(NULL, NULL, "celld-operator"));
}

static void without_an_account_nothing_is_lost(void **state)
{
	cleanup_json struct json *w = app_fixture_json("{'spec':{'a':1}}");
	cleanup_json struct json *of_others = app_fixture_json(
		LIVE(ENTRY("kubectl", "Update", "{'f:spec':{'f:a':{}}}"), "{'a':1}"));
	cleanup_json struct json *bare = app_fixture_json(
		LIVE("{'manager':'celld-operator','operation':'Apply'}", "{'a':1}"));

	(void)state;
	assert_false(compare_lost(w, of_others, "celld-operator"));
	assert_false(compare_lost(w, bare, "celld-operator"));
}

static void a_write_is_due_for_either(void **state)
{
	static const char live[] =
		LIVE(ENTRY("celld-operator", "Apply", "{'f:spec':{'f:a':{}}}"), "{'a':1,'x':[]}");
	static const struct {
		const char *want;
		bool due;
	} cases[] = { { "{'spec':{'a':1}}", false },
		      { "{'spec':{'a':2}}", true },
		      { "{'spec':{'a':1,'b':1}}", true },
		      { "{'spec':{'a':1,'x':[]}}", false },
		      { "{'spec':{}}", true } };

	(void)state;
	for (size_t i = 0; i < array_len(cases); i++) {
		cleanup_json struct json *w = app_fixture_json(cases[i].want);
		cleanup_json struct json *l = app_fixture_json(live);

		if (compare_differs(w, l, "celld-operator") != cases[i].due)
			fail_msg("%s", cases[i].want);
	}
}

static void managed_by_anybody_of_that_name(void **state)
{
	cleanup_json struct json *l = app_fixture_json(LIVE(ENTRY("m", "Update", "{}"), "{}"));

	(void)state;
	assert_true(compare_managed_by(l, "m"));
	assert_false(compare_managed_by(l, "n"));
	assert_false(compare_managed_by(NULL, "m"));
}

static void owned_is_our_part_with_live_values(void **state)
{
	cleanup_json struct json *live = app_fixture_json(
		LIVE(ENTRY("other", "Apply", "{'f:spec':{'f:theirs':{}}}") "," ENTRY(
			     "celld-operator", "Apply",
			     "{'f:metadata':{'f:labels':{'f:ours':{}}},"
			     "'f:spec':{'f:leaf':{},'f:whole':{},'f:gone':{},'f:env':{'.':{},"
			     "'k:{\\\"name\\\":\\\"A\\\"}':{'.':{},'f:name':{},'f:value':{}},"
			     "'k:{\\\"name\\\":\\\"B\\\"}':{'.':{},'f:name':{},'f:value':{}},"
			     "'k:{\\\"name\\\":\\\"Z\\\"}':{'.':{},'f:name':{}}},"
			     "'f:finalizers':{'v:\\\"x\\\"':{}}}}"),
		     "{'leaf':7,'theirs':1,'whole':{'deep':[1]},'finalizers':['w','x'],"
		     "'env':[{'name':'B','value':'2'},{'name':'I','value':'i'},"
		     "{'name':'A','value':'1','more':1}]}"));
	cleanup_json struct json *got = compare_owned(live, "celld-operator");
	cleanup(freep) char *text = json_text(json_path(got, "spec", "env", NULL));

	(void)state;
	/* B stands before A, as it does in the live list, though fieldsV1 is sorted by name */
	assert_string_equal(text,
			    "[{\"name\":\"B\",\"value\":\"2\"},{\"name\":\"A\",\"value\":\"1\"}]");
	app_fixture_is(got, "{'apiVersion':'v1','kind':'Service',"
			    "'metadata':{'name':'n','namespace':'ns','labels':{'ours':'1'}},"
			    "'spec':{'leaf':7,'whole':{'deep':[1]},'finalizers':['x'],"
			    "'env':[{'name':'B','value':'2'},{'name':'A','value':'1'}]}}");
	assert_null(compare_owned(live, "nobody"));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(leaves),
		cmocka_unit_test(lists_of_ours_are_compared_whole),
		cmocka_unit_test(lists_that_pods_are_merged_by_name_in_may_hold_more),
		cmocka_unit_test(what_is_left_out_of_an_element_is_missed),
		cmocka_unit_test(selectors_are_compared_whole),
		cmocka_unit_test(what_somebody_has_taken_from_us_is_due),
		cmocka_unit_test(without_an_account_nothing_is_lost),
		cmocka_unit_test(a_leaf_that_we_no_longer_render_is_due),
		cmocka_unit_test(what_others_own_is_nothing_to_us),
		cmocka_unit_test(elements_are_found_by_key_and_by_value),
		cmocka_unit_test(a_write_is_due_for_either),
		cmocka_unit_test(managed_by_anybody_of_that_name),
		cmocka_unit_test(owned_is_our_part_with_live_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
