#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "controller/route_status.h"
#include "test/lib/app_fixture.h"

static char said[256];

static enum route_verdict verdict(const char *refs, const char *parents)
{
	cleanup(freep) char *text = xasprintf(
		"{'metadata':{'namespace':'store','generation':3},'spec':{'parentRefs':%s},"
		"'status':{'parents':%s}}",
		refs, parents);
	cleanup_json struct json *route = app_fixture_json(text);

	return route_status_of(route, said, sizeof(said));
}

#define EDGE "[{'name':'edge','namespace':'infra'}]"
#define BOTH "[{'name':'edge','namespace':'infra'},{'name':'own','sectionName':'https'}]"
#define CONDITION(type, status, reason, generation)                                                \
	"{'type':'" type "','status':'" status "','reason':'" reason                               \
	"','observedGeneration':" generation "}"
#define PARENT(ref, accepted, resolved)                                                            \
	"{'parentRef':" ref ",'conditions':[" accepted "," resolved "]}"
#define YES	 CONDITION("Accepted", "True", "Accepted", "3")
#define RESOLVED CONDITION("ResolvedRefs", "True", "ResolvedRefs", "3")
#define EDGE_REF "{'name':'edge','namespace':'infra'}"
#define OWN_REF	 "{'name':'own','namespace':'store','sectionName':'https'}"

static void accepted_by_all_is_observed(void **state)
{
	(void)state;
	assert_int_equal(verdict(EDGE, "[" PARENT(EDGE_REF, YES, RESOLVED) "]"), ROUTE_OBSERVED);
	assert_string_equal(said, "");
	assert_int_equal(verdict(BOTH, "[" PARENT(OWN_REF, YES, RESOLVED) "," PARENT(EDGE_REF, YES,
										     RESOLVED) "]"),
			 ROUTE_OBSERVED);
}

static void until_all_have_judged_it_is_unseen(void **state)
{
	(void)state;
	assert_int_equal(verdict(EDGE, "[]"), ROUTE_UNSEEN);
	assert_string_equal(said, "Gateway infra/edge: has not judged the route yet");
	assert_int_equal(verdict(BOTH, "[" PARENT(EDGE_REF, YES, RESOLVED) "]"), ROUTE_UNSEEN);
	assert_string_equal(said, "Gateway store/own: has not judged the route yet");
	/* of the spec before */
	assert_int_equal(
		verdict(EDGE, "[" PARENT(EDGE_REF, CONDITION("Accepted", "False", "X", "2"),
					 RESOLVED) "]"),
		ROUTE_UNSEEN);
	assert_int_equal(
		verdict(EDGE, "[" PARENT(EDGE_REF, CONDITION("Accepted", "Unknown", "Pending", "3"),
					 RESOLVED) "]"),
		ROUTE_UNSEEN);
	/* of another listener */
	assert_int_equal(verdict("[{'name':'own'}]", "[" PARENT(OWN_REF, YES, RESOLVED) "]"),
			 ROUTE_UNSEEN);
}

static void a_refusal_tells_what_to_do(void **state)
{
	(void)state;
	assert_int_equal(verdict(EDGE, "[" PARENT(EDGE_REF,
						  CONDITION("Accepted", "False",
							    "NotAllowedByListeners", "3"),
						  RESOLVED) "]"),
			 ROUTE_REFUSED);
	assert_string_equal(said,
			    "Gateway infra/edge: Accepted is False: NotAllowedByListeners; let "
			    "allowedRoutes of its listener admit this namespace");
	assert_int_equal(verdict(EDGE, "[" PARENT(EDGE_REF, YES,
						  CONDITION("ResolvedRefs", "False",
							    "RefNotPermitted", "4")) "]"),
			 ROUTE_REFUSED);
	assert_string_equal(said, "Gateway infra/edge: ResolvedRefs is False: RefNotPermitted; a "
				  "ReferenceGrant in the other namespace is needed");
	/* one that refuses weighs more than one that is silent */
	assert_int_equal(
		verdict(BOTH, "[" PARENT(OWN_REF, CONDITION("Accepted", "False", "Odd", "3"),
					 RESOLVED) "]"),
		ROUTE_REFUSED);
	assert_string_equal(said, "Gateway store/own: Accepted is False: Odd");
}

/* Two implementations may report on one Gateway; one of them serves it. */
static void one_implementation_that_takes_it_is_enough(void **state)
{
	(void)state;
	assert_int_equal(
		verdict(EDGE, "[" PARENT(EDGE_REF, CONDITION("Accepted", "False", "X", "3"),
					 RESOLVED) "," PARENT(EDGE_REF, YES, RESOLVED) "]"),
		ROUTE_OBSERVED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(accepted_by_all_is_observed),
		cmocka_unit_test(until_all_have_judged_it_is_unseen),
		cmocka_unit_test(a_refusal_tells_what_to_do),
		cmocka_unit_test(one_implementation_that_takes_it_is_enough),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
